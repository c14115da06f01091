"""95 % intervals: Wilson for rates and for means of a scale with ends, Student's t for other means, order statistics
for medians and other quantiles. What holds where, by simulation: docs/design/0006-deciding.md.

Nothing here returns a zero-width interval for want of data: what cannot be bounded is None.

Estimates from sums: means and shares with their intervals, over clusters of values that are alike.

A share is the mean of ones and zeros, and has the interval of that mean. Clusters are the unit: how far a figure may be
off is known from how far they lie apart. Of unlike sizes they are worth Kish's effective number (1965: the squared sum
of the sizes over the sum of their squares), which is how many there are where sizes are equal.

Intervals of means without known ends: the studentised bootstrap over cases (Efron 1982, Hall 1988).

Cases are drawn anew with a fixed seed, each with all of its repeats: with repeats inside, this is the hierarchical
bootstrap whose variance is right (Davison and Hinkley 1997, 3.8); drawing repeats anew as well would count their noise
twice. Each resample is centred and divided by its own standard error, so that skewed values get a skewed interval.
It is too short for heavy tails on both sides, where Student's is not, and Student's is for skewed values: an end is the
farther of both.
Where most cases did not move at all, resamples know no spread, and two made-up cases stand for what was not seen.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steelyard.frozen import frozen
from steelyard.records import AtLeast
from steelyard.stats.arrays import Array
from steelyard.stats.distributions import beta_power, incomplete_beta
from steelyard.stats.resampling import draws


@frozen
class Possible:
    """The lowest and the highest value that a figure could have had if nothing were missing or undecided."""

    low: float | None
    high: float | None
    """None: there is no such end, as of a sum of costs."""
    n_missing: int = 0
    """How many samples or cells are missing or undecided; 0 where the figure itself is only known to lie between."""
    n_planned: int = 0
    """Of how many."""

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as numbers."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


@frozen
class Estimate:
    """A figure with what it stands on; `value` is None ("n/a") when it stands on nothing.

    `low` and `high` bound the 95 % interval; both None when it is undefined (n < 2, or a plain count), `high` alone
    when it has no upper end, because calls that timed out reach into it.
    """

    value: float | None
    n: int
    n_missing: int = 0
    low: float | None = None
    high: float | None = None
    constant: bool = False
    """True when all values are the same and at no end of their scale: n bounds the interval, not their spread."""
    possible: Possible | None = field(default=None, metadata={"if_known": True})
    """None where nothing is missing, or too little to leave a gate open; a gate decides only if both ends agree."""
    at_least: bool = False
    """True when `value` is a lower bound (`AtLeast`): right-censored values, such as timeouts, reach into it."""
    numerator: int | None = field(default=None, metadata={"if_known": True})
    denominator: int | None = field(default=None, metadata={"if_known": True})
    """Of a ratio of two counts, each summed over samples; None of any other figure."""
    mean_of: int | None = field(default=None, metadata={"if_known": True})
    """Of a ratio: above 0 it is the mean of so many ratios of two counts, and both counts are 0 then."""
    n_cases: int | None = field(default=None, metadata={"if_known": True})
    """How many cases, or clusters of cases, it is based on, where cases have several samples; None: `n`."""

    @property
    def cases(self) -> int:
        """How many cases, or clusters of cases, it is based on: repeats of a case count once."""
        return self.n if self.n_cases is None else min(self.n, self.n_cases)

    @property
    def sums(self) -> str:
        """The two sums of a ratio, `10 of 12`, or how many ratios it is the mean of; "" of any other figure."""
        if self.mean_of:
            return f"mean of {self.mean_of:,}"
        return "" if self.numerator is None else f"{self.numerator:,} of {self.denominator:,}"


Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""
_TAIL = 0.025
_EXACT_UP_TO = 100

Bounds = tuple[float, float] | None


def wilson(share: float, n: float) -> Bounds:
    """Wilson's score interval of a rate over `n` (effective) trials; None below 2."""
    if n < 2:
        return None
    square = Z * Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    # At shares of 0 and 1 rounding would leave the value itself a hair outside.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def score_bounds(mean: float, error: float, df: float, scale: tuple[float, float]) -> Bounds:
    """Wilson's interval carried over to a mean of a scale with two ends; None without a degree of freedom or spread.

    A mean varies less the nearer it is to an end, as a rate does. Its standard error tells how many trials of a rate it
    is worth, and Student's point stands for the normal one, since that error is itself an estimate.
    """
    low, high = scale
    share, apart = (mean - low) / (high - low), error / (high - low)
    if df < 1 or not apart > 0 or not 0 < share < 1:
        return None
    square = (t_quantile(df) * apart) ** 2 / (share * (1 - share))
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square * square / 4) / (1 + square)
    return low + max(0.0, centre - half) * (high - low), low + min(1.0, centre + half) * (high - low)


