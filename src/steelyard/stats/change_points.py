"""Where a series of runs changed its level: found by permutation, and never across another signature.

A stretch of runs that were scored alike is cut where its two parts differ most in their means (CUSUM). The p-value is
the share of all orders of the same values that can be cut as clearly: runs of an unchanged system could have come in
any order. Stretches that are cut are looked at again, part by part. All stretches of one round are adjusted for one
another (Holm), over all series. Where the signature changed, the runs before and after are tested by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.stats.arrays import Array
from steelyard.stats.paired import NO_CHANGE, SIGNIFICANT, holm

FEWEST_RUNS = 8
"""In fewer, the clearest cut of all (four against four) has a p-value above 5 %: nothing is looked for."""
LEAST_PART = 2
"""Runs on either side of a cut, at least: a single run is an outlier until the next one shows the same."""
N_ORDERS = 1999
SEED = 20260118
METHOD = (
    f"change points: strongest cut of the means (CUSUM) in stretches of at least {FEWEST_RUNS} runs with one"
    f" signature, {LEAST_PART} on either side; p-values from {N_ORDERS:,} random orders (seed {SEED}), adjusted for"
    " all stretches and figures looked at together (Holm)"
)


@dataclass(frozen=True, slots=True)
class Series:
    """One figure, run by run, oldest first; `breaks` are the places where another signature begins."""

    name: str
    values: Sequence[float]
    breaks: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class _Stretch:
    series: int
    start: int
    end: int


def find_change_points(series: Sequence[Series], *, seed: int = SEED) -> list[ChangePoint]:
    """Every change of level in any of the series, in the order of series and runs; the same for the same seed."""
    random = np.random.default_rng(seed)
    # Looking within stretches and between them are two chances to err.
    kinds = 2 if any(0 < at < len(item.values) for item in series for at in item.breaks) else 1
    columns = [np.asarray(item.values, dtype=float) for item in series]
    change_points: list[ChangePoint] = []
    waiting = [
        _Stretch(i, start, end)
        for i, item in enumerate(series)
        for start, end in pairwise([0, *sorted({*item.breaks} - {0}), len(item.values)])
    ]
    ends: dict[int, set[int]] = {i: {0, len(item.values), *item.breaks} for i, item in enumerate(series)}
    while waiting:
        looked = [item for item in waiting if item.end - item.start >= FEWEST_RUNS]
        cuts = [_cut(columns[item.series][item.start : item.end], random) for item in looked]
        adjusted = _adjusted([p for _, p in cuts], kinds)
        waiting = []
        for stretch, (place, _), p in zip(looked, cuts, adjusted, strict=True):
            if p is None or p >= SIGNIFICANT:
                continue
            at = stretch.start + place
            ends[stretch.series].add(at)
            waiting += [
                _Stretch(stretch.series, stretch.start, at),
                _Stretch(stretch.series, at, stretch.end),
            ]
            change_points.append(_point(series[stretch.series].name, columns[stretch.series], stretch, at, p))
    # The levels on either side reach to the next change, which may have been found later.
    settled = [_settled(point, series, columns, ends) for point in change_points]
    settled += _at_breaks(series, columns, ends, kinds, random)
    order = {item.name: i for i, item in enumerate(series)}
    return sorted(settled, key=lambda point: (order[point.series], point.at))


def _adjusted(p_values: Sequence[float | None], kinds: int) -> list[float | None]:
    return [None if p is None else min(1.0, kinds * p) for p in holm(p_values)]


def _cut(values: Array, random: np.random.Generator) -> tuple[int, float | None]:
    """Where the two parts differ most, and how many orders of the same values can be cut as clearly."""
    strength = _strengths(values[np.newaxis, :])[0]
    place = int(np.argmax(strength))
    reached = float(strength[place])
    if reached <= NO_CHANGE:
        return place + LEAST_PART, 1.0
    orders = random.permuted(np.tile(values, (N_ORDERS, 1)), axis=1)
    as_clear = int((_strengths(orders).max(axis=1) >= reached * (1 - 1e-9)).sum())
    return place + LEAST_PART, (1 + as_clear) / (1 + N_ORDERS)


def _strengths(rows: Array) -> Array:
    """For every row and place of a cut, the difference of the means in units of its standard error but for a factor."""
    n = rows.shape[1]
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, LEAST_PART - 1 : n - LEAST_PART]
    before = np.arange(LEAST_PART, n - LEAST_PART + 1)
    return np.asarray(np.abs(sums) / np.sqrt(before * (n - before) / n))


def _point(name: str, values: Array, stretch: _Stretch, at: int, p: float) -> ChangePoint:
    before, after = values[stretch.start : at], values[at : stretch.end]
    return ChangePoint(name, at, float(before.mean()), float(after.mean()), len(before), len(after), p)


def _settled(
    point: ChangePoint, series: Sequence[Series], columns: Sequence[Array], ends: dict[int, set[int]]
) -> ChangePoint:
    i = next(i for i, item in enumerate(series) if item.name == point.series)
    start, end = _around(ends[i], point.at)
    return _point(point.series, columns[i], _Stretch(i, start, end), point.at, point.p)


def _around(ends: set[int], at: int) -> tuple[int, int]:
    return max(end for end in ends if end < at), min(end for end in ends if end > at)


def _at_breaks(
    series: Sequence[Series],
    columns: Sequence[Array],
    ends: dict[int, set[int]],
    kinds: int,
    random: np.random.Generator,
) -> list[ChangePoint]:
    """The changes of level where another signature begins, between the stretches on either side."""
    places = [
        (i, at, *_around(ends[i], at))
        for i, item in enumerate(series)
        for at in sorted({*item.breaks})
        if 0 < at < len(item.values)
    ]
    p_values = [_two_sample(columns[i][start:at], columns[i][at:end], random) for i, at, start, end in places]
    results = []
    for (i, at, start, end), p in zip(places, _adjusted(p_values, kinds), strict=True):
        if p is None or p >= SIGNIFICANT:
            continue
        before, after = columns[i][start:at], columns[i][at:end]
        name, means = series[i].name, (float(before.mean()), float(after.mean()))
        results.append(ChangePoint(name, at, *means, len(before), len(after), p, at_break=True))
    return results


def _two_sample(before: Array, after: Array, random: np.random.Generator) -> float | None:
    """How many ways of dealing the same runs to both sides differ as much; None when no way could be rare enough."""
    n, k = len(before) + len(after), len(before)
    if not k or k == n or 1 / math.comb(n, k) >= SIGNIFICANT:
        return None
    values = np.concatenate((before, after))
    total, reached = float(values.sum()), abs(float(before.mean() - after.mean()))
    if reached <= NO_CHANGE:
        return 1.0
    sums = random.permuted(np.tile(values, (N_ORDERS, 1)), axis=1)[:, :k].sum(axis=1)
    differences = np.abs(sums / k - (total - sums) / (n - k))
    return (1 + int((differences >= reached * (1 - 1e-9)).sum())) / (1 + N_ORDERS)
