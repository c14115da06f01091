"""What a judge's answer must look like: the suite's own schema, checked against the rubric, or one made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from steelyard.suite.draft import Draft
from steelyard.suite.judge_model import Evidence, Rubric
from steelyard.suite.paths import split_path
from steelyard.suite.problems import Place
from steelyard.suite.schema_files import read_schema
from steelyard.suite.spelling import listed, meant

REASONS = "reasons"
"""The field of reasons in a schema that is made from the rubric, unless the suite names another."""
_PLACE: Place = ("judge", "response")
_TEXTS = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Owed:
    """Where in its answer a judge puts what it owes; "" and None for what is not asked for."""

    scores_in: str = ""
    """The field that holds scores and flags; "" is the top."""
    reasons: str = REASONS
    evidence: Evidence | None = None

    def places(self) -> tuple[tuple[str, str], ...]:
        """The key of the suite file and the path, for each of the two that may be a path."""
        return ("reasons", self.reasons), ("evidence", self.evidence.place if self.evidence else "")


def response_schema(
    rubric: Rubric, reasons: str = REASONS, evidence: Evidence | None = None, scores_in: str = ""
) -> dict[str, Any]:
    """The schema of an answer: reasons first, then evidence by dimension, then each score and flag; all are asked for.

    A model writes the fields in this order, so that it has said why before it says how good.
    """
    properties: dict[str, Any] = {}
    if reasons:
        properties[reasons] = {**_TEXTS, "description": "Weaknesses found, before any score is given."}
    if evidence is not None:
        # Many a model gives one quote as a text, whatever it is told.
        quotes = {name: {"anyOf": [_TEXTS, {"type": "string"}]} for name in evidence.dimensions}
        about = "Quotes from the text, by the dimension they prove."
        properties[evidence.place] = {**_closed(quotes), "description": about}
    scores: dict[str, Any] = {}
    for dimension in rubric.dimensions:
        score = {"type": "integer", "minimum": rubric.low, "maximum": rubric.high}
        scores[dimension.name] = score | ({"description": dimension.about} if dimension.about else {})
    for flag in rubric.flags:
        scores[flag.name] = {"type": "boolean"} | ({"description": flag.about} if flag.about else {})
    return _closed(properties | ({scores_in: _closed(scores)} if scores_in else scores))


def build_response(given: Any, rubric: Rubric, owed: Owed, draft: Draft) -> dict[str, Any]:
    """The schema that the suite gives, or one made from the rubric; everything wrong with it is noted."""
    if given is None:
        _check_own_names(rubric, owed, draft)
        return response_schema(rubric, owed.reasons, owed.evidence, owed.scores_in)
    schema = read_schema(given, _PLACE, draft)
    if schema is None:
        return {}
    properties = _properties(schema)
    holder = _properties(properties.get(owed.scores_in)) if owed.scores_in else properties
    where = f" in {owed.scores_in}" if owed.scores_in else ""
    for name in rubric.names:
        if name not in holder:
            hint = meant(name, list(holder))
            draft.tell(f"judge.response has no field {name!r}{where}, which the rubric asks for{hint}", _PLACE)
    names = list(properties)
    for key, place in owed.places():
        if place and (first := split_path(place)[0]) not in names:
            hint = meant(first, names) or f"; there are: {listed(names)}"
            draft.tell(f"judge.{key}.in: the response has no field {first!r}{hint}", ("judge", key, "in"))
    _check_order(names, (owed.scores_in,) if owed.scores_in else rubric.names, owed.reasons, draft)
    _check_scale(schema, holder, rubric, draft)
    return schema


def _properties(schema: Any) -> dict[str, Any]:
    """The fields of an object by name; none when the schema lists none."""
    fields = schema.get("properties") if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else {}


def _check_own_names(rubric: Rubric, owed: Owed, draft: Draft) -> None:
    """Tell of fields of a made schema that would stand for two things."""
    taken = [owed.scores_in] if owed.scores_in else list(rubric.names)
    for key, name in owed.places():
        if name and len(split_path(name)) > 1:
            draft.tell(f"judge.{key}.in: without a response of your own, {name!r} must be one name", ("judge", key))
        if name in taken:
            told = f"judge: {name!r} cannot hold {key}: it is the name of something else in the answer"
            draft.tell(f"{told}; write {key}: {{in: ANOTHER}}", ("judge", key))
        taken.append(name)


def _check_order(names: list[str], of_scores: Sequence[str], reasons: str, draft: Draft) -> None:
    scores = [name for name in names if name in of_scores]
    first = split_path(reasons)[0] if reasons else ""
    if first in names and scores and names.index(first) > names.index(scores[0]):
        draft.tell(f"judge.response: reasons come before scores: put {first} before {scores[0]}", _PLACE)


def _check_scale(schema: dict[str, Any], properties: dict[str, Any], rubric: Rubric, draft: Draft) -> None:
    """Tell of a dimension whose field refuses a score of the rubric's scale: no judge could ever give it."""
    shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    for dimension in rubric.dimensions:
        field = properties.get(dimension.name)
        if not isinstance(field, dict):
            continue
        try:
            validator = jsonschema_rs.validator_for(shared | field)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            continue  # told already, or it refers to what only the whole schema has
        refused = [score for score in (rubric.low, rubric.high) if not validator.is_valid(score)]
        if refused:
            told = f"judge.response: {dimension.name} refuses {refused[0]}, which is on the rubric's scale"
            draft.tell(told, _PLACE)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
