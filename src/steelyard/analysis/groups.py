"""Samples cut into groups (the whole run, categories, tags, ...) and the estimates of every group at once.

Samples of one case are alike, whether they differ by repeat or by variant: where a group holds several of a case, its
intervals are clustered by case. Sums run over samples and cases in the order given, which `table.canonical_order` makes
depend on their values only: the order they were planned or stored in changes nothing, not even the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.intervals import effective_n, quantile_ranks, student, wilson
from steelyard.analysis.model import Estimate

Array = NDArray[Any]
Scale = tuple[float, float]
SHARES: Scale = (0.0, 1.0)
NOT_NEGATIVE: Scale = (0.0, math.inf)
ANYWHERE: Scale = (-math.inf, math.inf)
_NO_SPREAD = 1e-24
"""Mean squared deviation that is only rounding: values that differ by less than 1e-12."""


class Groups:
    """A cut of samples: row `i` is sample `rows[i]` in group `group[i]`; a sample may be in several groups (tags)."""

    def __init__(self, names: Sequence[str], rows: Array, group: Array, case: Array) -> None:
        self.names = list(names)
        self.rows = rows
        self.group = group
        self.planned = self._per_group(group)
        self._cluster, self._cluster_group = self._clusters(case)
        self._one_row_each = len(rows) == len(case) and bool((rows == np.arange(len(case))).all())
        # Where each sample's rows are, for joining what is listed by sample (findings, bands).
        self._by_sample = rows if self._one_row_each else np.argsort(rows, kind="stable")
        self._n_rows = np.bincount(rows, minlength=len(case))
        self._first_row = np.cumsum(self._n_rows) - self._n_rows

    def __len__(self) -> int:
        return len(self.names)

    @property
    def clustered(self) -> bool:
        """True when some group holds several samples of one case."""
        return self._cluster is not None

    def _per_group(self, group: Array, weights: Array | None = None) -> Array:
        return np.bincount(group, weights, minlength=len(self.names))

    def _clusters(self, case: Array) -> tuple[Array | None, Array]:
        n_cases = int(case.max(initial=-1)) + 1
        if np.bincount(case).max(initial=0) <= 1:
            return None, self.group
        pair = self.group.astype(np.int64) * n_cases + case[self.rows]
        pairs, cluster = np.unique(pair, return_inverse=True)
        if len(pairs) == len(pair):
            return None, self.group
        return cluster, pairs // n_cases

    def join(self, samples: Array) -> tuple[Array, Array]:
        """All (entry, row) pairs for entries that are listed by sample."""
        if self._one_row_each:
            return np.arange(len(samples)), samples
        times = self._n_rows[samples]
        entry = np.repeat(np.arange(len(samples)), times)
        offset = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
        return entry, self._by_sample[self._first_row[samples][entry] + offset]

    def counts(self, samples: Array, labels: Array, n_labels: int) -> Array:
        """How many entries of each label each group has, as a table of groups by labels."""
        entry, row = self.join(samples)
        cells = self.group[row] * n_labels + labels[entry]
        return np.bincount(cells, minlength=len(self) * n_labels).reshape(len(self), n_labels)

    def means(self, values: Array, scale: Scale = SHARES) -> list[Estimate]:
        """The mean of every group over the samples whose value is known."""
        known, group, found = self._known(values)
        n = self._per_group(group)
        mean = _ratio(self._per_group(group, found), n)
        clusters, squares, sizes = self._spread(known, group, found - mean[group])
        return [
            self._mean(g, float(mean[g]), int(n[g]), int(clusters[g]), float(squares[g]), float(sizes[g]), scale)
            for g in range(len(self))
        ]

    def _mean(
        self,
        g: int,
        mean: float,
        n: int,
        clusters: int,
        squares: float,
        sizes: float,
        scale: Scale,
    ) -> Estimate:
        missing = int(self.planned[g]) - n
        if n == 0:
            return Estimate(None, 0, missing)
        if squares > n * _NO_SPREAD and clusters > 1:
            bounds = student(mean, (clusters / (clusters - 1) * squares) ** 0.5 / n, clusters - 1)
        elif clusters < 2 or math.isinf(scale[1]):
            bounds = None
        else:
            # Equal values show no spread, which is not certainty: no score on a bounded scale varies more than a rate.
            low, high = scale
            share = min(1.0, max(0.0, (mean - low) / (high - low)))
            around = wilson(share, n * n / sizes)
            bounds = None if around is None else (low + around[0] * (high - low), low + around[1] * (high - low))
        return _bounded(mean, n, missing, bounds, scale)

    def rates(self, samples: Array, labels: Array, n_labels: int, known: Array) -> list[list[Estimate]]:
        """The share of each label in every group, among the samples that `known` marks.

        Entries are (sample, label) pairs, each at most once.
        """
        among = known[self.rows]
        n = self._per_group(self.group[among])
        entry, row = self.join(samples)
        label = labels[entry]
        cells = self.group[row] * n_labels + label
        hits = np.bincount(cells, minlength=len(self) * n_labels).reshape(len(self), n_labels)
        if self._cluster is None:
            return [
                [self._rate(g, int(hits[g, i]), int(n[g]), float(n[g])) for i in range(n_labels)]
                for g in range(len(self))
            ]
        size = np.bincount(self._cluster[among], minlength=len(self._cluster_group))
        clusters = self._per_group(self._cluster_group[size > 0])
        sizes = self._per_group(self._cluster_group, (size * size).astype(float))
        # Only clusters with a hit are listed; the others enter through the sum of squared sizes.
        pair, hit = distinct(self._cluster[row] * n_labels + label)
        at, cell = pair // n_labels, self._cluster_group[pair // n_labels] * n_labels + pair % n_labels
        hit_hit = np.bincount(cell, hit * hit, minlength=hits.size).reshape(hits.shape)
        hit_size = np.bincount(cell, hit * size[at], minlength=hits.size).reshape(hits.shape)
        share = _ratio(hits, n[:, None])
        squares = hit_hit - 2 * share * hit_size + share * share * sizes[:, None]
        return [
            [
                self._rate(
                    g,
                    int(hits[g, i]),
                    int(n[g]),
                    self._worth(float(share[g, i]), int(n[g]), int(clusters[g]), float(squares[g, i]), float(sizes[g])),
                )
                for i in range(n_labels)
            ]
            for g in range(len(self))
        ]

    def _rate(self, g: int, hits: int, n: int, worth: float) -> Estimate:
        missing = int(self.planned[g]) - n
        if n == 0:
            return Estimate(None, 0, missing)
        return _bounded(hits / n, n, missing, wilson(hits / n, worth), SHARES)

    @staticmethod
    def _worth(share: float, n: int, clusters: int, squares: float, sizes: float) -> float:
        return effective_n(share, n, clusters, squares, sizes) if clusters > 1 else 0.0

    def quantiles(self, values: Array, points: Sequence[float]) -> list[list[Estimate]]:
        """Quantiles of every group, interpolated as numpy does; 0 and 1 are the extremes and have no interval."""
        known, group, found = self._known(values)
        n = self._per_group(group)
        together = found[np.argsort(_narrow(group, len(self)), kind="stable")]
        ranked = [np.sort(each) for each in np.split(together, np.cumsum(n)[:-1])]
        columns = []
        for point in points:
            value = np.array([_at(each, point) for each in ranked])
            worth = self._quantile_worth(known, group, found, value, n, inner=0 < point < 1)
            columns.append([self._quantile(g, ranked[g], point, value[g], worth[g]) for g in range(len(self))])
        return [[column[g] for column in columns] for g in range(len(self))]

    def _quantile_worth(
        self, known: Array, group: Array, found: Array, value: Array, n: Array, *, inner: bool
    ) -> Array:
        """How many independent values each group is worth at this quantile (Woodruff's method)."""
        if self._cluster is None or not inner:
            return n
        below = (found <= value[group]).astype(float)
        share = _ratio(self._per_group(group, below), n)
        clusters, squares, sizes = self._spread(known, group, below - share[group])
        worth = [
            self._worth(float(share[g]), int(n[g]), int(clusters[g]), float(squares[g]), float(sizes[g])) if n[g] else 0
            for g in range(len(self))
        ]
        return np.floor(np.array(worth) + 1e-9).astype(int)

    def _quantile(self, g: int, ranked: Array, point: float, value: float, worth: int) -> Estimate:
        n = len(ranked)
        missing = int(self.planned[g]) - n
        if n == 0:
            return Estimate(None, 0, missing)
        ranks = quantile_ranks(int(worth), point) if 0 < point < 1 else None
        if ranks is None:
            return Estimate(float(value), n, missing)
        low = (ranks[0] - 1) * n // int(worth)
        high = n - 1 - (int(worth) - ranks[1]) * n // int(worth)
        return _bounded(float(value), n, missing, (float(ranked[low]), float(ranked[high])), ANYWHERE)

    def totals(self, values: Array) -> list[Estimate]:
        """The sum of every group over the samples whose value is known; a plain count has no interval."""
        _, group, found = self._known(values)
        n, total = self._per_group(group), self._per_group(group, found)
        return [
            Estimate(float(total[g]) if n[g] else None, int(n[g]), int(self.planned[g] - n[g]))
            for g in range(len(self))
        ]

    def _known(self, values: Array) -> tuple[Array, Array, Array]:
        """Which rows have a value, their groups, and the values."""
        found = values[self.rows]
        known = ~np.isnan(found)
        return known, self.group[known], found[known]

    def _spread(self, known: Array, group: Array, deviations: Array) -> tuple[Array, Array, Array]:
        """Per group: the number of clusters, the sum of their squared deviations, the sum of their squared sizes."""
        if self._cluster is None:
            n = self._per_group(group)
            return n, self._per_group(group, deviations * deviations), n
        cluster = self._cluster[known]
        size = np.bincount(cluster, minlength=len(self._cluster_group))
        deviation = np.bincount(cluster, deviations, minlength=len(self._cluster_group))
        return (
            self._per_group(self._cluster_group[size > 0]),
            self._per_group(self._cluster_group, deviation * deviation),
            self._per_group(self._cluster_group, (size * size).astype(float)),
        )


def distinct(codes: Array) -> tuple[Array, Array]:
    """The different codes, sorted, and how often each occurs (numpy's own hashes them and takes 30 times as long)."""
    ranked = np.sort(codes)
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(ranked) else np.empty(0, int)
    return ranked[starts], np.diff(np.append(starts, len(ranked)))


def _at(ranked: Array, point: float) -> float:
    """The quantile of sorted values, on the straight line between the two that are nearest; NaN of none."""
    if not len(ranked):
        return math.nan
    place = point * (len(ranked) - 1)
    below = math.floor(place)
    low, high = float(ranked[below]), float(ranked[min(below + 1, len(ranked) - 1)])
    return low + (high - low) * (place - below)


def _ratio(numerator: Array, denominator: Array) -> Array:
    return np.asarray(numerator / np.maximum(denominator, 1))


def _narrow(codes: Array, n: int) -> Array:
    """The codes in the smallest type: numpy sorts 16-bit integers by radix, several times faster."""
    return codes.astype(np.uint16) if n <= np.iinfo(np.uint16).max else codes


def _bounded(
    value: float,
    n: int,
    missing: int,
    bounds: tuple[float, float] | None,
    scale: Scale,
) -> Estimate:
    if bounds is None:
        return Estimate(value, n, missing)
    low, high = bounds
    low, high = max(scale[0], low), min(scale[1], high)
    return Estimate(value, n, missing, min(low, value), max(high, value))
