"""95 % intervals: Wilson for rates and for means of a scale with ends, Student's t for other means, order statistics
for medians and other quantiles. What holds where, by simulation: docs/design/0006-deciding.md.

Nothing here returns a zero-width interval for want of data: what cannot be bounded is None.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from steelyard.analysis.pieces import Array
from steelyard.analysis.special import beta_power, incomplete_beta

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


def score_bounds(mean: float, error: float, df: int, scale: tuple[float, float]) -> Bounds:
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


def student(mean: float, error: float, df: int, tail: float = _TAIL) -> Bounds:
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
