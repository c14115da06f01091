"""Distribution functions that numpy does not have: binomial, Student's t, noncentral t and chi-square."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from steelyard.stats.arrays import Array

_MOST_STEPS = 100_000
_HALF_LOG_2_PI = 0.9189385332046727
_SERIES_FROM = 16
"""From here on six terms of Stirling's series are exact to the last digit."""
_NEGLIGIBLE = 45.0
"""What is smaller than the largest by a factor of exp(45) adds nothing to a sum."""


def incomplete_beta(a: float, b: float, x: float, rest: float | None = None) -> float:
    """The regularised incomplete beta function (DiDonato and Morris 1992, a continued fraction).

    `rest` is 1 - x where it is known more exactly than that.
    """
    y = 1 - x if rest is None else rest
    if x <= 0 or y <= 0:
        return float(y <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, y, x)
    # Lentz's method of evaluating b0 + a1 / (b1 + a2 / (b2 + ...)); nothing here comes near a zero denominator.
    away = a * y - b * x + 1
    fraction = upper = a * away / (a + 1)
    lower = 0.0
    for m in range(1, _MOST_STEPS):
        middle = a + 2 * m
        above = (a + m - 1) * (a + b + m - 1) * m * (b - m) * (x / (middle - 1)) ** 2
        below = m + m * (b - m) * x / (middle - 1) + (a + m) * (away + m * (1 + y)) / (middle + 1)
        lower = 1 / (below + above * lower)
        upper = below + above / upper
        fraction *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return beta_power(a, b, x, y) / fraction


def beta_power(a: float, b: float, x: float, y: float) -> float:
    """x**a * y**b / B(a, b) for y = 1 - x, as exact for large a and b, where the logarithms of gammas cancel out."""
    mean, rest = a / (a + b), b / (a + b)
    away = x - mean if x < y else rest - y
    exponent = a * _log_less_linear(x / mean, away / mean) + b * _log_less_linear(y / rest, -away / rest)
    exponent += _stirling_error(a + b) - _stirling_error(a) - _stirling_error(b) - _HALF_LOG_2_PI
    return math.sqrt(a * rest) * math.exp(exponent)


def _log_less_linear(ratio: float, away: float) -> float:
    """log(ratio) - (ratio - 1), where `away` is ratio - 1."""
    return (math.log1p(away) if abs(away) < 0.5 else math.log(ratio)) - away


def _stirling_error(z: float) -> float:
    """What Stirling's formula for the logarithm of the gamma function of z lacks."""
    if z >= _SERIES_FROM:
        return float(_stirling_series(np.array(z)))
    return math.lgamma(z) - (z - 0.5) * math.log(z) + z - _HALF_LOG_2_PI


def _stirling_series(z: Array) -> Array:
    square = z * z
    inner = 1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 / square) / square) / square
    series: Array = (1 / 12 - (1 / 360 - inner / square) / square) / z
    return series


def binomial_below(most: int, n: int, share: float) -> float:
    """The binomial cumulative distribution function (cdf): the chance of at most so many of n."""
    return 1.0 if most >= n else incomplete_beta(n - most, most + 1, 1 - share, share) if most >= 0 else 0.0


def binomial_chances(counts: Array, n: Array | float, share: float) -> Array:
    """The binomial probability mass function: the chances of exactly these counts of n; 0 < share < 1 (Loader 2000)."""
    others = n - counts
    inside = (counts > 0) & (others > 0)
    k, m = np.where(inside, counts, 1.0), np.where(inside, others, 1.0)
    total = k + m
    exponent = _stirling_errors(total) - _stirling_errors(k) - _stirling_errors(m) - _HALF_LOG_2_PI
    for part, meant in ((k, share * total), (m, (1 - share) * total)):
        away = (meant - part) / part
        exponent += part * (np.log1p(away) - away)
    ends = counts * math.log(share) + others * math.log1p(-share)
    chances: Array = np.where(inside, np.sqrt(total / (k * m)) * np.exp(exponent), np.exp(ends))
    return chances


_FIRST_ERRORS = np.array([0.0, *(_stirling_error(k) for k in range(1, _SERIES_FROM))])
"""Of whole numbers from 0 on."""


def _stirling_errors(numbers: Array) -> Array:
    few = numbers < _SERIES_FROM
    errors: Array = np.where(
        few,
        _FIRST_ERRORS[np.where(few, numbers, 0).astype(int)],
        _stirling_series(np.maximum(numbers, _SERIES_FROM)),
    )
    return errors


def binomial_below_each(most: Array, n: Array, share: float) -> Array:
    """The binomial cdf for each n of consecutive numbers, where `most` grows by 1 or not at all."""
    if share <= 0:
        return np.ones(len(n))
    if share >= 1:
        return (most >= n).astype(float)
    steps = np.where(np.diff(most) > 0, binomial_chances(most[1:], n[1:], share), 0.0)
    steps -= share * binomial_chances(most[:-1], n[:-1], share)
    chances: Array = binomial_below(int(most[0]), int(n[0]), share) + np.append(0.0, np.cumsum(steps))
    return chances


def chi_square_above(square: float, df: int) -> float:
    """The survival function of chi-square (the chance of more than `square`), for whole degrees of freedom."""
    if square <= 0:
        return 1.0
    half = square / 2
    # Abramowitz and Stegun 26.4.4 and 26.4.5: a sum of positive terms.
    powers = (i + df % 2 / 2 for i in range((df + 1) // 2 if df % 2 == 0 else df // 2))
    terms = [math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers]
    return min(1.0, math.fsum([math.erfc(math.sqrt(half)) if df % 2 else 0.0, *terms]))


def noncentral_t_above(point: float, df: int, shift: float) -> float:
    """The chance that t of noncentrality `shift` (standard errors from 0) exceeds `point`; for df from 2 on."""
    spreads, weights = _spreads(df)
    beyond = np.fromiter(map(math.erfc, ((point * spreads - shift) / math.sqrt(2)).tolist()), float, len(spreads))
    return float(weights @ beyond) / 2


@lru_cache(maxsize=4096)
def _spreads(df: int) -> tuple[Array, Array]:
    """Estimates of a standard deviation of 1 with so many degrees of freedom, and the weight of each.

    Evenly spaced logarithms: the density falls so fast on either side that their sum is the integral (the trapezoidal
    rule, whose error shrinks exponentially).
    """
    width = _NEGLIGIBLE / df
    lowest = -width - 0.5 if width > 0.25 else -1.5 * math.sqrt(width)
    logarithms = np.arange(lowest, math.sqrt(width), math.sqrt(0.5 / df) / 3)
    weights = np.exp(df * (logarithms - np.expm1(2 * logarithms) / 2))
    return np.exp(logarithms), weights / weights.sum()
