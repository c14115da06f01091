"""Where a series of runs changed its level: found recursively by permutation, and never across another signature.

A stretch of runs that were scored alike is looked at as it grew, after every run, as people look at a history. It is
cut where its two parts differ most in their means (CUSUM). The p-value is the share of all orders of the same values
that can be cut as clearly: runs of an unchanged system could have come in any order. Once a change is found, the
stretch begins anew at it, so later changes do not hide earlier ones, and what was reported once stays reported. Where
the signature changed, the runs before and after are tested by themselves.

Two things would raise false alarms. Runs in sequence are similar (autocorrelated), so what is permuted is what each run
adds to what it shares with the run before it. And many looks are many chances to err, so every p-value is multiplied
for all looks, and for all series and stretches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.paired import NO_CHANGE, SIGNIFICANT, holm

FEWEST_RUNS = 12
"""In fewer, the clearest cut of all (five against six: 2 of 462 orders) is not clear enough: nothing is looked for."""
LEAST_PART = 2
"""Runs on either side of a cut, at least: a single run is an outlier until the next one shows the same."""
FIRST_ORDERS, MORE_ORDERS, N_ORDERS = 199, 990, 19_999
"""How many orders are drawn first, at a time after that, and in all where those before leave it open."""
SEED = 20260118
_LEVEL = 0.003
"""Of one look, up to `_FULL_LEVEL` runs; later ones share what is left."""
_FULL_LEVEL = 100
_MAX_SIMILAR = 0.8
_MARGIN = 2.0
"""Of the autocorrelation, by the root of the number of runs: few runs do not show how similar runs are."""
_WORTH_A_TEST = 2.5
"""Standard errors: of a cut that is less clear than this, far more orders can be cut as clearly than a look allows.
From 40 runs on, what the normal distribution asks for at a single place is less than the clearest of all needs."""
METHOD = (
    f"change points: after every run from the {FEWEST_RUNS}th on with one signature, the strongest cut of the means"
    f" (CUSUM), {LEAST_PART} runs on either side; p-values from up to {N_ORDERS:,} random orders (seed {SEED}) of the"
    " runs less their autocorrelation, adjusted for all looks, and for all stretches and figures looked at together"
)


@frozen
class Series:
    """One figure, run by run, oldest first; `breaks` are the places where another signature begins."""

    name: str
    values: Sequence[float]
    breaks: Sequence[int] = ()


@frozen
class ChangePoint:
    """A level that changed: `at` is the place of the first run after it."""

    series: str
    at: int
    before: float
    after: float
    n_before: int
    n_after: int
    p: float
    """Adjusted for everything that was looked at."""
    at_break: bool = False
    """True where another signature begins: the change may be its own."""


def find_change_points(series: Sequence[Series], *, seed: int = SEED) -> list[ChangePoint]:
    """Every change of level in any of the series, in the order of series and runs; the same for the same seed."""
    columns = [np.asarray(item.values, dtype=float) for item in series]
    ends = [sorted({0, len(item.values), *item.breaks}) for item in series]
    stretches = [
        (i, start, end)
        for i, places in enumerate(ends)
        for start, end in pairwise(places)
        if end - start >= FEWEST_RUNS
    ]
    # Looking within stretches and between them are two chances to err.
    kinds = 2 if any(len(places) > 2 for places in ends) else 1
    found: list[tuple[int, int, float]] = []
    for i, start, end in stretches:
        times = kinds * len(stretches)
        found += [(i, start + at, p) for at, p in _changes(columns[i][start:end], times, seed)]
    for i, at, _ in found:
        ends[i] = sorted({*ends[i], at})
    points = [_point(series[i].name, columns[i], ends[i], at, p) for i, at, p in found]
    points += _at_breaks(series, columns, ends, kinds, seed)
    order = {item.name: i for i, item in enumerate(series)}
    return sorted(points, key=lambda point: (order[point.series], point.at))


def _changes(values: Array, times: int, seed: int) -> list[tuple[int, float]]:
    """Where a stretch changed its level, with p-values, looked at after every run since its last change."""
    start, found = 0, []
    for n in range(FEWEST_RUNS, len(values) + 1):
        if n - start < FEWEST_RUNS:
            continue
        place, p = _cut(values[start:n], np.random.default_rng((seed, n - start)))
        if times * p < SIGNIFICANT:
            found.append((start + place, times * p))
            start += place
    # Later runs show more exactly where a level changed.
    result: list[tuple[int, float]] = []
    for i, (_, p) in enumerate(found):
        first = result[-1][0] if result else 0
        last = found[i + 1][0] if i + 1 < len(found) else len(values)
        result.append((first + _clearest(values[first:last]), p))
    return result


def _clearest(values: Array) -> int:
    return int(np.argmax(_strengths(values[np.newaxis, :])[0])) + LEAST_PART


def _cut(values: Array, random: np.random.Generator) -> tuple[int, float]:
    """Where the two parts differ most, and how many orders of the same values can be cut as clearly, for all looks."""
    place = _clearest(values)
    fresh = _fresh(values, place)

    def strongest(rows: Array) -> Array:
        return np.asarray(_strengths(rows).max(axis=1))

    level = SIGNIFICANT / _looks(len(values))
    worth = _WORTH_A_TEST if len(values) < 40 else NormalDist().inv_cdf(1 - level / 2)
    if float(strongest(fresh[np.newaxis, :])[0]) < worth * float(fresh.std(ddof=1)):
        return place, 1.0
    return place, _p(fresh, strongest, random)


def _fresh(values: Array, at: int) -> Array:
    """What each run adds to what it shares with the run before it, if the level changed `at` that run or nowhere.

    The autocorrelation within both parts, which their means make smaller than it is (Kendall 1954), with a margin:
    to take it for smaller than it is would raise false alarms.
    """
    n = len(values)
    away = np.concatenate((values[:at] - values[:at].mean(), values[at:] - values[at:].mean()))
    squares = float((away**2).sum())
    products = away[1:] * away[:-1]
    shared = (float(products.sum()) - products[at - 1]) / squares if squares > NO_CHANGE**2 else 0.0
    similar = (n * shared + 2) / (n - 6) + _MARGIN / math.sqrt(n) if n > 6 else _MAX_SIMILAR
    similar = min(max(similar, 0.0), _MAX_SIMILAR)
    around = values - values.mean()
    first = around[:1] * math.sqrt(1 - similar**2)
    return np.concatenate((first, around[1:] - similar * around[:-1]))


def _looks(n: int) -> float:
    """By how much the p-value of a look at n runs is multiplied for all looks."""
    return SIGNIFICANT / _LEVEL * max(1.0, n / _FULL_LEVEL)


def _p(values: Array, statistic: Callable[[Array], Array], random: np.random.Generator) -> float:
    """How many orders reach the statistic of this one, multiplied for a look after every run."""
    reached = float(statistic(values[np.newaxis, :])[0]) * (1 - 1e-9)
    if reached <= NO_CHANGE:
        return 1.0
    looks = _looks(len(values))
    drawn = as_clear = 0
    while drawn < N_ORDERS and (drawn == 0 or (1 + as_clear) / (1 + drawn) * looks < 10 * SIGNIFICANT):
        orders = random.permuted(np.tile(values, (MORE_ORDERS if drawn else FIRST_ORDERS, 1)), axis=1)
        as_clear += int((statistic(orders) >= reached).sum())
        drawn += len(orders)
    return min(1.0, (1 + as_clear) / (1 + drawn) * looks)


def _strengths(rows: Array) -> Array:
    """For every row and place of a cut, the difference of the means in units of its standard error but for a factor."""
    n = rows.shape[1]
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, LEAST_PART - 1 : n - LEAST_PART]
    before = np.arange(LEAST_PART, n - LEAST_PART + 1)
    return np.asarray(np.abs(sums) / np.sqrt(before * (n - before) / n))


def _point(name: str, values: Array, ends: Sequence[int], at: int, p: float, *, at_break: bool = False) -> ChangePoint:
    """A change with the levels on either side, which reach to the changes next to it."""
    start, end = _around(ends, at)
    before, after = values[start:at], values[at:end]
    means = (float(before.mean()), float(after.mean()))
    return ChangePoint(name, at, *means, len(before), len(after), p, at_break=at_break)


def _around(ends: Sequence[int], at: int) -> tuple[int, int]:
    return max(end for end in ends if end < at), min(end for end in ends if end > at)


def _at_breaks(
    series: Sequence[Series], columns: Sequence[Array], ends: Sequence[Sequence[int]], kinds: int, seed: int
) -> list[ChangePoint]:
    """The changes of level where another signature begins, between the stretches on either side."""
    places = [
        (i, at, *_around(ends[i], at))
        for i, item in enumerate(series)
        for at in sorted({*item.breaks})
        if 0 < at < len(item.values)
    ]
    p_values = [
        _two_sample(columns[i][start:at], columns[i][at:end], np.random.default_rng((seed, end - start, at - start)))
        for i, at, start, end in places
    ]
    return [
        _point(series[i].name, columns[i], ends[i], at, kinds * p, at_break=True)
        for (i, at, _, _), p in zip(places, holm(p_values), strict=True)
        if p is not None and kinds * p < SIGNIFICANT
    ]


def _two_sample(before: Array, after: Array, random: np.random.Generator) -> float | None:
    """How many orders of the runs differ as much between both sides; None when no way could be rare enough."""
    n, k = len(before) + len(after), len(before)
    if not k or k == n or 1 / math.comb(n, k) >= _LEVEL:
        return None

    def apart(rows: Array) -> Array:
        sums = rows[:, :k].sum(axis=1)
        return np.asarray(np.abs(sums / k - (rows.sum(axis=1) - sums) / (n - k)))

    return _p(_fresh(np.concatenate((before, after)), k), apart, random)
