"""Runs and their names, baselines, alerts, usual latencies and the cache, on both databases."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import RunNotFound, StoreError
from steelyard.records import (
    AbPlan,
    AnchorReading,
    Anchors,
    BaselineGates,
    CallResult,
    CriteriaChanges,
    DrawnSample,
    EarlierRuns,
    ExperimentPlan,
    ImportedFrom,
    Load,
    Original,
    Owner,
    Retried,
    RunFacts,
    RunState,
    ScoringTime,
    Signature,
    TargetFacts,
    Verdict,
)
from steelyard.store.alert_log import Delivery
from steelyard.store.base import Store
from steelyard.store.baseline_log import BaselineEntry, standing
from steelyard.store.run_rows import new_run_id
from steelyard.store.sql import SqlStore, open_store


def test_a_header_comes_back_whole(store: Store) -> None:
    first = header(suspect=("all answers are equal",), rescored_from="demo-0")
    store.create_run(first)
    assert store.run("demo-1") == first


EVERY_FACT = RunFacts(
    only=("category=é\x00", "id=a"),
    limit=3,
    sample=DrawnSample(200, "input.é", 7),
    repeats=2,
    strict=True,
    cache=True,
    answers_of="demo-0",
    other_cases="other/*.yaml",
    load=Load(8, 2.5, None, 4, True, 1, 2, 0.25, ScoringTime(0.125, 0.5)),
    owner=Owner("here", 17, "4711"),
    stopped="an outage",
    broken="it was gone",
    retried=Retried("demo-0", 5, 6, 0.75, 9, 2),
    resumed_from="demo-0",
    ab=AbPlan(7, "pass_rate", 40, True, 0.02, "ab-1", 30, "b"),
    experiment=ExperimentPlan(
        "e", "h", "demo", "model", ("x > 0",), ("x < 0",), "c1", {"a": {"t": 1}}, "d1", "e-1", "a"
    ),
    imported=ImportedFrom(
        "old.json", "other", "f1", ("n",), ("note",), {"c": {"score": 0.5}}, undated=True, tool="other 1.0"
    ),
    original=Original({"version": 2}, ({"id": 1}, None)),
    anchors={"demo-0": Anchors((AnchorReading("c", "v", 1, 0.5, False),), 0.25, "one failed")},
    against=BaselineGates("@release", ({"gate": "average >= @release"},)),
    target_name="v2",
    asked_by={"settings": {"user": "{{ input.text }}"}, "variants": {"v": {"tone": "é\x00"}}},
    prices={"m-1": {"input": 3.0, "output": 15.0}, "é": None},
    criteria="c0ffee",
    all_cached=True,
    earlier=EarlierRuns({"FAIL": 3, "without gates": 1}, 2, 1, 1, {"FAIL": 2}),
    changed=(CriteriaChanges("demo-0", "release", ("gate a >= 1 -> a >= 0",), ("é", "c"), 1, "since the first"),),
)


def test_every_fact_of_a_run_comes_back_as_it_was_asked_for_and_went(store: Store) -> None:
    assert [
        each.name for each in fields(RunFacts) if getattr(EVERY_FACT, each.name) == getattr(RunFacts(), each.name)
    ] == []
    store.create_run(header(options=EVERY_FACT))
    assert store.run("demo-1").options == EVERY_FACT


def test_a_run_is_replaced_until_it_ends(store: Store) -> None:
    run = header()
    store.create_run(run)
    run.state = RunState.INTERRUPTED
    store.update_run(run)
    run.state, run.ended_at, run.verdict = RunState.ENDED, 1010.0, Verdict.FAIL
    store.update_run(run)
    assert store.run("demo-1") == run


def test_a_run_id_is_used_once(store: Store) -> None:
    store.create_run(header())
    with pytest.raises(StoreError, match="already holds a run demo-1"):
        store.create_run(header(created_at=5.0))
    assert store.run("demo-1").created_at == 1000.0


def test_runs_are_listed_newest_first_and_by_suite(store: Store) -> None:
    store.create_run(header("a-1", created_at=3.0))
    store.create_run(header("b-1", created_at=1.0, suite_name="other"))
    store.create_run(header("a-2", created_at=2.0))
    assert [run.id for run in store.runs()] == ["a-1", "a-2", "b-1"]
    assert [run.id for run in store.runs("demo")] == ["a-1", "a-2"]
    assert [run.id for run in store.runs(limit=1)] == ["a-1"]


def test_last_and_prefixes_name_runs(store: Store) -> None:
    for number in range(3):
        store.create_run(header(f"demo-{number}x", created_at=float(number)))
    assert store.run("LAST").id == "demo-2x"
    assert store.run("LAST~2").id == "demo-0x"
    assert store.run("demo-1").id == "demo-1x"


def test_a_whole_id_wins_over_a_longer_one(store: Store) -> None:
    store.create_run(header("demo-1"))
    store.create_run(header("demo-10"))
    assert store.run("demo-1").id == "demo-1"


def test_a_prefix_of_several_runs_is_refused_with_their_names(store: Store) -> None:
    store.create_run(header("demo-1"))
    store.create_run(header("demo-2"))
    with pytest.raises(RunNotFound, match="begins the names of several runs: demo-2, demo-1") as caught:
        store.run("demo")
    assert "Type more" in str(caught.value)


def test_signs_of_sql_patterns_mean_themselves(store: Store) -> None:
    store.create_run(header("demo-1"))
    for name in ("%", "demo_1", "", "'"):
        with pytest.raises(RunNotFound):
            store.run(name)


def test_an_unknown_run_names_the_newest(store: Store) -> None:
    for number in range(7):
        store.create_run(header(f"demo-{number}", created_at=float(number)))
    with pytest.raises(RunNotFound, match=re.escape("The newest of 7: demo-6, demo-5, demo-4, demo-3, demo-2")):
        store.run("nothing")
    with pytest.raises(RunNotFound, match="LAST~7"):
        store.run("LAST~7")


def test_an_empty_store_says_how_to_make_a_run(store: Store) -> None:
    with pytest.raises(RunNotFound, match=r"holds no runs yet\. Make one: steelyard run"):
        store.run("LAST")


def test_a_run_that_is_not_there_is_not_found_whatever_is_asked_of_it(store: Store) -> None:
    store.create_run(header())
    readers = ("samples", "columns", "checks", "items", "judgements", "judge_spending", "journalled", "forget_journal")
    for method in readers:
        with pytest.raises(RunNotFound):
            getattr(store, method)("nothing")
    with pytest.raises(RunNotFound):
        store.findings("nothing", "MISS", limit=10)
    with pytest.raises(RunNotFound):
        store.journal("nothing", [("k", {})])
    with pytest.raises(RunNotFound):
        store.add_samples("nothing", [sample(case(1))], [case(1)])
    with pytest.raises(RunNotFound):
        store.open_alert("demo", "cause", "nothing", CONTENT)
    with pytest.raises(RunNotFound, match="no run 'nothing'"):
        store.log_baseline(lock("nothing"))
    assert store.baseline_log() == []


def test_run_ids_are_readable_sorted_and_unique() -> None:
    # 1794773495 is 2026-11-15 20:11:35 UTC (date -u -d @1794773495).
    made = new_run_id("My Suite/é", 1794773495.0)
    assert re.fullmatch(r"my-suite-20261115-201135-[0-9a-z]{4}", made)
    assert new_run_id("s", 1794773495.0) < new_run_id("s", 1794773496.0)
    assert len({new_run_id("s", 0.0) for _ in range(50)}) > 45
    assert new_run_id("???", 0.0).startswith("run-1970")


def test_usual_latency_is_the_median_of_earlier_ended_runs_with_the_same_target(store: Store) -> None:
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
    assert store.usual_latency("demo", TargetFacts({"kind": "new"}), before=9.0) == []


def test_usual_latency_counts_from_when_a_call_was_sent(store: Store) -> None:
    run = header()
    store.create_run(run)
    attempts = [CallResult(text="", latency=1.5, queued=1.25), CallResult(text="", latency=0.5, queued=0.0)]
    samples = [sample(case(n), n, call_result=attempt) for n, attempt in enumerate(attempts)]
    store.add_samples("demo-1", samples, [case(0), case(1)])
    run.state = RunState.ENDED
    store.update_run(run)
    # The median of 1.5 - 1.25 and 0.5.
    assert store.usual_latency("demo", run.target, before=2000.0) == [0.375]


def test_the_cache_gives_back_what_it_was_given(store: Store) -> None:
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


def lock(run_id="demo-1", name="release", suite="demo", **more):
    told = {"made_at": 5.0, "made_by": "ada@workshop", "signature": Signature(truth="ab12")} | more
    return BaselineEntry(suite, name, run_id, **told)


@pytest.fixture
def locked(store: Store) -> SqlStore:
    """A store with two runs of one suite and one of another."""
    for number, suite in ((1, "demo"), (2, "demo"), (3, "other")):
        store.create_run(header(f"{suite}-{number}", suite_name=suite, created_at=1000.0 + number))
    return store


def test_a_line_of_the_log_of_baselines_comes_back_as_it_was_written(locked):
    entry = lock(reason='says "é\x00" 🪑', forced=True)
    locked.log_baseline(entry)
    assert locked.baseline_log() == [entry]
    assert locked.baseline_log("demo") == [entry]
    assert locked.baseline_log("other") == []


def test_the_newest_line_of_a_name_holds_and_all_are_kept(locked):
    entries = [lock("demo-1"), lock("demo-2"), lock("demo-2", removed=True), lock("demo-1", reason="back again")]
    for entry in entries:
        locked.log_baseline(entry)
    assert locked.baseline_log() == entries
    assert standing(entries[:1])[("demo", "release")].run_id == "demo-1"
    assert standing(entries[:2])[("demo", "release")].run_id == "demo-2"
    assert standing(entries[:3]) == {}
    assert locked.run("@release").id == "demo-1"


def test_a_baseline_names_a_run_wherever_one_is_named(locked):
    locked.log_baseline(lock("demo-2"))
    assert [locked.run(name).id for name in ("@release", "release", "@demo/release", "LAST~1")] == ["demo-2"] * 4


def test_a_run_of_that_name_comes_before_a_baseline_unless_it_is_written_as_one(locked):
    locked.log_baseline(lock("demo-2", name="other"))
    # "other" begins the name of run other-3.
    assert locked.run("other").id == "other-3"
    assert locked.run("@other").id == "demo-2"


def test_a_name_that_several_suites_have_is_not_guessed(locked):
    locked.log_baseline(lock("demo-2"))
    locked.log_baseline(lock("other-3", suite="other"))
    with pytest.raises(RunNotFound, match="write one of @demo/release, @other/release"):
        locked.run("@release")
    assert locked.run("@other/release").id == "other-3"


def test_a_baseline_that_does_not_exist_is_told_with_those_that_do(locked):
    with pytest.raises(RunNotFound, match=r"there is none yet\. Lock one: steelyard baseline set RUN --name release"):
        locked.run("@release")
    locked.log_baseline(lock("demo-2"))
    with pytest.raises(RunNotFound, match=r"no baseline 'relese': there are: @release \(of demo\)"):
        locked.run("@relese")
    locked.log_baseline(lock("demo-2", removed=True))
    with pytest.raises(RunNotFound, match="no baseline 'release'"):
        locked.run("@release")
    with pytest.raises(RunNotFound, match="no run 'release'"):
        locked.run("release")


CONTENT = {"rule": "gate_failed", "what": "it fails \x00 \ud83d", "quotes": [["got", "ä"]]}


@pytest.fixture
def runs(store):
    for number in (1, 2, 3):
        store.create_run(header(f"demo-{number}", created_at=1000.0 + number))
    return store


def test_an_alert_is_kept_with_the_run_that_raised_it(runs):
    kept = runs.open_alert("demo", "gate_failed: x", "demo-1", CONTENT)
    assert kept == runs.alerts("demo")[0]
    assert (kept.opened_run, kept.opened_run_at, kept.seen_run, kept.is_open) == ("demo-1", 1001.0, "demo-1", True)
    assert kept.content == CONTENT


def test_one_open_alert_for_each_cause(runs):
    assert runs.open_alert("demo", "cause", "demo-1", CONTENT) is not None
    assert runs.open_alert("demo", "cause", "demo-2", CONTENT) is None
    assert runs.open_alert("other", "cause", "demo-2", CONTENT) is not None
    assert len(runs.alerts()) == 2


def test_the_database_itself_refuses_a_second_one(runs):
    runs.open_alert("demo", "cause", "demo-1", CONTENT)
    columns = ("suite_name", "cause", "opened_run", "opened_at", "seen_run", "content")
    with pytest.raises(Exception, match=r"(?i)unique"), runs.database.writing() as session:
        session.insert("alerts", columns, [("demo", "cause", 1, 0.0, 1, "{}")])


def test_a_closed_cause_can_come_again(runs):
    first = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    assert runs.close_alert(first.number, "demo-2", {"kind": "recovered"})
    assert not runs.close_alert(first.number, "demo-3", {"kind": "recovered"})
    second = runs.open_alert("demo", "cause", "demo-3", CONTENT)
    assert [each.number for each in runs.alerts("demo")] == [second.number]
    over, _ = runs.alerts("demo", closed=True)
    assert (over.closed_run, over.ending, over.is_open, over.seen_run) == (
        "demo-2",
        {"kind": "recovered"},
        False,
        "demo-2",
    )


def test_the_newest_run_that_saw_it_is_noted(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.see_alerts([kept.number], "demo-3")
    assert runs.alerts("demo")[0].seen_run == "demo-3"


def test_tries_of_one_notice_add_up_and_the_last_word_stays(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.log_deliveries([Delivery(kept.number, "raised", "mail a@b", "failed", 4, 10.0, "no connection")])
    runs.log_deliveries([Delivery(kept.number, "raised", "mail a@b", "sent", 1, 20.0)])
    runs.log_deliveries([Delivery(kept.number, "closed", "mail a@b", "sent", 1, 30.0)])
    assert runs.deliveries([kept.number]) == [
        Delivery(kept.number, "raised", "mail a@b", "sent", 5, 20.0),
        Delivery(kept.number, "closed", "mail a@b", "sent", 1, 30.0),
    ]
    assert runs.deliveries([]) == []


def test_an_ending_is_unheard_until_every_channel_that_was_told_of_the_alert_has_it(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)

    def message(notice, channel, state):
        runs.log_deliveries([Delivery(kept.number, notice, channel, state, 1, 10.0)])

    def unheard():
        return [each.number for each in runs.unheard_endings("demo")]

    message("raised", "mail", "sent")
    message("raised", "chat", "failed")
    assert unheard() == []
    runs.close_alert(kept.number, "demo-2", {"kind": "recovered", "now": None})
    assert unheard() == [kept.number]
    assert runs.unheard_endings("other") == []
    message("closed", "mail", "failed")
    assert unheard() == [kept.number]
    message("closed", "mail", "sent")
    assert unheard() == []


def test_an_ending_is_no_news_once_its_cause_has_come_again(runs):
    kept = runs.open_alert("demo", "cause", "demo-1", CONTENT)
    runs.log_deliveries([Delivery(kept.number, "raised", "mail", "sent", 1, 10.0)])
    runs.close_alert(kept.number, "demo-2", {"kind": "recovered", "now": None})
    assert runs.unheard_endings("demo") != []
    runs.open_alert("demo", "cause", "demo-3", CONTENT)
    assert runs.unheard_endings("demo") == []


def test_a_run_of_a_development_version_is_refused_with_what_to_do(store):
    store.create_run(header())
    with store.database.writing() as session:
        session.execute("UPDATE runs SET options = ?", ('{"kept": {}}',))
    with pytest.raises(StoreError, match=r"demo-1 was stored by a development version.*STEELYARD_STORE"):
        store.run("demo-1")
