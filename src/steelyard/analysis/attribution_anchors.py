"""The portion of a judge that is another, or has drifted, and what it leaves for the system.

Of an answer that is the same to the byte in both runs the system has no part in any change: it is an anchor. Other
answers of A that B's judge has read as well are bought anchors, drawn at random. What anchors show is carried over to
the pairs without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.attribution_model import Anchors, Cause, How, Portion
from steelyard.analysis.attribution_sums import Moving, Units
from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import SIGNIFICANT, case_starts, paired_mean
from steelyard.analysis.pieces import Array

_FEWEST_CASES = 2
"""Anchors of fewer cases show no spread, and so nothing about other answers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Pairs on their way from A's answers as last weighed to B's readings."""

    left: Array
    """B's reading minus A's answer as last weighed."""
    bought: Array
    """A's answer by B's judge minus as last weighed; NaN where B's judge was not asked about it."""
    identical: Array
    """Marks anchors."""
    judged: Array
    """Marks the pairs that a judge has read on both sides."""
    case: Array
    pending: tuple[Cause, ...]
    """The causes between A's answers as last weighed and as B's judge reads them; empty when nothing is known to
    differ, so that only a drift can."""


def judge_and_system(pairs: Judged, units: Units) -> tuple[list[Portion], Anchors] | None:
    """The judge's portion and what is left; None when nothing measures the judge."""
    same, fresh = pairs.identical & pairs.judged, ~np.isnan(pairs.bought) & ~pairs.identical
    found = _shift(pairs, units, same, fresh)
    if found is None:
        return None
    judge, base = found
    n_cases, n_anchors = units.count(pairs.case), units.count(pairs.case[base])
    anchors = Anchors(int(same.sum()), int(fresh.sum()), n_anchors, int(pairs.judged.sum()))
    carried = bool((pairs.judged & ~base).any())
    change = judge.estimate(n_anchors, spread_unknown=carried)
    rest = (units.mean(pairs.left, pairs.case) - judge).estimate(min(n_cases, n_anchors), spread_unknown=carried)
    return [
        Portion(pairs.pending or (Cause.JUDGE,), change, How.ANCHORS, _unsure(change), stands_on(anchors)),
        Portion((Cause.SYSTEM,), rest, How.LEFT, _unsure(rest)),
    ], anchors


def _shift(pairs: Judged, units: Units, same: Array, fresh: Array) -> tuple[Moving, Array] | None:
    """By how much the judge alone moves the mean, and the pairs that say so; None when too few do."""
    n, others = len(pairs.left), pairs.judged & ~same
    on_anchors = units.mean(np.where(same, pairs.left, 0.0), pairs.case)
    if units.count(pairs.case[fresh]) >= _FEWEST_CASES:
        return on_anchors + units.mean(pairs.bought[fresh], pairs.case[fresh]).times(
            int(others.sum()) / n
        ), same | fresh
    if units.count(pairs.case[same]) < _FEWEST_CASES:
        return None
    if not others.any():
        return on_anchors, same
    # Identical answers are not drawn at random: they may stand for a judge, but not for scorers or truth.
    if pairs.pending not in ((), (Cause.JUDGE,)):
        return None
    return units.mean(pairs.left[same], pairs.case[same]).times(int(pairs.judged.sum()) / n), same


def has_drifted(pairs: Judged) -> bool:
    """Whether the same judge reads the same answers otherwise than it did, beyond noise."""
    rows = np.flatnonzero(pairs.identical & pairs.judged)
    starts = case_starts(pairs.case[rows])
    if len(starts) < _FEWEST_CASES:
        return False
    sums = np.add.reduceat(pairs.left[rows], starts)
    p = paired_mean(sums, np.diff(np.append(starts, len(rows))), 1.0).p
    return p is not None and p < SIGNIFICANT


def _unsure(change: Estimate) -> bool:
    if change.low is None or change.high is None:
        return change.value != 0
    return change.low <= 0 <= change.high


def stands_on(anchors: Anchors) -> str:
    """The anchors in words."""
    told = [f"{anchors.identical:,} answers that are the same in both runs"] if anchors.identical else []
    if anchors.bought:
        told.append(f"{anchors.bought:,} answers of A that B's judge read too")
    return f"{' and '.join(told)}, of {anchors.judged:,} judged pairs" if told else ""
