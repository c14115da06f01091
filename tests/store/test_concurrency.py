"""Several processes and threads share one store, on both databases: nothing is lost, doubled or seen by halves."""

from __future__ import annotations

import threading
import time

import pytest

from parts.store_processes import StoreProcess, go_at_once, open_and_close, write_batches
from parts.stored import case, header, sample
from steelyard.records import Item, Sample
from steelyard.store import packed_columns
from steelyard.store.alert_log import close_alert
from steelyard.store.base import Store
from steelyard.store.schema import MIGRATIONS
from steelyard.store.sql import SqlStore, open_store


def test_two_processes_may_open_a_new_store_at_once(url: str) -> None:
    processes = [StoreProcess(open_and_close, url) for _ in range(3)]
    go_at_once(processes)
    assert [process.end() for process in processes] == [0, 0, 0]
    store = open_store(url)
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM migrations") == [(len(MIGRATIONS),)]
    store.close()


def test_several_processes_write_runs_of_the_same_cases_into_one_store_while_another_reads(url: str) -> None:
    store = open_store(url)
    processes = [StoreProcess(write_batches, url, f"run-{number}", 30) for number in range(4)]
    go_at_once(processes)
    seen = [0]
    while any(process.is_running() for process in processes):
        seen.append(store.columns("run-0").n)
        time.sleep(0.01)
    assert [process.end() for process in processes] == [0, 0, 0, 0]
    assert seen == sorted(seen)
    for number in range(4):
        assert [one.position for one, _ in store.samples(f"run-{number}")] == list(range(300))
    store.close()


def test_many_threads_share_one_store(url: str) -> None:
    store = open_store(url)
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            store.create_run(header(f"run-{number}"))
            for _ in range(5):
                assert store.run(f"run-{number}").id == f"run-{number}"
                store.cache([(f"key-{number}", {"n": number})])
        except Exception as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.runs()) == 8
    # Connections of threads that have ended do not pile up.
    store_thread = threading.Thread(target=store.runs)
    store_thread.start()
    store_thread.join()
    assert len(store.database._all) <= 3
    store.close()


def test_samples_written_from_another_thread_are_seen_at_once(store: Store) -> None:
    store.create_run(header())
    of = case(1)
    writer = threading.Thread(target=store.add_samples, args=("demo-1", [sample(of)], [of]))
    writer.start()
    writer.join()
    assert [one.case_id for one, _ in store.samples("demo-1")] == [of.id]


def test_a_run_can_be_written_while_its_samples_are_read(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(700)]
    store.add_samples("demo-1", [sample(of, number) for number, of in enumerate(cases)], cases)
    reading = store.samples("demo-1")
    next(reading)
    late = case(700)
    store.add_samples("demo-1", [sample(late, 700)], [late])
    assert sum(1 for _ in reading) == 700


def test_a_sample_added_while_items_are_read_moves_no_position(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_columns, "PAGE", 1)
    cases = [case(number) for number in range(4)]

    def with_item(number: int, position: int) -> Sample:
        return sample(cases[number], position, items=(Item(f"of {number}"),))

    store.create_run(header())
    store.add_samples("demo-1", [with_item(0, 0), with_item(2, 7)], cases)
    reading = store.items("demo-1")
    assert next(reading) == (0, (Item("of 0"),))
    store.add_samples("demo-1", [with_item(1, 3), with_item(3, 9)], cases)
    assert list(reading) == [(1, (Item("of 2"),))]


def test_one_view_does_not_see_what_is_written_meanwhile(url: str) -> None:
    store, writer = open_store(url), open_store(url)
    cases = [case(number) for number in range(5)]
    store.create_run(header())
    writer.add_samples("demo-1", [sample(of) for of in cases[:2]], cases)

    def read() -> None:
        assert store.columns("demo-1").n == 2
        writer.add_samples("demo-1", [sample(of) for of in cases[2:]], cases)
        assert store.columns("demo-1").n == len(list(store.samples("demo-1"))) == 2

    store.one_view(read)
    assert store.columns("demo-1").n == 5
    for each in (store, writer):
        each.close()


def test_an_alert_that_two_close_at_once_is_closed_by_one(store: SqlStore) -> None:
    for number in (1, 2, 3):
        store.create_run(header(f"demo-{number}"))
    kept = store.open_alert("demo", "cause", "demo-1", {})
    database, second = store.database, []
    late = threading.Thread(target=lambda: second.append(store.close_alert(kept.number, "demo-3", {})))
    with database.writing() as session:
        assert close_alert(session, kept.number, 2, {}, database.dialect.lock_rows)
        late.start()
        # Time for the other to look while this is not kept yet; that it is shut out does not depend on it.
        late.join(0.2)
    late.join(30)
    assert second == [False]
