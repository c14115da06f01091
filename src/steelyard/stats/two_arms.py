"""The means of two arms: Welch's test, and blocks of units by which arms of unequal shares are used up alike."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import t_quantile, t_two_sided

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
