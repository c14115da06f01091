"""The mean of values between two known ends: an interval and p-values that hold whatever lies between them."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.sequential import interval_end

TAIL = 0.025
METHOD = "bounds that hold for any values between two ends (Gaffke 2005)"
_MOST_DISTINCT = 4096
_BISECTIONS = 30
_NORMAL = NormalDist()
_AT_THE_MEAN = 1e-6
"""So near the middle the formula divides rounding by rounding."""


@frozen
class BoundedMean:
    """Sums and sizes of cases, each kind of case once with its number, and the ends that every value lies between."""

    sums: Array
    sizes: Array
    counts: Array
    low: float
    high: float
    step: float = 0.0
    """What sums were rounded down by at most, where there are very many."""

    @property
    def n(self) -> int:
        """How many cases there are."""
        return int(self.counts.sum())

    @property
    def value(self) -> float:
        """The mean of all values."""
        return float((self.sums * self.counts).sum() / (self.sizes * self.counts).sum())

    def p_at_most(self, limit: float) -> float:
        """How likely so high a sample is at most, when the mean is `limit` or below it: one-sided."""
        return _chance(self.sums - limit * self.sizes, self.counts, (self.low - limit) * float(self.sizes.max()))

    def p_at_least(self, limit: float) -> float:
        """How likely so low a sample is at most, when the mean is `limit` or above it: one-sided."""
        beyond = limit * self.sizes - self.sums - self.step
        return _chance(beyond, self.counts, (limit - self.high) * float(self.sizes.max()))

    def interval(self, tail: float = TAIL) -> tuple[float, float]:
        """The ends beyond each of which the mean lies with at most `tail`."""
        value = min(self.high, max(self.low, self.value))
        return (
            interval_end(lambda limit: self.p_at_most(limit) <= tail, self.low, value, _BISECTIONS),
            interval_end(lambda limit: self.p_at_least(limit) <= tail, self.high, value, _BISECTIONS),
        )

    def fewest(self, limit: float, several: int = 1) -> float:
        """How many cases, all of them at 0, would show that the mean is above `limit`."""
        share = min(1.0, limit / self.low)
        if share <= 0:
            return math.inf
        return 1 if share == 1 else math.ceil(math.log(TAIL / several) / math.log1p(-share))

    def times(self, factor: float) -> BoundedMean:
        """The same of values that are so many times as large."""
        low, high = self.low * factor, self.high * factor
        return replace(self, sums=self.sums * factor, low=low, high=high, step=self.step * factor)

    def turned(self) -> BoundedMean:
        """The same of the values below 0 for above 0."""
        return replace(self, sums=-self.sums - self.step, low=-self.high, high=-self.low)


def bounded_mean(sums: Array, sizes: Array, ends: tuple[float, float]) -> BoundedMean | None:
    """The mean of values that all lie between the ends, from their sum and number in each case; None of no case."""
    present = sizes > 0
    sums, sizes = np.round(sums[present], 12), sizes[present]
    if not len(sums) or not math.isfinite(ends[1] - ends[0]):
        return None
    step = 0.0
    if len(np.unique(sums)) > _MOST_DISTINCT:
        step = (ends[1] - ends[0]) * float(sizes.max()) / _MOST_DISTINCT
        sums = np.floor(sums / step) * step
    cases, counts = np.unique(np.stack((sums, sizes)), axis=1, return_counts=True)
    return BoundedMean(cases[0], cases[1], counts, *ends, step)


def bounded_difference(a: Array, b: Array, ends: tuple[float, float]) -> tuple[float, float]:
    """The 95 % interval of the mean of `b` less that of `a`, two groups of values between the ends."""
    sides = [bounded_mean(item, np.ones(len(item)), ends) for item in (a, b)]
    (low_a, high_a), (low_b, high_b) = (side.interval(TAIL / 2) if side else ends for side in sides)
    return low_b - high_a, high_b - low_a


def bounded_ratios(above_a: Array, below_a: Array, above_b: Array, below_b: Array) -> BoundedMean | None:
    """The difference of two ratios of sums, from numerators and denominators by case; None where a ratio may exceed 1.

    Each case counts by its influence, as in `paired_ratio`. The worst case is as large as the largest that was seen,
    and goes from all to nothing.
    """
    total_a, total_b = float(below_a.sum()), float(below_b.sum())
    if min(total_a, total_b) <= 0 or (above_a > below_a).any() or (above_b > below_b).any():
        return None
    ratio_a, ratio_b, n = float(above_a.sum()) / total_a, float(above_b.sum()) / total_b, len(above_a)
    moves = (above_b - ratio_b * below_b) / total_b - (above_a - ratio_a * below_a) / total_a
    most_a, most_b = float(below_a.max()) / total_a, float(below_b.max()) / total_b
    ends = -ratio_b * most_b - (1 - ratio_a) * most_a, (1 - ratio_b) * most_b + ratio_a * most_a
    value = ratio_b - ratio_a
    return bounded_mean(value + n * moves, np.ones(n), (value + n * ends[0], value + n * ends[1]))


def _chance(values: Array, counts: Array, worst: float) -> float:
    """The chance that a sum of the values and the worst one, each with an exponential weight, is at most 0."""
    if worst >= 0 or float(values.max()) <= 0:
        return float(worst < 0)
    values, counts = np.append(values, worst), np.append(counts, 1)

    def slope(at: float) -> float:
        return float((counts * values / (1 - at * values)).sum())

    low, high = 1 / float(values.min()), 1 / float(values.max())
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    at = (low + high) / 2
    depth = 2 * float((counts * np.log1p(-at * values)).sum())
    if depth < _AT_THE_MEAN:
        return 0.5
    w = math.copysign(math.sqrt(depth), at)
    u = at * math.sqrt(float((counts * (values / (1 - at * values)) ** 2).sum()))
    return min(1.0, max(0.0, _NORMAL.cdf(w) + _NORMAL.pdf(w) * (1 / w - 1 / u)))
