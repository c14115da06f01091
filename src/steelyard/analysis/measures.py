"""Measures: ratios of counts, each summed over samples, for every group at once.

A ratio of sums is not a mean of ratios: a sample with many things to count weighs more. Its interval is that of the
ratio estimator of survey statistics (Cochran, Sampling Techniques, 6.4 and 9A.1): the residuals
numerator - ratio x denominator are summed by case, since what was counted in one answer, or in several answers to one
case, is alike; their spread over cases gives the standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.analysis.estimates import NO_SPREAD, SHARES, bounded, constant_mean, mean_bounds, settled
from steelyard.analysis.groups import Groups
from steelyard.analysis.mean_measures import mean_proportions
from steelyard.analysis.model import Estimate, Proportion
from steelyard.analysis.pieces import Array, pieces
from steelyard.analysis.table import Table
from steelyard.suite.gates import READABLE

Measures = dict[str, dict[str, Proportion]]
"""By component, by the name of the measure."""


def measured(groups: Groups, table: Table) -> list[Measures]:
    """For each group, everything that the suite's scorers measure."""
    found: list[Measures] = [{} for _ in groups.names]
    for component, measures in table.measures.items():
        for ending, unread in (("", None), (READABLE, table.malformed)):
            if unread is not None and not unread.any():
                continue
            for name, mean in table.means.get(component, {}).items():
                ratios = [_counted(table, component, measures[each], unread) for each in mean["of"]]
                _into(found, component, name + ending, mean_proportions(groups, ratios))
            for name, measure in measures.items():
                counted = _counted(table, component, measure, unread)
                _into(found, component, name + ending, proportions(groups, *counted))
    return found


def _into(found: list[Measures], component: str, name: str, each: Sequence[Proportion]) -> None:
    for group, proportion in zip(found, each, strict=True):
        group.setdefault(component, {})[name] = proportion


def _counted(
    table: Table, component: str, measure: Mapping[str, str], unread: Array | None
) -> tuple[Array | None, Array | None]:
    """Numerator and denominator by sample; not known where `unread` marks an answer that could not be read."""
    counts = (table.count(component, measure[part]) for part in ("numerator", "denominator"))
    above, below = (each if each is None or unread is None else np.where(unread, np.nan, each) for each in counts)
    return above, below


def proportions(groups: Groups, numerator: Array | None, denominator: Array | None) -> list[Proportion]:
    """For each group, one sum over another, over the samples in which both are known; None for what was not counted."""
    if numerator is None or denominator is None:
        return [Proportion(Estimate(None, 0, int(planned)), 0, 0) for planned in groups.planned]
    known = ~(np.isnan(numerator) | np.isnan(denominator))
    n = groups.count(known)
    above = groups.by_cluster(np.where(known, numerator, np.nan))
    below = groups.by_cluster(np.where(known, denominator, np.nan))
    size = len(groups)
    sum_above = np.bincount(groups.cluster_group, above, minlength=size)
    sum_below = np.bincount(groups.cluster_group, below, minlength=size)
    ratio = np.divide(sum_above, sum_below, out=np.zeros(size), where=sum_below > 0)
    clusters, squares, sizes = _spread(groups, above, below, ratio)
    return [
        Proportion(
            _estimate(
                float(ratio[g]),
                float(sum_below[g]),
                (int(clusters[g]), float(squares[g]), float(sizes[g])),
                int(n[g]),
                int(groups.planned[g]),
            ),
            round(sum_above[g]),
            round(sum_below[g]),
        )
        for g in range(size)
    ]


def _spread(groups: Groups, above: Array, below: Array, ratio: Array) -> tuple[Array, Array, Array]:
    """Per group: clusters that say something, their squared residuals, their squared denominators."""
    size = len(groups)
    clusters, squares, sizes = np.zeros(size, dtype=int), np.zeros(size), np.zeros(size)
    for piece in pieces(len(groups.cluster_group)):
        group, over, under = groups.cluster_group[piece], above[piece], below[piece]
        residual = over - ratio[group] * under
        # A case in which there was nothing to count stands for nothing, and so for no degree of freedom.
        clusters += np.bincount(group[(under > 0) | (over > 0)], minlength=size)
        squares += np.bincount(group, residual * residual, minlength=size)
        sizes += np.bincount(group, under * under, minlength=size)
    return clusters, squares, sizes


def _estimate(ratio: float, total: float, spread: tuple[int, float, float], n: int, planned: int) -> Estimate:
    clusters, squares, sizes = spread
    if total <= 0:
        return Estimate(None, n, planned - n)
    ratio = settled(ratio)
    if clusters < 2 or squares <= total * NO_SPREAD:
        return constant_mean(ratio, n, planned - n, total * total / sizes if clusters > 1 else 0.0, SHARES)
    bounds = mean_bounds(ratio, (clusters / (clusters - 1) * squares) ** 0.5 / total, clusters, SHARES)
    return bounded(ratio, n, planned - n, bounds, SHARES)
