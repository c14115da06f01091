"""Whether one run differs from the runs of a window before it, unit by unit (a unit is a case or a cluster of cases).

Had nothing changed, the newest result of a unit could as well be that of any of its runs. The p-value is the share of
all ways to pick one run for each unit whose total is as far from the expected one: a permutation test stratified by
unit, computed exactly. Of single answers that pass or fail it is the exact conditional test that Cochran, Mantel and
Haenszel approximate, and for cases of one difficulty Fisher's exact test. Sign flips are no such test: one result
against the mean of ten is not symmetric.

Runs can also vary as a whole (another hour, another load). Where the totals of the window's runs vary more than their
units do, the distance is divided by the root of that ratio (the dispersion of quasi-likelihood, McCullagh and Nelder
1989).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from steelyard.stats.arrays import Array

FEWEST_RUNS = 3
"""On a side. Welch's test rejected 2 to 4 of 100 simulated A/A comparisons (one system on both sides) whose load is
correlated, at 3 to 6 runs a side."""
_NOTHING = 1e-12
_MAX_UNITS = 2_000
"""Of more units that vary, the total is normally distributed."""
_GRID = 4_096
"""Steps that totals of values other than multiples of one number are rounded to."""
_MAX_STEPS = 40
"""Of one unit, where all results are multiples of one number."""
_SMALLEST = 1e-300


def window_test(results: Array, weights: Array) -> tuple[float, str]:
    """The two-sided p-value of the newest run, and the name of the test.

    `results` has a row per unit and a column per run, the newest last, with NaN where a run has no result for the unit;
    `weights` is how much each unit counts in the figure.
    """
    name = "exact permutation of runs within cases"
    known = ~np.isnan(results)
    lowest = np.where(known, results, np.inf).min(axis=1, keepdims=True)
    above = np.where(known, (results - lowest) * weights[:, None], 0.0)
    varies = (above.max(axis=1) > _NOTHING) & (known.sum(axis=1) > 1)
    above, known = above[varies], known[varies]
    if not len(above):
        return 1.0, name
    counts = known.sum(axis=1)
    step = _step(above)
    if len(above) > _MAX_UNITS:
        name = "permutation of runs within cases"
        means = above.sum(axis=1) / counts
        variance = float((((above - means[:, None]) ** 2 * known).sum(axis=1) / counts).sum())
        away = abs(float((above[:, -1] - means).sum())) - step / 2
        p = math.erfc(max(0.0, away) / math.sqrt(2 * variance))
    else:
        places = np.rint(above / step).astype(np.int64)
        chances = np.ones(1)
        for place, present in zip(places, known, strict=True):
            shifts, times = np.unique(place[present], return_counts=True)
            total = np.zeros(len(chances) + int(shifts[-1]))
            for shift, share in zip(shifts.tolist(), (times / times.sum()).tolist(), strict=True):
                total[shift : shift + len(chances)] += share * chances
            chances = total
        expected = float((places.sum(axis=1) / counts).sum())
        away = abs(int(places[:, -1].sum()) - expected)
        p = min(1.0, float(chances[np.abs(np.arange(len(chances)) - expected) >= away - 1e-6].sum()))
    ratio = dispersion(results[:, :-1], weights)
    if ratio > 1 and p < 1:
        normal = NormalDist()
        p = 2 * normal.cdf(normal.inv_cdf(max(p, _SMALLEST) / 2) / math.sqrt(ratio))
        name += f", dispersion of earlier runs {ratio:.1f}"
    return p, name


def dispersion(earlier: Array, weights: Array) -> float:
    """The variance of the totals of earlier runs over what the variances of their units add up to; 1 when unknown."""
    known = ~np.isnan(earlier)
    means = np.where(known, earlier, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    away = np.where(known, (earlier - means[:, None]) * weights[:, None], 0.0)
    # Were units independent, the squares of the totals would add up to those of the units, whatever is missing.
    squares = float((away**2).sum())
    return float((away.sum(axis=0) ** 2).sum()) / squares if squares > _NOTHING else 1.0


def least_window_p(units: int, runs: int) -> float:
    """The smallest p-value that so many units can have against so many earlier runs: each has its extreme now."""
    return (1 / (runs + 1)) ** units


def _step(above: Array) -> float:
    """What all results are multiples of, such as one answer that passes; else a fine step of the whole range."""
    smallest = float(above[above > _NOTHING].min())
    times = above / smallest
    if times.max() <= _MAX_STEPS and np.abs(times - np.rint(times)).max() < 1e-6:
        return smallest
    return float(above.max(axis=1).sum()) / _GRID
