"""Means and shares over clusters: samples of one case, or ballots on one text, are alike and count as one.

The figures of `groups` are made by the same rules; here they are of single columns, or of values that come one after
another and are not kept.
"""

from __future__ import annotations

import numpy as np

from steelyard.analysis.estimates import Scale, clustered_mean, clustered_share, worth_of
from steelyard.analysis.groups import Groups
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array

_ROUNDING = 1e-13


def mean(values: Array, case: Array, scale: Scale, absent: int = 0) -> Estimate:
    """The mean of the values that are known (not NaN); `case` tells which belong together, `absent` never came."""
    return _one_group(case, absent).means(values, scale)[0]


def share(hits: Array, known: Array, case: Array, absent: int = 0) -> Estimate:
    """The share of hits among the rows that are known."""
    groups = _one_group(case, absent)
    return groups.rates(groups.labelled((hits & known).astype(np.int8) - 1), 1, known)[0][0]


def worth(hits: Array, known: Array, case: Array) -> float:
    """How many independent trials stand behind the share of hits among the rows that are known."""
    n = int(known.sum())
    if n == 0:
        return 0.0
    cluster = np.unique(case[known], return_inverse=True)[1]
    size = np.bincount(cluster).astype(float)
    hit = np.bincount(cluster, (hits & known)[known].astype(float))
    rate = hit.sum() / n
    squares = float(((hit - rate * size) ** 2).sum())
    return worth_of(float(rate), n, len(size), squares, float((size * size).sum()))


def of_some(estimate: Estimate, missing: int) -> Estimate:
    """The estimate with another number of missing ones: rows that it never spoke of are not missing from it."""
    return Estimate(estimate.value, estimate.n, missing, estimate.low, estimate.high)


def _one_group(case: Array, absent: int) -> Groups:
    return Groups([""], np.zeros(len(case), dtype=np.int8), case, absent=absent)


class Running:
    """A mean or share of values that come cluster by cluster; only sums are kept."""

    __slots__ = ("_cross", "_open_n", "_open_total", "_sizes", "_squares", "clusters", "n", "total")

    def __init__(self) -> None:
        self.n = self.clusters = 0
        self.total = self._squares = self._cross = self._sizes = 0.0
        self._open_n, self._open_total = 0, 0.0

    def add(self, value: float) -> None:
        """One more value of the cluster that is open."""
        self._open_n += 1
        self._open_total += value

    def close(self) -> None:
        """The cluster ends: the next value belongs to another."""
        n, total = self._open_n, self._open_total
        if not n:
            return
        self.clusters += 1
        self.n += n
        self.total += total
        self._squares += total * total
        self._cross += total * n
        self._sizes += n * n
        self._open_n, self._open_total = 0, 0.0

    def mean(self, scale: Scale, missing: int) -> Estimate:
        """The mean of all values so far."""
        self.close()
        return clustered_mean(self._centre(), self.n, missing, (self.clusters, self._spread(), self._sizes), scale)

    def share(self, missing: int) -> Estimate:
        """The share of ones among values that are all 0 or 1."""
        self.close()
        return clustered_share(round(self.total), self.n, missing, (self.clusters, self._spread(), self._sizes))

    def _centre(self) -> float:
        return self.total / self.n if self.n else 0.0

    def _spread(self) -> float:
        """The squared deviations of the clusters' sums from what the mean would have them be."""
        centre = self._centre()
        spread = self._squares - 2 * centre * self._cross + centre * centre * self._sizes
        # What the subtraction leaves of equal values is rounding, not spread.
        return spread if spread > _ROUNDING * self._squares else 0.0
