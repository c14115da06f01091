"""Tests and bounds that hold however often one looks, and whatever the distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array, binomial_below, chi_square_above, incomplete_beta
from steelyard.stats.intervals import t_quantile, t_two_sided

ALPHA = 0.05
FEWEST_WITHOUT_ENDS = 50
"""Differences without ends that an interval takes: with fewer it would hold too seldom, as simulations show."""
_MOST_CARRIED = 0.15
"""Lyapunov's ratio, which is 1 / sqrt(k) where k of many values are not 0 and alike, up to which a mean is taken to be
normal at every look: with 97 % of 0 in arms of 9 : 1 a difference was shown in 8 to 34 % of null experiments without
this limit, and in none of 600 with it, most of which it refused an interval. A test that is read once may take twice
as much."""
_LEAST_PLANNED = 300
"""A sequence that is tightest earlier than here is too short for skewed differences: it missed 8 % instead of 5."""
_BOLDEST = 0.75
"""The largest part of the capital that one difference may cost."""
_STAKES = 13
"""Stakes in the mixture, each half of the one before: the smallest suits a difference of a few ten thousandths."""
_HALVINGS = 45
"""Of the scale, until the end of an interval is found: less than what is left is rounding."""


def _mixture() -> tuple[Array, Array]:
    """Stakes as parts of the largest one allowed, and the logarithms of what of the capital is set on each."""
    number = np.arange(_STAKES)
    shares = 1 / ((number + 1) * (number + 2))
    return 0.5**number, np.log(shares / shares.sum())


@frozen
class Sequential:
    """What may be said of a mean difference after looking at it all the time; None for what is undefined."""

    low: float | None
    high: float | None
    p: float | None = None
    """Valid at any time: the chance, were there no difference, ever to see as much as was seen."""
    decided_at: int | None = None
    """After how many differences 0 was outside for the first time, or all that counts as same was shown."""


class Bet:
    """The capital of two gamblers who bet that a mean is above, or below, a value between 0 and 1.

    If the mean is that value, neither can be expected to win: capital above 1 / alpha shows that it is not.
    """

    def __init__(self, value: float) -> None:
        self._value = value
        stakes, shares = _mixture()
        self._stakes = np.stack([stakes * _BOLDEST / value, -stakes * _BOLDEST / (1 - value)])
        self._logs = np.stack([shares, shares]) + math.log(0.5)
        self._most = np.full(2, math.log(0.5))

    def add(self, x: float) -> None:
        """One more observation."""
        self._logs += np.log1p(self._stakes * (x - self._value))
        np.maximum(self._most, np.logaddexp.reduce(self._logs, axis=1), out=self._most)

    @property
    def is_above(self) -> bool:
        """True once the mean is shown to be above the value."""
        return bool(self._most[0] >= -math.log(ALPHA))

    @property
    def is_below(self) -> bool:
        """True once the mean is shown to be below the value."""
        return bool(self._most[1] >= -math.log(ALPHA))


class Watch:
    """Looks at differences between -1 and 1 as they come, and says when they have decided.

    `same_within` is how far from 0 the mean may be and still count as the same; None when nothing but 0 does.
    """

    def __init__(self, same_within: float | None = None) -> None:
        self.n = 0
        self.decided_at: int | None = None
        self._none = Bet(0.5)
        values = _margins(same_within)
        self._margins = None if values is None else (Bet(values[0]), Bet(values[1]))

    def add(self, difference: float) -> bool:
        """Take one more; True when the decision has fallen, now or before."""
        if self.decided_at is not None:
            return True
        x = (max(-1.0, min(1.0, difference)) + 1) / 2
        for bet in (self._none, *(self._margins or ())):
            bet.add(x)
        self.n += 1
        same = self._margins is not None and self._margins[0].is_above and self._margins[1].is_below
        if self._none.is_above or self._none.is_below or same:
            self.decided_at = self.n
        return self.decided_at is not None


def _margins(same_within: float | None) -> tuple[float, float] | None:
    """What counts as the same, on the scale from 0 to 1."""
    if same_within is None or not 0 < same_within < 1:
        return None
    return (1 - same_within) / 2, (1 + same_within) / 2


def sequential_mean(differences: Array, same_within: float | None = None) -> Sequential:
    """The always-valid interval and p-value of the mean of differences between -1 and 1, in the order they came.

    The interval is what is left after all looks that mattered: those at which something was shown, and the last.
    """
    if len(differences) < 2:
        return Sequential(None, None)
    x = _scaled(differences)
    above, below = _paths(x, 0.5)
    not_none = _first_shown(np.maximum(above, below))
    sides: list[int | None] = []
    values = _margins(same_within)
    if values is not None:
        sides = [_first_shown(_paths(x, values[0])[0]), _first_shown(_paths(x, values[1])[1])]
    shown = [moment for moment in (not_none, *sides) if moment is not None]
    decisive = [] if not_none is None else [not_none]
    if sides and None not in sides:
        decisive.append(max(shown[-2:]))
    low, high = _left(differences, shown)
    p = min(1.0, math.exp(-float(max(above.max(), below.max()))))
    return Sequential(low, high, p, min(decisive, default=None))


def _left(differences: Array, moments: list[int]) -> tuple[float, float]:
    """What the intervals of these moments, the earliest first, and of the last have in common."""
    low, high = -1.0, 1.0
    for n in (*sorted(moments), len(differences)):
        then = betting_interval(differences[:n])
        both = max(low, then[0]), min(high, then[1])
        if both[0] > both[1]:
            # Only when the differences of later are of another kind than those that decided.
            break
        low, high = both
    return low, high


def _paths(x: Array, value: float) -> tuple[Array, Array]:
    """The logarithms of what each gambler owns after every observation."""
    results = []
    for most in (_BOLDEST / value, -_BOLDEST / (1 - value)):
        path = np.full(len(x), -np.inf)
        for stake, share in zip(*_mixture(), strict=True):
            np.logaddexp(path, share + np.cumsum(np.log1p(stake * most * (x - value))), out=path)
        results.append(path + math.log(0.5))
    return results[0], results[1]


def _first_shown(path: Array) -> int | None:
    shown = np.flatnonzero(path >= -math.log(ALPHA))
    return int(shown[0]) + 1 if len(shown) else None


def betting_interval(differences: Array) -> tuple[float, float]:
    """The 95 % confidence sequence of a mean of differences between -1 and 1, as it is after all of them."""
    # The order does not matter, so that equal differences are worked out once.
    x, counts = np.unique(_scaled(differences), return_counts=True)
    stakes, shares = _mixture()
    needed = -math.log(ALPHA) + math.log(2)

    def owns(mean: float, most: float) -> float:
        logs = np.log1p(most * stakes[:, None] * (x - mean)) @ counts
        return float(np.logaddexp.reduce(shares + logs))

    # What a gambler on "above" owns falls the higher the mean is that he bets against: one end each.
    low = interval_end(lambda mean: owns(mean, _BOLDEST / mean) >= needed, 0.0, 1.0)
    high = interval_end(lambda mean: owns(mean, -_BOLDEST / (1 - mean)) >= needed, 1.0, 0.0)
    return 2 * low - 1, 2 * high - 1


def interval_end(excluded: Callable[[float], bool], outside: float, inside: float, halvings: int = _HALVINGS) -> float:
    """The end of an interval: the last value, coming from `outside`, that is excluded; rounded outwards."""
    for _ in range(halvings):
        middle = (outside + inside) / 2
        if excluded(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _scaled(differences: Array) -> Array:
    scaled: Array = (np.clip(differences.astype(float), -1.0, 1.0) + 1) / 2
    return scaled


def asymptotic_mean(differences: Array, planned: int) -> Sequential:
    """The always-valid interval of a mean of differences without ends, tightest at the planned number of them.

    Undefined below `FEWEST_WITHOUT_ENDS`, without spread, and where few differences carry the mean.
    """
    n = len(differences)
    if n < FEWEST_WITHOUT_ENDS or carried_by_few(differences):
        return Sequential(None, None)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    half = spread * mixture_radius(n, planned)
    return Sequential(mean - half, mean + half)


def carried_by_few(values: Array, *, looks: bool = True) -> bool:
    """Whether so few values carry a mean that it cannot be taken to be normal; True without any spread.

    `looks` tells that it is looked at all the time, and not once.
    """
    apart = np.abs(values - values.mean())
    squares = float((apart**2).sum())
    return not squares > 0 or float((apart**3).sum()) > (1 if looks else 2) * _MOST_CARRIED * squares**1.5


def mixture_radius(n: int, planned: int) -> float:
    """Half the width of the normal mixture's sequence after `n`, in standard deviations."""
    square = (-2 * math.log(ALPHA) + math.log(1 - 2 * math.log(ALPHA))) / max(planned, _LEAST_PLANNED)
    grown = n * square + 1
    return math.sqrt(2 * grown / (n * n * square) * math.log(math.sqrt(grown) / ALPHA))


