"""What a judgement adds to a sample: scores for dimensions, flags and stated figures, and findings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steelyard.records import Finding, Judgement, Mode, Score
from steelyard.suite.judge import (
    LISTED,
    REBUTTED,
    Dimension,
    Flag,
    JudgeModel,
    Rubric,
    SaidCount,
    SaidMean,
)
from steelyard.suite.paths import compile_path

JUDGE: Final = "JUDGE"
"""The code of a sample whose judge failed."""


def read_judgement(
    rubric: Rubric, judgement: Judgement, severity: Mapping[str, str]
) -> tuple[tuple[Score, ...], tuple[Finding, ...]]:
    """Scores in the order of the rubric, in points as they are bound, and the findings."""
    scores = [_score(dimension, judgement) for dimension in rubric.dimensions]
    scores += [_flag(flag, judgement) for flag in rubric.flags]
    findings = [_flagged(flag, judgement, severity) for flag in rubric.flags if judgement.capped[flag.name]]
    low = [
        dimension
        for dimension in rubric.dimensions
        if judgement.capped.get(dimension.name, rubric.neutral) < rubric.neutral
    ]
    return tuple(scores), (*findings, *(_finding(item, rubric, judgement, severity) for item in low))


def _score(dimension: Dimension, judgement: Judgement) -> Score:
    name = dimension.name
    if name not in judgement.capped:
        return Score(name, None, dimension.weight, note=f"not judged: the case has no {dimension.needs}")
    return Score(
        name,
        float(judgement.capped[name]),
        dimension.weight,
        uncapped=_number(judgement.uncapped.get(name)),
        capped_by=judgement.capped_by.get(name),
    )


def _number(value: float | None) -> float | None:
    """The value as stored; None where a panel agreed only on what the rules left of its scores."""
    return None if value is None else float(value)


def _flag(flag: Flag, judgement: Judgement) -> Score:
    """A flag is a share of texts, never a part of the score: counts make its rate over a run."""
    name = flag.name
    flagged = int(judgement.capped[name])
    return Score(
        name,
        float(flagged),
        0.0,
        uncapped=float(judgement.uncapped[name]),
        capped_by=judgement.capped_by.get(name),
        counts={"flagged": flagged, "judged": 1},
    )


def _flagged(flag: Flag, judgement: Judgement, severity: Mapping[str, str]) -> Finding:
    code = flag.name.upper()
    rule = judgement.capped_by.get(flag.name)
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
    bound = float(judgement.capped[name])
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
    raw, bound = judgement.uncapped.get(name), judgement.capped[name]
    rule = judgement.capped_by.get(name)
    text = "the judges differ" if raw is None else f"the judge gave {raw:g}"
    return text if rule is None else f"{text}, capped at {bound:g}: {rule}"


def said_scores(judge: JudgeModel, judgement: Judgement) -> tuple[Score, ...]:
    """A score for each figure that the answer has a reading of; a basic reading, believed only in its scores, has none.

    Of a panel it is what the vote says that stands for the others.
    """
    vote = judgement.stands
    if vote is None or vote.mode is Mode.BASIC:
        return ()
    return (*_means(judge.means, vote.response), *_counts(judge.counts, vote.response))


def not_rebutted(judge: JudgeModel, findings: tuple[Finding, ...], judgement: Judgement) -> tuple[Finding, ...]:
    """The findings of scorers without those that the judge, asked about them, rebutted; it lists those itself."""
    vote, owed = judgement.stands, judge.must_answer
    if owed is None or vote is None or vote.mode is Mode.RULES:
        return findings
    rebutted = iter([answer.get("answer") == REBUTTED for answer in vote.response.get(owed.place) or ()])
    return tuple(item for item in findings if item.code not in owed.findings or not next(rebutted, False))


def _means(figures: tuple[SaidMean, ...], response: Mapping[str, Any]) -> Iterator[Score]:
    for figure in figures:
        value = compile_path(figure.path)(response)
        if isinstance(value, int | float) and not isinstance(value, bool) and _is_on(value, figure.scale):
            yield Score(figure.name, float(value), 0.0)


def _is_on(value: float, scale: tuple[float, float]) -> bool:
    low, high = scale
    return math.isfinite(value) and low <= value <= high


def _counts(figures: tuple[SaidCount, ...], response: Mapping[str, Any]) -> Iterator[Score]:
    """What every list counts; one that is not there counts nothing, which is not zero."""
    for figure in figures:
        elements = compile_path(figure.list_path)(response)
        if not isinstance(elements, list | tuple):
            continue
        word_of = compile_path(figure.word_path)
        texts = Counter(word for element in elements if isinstance(word := word_of(element), str))
        counts = {word: texts[word] for word in figure.words}
        yield Score(figure.name, None, 0.0, counts=counts | {LISTED: len(elements)})
