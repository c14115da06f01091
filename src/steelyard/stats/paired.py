"""Whether a difference between two runs is more than noise: paired estimates, intervals and p-values.

The unit is the case: repeats and variants of one case are alike and stand for one. A case in which nothing changed
could as well have changed the other way, so all ways in which the signs could have fallen are tried, or, of many, a
fixed random choice of them; only where hundreds of cases changed Student's t stands for them. Intervals are those of
`studentised`. What cannot be bounded is None, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.distributions import incomplete_beta
from steelyard.stats.intervals import (
    Bounds,
    Estimate,
    Z,
    fewest_for,
    mean_interval,
    settled,
    student,
    t_quantile,
    t_two_sided,
)
from steelyard.stats.resampling import SEED

SIGNIFICANT = 0.05
NO_CHANGE = 1e-12
"""A difference that is only rounding."""
_POWER = 0.8416212335729143
"""The 80 % point of the normal distribution."""
_EXACT_UP_TO = 12
"""Cases that changed for which all sign patterns are tried: 4,096 at most."""
FEWEST_FOR_QUANTILES = 12
"""With fewer, the test of a difference of medians found one where there was none in 6 to 7 of 100 simulations."""
_HAIR = 1e-6
"""Of a difference: where an interval ends that just leaves no change out."""
DRAWN_UP_TO = 200
PATTERNS = 9_999
FEWEST_TO_SHOW = 6
"""With fewer cases, even if all agree, the sign test stays above 5 %."""


@frozen
class Paired:
    """A paired difference (second minus first) over cases; None for what is undefined."""

    difference: float | None
    n_cases: int
    low: float | None = None
    high: float | None = None
    p: float | None = None
    smallest: float | None = None
    """The smallest true difference that would be shown with 80 % power."""
    test: str = ""
    effect: float | None = None
    """The difference in standard deviations of a case's difference (Cohen's d for pairs)."""
    rose: int = 0
    """Cases in which the second is higher."""
    level: int = 0
    fell: int = 0


def least_p(n: int) -> float:
    """The p-value of the sign test when all `n` cases agree: few cases cannot prove more, however alike they are."""
    return min(1.0, 2 * 0.5**n)


def sign_test(item: int, other: int) -> float:
    """The exact two-sided p-value of `one` against `other` when both are equally likely (McNemar's exact test)."""
    n, fewer = item + other, min(item, other)
    if item == other:
        return 1.0
    return min(1.0, 2 * incomplete_beta(n - fewer, fewer + 1, 0.5))


def sign_flips(sums: Array) -> float:
    """The exact p-value of a sum when the sign of each of its few parts could as well have been the other."""
    reached = abs(float(sums.sum()))
    totals = np.zeros(1)
    for part in sums:
        totals = np.concatenate((totals + part, totals - part))
    # What rounding leaves between equal sums must not tell them apart.
    enough = reached - NO_CHANGE * max(1.0, float(np.abs(sums).sum()))
    return float((np.abs(totals) >= enough).mean())


def sign_flip_test(sums: Array) -> tuple[float, str]:
    """The p-value of a sum when the sign of each of its parts could as well have been the other, and how it was found.

    Parts that are nothing have no sign. The bound of Hoeffding (1963) stands where no drawn pattern reaches the sum.
    """
    parts = sums[np.abs(sums) > NO_CHANGE]
    if len(parts) and (len(parts) == len(parts[parts > 0]) or len(parts) == len(parts[parts < 0])):
        return least_p(len(parts)), "exact sign flips"
    if len(parts) <= _EXACT_UP_TO:
        return sign_flips(parts), "exact sign flips"
    if np.ptp(np.abs(parts)) <= NO_CHANGE:
        return sign_test(int((parts > 0).sum()), int((parts < 0).sum())), "exact sign flips"
    total, squares = float(parts.sum()), float((parts**2).sum())
    if len(parts) > DRAWN_UP_TO:
        cases = len(sums)
        error = math.sqrt(max(0.0, squares - total * total / cases) * cases / (cases - 1))
        return (_t_test(total, error, cases) if error > NO_CHANGE else least_p(cases)), "paired t"
    # Ordered by length, so that neither the order of the cases nor turning all signs changes the result.
    parts = parts[np.argsort(-np.round(np.abs(parts), 12), kind="stable")]
    enough = abs(total) - NO_CHANGE * max(1.0, float(np.abs(parts).sum()))
    # Not `@`: what that gives depends on the machine, and its threads are slow where others work.
    sums_of_patterns = np.einsum("pc,c->p", _signs()[:, : len(parts)], np.abs(parts))
    reached = int((np.abs(sums_of_patterns) >= enough).sum())
    bound = 2 * math.exp(-total * total / (2 * squares))
    return max(least_p(len(parts)), min((1 + reached) / (1 + PATTERNS), bound)), "drawn sign flips"


@lru_cache(maxsize=1)
def _signs() -> Array:
    """Random signs, a pattern in each row."""
    return np.random.default_rng(SEED).choice([-1.0, 1.0], size=(PATTERNS, DRAWN_UP_TO))


def paired_mean(sums: Array, sizes: Array, widest: float = math.inf, tested: tuple[float, str] | None = None) -> Paired:
    """The mean difference from its sum and number of pairs in each case; `widest` is the largest there can be.

    `tested` is the p-value and the name of another test than sign flips, which are for one result against one.
    """
    present = sizes > 0
    sums, sizes = sums[present], sizes[present]
    n, cases = float(sizes.sum()), len(sums)
    if cases == 0:
        return Paired(None, 0)
    mean = settled(float(sums.sum()) / n)
    if cases < 2:
        return Paired(mean, cases)
    error = _error((sums - mean * sizes) / n)
    p, test = tested or sign_flip_test(sums)
    result = _with_interval(mean, cases, error, p, widest, test, mean_interval(sums, sizes, widest))
    return _with_sides(result, sums / sizes)


def paired_rate(first: Array, second: Array) -> Paired:
    """The difference of two rates over single samples: exact McNemar test, interval of Bonett and Price (2012)."""
    n = len(first)
    gained, lost = int((second > first).sum()), int((second < first).sum())
    if n == 0:
        return Paired(None, 0)
    value = settled((gained - lost) / n)
    if n < 2:
        return Paired(value, n)
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = Z * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    p = sign_test(gained, lost)
    low, high = _agreeing(*_cut(up - down - half, up - down + half, value, 1.0), value, p, SIGNIFICANT)
    spread = math.sqrt(max(0.0, (gained + lost) / n - value * value) / (n - 1))
    smallest = max(_smallest(spread, n) or 0.0, FEWEST_TO_SHOW / n)
    shown = smallest if n >= FEWEST_TO_SHOW and smallest <= 1 else None
    return _with_sides(Paired(value, n, low, high, p, shown, "exact McNemar"), second - first)


def paired_ratio(first: tuple[Array, Array], second: tuple[Array, Array]) -> Paired:
    """The difference of two ratios of sums, each given as numerators and denominators by case.

    The spread is that of the residuals of both ratios in the same case, by the linearisation of `measures`.
    """
    present = (first[1] > 0) | (second[1] > 0) | (first[0] > 0) | (second[0] > 0)
    cases = int(present.sum())
    totals = [(float(above.sum()), float(below.sum())) for above, below in (first, second)]
    if min(below for _, below in totals) <= 0:
        return Paired(None, cases)
    ratios = [above / below for above, below in totals]
    value = settled(ratios[1] - ratios[0])
    if cases < 2:
        return Paired(value, cases)
    influences = [
        (above - ratio * below)[present] / total
        for (above, below), ratio, (_, total) in zip((first, second), ratios, totals, strict=True)
    ]
    moves = influences[1] - influences[0]
    # Had nothing changed, both would have one ratio, and what a case adds above or below it could be on either side.
    ratio = sum(above for above, _ in totals) / sum(below for _, below in totals)
    p, test = sign_flip_test(((second[0] - first[0]) - ratio * (second[1] - first[1]))[present])
    bounds = mean_interval(value + cases * moves, np.ones(cases))
    return _with_interval(value, cases, _error(moves), p, math.inf, f"ratio of sums, {test}", bounds)


def paired_quantile(first: Array, second: Array, case: Array, point: float) -> Paired:
    """The difference of a quantile between paired samples; `case` is sorted.

    Woodruff's way: how many values lie below a quantile is a rate, whose spread over cases is carried back to the
    values by their density around it.
    """
    starts = case_starts(case)
    cases, n = len(starts), len(case)
    if n < fewest_for(point):
        return Paired(None, cases)
    influences, values = [], []
    for column in (first, second):
        value = float(np.quantile(column, point))
        width = _inverse_density(column, point)
        values.append(value)
        beyond = (column > value) - (1 - point)
        influences.append(None if width is None else np.add.reduceat(beyond, starts) * width / n)
    value = settled(values[1] - values[0])
    before, after = influences
    if not np.any(first != second):
        return Paired(0.0, cases, p=1.0 if cases > 1 else None, test="quantile")
    if before is None or after is None or cases < FEWEST_FOR_QUANTILES:
        return Paired(value, cases)
    error = _error(after - before)
    if error == 0:
        return Paired(value, cases)
    bounds = student(value, error, cases - 1)
    return _with_interval(value, cases, error, _t_test(value, error, cases), math.inf, "quantile", bounds)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Each p-value as one of all that were looked at (Holm, 1979); those that are undefined count for nothing."""
    return [p for p, _ in holm_steps(p_values)]


def holm_steps(p_values: Sequence[float | None]) -> list[tuple[float | None, float]]:
    """The adjusted p-values, and the level that each is tested at: an interval at that level leaves no change out where
    the adjusted p-value is below 5 %, and nowhere else."""
    available = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    result: list[tuple[float | None, float]] = [(None, SIGNIFICANT)] * len(p_values)
    largest, level = 0.0, SIGNIFICANT
    for rank, (p, i) in enumerate(available):
        # What comes after the first that may be noise is not tested any more, and stays at that one's level.
        level = SIGNIFICANT / (len(available) - rank) if largest < SIGNIFICANT else level
        largest = max(largest, min(1.0, (len(available) - rank) * p))
        result[i] = largest, level
    return result


def case_starts(case: Array) -> Array:
    """Where each case begins in a sorted column of cases."""
    if not len(case):
        return np.empty(0, dtype=int)
    return np.flatnonzero(np.concatenate(([True], case[1:] != case[:-1])))


def _error(influences: Array) -> float:
    """The standard error from what each case adds to the figure; 0 when that is only rounding."""
    cases = len(influences)
    error = math.sqrt(cases / (cases - 1) * float((influences**2).sum()))
    return error if error > NO_CHANGE else 0.0


def _t_test(value: float, error: float, cases: int) -> float:
    if abs(value) <= NO_CHANGE:
        return 1.0
    return max(t_two_sided(value / error, cases - 1), least_p(cases))


def _with_interval(
    value: float, cases: int, error: float, p: float, widest: float, test: str, bounds: Bounds
) -> Paired:
    smallest = _smallest(error, cases)
    shown = smallest if smallest is not None and smallest <= widest else None
    if bounds is None or error == 0:
        return Paired(value, cases, p=p, smallest=shown, test=test)
    low, high = _agreeing(*_cut(*bounds, value, widest), value, p, SIGNIFICANT)
    return Paired(value, cases, low, high, p, shown, test)


def _agreeing(low: float, high: float, value: float, p: float | None, level: float) -> tuple[float, float]:
    """The ends of an interval of 1 - `level`, which leaves no change out where p is below the level and nowhere else.

    Whether no change at all is within noise the test says exactly; the interval is made in another way, and where it
    says otherwise, its end is moved to what the test says.
    """
    if p is None:
        return low, high
    if p >= level:
        return min(low, 0.0), max(high, 0.0)
    return (max(low, _HAIR * value), high) if value > 0 else (low, min(high, _HAIR * value))


def p_at(distance: float, half: float, df: float) -> float:
    """The two-sided p-value of what lies so far from the difference, whose 95 % interval ends `half` from it."""
    return 0.0 if half <= NO_CHANGE else t_two_sided(distance / half * t_quantile(df), df)


def at_level(difference: Estimate, p: float | None, level: float, df: float, widest: float = math.inf) -> Estimate:
    """The difference with its 95 % interval made one of 1 - `level`, which leaves no change out where p is below it."""
    if difference.value is None or difference.low is None or difference.high is None or level == SIGNIFICANT or df < 1:
        return difference
    value, times = difference.value, t_quantile(df, level / 2) / t_quantile(df)
    low, high = value - times * (value - difference.low), value + times * (difference.high - value)
    low, high = _cut(low, high, value, max(widest, -difference.low, difference.high))
    low, high = _agreeing(low, high, value, p, level)
    return replace(difference, low=low, high=high)


def _smallest(error: float, cases: int) -> float | None:
    if error == 0 or cases < FEWEST_TO_SHOW:
        return None
    return settled((t_quantile(cases - 1) + _POWER) * error)


def _with_sides(paired: Paired, moves: Array) -> Paired:
    """The difference with its effect size and with how many cases rose, stayed and fell."""
    rose, fell = int((moves > NO_CHANGE).sum()), int((moves < -NO_CHANGE).sum())
    apart = float(moves.std(ddof=1))
    effect = settled(float(moves.mean()) / apart) if apart > NO_CHANGE else None
    return replace(paired, effect=effect, rose=rose, level=len(moves) - rose - fell, fell=fell)


def _cut(low: float, high: float, value: float, widest: float) -> tuple[float, float]:
    return max(-widest, min(low, value)), min(widest, max(high, value))


def _inverse_density(column: Array, point: float) -> float | None:
    """How far values are apart around a quantile, by unit of rank; None when there are too few to tell."""
    reach = Z * math.sqrt(point * (1 - point) / len(column))
    if point - reach <= 0 or point + reach >= 1:
        return None
    low, high = np.quantile(column, [point - reach, point + reach])
    return float(high - low) / (2 * reach)
