"""Expectations and stability in A and in B, cell by cell: a cell is a case under a variant, with all its repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.cells import CASE_FAILED, CASE_PASSED, CellGroups, Counted, counted
from steelyard.metrics.registry import metric
from steelyard.metrics.stability import PRESENCE, seen_in
from steelyard.pairing.cases import CommonCases, units_of
from steelyard.pairing.changes import Cut, judged
from steelyard.pairing.figures import Figure, metric_figure
from steelyard.pairing.model import (
    MOST_LISTED,
    CellMoves,
    CheckMove,
    CheckMoves,
    ChecksChange,
    MetricChange,
    Moved,
    NotCompared,
)
from steelyard.pairing.pairs import variant_numbers
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.paired import case_starts
from steelyard.suite.models import RequiredRepeats

EXPECTATIONS, STABILITY = "expectations", "stability"
"""The groups of these figures."""


def has_cells(a: ComparedRun, b: ComparedRun) -> bool:
    """True when both runs have expectations, or both compare their repeats."""
    checked = all(run.checks is not None and run.checks.n for run in (a, b))
    return checked or all(run.items is not None for run in (a, b))


class ComparedCells:
    """The cells that both runs have, with the same question and, unless `allow_mismatch`, the same truth."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases, *, allow_mismatch: bool = False) -> None:
        self._a, self._b = _Side(a), _Side(b)
        of_b = cases.of_b.copy()
        common = np.flatnonzero(of_b >= 0)
        of_b[common[~cases.comparable(allow_mismatch=allow_mismatch)[of_b[common]]]] = -1
        variants = variant_numbers(self._a.cells.variants, self._b.cells.variants)
        keys_a = self._a.keys(variants, np.arange(len(a.columns.case_ids)))
        keys_b = self._b.keys(variants, of_b)
        available = np.flatnonzero(keys_b >= 0)
        keys, self._in_a, in_b = np.intersect1d(keys_a, keys_b[available], assume_unique=True, return_indices=True)
        self._in_b: Array = available[in_b]
        unit = units_of(a, b, cases.of_b)[0][keys // max(1, len(variants))]
        in_order = np.argsort(unit, kind="stable")
        self._in_a, self._in_b, self._unit = self._in_a[in_order], self._in_b[in_order], unit[in_order]
        self.not_compared: list[NotCompared] = []

    def changes(self, *, confounded: bool, bounds: bool = False) -> tuple[list[MetricChange], ChecksChange | None]:
        """Every figure that stands on cells, and what became of each check; None where a run has no expectations."""
        moved = self._checks()
        figures = judged([*(self._held(bounds) if moved else ()), *self._stability(bounds)], confounded=confounded)
        if moved and moved.confounded:
            figures = [replace(figure, verdict=_doubted(figure)) for figure in figures]
        return figures, moved

    def _checks(self) -> ChecksChange | None:
        sides = (self._a, self._b)
        if any(side.count is None for side in sides) or not len(self._unit):
            return None
        before, after = self._states()
        cells = _Moves(before, after)
        checks = _Moves(*self._holds())
        named = [self._a.cells.name(cell) for cell in self._in_a[cells.listed()].tolist()]
        n_fixed = min(cells.n_fixed, MOST_LISTED)
        return ChecksChange(
            fixed=self._listed(checks.fixed),
            broken=self._listed(checks.broken),
            unchanged=checks.unchanged,
            cannot_tell=checks.cannot_tell,
            only_a=len(self._rows_a[0]) - len(self._shared[0]),
            only_b=len(self._rows_b[0]) - len(self._shared[0]),
            cells_fixed=CellMoves(cells.n_fixed, tuple(named[:n_fixed])),
            cells_failed=CellMoves(cells.n_broken, tuple(named[n_fixed:])),
            cells_unchanged=cells.unchanged,
            cells_cannot_tell=cells.cannot_tell,
            confounded=self._other_repeats(),
        )

    def _other_repeats(self) -> str:
        """All of five repeats are harder to pass than all of two; the first is the first of however many."""
        n = [side.cells.repeats for side in (self._a, self._b)]
        if n[0] == n[1] or all(side.looks_at_the_first for side in (self._a, self._b)):
            return ""
        return f"of {n[0]} repeats in A and of {n[1]} in B: to pass is not the same in both"

    def _states(self) -> tuple[Array, Array]:
        return self._a.counted.state[self._in_a], self._b.counted.state[self._in_b]

    @cached_property
    def _names(self) -> dict[str, int]:
        names = {*self._a.counted.names, *self._b.counted.names}
        return {name: at for at, name in enumerate(sorted(names))}

    @cached_property
    def _rows_a(self) -> tuple[Array, Array]:
        return self._a.rows(self._in_a, self._names)

    @cached_property
    def _rows_b(self) -> tuple[Array, Array]:
        return self._b.rows(self._in_b, self._names)

    @cached_property
    def _shared(self) -> tuple[Array, Array, Array]:
        """Of the checks that both have: cell and name as one number, and the rows in either count."""
        (keys_a, rows_a), (keys_b, rows_b) = self._rows_a, self._rows_b
        keys, in_a, in_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
        return keys, rows_a[in_a], rows_b[in_b]

    def _holds(self) -> tuple[Array, Array]:
        _, rows_a, rows_b = self._shared
        return self._a.counted.holds[rows_a], self._b.counted.holds[rows_b]

    def _listed(self, places: Array) -> CheckMoves:
        return CheckMoves(len(places), tuple(self._line(int(at)) for at in places[:MOST_LISTED]))

    def _line(self, at: int) -> CheckMove:
        _, rows_a, rows_b = self._shared
        item, other = int(rows_a[at]), int(rows_b[at])
        count = self._a.counted
        case, variant = self._a.cells.name(int(count.cell[item]))
        name = count.names[int(count.name[item])]
        return CheckMove(case, variant, name, *self._a.passed_of(item), *self._b.passed_of(other))

    def _held(self, bounds: bool) -> list[MetricChange]:
        cells, checks = (
            metric_figure(metric(name), self._a.run, *_available(*states))
            for name, states in (("cases.passed", self._states()), ("checks.passed", self._holds()))
        )
        case_of_check = self._unit[self._shared[0] // max(1, len(self._names))]
        return [
            *_cut(self._unit).of_all([cells], bounds=bounds),
            *_cut(case_of_check).of_all([checks], bounds=bounds),
        ]

    def columns(self, name: str) -> tuple[Array, Array, Callable[[int], tuple[str, str, int | None, str]]]:
        """A figure in A and in B, by cell or check of a cell that both have; NaN where it is undecided. And what every
        row is: case, variant, no repeat, and the check."""
        if name == "checks.passed":
            return (*_available(*self._holds()), lambda row: _check_key(self._line(row)))

        def cell(row: int) -> tuple[str, str, int | None, str]:
            return (*self._a.cells.name(int(self._in_a[row])), None, "")

        if name == "cases.passed":
            return (*_available(*self._states()), cell)
        figure = next(
            stability_figure for stability_figure in self._stability_figures() if stability_figure.name == name
        )
        places = np.flatnonzero(self._listing())
        return figure.a, figure.b, lambda row: cell(int(places[row]))

    def not_shared(self) -> dict[str, int]:
        """How many cells of either run are not compared."""
        return {
            f"only in {name}, or of another question or truth": side.cells.n - len(self._unit)
            for name, side in (("A", self._a), ("B", self._b))
        }

    def _listing(self) -> Array:
        """The shared cells whose answers are to have items."""
        (_, listing_a), (_, listing_b) = (side.alike for side in (self._a, self._b))
        return np.asarray(listing_a[self._in_a] | listing_b[self._in_b])

    def _stability_figures(self) -> list[Figure]:
        (before, _), (after, _) = (side.alike for side in (self._a, self._b))
        # Cells whose answers are to have no items are in no figure.
        listing = self._listing()
        return [
            metric_figure(
                metric(PRESENCE if name == PRESENCE else "stability.<field>"),
                self._a.run,
                before[name][self._in_a][listing],
                after[name][self._in_b][listing],
                (name,),
            )
            for name in before
        ]

    def _stability(self, bounds: bool) -> list[MetricChange]:
        rules = [side.run.suite.stability for side in (self._a, self._b)]
        if None in rules or any(side.run.items is None for side in (self._a, self._b)) or not len(self._unit):
            return []
        if rules[0] != rules[1]:
            self.not_compared.append(NotCompared("stability", "", "A and B pair or compare items differently"))
            return []
        return _cut(self._unit[self._listing()]).of_all(self._stability_figures(), bounds=bounds)


def _check_key(line: CheckMove) -> tuple[str, str, int | None, str]:
    return line.case_id, line.variant, None, line.name


class _Side:
    """One run, cut into cells."""

    def __init__(self, run: ComparedRun) -> None:
        self.run = run
        self.cells = CellGroups(run.table, {}, run.suite)

    def keys(self, variants: dict[str, int], cases: Array) -> Array:
        """One number a cell that is the same in both runs; negative for those that are not compared."""
        place = np.array([variants[name] for name in self.cells.variants], dtype=np.int64)
        case = cases[self.cells.case].astype(np.int64)
        variant = place[self.cells.variant] if len(place) else np.empty(0, dtype=np.int64)
        return np.where(case < 0, -1, case * max(1, len(variants)) + variant)

    @cached_property
    def count(self) -> Counted | None:
        """The checks by cell and name; None of a run without expectations."""
        run = self.run
        if run.checks is None or not run.checks.n:
            return None
        return counted(run.checks, run.columns, run.table, self.cells, run.suite)

    @property
    def counted(self) -> Counted:
        """The same of a run that has some."""
        if self.count is None:
            raise LookupError("this run has no expectations")
        return self.count

    @property
    def looks_at_the_first(self) -> bool:
        """True when every check is to pass in the first repeat."""
        return all(tuple(RequiredRepeats)[rule] is RequiredRepeats.FIRST for rule in self.counted.rules.tolist())

    def rows(self, cells: Array, names: dict[str, int]) -> tuple[Array, Array]:
        """The checks of some cells as numbers of (place of the cell, name), and their rows in the count."""
        count = self.counted
        place = np.full(self.cells.n, -1, dtype=np.int64)
        place[cells] = np.arange(len(cells))
        code = np.array([names[name] for name in count.names], dtype=np.int64)
        rows = np.flatnonzero(place[count.cell] >= 0)
        return place[count.cell[rows]] * max(1, len(names)) + code[count.name[rows]], rows

    def passed_of(self, row: int) -> tuple[int, int]:
        """In how many repeats a check passed, of how many."""
        count = self.counted
        passed = int(count.passed[row])
        return passed, passed + int(count.failed[row]) + int(count.not_run[row])

    @cached_property
    def alike(self) -> tuple[dict[str, Array], Array]:
        """By cell how alike its repeats are (NaN where there is nothing to compare), and which were to list items."""
        items, rules = self.run.items, self.run.suite.stability
        if items is None or rules is None:
            return {}, np.zeros(self.cells.n, dtype=bool)
        seen = seen_in(items(), self.run.table, self.cells, rules)
        return seen.shares(), ~seen.apart


@frozen
class _Moves:
    """What became of things that are held (1), broken (0) or not known (-1) on either side."""

    before: Array
    after: Array

    @cached_property
    def fixed(self) -> Array:
        return np.flatnonzero((self.before == CASE_FAILED) & (self.after == CASE_PASSED))

    @cached_property
    def broken(self) -> Array:
        return np.flatnonzero((self.before == CASE_PASSED) & (self.after == CASE_FAILED))

    @property
    def n_fixed(self) -> int:
        return len(self.fixed)

    @property
    def n_broken(self) -> int:
        return len(self.broken)

    @property
    def cannot_tell(self) -> int:
        return int(((self.before < 0) | (self.after < 0)).sum())

    @property
    def unchanged(self) -> int:
        return len(self.before) - self.n_fixed - self.n_broken - self.cannot_tell

    def listed(self) -> Array:
        """The places of the first that were fixed, then of the first that were broken."""
        return np.concatenate((self.fixed[:MOST_LISTED], self.broken[:MOST_LISTED]))


def _doubted(change: MetricChange) -> Moved:
    """Of what holds cannot tell when to pass is not the same in both runs; how alike repeats are is."""
    return change.verdict if change.group == STABILITY else Moved.CANNOT_TELL


def _available(before: Array, after: Array) -> tuple[Array, Array]:
    return np.where(before < 0, np.nan, before), np.where(after < 0, np.nan, after)


def _cut(case: Array) -> Cut:
    repeated = len(case_starts(case)) < len(case)
    return Cut(Groups([""], np.zeros(len(case), dtype=np.int8), case if repeated else None), case)