def student(mean: float, error: float, df: float, tail: float = _TAIL) -> Bounds:
    """Student's t interval of a mean with standard error `error`; None without a degree of freedom or any spread.

    `tail` is what is left out on either side.
    """
    if df < 1 or not error > 0:
        return None
    half = t_quantile(df, tail) * error
    return mean - half, mean + half


@lru_cache(maxsize=4096)
def t_quantile(df: float, tail: float = _TAIL) -> float:
    """The point of Student's t that `tail` lies above."""
    if df > _EXACT_UP_TO:
        near = _t_by_expansion(df, tail)
        square = near * near
        density = beta_power(df / 2, 0.5, df / (df + square), square / (df + square))
        return near + (t_two_sided(near, df) - 2 * tail) * near / (2 * density)  # one step of Newton's
    low, high = 0.0, math.pi / 2
    while (middle := (low + high) / 2) not in (low, high):
        if incomplete_beta(df / 2, 0.5, math.cos(middle) ** 2, math.sin(middle) ** 2) > 2 * tail:
            low = middle
        else:
            high = middle
    return math.tan(high) * math.sqrt(df)


def t_two_sided(t: float, df: float) -> float:
    """The probability that Student's t lies at least as far from 0 as `t`."""
    return incomplete_beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t))


def _t_by_expansion(df: float, tail: float) -> float:
    """Cornish and Fisher's expansion around the normal point (Abramowitz and Stegun 26.7.5)."""
    z = Z if tail == _TAIL else _normal_quantile(tail)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / df + second / df**2 + third / df**3 + fourth / df**4


def _normal_quantile(tail: float) -> float:
    from statistics import NormalDist

    return -NormalDist().inv_cdf(tail)


def fewest_for(quantile: float) -> int:
    """How many values a quantile takes: of fewer the 95th percentile is next to nothing but the largest one."""
    return round(1 / (1 - quantile)) if 0.5 < quantile < 1 else 1


@lru_cache(maxsize=4096)
def quantile_ranks(n: int, quantile: float) -> tuple[int, int] | None:
    """Ranks (from 1) of the sorted values that bound a quantile with at least 95 %; None when n is too small."""
    if n < 2:
        return None
    first, below = _chances_below(n, quantile)
    low = first + int(np.searchsorted(below, _TAIL, side="right"))
    high = first + int(np.searchsorted(below, 1 - _TAIL, side="left")) + 1
    return (low, high) if low >= 1 and high <= n else None


def _chances_below(n: int, quantile: float) -> tuple[int, Array]:
    """The chances that at most so many of n values lie below a quantile, from the first count that matters on."""
    spread = math.sqrt(n * quantile * (1 - quantile))
    first = max(0, math.floor(n * quantile - 12 * spread - 12))
    last = min(n, math.ceil(n * quantile + 12 * spread + 12))
    counts = np.arange(first, last)
    odds = math.log(quantile) - math.log1p(-quantile)
    steps = np.log(n - counts) - np.log(counts + 1) + odds
    logarithms = _log_binomial(n, first, quantile) + np.concatenate(([0.0], np.cumsum(steps)))
    return first, np.cumsum(np.exp(logarithms))


@lru_cache(maxsize=4096)
def quantile_places(n: int, quantile: float) -> tuple[float, float] | None:
    """Where among n sorted values (from 0, between two of them) the interval of a quantile ends; None for too few.

    Single order statistics hold a median of 10 values 97.9 % of the time; the point between two of them that holds it
    95 % is that of Hettmansperger and Sheather (1986), for other quantiles of Nyblom (1992).
    """
    if quantile_ranks(n, quantile) is None:
        return None
    return _place(n, quantile), n - 1 - _place(n, 1 - quantile)


def _place(n: int, quantile: float) -> float:
    first, below = _chances_below(n, quantile)
    rank = first + int(np.searchsorted(below, _TAIL, side="right"))
    outside, next_outside = float(below[rank - 1 - first]), float(below[rank - first])
    if rank >= n or outside >= _TAIL:
        return rank - 1.0
    odds = rank * (1 - quantile) * (next_outside - _TAIL) / ((n - rank) * quantile * (_TAIL - outside))
    return rank - 1 + 1 / (1 + odds)


