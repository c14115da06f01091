"""A store copied between SQLite and PostgreSQL: everything, once, and nothing that is there is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.command import invoke
from parts.every_part import fill_with_everything
from parts.judged_samples import judged
from parts.stored import case, header, keep_figures, sample
from steelyard.errors import StoreError, UsageError
from steelyard.records import CallResult, Owner, RunFacts, RunState, Signature
from steelyard.store import copy as copy_module
from steelyard.store.alert_log import SENT, Delivery
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.copy import NOT_COPIED, OF_A_RUN, REST, copy_store
from steelyard.store.deletion import delete_runs, plan_deletion
from steelyard.store.experiment_log import OnlineReading
from steelyard.store.people import LabelRecord, Queue, QueuePlan
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import SqlStore, open_store

QUEUE, OTHER = Queue("demo-1"), Queue("demo-1", "demo-2")


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def urls(request: pytest.FixtureRequest, postgres_database: str, tmp_path: Path) -> tuple[str, str]:
    file = str(tmp_path / "one.db")
    return (file, postgres_database) if request.param.startswith("sqlite") else (postgres_database, file)


@pytest.fixture
def source(urls: tuple[str, str]) -> Iterator[SqlStore]:
    store = open_store(urls[0])
    fill_store(store)
    yield store
    store.close()


@pytest.fixture
def target(urls: tuple[str, str]) -> Iterator[SqlStore]:
    store = open_store(urls[1])
    yield store
    store.close()


def fill_store(store: SqlStore) -> None:
    """Something in every table."""
    fill_with_everything(store)
    keep_figures(store, "demo-1")
    store.create_run(header("demo-2", rescored_from="demo-1", created_at=1001.0))
    store.add_rescored("demo-2", "demo-1", [judged(case(1))], [case(1)])
    store.update_run(header("demo-2", rescored_from="demo-1", created_at=1001.0, state=RunState.ENDED))
    store.create_run(header("open-1", created_at=1002.0, state=RunState.INTERRUPTED))
    # In SQLite such an answer is packed, in PostgreSQL it is not.
    store.add_samples("open-1", [sample(case(3), 0, call_result=CallResult(text="a long answer " * 500))], [case(3)])
    store.journal("open-1", [("1/target", {"text": "é\x00"}), ("Z", {}), ("a", {})])
    for number, run in enumerate(("demo-1", "demo-2")):
        store.log_baseline(
            BaselineEntry("demo", "release", run, 5.0 + number, "ada", signature=Signature(others={"a": 1}))
        )
    alert = store.open_alert("demo", "cause", "demo-1", {"what": "é"})
    assert alert is not None
    store.log_deliveries([Delivery(alert.number, "raised", "mail", SENT, 1, 1.0)])
    people = store.people
    people.add_labels([LabelRecord("demo", case(1).id, "ada", "verdict", True)])
    items = [((case(1).id, "", 0), "random"), ((case(2).id, "", 0), "random")]
    people.add_places(QUEUE, QueuePlan("verdict"), items)
    place = people.next_place(QUEUE, "Ada", 60.0)
    assert place is not None
    people.fill(place, LabelRecord("demo", place.case_id, "ada", "verdict", False, "demo-1"), again=True)
    people.add_places(OTHER, QueuePlan("preference"), items[:1])
    people.withdraw(people.add_labels([LabelRecord("demo", case(1).id, "bob", "verdict", True, "demo-2")])[0])
    store.cache([("key", {"text": "cached"})])
    store.log_reading(OnlineReading("live", 7.0, 100, "CANNOT TELL", {"planned": 200}))
    store.create_run(header("gone-1", created_at=1003.0, state=RunState.INTERRUPTED))
    delete_runs(store, plan_deletion(store, ["gone-1"], lambda _: False), lambda _: False)


def copied(source: SqlStore, target: SqlStore) -> copy_module.Copied:
    return copy_store(source, target, (), lambda _: None)


def everything(store: SqlStore, folder: Path) -> list[object]:
    """All that a store gives back, without the numbers of its rows."""
    found: list[object] = [
        store.deleted_runs(),
        store.readings("live"),
        store.baseline_log(),
        store.cached("key"),
        store.journalled("open-1"),
    ]
    for run in store.runs():
        write_snapshot(store, run.id, folder / "run.json")
        found.append((folder / "run.json").read_text())
    found += [[one.cause, one.content, store.deliveries([one.number])[0].channel] for one in store.alerts()]
    for label in store.people.labels():
        found.append((label.key, label.person, label.value, label.run_id, label.labelled_at))
    found += [store.people.everybody(), store.people.plan(QUEUE), store.people.progress(QUEUE)]
    found += [store.people.queued(QUEUE), store.people.queued(OTHER)]
    return found


def count(store: SqlStore, table: str) -> int:
    with store.database.reading() as session:
        return int(session.execute(f"SELECT count(*) FROM {table}")[0][0])


def test_everything_is_copied_once_and_a_second_copy_changes_nothing(
    source: SqlStore, target: SqlStore, tmp_path: Path
) -> None:
    done = copied(source, target)
    assert (done.runs, done.there, done.left) == (["demo-1", "demo-2", "open-1"], [], [])
    assert done.samples == sum(len(list(source.samples(run.id))) for run in source.runs())
    tables = (*OF_A_RUN, *REST, "runs", "cases", "cache")
    counts = {table: count(source, table) for table in tables}
    assert 0 not in {table: n for table, n in counts.items() if table != "stored_columns"}.values(), counts
    assert {table: count(target, table) for table in tables} == counts
    assert everything(target, tmp_path) == everything(source, tmp_path)
    again = copied(source, target)
    assert (again.runs, again.there, again.left) == ([], ["demo-1", "demo-2", "open-1"], [])
    # And back: what comes from there is known here.
    back = copied(target, source)
    assert (back.runs, back.left) == ([], [])
    assert {table: count(source, table) for table in tables} == counts


def test_the_copy_knows_every_table(source: SqlStore) -> None:
    postgres = source.database.dialect.name == "postgresql"
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    with source.database.reading() as session:
        rows = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'steelyard'" if postgres else sql)
    known = {*OF_A_RUN, *REST, *NOT_COPIED, "runs", "cases", "cache"}
    assert {row[0] for row in rows} == known - ({"commits"} if not postgres else set())


def test_what_differs_is_named_and_left_as_it_is(source: SqlStore, target: SqlStore) -> None:
    target.create_run(header("demo-1"))
    target.create_run(header("mine", created_at=1.0))
    target.log_baseline(BaselineEntry("demo", "release", "mine", 1.0, "bob"))
    target.open_alert("demo", "cause", "mine", {})
    target.people.add_labels([LabelRecord("demo", case(1).id, "ada", "verdict", False)])
    done = copied(source, target)
    assert done.runs == ["open-1"]
    said = "\n".join(done.left)
    assert "holds a run demo-1 with other content: it was left as it is" in said
    assert "run demo-2 has answers of run demo-1, which was not copied: it was left out" in said
    assert target.run("demo-1").state is RunState.RUNNING
    for what in ("the baseline of demo / release", "the alert of demo / cause", "the label of demo / "):
        assert what in said
    assert [one.run_id for one in target.baseline_log()] == ["mine"]
    assert [one.value for one in target.people.labels()] == [False]


def test_a_log_that_has_gone_on_is_gone_on_with(source: SqlStore, target: SqlStore) -> None:
    copied(source, target)
    source.log_baseline(BaselineEntry("demo", "release", "demo-1", 9.0, "ada"))
    assert copied(source, target).left == []
    assert target.baseline_log() == source.baseline_log()
    target.log_baseline(BaselineEntry("demo", "release", "demo-2", 10.0, "bob"))
    assert copied(source, target).left == []
    assert len(target.baseline_log()) == 4


def test_a_run_is_copied_whole_or_not_at_all(
    source: SqlStore, target: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        # As if the database had given back something else.
        patched.setattr(copy_module, "_run_digest", lambda session, run: None)
        with pytest.raises(StoreError, match=r"demo-1 was not the same in .* nothing of it was kept"):
            copied(source, target)
    assert target.runs() == []
    assert copied(source, target).left == []


def test_a_run_that_goes_on_is_left_out_and_the_command_says_so(urls: tuple[str, str], source: SqlStore) -> None:
    owner = Owner(1, "another machine", "")
    source.create_run(header("now-1", options=RunFacts(owner=owner), created_at=2000.0))
    said = json.loads(invoke("store", "copy", *urls, "--json", code=2))
    assert said["left"] == ["run now-1 is still running: copy again when it has ended"]
    assert len(said["runs"]) == 3
    assert "0 runs copied with 0 samples, 3 were there" in invoke("store", "copy", *urls, code=2)


def test_a_store_is_not_copied_into_itself(source: SqlStore, urls: tuple[str, str]) -> None:
    again = open_store(urls[0])
    with pytest.raises(UsageError, match="name two stores"):
        copied(source, again)
    again.close()
