"""Which answers are no new ones, but from a cache or copies: only of a run that has some."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.metrics.outcomes import OUTCOME
from steelyard.metrics.registry import Contributions, Level, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array


def _if_reused(data: RunData) -> list[Names]:
    return [()] if (data.table.reused() | data.table.copied()).any() else []


def _answers(mask: Callable[[RunData], Array]) -> Callable[[RunData, Names], Contributions]:
    """The answers, those that a mask marks counting 1."""

    def contributions(data: RunData, _: Names) -> Contributions:
        marked, unanswered = mask(data), np.logical_or(*data.table.unanswered())
        values = np.where(unanswered & ~marked, np.nan, marked)
        return Contributions(values, excluded=(("no answer", None),))

    return contributions


def _copied_cells(data: RunData, _: Names) -> Contributions:
    return Contributions((data.cells.count_of(data.table.copied()) > 0).astype(float))


def _reused(name: str, formula: str, mask: Callable[[RunData], Array]) -> Metric:
    return register(
        same_but(
            OUTCOME,
            name=f"reused.{name}",
            about=formula,
            formula=formula,
            counts="every answer is looked at",
            contributions=_answers(mask),
            labels=None,
            all_names=_if_reused,
            better="lower",
            sliced=False,
            of="answers",
            stands_on="answers",
        )
    )


_CACHED = _reused("cached", "answers from the cache", lambda data: data.table.cached())
_reused("answers", "answers, cached or not", lambda data: ~np.logical_or(*data.table.unanswered()))
_reused(
    "provider_cached",
    "answers that the provider marked as from its cache",
    lambda data: data.table.reused() & ~data.table.cached(),
)
_reused("copied", "repeats that are the same answer as an earlier one", lambda data: data.table.copied())
_COPIED_CELLS = "cells with a repeat that is the same answer as an earlier one"
register(
    same_but(
        _CACHED,
        name="reused.copied_cells",
        level=Level.CELL,
        about=_COPIED_CELLS,
        formula=_COPIED_CELLS,
        counts="every cell is looked at",
        contributions=_copied_cells,
        of="",
        stands_on="cells",
    )
)
