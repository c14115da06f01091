"""Intervals of means without known ends: the studentised bootstrap over cases (Efron 1982, Hall 1988).

Cases are drawn anew with a fixed seed, each with all of its repeats: with repeats inside, this is the hierarchical
bootstrap whose variance is right (Davison and Hinkley 1997, 3.8); drawing repeats anew as well would count their noise
twice. Each resample is centred and divided by its own standard error, so that skewed values get a skewed interval.
It is too short for heavy tails on both sides, where Student's is not, and Student's is for skewed values: an end is the
farther of both.
Where most cases did not move at all, resamples know no spread, and two made-up cases stand for what was not seen.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.analysis.estimates import FEW_AWAY
from steelyard.analysis.intervals import Bounds, student, t_quantile
from steelyard.analysis.pieces import Array
from steelyard.analysis.resampling import draws

FEWEST, MOST = 5, 200
"""Of fewer cases there are too few resamples, of more Student's interval holds as often."""
FEW_CASES = 20
SHORT_INTERVALS = f"of {FEW_CASES} cases or fewer, very skewed: holds 89 to 93 %"
"""By simulation; see docs/design/0006-deciding.md."""
_TAIL = 0.025
_NO_SPREAD = 1e-6
"""Of the spread of all cases: a resample with less is one case drawn over and over."""
_ROUNDING = 1e-12


def mean_interval(sums: Array, sizes: Array, widest: float = math.inf) -> Bounds:
    """The 95 % interval of a mean of differences, from their sum and number in each case; None without spread.

    `widest` is the largest difference that there can be.
    """
    moved = np.abs(sums) > _ROUNDING
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
    if error <= _ROUNDING * max(1.0, abs(mean)):
        return None
    half = t_quantile(cases - 1) * error
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
    known = spread > _NO_SPREAD
    ratios = np.sort(above[known] / np.sqrt(cases / (cases - 1) * spread[known]))
    rank = max(0, math.floor(_TAIL * (len(ratios) + 1)) - 1)
    low, high = float(ratios[rank]), float(ratios[len(ratios) - 1 - rank])
    if way == 0:
        half = (high - low) / 2
        return -half, half
    return (-high, -low) if way < 0 else (low, high)


def _in_order(apart: Array, sizes: Array) -> tuple[Array, Array, int]:
    """The cases in an order that does not depend on how they were stored, turned (-1) if need be so that A against B
    draws the same resamples as B against A; 0 when turning changes nothing."""
    rounded = np.round(apart, 9)
    one, other = np.lexsort((sizes, rounded)), np.lexsort((sizes, -rounded))
    here, there = (np.concatenate(each) for each in ((rounded[one], sizes[one]), (-rounded[other], sizes[other])))
    differs = np.flatnonzero(here != there)
    way = 0 if not len(differs) else 1 if here[differs[0]] > there[differs[0]] else -1
    return (-apart[other], sizes[other], way) if way < 0 else (apart[one], sizes[one], way)


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
