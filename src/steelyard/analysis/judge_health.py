"""How far a judge can be trusted: against a reviewer's labels, against its rubric, against itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis.ballots import Ballots
from steelyard.analysis.complaints import complaints_about
from steelyard.analysis.judge_check import as_number, corrected_by_labels
from steelyard.analysis.judge_model import (
    MOST_LISTED,
    DimensionHealth,
    Disagreement,
    FlagHealth,
    JudgedText,
    JudgeHealth,
    is_inflated,
)
from steelyard.analysis.judge_rubric import against_itself, pairs_of, reliability, repeated, share_between, spread
from steelyard.analysis.people import people_beside
from steelyard.analysis.rubric import DescribedRubric, Labels, described_rubric
from steelyard.stats.agreement import agreement, allowed_agreement, flag_agreement, spearman
from steelyard.stats.arrays import Array
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Spending
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteDescription

LabelsOf = Callable[[str], Labels | None] | Mapping[str, Labels]
"""From the id of a case to its labels by dimension and flag; nothing for a case without."""


def judge_health(
    judged: Iterable[JudgedText], suite: SuiteDescription, labels_of: LabelsOf, spending: Spending | None = None
) -> JudgeHealth:
    """All figures of the judge of one run; `suite` is the suite as the run's header describes it.

    The judgements are read once. Only readings of the run's main mode count; ValueError for a suite without a judge.
    """
    rubric = described_rubric(suite)
    if rubric is None:
        raise ValueError("the suite has no judge")
    ballots = Ballots(judged, rubric)
    labels = _Labelled(ballots, labels_of)
    health = JudgeHealth(
        mode=rubric.mode,
        scale=rubric.scale,
        n_texts=ballots.n_texts,
        n_labelled=int(labels.any.sum()),
        n_labelled_otherwise=int(labels.otherwise.sum()),
        n_ballots=ballots.n,
        modes=dict(ballots.modes.most_common()),
        n_aside=ballots.n_aside,
        n_failed=ballots.n_failed,
        dimensions={name: _dimension(name, ballots, labels) for name in rubric.dimensions},
        flags={name: _flag(name, ballots, labels) for name in rubric.flags},
        pairs=pairs_of(ballots),
        itself=against_itself(ballots),
        corrected=corrected_by_labels(ballots.passed, labels.passes, ballots.unit, rubric),
        spending=spending,
    )
    return replace(health, complaints=complaints_about(health))


@dataclass(frozen=True, slots=True)
class _Range:
    """A reviewer's labels of one dimension, by text."""

    best: Array
    low: Array
    high: Array


class _Labelled:
    """The labels of all cases, as columns of texts."""

    def __init__(self, ballots: Ballots, labels_of: LabelsOf) -> None:
        find = labels_of.get if isinstance(labels_of, Mapping) else labels_of
        by_case = [find(case_id) or {} for case_id in ballots.case_ids]
        self._case, self._by_case, self._labelled = ballots.case, by_case, ballots.labelled
        self._ranges = {name: _range(name, by_case) for name in ballots.rubric.dimensions}
        self._flags = {name: _flags(name, by_case) for name in ballots.rubric.flags}
        self.any = self._by_text([bool(each) for each in by_case]) > 0
        self.otherwise = np.array([bool(each) for each in by_case], dtype=bool)[self._case] & ~self._labelled
        self.passes = self._by_text([as_number(ballots.rubric.passes(each)) for each in by_case])

    def _by_text(self, values: list[Any]) -> Array:
        column: Array = np.array(values, dtype=float)[self._case] if values else np.empty(0)
        return np.where(self._labelled, column, np.nan)

    def of(self, dimension: str) -> _Range:
        best, low, high = (self._by_text(each) for each in self._ranges[dimension])
        return _Range(best, low, high)

    def people(self, dimension: str) -> tuple[Array, list[str]]:
        """A row of scores for each person who labelled the dimension, and their names."""
        found = [label.by if isinstance(label := each.get(dimension), Label) else {} for each in self._by_case]
        names = sorted(set().union(*found))
        rows = [self._by_text([by.get(name, np.nan) for by in found]) for name in names]
        return np.array(rows).reshape(len(names), len(self._case)), names

    def flag(self, name: str) -> Array:
        return self._by_text(self._flags[name])


