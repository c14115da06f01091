"""What came of a run's expectations over repeats: counts, the table of checks and the first cells one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.check_cells import listed_cells
from steelyard.analysis.checks_model import MOST_CELLS, CheckFigure, ChecksFigures
from steelyard.metrics.cells import BROKEN, HELD, Counted
from steelyard.metrics.registry import At, Contributions, Level, Reported
from steelyard.metrics.run_data import RunData, one_value
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate


def checks_figures(data: RunData, run: Mapping[str, Estimate]) -> ChecksFigures | None:
    """The figures of a run whose metrics over cells are `run`; None for a suite without expectations.

    Checks of inconclusive samples, and of planned ones that never came, did not run. A cell of which nothing came
    counts as undecided, and as one undecided check.
    """
    count, cells, checks = data.counted, data.cells, data.checks
    if count is None or checks is None:
        return None
    held, broken, undecided = (count.of_cell(count.holds == state) for state in (HELD, BROKEN, -1))
    state = data.cell_states
    blind = int((held + broken + undecided == 0).sum())
    return ChecksFigures(
        cells_held=int((state == HELD).sum()),
        cells_broken=int((state == BROKEN).sum()),
        cells_undecided=int((state < 0).sum()) + cells.absent,
        checks_held=int(held.sum()),
        checks_broken=int(broken.sum()),
        checks_undecided=int(undecided.sum()) + blind + cells.absent,
        cells_rate=run["cases.held"],
        checks_rate=run["checks.held"],
        by_check=_by_check(count),
        held={name: run[f"check.{name}.held"] for name in count.declared},
        all_of={k: run[f"pass_all.{k}"] for k in data.pass_all},
        flaky=run["flaky_rate"],
        cells=listed_cells(checks, data.columns, data.table.conclusive, count, state, cells),
        n_cells=cells.n + cells.absent,
        cells_unknown=blind + cells.absent,
    )


@dataclass(frozen=True, slots=True)
class _ByName:
    count: Counted

    def __call__(self, weights: Array) -> list[int]:
        found = np.bincount(self.count.name, weights, minlength=len(self.count.names))
        return [round(each) for each in found.tolist()]


def _by_check(count: Counted) -> tuple[CheckFigure, ...]:
    """Every name in the order in which the suite declares its check, then as they came."""
    by_name = _ByName(count)
    held, broken, undecided = (by_name(count.holds == state) for state in (HELD, BROKEN, -1))
    passed, failed, not_run = by_name(count.passed), by_name(count.failed), by_name(count.not_run)
    order = sorted(range(len(count.names)), key=lambda code: (count.base[code], code))
    return tuple(
        CheckFigure(count.names[i], held[i], broken[i], undecided[i], passed[i], failed[i], not_run[i])
        for i in order[:MOST_CELLS]
    )


_RAN = {"passed": "passed", "failed": "failed", "not_run": "did not run"}
_STATES = {"held": HELD, "broken": BROKEN, "undecided": -1}
_CELLS = (
    "a cell is a case under a variant, and a check of it holds over the repeats as `hold` says; a repeat that failed,"
    " could not be read or never came did not run the check; of a check that a sample has twice the worse counts"
)
_Contribute = Callable[[RunData, At], Contributions]


def _metric(name: str, place: str, formula: str, contributions: _Contribute) -> Reported:
    return Reported(name, f"checks.{place}", formula, _CELLS, contributions, Level.CELL)


def _cells(values: Callable[[RunData, Counted], Any], *, planned: bool = False) -> _Contribute:
    """The cells with a value above 0; of `planned` ones, those that never came count 1."""

    def contributions(data: RunData, _: At) -> Contributions:
        absent = data.cells.absent if planned else 0
        return data.of_cells(np.asarray(values(data, data.checked)), absent=1.0, n_absent=absent)

    return contributions


def _of_check(values: Callable[[Counted, Array], Array], code: int | None = None) -> _Contribute:
    """What the cells of one check bring, all of them or those in one state."""

    def contributions(data: RunData, at: At) -> Contributions:
        count = data.checked
        mine = count.name == count.names.index(at.name("name"))
        mine = mine if code is None else mine & (count.holds == code)
        return data.of_cells(values(count, mine), count.cell[mine], absent=0.0)

    return contributions


def _clean(data: RunData, at: At) -> Contributions:
    return one_value(data, at, f"{at.item['clean']} of {at.item['decided']} repeats clean")


def _ran(data: RunData, at: At) -> Contributions:
    check = at.item
    return one_value(data, at, f"{check['passed']} passed, {check['failed']} failed, {check['not_run']} did not run")


def _in_state(code: int) -> tuple[_Contribute, _Contribute]:
    """Cells, and checks of cells, in one state."""
    return (
        _cells(lambda data, _: data.cell_states == code, planned=code < 0),
        _cells(
            lambda _, count: count.of_cell(count.holds == code) + (count.n_checks == 0 if code < 0 else 0),
            planned=code < 0,
        ),
    )


REPORTED = (
    *(
        metric
        for state, code in _STATES.items()
        for metric in (
            _metric(
                f"cases.count.{state}",
                f"cells_{state}",
                f"cells that are {state}: held when every check is, broken when one is or most repeats are",
                _in_state(code)[0],
            ),
            _metric(
                f"checks.count.{state}",
                f"checks_{state}",
                f"checks of cells that are {state}; a cell of which no check is known is one undecided check",
                _in_state(code)[1],
            ),
        )
    ),
    _metric(
        "cases.count.all",
        "n_cells",
        "cells that came + cells that never came",
        _cells(lambda data, _: np.ones(data.cells.n), planned=True),
    ),
    _metric(
        "cases.count.unknown",
        "cells_unknown",
        "cells of which no check is known",
        _cells(lambda _, count: count.n_checks == 0, planned=True),
    ),
    *(
        _metric(
            f"check.<name>.cells.{state}",
            f"by_check[<name>].{state}",
            f"cells in which the check is {state}",
            _of_check(lambda _, mine: np.ones(mine.sum()), code),
        )
        for state, code in _STATES.items()
    ),
    *(
        _metric(
            f"check.<name>.answers.{state}",
            f"by_check[<name>].{state}",
            f"planned answers of its cells in which it {word}",
            _of_check(lambda count, mine, state=state: getattr(count, state)[mine]),  # type: ignore[misc]
        )
        for state, word in _RAN.items()
    ),
    _metric("<case>.clean", "cells[<case>].clean", "repeats in which every check passed", _clean),
    _metric("<case>.decided", "cells[<case>].decided", "repeats that are clean, or in which a check failed", _clean),
    *(
        _metric(
            f"<case>.check.<name>.{state}",
            f"cells[<case>].checks[<name>].{state}",
            f"repeats in which it {word}",
            _ran,
        )
        for state, word in {**_RAN, "n": "was planned"}.items()
    ),
    _metric(
        "<case>.check.<name>.value.<n>",
        "cells[<case>].checks[<name>].values[<n>]",
        "the figure that the check found, as recorded",
        one_value,
    ),
)
