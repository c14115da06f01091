"""A judge as plain data: what reports read, and what its name in the signature is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from steelyard.errors import UserMistake
from steelyard.importing import find_callable, place_of, source_digest
from steelyard.suite.judge_model import JudgeModel, JudgeSpec, Rubric, SaidCount
from steelyard.suite.said_figures import LISTED
from steelyard.suite.taxonomy import dimension_code

SAID = "said"
"""The kind of a component that a judge says beyond its scores."""
_HARMLESS = frozenset({"token", "price", "timeout"})
"""Settings of a model that cannot change what it says."""


def judged_components(rubric: Rubric) -> list[dict[str, Any]]:
    """Dimensions and flags in the shape of described components, since a sample has a score of each."""
    width = rubric.high - rubric.low
    shared = {"scorer": "judge", "version": rubric.version, "params": {}, "strict": False}
    dimensions = [
        {
            "name": dimension.name,
            "weight": dimension.weight,
            **shared,
            "code": dimension_code(dimension.name),
            "scale": [rubric.low, rubric.high],
            "when_unknown": None,
            "wrong_below": (rubric.neutral - rubric.low) / width,
            "measures": {},
            "kind": "dimension",
        }
        for dimension in rubric.dimensions
    ]
    flags = [
        {
            "name": flag.name,
            "weight": 0.0,
            **shared,
            "code": dimension_code(flag.name),
            "scale": [0, 1],
            "when_unknown": "skip",
            "wrong_below": 0.0,
            "measures": {"rate": {"numerator": "flagged", "denominator": "judged", "about": _flagged(flag.about)}},
            "kind": "flag",
        }
        for flag in rubric.flags
    ]
    return dimensions + flags


def said_components(judge: JudgeModel) -> list[dict[str, Any]]:
    """What is made of what a judge says beyond its scores, in the shape of described components that weigh nothing."""
    shared: dict[str, Any] = {
        "weight": 0.0,
        "scorer": "judge",
        "version": judge.rubric.version,
        "params": {},
        "strict": False,
        "code": None,
        "when_unknown": "skip",
        "wrong_below": 0.0,
        "kind": SAID,
    }
    means = [
        {"name": each.name, **shared, "scale": list(each.scale), "measures": {}}
        | {"figure": each.figure, "key": each.key, "about": each.about}
        for each in judge.means
    ]
    counts = [
        {"name": each.name, **shared, "scale": [0, 1], "figure": each.name, "key": "", "about": each.about}
        | {"measures": {word: _said(word, each) for word in each.words}}
        for each in judge.counts
    ]
    return means + counts


def _said(word: str, count: SaidCount) -> dict[str, str]:
    return {"numerator": word, "denominator": LISTED, "about": f"{word}, of all in {count.list_path}"}


def _figures(judge: JudgeModel) -> list[Any]:
    return [*map(asdict, judge.means), *map(asdict, judge.counts)]


def _flagged(about: str) -> str:
    return f"texts that are flagged: {about}" if about else "texts that are flagged"


def describe_judge(judge: JudgeModel) -> dict[str, Any]:
    """Everything about the judge that reports and `judge check` read, as JSON-able data."""
    return {
        "mode": judge.mode.value,
        "rubric": describe_rubric(judge.rubric),
        "members": [_member(member) for member in judge.members],
        "rules": [rule.text for rule in judge.rules],
        "reasons": {"in": judge.reasons, "at_least": judge.fewest_reasons} if judge.reasons else None,
        "evidence": None if judge.evidence is None else _evidence(judge),
        "check": None if judge.check is None else place_of(judge.check),
        "of": judge.of,
        "repeats": judge.repeats,
        "combine": judge.combine,
        "flags": judge.flags,
        "disagreement": judge.disagreement,
        "most_characters": judge.most_characters,
        "ask_again": judge.ask_again,
        "labels": judge.labels,
        "health": list(judge.health),
    }


def describe_rubric(rubric: Rubric) -> dict[str, Any]:
    """The rubric as plain data; scores that are keys become text, as JSON wants it."""
    return {
        "version": rubric.version,
        "scale": [rubric.low, rubric.high],
        "neutral": rubric.neutral,
        "calibration": list(rubric.calibration),
        "dimensions": [
            {
                "name": dimension.name,
                "about": dimension.about,
                "weight": dimension.weight,
                "scores": {str(score): text for score, text in dimension.meanings.items()},
                "examples": {str(score): text for score, text in dimension.examples.items()},
                **({"needs": dimension.needs} if dimension.needs else {}),
            }
            for dimension in rubric.dimensions
        ],
        "flags": [asdict(flag) | {"triggers": list(flag.triggers)} for flag in rubric.flags],
    }


def _evidence(judge: JudgeModel) -> dict[str, Any] | None:
    evidence = judge.evidence
    if evidence is None:
        return None
    return {
        "in": evidence.place,
        "unproven": evidence.unproven,
        "fewest_words": evidence.fewest_words,
        "dimensions": list(evidence.dimensions),
    }


def _member(member: JudgeSpec) -> dict[str, Any]:
    if member.kind == "python":
        return {"name": member.name, "kind": "python", "model": None, "address": None} | {
            "function": place_of(member.settings)
        }
    settings = member.settings
    model, address = getattr(settings, "model", None), getattr(settings, "base_url", None)
    return {"name": member.name, "kind": member.kind, "model": model, "address": address}


_READ_BY = ("rules", "reasons", "evidence", "combine", "flags", "disagreement")
"""The parts of a judge that are applied to what it said; the others are what it was asked."""
_NO_PART = ("check", "health", "members", "labels", "mode")


def judge_asked(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what a judge says: rubric, prompts, response, and who it is, without its keys."""
    described = {key: value for key, value in describe_judge(judge).items() if key not in (*_READ_BY, *_NO_PART)}
    # A judge without one of these has the name that it had before there were any.
    later = {key: value for key, value in (("scores_in", judge.scores_in), ("shown", judge.shown)) if value}
    return (
        described
        | later
        | {
            "system": judge.system,
            "user": judge.user,
            # The order of fields is the order in which a model writes them.
            "response": [judge.response, _order(judge.response)],
            "members": [_identity(member, folder) for member in judge.members],
        }
    )


