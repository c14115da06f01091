"""Means of measures: several ratios of sums, averaged with the same weight each, for every group at once.

The interval is that of a linear function of ratio estimators (Cochran, Sampling Techniques, 6.4): every case adds the
mean of its residuals, each over the denominator of its ratio, and their spread over cases gives the standard error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.estimates import NO_SPREAD, SHARES, bounded, constant_mean, mean_bounds, settled
from steelyard.analysis.groups import Groups
from steelyard.analysis.model import Estimate, Proportion
from steelyard.analysis.pieces import Array

Counts = tuple[Array | None, Array | None]
"""Numerator and denominator by sample; None for what was not counted."""


def mean_proportions(groups: Groups, ratios: Sequence[Counts]) -> list[Proportion]:
    """For each group, the mean of those of the ratios that are ratios of something; `n` is the samples behind them."""
    size, n_clusters = len(groups), len(groups.cluster_group)
    somewhere: Array | None = None
    total, number = np.zeros(size), np.zeros(size, dtype=int)
    residual, counted = np.zeros(n_clusters), np.zeros(n_clusters, dtype=bool)
    for numerator, denominator in ratios:
        if numerator is None or denominator is None:
            continue
        known = ~(np.isnan(numerator) | np.isnan(denominator))
        somewhere = known if somewhere is None else somewhere | known
        above = groups.by_cluster(np.where(known, numerator, np.nan))
        below = groups.by_cluster(np.where(known, denominator, np.nan))
        sums = [np.bincount(groups.cluster_group, each, minlength=size) for each in (above, below)]
        there = sums[1] > 0
        ratio = np.divide(sums[0], sums[1], out=np.zeros(size), where=there)
        total += ratio
        number += there
        share = np.divide(1.0, sums[1], out=np.zeros(size), where=there)
        residual += (above - ratio[groups.cluster_group] * below) * share[groups.cluster_group]
        counted |= (above > 0) | (below > 0)
    n = np.zeros(size, dtype=int) if somewhere is None else groups.count(somewhere)
    clusters = np.bincount(groups.cluster_group[counted], minlength=size)
    squares = np.bincount(groups.cluster_group, residual * residual, minlength=size)
    return [
        Proportion(
            _estimate(float(total[g]), int(number[g]), int(clusters[g]), float(squares[g]), int(n[g]), missing),
            0,
            0,
            int(number[g]),
        )
        for g, missing in enumerate((groups.planned - n).tolist())
    ]


def _estimate(total: float, number: int, clusters: int, squares: float, n: int, missing: int) -> Estimate:
    if not number:
        return Estimate(None, n, missing)
    mean = settled(total / number)
    if clusters < 2 or squares <= NO_SPREAD:
        return constant_mean(mean, n, missing, clusters if clusters > 1 else 0.0, SHARES)
    bounds = mean_bounds(mean, (clusters / (clusters - 1) * squares) ** 0.5 / number, clusters, SHARES)
    return bounded(mean, n, missing, bounds, SHARES)
