"""The portion of a judge that is another, or has drifted, and what it leaves for the system."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard.comparing.attribution_model import Anchors, Cause, How, Portion
from steelyard.comparing.shared_pairs import Moving, Units
from steelyard.frozen import frozen
from steelyard.pairing.judge_drift import FEWEST_CASES, Drift, covered_by, drift_of, unseen_spread
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import NO_CHANGE


@frozen
class Judged:
    """Pairs on their way from A's answers as last scored to B's readings."""

    left: Array
    """B's reading minus A's answer as last scored."""
    bought: Array
    """A's answer by B's judge minus as last scored; NaN where B's judge was not asked about it."""
    identical: Array
    """Marks anchors."""
    judged: Array
    """Marks the pairs that a judge has read on both sides."""
    band: Array
    """The band of the score that A's answer has in A."""
    case: Array
    pending: tuple[Cause, ...]
    """The causes between A's answers as last scored and as B's judge reads them; empty when nothing is known to
    differ, so that only a drift can."""

    @property
    def moved(self) -> Array:
        """What each anchor is moved by; NaN for pairs that are none."""
        return np.where(self.identical & self.judged, self.left, self.bought)

    @property
    def drift(self) -> Drift:
        """Whether the same judge reads the same answers otherwise than it did."""
        return drift_of(self.moved, self.identical, self.judged, self.band, self.case)


@frozen
class Separated:
    """The portions that anchors tell apart, and by how much the judge moves each pair."""

    judge: Portion
    system: Portion | None
    """None when anchors stand for no answer but the same ones."""
    anchors: Anchors
    to_pair: Array
    """NaN where no anchor has such a score."""


def judge_and_system(pairs: Judged, units: Units) -> Separated | None:
    """The judge's portion and what is left; None when nothing measures the judge."""
    same, fresh = pairs.identical & pairs.judged, ~np.isnan(pairs.bought) & ~pairs.identical
    others, available = pairs.judged & ~same, same | fresh
    # Identical answers are not drawn at random: they may stand for a judge, but not for scorers or truth.
    few_drawn = units.count(pairs.case[fresh]) < FEWEST_CASES
    if few_drawn and others.any() and pairs.pending not in ((), (Cause.JUDGE,)):
        return None
    if units.count(pairs.case[available]) < FEWEST_CASES:
        return None
    judge, to_pair, n_free = _shift(pairs, units, same, fresh)
    n_cases, n_anchors = units.count(pairs.case), units.count(pairs.case[available])
    anchors = Anchors(int(same.sum()), int(fresh.sum()), n_anchors, int(pairs.judged.sum()))
    apart = np.isnan(to_pair)
    carried = bool((pairs.judged & ~available & ~apart).any())
    agreed = judge.error(n_free) == 0 and (carried or abs(judge.value) > NO_CHANGE)
    unseen = unseen_spread(n_anchors) if agreed else 0.0
    change = replace(judge.estimate(n_free, unseen), n=n_anchors)
    message = stands_on(anchors)
    separated = Separated(
        Portion(pairs.pending or (Cause.JUDGE,), change, How.ANCHORS, _unsure(change), message), None, anchors, to_pair
    )
    if apart.any() and not (others & ~apart).any():
        return separated
    # Where a shift is carried over, what the judge's part may be off by the system's is off by the other way.
    rest = units.mean(np.where(apart, 0.0, pairs.left), pairs.case) - judge
    left = rest.estimate(min(n_cases, n_free), unseen if carried else 0.0)
    return replace(separated, system=Portion((Cause.SYSTEM,), left, How.LEFT, _unsure(left)))


def _shift(pairs: Judged, units: Units, same: Array, fresh: Array) -> tuple[Moving, Array, int]:
    """By how much the judge alone moves the mean, and each pair, and the cases that are left when every band has its
    own mean."""
    n, available = len(pairs.left), same | fresh
    shown = np.where(available, pairs.moved, 0.0)
    unknown = pairs.judged & ~available
    to_pair = np.where(unknown, np.nan, shown)
    expected, bands = to_pair.copy(), []
    # Bought anchors stand for the pairs that are not identical, identical ones for themselves; where too few were
    # bought, the identical stand for all.
    for anchors in (fresh, available):
        for here, drawn in covered_by(anchors, pairs.band, pairs.case):
            if np.isnan(to_pair[here]).any():
                stands_for = drawn | (here & unknown)
                expected[stands_for] = mean = float(shown[drawn].mean())
                to_pair[here & unknown] = mean
                bands.append((drawn, int(stands_for.sum()) / n))
    carriers = np.any([drawn for drawn, _ in bands], axis=0) if bands else available
    n_free = max(FEWEST_CASES, units.count(pairs.case[carriers]) - max(0, len(bands) - 1))
    total = units.mean(np.nan_to_num(expected), pairs.case)
    for drawn, part in bands:
        mean_of, n_drawn = units.mean(shown[drawn], pairs.case[drawn]), units.count(pairs.case[drawn])
        # A mean of few has a spread of its own: by its own number, not by that of all.
        wider = math.sqrt(n_drawn / (n_drawn - 1) * (n_free - 1) / n_free)
        total += Moving(0.0, mean_of.influence * wider).times(part)
    return total, to_pair, n_free


def _unsure(change: Estimate) -> bool:
    if change.low is None or change.high is None:
        return change.value != 0
    return change.low <= 0 <= change.high


def stands_on(anchors: Anchors) -> str:
    """The anchors in words."""
    message = [f"the same answer in both runs: {anchors.identical:,}"] if anchors.identical else []
    if anchors.bought:
        message.append(f"answers of A that B's judge scored, too: {anchors.bought:,}")
    return f"{'; '.join(message)}; of {anchors.judged:,} judged pairs" if message else ""
