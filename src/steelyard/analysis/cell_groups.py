"""Figures that every cell (a case under a variant) has one of, put together for the run and each of its slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis.cells import Cells
from steelyard.analysis.estimates import SHARES, bounded, worth_of
from steelyard.analysis.groups import Groups
from steelyard.analysis.intervals import wilson
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array, distinct
from steelyard.analysis.table import Table


@dataclass(frozen=True, slots=True)
class Mean:
    """A figure whose mean over cells is wanted; NaN where a cell has none."""

    values: Array
    apart: Array | None = None
    """Cells that were never to have one, and so are not missing."""


@dataclass(frozen=True, slots=True)
class Held:
    """How many things of each cell hold, of how many, and of how many of these nobody can tell."""

    held: Array
    of: Array
    undecided: Array


CellFigure = Mean | Held


class CellGroups:
    """The cells that have samples, cut as the samples are. Cells are numbered from 0, case by case."""

    def __init__(self, table: Table, groups: Mapping[str, Groups], suite: dict[str, Any]) -> None:
        cells = Cells(table, suite)
        self._width = max(1, len(cells.variants))
        self._cases, self.variants = table.case_ids, cells.variants
        seen = np.flatnonzero(cells.count(np.ones(table.n, dtype=bool)))
        self.n = len(seen)
        self.case = seen // self._width
        self.variant = seen % self._width
        """The variant of every cell, as its place in `variants`."""
        number = np.zeros(cells.n, dtype=np.int32)
        number[seen] = np.arange(self.n)
        self.of_sample: Array = number[cells.of_sample] if table.n else np.empty(0, dtype=np.int32)
        """The cell of every sample."""
        self.samples = np.bincount(self.of_sample, minlength=self.n)
        """How many samples each cell has."""
        self.repeats = max(1, int(suite.get("repeats") or 1))
        self.planned_repeats = np.maximum(self.samples, self.repeats)
        """How many samples each cell was to have."""
        self.absent = max(0, int(suite.get("n_planned") or 0) // self.repeats - self.n)
        """Cells that were planned and of which nothing came."""
        case = self.case if len(table.case_ids) < self.n else None
        self._groups = {factor: self._cut(factor, each, case) for factor, each in groups.items()}

    def name(self, cell: int) -> tuple[str, str]:
        """The case and the variant of a cell."""
        return self._cases[int(self.case[cell])], self.variants[int(self.variant[cell])]

    def _cut(self, factor: str, samples: Groups, case: Array | None) -> Groups:
        if factor == "":
            return Groups([""], np.zeros(self.n, dtype=np.int8), case, absent=self.absent)
        size = len(samples)
        cell = samples.of(self.of_sample)
        if factor != "tag":
            group = np.zeros(self.n, dtype=samples.group.dtype)
            group[cell] = samples.group
            return Groups(samples.names, group, case)
        pair, _ = distinct(cell.astype(np.int64) * size + samples.group)
        rows, group = (pair // size).astype(np.uint32), (pair % size).astype(samples.group.dtype)
        return Groups(samples.names, group, case, rows=rows)

    def estimates(self, figures: Mapping[str, CellFigure]) -> dict[str, list[dict[str, Estimate]]]:
        """By factor and group, every figure with its interval over cells, those of one case being alike."""
        found = {}
        for factor, groups in self._groups.items():
            columns = {name: _estimate(groups, figure) for name, figure in figures.items()}
            found[factor] = [{name: column[g] for name, column in columns.items()} for g in range(len(groups))]
        return found


def _estimate(groups: Groups, figure: CellFigure) -> list[Estimate]:
    if isinstance(figure, Held):
        return _held(groups, figure)
    means = groups.means(figure.values)
    if figure.apart is None:
        return means
    apart = groups.count(figure.apart).tolist()
    return [replace(mean, n_missing=mean.n_missing - n) for mean, n in zip(means, apart, strict=True)]


def _by_cluster(groups: Groups, values: Array) -> Array:
    return groups.by_cluster(values.astype(float)) if groups.clustered else groups.of(values).astype(float)


def _held(groups: Groups, figure: Held) -> list[Estimate]:
    """The share that holds of all, `n` being those that could be told; a cell that never came counts as one of all.

    Wilson's interval, over what the clusters are worth.
    """
    held, of, undecided = (_by_cluster(groups, each) for each in (figure.held, figure.of, figure.undecided))
    group, size, absent = groups.cluster_group, len(groups), groups.absent
    total, open_ = (np.bincount(group, each, minlength=size) + absent for each in (of, undecided))
    share = np.bincount(group, held, minlength=size) / np.maximum(total, 1)
    squares = np.bincount(group, (held - share[group] * of) ** 2, minlength=size) + absent * share**2
    clusters = np.bincount(group[of > 0], minlength=size) + absent
    sizes = np.bincount(group, of * of, minlength=size) + absent
    estimates = []
    for g in range(size):
        n, missing, value = int(total[g]), int(open_[g]), float(share[g])
        if n == missing:
            estimates.append(Estimate(None, 0, missing))
            continue
        alone = int(clusters[g]) == n
        worth = n if alone else worth_of(value, n, int(clusters[g]), float(squares[g]), float(sizes[g]))
        estimates.append(bounded(value, n - missing, missing, wilson(value, worth), SHARES))
    return estimates
