"""Contributions aggregated: every metric of a run, for every group of its samples or cells at once.

A ratio of sums is not a mean of ratios: a sample with many things to count weighs more. Its interval is that of the
ratio estimator of survey statistics (Cochran, Sampling Techniques, 6.4 and 9A.1): the residuals
numerator - ratio x denominator are summed by case, since what was counted in one answer, or in several answers to one
case, is alike; their spread over cases gives the standard error. A mean of several ratios has the interval of a linear
function of ratio estimators: every case adds the mean of its residuals, each over the denominator of its ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.missing import Ranges
from steelyard.metrics.registry import (
    Contributions,
    Labels,
    Level,
    Metric,
    Names,
    metrics,
)
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import (
    SHARES,
    Estimate,
    Scale,
    Spread,
    bounded,
    clustered_share,
    constant_mean,
    mean_bounds,
    settled,
    share_spreads,
)

Hit = tuple[Metric, Names, list[Estimate], Array]
"""A metric, what fills its name, its figure in every group, and how many cases (or clusters of cases) each is based on:
repeats of a case count once."""


def figures(data: RunData, factor: str, level: Level) -> Iterator[Hit]:
    """Every metric of samples or of cells that a run has, in every group of a factor."""
    groups = data.groups[factor] if level is Level.SAMPLE else data.cells.groups[factor]
    ranges = Ranges(data, factor, level)
    families: dict[Callable[[RunData], Labels], list[Metric]] = {}
    by_function: dict[object, list[tuple[Metric, Names]]] = {}
    for metric in metrics().values():
        if (
            metric.level is not level
            or metric.derived
            or metric.listed
            or (factor and (metric.figure or not metric.sliced))
        ):
            continue
        if metric.figure is not None:
            yield from _by_function(metric, data)
            continue
        if metric.labels is not None:
            families.setdefault(metric.labels, []).append(metric)
            continue
        for names in [()] if metric.all_names is None else metric.all_names(data):
            by_function.setdefault((metric.contributions, names), []).append((metric, names))
    # What has the same contributions is put together from the same columns.
    for labels_of, family in families.items():
        labels = labels_of(data)
        for metric in family:
            yield from _family(metric, labels, groups, ranges)
    for same in by_function.values():
        metric, names = same[0]
        contributions = metric.contributions(data, names)
        units = groups.count_cases(contributions.decided)
        for metric, names, column in _together(same, contributions, groups, data):
            # What missing rows could change decides gates alone.
            ranged = ranges.with_range(metric, names, contributions, column) if metric.gate else column
            yield metric, names, ranged, units


def _by_function(metric: Metric, data: RunData) -> Iterator[Hit]:
    """A metric of the whole run that is no aggregate of its rows."""
    if metric.figure is None:
        return
    for names in [()] if metric.all_names is None else metric.all_names(data):
        estimate = metric.figure(data, names)
        yield metric, names, [estimate], np.array([estimate.cases])


def row_figures(data: RunData) -> Iterator[Hit]:
    """Every metric of votes, claims or labels that a run has, over the whole run; rows of one case are one cluster.

    `all_names` of such a metric gives nothing for a run without such rows.
    """
    for metric in metrics(data.families).values():
        if metric.level in (Level.SAMPLE, Level.CELL) or metric.listed:
            continue
        if metric.figure is not None:
            yield from _by_function(metric, data)
            continue
        for names in [()] if metric.all_names is None else metric.all_names(data):
            contributions = metric.contributions(data, names)
            groups = row_groups(data, contributions)
            column = list(aggregate(metric.aggregate, contributions, groups, metric.ends(data, names)))
            cases = groups.count_cases(contributions.decided)
            several = [(item, n if n != item.n else None) for item, n in zip(column, cases.tolist(), strict=True)]
            column = [replace(item, n_cases=n) for item, n in several]
            yield metric, names, column, cases


def row_groups(data: RunData, contributions: Contributions) -> Groups:
    """Votes, claims or labels as one group: a row belongs to the case, or cluster of cases, of its sample."""
    n = len(contributions.values)
    sample = np.zeros(n, dtype=int) if contributions.sample is None else contributions.sample
    return Groups([""], np.zeros(n, dtype=np.int8), data.table.unit[sample], absent=contributions.n_absent)


def _family(metric: Metric, labels: Labels, groups: Groups, ranges: Ranges) -> Iterator[Hit]:
    entries = groups.labelled(labels.label) if labels.sample is None else groups.listed(labels.sample, labels.label)
    size, units = len(labels.names), groups.count_cases(labels.available)
    if metric.aggregate is Aggregate.RATE:
        rates = groups.rates(entries, size, labels.available)
        for at, name in enumerate(labels.names):
            yield metric, (name,), ranges.of_labels(labels.available, [row[at] for row in rates]), units
        return
    counts, n = groups.counts(entries, size), groups.count(labels.available)
    for at, name in enumerate(labels.names):
        yield (
            metric,
            (name,),
            [_count(int(counts[g, at]), int(n[g]), int(groups.planned[g])) for g in range(len(groups))],
            units,
        )


def _count(count: int, n: int, planned: int) -> Estimate:
    return Estimate(float(count) if n else None, n, planned - n)


def _together(
    same: Sequence[tuple[Metric, Names]], contributions: Contributions, groups: Groups, data: RunData
) -> Iterator[tuple[Metric, Names, list[Estimate]]]:
    ranked = [metric for metric, _ in same if metric.aggregate.rank is not None]
    points = [metric.aggregate.rank or 0.0 for metric in ranked]
    rows = groups.quantiles(contributions.values, points, contributions.at_least) if points else []
    for metric, names in same:
        if metric in ranked:
            at = ranked.index(metric)
            yield metric, names, [row[at] for row in rows]
        else:
            yield metric, names, list(aggregate(metric.aggregate, contributions, groups, metric.ends(data, names)))


def aggregate(
    how: Aggregate, contributions: Contributions, groups: Groups, scale: Scale = SHARES
) -> Sequence[Estimate]:
    """One metric in every group."""
    if contributions.estimate is not None:
        everything = np.ones(len(contributions.values), dtype=bool)
        some = [contributions.estimate(groups.samples_where(g, everything)) for g in range(len(groups))]
        return [replace(item, n_missing=item.n_missing + groups.absent) for item in some]
    if contributions.undecided is not None:
        return _decided_shares(groups, contributions, contributions.undecided)
    if contributions.ratios:
        return mean_proportions(groups, contributions.ratios, scale)
    return how.estimate(contributions, groups, scale)


def _by_cluster(groups: Groups, values: Array) -> Array:
    return groups.by_cluster(values.astype(float)) if groups.clustered else groups.of(values).astype(float)


def _decided_shares(groups: Groups, contributions: Contributions, undecided: Array) -> list[Estimate]:
    """The share of all, `n` being those that could be decided; a missing cell counts as undecided with all that it has.

    The interval reaches from the lower end of the interval if all that is missing failed to the upper end if all of it
    passed: it holds for whatever reason it is missing.
    """
    values = contributions.values
    of = np.ones(len(values)) if contributions.below is None else contributions.below
    lowest, highest = contributions.possible or (values, values + undecided)
    group, size, absent = groups.cluster_group, len(groups), groups.absent
    # Only the whole run has any that are absent, and that is a single group.
    group = np.append(group, np.zeros(absent, dtype=group.dtype))
    of_absent = contributions.of_absent(absent)

    def with_absent(column: Array, each: float) -> Array:
        return np.append(_by_cluster(groups, column), of_absent * each)

    trials, open_ = with_absent(of, 1.0), with_absent(undecided, 1.0)
    total, n_open = (np.bincount(group, item, minlength=size) for item in (trials, open_))

    def shares(column: Array, each: float) -> list[Estimate]:
        hits = with_absent(column, each)
        sums, spreads = np.bincount(group, hits, minlength=size), share_spreads(hits, trials, group, size)
        estimates = [
            clustered_share(float(sums[g]), int(total[g]), int(n_open[g]), spread) for g, spread in enumerate(spreads)
        ]
        return [
            item if item.value is None or float(hit).is_integer() else replace(item, value=settled(item.value))
            for item, hit in zip(estimates, sums, strict=True)
        ]

    estimates = []
    for value, low, high in zip(shares(values, 0.0), shares(lowest, 0.0), shares(highest, 1.0), strict=True):
        estimate = replace(value, n=value.n - value.n_missing)
        if low.value != high.value:
            estimate = replace(estimate, low=low.low, high=high.high)
        estimates.append(estimate if estimate.n > 0 else replace(estimate, value=None, low=None, high=None))
    return estimates


def proportions(
    groups: Groups, numerator: Array | None, denominator: Array | None, scale: Scale = SHARES
) -> list[Estimate]:
    """For each group, one sum over another, over the samples in which both are known; None for what was not counted.

    A ratio that is no share (costs over cases) has no interval: one case that was not seen may outweigh all that were.
    """
    if numerator is None or denominator is None:
        return [_counted(Estimate(None, 0, int(planned)), 0, 0) for planned in groups.planned]
    present = ~(np.isnan(numerator) | np.isnan(denominator))
    n = groups.count(present)
    above = groups.by_cluster(np.where(present, numerator, np.nan))
    below = groups.by_cluster(np.where(present, denominator, np.nan))
    size = len(groups)
    sum_above = np.bincount(groups.cluster_group, above, minlength=size)
    sum_below = np.bincount(groups.cluster_group, below, minlength=size)
    ratio = np.divide(sum_above, sum_below, out=np.zeros(size), where=sum_below > 0)
    clusters, squares, sizes = _spread(groups, above, below, ratio)
    return [
        _counted(
            _ratio_estimate(
                float(ratio[g]),
                float(sum_below[g]),
                Spread(int(clusters[g]), float(squares[g]), float(sizes[g])),
                int(n[g]),
                int(groups.planned[g]),
                scale,
            ),
            round(sum_above[g]),
            round(sum_below[g]),
        )
        for g in range(size)
    ]


def _counted(ratio: Estimate, numerator: int, denominator: int, mean_of: int = 0) -> Estimate:
    """A ratio with the counts behind it; of a mean of ratios, with how many it is of."""
    return replace(ratio, numerator=numerator, denominator=denominator, mean_of=mean_of)


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


def _ratio_estimate(ratio: float, total: float, spread: Spread, n: int, planned: int, scale: Scale) -> Estimate:
    if total <= 0:
        return Estimate(None, n, planned - n)
    ratio = settled(ratio)
    if scale != SHARES:
        return Estimate(ratio, n, planned - n)
    if spread.is_none(total):
        return constant_mean(ratio, n, planned - n, spread.effective(total), SHARES)
    return bounded(ratio, n, planned - n, mean_bounds(ratio, total, spread, SHARES), SHARES)


def mean_proportions(groups: Groups, ratios: Iterable[tuple[Array, Array]], scale: Scale = SHARES) -> list[Estimate]:
    """For each group, the mean of those of the ratios that are ratios of something; `n` is the samples behind them."""
    size, n_clusters = len(groups), len(groups.cluster_group)
    somewhere: Array | None = None
    total, number = np.zeros(size), np.zeros(size, dtype=int)
    residual, counted = np.zeros(n_clusters), np.zeros(n_clusters, dtype=bool)
    for numerator, denominator in ratios:
        present = ~(np.isnan(numerator) | np.isnan(denominator))
        somewhere = present if somewhere is None else somewhere | present
        above = groups.by_cluster(np.where(present, numerator, np.nan))
        below = groups.by_cluster(np.where(present, denominator, np.nan))
        sums = [np.bincount(groups.cluster_group, item, minlength=size) for item in (above, below)]
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
        _counted(
            _mean_estimate(
                float(total[g]), int(number[g]), int(clusters[g]), float(squares[g]), int(n[g]), missing, scale
            ),
            0,
            0,
            int(number[g]),
        )
        for g, missing in enumerate((groups.planned - n).tolist())
    ]


def _mean_estimate(
    total: float, number: int, clusters: int, squares: float, n: int, missing: int, scale: Scale
) -> Estimate:
    if not number:
        return Estimate(None, n, missing)
    mean = settled(total / number)
    if scale != SHARES:
        return Estimate(mean, n, missing)
    # Every cluster stands for as much as any other: their residuals are shares of the mean already.
    spread = Spread(clusters, squares * (clusters / number) ** 2, clusters)
    if spread.is_none(clusters):
        return constant_mean(mean, n, missing, clusters if clusters > 1 else 0.0, SHARES)
    bounds = mean_bounds(mean, clusters, spread, SHARES)
    return bounded(mean, n, missing, bounds, SHARES)
