"""What is stored stays: ended runs cannot be changed, batches are whole or not there, nothing is lost to kill -9."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from parts.any_judgements import call_results
from parts.judged_samples import ODD, judged
from parts.lengths import examples
from parts.store_processes import StoreProcess, go_at_once, journal_and_keep, write_batches
from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import CallResult, Check, CheckState, Claim, Item, RunState, Signature, Verdict
from steelyard.store.base import Store
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.codec import decode, encode
from steelyard.store.sql import SqlStore, open_store

CASES = [case(1), case(2, tags=())]
PARTS = {"claims": (Claim(0.9, True),), "checks": (Check("n", CheckState.PASSED),), "items": (Item("A"),)}
_numbers = count()


def test_an_ended_run_refuses_updates_and_samples(store: Store) -> None:
    run = header()
    store.create_run(run)
    one = case(1)
    store.add_samples(run.id, [sample(one)], [one])
    run.state = RunState.ENDED
    store.update_run(run)
    with pytest.raises(StoreError, match="demo-1 has ended and cannot be changed"):
        store.update_run(header(verdict=Verdict.PASS))
    with pytest.raises(StoreError, match="demo-1 has ended"):
        store.add_samples(run.id, [sample(case(2))], [case(2)])
    assert store.run("demo-1").verdict is None
    assert [kept.case_id for kept, _ in store.samples("demo-1")] == ["case-0001"]


_CHANGES = [
    "UPDATE runs SET verdict = 'PASS' WHERE id = 'demo-1'",
    "DELETE FROM runs WHERE id = 'demo-1'",
    "UPDATE samples SET score = 1.0",
    "UPDATE samples SET mode = 'rules'",
    "DELETE FROM samples WHERE seq = 1",
    *(f"UPDATE {table} SET run = run" for table in ("layouts", "findings", "tags", "judgements")),
    *(f"DELETE FROM {table}" for table in ("layouts", "findings", "tags", "answers")),
    "UPDATE answers SET text = 'better'",
    "UPDATE calls SET cost = 0",
    "UPDATE calls SET first_byte = 1, queued = 1",
    "INSERT INTO calls (run, seq, latency, started_at, tries, cached, cut_off) "
    "SELECT run, 9, 0, 0, 1, 0, 0 FROM samples WHERE seq = 1; "
    "INSERT INTO samples (run, seq, case_id, variant, repeat, case_hash, call_run, outcome, layout, scores) "
    "SELECT run, 9, case_id, variant, 9, case_hash, run, outcome, layout, scores FROM samples WHERE seq = 1",
    *(f"UPDATE {table} SET content = '[]'" for table in ("claims", "checks", "items", "judge_calls")),
    *(f"DELETE FROM {table}" for table in ("claims", "checks", "items", "judge_calls", "judgements")),
    *(f"INSERT INTO {table} (run, seq, content) VALUES (1, 1, '[]')" for table in ("claims", "checks", "items")),
    "UPDATE judgements SET judge_run = NULL",
    "INSERT INTO judgements (run, seq, content) SELECT run, seq, 'x' FROM samples WHERE seq = 1",
]
"""Every way to change what a run holds."""


def refused(store: SqlStore, statements: str, message: str | None = None) -> None:
    def change() -> None:
        with store.database.writing() as session:
            for statement in statements.split(";"):
                session.execute(statement)

    with pytest.raises(StoreError, match=message):
        change()


def test_the_database_itself_protects_an_ended_run(store: SqlStore) -> None:
    run = header()
    store.create_run(run)
    store.add_samples(run.id, [judged(CASES[0], 0, **PARTS), sample(CASES[1], 1, findings=())], CASES)
    run.state = RunState.ENDED
    store.update_run(run)
    before = list(store.samples(run.id))
    for statements in _CHANGES:
        # PostgreSQL looks at what refers to the calls of a judge before it looks at the run.
        other = "|still referenced from table" if "judge_calls" in statements else ""
        refused(store, statements, "the run has ended and cannot be changed" + other)
        assert list(store.samples(run.id)) == before, statements
    assert store.run(run.id) == run
    # What an ended run holds can still be read and shared.
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [judged(CASES[0])], CASES)
    with store.database.reading() as session:
        assert session.execute("SELECT run, count(*) FROM judge_calls GROUP BY run") == [(1, 1)]


def test_the_database_refuses_to_change_the_log_of_baselines(store: SqlStore) -> None:
    store.create_run(header())
    store.log_baseline(
        BaselineEntry("demo", "release", "demo-1", made_at=5.0, made_by="ada", signature=Signature(), reason="why")
    )
    for statement in ("UPDATE baselines SET reason = ''", "DELETE FROM baselines"):
        refused(store, statement, "the log of baselines only grows")
    assert store.baseline_log()[0].reason == "why"


def test_a_judgement_points_at_calls_that_are_there(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [judged(CASES[0], 0)], CASES)
    if store.database.dialect.name == "sqlite":  # PostgreSQL has no such references, by which deletion took minutes
        refused(store, "DELETE FROM judge_calls")
    assert [vote.member for sample, _ in store.samples("demo-1") for vote in sample.judgement.votes]


def test_a_batch_that_fails_leaves_nothing(store: SqlStore) -> None:
    store.create_run(header())
    broken = judged(CASES[1], 1, call_result=CallResult(text="x", tries=None))  # type: ignore[arg-type] - a row the database refuses
    with pytest.raises(StoreError):
        store.add_samples("demo-1", [judged(CASES[0], 0, **PARTS), broken], CASES)
    assert list(store.samples("demo-1")) == []
    assert (store.checks("demo-1").n, store.claims("demo-1").n, list(store.items("demo-1"))) == (0, 0, [])
    kept = ("cases", "calls", "answers", "findings", "tags", "layouts", "judge_calls", "judgements")
    with store.database.reading() as session:
        for table in (*kept, *PARTS):
            assert session.execute(f"SELECT count(*) FROM {table}") == [(0,)], table
    store.add_samples("demo-1", [sample(CASES[0])], CASES)


def test_a_sample_kept_twice_is_refused_with_its_whole_batch(store: Store) -> None:
    store.create_run(header())
    one, two = case(1), case(2)
    store.add_samples("demo-1", [sample(one)], [one])
    with pytest.raises(StoreError, match="already holds the sample for case 'case-0001', repeat 0"):
        store.add_samples("demo-1", [sample(two), sample(one, score=0.1)], [one, two])
    assert [(kept.case_id, kept.score) for kept, _ in store.samples("demo-1")] == [("case-0001", 0.8)]
    store.add_samples("demo-1", [sample(two)], [two])


def test_a_place_in_the_plan_is_taken_once(store: Store) -> None:
    store.create_run(header())
    one, two = case(1), case(2)
    store.add_samples("demo-1", [sample(one, 5)], [one])
    with pytest.raises(StoreError, match="the same place in the plan: nothing of this batch was stored"):
        store.add_samples("demo-1", [sample(two, 5)], [two])
    assert list(store.columns("demo-1").case_ids) == [one.id]


def test_the_journal_gives_back_what_it_was_given(store: Store) -> None:
    store.create_run(header())
    store.create_run(header("demo-2"))
    store.journal("demo-1", [("0/target", {"text": ODD, "deep": [1, 1.0, True, None]}), (ODD, {"text": None})])
    store.journal("demo-2", [("0/target", {"text": "of another run"})])
    assert store.journalled("demo-1") == {"0/target": {"text": ODD, "deep": [1, 1.0, True, None]}, ODD: {"text": None}}
    assert store.journalled("demo-1", [ODD, "unknown"]) == {ODD: {"text": None}}
    assert store.journalled("demo-1", []) == {}


@given(given_=call_results)
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_attempt_comes_back_from_the_journal_equal(store: Store, given_: CallResult) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    store.journal(run, [("0/target", encode(given_))])
    assert decode(CallResult, store.journalled(run)["0/target"]) == given_


def test_a_newer_entry_takes_the_place_of_an_older_one(store: Store) -> None:
    store.create_run(header())
    store.journal("demo-1", [("k", {"n": 1}), ("k", {"n": 2}), ("other", {"n": 9})])
    assert store.journalled("demo-1", ["k"]) == {"k": {"n": 2}}
    store.journal("demo-1", [("k", {"n": 3})])
    store.journal("demo-1", [])
    assert store.journalled("demo-1") == {"k": {"n": 3}, "other": {"n": 9}}


def test_more_keys_are_asked_for_than_a_statement_has_places(store: Store) -> None:
    store.create_run(header())
    keys = [f"{number}/judge" for number in range(1_200)]
    store.journal("demo-1", [(key, {"key": key}) for key in keys])
    assert store.journalled("demo-1", keys) == {key: {"key": key} for key in keys}


def test_a_complete_sample_needs_its_journal_no_more(store: Store) -> None:
    store.create_run(header())
    store.journal("demo-1", [("0/target", {}), ("0/judge", {}), ("1/target", {})])
    store.add_samples("demo-1", [judged(case(0), 0)], [case(0)], forget=["0/target", "0/judge", "0/never"])
    assert store.journalled("demo-1") == {"1/target": {}}


def test_a_batch_that_is_refused_forgets_nothing(store: Store) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(case(0), 0)], [case(0)])
    store.journal("demo-1", [("0/target", {})])
    with pytest.raises(StoreError, match="already holds"):
        store.add_samples("demo-1", [sample(case(0), 0)], [case(0)], forget=["0/target"])
    assert store.journalled("demo-1") == {"0/target": {}}


def test_a_run_that_ends_forgets_its_own_journal_only(store: Store) -> None:
    for run_id in ("demo-1", "demo-2"):
        store.create_run(header(run_id))
        store.journal(run_id, [("k", {"of": run_id})])
    store.forget_journal("demo-1")
    store.update_run(header(state=RunState.ENDED))
    assert store.journalled("demo-1") == {}
    assert store.journalled("demo-2") == {"k": {"of": "demo-2"}}
    with pytest.raises(StoreError, match="demo-1 has ended"):
        store.journal("demo-1", [("k", {})])
    store.forget_journal("demo-1")


def test_what_was_committed_survives_kill_9(url: str) -> None:
    process = StoreProcess(write_batches, url, "run-0", 10_000)
    go_at_once([process])
    told = [process.read() for _ in range(5)]
    process.kill()
    told += process.read_rest()
    process.end()
    store = open_store(url)
    kept = [one.position for one, _ in store.samples("run-0")]
    assert len(kept) >= max(told)
    assert kept == list(range(len(kept)))
    assert len(kept) % 10 == 0, "a batch is kept whole or not at all"
    store.close()


def test_no_paid_for_answer_is_lost_to_kill_9(url: str) -> None:
    process = StoreProcess(journal_and_keep, url)
    told = [process.read() for _ in range(11)]
    process.kill()
    told += process.read_rest()
    process.end()
    store = open_store(url)
    journalled = store.journalled("demo-1")
    kept = {one.position: one for one, _ in store.samples("demo-1")}
    for key in told:
        # An answer is in the journal until it is in a complete sample, and never in both.
        assert (key in journalled) != (int(key.partition("/")[0]) in kept), key
    # It may have been killed before it told: the journal may know one call more.
    assert journalled.keys() <= {f"{len(kept)}/target", f"{len(kept)}/judge/0"}
    assert list(kept) == list(range(len(kept)))
    assert all(one.judgement == judged(case(0)).judgement for one in kept.values())
    store.close()
