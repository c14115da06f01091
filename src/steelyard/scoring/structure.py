"""Scorers for structured answers: json_schema and fields."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from steelyard import plugins
from steelyard.records import ScorerCall
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.building import build_answer
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.suite.case import Case


class JsonSchema(Scorer):
    """1 when the part of the answer fits a JSON schema; otherwise 0, with the problems in words."""

    fits: dict[str, Any] | bool = Field(description="The JSON schema, written inline.")
    example: Any = Field(
        description="A value that fits: checked when the suite loads, and what `audit` takes for the truth."
    )

    @cached_property
    def validator(self) -> SchemaValidator:
        """The schema compiled."""
        return SchemaValidator(self.fits)

    @model_validator(mode="after")
    def _example_fits(self) -> JsonSchema:
        if problems := self.validator.problems(self.example):
            raise ValueError(f"the example does not fit the schema: {problems[0]}")
        if self.validator.fits(None):
            raise ValueError("the schema accepts null, so a missing answer would earn full marks")
        return self

    def read(self, answer: Any, case: Case) -> Reading:  # noqa: ARG002 - the schema is the same for all cases
        got = self.answer_value(answer)
        if isinstance(got, str) and not self.validator.fits(got):
            extracted = extract_json(got, self.validator)
            return Reading(float(extracted.step is not None), "a value that fits", got, "; ".join(extracted.problems))
        problems = self.validator.problems(got)
        return Reading(float(not problems), "a value that fits", got, "; ".join(problems))

    def truth(self, case: Case) -> Any:  # noqa: ARG002 - the schema is the same for all cases
        return self.example


class Fields(Scorer):
    """The mean, weighted when asked, of named fields, each compared for equality or by a scorer of its own.

    A field is written as a weight (`colour: 2`), or as a mapping with one scorer and a weight:
    `size: {number: {relative: 5 %}, weight: 2}`. Inside, `answer` starts at this scorer's place in the answer and
    defaults to the field's name; `expected` starts at the case and defaults to this scorer's `expected` plus the name.
    """

    has_strict: ClassVar[bool] = True

    expected: str = Field(description="Path to the object with the true fields in the case.")
    fields: dict[str, Any] = Field(min_length=1, description="Field name to a weight, or to a scorer with a weight.")
    skip_unknown: bool = Field(
        default=False, description="Leave out a field whose truth is missing; otherwise that is a mistake in the case."
    )
    strict: bool = Field(default=False, description="Score every field that has a strict rule by it.")

    @field_validator("fields")
    @classmethod
    def _weights_count(cls, fields: dict[str, Any]) -> dict[str, Any]:
        for name, written in fields.items():
            weight = written.get("weight", 1) if isinstance(written, dict) else written
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
                raise ValueError(f"{name}: {weight!r} is not a weight above 0")
        return fields

    @model_validator(mode="after")
    def _fields_are_scorers(self) -> Fields:
        _ = self.parts
        return self

    @cached_property
    def parts(self) -> tuple[tuple[str, float, Scorer], ...]:
        """Each field's name, weight and scorer."""
        return tuple(self._part(name, written) for name, written in self.fields.items())

    def _part(self, name: str, written: Any) -> tuple[str, float, Scorer]:
        if not isinstance(written, dict):
            written = {"weight": written}
        kinds = [key for key in written if key != "weight"]
        if len(kinds) > 1:
            raise ValueError(f"{name}: give one scorer, not {', '.join(kinds)}")
        kind = kinds[0] if kinds else "exact"
        if not plugins.is_known("scorers", kind):
            raise ValueError(f"{name}: {kind!r} is not a scorer; there are: {', '.join(plugins.names('scorers'))}")
        scorer_class: type[Scorer] = plugins.find("scorers", kind)
        parameters = {"answer": name, **(written.get(kind) or {})}
        if "expected" in scorer_class.model_fields:
            parameters.setdefault("expected", f"{self.expected}.{name}")
        if self.strict and scorer_class.has_strict:
            parameters["strict"] = True
        return name, float(written.get("weight", 1)), scorer_class.model_validate(parameters)

    def read(self, answer: Any, case: Case) -> Reading:
        place = self.answer_value(answer)
        earned = total = 0.0
        wrong: list[str] = []
        calls: tuple[ScorerCall, ...] = ()
        skipped = False
        for name, weight, scorer in self.parts:
            reading = scorer.read(place, case)
            calls, skipped = calls + reading.calls, skipped or reading.skipped
            if reading.value is None:
                continue
            earned += weight * reading.value
            total += weight
            if reading.value < 1:
                wrong.append(f"{name} {reading.value:.2f}")
        if not total:
            return Reading(None, calls=calls, skipped=True) if skipped else UNKNOWN
        note = f"not right: {', '.join(wrong)}" if wrong else ""
        return Reading(earned / total, self.expected_value(case), place, note, calls=calls)

    def truth(self, case: Case) -> Any:
        parts: dict[str, Any] = {}
        for _, _, scorer in self.parts:
            parts.update(scorer.truth_at(case))
        return build_answer(parts) if parts else None

    def check(self, case: Case) -> str | None:
        truth = self.expected_value(case)
        if truth is None:
            return None
        if not isinstance(truth, dict):
            return f"{self.expected} is {truth!r}: an object with fields is needed"
        for name, _, scorer in self.parts:
            problem = scorer.check(case)
            if problem is not None:
                return f"{name}: {problem}"
            if not self.skip_unknown and scorer.truth(case) is None:
                return f"{name}: the truth is missing; give it, or set skip_unknown"
        return None

    def needed_models(self) -> list[Any]:
        return [model for _, _, scorer in self.parts for model in scorer.needed_models()]

    def keywords_of(self, case: Case) -> list[str]:
        return [word for _, _, scorer in self.parts for word in scorer.keywords_of(case)]