def _range(name: str, by_case: list[Labels]) -> tuple[list[float], list[float], list[float]]:
    found = [label if isinstance(label := each.get(name), Label) else None for each in by_case]
    return (
        [np.nan if label is None else label.best for label in found],
        [np.nan if label is None else label.low for label in found],
        [np.nan if label is None else label.high for label in found],
    )


def _flags(name: str, by_case: list[Labels]) -> list[float]:
    return [as_number(label if isinstance(label := each.get(name), bool) else None) for each in by_case]


def _dimension(name: str, ballots: Ballots, labels: _Labelled) -> DimensionHealth:
    rubric, case = ballots.rubric, ballots.unit
    raw, label = ballots.raw(name), labels.of(name)
    bound_exact, bound_within_one = allowed_agreement(ballots.bound(name), label.low, label.high, case)
    top, due = share_between(raw, rubric.high, rubric.high, case), _top_labelled(label.best, rubric, case)
    beyond = _top_beyond(raw, label.best, rubric.high, case)
    same, moved = repeated(ballots, name)
    width = spread(raw, case)
    outside = _outside(raw, label)
    return DimensionHealth(
        agreement=agreement(raw, label.best, label.low, label.high, case, rubric.scale),
        bound_exact=bound_exact,
        bound_within_one=bound_within_one,
        top_share=top,
        top_labelled=due,
        top_beyond=beyond,
        inflated=is_inflated(top, beyond, rubric.mode),
        middle_share=share_between(raw, rubric.neutral, min(rubric.neutral + 1, rubric.high), case),
        spread=width,
        constant=width.value == 0,
        length=spearman(raw, ballots.length, case),
        length_labelled=_of_labelled(label.best, ballots.length, case),
        repeatability=same,
        moved=moved,
        reliability=reliability(ballots, name),
        people=people_beside(raw, *labels.people(name), case, rubric.epsilon),
        disagreements=_farthest(outside, raw, label, ballots),
        n_disagreements=int((outside != 0).sum()),
    )


def _outside(scores: Array, label: _Range) -> Array:
    """How far each score is beyond the allowed range, with its sign; 0 inside it, and where one of them is missing."""
    above, below = np.maximum(scores - label.high, 0), np.maximum(label.low - scores, 0)
    outside: Array = np.nan_to_num(np.round(above - below, 9), nan=0.0)
    return outside


def _farthest(outside: Array, scores: Array, label: _Range, ballots: Ballots) -> tuple[Disagreement, ...]:
    # Of texts equally far outside the range, those farther from the best score come first.
    from_best = np.abs(np.nan_to_num(scores - label.best, nan=0.0))
    order = np.lexsort((-from_best, -np.abs(outside)))[:MOST_LISTED]
    names = list(ballots.case_ids)
    return tuple(
        Disagreement(
            names[ballots.case[k]],
            *(float(column[k]) for column in (label.best, label.low, label.high, scores, outside)),
        )
        for k in order.tolist()
        if outside[k]
    )


def _of_labelled(best: Array, length: Array, case: Array) -> Estimate:
    labelled = ~np.isnan(best)
    return spearman(best[labelled], length[labelled], case[labelled])


def _top_labelled(best: Array, rubric: DescribedRubric, case: Array) -> Estimate:
    labelled = ~np.isnan(best)
    return share(best[labelled] == rubric.high, np.ones(int(labelled.sum()), dtype=bool), case[labelled])


def _top_beyond(scores: Array, best: Array, highest: float, case: Array) -> Estimate:
    both = ~(np.isnan(scores) | np.isnan(best))
    apart = (scores[both] == highest).astype(float) - (best[both] == highest)
    return mean(apart, case[both], (-1.0, 1.0))


def _flag(name: str, ballots: Ballots, labels: _Labelled) -> FlagHealth:
    raw, label = ballots.raw(name), labels.flag(name)
    return FlagHealth(
        agreement=flag_agreement(raw, label, ballots.unit),
        bound=flag_agreement(ballots.bound(name), label, ballots.unit),
        share=share(raw == 1, ~np.isnan(raw), ballots.unit),
        missed=_cases(ballots, (raw == 0) & (label == 1)),
        false_alarms=_cases(ballots, (raw == 1) & (label == 0)),
    )


def _cases(ballots: Ballots, chosen: Array) -> tuple[str, ...]:
    names = list(ballots.case_ids)
    return tuple(names[ballots.case[k]] for k in np.flatnonzero(chosen)[:MOST_LISTED].tolist())
