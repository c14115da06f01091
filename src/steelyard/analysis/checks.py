"""What came of a run's expectations over repeats: k of n, whether that is enough, pass^k and flakiness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.cell_groups import CellFigure, CellGroups, Held, Mean
from steelyard.analysis.check_cells import listed_cells
from steelyard.analysis.check_counts import BROKEN, HELD, Counted, counted
from steelyard.analysis.checks_model import MOST_CELLS, CheckFigure, ChecksFigures
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array
from steelyard.store.base import Checks, Columns
from steelyard.suite.gates import MOST_IN_A_ROW

ByGroup = dict[str, list[dict[str, Estimate]]]
"""By factor and group, estimates by the names of the gates that stand on them."""


def checks_figures(
    checks: Checks, columns: Columns, conclusive: Array, cells: CellGroups, suite: dict[str, Any]
) -> tuple[ChecksFigures | None, ByGroup]:
    """The figures of the run, and those that gates stand on for every slice; None for a suite without expectations.

    Checks of inconclusive samples, and of planned ones that never came, did not run. A cell of which nothing came
    counts as undecided, and as one undecided check.
    """
    if not checks.n and not suite.get("expect"):
        return None, {}
    count = counted(checks, columns, conclusive, cells, suite)
    held, broken, undecided = (count.of_cell(count.holds == state) for state in (HELD, BROKEN, -1))
    state = cells_hold(count, held, broken, undecided)
    slices = cells.estimates(_figures(count, held, undecided, state, cells))
    run = slices[""][0]
    blind = int((held + broken + undecided == 0).sum())
    figures = ChecksFigures(
        cells_held=int((state == HELD).sum()),
        cells_broken=int((state == BROKEN).sum()),
        cells_undecided=int((state < 0).sum()) + cells.absent,
        checks_held=int(held.sum()),
        checks_broken=int(broken.sum()),
        checks_undecided=int(undecided.sum()) + blind + cells.absent,
        cells_rate=run["cases.held"],
        checks_rate=run["checks.held"],
        by_check=_by_check(count),
        held={name: run[held_name(name)] for name in count.declared},
        all_of={k: run[f"pass_all.{k}"] for k in _in_a_row(cells)},
        flaky=run["flaky_rate"],
        cells=listed_cells(checks, columns, conclusive, count, state, cells),
        n_cells=cells.n + cells.absent,
        cells_unknown=blind + cells.absent,
    )
    return figures, slices


def held_name(check: str) -> str:
    """The name of the gate on a declared check."""
    return f"check.{check}.held"


def cells_hold(count: Counted, held: Array, broken: Array, undecided: Array) -> Array:
    """1 where every check of the cell holds, 0 where one does not, -1 where nobody can tell.

    Checks that are to pass in most repeats have to pass together: two clean answers of five are not most of them.
    """
    unsure = (undecided > 0) | (held == 0) | (count.together < 0)
    state = np.where((broken > 0) | (count.together == BROKEN), BROKEN, np.where(unsure, -1, HELD))
    return state.astype(np.int8)


def _figures(count: Counted, held: Array, undecided: Array, state: Array, cells: CellGroups) -> dict[str, CellFigure]:
    one = np.ones(cells.n, dtype=np.int8)
    blind = count.n_checks == 0
    found: dict[str, CellFigure] = {
        "cases.held": Held(state == HELD, one, state < 0),
        "checks.held": Held(held, count.n_checks + blind, undecided + blind),
    }
    base = count.base.astype(np.int16)[count.name]
    for at, name in enumerate(count.declared):
        mine = base == at
        of, hold, open_ = (count.of_cell(mine & which) for which in (True, count.holds == HELD, count.holds < 0))
        found[held_name(name)] = Held(hold, of + blind, open_ + blind)
    for k, values in all_of(count.clean, count.decided, _in_a_row(cells)).items():
        found[f"pass_all.{k}"] = Mean(values)
    flaky = np.where(count.decided >= 2, (count.clean > 0) & (count.clean < count.decided), np.nan)
    return found | {"flaky_rate": Mean(flaky)}


def _in_a_row(cells: CellGroups) -> range:
    return range(1, min(cells.repeats, MOST_IN_A_ROW) + 1)


def all_of(clean: Array, decided: Array, ks: range) -> dict[int, Array]:
    """By k, the chance that k repeats of a cell are all clean: C(clean, k) / C(decided, k), which has no bias.

    NaN for a cell with fewer than k decided repeats.
    """
    found, chance = {}, np.ones(len(clean))
    for k in ks:
        left = decided - k + 1.0
        chance = np.where(left > 0, chance * np.maximum(clean - k + 1.0, 0.0) / np.maximum(left, 1.0), np.nan)
        found[k] = chance
    return found


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
