"""Runs are deleted whole, with what only they need, and never when something else stands on them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from parts.command import invoke
from parts.every_part import fill_with_everything
from parts.judged_samples import judged
from parts.small_suite import write_suite
from parts.store_processes import StoreProcess, delete_and_stop, go_at_once, hold_open, write_batches
from parts.stored import case, header, keep_figures, sample
from steelyard.errors import RunNotFound
from steelyard.records import CallResult, RunFacts, RunHeader, RunState, Signature
from steelyard.store import deletion
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.copy import OF_A_RUN
from steelyard.store.deletion import Deletion, plan_deletion, unfinished_deletions
from steelyard.store.deletion import delete_runs as delete_planned
from steelyard.store.people import LabelRecord, Queue, QueuePlan
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import SqlStore, open_store


def delete_runs(store: SqlStore, run_ids: list[str], going_on: Collection[str]) -> Deletion:
    def goes_on(run: RunHeader) -> bool:
        return run.id in going_on

    return delete_planned(store, plan_deletion(store, run_ids, goes_on), goes_on)


def put(store: SqlStore, name: str, *numbers: int, rescored: str | None = None, **facts: object) -> None:
    """An ended run of some cases."""
    made = {"created_at": 2000.0 + len(store.runs()), "rescored_from": rescored, "options": RunFacts(**facts)}
    store.create_run(header(name, **made))
    cases = [case(number) for number in numbers]
    if rescored is None:
        store.add_samples(name, [sample(item) for item in cases], cases)
    else:
        store.add_rescored(name, rescored, [sample(item) for item in cases], cases)
    store.update_run(header(name, **made, state=RunState.ENDED))


def rows(store: SqlStore, table: str) -> int:
    with store.database.reading() as session:
        return int(session.execute(f"SELECT count(*) FROM {table}")[0][0])


def test_a_run_goes_with_all_its_rows_and_the_cases_that_no_other_has(store: SqlStore, tmp_path: Path) -> None:
    put(store, "stays-1", 1, 50)
    tables = (*OF_A_RUN, "runs", "cases")
    write_snapshot(store, "stays-1", tmp_path / "before.json")
    before = {table: rows(store, table) for table in tables}
    fill_with_everything(store)
    keep_figures(store, "demo-1")
    assert all(rows(store, table) > before[table] for table in tables if table not in ("journal", "stored_columns"))
    planned = plan_deletion(store, ["demo-1"], lambda _: False)
    assert [(item.run, item.samples) for item in planned.runs] == [("demo-1", len(list(store.samples("demo-1"))))]
    assert planned.bytes > 1_000
    done = delete_runs(store, ["demo-1"], ())
    assert (done.runs, done.left) == (planned.runs, {})
    assert {table: rows(store, table) for table in tables} == before
    with pytest.raises(RunNotFound):
        store.run("demo-1")
    write_snapshot(store, "stays-1", tmp_path / "after.json")
    assert (tmp_path / "after.json").read_bytes() == (tmp_path / "before.json").read_bytes()


def test_ended_runs_are_guarded_again_after_a_deletion(store: SqlStore) -> None:
    put(store, "a-1", 1)
    put(store, "b-1", 1)
    delete_runs(store, ["a-1"], ())
    for sql in ("DELETE FROM findings", "UPDATE runs SET version = 'x'", "DELETE FROM answers"):
        with pytest.raises(Exception, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(sql)


def test_a_run_that_something_stands_on_is_left_with_the_reason_and_goes_with_it(store: SqlStore) -> None:
    for name in ("base-1", "old-1", "label-1", "source-1", "going-1", "plain-1"):
        put(store, name, 1)
    put(store, "scored-1", 1, rescored="source-1")
    put(store, "scored-2", 1, rescored="scored-1")
    put(store, "resumed-1", 1, resumed_from="plain-1")
    store.log_baseline(BaselineEntry("demo", "release", "base-1", 5.0, "ada", signature=Signature()))
    store.log_baseline(BaselineEntry("demo", "previous", "old-1", 5.0, "ada", signature=Signature()))
    store.log_baseline(BaselineEntry("demo", "previous", "old-1", 6.0, "ada", removed=True, signature=Signature()))
    store.people.add_labels([LabelRecord("demo", case(1).id, "ada", "verdict", True, "label-1")])
    alert = store.open_alert("demo", "cause", "resumed-1", {"what": "x"})
    assert alert is not None
    ids = [run.id for run in store.runs() if run.id != "scored-2"]
    done = delete_runs(store, ids, ["going-1"])
    assert done.runs == []
    assert done.left == {
        "base-1": "it is the baseline release",
        "old-1": "the log of baselines names it (previous)",
        "label-1": "people have labelled its answers",
        "going-1": "it is under way",
        "scored-1": "run scored-2 stands on its answers",
        # The answers of a run that was rescored twice are those of the first.
        "source-1": "run scored-2 stands on its answers",
        "resumed-1": "an alert that is open names it",
        "plain-1": "run resumed-1 stands on its answers",
    }
    store.close_alert(alert.number, "resumed-1", {"kind": "over"})
    done = delete_runs(store, [*ids, "scored-2"], ["going-1"])
    assert sorted(item.run for item in done.runs) == ["plain-1", "resumed-1", "scored-1", "scored-2", "source-1"]
    assert rows(store, "alerts") == 0


def test_what_was_drawn_to_be_labelled_and_is_not_yet_goes_with_the_run(store: SqlStore) -> None:
    put(store, "a-1", 1)
    store.people.add_places(Queue("a-1"), QueuePlan("verdict"), [((case(1).id, "", 0), "random")])
    assert [item.run for item in delete_runs(store, ["a-1"], ()).runs] == ["a-1"]
    assert (rows(store, "label_queue"), rows(store, "label_plans")) == (0, 0)


def test_a_judged_run_that_was_rescored_is_needed_by_the_other(store: SqlStore) -> None:
    put(store, "a-1")
    store.create_run(header("j-1", created_at=1.0))
    store.add_samples("j-1", [judged(case(1))], [case(1)])
    store.update_run(header("j-1", created_at=1.0, state=RunState.ENDED))
    store.create_run(header("j-2", created_at=2.0, rescored_from="j-1"))
    store.add_rescored("j-2", "j-1", [judged(case(1))], [case(1)])
    assert list(delete_runs(store, ["j-1"], ()).left) == ["j-1"]
    assert len(delete_runs(store, ["j-1", "j-2"], ()).runs) == 2


def test_the_file_becomes_smaller_and_no_number_is_given_twice(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "runs.db"))
    put(store, "a-1", 1)
    store.create_run(header("big-1", created_at=1.0))
    # Texts that do not pack well.
    texts = ["".join(chr(97 + (k * k * 7919 + n) % 26) for k in range(n, n + 3_000)) for n in range(100)]
    cases = [case(100 + n) for n in range(100)]
    samples = [sample(item, call_result=CallResult(text=text)) for item, text in zip(cases, texts, strict=True)]
    store.add_samples("big-1", samples, cases)
    done = delete_runs(store, ["big-1"], ())
    assert done.freed is not None
    assert done.freed > 50_000
    put(store, "c-1", 1)
    with store.database.reading() as session:
        numbers = dict(session.execute("SELECT id, number FROM runs"))
    # The deleted run had number 2.
    assert numbers == {"a-1": 1, "c-1": 3}
    store.close()


def test_others_write_and_read_between_the_steps_of_a_deletion(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = open_store(url), open_store(url)
    put(store, "gone-1", *range(300))
    put(store, "gone-2", *range(250, 500))
    put(store, "stays-1", *range(200, 300))
    other.create_run(header("new-1", created_at=1.0))
    seen: list[list[str]] = []

    def pause(_seconds: float) -> None:
        # In the place of the pause, another connection writes: it needs no luck to find the store free.
        of = case(1_000 + len(seen))
        other.add_samples("new-1", [sample(of, len(seen))], [of])
        seen.append([run.id for run in other.runs()])
        with pytest.raises(RunNotFound):
            other.columns("gone-1")

    monkeypatch.setattr(deletion.time, "sleep", pause)
    delete_runs(store, ["gone-1", "gone-2"], ())
    assert len(seen) > 20
    # Never a run in part: it is there with all its samples, or not at all.
    assert all(ids == ["stays-1", "new-1"] for ids in seen)
    assert rows(store, "deletions") == 0
    assert len(list(other.samples("new-1"))) == len(seen)
    assert [of.id for of in store.cases("stays-1")] == [case(number).id for number in range(200, 300)]
    assert rows(store, "cases") == 100 + len(seen)
    for each in (store, other):
        each.close()


def test_the_file_is_not_rewritten_while_another_process_has_it_open(tmp_path: Path) -> None:
    url = str(tmp_path / "runs.db")
    store = open_store(url)
    for name in ("a-1", "b-1"):
        put(store, name, *range(500))
    reader = StoreProcess(hold_open, url)
    assert reader.read() == "ready"
    size = Path(url).stat().st_size
    done = delete_runs(store, ["a-1"], ())
    assert (done.not_shrunk, done.freed) == ("another process has the store open", 0)
    assert Path(url).stat().st_size >= size
    reader.go()
    assert reader.end() == 0
    done = delete_runs(store, ["b-1"], ())
    assert (done.not_shrunk, (done.freed or 0) > size / 2) == ("", True)
    # The file is written as before.
    with store.database.reading() as session:
        assert session.execute("PRAGMA journal_mode") == [("wal",)]
        assert session.execute("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_two_processes_write_on_while_25_runs_are_deleted(url: str) -> None:
    store = open_store(url)
    names = [f"small-{number}" for number in range(25)]
    for name in names:
        put(store, name, *range(40))
    writers = [StoreProcess(write_batches, url, f"writer-{number}", 30) for number in range(2)]
    go_at_once(writers)
    done = delete_runs(store, names, ())
    assert len(done.runs) == 25
    assert [writer.end() for writer in writers] == [0, 0]
    assert {run.id for run in store.runs()} == {"writer-0", "writer-1"}
    for number in range(2):
        assert [one.position for one, _ in store.samples(f"writer-{number}")] == list(range(300))
    assert {table: rows(store, table) for table in ("samples", "calls", "deletions")} == {
        "samples": 600,
        "calls": 600,
        "deletions": 0,
    }
    store.close()


def test_a_deletion_that_was_killed_is_finished_by_the_next(url: str) -> None:
    store = open_store(url)
    put(store, "stays-1", 1, 2)
    keep_figures(store, "stays-1")
    tables = (*OF_A_RUN, "runs", "cases")
    before = {table: rows(store, table) for table in tables}
    for name in ("a-1", "b-1"):
        put(store, name, *range(300))
    killed = StoreProcess(delete_and_stop, url, ["a-1", "b-1"], 4)
    assert killed.read() == "stopped"
    killed.kill()
    killed.end()
    assert [run.id for run in store.runs()] == ["stays-1"]
    assert (unfinished_deletions(store), rows(store, "samples") > 2) == (["a-1", "b-1"], True)
    assert {run.id for run in store.deleted_runs()} == {"a-1", "b-1"}
    assert "the deletion of 2 runs is not finished (a-1, b-1)" in invoke("runs", "--store", url)
    # The same command again finishes it; so does one without a name.
    assert "2 runs deleted" in invoke("runs", "delete", "a-1", "b-1", "--yes", "--store", url)
    assert {table: rows(store, table) for table in tables} == before
    assert unfinished_deletions(store) == []
    assert len(list(store.samples("stays-1"))) == 2
    assert "name the runs to delete" in invoke("runs", "delete", "--store", url, code=2)
    store.close()


def test_a_row_is_deleted_without_a_search_of_the_rows_of_other_runs(tmp_path: Path) -> None:
    def work(others: int) -> int:
        """Thousands of steps of SQLite's machine."""
        url = str(tmp_path / f"{others}.db")
        store, second = open_store(url), open_store(url)
        put(store, "other-1", *range(10_000, 10_000 + others))
        put(store, "gone-1", *range(200))
        planned, steps = plan_deletion(store, ["gone-1"], lambda _: False), [0]

        def count() -> None:
            steps[0] += 1

        second.runs()
        store.database._connection().set_progress_handler(count, 1_000)
        delete_planned(store, planned, lambda _: False)
        for each in (store, second):
            each.close()
        return steps[0]

    # 600 rows (calls, samples, cases), each searched for among 3,000 samples, were 100 times as many.
    assert work(3_000) < 2 * work(30)