def _log_binomial(n: int, k: int, share: float) -> float:
    choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choices + k * math.log(share) + (n - k) * math.log1p(-share)


def effective_n(share: float, n: int, clusters: int, squares: float, sizes_squared: float) -> float:
    """How many independent trials `n` clustered ones are worth for a rate; never above n.

    `squares` is the sum over clusters of (hits - share * size) squared, `sizes_squared` the sum of their squared sizes.
    The floor is what perfectly alike answers within a cluster would be worth, and it is also taken where all trials
    came out the same, since nothing is then known of how alike they are.
    """
    alike = n * n / sizes_squared
    between = share * (1 - share)
    if clusters < 2 or between <= 0 or squares <= 0:
        return alike if between <= 0 or clusters < 2 else float(n)
    worth = between * n * n * (clusters - 1) / (clusters * squares)
    return min(float(n), max(alike, worth))


Scale = tuple[float, float]
SHARES: Scale = (0.0, 1.0)
NOT_NEGATIVE: Scale = (0.0, math.inf)
ANYWHERE: Scale = (-math.inf, math.inf)
FEW_AWAY = 4
NO_SPREAD = 1e-24
"""Mean squared deviation that is only rounding: values that differ by less than 1e-12."""
_ROUNDING = 1e-9
_ROUNDED = 1e-12
"""The share of the squared sizes below which a spread is only rounding."""


class Spread(NamedTuple):
    """How far clusters lie apart."""

    clusters: int
    squares: float
    """The sum of the squared deviations of their sums from what the mean would have them be."""
    sizes: float
    """The sum of their squared sizes."""
    away: float | None = None
    """The effective number of those that are not all at the end of the scale where most are; None: not counted."""

    def is_none(self, total: float) -> bool:
        """Whether clusters of `total` values together do not lie apart, but for rounding of sums that cancel."""
        return self.clusters < 2 or self.squares <= max(total * NO_SPREAD, self.sizes * _ROUNDED)

    def effective(self, total: float) -> float:
        """How many clusters of one size these are worth, which have `total` values together."""
        return total * total / self.sizes if self.clusters > 1 else 0.0


def share_spreads(hits: Array, sizes: Array, group: Array, n_groups: int) -> list[Spread]:
    """How far the shares of hits in clusters of so many trials lie apart, for each group of clusters."""

    def summed(values: Array, where: Array | slice = slice(None)) -> Array:
        return np.bincount(group[where], values[where], minlength=n_groups)

    share = summed(hits) / np.maximum(summed(sizes), 1)
    away = np.where(2 * share[group] >= 1, hits < sizes, hits > 0)
    clusters = np.bincount(group[sizes > 0], minlength=n_groups)
    squares, of_sizes = summed((hits - share[group] * sizes) ** 2), summed(sizes**2)
    effective = effective_number(summed(sizes, away), summed(sizes**2, away))
    return [
        Spread(int(clusters[g]), float(squares[g]), float(of_sizes[g]), float(effective[g])) for g in range(n_groups)
    ]


def effective_number(sizes: Array, squares: Array) -> Array:
    """How many clusters of one size those are worth whose sizes, and squared sizes, have these sums."""
    return np.asarray(sizes * sizes / np.maximum(squares, 1))


def clustered_mean(mean: float, n: int, missing: int, spread: Spread, scale: Scale) -> Estimate:
    """A mean over `n` values of a scale, with an interval over their clusters, Wilson's way, where the scale has two
    ends. Without ends it has none: one value that was not seen, such as a call that stalls, may outweigh all that were.
    """
    if n == 0:
        return Estimate(None, 0, missing)
    if math.isinf(scale[1] - scale[0]):
        return Estimate(mean, n, missing)
    if spread.is_none(n):
        return constant_mean(mean, n, missing, spread.effective(n), scale)
    return bounded(mean, n, missing, mean_bounds(mean, n, spread, scale), scale)


def constant_mean(value: float, n: int, missing: int, worth: float, scale: Scale) -> Estimate:
    """The mean of values that are all the same, and worth so many trials, on a scale with two ends.

    No spread is not certainty. No trial gave another value, so Wilson's interval of 0 hits says how many of all may,
    and those may lie anywhere on the scale: at one of its ends this is the interval of a rate of 0 or 1.
    """
    low, high = scale
    others = wilson(0.0, worth)
    if others is None or not low <= value <= high:
        return Estimate(value, n, missing)
    bounds = value - others[1] * (value - low), value + others[1] * (high - value)
    return Estimate(value, n, missing, *bounds, constant=low < value < high)


