"""How often the repeats of a case pass: cases that pass in some repeats and not in others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from steelyard.analysis.cell_metrics import OF_CASE, all_cases, of_case, of_cells, ranked_first
from steelyard.frozen import frozen
from steelyard.metrics.cells import CellGroups, PassedRepeats
from steelyard.metrics.registry import Contributions, Names, register
from steelyard.metrics.run_data import RunData


@frozen
class FlakyCell:
    """A case under a variant that passed in some repeats and not in others."""

    case_id: str
    variant: str
    clean: int
    """Repeats that passed."""
    decided: int
    """Repeats that passed or did not; those that are inconclusive or missing say nothing."""


def flaky_cells(repeats: PassedRepeats, cells: CellGroups) -> list[FlakyCell]:
    """The cases that pass in some repeats and not in others, the one that passes least often first, at most
    `MOST_CELLS`; `cases.count.flaky` counts all of them."""
    passed, decided = repeats.passed, repeats.decided
    flaky = np.flatnonzero((passed > 0) & (passed < decided))
    share = passed[flaky] / decided[flaky]
    chosen = ranked_first(share)
    ranked = flaky[chosen[np.argsort(share[chosen], kind="stable")]].tolist()
    return [FlakyCell(*cells.name(cell), int(passed[cell]), int(decided[cell])) for cell in ranked]


def _repeats_of(which: str) -> Callable[[RunData, Names], Contributions]:
    """How many repeats of the cells of one case passed, or were decided."""

    def contributions(data: RunData, names: Names) -> Contributions:
        repeats, here = data.clean_repeats, of_case(data, names[0])
        if repeats is None:
            raise ValueError("a suite without a pass rule has no repeats that pass")
        passed, decided = repeats.passed, repeats.decided
        return Contributions(
            np.where(here, getattr(repeats, which), np.nan),
            not_missing=~here,
            detail=lambda cell: f"{passed[cell]} of {decided[cell]} repeats passed",
        )

    return contributions


def _repeated_cases(data: RunData) -> Iterator[Names]:
    if data.clean_repeats is not None:
        yield from all_cases(data)


def _flaky(data: RunData, _: Names) -> Contributions:
    flaky = np.empty(0) if data.clean_repeats is None else data.clean_repeats.flaky().values
    return Contributions(flaky, absent=0.0)


_A_CELL = "a cell is a case under a variant; its repeats pass when the sample does, under all its rules"
register(
    of_cells(
        "cases.count.flaky",
        "cells in which some repeats passed and others failed",
        _A_CELL,
        _flaky,
        all_names=lambda data: [] if data.clean_repeats is None else [()],
        stands_on="cases and variants",
    )
)
for _name, _which, _about in (
    ("clean", "passed", "repeats of one case that passed, under all rules"),
    ("decided", "decided", "repeats of one case that passed or failed"),
):
    register(
        of_cells(f"case.<case>.{_name}", _about, _A_CELL, _repeats_of(_which), **OF_CASE, all_names=_repeated_cases)
    )
