"""A store as the version before judges left it: made by the first three migrations, its rows by hand."""

from __future__ import annotations

import pytest

from parts.judged_samples import judged, judgement
from parts.stored import case, header
from steelyard.errors import StoreError
from steelyard.records import Mark, RunState
from steelyard.store import migrate as migrate_module
from steelyard.store.base import Spending
from steelyard.store.open import open_store
from steelyard.store.rows import RUN_COLUMNS, case_row, run_row
from steelyard.store.schema import MIGRATIONS
from steelyard.store.sql import SqlStore

CASES = [case(0, tags=()), case(1, tags=())]
THEN_ATTEMPT = ("run", "seq", "latency", "started_at", "tries", "cached")
THEN_SAMPLE = (
    *("run", "seq", "case_id", "variant", "repeat", "case_hash", "attempt_run", "outcome", "score", "passed", "band"),
    *("category", "difficulty", "rung", "layout", "scores", "details", "marks"),
)
MARKS = '[[0.0,0.25,0.5,1.0,"chair"]]'


def written_before(url: str, state: RunState) -> SqlStore:
    """One run with one sample, opened by this version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate_module, "MIGRATIONS", MIGRATIONS[:3])
        store = open_store(url)
    with store.database.writing() as session:
        session.insert("runs", RUN_COLUMNS, [run_row(header())])
        session.insert("cases", ("id", "hash", "content"), [case_row(CASES[0])])
        session.insert("layouts", ("run", "number", "content"), [(1, 0, '[["title",70.0,"seen"]]')])
        session.insert("attempts", THEN_ATTEMPT, [(1, 0, 0.25, 1001.5, 1, 0)])
        session.insert("answers", ("run", "seq", "text"), [(1, 0, "one")])
        row = (1, 0, "case-0000", "", 0, case_row(CASES[0])[1], 1, "scored", 0.5, 1, "Good", "even", "easy", "whole")
        session.insert("samples", THEN_SAMPLE, [(*row, 0, "[0.5,3]", None, MARKS)])
        session.execute("UPDATE runs SET state = ? WHERE number = 1", (state.value,))
    store.close()
    return open_store(url, create=False)


def test_the_samples_of_an_older_store_load_without_a_judgement(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    ((back, of),) = store.samples("demo-1")
    assert of == CASES[0]
    assert (back.judgement, back.mode, back.attempt.text) == (None, None, "one")
    assert (back.marks, back.scores[0].counts) == ((Mark((0.0, 0.25, 0.5, 1.0), "chair"),), {"seen": 3})
    columns = store.columns("demo-1")
    assert (columns.mode.tolist(), columns.modes) == ([-1], [])
    assert list(store.judgements("demo-1")) == []
    assert store.judge_spending("demo-1") == Spending()
    assert store.journalled("demo-1") == {}
    store.close()


def test_an_ended_run_of_an_older_store_is_given_no_judgement(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    for statement in (
        "INSERT INTO judgements (run, seq, content) VALUES (1, 0, '{}')",
        "UPDATE samples SET mode = 'model'",
    ):
        with pytest.raises(StoreError, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(statement)
    store.close()


def test_an_unfinished_run_of_an_older_store_is_taken_up_with_a_judge(url: str) -> None:
    store = written_before(url, RunState.INTERRUPTED)
    store.journal("demo-1", [("1/target", {"text": "two"})])
    store.add_samples("demo-1", [judged(CASES[1], 1)], CASES, forget=["1/target"])
    assert [one.judgement for one, _ in store.samples("demo-1")] == [None, judgement()]
    assert store.columns("demo-1").mode.tolist() == [-1, 0]
    assert store.journalled("demo-1") == {}
    store.close()


def test_an_answer_of_an_older_store_can_be_judged_later(url: str) -> None:
    store = written_before(url, RunState.ENDED)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [judged(CASES[0])], CASES)
    ((back, _),) = store.samples("demo-2")
    assert (back.judgement, back.attempt.text) == (judgement(), "one")
    assert [one.judgement for one, _ in store.samples("demo-1")] == [None]
    store.close()