def perfect_bounds(sign: float, n: float) -> tuple[float, float] | None:
    """The interval of an agreement or correlation of exactly 1 or -1 in n trials.

    No trial was out of line, so Wilson's interval of 0 hits says how many of all may be; were those related by chance
    alone, the figure would shrink by their share.
    """
    others = wilson(0.0, n)
    if others is None:
        return None
    return (1 - others[1], 1.0) if sign > 0 else (-1.0, others[1] - 1)


def mean_bounds(mean: float, total: float, spread: Spread, scale: Scale) -> tuple[float, float] | None:
    """The interval of a mean over clusters of `total` values together, on a scale with two ends."""
    low, high = scale
    clusters, squares = spread.clusters, spread.squares / (total * total)
    worth = spread.effective(total)
    error = math.sqrt(clusters / (clusters - 1) * squares)
    df = max(1.0, worth - 1)
    if not low < mean < high:
        return student(mean, error, df)
    widest = (mean - low) * (high - mean) / worth
    if worth > clusters * (1 - _ROUNDING) and abs(squares - widest) < widest * _ROUNDING:
        # Each cluster is all at one end or all at the other, as single trials of a rate are: the mean says it all.
        share = wilson((mean - low) / (high - low), worth)
        return None if share is None else (low + share[0] * (high - low), low + share[1] * (high - low))
    # Clusters of unlike size make for a more skewed mean, and more of them are few.
    few = FEW_AWAY * clusters / worth
    if spread.away is not None and 0 < spread.away <= few + _ROUNDING and 2 * spread.away < worth:
        # How far the few that are away lie from the end says little of how far the next will: one more counts as a
        # cluster that lies at the other end, as all do where none is away.
        error = math.sqrt((spread.away * error * error + widest) / (spread.away + 1))
    bounds = score_bounds(mean, error, df, scale)
    return None if bounds is None else (settled(bounds[0]), settled(bounds[1]))


def lower_bound(estimate: Estimate) -> Estimate:
    """The estimate of a figure whose value is known as a lower bound alone."""
    return estimate if estimate.value is None else replace(estimate, value=AtLeast(estimate.value), at_least=True)


def clustered_share(hits: float, n: int, missing: int, spread: Spread) -> Estimate:
    """A share of `n` trials, with the interval of the mean of ones and zeros."""
    result = clustered_mean(hits / n if n else 0.0, n, missing, spread, SHARES)
    # Ones and zeros are never all the same, though their clusters may have one share.
    return replace(result, constant=False) if result.constant else result


def settled(figure: float) -> float:
    """The figure without its last digits, which depend on what was added up first: 28.75 must not print two ways."""
    return figure if figure.is_integer() else float(f"{figure:.12g}")


def worth_of(share: float, n: int, clusters: int, squares: float, sizes: float) -> float:
    """How many independent trials a share over clusters is worth; none when they are all of one cluster."""
    return effective_n(share, n, clusters, squares, sizes) if clusters > 1 else 0.0


def bounded(
    value: float,
    n: int,
    missing: int,
    bounds: tuple[float, float] | None,
    scale: Scale,
) -> Estimate:
    """The estimate with its interval cut at the ends of the scale; the value itself always lies inside."""
    if bounds is None:
        return Estimate(value, n, missing)
    low, high = bounds
    low, high = max(scale[0], low), min(scale[1], high)
    return Estimate(value, n, missing, min(low, value), max(high, value))


FEWEST, MOST = 5, 200
"""Of fewer cases there are too few resamples, of more Student's interval holds as often."""
FEW_CASES = 400
SHORT_INTERVALS = (
    "what has no ends: too short if the rare was not seen (with 5 % outliers holds 38 % of 10 cases, 78 % of 30, 93 to"
    " 99 % from 100 on; with 1 % 64 % of 100)"
)
"""By simulation; see docs/design/0006-deciding.md."""
_ONE_TAIL = 0.025
_ONE_CASE_AGAIN = 1e-6
"""Of the spread of all cases: a resample with less is one case drawn over and over."""
_NO_MOVE = 1e-12


def mean_interval(sums: Array, sizes: Array, widest: float = math.inf) -> Bounds:
    """The 95 % interval of a mean of differences, from their sum and number in each case; None without spread.

    `widest` is the largest difference that there can be.
    """
    moved = np.abs(sums) > _NO_MOVE
    if 2 * int(moved.sum()) < len(sums) and moved.any():
        return _with_two_more(sums, sizes, moved, widest)
    return studentised(sums, sizes)


