"""A run is written by its owner alone, and taken over by a compare-and-set of who that is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from parts.stored import case, header, sample
from steelyard.engine.owner import free_lease, myself
from steelyard.errors import RunTaken, StoreError, UsageError
from steelyard.records import RunFacts, RunHeader, RunState
from steelyard.store import ownership, postgres
from steelyard.store.sql import SqlStore, open_store


def owned(run_id: str = "demo-1", state: RunState = RunState.RUNNING) -> RunHeader:
    return header(run_id, options=RunFacts(owner=myself()), state=state)


@pytest.fixture
def first(url: str) -> Iterator[SqlStore]:
    store = open_store(url)
    yield store
    store.close()


@pytest.fixture
def second(url: str, first: SqlStore) -> Iterator[SqlStore]:
    """The same store as another process has it."""
    store = open_store(url)
    yield store
    store.close()


def test_only_one_of_those_who_saw_the_same_owner_takes_the_run(first: SqlStore, second: SqlStore) -> None:
    first.create_run(owned())
    seen = second.lease("demo-1")
    second.take_run(mine := owned(), seen)
    with pytest.raises(RunTaken, match=f"taken over by process {mine.options.owner.pid} on "):  # type: ignore[union-attr]
        first.take_run(owned(), seen)
    assert second.run("demo-1").options.owner == mine.options.owner


def test_a_run_that_was_taken_stopped_and_let_go_since_is_not_taken_by_what_was_seen_before(
    first: SqlStore, second: SqlStore
) -> None:
    first.create_run(header("demo-1", state=RunState.INTERRUPTED))
    seen = first.lease("demo-1")
    second.take_run(owned(), seen)
    second.update_run(header("demo-1", state=RunState.INTERRUPTED))
    with pytest.raises(RunTaken, match="by another process"):
        first.take_run(owned(), seen)


def test_whatever_the_earlier_owner_writes_is_refused_and_changes_nothing(first: SqlStore, second: SqlStore) -> None:
    first.create_run(mine := owned())
    first.add_samples("demo-1", [sample(case(1), 0)], [case(1)])
    second.take_run(owned(), second.lease("demo-1"))
    second.add_samples("demo-1", [sample(case(2), 1)], [case(2)])
    second.journal("demo-1", [("5/target", {"text": "paid for"})])
    for write in (
        lambda: first.add_samples("demo-1", [sample(case(2), 1)], [case(2)]),
        lambda: first.add_samples("demo-1", [sample(case(3), 2)], [case(3)]),
        lambda: first.journal("demo-1", [("5/target", {"text": "older"})]),
        lambda: first.forget_journal("demo-1"),
        lambda: first.update_run(replace(mine, state=RunState.INTERRUPTED, options=RunFacts())),
    ):
        with pytest.raises(RunTaken, match="discarded what it had not stored"):
            write()
    assert [found.case_id for found, _ in second.samples("demo-1")] == [case(1).id, case(2).id]
    assert second.journalled("demo-1") == {"5/target": {"text": "paid for"}}
    # The new owner goes on to the end.
    second.add_samples("demo-1", [sample(case(3), 2)], [case(3)])
    second.update_run(header("demo-1", state=RunState.ENDED))
    with pytest.raises(RunTaken):
        first.add_samples("demo-1", [sample(case(4), 3)], [case(4)])


def test_heartbeats_are_counted_by_the_clock_of_the_store_and_the_one_who_lost_the_run_is_told(
    first: SqlStore, second: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "BEAT", 0.02)
    # A host whose clock is wrong.
    monkeypatch.setattr(time, "time", lambda: 17.0)
    first.create_run(owned())
    begun = second.lease("demo-1").beats
    deadline = time.monotonic() + 60
    while second.lease("demo-1").beats < begun + 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    age = second.lease("demo-1").age
    assert age is not None
    assert age < 60
    lost: list[RunTaken] = []
    with first.watched("demo-1", lost.append):
        while True:  # the owner is alive, and gives signs of life in between
            try:
                second.take_run(owned(), second.lease("demo-1"))
                break
            except RunTaken:
                assert time.monotonic() < deadline
        while not lost:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert "was taken over by process" in str(lost[0])


def test_a_run_that_this_process_itself_is_running_is_not_free_and_one_that_it_let_go_is(first: SqlStore) -> None:
    first.create_run(owned())
    with pytest.raises(UsageError, match="is still going on in process"):
        free_lease(first, "demo-1", print)
    first.update_run(header("demo-1", state=RunState.INTERRUPTED))
    assert free_lease(first, "demo-1", print).token == ""


def test_a_process_that_is_suspended_in_a_transaction_does_not_keep_its_run(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LONGEST_PAUSE", "500ms")
    first, second = open_store(postgres_database), open_store(postgres_database)
    first.create_run(owned())

    def write_and_pause() -> None:
        with first.database.writing() as session:
            session.execute("SELECT 1 FROM runs WHERE id = 'demo-1' FOR UPDATE")
            second.take_run(owned(), second.lease("demo-1"))  # meanwhile this one says nothing
            session.execute("SELECT 1")

    with pytest.raises(StoreError):
        write_and_pause()
    with pytest.raises(RunTaken):
        first.journal("demo-1", [("1/target", {})])
    first.close()
    second.close()
