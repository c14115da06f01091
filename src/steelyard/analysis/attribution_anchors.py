"""The portion of a judge that is another, or has drifted, and what it leaves for the system.

Of an answer that is the same to the byte in both runs the system has no part in any change: it is an anchor. Other
answers of A that B's judge has read as well are bought anchors, drawn at random. What anchors show is carried over to
the pairs without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.attribution_model import Anchors, Cause, How, Portion
from steelyard.analysis.attribution_sums import Moving, Units, unseen_spread
from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import NO_CHANGE, SIGNIFICANT, case_starts, paired_mean
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


@dataclass(frozen=True, slots=True)
class Carried:
    """A judge's shift, pair by pair: the sums of `by_anchor` and of `to_pair` are the same."""

    shown: Array
    """What each anchor shows; 0 for pairs that are none."""
    by_anchor: Array
    """The same, multiplied by how many pairs an anchor stands for."""
    to_pair: Array
    """What each pair is taken to be moved by."""


def judge_and_system(pairs: Judged, units: Units) -> tuple[list[Portion], Anchors, Carried] | None:
    """The judge's portion and what is left; None when nothing measures the judge."""
    same, fresh = pairs.identical & pairs.judged, ~np.isnan(pairs.bought) & ~pairs.identical
    found = _shift(pairs, units, same, fresh)
    if found is None:
        return None
    judge, base = found
    carried_over = _carried(pairs, same, base & ~same)
    n_cases, n_anchors = units.count(pairs.case), units.count(pairs.case[base])
    anchors = Anchors(int(same.sum()), int(fresh.sum()), n_anchors, int(pairs.judged.sum()))
    carried = bool((pairs.judged & ~base).any())
    agreed = judge.error(n_anchors) == 0 and (carried or abs(judge.value) > NO_CHANGE)
    unseen = unseen_spread(n_anchors) if agreed else 0.0
    change = judge.estimate(n_anchors, unseen)
    # Where a shift is carried over, what the judge's part may be off by the system's is off by the other way.
    rest = (units.mean(pairs.left, pairs.case) - judge).estimate(min(n_cases, n_anchors), unseen if carried else 0.0)
    return (
        [
            Portion(pairs.pending or (Cause.JUDGE,), change, How.ANCHORS, _unsure(change), stands_on(anchors)),
            Portion((Cause.SYSTEM,), rest, How.LEFT, _unsure(rest)),
        ],
        anchors,
        carried_over,
    )


def _carried(pairs: Judged, same: Array, fresh: Array) -> Carried:
    """Bought anchors stand for the pairs that are not identical, identical ones for themselves; without bought ones
    the identical stand for all."""
    shown = np.where(same, pairs.left, np.where(fresh, pairs.bought, 0.0))
    drawn, unknown = (fresh, pairs.judged & ~same) if fresh.any() else (same, pairs.judged)
    mean, weight = float(shown[drawn].mean()), float(unknown.sum() / drawn.sum())
    return Carried(shown, np.where(drawn, shown * weight, shown), np.where(unknown, mean, shown))


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
    told = [f"the same answer in both runs: {anchors.identical:,}"] if anchors.identical else []
    if anchors.bought:
        told.append(f"answers of A that B's judge read too: {anchors.bought:,}")
    return f"{'; '.join(told)}; of {anchors.judged:,} judged pairs" if told else ""