def studentised(sums: Array, sizes: Array) -> Bounds:
    """The interval of the mean of all values, from their sum and number in each case; Student's for few or many."""
    cases, n = len(sums), float(sizes.sum())
    if cases < 2:
        return None
    mean = float(sums.sum()) / n
    apart = sums - mean * sizes
    error = math.sqrt(cases / (cases - 1) * float((apart**2).sum())) / n
    if error <= _NO_MOVE * max(1.0, abs(mean)):
        return None
    # Cases of unlike size are worth fewer of one size: Kish's effective number.
    half = t_quantile(max(1.0, n * n / float((sizes**2).sum()) - 1)) * error
    if not FEWEST <= cases <= MOST:
        return mean - half, mean + half
    low, high = _points(apart / (error * n), sizes * cases / n)
    return mean - max(half, high * error), mean + max(half, -low * error)


def _points(apart: Array, sizes: Array) -> tuple[float, float]:
    """The 2.5 % and 97.5 % points of the studentised mean of resamples; what is drawn has mean 0."""
    apart, sizes, way = _in_order(apart, sizes)
    cases = len(apart)
    rows = np.stack((apart, sizes, apart**2, apart * sizes, sizes**2))
    # Not `@`: what that gives depends on the machine, and its threads are slow where others work.
    above, below, squares, cross, sizes_squared = np.einsum("rc,kc->kr", draws(cases), rows)
    centre = above / below
    spread = squares - 2 * centre * cross + centre**2 * sizes_squared
    available = spread > _ONE_CASE_AGAIN
    ratios = np.sort(above[available] / np.sqrt(cases / (cases - 1) * spread[available]))
    rank = max(0, math.floor(_ONE_TAIL * (len(ratios) + 1)) - 1)
    low, high = float(ratios[rank]), float(ratios[len(ratios) - 1 - rank])
    if way == 0:
        half = (high - low) / 2
        return -half, half
    return (-high, -low) if way < 0 else (low, high)


def _in_order(apart: Array, sizes: Array) -> tuple[Array, Array, int]:
    """The cases in an order that does not depend on how they were stored, turned (-1) if need be so that A against B
    draws the same resamples as B against A; 0 when turning changes nothing."""
    rounded = np.round(apart, 9)
    entry, other = np.lexsort((sizes, rounded)), np.lexsort((sizes, -rounded))
    here, there = (np.concatenate(item) for item in ((rounded[entry], sizes[entry]), (-rounded[other], sizes[other])))
    differs = np.flatnonzero(here != there)
    way = 0 if not len(differs) else 1 if here[differs[0]] > there[differs[0]] else -1
    return (-apart[other], sizes[other], way) if way < 0 else (apart[entry], sizes[entry], way)


def _with_two_more(sums: Array, sizes: Array, moved: Array, widest: float) -> Bounds:
    """Student's interval with one more case that rose and one that fell, as Bonett and Price (2012) add to a rate.

    They moved as far as the others did. While few did, as far as one more may: the farthest of k seen is, of lengths
    that are equally likely up to some end, k / (k + 1) of the way to it.
    """
    n, cases = float(sizes.sum()), len(sums)
    lengths = np.abs(sums[moved] / sizes[moved])
    k = len(lengths)
    far = float(lengths.max()) * (k + 1) / k if k <= FEW_AWAY else math.sqrt(float((lengths**2).mean()))
    far = min(far, max(widest, float(lengths.max())))
    size = n / cases
    mean = float(sums.sum()) / (n + 2 * size)
    apart = sums - mean * sizes
    squares = float((apart**2).sum()) + 2 * size * size * (far * far + mean * mean)
    error = math.sqrt((cases + 2) / (cases + 1) * squares) / (n + 2 * size)
    return student(mean, error, cases + 1)


def independent_difference(a: Estimate, b: Estimate) -> Estimate:
    """B minus A of two independent estimates, with the interval that squares and adds the distances to their ends
    (Newcombe 1998); no interval where one of them has none."""
    if a.value is None or b.value is None:
        return Estimate(None, 0)
    difference, n = b.value - a.value, a.n + b.n
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(difference, n)
    down, up = math.hypot(b.value - b.low, a.high - a.value), math.hypot(b.high - b.value, a.value - a.low)
    return Estimate(difference, n, 0, difference - down, difference + up)
