"""What came of a run's expectations over repeats: counts, the table of checks and the first cells one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.check_cells import listed_cells
from steelyard.analysis.checks_model import MOST_CELLS, CheckFigure, ChecksFigures
from steelyard.metrics.cells import BROKEN, HELD, Counted
from steelyard.metrics.run_data import RunData
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
