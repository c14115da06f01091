"""The columns of a run and what is made of them once: what every metric takes its contributions from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from steelyard.metrics.cells import BROKEN, HELD, CellGroups, Counted, all_of, cells_hold, counted
from steelyard.metrics.registry import MOST_IN_A_ROW
from steelyard.metrics.stability import Placed, Seen, seen_in
from steelyard.metrics.table import Table, cut
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.store.base import Checks, Columns
from steelyard.suite.models import SuiteDescription


class RunData:
    """A run; `suite` is the suite as the run's header describes it.

    `checks` are what became of its expectations and `items` what its repeats are compared by, read when asked for.
    """

    def __init__(
        self,
        columns: Columns,
        suite: SuiteDescription,
        checks: Checks | None = None,
        items: Iterable[Placed] | None = None,
    ) -> None:
        self.columns, self.suite, self.checks, self._items = columns, suite, checks, items
        self.table = Table(columns, suite)
        self.absent = max(0, (suite.n_planned or 0) - columns.n)
        """Samples that were planned and never came."""

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """Samples by factor; `""` is the whole run."""
        return cut(self.columns, self.suite, self.absent)

    @cached_property
    def cells(self) -> CellGroups:
        """Cases under variants, cut as samples are."""
        return CellGroups(self.table, self.groups, self.suite)

    @cached_property
    def counted(self) -> Counted | None:
        """What came of the checks of every cell; None for a suite without expectations."""
        if self.checks is None or not (self.checks.n or self.suite.expect):
            return None
        return counted(self.checks, self.columns, self.table.conclusive, self.cells, self.suite)

    @cached_property
    def cell_states(self) -> Array:
        """By cell, whether every check holds: 1, 0, or -1 where nobody can tell."""
        if self.counted is None:
            return np.full(self.cells.n, -1, dtype=np.int8)
        count = self.counted
        return cells_hold(count, *(count.of_cell(count.holds == state) for state in (HELD, BROKEN, -1)))

    @cached_property
    def pass_all(self) -> dict[int, Array]:
        """By k, the chance of every cell that k repeats are all clean."""
        if self.counted is None:
            return {}
        ks = range(1, min(self.cells.repeats, MOST_IN_A_ROW) + 1)
        return all_of(self.counted.clean, self.counted.decided, ks)

    @cached_property
    def stability(self) -> Seen | None:
        """How alike the repeats of every cell are; None for a suite that does not compare them."""
        if self._items is None or self.suite.stability is None:
            return None
        return seen_in(self._items, self.table, self.cells, self.suite.stability)
