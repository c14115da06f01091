"""Whether a sample can be a random one: it is compared with all it was taken from, by several characteristics at once.

The test permutes which units are in the sample, so its level is exact for any number of units and any distribution.
Each characteristic is a few columns (one for each category; the rank and the squared distance from the middle rank of a
number, as in Lepage's test). Its statistic is the sum over the columns of the squared standardized difference between
the sample's total and the total expected. P-values are adjusted over all characteristics by the distribution of the
smallest one (Westfall and Young 1993), which allows for characteristics that go together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.stats.arrays import Array

LEVEL = 0.05
"""A random sample is taken for another one no more often than this."""
PERMUTATIONS = 999
MAX_UNITS = 1000, 3000
"""Of more units in the sample, or of more others, a random part is compared: it shows whatever matters."""


def ranks(values: Array) -> Array:
    """A characteristic of numbers as two columns: where it lies, and how far from the middle; NaN is the lowest."""
    _, place, counts = np.unique(np.nan_to_num(values, nan=-np.inf), return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts + 1) / 2)[place] - (len(values) - 1) / 2
    return np.column_stack([rank, rank**2])


def sampling_differences(
    sampled: Array, characteristics: Mapping[str, Array], strata: Array | None = None
) -> dict[str, float]:
    """By characteristic (a row for each unit, a column for each category or `ranks`), the adjusted p-value.

    With `strata` the units of each were sampled at random, not as many of each as there are.
    """
    rng = np.random.default_rng(0)
    strata = np.zeros(len(sampled), dtype=int) if strata is None else strata
    chosen = np.concatenate([_some(np.flatnonzero(sampled == side), MAX_UNITS[1 - side], rng) for side in (1, 0)])
    sampled, strata = sampled[chosen], strata[chosen]
    inside = np.vstack([sampled, _permuted(sampled, strata, rng)]).astype(float)
    statistics = {}
    for name, columns in characteristics.items():
        if (statistic := _statistic(inside, columns[chosen], sampled, strata)) is not None:
            statistics[name] = _share_as_large(statistic)
    if not statistics:
        return {}
    smallest = np.min(list(statistics.values()), axis=0)[1:]
    return {name: (1 + int((smallest <= p[0]).sum())) / (len(smallest) + 1) for name, p in statistics.items()}


def _some(units: Array, limit: int, rng: np.random.Generator) -> Array:
    return units if len(units) <= limit else rng.choice(units, limit, replace=False)


def _permuted(sampled: Array, strata: Array, rng: np.random.Generator) -> Array:
    """Samples by chance, one a row, with as many units of each stratum."""
    rows = np.zeros((PERMUTATIONS, len(sampled)), dtype=bool)
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        n = int(sampled[units].sum())
        order = rng.random((PERMUTATIONS, len(units))).argsort(axis=1)[:, :n]
        np.put_along_axis(rows, units[order], values=True, axis=1)
    return rows


def _statistic(inside: Array, columns: Array, sampled: Array, strata: Array) -> Array | None:
    """The statistic of each row of samples; None where the units do not differ."""
    expected, variance = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    for stratum in np.unique(strata):
        units = strata == stratum
        total, n = int(units.sum()), int(sampled[units].sum())
        if total > 1:
            expected += n * columns[units].mean(axis=0)
            variance += n * (total - n) / total * columns[units].var(axis=0, ddof=1)
        else:
            expected += n * columns[units][0]
    varies = variance > 1e-9
    if not varies.any():
        return None
    apart = inside @ columns[:, varies] - expected[varies]
    return np.asarray(np.round((apart**2 / variance[varies]).sum(axis=1), 9))


def _share_as_large(statistic: Array) -> Array:
    """By row, the share of all rows whose statistic is as large or larger."""
    ordered = np.sort(statistic)
    return np.asarray((len(ordered) - np.searchsorted(ordered, statistic, side="left")) / len(ordered))
