"""A store as the version before checks left it: made by the first five migrations, its rows by hand."""

from __future__ import annotations

import numpy as np
import pytest

from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import Attempt, Check, CheckState, Item, RunState
from steelyard.store import migrate as migrate_module
from steelyard.store.open import open_store
from steelyard.store.rows import RUN_COLUMNS, case_row, run_row
from steelyard.store.schema import MIGRATIONS
from steelyard.store.sql import SqlStore

CASES = [case(0, tags=()), case(1, tags=())]
CHECKS = (Check("count", CheckState.FAILED, "3 of 1 to 2", 3.0, 1.0, 2.0),)
ITEMS = (Item("A-1", (None,)),)


def written_before(url: str, state: RunState) -> SqlStore:
    """One run with one sample, opened by this version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate_module, "MIGRATIONS", MIGRATIONS[:5])
        store = open_store(url)
    with store.database.writing() as session:
        session.insert("runs", RUN_COLUMNS, [run_row(header())])
        session.insert("cases", ("id", "hash", "content"), [case_row(CASES[0])])
        session.insert("layouts", ("run", "number", "content"), [(1, 0, "[]")])
        columns = ("run", "seq", "latency", "started_at", "tries", "cached")
        session.insert("attempts", columns, [(1, 0, 0.25, 1001.5, 1, 1)])
        session.insert("answers", ("run", "seq", "text"), [(1, 0, "one")])
        columns = ("run", "seq", "case_id", "variant", "repeat", "case_hash", "attempt_run", "outcome")
        row = (1, 0, "case-0000", "", 0, case_row(CASES[0])[1], 1, "scored")
        session.insert("samples", (*columns, "layout", "scores"), [(*row, 0, "[]")])
        session.execute("UPDATE runs SET state = ? WHERE number = 1", (state.value,))
    store.close()
    return open_store(url, create=False)


def test_the_samples_of_an_older_store_load_without_checks_items_and_waits(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    ((back, _),) = store.samples("demo-1")
    assert (back.checks, back.items) == ((), None)
    assert back.attempt == Attempt(text="one", latency=0.25, started_at=1001.5, cached=True)
    assert (store.checks("demo-1").n, list(store.items("demo-1"))) == (0, [])
    columns = store.columns("demo-1")
    assert np.isnan([*columns.first_byte, *columns.queued]).tolist() == [True, True]
    assert columns.cached.tolist() == [True]
    store.close()


def test_an_ended_run_of_an_older_store_is_given_no_checks_items_and_waits(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    for statement in (
        "INSERT INTO checks (run, seq, content) VALUES (1, 0, '[]')",
        "INSERT INTO items (run, seq, content) VALUES (1, 0, '[]')",
        "UPDATE attempts SET first_byte = 0.5",
    ):
        with pytest.raises(StoreError, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(statement)
    store.close()


def test_an_unfinished_run_of_an_older_store_is_taken_up_with_checks_and_items(url: str) -> None:
    store = written_before(url, RunState.INTERRUPTED)
    later = sample(CASES[1], 1, checks=CHECKS, items=ITEMS, attempt=Attempt(text="two", first_byte=0.5, queued=0.0))
    store.add_samples("demo-1", [later], CASES)
    assert [(one.checks, one.items) for one, _ in store.samples("demo-1")] == [((), None), (CHECKS, ITEMS)]
    assert (store.checks("demo-1").sample.tolist(), list(store.items("demo-1"))) == ([1], [(1, ITEMS)])
    assert np.array_equal(store.columns("demo-1").first_byte, [np.nan, 0.5], equal_nan=True)
    store.close()


def test_an_answer_of_an_older_store_can_be_checked_later(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [sample(CASES[0], checks=CHECKS, items=())], CASES)
    ((back, _),) = store.samples("demo-2")
    assert (back.checks, back.items, back.attempt.text) == (CHECKS, (), "one")
    assert [(one.checks, one.items) for one, _ in store.samples("demo-1")] == [((), None)]
    store.close()
