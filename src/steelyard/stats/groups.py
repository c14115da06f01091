"""Samples cut into groups (the whole run, categories, tags, ...) and the estimates of every group at once.

Samples of one case are alike, whether they differ by repeat or by variant: where a group holds several of a case, its
intervals are clustered by case. Columns are narrow and are walked in pieces, so that no wide copy of one is made.

Means and shares over clusters: samples of one case, or votes on one text, are alike and count as one.

The figures of `groups` are made by the same rules; here they are of single columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.stats.arrays import Array, add_at, distinct, pieces, tally
from steelyard.stats.intervals import (
    ANYWHERE,
    SHARES,
    Estimate,
    Scale,
    Spread,
    Z,
    bounded,
    clustered_mean,
    clustered_share,
    effective_number,
    fewest_for,
    lower_bound,
    quantile_places,
    settled,
    t_quantile,
    wilson,
    worth_of,
)

Entries = Iterable[tuple[Array, Array]]
"""Pieces of (row, label) pairs."""
_ROUNDING = 1e-9
_ENOUGH_CLUSTERS = 10


class Groups:
    """A cut of samples: row `i` is sample `rows[i]` in group `group[i]`.

    Without `rows` every sample is one row, in order; with them a sample may be in several groups (tags), and its rows
    stand side by side. `case` is left out when no case has more than one sample. `absent` samples of a single group
    were planned and are missing.
    """

    def __init__(
        self,
        names: Sequence[str],
        group: Array,
        case: Array | None = None,
        *,
        rows: Array | None = None,
        absent: int = 0,
    ) -> None:
        self.names = list(names)
        self.group = group
        self.absent = absent
        self.lacking: Array = np.full(len(self.names), absent)
        """By group, how many rows were planned and are missing, where the plan says how many it was to have."""
        self._rows = rows
        self.planned = tally(group, len(self)) + absent
        self._cluster, self._cluster_group = self._clusters(case)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def overlap(self) -> bool:
        """True when a sample may be in several groups."""
        return self._rows is not None

    @property
    def clustered(self) -> bool:
        """True when some group holds several samples of one case."""
        return self._cluster is not None

    def _clusters(self, case: Array | None) -> tuple[Array | None, Array]:
        if case is None or not len(case):
            return None, self.group
        n_cases = int(case.max()) + 1
        if self._rows is None:
            of_case = np.zeros(n_cases, dtype=self.group.dtype)
            of_case[case] = self.group
            if all((of_case[case[piece]] == self.group[piece]).all() for piece in pieces(len(case))):
                return case, of_case
        pair = self.of(case).astype(np.int64) * len(self) + self.group
        cells, cluster = np.unique(pair, return_inverse=True)
        if len(cells) == len(pair):
            return None, self.group
        return cluster.astype(np.int32), (cells % len(self)).astype(self.group.dtype)

    def of(self, column: Array, piece: slice = slice(None)) -> Array:
        """A column of samples as a column of rows."""
        return column[piece] if self._rows is None else column[self._rows[piece]]

    def samples_where(self, group: int, mask: Array) -> Array:
        """The samples of one group that `mask` marks."""
        rows = np.flatnonzero((self.group == group) & self.of(mask))
        return rows if self._rows is None else self._rows[rows]

    def count(self, mask: Array) -> Array:
        """How many samples of each group `mask` marks."""
        result = np.zeros(len(self), dtype=int)
        for piece in pieces(len(self.group)):
            result += self._per_group(self.group[piece][self.of(mask, piece)])
        return result

    def count_cases(self, mask: Array) -> Array:
        """How many cases of each group have a sample that `mask` marks."""
        if self._cluster is None:
            return self.count(mask)
        marked = np.zeros(len(self._cluster_group), dtype=bool)
        marked[self._cluster[self.of(mask)]] = True
        return self._per_group(self._cluster_group[marked])

    @property
    def cluster_group(self) -> Array:
        """The group of every cluster: the samples of one case in one group, or single samples."""
        return self._cluster_group

    def by_cluster(self, values: Array) -> Array:
        """The sum of every cluster over the samples whose value is known."""
        result = np.zeros(len(self._cluster_group))
        for row, _, available in self._available(values):
            if self._cluster is None:
                result[row] = available
            else:
                add_at(result, self._cluster[row], available)
        return result

    def labelled(self, labels: Array) -> Entries:
        """Entries of a column that holds one label a sample, below 0 where it has none."""
        for piece in pieces(len(self.group)):
            label = self.of(labels, piece)
            row = np.flatnonzero(label >= 0)
            yield row + piece.start, label[row].astype(int)

    def listed(self, samples: Array, labels: Array) -> Entries:
        """Entries of labels that are listed by sample, any number for each."""
        for piece in pieces(len(samples)):
            sample, label = samples[piece].astype(int), labels[piece].astype(int)
            if self._rows is None:
                yield sample, label
                continue
            wanted = sample.astype(self._rows.dtype)
            first = np.searchsorted(self._rows, wanted)
            times = np.searchsorted(self._rows, wanted, side="right") - first
            offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            yield np.repeat(first, times) + offset, np.repeat(label, times)

    def counts(self, entries: Entries, n_labels: int) -> Array:
        """How many entries of each label each group has, as a table of groups by labels."""
        result = np.zeros(len(self) * n_labels, dtype=int)
        for row, label in entries:
            result += np.bincount(self.group[row].astype(int) * n_labels + label, minlength=len(result))
        return result.reshape(len(self), n_labels)

    def means(self, values: Array, scale: Scale = SHARES, at_least: Array | None = None) -> list[Estimate]:
        """The mean of every group over the samples whose value is known; a lower bound where `at_least` marks some of
        them as such."""
        censored = None if at_least is None else self.count(at_least & ~np.isnan(values))
        n, total = self._sums(values)
        mean = _ratio(total, n)
        clusters, squares, sizes = self._spread(values, mean)
        ended = math.isfinite(scale[1] - scale[0])
        away = self._away(values, np.where(2 * mean >= sum(scale), scale[1], scale[0])) if ended else None
        results = []
        for g in range(len(self)):
            among = None if away is None else float(away[g])
            spread = Spread(int(clusters[g]), float(squares[g]), float(sizes[g]), among)
            centre, missing = settled(float(mean[g])), int(self.planned[g] - n[g])
            result = clustered_mean(centre, int(n[g]), missing, spread, scale)
            results.append(result if censored is None or not censored[g] else lower_bound(result))
        return results

    def _away(self, values: Array, end: Array) -> Array:
        """The effective number of each group's clusters that are not all at that group's end of the scale."""
        n_clusters = 0 if self._cluster is None else len(self._cluster_group)
        size, there = np.zeros(n_clusters, dtype=np.int32), np.zeros(n_clusters, dtype=np.int32)
        single = np.zeros(len(self), dtype=int)
        one_end = float(end[0]) if (end == end[:1]).all() and len(end) else None
        for piece in pieces(len(self.group)):
            result = self.of(values, piece)
            at = result == (end[self.group[piece]] if one_end is None else one_end)
            present = ~np.isnan(result)
            if self._cluster is None:
                single += self._per_group(self.group[piece][present & ~at])
            else:
                add_at(size, self._cluster[piece][present])
                add_at(there, self._cluster[piece][at])
        if self._cluster is None:
            return single
        away = size != there
        group, sizes = self._cluster_group[away], size[away].astype(float)
        return effective_number(self._per_group(group, sizes), self._per_group(group, sizes**2))

    def rates(
        self, entries: Entries, n_labels: int, available: Array, absent_as: int | None = None
    ) -> list[list[Estimate]]:
        """The share of each label in every group, among the samples that `known` marks.

        A sample has each label at most once. Samples that are missing are missing, or count as known ones with the
        label `absent_as`, each of a case of its own.
        """
        n = self.count(available)
        entries = list(entries) if self.clustered else entries
        hits = self.counts(entries, n_labels)
        absent = 0 if absent_as is None else self.absent
        if absent:
            n += absent
            hits[:, absent_as] += absent
        if self._cluster is None:
            return [[self._rate(g, hit, int(n[g])) for hit in hits[g].tolist()] for g in range(len(self))]
        spreads = self._share_spreads(self._cluster, entries, available, hits, n, absent, absent_as)
        missing = (self.planned - n).tolist()
        return [
            [clustered_share(hit, int(n[g]), missing[g], spreads[g][i]) for i, hit in enumerate(hits[g].tolist())]
            for g in range(len(self))
        ]

    def _share_spreads(
        self,
        cluster: Array,
        entries: Entries,
        available: Array,
        hits: Array,
        n: Array,
        absent: int,
        absent_as: int | None,
    ) -> list[list[Spread]]:
        """How far clusters lie apart in each share, by group and label."""
        n_labels = hits.shape[1]
        size = np.bincount(cluster[self.of(available)], minlength=len(self._cluster_group)).astype(float)
        clusters = self._per_group(self._cluster_group[size > 0]) + absent
        sizes = self._per_group(self._cluster_group, size**2) + absent
        # Only clusters with a hit are listed; the others enter through the sum of squared sizes.
        results = [cluster[row].astype(int) * n_labels + label for row, label in entries]
        pair, hit = distinct(np.concatenate(results)) if results else (np.empty(0, int), np.empty(0, int))
        at = pair // n_labels
        cell = self._cluster_group[at].astype(int) * n_labels + pair % n_labels

        def summed(values: Array) -> Array:
            of_cell: Array = np.bincount(cell, values, minlength=hits.size).reshape(hits.shape)
            if absent:
                of_cell[:, absent_as] += absent
            return of_cell

        share = _ratio(hits, n[:, None])
        squares = summed(hit * hit) - 2 * share * summed(hit * size[at]) + share * share * sizes[:, None]
        full = hit == size[at]
        mostly = 2 * share >= 1
        # Away from 1 are all but those that are full of hits, away from 0 those with a hit.
        ways = [
            np.where(mostly, whole[:, None] - summed(full * item), summed(item))
            for whole, item in ((n, size[at]), (sizes, size[at] ** 2))
        ]
        away = effective_number(*ways)
        return [
            [
                Spread(int(clusters[g]), float(squares[g, i]), float(sizes[g]), float(away[g, i]))
                for i in range(n_labels)
            ]
            for g in range(len(self))
        ]

    def _rate(self, g: int, hits: int, n: int) -> Estimate:
        missing = int(self.planned[g]) - n
        if n == 0:
            return Estimate(None, 0, missing)
        return bounded(hits / n, n, missing, wilson(hits / n, n), SHARES)

    def quantiles(self, values: Array, points: Sequence[float], at_least: Array | None = None) -> list[list[Estimate]]:
        """Quantiles of every group, interpolated as numpy does; 0 and 1 are the extremes and have no interval.

        None of fewer values than a quantile takes. `at_least` marks right-censored values, which are lower bounds: a
        quantile is one, too, when it would be higher if they were (an order statistic between two ranks at which
        nothing is censored, even if the censored values were infinite, is exact).
        """
        ranked = self._ranked(values)
        highest = ranked
        if at_least is not None and at_least.any():
            highest = self._ranked(np.where(at_least & ~np.isnan(values), np.inf, values))
        columns = []
        for point in points:
            results = [quantile_of_sorted(item, point) for item in ranked]
            worth = self._quantile_worth(values, ranked, np.array(results), inner=0 < point < 1)
            columns.append(
                [self._quantile(g, ranked[g], highest[g], point, results[g], worth[g]) for g in range(len(self))]
            )
        return [[column[g] for column in columns] for g in range(len(self))]

    def _ranked(self, values: Array) -> list[Array]:
        """The known values of every group, sorted."""
        sizes = tally(self.group, len(self))
        ends = np.cumsum(sizes)
        together, free = np.empty(len(self.group)), ends - sizes
        for piece in pieces(len(self.group)):
            group = self.group[piece]
            order = np.argsort(_narrow(group, len(self)), kind="stable")
            taken = self._per_group(group)
            together[np.repeat(free - np.cumsum(taken) + taken, taken) + np.arange(len(group))] = self.of(
                values, piece
            )[order]
            free += taken
        ranked = np.split(together, ends[:-1])
        for item in ranked:
            item.sort()
        # Those that are not known are sorted to the end.
        return [item[: np.searchsorted(item, np.nan)] for item in ranked]

    def _quantile_worth(self, values: Array, ranked: list[Array], result: Array, *, inner: bool) -> list[int]:
        """How many independent values each group is worth at this quantile (Woodruff's method)."""
        n = [len(item) for item in ranked]
        if self._cluster is None or not inner:
            return n
        share = np.array([np.searchsorted(item, at, side="right") for item, at in zip(ranked, result, strict=True)])
        share = _ratio(share, np.array(n))
        clusters, squares, sizes = self._spread(values, share, below=result)
        return [
            _few_clusters(
                worth_of(float(share[g]), n[g], int(clusters[g]), float(squares[g]), float(sizes[g])),
                int(clusters[g]),
                n[g] * n[g] / float(sizes[g]),
            )
            if n[g]
            else 0
            for g in range(len(self))
        ]

    def _quantile(self, g: int, ranked: Array, highest: Array, point: float, value: float, worth: int) -> Estimate:
        n = len(ranked)
        missing = int(self.planned[g]) - n
        if n < fewest_for(point):
            return Estimate(None, n, missing)
        result = Estimate(value, n, missing)
        places = quantile_places(worth, point) if 0 < point < 1 else None
        if places is not None:
            low, high = places[0] * n / worth, n - 1 - (worth - 1 - places[1]) * n / worth
            result = bounded(value, n, missing, (_between(ranked, low), _between(ranked, high)), ANYWHERE)
            if _between(highest, high) > _between(ranked, high):
                result = replace(result, high=None)
        return lower_bound(result) if quantile_of_sorted(highest, point) > value else result

    def totals(self, values: Array) -> list[Estimate]:
        """The sum of every group over the samples whose value is known; a plain count has no interval."""
        n, total = self._sums(values)
        return [
            Estimate(settled(float(total[g])) if n[g] else None, int(n[g]), int(self.planned[g] - n[g]))
            for g in range(len(self))
        ]

    def _per_group(self, group: Array, weights: Array | None = None) -> Array:
        if len(self) == 1:
            # The same sum, one after another, in a third of the time.
            return np.array([len(group) if weights is None else weights.cumsum(dtype=float)[-1] if len(group) else 0.0])
        return np.bincount(group, weights, minlength=len(self))

    def _available(self, values: Array) -> Iterator[tuple[Array | slice, Array, Array]]:
        """Pieces of the rows that have a value: the rows, their groups, the values."""
        for piece in pieces(len(self.group)):
            result = self.of(values, piece)
            missing = np.isnan(result)
            if not missing.any():
                yield piece, self.group[piece], result.astype(float, copy=False)
                continue
            available = np.flatnonzero(~missing)
            yield available + piece.start, self.group[piece][available], result[available].astype(float)

    def _sums(self, values: Array) -> tuple[Array, Array]:
        n, total = np.zeros(len(self), dtype=int), np.zeros(len(self))
        for _, group, result in self._available(values):
            n += self._per_group(group)
            total += self._per_group(group, result)
        return n, total

    def _spread(self, values: Array, centre: Array, below: Array | None = None) -> tuple[Array, Array, Array]:
        """Per group: the number of clusters, the sum of their squared deviations, the sum of their squared sizes.

        Deviations from `centre` are those of the values or, with `below`, of whether they are at most that.
        """
        n, squares = np.zeros(len(self), dtype=int), np.zeros(len(self))
        n_clusters = 0 if self._cluster is None else len(self._cluster_group)
        size, deviation = np.zeros(n_clusters, dtype=np.int32), np.zeros(n_clusters)
        for row, group, result in self._available(values):
            apart = (result if below is None else result <= below[group]) - centre[group]
            if self._cluster is None:
                n += self._per_group(group)
                squares += self._per_group(group, apart * apart)
            else:
                add_at(size, self._cluster[row])
                add_at(deviation, self._cluster[row], apart)
        if self._cluster is None:
            return n, squares, n
        return (
            self._per_group(self._cluster_group[size > 0]),
            self._per_group(self._cluster_group, deviation * deviation),
            self._per_group(self._cluster_group, size.astype(float) ** 2),
        )


def quantile_of_sorted(ranked: Array, point: float) -> float:
    """The quantile of sorted values, on the straight line between the two that are nearest; NaN of none."""
    if not len(ranked):
        return math.nan
    return _between(ranked, point * (len(ranked) - 1))


def _between(ranked: Array, place: float) -> float:
    """The value at a place (from 0) among sorted ones, on the straight line between its neighbours."""
    below = math.floor(place)
    low, high = float(ranked[below]), float(ranked[min(below + 1, len(ranked) - 1)])
    # No line leads from an infinite value, nor between equal ones.
    return low if low == high or place == below or math.isinf(low) else low + (high - low) * (place - below)


def _few_clusters(worth: float, clusters: int, alike: float) -> int:
    """What values are worth when few clusters tell how alike they are, never less than if they were all alike."""
    available = worth * (Z / t_quantile(clusters - 1)) ** 2 if clusters >= _ENOUGH_CLUSTERS else 0.0
    return math.floor(max(alike, available) + _ROUNDING)


def _ratio(numerator: Array, denominator: Array) -> Array:
    return np.asarray(numerator / np.maximum(denominator, 1))


def _narrow(codes: Array, n: int) -> Array:
    """The codes in the smallest type: numpy sorts 16-bit integers by radix, several times faster."""
    return codes.astype(np.uint16) if n <= np.iinfo(np.uint16).max else codes


def mean(values: Array, case: Array, scale: Scale, absent: int = 0) -> Estimate:
    """The mean of the values that are known (not NaN); `case` tells which belong together, `absent` missing."""
    return _one_group(case, absent).means(values, scale)[0]


def share(hits: Array, available: Array, case: Array, absent: int = 0) -> Estimate:
    """The share of hits among the rows that are known."""
    groups = _one_group(case, absent)
    return groups.rates(groups.labelled((hits & available).astype(np.int8) - 1), 1, available)[0][0]


def worth(hits: Array, available: Array, case: Array) -> float:
    """How many independent trials stand behind the share of hits among the rows that are known."""
    n = int(available.sum())
    if n == 0:
        return 0.0
    cluster = np.unique(case[available], return_inverse=True)[1]
    size = np.bincount(cluster).astype(float)
    hit = np.bincount(cluster, (hits & available)[available].astype(float))
    rate = hit.sum() / n
    squares = float(((hit - rate * size) ** 2).sum())
    return worth_of(float(rate), n, len(size), squares, float((size * size).sum()))


def of_some(estimate: Estimate, missing: int) -> Estimate:
    """The estimate with another number of missing ones: rows that it never spoke of are not missing from it."""
    return Estimate(estimate.value, estimate.n, missing, estimate.low, estimate.high)


def _one_group(case: Array, absent: int) -> Groups:
    return Groups([""], np.zeros(len(case), dtype=np.int8), case, absent=absent)
