"""A run's figures as rows: every part of an estimate comes back, and stands in the column of its name."""

from __future__ import annotations

import pytest

from parts.stored import header
from steelyard.records import AtLeast, RunState
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.figures import Figure, Kind, SliceKey, StoredSummary
from steelyard.store.sql import SqlStore

WHOLE, LAMP = SliceKey(), SliceKey("category", "lamp \ud83d")
RECALL = Kind("score.<component>.<measure>", ("na.me", 'rec"all'))
ROWS = [
    Figure(WHOLE, "outcomes.planned", Kind("outcomes.planned"), Estimate(9.0, 9)),
    Figure(WHOLE, 'score.na.me.rec"all', RECALL, Estimate(0.625, 7, 2, 0.25, 0.875, numerator=5, denominator=8)),
    Figure(WHOLE, "average", Kind("average"), Estimate(0.5, 6, 3, 0.25, 0.75, constant=True, n_cases=4)),
    Figure(WHOLE, "latency.p95", Kind("latency.p95"), Estimate(AtLeast(3.0), 7, 2, 2.0, None, at_least=True)),
    Figure(LAMP, "average", Kind("average"), Estimate(0.75, 3, 1, 0.5, 0.875, possible=Possible(0.5, None, 1, 4))),
    Figure(LAMP, "macro", Kind("macro"), Estimate(0.5, 3, 1, numerator=0, denominator=0, mean_of=2)),
    Figure(LAMP, "median", Kind("median"), Estimate(None, 0, 4)),
]
"""Out of the order of their names, each with another number in every part."""


def kept(store: SqlStore, run_id: str, rows: list[Figure], basis: str = "b") -> None:
    store.keep_summary(run_id, StoredSummary(rows, '{"repeats":1}', basis))


@pytest.fixture
def runs(store: SqlStore) -> SqlStore:
    """A store with two runs, the first with all figures and the second with another average."""
    for number in (1, 2):
        store.create_run(header(f"demo-{number}", created_at=1000.0 + number))
    kept(store, "demo-1", ROWS)
    kept(store, "demo-2", [ROWS[0], ROWS[2]._replace(estimate=Estimate(0.125, 5, 4))])
    return store


def test_every_part_of_every_figure_comes_back_in_its_order(runs: SqlStore) -> None:
    summary = runs.summary("demo-1")
    assert summary is not None
    assert (list(summary.figures), summary.lists, summary.basis) == (ROWS, '{"repeats":1}', "b")
    # A lower bound is one in all that is made of it.
    assert type(summary.figures[3].estimate.value) is AtLeast
    assert runs.figures(["demo-1"], None, None) == {"demo-1": ROWS}


def test_the_columns_of_the_table_hold_what_they_are_called(runs: SqlStore) -> None:
    names = "value, n, n_missing, low, high, numerator, denominator"
    with runs.database.reading() as session:
        rows = session.execute(f"SELECT {names} FROM figures WHERE metric LIKE 'score.%'")
    assert rows == [(0.625, 7, 2, 0.25, 0.875, 5, 8)]


def test_some_figures_of_some_slices_of_some_runs(runs: SqlStore) -> None:
    assert runs.figures(["demo-2", "demo-1"], ["average"]) == {
        "demo-1": [ROWS[2]],
        "demo-2": [ROWS[2]._replace(estimate=Estimate(0.125, 5, 4))],
    }
    assert runs.figures(["demo-1"], ["average", "macro"], ["category"]) == {"demo-1": [ROWS[4], ROWS[5]]}
    assert runs.figures(["demo-1"], ["nothing"]) == {"demo-1": []}
    assert runs.figures(["demo-1"], None, ["", "category"]) == {"demo-1": ROWS}


def test_figures_that_are_kept_again_stand_in_the_place_of_all_before(runs: SqlStore) -> None:
    now = [ROWS[0], ROWS[2]._replace(estimate=Estimate(1.0, 9))]
    kept(runs, "demo-1", now, "labels came")
    assert runs.figures(["demo-1"], None, None) == {"demo-1": now}
    assert runs.summary_bases(["demo-1", "demo-2"]) == {"demo-1": "labels came", "demo-2": "b"}
    assert len(runs.figures(["demo-2"], None, None)["demo-2"]) == 2


def test_a_run_without_a_summary_has_no_figures(runs: SqlStore) -> None:
    runs.create_run(header("demo-3", created_at=1003.0))
    assert runs.summary("demo-3") is None
    assert runs.figures(["demo-3"]) == runs.summary_bases(["demo-3"]) == {}


def test_a_run_that_goes_on_has_not_the_figures_that_it_was_interrupted_with(store: SqlStore) -> None:
    run = header("demo-1")
    store.create_run(run)
    run.state = RunState.INTERRUPTED
    store.update_run(run, StoredSummary(ROWS, "{}", "b"))
    assert store.figures(["demo-1"], ["average"]) == {"demo-1": [ROWS[2]]}
    run.state = RunState.RUNNING
    store.take_run(run, store.lease("demo-1"))
    assert store.figures(["demo-1"]) == {}
    assert store.summary("demo-1") is None