Welch = tuple[float, float, float]
"""The ends of the 95 % interval, and the p-value."""
_LARGEST_BLOCK = 100
_MOST_OF_THE_SMALLER = 4
"""So that 60 % and 40 % come in blocks of 3 and 2; blocks of more units are fewer, and show less."""


def welch(a: Array, b: Array, alpha: float) -> Welch | None:
    """Interval and p-value of the mean of `b` less that of `a` (Welch 1947); None below 2 units, and without spread."""
    if min(len(a), len(b)) < 2:
        return None
    parts = [float(item.var(ddof=1)) / len(item) for item in (a, b)]
    error = math.sqrt(sum(parts))
    if not error > 0:
        return None
    freedom = sum(parts) ** 2 / sum(part**2 / (len(item) - 1) for part, item in zip(parts, (a, b), strict=True))
    difference = float(b.mean() - a.mean())
    half = t_quantile(freedom, alpha / 2) * error
    return difference - half, difference + half, t_two_sided(difference / error, freedom)


def block_sizes(share_a: float, share_b: float) -> tuple[int, int]:
    """How many units of each arm make a block, so that arms of unequal shares are used up alike."""
    smaller, larger = sorted((share_a, share_b))
    ratio = Fraction(larger / smaller).limit_denominator(_MOST_OF_THE_SMALLER)
    sizes = (ratio.denominator, ratio.numerator) if ratio <= _LARGEST_BLOCK else (1, _LARGEST_BLOCK)
    return sizes if share_a < share_b else sizes[::-1]


