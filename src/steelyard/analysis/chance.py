"""Agreement beyond chance: Cohen's weighted kappa and Krippendorff's alpha, with intervals over cases.

Both are figures of a table of which scores met which. Their standard error is the jackknife's, one case left out at a
time, so that several texts of one case count as one; Fisher's transformation (of a correlation, which a kappa of
squared distances nearly is) keeps the interval below 1. What shows no spread has no interval. scikit-learn,
statsmodels and krippendorff are the oracles in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from steelyard.analysis.estimates import settled
from steelyard.analysis.intervals import student
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array

Figure = Callable[[Array], Array]
"""From tables (table, row, column) to the figure of each; NaN where it is undefined."""
LEVELS = ("nominal", "ordinal", "interval")
_NUMBERS_AT_ONCE = 2**20


def weighted_kappa(
    judge: Array, best: Array, *, power: int = 2, case: Array | None = None, missing: int = 0
) -> Estimate:
    """Cohen's kappa of two raters; disagreement weighs by distance to a power: 2 quadratic, 1 linear, 0 not at all.

    Pairs of which one score is NaN are missing. None when all scores of both are one and the same.
    """
    known = ~(np.isnan(judge) | np.isnan(best))
    missing += int((~known).sum())
    values, code = np.unique(np.concatenate((best[known], judge[known])), return_inverse=True)
    n, size = int(known.sum()), len(values)
    if n == 0:
        return Estimate(None, 0, missing)
    cell = code[:n] * size + code[n:]
    cluster = _clusters(case, known)
    apart = np.abs(values[:, None] - values[None, :])
    weights = (apart > 0).astype(float) if power == 0 else apart**power

    def tables() -> Iterator[Array]:
        for first, last, rows in _in_chunks(cluster, size):
            place = (cluster[rows] - first) * size * size + cell[rows]
            counts = np.bincount(place, minlength=(last - first) * size * size)
            yield counts.reshape(-1, size, size).astype(float)

    return _estimate(tables, partial(_kappa, weights=weights), n, missing)


def krippendorff_alpha(
    ratings: Array, *, level: str = "ordinal", case: Array | None = None, missing: int = 0
) -> Estimate:
    """Krippendorff's alpha of any number of raters (rows) over units (columns); NaN where a rater gave nothing.

    `n` is the number of units with at least two ratings; the others are missing. None without any variance.
    """
    if level not in LEVELS:
        raise ValueError(f"{level!r} is not one of {', '.join(LEVELS)}")
    known = (~np.isnan(ratings)).sum(axis=0) > 1
    missing += int((~known).sum())
    n = int(known.sum())
    if n == 0:
        return Estimate(None, 0, missing)
    units = ratings[:, known]
    values, code = np.unique(units, return_inverse=True)
    code, size = code.reshape(units.shape), int((~np.isnan(values)).sum())
    cluster = _clusters(case, known)

    def tables() -> Iterator[Array]:
        for first, last, rows in _in_chunks(cluster, size):
            yield _coincidences(code[:, rows], cluster[rows] - first, last - first, size)

    return _estimate(tables, partial(_alpha, values=values[:size], level=level), n, missing)


def _coincidences(code: Array, cluster: Array, n_clusters: int, size: int) -> Array:
    """For each cluster, how often which score met which in one unit, each unit weighing as many as its ratings."""
    n_units = code.shape[1]
    # NaN is sorted last, so its code is `size`: a column that is cut off.
    place = np.arange(n_units)[None, :] * (size + 1) + np.minimum(code, size)
    counts = np.bincount(place.ravel(), minlength=n_units * (size + 1)).reshape(n_units, size + 1)[:, :size]
    pairs = counts[:, :, None] * counts[:, None, :].astype(float)
    diagonal = np.arange(size)
    pairs[:, diagonal, diagonal] -= counts
    pairs /= (counts.sum(axis=1) - 1)[:, None, None]
    starts = np.searchsorted(cluster, np.arange(n_clusters))
    return np.asarray(np.add.reduceat(pairs, starts, axis=0))


def _kappa(tables: Array, weights: Array) -> Array:
    by_chance = (tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] * weights).sum(axis=(1, 2))
    observed = (tables * weights).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
    return _complement(observed, by_chance)


def _alpha(tables: Array, values: Array, level: str) -> Array:
    sums = tables.sum(axis=2)
    n = sums.sum(axis=1)
    if level == "nominal":
        observed = n - np.trace(tables, axis1=1, axis2=2)
        by_chance = n * n - (sums * sums).sum(axis=1)
    else:
        # Ordinal distances are those of the middle ranks.
        places = np.broadcast_to(values, sums.shape) if level == "interval" else np.cumsum(sums, axis=1) - sums / 2
        apart = (places[:, :, None] - places[:, None, :]) ** 2
        observed = (tables * apart).sum(axis=(1, 2))
        by_chance = (sums[:, :, None] * sums[:, None, :] * apart).sum(axis=(1, 2))
    return _complement(observed * (n - 1), by_chance)


def _complement(observed: Array, by_chance: Array) -> Array:
    share = np.divide(observed, by_chance, out=np.full(len(observed), np.nan), where=by_chance > 0)
    return np.asarray(1 - share)


def _clusters(case: Array | None, known: Array) -> Array:
    """Codes of the cases from 0 without a gap, for the rows that are known; each row its own without cases."""
    if case is None:
        return np.arange(int(known.sum()))
    return np.unique(case[known], return_inverse=True)[1]


def _in_chunks(cluster: Array, size: int) -> Iterator[tuple[int, int, Array]]:
    """Ranges of clusters with their rows, cluster by cluster, few enough that their tables stay small."""
    order = np.argsort(cluster, kind="stable")
    ranked = cluster[order]
    n_clusters = int(ranked[-1]) + 1
    step = max(1, _NUMBERS_AT_ONCE // (size * size))
    for first in range(0, n_clusters, step):
        last = min(first + step, n_clusters)
        begin, end = np.searchsorted(ranked, (first, last))
        yield first, last, order[begin:end]


def _estimate(tables: Callable[[], Iterator[Array]], figure: Figure, n: int, missing: int) -> Estimate:
    total = sum((chunk.sum(axis=0) for chunk in tables()), np.zeros(()))
    value = float(figure(total[None])[0])
    if math.isnan(value):
        return Estimate(None, n, missing)
    # Rounding may leave a negative hair of a count that was taken away.
    without = np.concatenate([figure(np.maximum(total - chunk, 0.0)) for chunk in tables()])
    value = settled(round(value, 12))
    bounds = _interval(value, without)
    return Estimate(value, n, missing, *(bounds or (None, None)))


def _interval(value: float, without: Array) -> tuple[float, float] | None:
    n = len(without)
    if n < 2 or abs(value) >= 1 or bool(np.isnan(without).any()):
        return None
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    bounds = student(math.atanh(value), error / (1 - value * value), n - 1)
    return None if bounds is None or error < 1e-12 else (math.tanh(bounds[0]), math.tanh(bounds[1]))