def judge_read(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what is made of what a judge said."""
    described = describe_judge(judge)
    read = {key: described[key] for key in _READ_BY} | {"rubric": described["rubric"]}
    # A judge without a check or figures has the name that it had before there were any.
    if judge.means or judge.counts:
        read["figures"] = _figures(judge)
    return read if judge.check is None else read | {"check": _code(judge.check, folder, "judge.check")}


def _code(function: Any, folder: Path, what: str) -> dict[str, Any]:
    """A function by its place and its source."""
    found = find_callable(function, folder, what) if isinstance(function, str) else function
    return {"function": place_of(function), "source": source_digest(found)}


def _order(schema: Any) -> Any:
    """The names of a schema's fields in the order written; hashing sorts keys."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return [[name, _order(inner)] for name, inner in properties.items()] if isinstance(properties, dict) else []


def _identity(member: JudgeSpec, folder: Path) -> dict[str, Any]:
    settings = member.settings
    if member.kind == "python":
        return {"kind": "python"} | _code(settings, folder, "judge")
    if callable(identity := getattr(settings, "identity", None)):
        return dict(identity())
    if isinstance(settings, BaseModel):
        return {"kind": member.kind, **settings.model_dump(mode="json", exclude=set(_HARMLESS))}
    return {"kind": member.kind, "settings": repr(settings)}


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """In the place of the settings of a model whose answers are recorded: it can be named and not be asked."""

    model: str | None
    base_url: str | None


def _scored(rubric: dict[str, Any]) -> list[Any]:
    return [rubric["scale"], *sorted(one["name"] for one in (*rubric["dimensions"], *rubric["flags"]))]


def as_recorded(judge: JudgeModel, described: dict[str, Any]) -> JudgeModel:
    """The judge of today with the members, and as many judgings, of the run that was described so.

    Rules and checks are those of today; a member that is code is today's code. UserMistake when models gave their
    scores on another scale, or for other dimensions, than the rubric has now: they say nothing on this one.
    """
    asked = any(member["kind"] != "python" for member in described["members"])
    if asked and _scored(described["rubric"]) != _scored(describe_rubric(judge.rubric)):
        raise UserMistake(
            "the judge's scores were given on another scale or for other dimensions than the rubric has now:"
            " judge again, with --judge-again"
        )
    members = []
    for member in described["members"]:
        name, kind = member["name"], member["kind"]
        if kind == "python":
            known = judge.judges.get(name)
            if known is None or known.kind != kind:
                # The function that the data names is no code of the suite.
                raise UserMistake(f"the judge {name!r} of that run is not in the suite any more")
            members.append(known)
        else:
            members.append(JudgeSpec(name, kind, RecordedJudge(member["model"], member["address"])))
    return replace(judge, members=tuple(members), repeats=described["repeats"])
