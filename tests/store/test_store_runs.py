from __future__ import annotations

import re

import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import RunNotFound, StoreError
from steelyard.records import CallResult, RunState, Verdict
from steelyard.store.sql import SqlStore, new_run_id, open_store


def test_a_header_comes_back_whole(store: SqlStore) -> None:
    first = header(suspect=("all answers are equal",), rescored_from="demo-0", summary={"average": 0.5})
    store.create_run(first)
    assert store.run("demo-1") == first


def test_a_run_is_replaced_until_it_ends(store: SqlStore) -> None:
    run = header()
    store.create_run(run)
    run.state = RunState.INTERRUPTED
    store.update_run(run)
    run.state, run.ended_at, run.verdict, run.summary = RunState.ENDED, 1010.0, Verdict.FAIL, {"n": 0}
    store.update_run(run)
    assert store.run("demo-1") == run


def test_an_ended_run_refuses_updates_and_samples(store: SqlStore) -> None:
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


def execute(store: SqlStore, statements: str) -> None:
    with store.database.writing() as session:
        for statement in statements.split(";"):
            session.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        "UPDATE runs SET verdict = 'PASS' WHERE id = 'demo-1'",
        "DELETE FROM runs WHERE id = 'demo-1'",
        "UPDATE samples SET score = 1.0",
        "DELETE FROM samples WHERE seq = 1",
        "DELETE FROM findings",
        "UPDATE answers SET text = 'better'",
        "UPDATE calls SET cost = 0",
        "INSERT INTO calls (run, seq, latency, started_at, tries, cached, cut_off) "
        "SELECT run, 9, 0, 0, 1, 0, 0 FROM samples "
        "WHERE seq = 1; "
        "INSERT INTO samples (run, seq, case_id, variant, repeat, case_hash, call_run, outcome, layout, scores) "
        "SELECT run, 9, case_id, variant, 9, case_hash, run, outcome, layout, scores FROM samples WHERE seq = 1",
    ],
)
def test_the_database_itself_protects_an_ended_run(store: SqlStore, statements: str) -> None:
    run = header()
    store.create_run(run)
    one, two = case(1), case(2, tags=())
    store.add_samples(run.id, [sample(one, 0), sample(two, 1, findings=())], [one, two])
    run.state = RunState.ENDED
    store.update_run(run)
    before = list(store.samples(run.id))
    with pytest.raises(StoreError, match="the run has ended and cannot be changed"):
        execute(store, statements)
    assert list(store.samples(run.id)) == before
    assert store.run(run.id) == run


def test_a_run_id_is_used_once(store: SqlStore) -> None:
    store.create_run(header())
    with pytest.raises(StoreError, match="already holds a run demo-1"):
        store.create_run(header(created_at=5.0))
    assert store.run("demo-1").created_at == 1000.0


def test_runs_are_listed_newest_first_and_by_suite(store: SqlStore) -> None:
    store.create_run(header("a-1", created_at=3.0))
    store.create_run(header("b-1", created_at=1.0, suite_name="other"))
    store.create_run(header("a-2", created_at=2.0))
    assert [run.id for run in store.runs()] == ["a-1", "a-2", "b-1"]
    assert [run.id for run in store.runs("demo")] == ["a-1", "a-2"]
    assert [run.id for run in store.runs(limit=1)] == ["a-1"]


def test_last_and_prefixes_name_runs(store: SqlStore) -> None:
    for number in range(3):
        store.create_run(header(f"demo-{number}x", created_at=float(number)))
    assert store.run("LAST").id == "demo-2x"
    assert store.run("LAST~2").id == "demo-0x"
    assert store.run("demo-1").id == "demo-1x"


def test_a_whole_id_wins_over_a_longer_one(store: SqlStore) -> None:
    store.create_run(header("demo-1"))
    store.create_run(header("demo-10"))
    assert store.run("demo-1").id == "demo-1"


def test_a_prefix_of_several_runs_is_refused_with_their_names(store: SqlStore) -> None:
    store.create_run(header("demo-1"))
    store.create_run(header("demo-2"))
    with pytest.raises(RunNotFound, match="begins the names of several runs: demo-2, demo-1") as caught:
        store.run("demo")
    assert "Type more" in str(caught.value)


def test_signs_of_sql_patterns_mean_themselves(store: SqlStore) -> None:
    store.create_run(header("demo-1"))
    for name in ("%", "demo_1", "", "'"):
        with pytest.raises(RunNotFound):
            store.run(name)


