"""Which samples reports list: the worst cases, the slowest calls, the lowest scores and those that are inconclusive.

They are found once, when a run ends, and stored by position: a report reads them without searching the run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.run_data import RunData
from steelyard.records import Outcome
from steelyard.stats.arrays import Array, lowest

MAX_WORST = 10
MAX_SLOWEST = 5
MAX_LOWEST = 1_000
MAX_INCONCLUSIVE = 100


@frozen
class WorstCell:
    """A case under a variant that did not pass."""

    position: int
    """The position of its worst repeat in the plan."""
    failing: int
    """How many of its repeats did not pass."""


@frozen
class ListedSamples:
    """Samples by their positions in the plan."""

    worst: tuple[WorstCell, ...] = ()
    """The worst cases and variants: those with a flag that fails them, then the lowest scores."""
    slowest: tuple[int, ...] = ()
    lowest: tuple[int, ...] = ()
    """The lowest scores."""
    inconclusive: tuple[int, ...] = ()
    """The first in the plan."""

    def placed(self, positions: Array) -> ListedSamples:
        """The same where samples were given by their number in the columns; `positions` are those of all samples."""
        return ListedSamples(
            tuple(replace(cell, position=int(positions[cell.position])) for cell in self.worst),
            *(tuple(positions[list(rows)].tolist()) for rows in (self.slowest, self.lowest, self.inconclusive)),
        )


def listed_samples(data: RunData) -> ListedSamples:
    """The listed samples of a run, by their numbers in its columns."""
    columns = data.columns
    inconclusive = [code for code, name in enumerate(columns.outcomes) if not Outcome(name).conclusive]
    latency = columns.latency if len(columns.latency) == columns.n else np.full(columns.n, np.nan)
    return ListedSamples(
        _worst(data),
        slowest=tuple(lowest(-np.where(latency > 0, latency, np.nan), MAX_SLOWEST).tolist()),
        lowest=tuple(lowest(columns.score, MAX_LOWEST).tolist()),
        inconclusive=tuple(np.flatnonzero(np.isin(columns.outcome, inconclusive))[:MAX_INCONCLUSIVE].tolist()),
    )


def _worst(data: RunData) -> tuple[WorstCell, ...]:
    """The cells with repeats that did not pass or, in a suite without a pass rule, that do not have the full score."""
    columns, score = data.columns, data.table.score()
    failing = data.table.passed() == 0 if data.suite.passing else score < 1
    # A list of scores has no place for a sample that was stored without one.
    failing &= ~np.isnan(columns.score)
    # A flag fails a sample however high its score is: it comes before all others.
    rank = np.where(failing, score - 2.0 * _flagged(data), np.nan)
    # The first rows hold as many different cells, even if all repeats of each are among them.
    repeats = int(columns.repeat.max()) + 1 if columns.n else 1
    cells: dict[tuple[int, int], int] = {}
    for row in lowest(rank, MAX_WORST * repeats).tolist():
        cells.setdefault((int(columns.case[row]), int(columns.variant[row])), row)
    return tuple(
        WorstCell(row, int((failing & (columns.case == case) & (columns.variant == variant)).sum()))
        for (case, variant), row in islice(cells.items(), MAX_WORST)
    )


def _flagged(data: RunData) -> Array:
    """The samples that carry a flag which fails them."""
    flagged = np.zeros(data.columns.n, dtype=bool)
    judge = data.suite.judge
    for flag in judge.rubric.flags if judge is not None else ():
        values = data.columns.components.get(flag.name)
        if flag.fails and values is not None:
            flagged |= np.nan_to_num(values) != 0
    return flagged
