"""A run compared with several earlier ones combined.

Every earlier sample of a case and variant counts once, so that a run with few samples weighs as little as it should.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import Paired, case_starts, paired_mean
from steelyard.stats.window import window_test

_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)


@frozen
class PooledChange:
    """A figure in earlier runs and now, over the samples whose case and variant both have."""

    before: float | None
    now: float | None
    n_before: int
    """Readings of earlier runs that stand behind it."""
    n_now: int
    difference: Estimate
    """Now minus before; `n` is cases."""
    p: float | None
    test: str = ""
    smallest_p: float = 0.0
    """The smallest p-value that so few cases and runs could have."""


class Pool:
    """Readings of earlier runs by the cell (case and variant) of a run, and by what tells answers apart if asked."""

    def __init__(self, table: Table, answers: Array | None = None) -> None:
        """`answers` is a number for each sample's answer: then only readings of the same answer are pooled."""
        self.table = table
        self._cell = _cells(table, table.case, table.variant)
        self._n_cells = len(table.case_ids) * _width(table)
        self._answers = answers
        if answers is None:
            self._keys, self._place = np.arange(self._n_cells), self._cell
        else:
            self._keys, self._place = np.unique(_keyed(self._cell, answers), return_inverse=True)
        self._runs: list[tuple[Array, Array]] = []
        """By earlier run, the sum and the number of its readings of each key."""

    def add(self, other: Table, values: Array, answers: Array | None = None) -> None:
        """Add the readings of an earlier run; those of cases, variants or answers that this run lacks are left out."""
        cases, variants = _translation(self.table.case_ids, other.case_ids), _variants(self.table, other)
        case, variant = cases[other.case.astype(int)], variants[other.variant.astype(int)]
        used = (case >= 0) & (variant >= 0) & ~np.isnan(values)
        if answers is not None:
            used &= answers != 0
        cell = case[used] * _width(self.table) + variant[used]
        if self._answers is None:
            place = cell
        elif answers is None:
            raise ValueError("answers are counted by text here")
        else:
            wanted = _keyed(cell, answers[used])
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            same = self._keys[place] == wanted if len(self._keys) else np.zeros(len(wanted), dtype=bool)
            used[np.flatnonzero(used)[~same]] = False
            place = place[same]
        sums = np.bincount(place, values[used], minlength=len(self._keys))
        self._runs.append((sums, np.bincount(place, minlength=len(self._keys)).astype(np.int32)))

    def change(self, values: Array, rows: Array, widest: float = 1.0) -> PooledChange:
        """What became of the figure in some samples of the run; `values` is a value for each of all its samples."""
        none = np.zeros(len(self._keys), dtype=int)
        sums, counts = (sum((run[i] for run in self._runs), none) for i in (0, 1))
        available = (counts[self._place[rows]] > 0) & ~np.isnan(values[rows])
        if self._answers is not None:
            available &= self._answers[rows] != 0
        used = rows[available]
        used = used[np.argsort(self.table.unit[used], kind="stable")]
        place = self._place[used]
        before, now = sums[place] / counts[place], values[used]
        starts = case_starts(self.table.unit[used])
        result, smallest_p = Paired(None, 0), 1.0
        if len(used):
            sizes = np.diff(np.append(starts, len(used)))
            results = self._by_run(now, place, np.repeat(np.arange(len(starts)), sizes), sums, counts)
            smallest_p = float(np.prod(1.0 / (~np.isnan(results)).sum(axis=1)))
            tested = window_test(results, sizes.astype(float))
            result = paired_mean(np.add.reduceat(now - before, starts), sizes, widest, tested)
        return PooledChange(
            before=float(before.mean()) if len(used) else None,
            now=float(now.mean()) if len(used) else None,
            n_before=int(counts[np.unique(place)].sum()),
            n_now=len(used),
            difference=Estimate(result.difference, result.n_cases, 0, result.low, result.high),
            p=result.p,
            test=result.test,
            smallest_p=smallest_p,
        )

    def _by_run(self, now: Array, place: Array, unit: Array, sums: Array, counts: Array) -> Array:
        """By unit and run, this run last, how far its samples are on average from the mean of their own cell; NaN
        where the run has no sample of the unit. So a run that lacks the hard cases of a unit is not better for it."""
        keys, first = np.unique(place, return_index=True)
        here = [np.bincount(place, amounts, minlength=len(self._keys)) for amounts in (now, None)]
        mean = (sums + here[0])[keys] / (counts + here[1])[keys]
        columns = []
        for of_run, n_run in (*self._runs, here):
            n = np.bincount(unit[first], n_run[keys], minlength=int(unit[-1]) + 1)
            away = np.bincount(unit[first], of_run[keys] - n_run[keys] * mean, minlength=len(n))
            columns.append(np.divide(away, n, out=np.full(len(n), np.nan), where=n > 0))
        return np.column_stack(columns)


def _width(table: Table) -> int:
    # One more for samples without a variant, whose code is -1.
    return len(table.variants) + 1


def _cells(table: Table, case: Array, variant: Array) -> Array:
    cell: Array = case.astype(int) * _width(table) + np.where(variant < 0, len(table.variants), variant).astype(int)
    return cell


def _keyed(cell: Array, answers: Array) -> Array:
    """One 64-bit number for a cell and an answer in it; the multiplication wraps, and spreads the cells."""
    keyed: Array = answers.astype(np.uint64) ^ (cell.astype(np.uint64) * _SPREAD)
    return keyed


def _translation(mine: Sequence[str], others: Sequence[str]) -> Array:
    """For each case of another run, its place among the cases of this one; -1 where it has none."""
    # Runs of one signature mostly have the same cases, and looking up a million names takes seconds.
    if len(mine) == len(others) and all(map(eq, mine, others)):
        return np.arange(max(1, len(mine)))
    place = {name: i for i, name in enumerate(mine)}
    return np.array([place.get(name, -1) for name in others] or [-1])


def _variants(mine: Table, other: Table) -> Array:
    place = {name: i for i, name in enumerate(mine.variants)}
    # The last entry is the one that -1 points at.
    return np.array([*(place.get(name, -1) for name in other.variants), len(mine.variants)])
