"""A suite's history, as the command shows it and as Python gets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.results.run import stored_name
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.results.run import AnySuite
    from steelyard.run_history.history import History


def history(
    suite: AnySuite,
    *,
    last: int | None = None,
    metrics: Sequence[str] = (),
    by: str = "",
    target: str = "",
    store: str | None = None,
) -> ShownResult[History]:
    """A suite's figures run by run, and where their level changed.

    `metrics` are named as gates name them, `by` is category, difficulty, variant, tag or code.
    """
    from steelyard.run_history.history import HistoryOptions, read_history
    from steelyard.run_history.report import data, document
    from steelyard.store.sql import open_store

    with open_store(store, create=False) as opened:
        name = stored_name(opened, suite)
        return ShownResult(read_history(opened, name, HistoryOptions(last, tuple(metrics), by, target)), document, data)