def test_a_run_that_is_deleted_while_it_is_read_does_not_end_early(store: SqlStore) -> None:
    put(store, "a-1", *range(700))
    reading = store.samples("a-1")
    next(reading)
    delete_runs(store, ["a-1"], ())
    with pytest.raises(RunNotFound, match="deleted while it was read"):
        list(reading)


def test_the_commands_say_sizes_ask_and_keep_the_newest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = write_suite(tmp_path / "my", n=3)
    for _ in range(4):
        invoke("run", suite, "--quiet")
    ids = [run["id"] for run in json.loads(invoke("runs", "--json"))]
    invoke("baseline", "set", ids[3], "--name", "release")
    assert "2 runs to delete, about" in invoke("runs", "prune", "--keep", 1, "--dry-run")
    assert "confirmation needs a terminal" in invoke("runs", "prune", "--keep", 1, code=2)
    assert len(json.loads(invoke("runs", "--json"))) == 4
    data = json.loads(invoke("runs", "prune", "--keep", 1, "--suite", "words", "--yes", "--json"))
    assert ([item["run"] for item in data["runs"]], data["deleted"]) == (ids[1:3], True)
    assert data["left"] == [{"run": ids[3], "why": "it is the baseline release"}]
    assert [run["id"] for run in json.loads(invoke("runs", "words", "--json"))] == [ids[0], ids[3]]
    assert "NOT DELETED" in invoke("runs", "delete", ids[3], "--yes", code=2)
    assert "1 run deleted; the store is" in invoke("runs", "delete", "LAST", "--yes")
    assert "there is no run of a suite none" in invoke("runs", "prune", "--keep", 1, "--suite", "none", code=2)
    open_store(str(tmp_path / "empty.db")).close()
    assert "there is no run here, and nothing to delete" in invoke(
        "runs", "prune", "--keep", 1, "--store", "empty.db", code=2
    )


def test_a_run_that_somebody_resumes_between_question_and_answer_is_left(store: SqlStore) -> None:
    def goes_on(run: RunHeader) -> bool:
        return run.state is RunState.RUNNING

    store.create_run(header("a-1"))
    store.add_samples("a-1", [sample(case(1))], [case(1)])
    store.update_run(header("a-1", state=RunState.INTERRUPTED))
    planned = plan_deletion(store, ["a-1"], goes_on)
    assert [item.run for item in planned.runs] == ["a-1"]
    # While a person reads what would be deleted, another process goes on with it.
    store.update_run(header("a-1", state=RunState.RUNNING))
    done = delete_planned(store, planned, goes_on)
    assert (done.runs, done.left) == ([], {"a-1": "it is under way"})
    assert len(list(store.samples("a-1"))) == 1
