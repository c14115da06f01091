"""What a judgement adds to a sample: a score for each dimension and flag, a finding for each low or set one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steelyard.records import Finding, Judgement, Score
from steelyard.suite.judge import Dimension, Flag, Rubric

JUDGE: Final = "JUDGE"
"""The code of a sample whose judge gave no reading."""


def read_judgement(
    rubric: Rubric, judgement: Judgement, severity: Mapping[str, str]
) -> tuple[tuple[Score, ...], tuple[Finding, ...]]:
    """Scores in the order of the rubric, in points as they are bound, and the findings."""
    scores = [_score(dimension, judgement) for dimension in rubric.dimensions]
    scores += [_flag(flag, judgement) for flag in rubric.flags]
    findings = [_flagged(flag, judgement, severity) for flag in rubric.flags if judgement.bound[flag.name]]
    low = [one for one in rubric.dimensions if judgement.bound.get(one.name, rubric.neutral) < rubric.neutral]
    return tuple(scores), (*findings, *(_finding(one, rubric, judgement, severity) for one in low))


def _score(dimension: Dimension, judgement: Judgement) -> Score:
    name = dimension.name
    if name not in judgement.bound:
        return Score(name, None, dimension.weight, note=f"not judged: the case has no {dimension.needs}")
    return Score(
        name,
        float(judgement.bound[name]),
        dimension.weight,
        raw=_number(judgement.raw.get(name)),
        bound_by=judgement.bound_by.get(name),
    )


def _number(value: float | None) -> float | None:
    """The value as stored; None where a panel agreed only on what the rules left of its scores."""
    return None if value is None else float(value)


def _flag(flag: Flag, judgement: Judgement) -> Score:
    """A flag is a share of texts, never a part of the score: counts make its rate over a run."""
    name = flag.name
    flagged = int(judgement.bound[name])
    return Score(
        name,
        float(flagged),
        0.0,
        raw=float(judgement.raw[name]),
        bound_by=judgement.bound_by.get(name),
        counts={"flagged": flagged, "judged": 1},
    )


def _flagged(flag: Flag, judgement: Judgement, severity: Mapping[str, str]) -> Finding:
    code = flag.name.upper()
    rule = judgement.bound_by.get(flag.name)
    return Finding(
        code,
        place=flag.name,
        expected=False,
        got=True,
        evidence="the judge set it" if rule is None else f"the judge did not set it, a rule did: {rule}",
        severity=severity.get(code, "critical"),
        component=flag.name,
    )


def _finding(dimension: Dimension, rubric: Rubric, judgement: Judgement, severity: Mapping[str, str]) -> Finding:
    name = dimension.name
    bound = float(judgement.bound[name])
    code = name.upper()
    return Finding(
        code,
        place=name,
        expected=f"{rubric.neutral} or more of {rubric.high}",
        got=bound,
        evidence=_why(name, judgement),
        severity=severity.get(code, "error"),
        component=name,
        gain=(rubric.high - bound) / (rubric.high - rubric.low),
    )


def _why(name: str, judgement: Judgement) -> str:
    raw, bound = judgement.raw.get(name), judgement.bound[name]
    rule = judgement.bound_by.get(name)
    said = "the judges differ" if raw is None else f"the judge gave {raw:g}"
    return said if rule is None else f"{said}, bound to {bound:g}: {rule}"
