"""What came of checks, counted over cells and row by row, traced to the samples of every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from steelyard.analysis.checks_model import CellChecks, CheckFigure, CheckOfCell, ChecksFigures
from steelyard.analysis.explain_cells import Cell, CellFigure
from steelyard.analysis.explain_model import Behind, Computed
from steelyard.analysis.explain_parts import Parts
from steelyard.analysis.explain_readings import Rules
from steelyard.analysis.explain_things import Figure, Thing, ThingFigure, Words, total
from steelyard.analysis.model import Summary
from steelyard.records import CheckState, Sample
from steelyard.suite.formulas import asked_metric

_HOW = (
    "a cell is a case under a variant, and a check of it holds over the repeats as `hold` says; a repeat that failed,"
    " could not be read or never came did not run the check; of a check that a sample has twice the worse counts"
)
_STATES = {True: "held", False: "broken", None: "undecided"}
Told = Callable[["_Cells", Cell | None], float]
"""What one cell adds to a count; None is a cell of which nothing came."""


def check_figures(summary: Summary, suite: Mapping[str, Any], first_repeat: int) -> Iterator[Figure]:
    """Counts of cells and checks, of every name of a check, and of every cell that the report lists."""
    found = summary.checks
    if found is None:
        return
    rows = _Rows(suite, first_repeat)
    yield from _counts(found, rows)
    for number, each in enumerate(found.by_check):
        yield from _by_check(each, f"checks.by_check[{number}]", rows)
    for number, cell in enumerate(found.cells):
        yield from _of_cell(cell, f"checks.cells[{number}]", rows)


class _Rows:
    """Makes figures of one run's cells."""

    def __init__(self, suite: Mapping[str, Any], first_repeat: int) -> None:
        self._suite, self._first, self.rules = suite, first_repeat, Rules(suite)

    def figure(
        self,
        names: tuple[str, ...],
        place: str,
        reported: float,
        formula: str,
        told: Told,
        of: tuple[str, str] | None = None,
    ) -> Figure:
        """The sum of what every cell adds; of one cell where it is named."""
        words = Words(formula, _HOW, of="cells")
        return Figure(names, place, reported, words, lambda: _Cells(self._suite, self._first, told, of))


class _Cells(CellFigure):
    """A count over cells in the making."""

    def __init__(self, suite: Mapping[str, Any], first: int, told: Told, of: tuple[str, str] | None) -> None:
        super().__init__(asked_metric("checks.held"), suite, first)
        self._told, self._of = told, of

    def add(self, sample: Sample) -> None:
        if self._of is None or (sample.case_id, sample.variant) == self._of:
            super().add(sample)

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - cells that never came are counted as cells
        never = self._never_came() if self._of is None else 0
        rows = [
            Behind(case, variant, None, self._told(self, cell), self.in_words(cell))
            for (case, variant), cell in self._cells.items()
        ]
        rows = sorted((row for row in rows if row.value), key=lambda row: -row.value)
        unseen = never * self._told(self, None)
        n = sum(row.value for row in rows) + unseen
        inputs = (("of cells that came", n - unseen), ("of cells that never came", unseen))
        return Parts(Computed(n, len(self._cells), 0, inputs), (), (), "highest first", tuple(rows))

    def in_words(self, cell: Cell) -> str:
        told = {
            name: Counter(states.get(name, CheckState.NOT_RUN).value for states in cell.states) for name in cell.names
        }
        return "; ".join(
            f"{name}: " + ", ".join(f"{n} {state}" for state, n in sorted(found.items()))
            for name, found in sorted(told.items())
        )

    def state_of(self, cell: Cell | None) -> str:
        told = None if cell is None else self._case(cell)
        if told is None or told.undecided:
            return "undecided"
        return "held" if told.held else "broken"

    def states_of(self, cell: Cell | None) -> Counter[str]:
        """How many checks of a cell hold, are broken and are undecided; of one of which nothing is known, one is."""
        found = Counter() if cell is None else Counter(_STATES[holds] for holds in self._holding(cell).values())
        return found or Counter({"undecided": 1})

    def holds(self, cell: Cell | None, name: str) -> str:
        known = cell is not None and name in cell.names
        return _STATES[self._holds(cell, name)] if cell is not None and known else ""

    def answers(self, cell: Cell | None, name: str) -> Counter[str]:
        """In how many repeats a check of a cell passed, failed and did not run."""
        if cell is None or name not in cell.names:
            return Counter()
        ran = Counter(states[name].value for states in cell.states if name in states)
        planned = max(len(cell.states), self._repeats)
        return Counter(passed=ran["passed"], failed=ran["failed"], not_run=planned - ran["passed"] - ran["failed"])


