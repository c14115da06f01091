"""What lists and metrics of cells have in common; a cell is a case under a variant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contribute, Level, Metric, Names
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array

MOST_CELLS = 1_000
"""More cells than this are counted, but not kept one by one: a report of a million cases would hold them all."""


def ranked_first(rank: Array) -> Array:
    """The places of the `MOST_CELLS` lowest ranks, in their own order; of equal ranks the first. All are ranked."""
    return np.sort(np.argsort(rank, kind="stable")[:MOST_CELLS])


def of_cells(
    name: str, about: str, counts: str, contributions: Contribute, aggregate: Aggregate = Aggregate.SUM, **more: Any
) -> Metric:
    """A metric of cells that no gate can name: of the whole run, unless `more` says otherwise."""
    settings: dict[str, Any] = {
        "unit": "count",
        "level": Level.CELL,
        "of": "cells",
        "better": "lower",
        "gate": False,
        "sliced": False,
    }
    return Metric(
        name=name,
        about=about,
        formula=about,
        counts=counts,
        aggregate=aggregate,
        contributions=contributions,
        **settings | more,
    )


OF_CASE: dict[str, Any] = {"listed": True, "sliced": True, "stands_on": "the repeats of one case"}
"""What figures of one case have in common: they are listed, under every variant."""


def all_cases(data: RunData) -> Iterator[Names]:
    """The cases that have samples."""
    return ((data.table.case_ids[case],) for case in dict.fromkeys(data.cells.case.tolist()))


def of_case(data: RunData, case_id: str) -> Array:
    """The cells of a case."""
    case_ids = data.table.case_ids
    return np.asarray(data.cells.case == (case_ids.index(case_id) if case_id in case_ids else -1))