def blocks(a: Array, b: Array, sizes: tuple[int, int]) -> tuple[Array, Array]:
    """Means of the first, second, ... block of each arm, as many as both arms have; the rest waits for its partners."""
    n = min(len(a) // sizes[0], len(b) // sizes[1])
    first, second = (
        np.asarray(item[: n * size], dtype=float).reshape(n, size).mean(axis=1)
        for item, size in zip((a, b), sizes, strict=True)
    )
    return first, second


MISMATCH = 0.001
"""A p-value below this is a mismatch (Fabijan and others, KDD 2019)."""


def ratio_p(counts: Sequence[int], shares: Sequence[float]) -> float | None:
    """The p-value of these counts under the meant shares; None when there is nothing to test."""
    total, whole = sum(counts), sum(shares)
    expected = [total * share / whole for share in shares]
    if total == 0 or min(expected) <= 0 or len(counts) < 2:
        return None
    if len(counts) == 2:
        return _binomial_p(counts[0], total, shares[0] / whole)
    square = sum((count - meant) ** 2 / meant for count, meant in zip(counts, expected, strict=True))
    return chi_square_above(square, len(counts) - 1)


def _binomial_p(count: int, total: int, share: float) -> float:
    """Twice the smaller tail."""
    above = incomplete_beta(count, total - count + 1, share) if count else 1.0
    return min(1.0, 2 * min(binomial_below(count, total, share), above))


def independence_p(table: Sequence[Sequence[int]]) -> float | None:
    """The p-value of rows and columns of counts having nothing to do with each other; None without two of each."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    total = sum(rows)
    if sum(1 for n in rows if n) < 2 or sum(1 for n in columns if n) < 2:
        return None
    square = sum(
        (count - row * column / total) ** 2 / (row * column / total)
        for row, counts in zip(rows, table, strict=True)
        for column, count in zip(columns, counts, strict=True)
        if row and column
    )
    freedom = (sum(1 for n in rows if n) - 1) * (sum(1 for n in columns if n) - 1)
    return chi_square_above(square, freedom)


# The mean of values between two known ends: an interval and p-values that hold whatever lies between them.

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