def _counts(found: ChecksFigures, rows: _Rows) -> Iterator[Figure]:
    for state in ("held", "broken", "undecided"):

        def cells(of: _Cells, cell: Cell | None, state: str = state) -> float:
            return float(of.state_of(cell) == state)

        def checks(of: _Cells, cell: Cell | None, state: str = state) -> float:
            return float(of.states_of(cell)[state])

        n_cells, n_checks = getattr(found, f"cells_{state}"), getattr(found, f"checks_{state}")
        formula = f"cells that are {state}: a cell is held when every check is, broken when one is or most repeats are"
        yield rows.figure(("cases", "count", state), f"checks.cells_{state}", n_cells, formula, cells)
        formula = f"checks of cells that are {state}; a cell of which no check is known is one undecided check"
        yield rows.figure(("checks", "count", state), f"checks.checks_{state}", n_checks, formula, checks)
    formula = "cells that came + cells that never came"
    yield rows.figure(("cases", "count", "all"), "checks.n_cells", found.n_cells, formula, lambda *_: 1.0)
    formula = "cells of which no check is known"
    yield rows.figure(("cases", "count", "unknown"), "checks.cells_unknown", found.cells_unknown, formula, _blind)


def _blind(_: _Cells, cell: Cell | None) -> float:
    return float(cell is None or not cell.names)


def _by_check(found: CheckFigure, place: str, rows: _Rows) -> Iterator[Figure]:
    name = found.name
    for state in ("held", "broken", "undecided"):

        def cells(of: _Cells, cell: Cell | None, state: str = state) -> float:
            return float(of.holds(cell, name) == state)

        names, formula = ("check", name, "cells", state), f"cells in which the check is {state}"
        yield rows.figure(names, f"{place}.{state}", getattr(found, state), formula, cells)
    for state in ("passed", "failed", "not_run"):
        names, formula = ("check", name, "answers", state), f"planned answers of its cells in which it {_ANSWER[state]}"
        yield rows.figure(names, f"{place}.{state}", getattr(found, state), formula, _answers(name, state))


_ANSWER = {"passed": "passed", "failed": "failed", "not_run": "did not run"}


def _answers(name: str, state: str) -> Told:
    return lambda of, cell: float(of.answers(cell, name)[state])


def _of_cell(found: CellChecks, place: str, rows: _Rows) -> Iterator[Figure]:
    own = (found.case_id, found.variant)
    head = case_names(*own)
    clean, decided = "repeats in which every check passed", "repeats that are clean, or in which a check failed"
    yield rows.figure((*head, "clean"), f"{place}.clean", found.clean, clean, _clean, own)
    yield rows.figure((*head, "decided"), f"{place}.decided", found.decided, decided, _decided, own)
    for number, check in enumerate(found.checks):
        where, names = f"{place}.checks[{number}]", (*head, "check", check.name)
        for state in ("passed", "failed", "not_run"):
            told, formula = _answers(check.name, state), f"repeats in which it {_ANSWER[state]}"
            yield rows.figure((*names, state), f"{where}.{state}", asdict(check)[state], formula, told, own)
        yield rows.figure((*names, "n"), f"{where}.n", check.n, "repeats that were planned", _planned(check.name), own)
        yield from _values(check, where, names, rows, own)


def _clean(_: _Cells, cell: Cell | None) -> float:
    return 0.0 if cell is None else float(cell.clean)


def _decided(_: _Cells, cell: Cell | None) -> float:
    return 0.0 if cell is None else float(cell.decided)


def _planned(name: str) -> Told:
    return lambda of, cell: float(of.answers(cell, name).total())


def _values(
    check: CheckOfCell, place: str, names: tuple[str, ...], rows: _Rows, own: tuple[str, str]
) -> Iterator[Figure]:
    """The figure that a check found in each repeat in which it ran."""
    for number, value in enumerate(check.values):

        def trace(number: int = number) -> ThingFigure:
            return _Value(check.name, own, number, rows.rules)

        yield Figure((*names, "value", str(number + 1)), f"{place}.values[{number}]", value, _FOUND, trace)


_FOUND = Words(
    "the figure that the check found, as recorded", "repeats in which it did not run have none", unit="number"
)


class _Value(ThingFigure):
    """The how-manieth figure of a check of a cell."""

    def __init__(self, check: str, own: tuple[str, str], number: int, rules: Rules) -> None:
        def read(sample: Sample) -> Iterator[Thing]:
            if (sample.case_id, sample.variant) == own and not rules.left_out(sample):
                for each in sample.checks:
                    if each.name == check and each.value is not None and each.state is not CheckState.NOT_RUN:
                        yield Thing(each.value, said=each.detail, data=sample.repeat)

        super().__init__(read, total("figure"), _FOUND)
        self._number = number

    def ended(self, absent: int) -> Parts:
        self._rows = sorted(self._rows, key=lambda row: row[1].data)[self._number : self._number + 1]
        return super().ended(absent)


def case_names(case_id: str, variant: str) -> tuple[str, ...]:
    """The first names of a figure of one cell."""
    return ("variant", variant, "case", case_id) if variant else ("case", case_id)