def test_an_unknown_run_names_the_newest(store: SqlStore) -> None:
    for number in range(7):
        store.create_run(header(f"demo-{number}", created_at=float(number)))
    with pytest.raises(RunNotFound, match=re.escape("The newest of 7: demo-6, demo-5, demo-4, demo-3, demo-2")):
        store.run("nothing")
    with pytest.raises(RunNotFound, match="LAST~7"):
        store.run("LAST~7")


def test_an_empty_store_says_how_to_make_a_run(store: SqlStore) -> None:
    with pytest.raises(RunNotFound, match=r"holds no runs yet\. Make one: steelyard run"):
        store.run("LAST")


@pytest.mark.parametrize("method", ["samples", "columns"])
def test_reading_a_run_that_is_not_there_says_so(store: SqlStore, method: str) -> None:
    with pytest.raises(RunNotFound):
        getattr(store, method)("nothing")


def test_run_ids_are_readable_sorted_and_unique() -> None:
    # 1794773495 is 2026-11-15 20:11:35 UTC (date -u -d @1794773495).
    made = new_run_id("My Suite/é", 1794773495.0)
    assert re.fullmatch(r"my-suite-20261115-201135-[0-9a-z]{4}", made)
    assert new_run_id("s", 1794773495.0) < new_run_id("s", 1794773496.0)
    assert len({new_run_id("s", 0.0) for _ in range(50)}) > 45
    assert new_run_id("???", 0.0).startswith("run-1970")


def test_usual_latency_is_the_median_of_earlier_ended_runs_with_the_same_target(store: SqlStore) -> None:
    def evaluated(run_id: str, created_at: float, latencies: list[float], **changes: object) -> None:
        run = header(run_id, created_at=created_at, **changes)
        store.create_run(run)
        cases = [case(number) for number in range(len(latencies) + 2)]
        samples = [
            sample(of, call_result=CallResult(text="", latency=at)) for of, at in zip(cases, latencies, strict=False)
        ]
        # Neither a timeout nor an answer from the cache says how fast the target is.
        samples += [failed(cases[-2]), sample(cases[-1], call_result=CallResult(text="", latency=0.0, cached=True))]
        store.add_samples(run_id, samples, cases)
        run.state = RunState.ENDED
        store.update_run(run)

    evaluated("one", 1.0, [0.1, 0.9, 0.2])  # median 0.2
    evaluated("two", 2.0, [0.1, 0.3])  # median (0.1 + 0.3) / 2 = 0.2
    evaluated("other-target", 3.0, [5.0], target={"kind": "chat"})
    evaluated("rescored", 4.0, [5.0], rescored_from="one")
    evaluated("other-suite", 4.0, [5.0], suite_name="other")
    store.create_run(header("running", created_at=5.0))
    evaluated("late", 9.0, [7.0])
    assert store.usual_latency("demo", header().target, before=9.0) == [pytest.approx(0.2), pytest.approx(0.2)]
    assert store.usual_latency("demo", {"kind": "new"}, before=9.0) == []


def test_usual_latency_counts_from_when_a_call_was_sent(store: SqlStore) -> None:
    run = header()
    store.create_run(run)
    attempts = [CallResult(text="", latency=1.5, queued=1.25), CallResult(text="", latency=0.5, queued=0.0)]
    samples = [sample(case(n), n, call_result=attempt) for n, attempt in enumerate(attempts)]
    store.add_samples("demo-1", samples, [case(0), case(1)])
    run.state = RunState.ENDED
    store.update_run(run)
    # The median of 1.5 - 1.25 and 0.5.
    assert store.usual_latency("demo", run.target, before=2000.0) == [0.375]


def test_the_cache_gives_back_what_it_was_given(store: SqlStore) -> None:
    assert store.cached("k1") is None
    store.cache([("k1", {"text": "a\x00b", "status": 200}), ("k2", {"text": "é"})])
    store.cache([("k2", {"text": "newer"})])
    assert store.cached("k1") == {"text": "a\x00b", "status": 200}
    assert store.cached("k2") == {"text": "newer"}


def test_a_closed_store_says_so(url: str) -> None:
    closed = open_store(url)
    closed.close()
    with pytest.raises(StoreError, match="closed"):
        closed.runs()


def test_a_run_of_a_development_version_is_refused_with_what_to_do(store: SqlStore) -> None:
    store.create_run(header())
    with store.database.writing() as session:
        session.execute("UPDATE runs SET options = ?", ('{"kept": {}}',))
    with pytest.raises(StoreError, match=r"demo-1 was stored by a development version.*STEELYARD_STORE"):
        store.run("demo-1")
