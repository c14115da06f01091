"""The first cells of a run one by one, each of its checks with what was found in its repeats."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.checks_model import MOST_CELLS, CellChecks, CheckOfCell
from steelyard.metrics.cells import FAILED, HELD, NOT_RUN, CellGroups, Counted, effective_states
from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, Columns
from steelyard.suite.models import Hold

_RULES = tuple(Hold)


def listed_cells(
    checks: Checks, columns: Columns, conclusive: Array, count: Counted, state: Array, cells: CellGroups
) -> tuple[CellChecks, ...]:
    """The first `MOST_CELLS` cells in the order of the cases; `state` says which of them hold."""
    n = min(cells.n, MOST_CELLS)
    rows, bounds = _rows(checks, columns, cells, n)
    states = effective_states(checks, conclusive)
    last = int(np.searchsorted(count.cell, n))
    found: list[list[CheckOfCell]] = [[] for _ in range(n)]
    for at in range(last):
        mine = rows[bounds[at] : bounds[at + 1]]
        found[int(count.cell[at])].append(_check(checks, mine, states[mine], count, at))
    order = {name: place for place, name in enumerate(count.names)}
    listed = []
    for cell, its in enumerate(found):
        its.sort(key=lambda check: (count.base[order[check.name]], order[check.name]))
        case, variant = cells.name(cell)
        listed.append(
            CellChecks(
                case_id=case,
                variant=variant,
                checks=tuple(its),
                holds=_told(int(state[cell])),
                clean=int(count.clean[cell]),
                decided=int(count.decided[cell]),
            )
        )
    return tuple(listed)


def _rows(checks: Checks, columns: Columns, cells: CellGroups, n: int) -> tuple[Array, Array]:
    """The checks of the first `n` cells by cell, name and repeat, and where each cell's check of a name begins."""
    cell = cells.of_sample[checks.sample]
    rows = np.flatnonzero(cell < n)
    pair = cell[rows].astype(np.int64) * max(1, len(checks.names)) + checks.name[rows]
    order = np.lexsort((columns.repeat[checks.sample[rows]], pair))
    rows, pair = rows[order], pair[order]
    starts = np.flatnonzero(np.concatenate(([True], pair[1:] != pair[:-1]))) if len(pair) else np.empty(0, int)
    return rows, np.append(starts, len(rows))


def _check(checks: Checks, rows: Array, state: Array, count: Counted, at: int) -> CheckOfCell:
    name = int(count.name[at])
    values = checks.value[rows[state != NOT_RUN]]
    return CheckOfCell(
        name=count.names[name],
        passed=int(count.passed[at]),
        failed=int(count.failed[at]),
        not_run=int(count.not_run[at]),
        hold=_RULES[int(count.rules[name])].value,
        holds=_told(int(count.holds[at])),
        detail=checks.details[int(checks.detail[_telling(rows, state, int(count.holds[at]))])],
        values=tuple(values[~np.isnan(values)].tolist()),
        low=_end(checks.low[rows]),
        high=_end(checks.high[rows]),
    )


def _telling(rows: Array, state: Array, holds: int) -> int:
    """The repeat whose words say most: what failed breaks a check, what did not run leaves it open."""
    for wanted in (NOT_RUN, FAILED) if holds < 0 else (FAILED, NOT_RUN):
        if len(found := rows[state == wanted]):
            return int(found[0])
    return int(rows[0])


def _end(values: Array) -> float | None:
    """The end of a range, which is the same in every repeat that tells it."""
    known = values[~np.isnan(values)]
    return float(known[0]) if len(known) else None


def _told(state: int) -> bool | None:
    return None if state < 0 else state == HELD
