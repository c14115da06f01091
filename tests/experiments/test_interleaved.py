"""Two arms in one loop: the same cases in random order, side by side; whatever stops it, nothing is lost."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from parts import running as run
from parts.loopback import Loopback, json_answer, text_answer
from parts.small_suite import http_target, write_suite
from parts.two_arms import bad, good
from steelyard.engine import interleaved_plan
from steelyard.engine import plan as drawn_plan
from steelyard.engine.interleave import PairWatch
from steelyard.engine.interleaved_plan import DrawnPlan, Turn, asks_until
from steelyard.engine.owner import _began, myself
from steelyard.engine.plan import Plan
from steelyard.engine.run_options import RunOptions, Selection
from steelyard.errors import RunTaken, UsageError
from steelyard.experiments.decision import Decided
from steelyard.experiments.offline import offline_report
from steelyard.experiments.runner import metric_of, run_ab
from steelyard.experiments.runs import Attempt, find_ab
from steelyard.loading.load import load_suite, with_target
from steelyard.pairing.runs import read_run
from steelyard.records import AbPlan, Outcome, RunState, Verdict
from steelyard.store.sql import open_store
from steelyard.suite.case import Case

SERVICE = Path(__file__).parents[1] / "parts" / "small_service.py"


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


@pytest.fixture
def sqlite(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def arms_of(tmp_path, server, n, *, a=bad, b=good, **more):
    server.on("/a", a)
    server.on("/b", b)
    suite = load_suite(write_suite(tmp_path / "s", n=n, target=http_target(server.base_url), gates=[], **more))
    return tuple(with_target(suite, None, {"url": f"{server.base_url}/{arm}"}) for arm in "ab")


def asked(server):
    return [(seen.path[1:], seen.json["number"]) for seen in server.requests]


def drawn(folder, *, n=12, seed=0, max_cases=None, repeats=1):
    suite = load_suite(write_suite(folder / "s", n=n))
    plans = tuple(Plan(suite, Selection(), repeats) for _ in "ab")
    return DrawnPlan(plans, seed, max_cases)


def order_of(plan):
    return [turn.case.id for turn in plan.turns()]


def test_both_arms_of_a_call_are_side_by_side_and_a_coin_says_which_is_first(server, tmp_path, sqlite):
    suites = arms_of(tmp_path, server, 20)
    run_ab(suites, sqlite, RunOptions(concurrency=1, repeats=2), AbPlan())
    calls = asked(server)
    assert len(calls) == 20 * 2 * 2
    pairs = list(zip(calls[::2], calls[1::2], strict=True))
    assert all(one[1] == other[1] and {one[0], other[0]} == {"a", "b"} for one, other in pairs)
    first = Counter(one[0] for one, _ in pairs)
    # 40 coins: fewer than 10 of one side in 7 of 10,000 (binomial).
    assert min(first["a"], first["b"]) >= 10
    numbers = [one[1] for one, _ in pairs]
    assert numbers[::2] == numbers[1::2]
    assert sorted(numbers[::2]) == list(range(20)) != numbers[::2]


def test_the_order_is_the_same_for_a_seed_and_another_for_another(tmp_path):
    one = order_of(drawn(tmp_path))
    assert one == order_of(drawn(tmp_path))
    assert one != order_of(drawn(tmp_path, seed=1))
    assert sorted(one) == sorted(order_of(drawn(tmp_path, seed=1)))


def test_a_part_of_the_cases_is_the_beginning_of_the_order(tmp_path):
    assert order_of(drawn(tmp_path, max_cases=5)) == order_of(drawn(tmp_path))[:5]
    assert drawn(tmp_path, max_cases=50).n_cases == 12


def test_cases_that_do_not_fit_into_memory_at_once_come_in_the_same_order(tmp_path, monkeypatch):
    whole = order_of(drawn(tmp_path))
    monkeypatch.setattr(interleaved_plan, "_AT_ONCE", 5)
    monkeypatch.setattr(drawn_plan, "_CHUNK", 2)
    assert order_of(drawn(tmp_path)) == whole


def test_what_is_done_is_not_asked_again_and_what_is_begun_is_brought_to_its_end(tmp_path):
    plan = drawn(tmp_path, n=4, repeats=2)
    order = order_of(plan)
    kept = {(order[0], "", 0), (order[0], "", 1)}
    turns = list(plan.turns([lambda ids: kept & {(one, "", n) for one in ids for n in (0, 1)}, None]))
    assert [len(turn.asks) for turn in turns] == [2, 4, 4, 4]
    assert [turn.started for turn in turns] == [True, False, False, False]
    # Nothing more is to be begun: only the case that was is asked, and only in arm B.
    asks = list(asks_until(iter(turns), lambda turn: turn.started))
    assert [arm for arm, _ in asks] == [1, 1]


def test_each_arm_is_an_ordinary_run_that_knows_what_it_belongs_to(server, tmp_path, sqlite):
    runs = run_ab(arms_of(tmp_path, server, 6), sqlite, RunOptions(), AbPlan(seed=3))
    a, b = runs.headers
    assert [header.state for header in runs.headers] == [RunState.ENDED] * 2
    assert [header.options.ab.arm for header in runs.headers] == ["a", "b"]
    assert a.options.ab.id == b.options.ab.id == runs.id
    assert replace(a.options.ab, arm="") == replace(b.options.ab, arm="")
    assert a.options.owner is None
    scores = [[sample.score for sample, _ in sqlite.samples(header.id)] for header in runs.headers]
    assert scores == [[0.0] * 6, [1.0] * 6]
    # The same positions as an ordinary run has: the order of the files, whatever was asked when.
    positions = [sample.case_id for sample, _ in sqlite.samples(a.id)]
    assert positions == [f"c{n}" for n in range(6)]


def test_it_stops_as_soon_as_it_is_decided_and_what_was_begun_is_whole(server, tmp_path, sqlite):
    plan = AbPlan(metric="pass_rate", stop_early=True)
    runs = run_ab(arms_of(tmp_path, server, 100), sqlite, RunOptions(concurrency=4), plan)
    a, b = runs.headers
    # Eight cases that all agree decide; four calls at once begin at most a few more.
    assert 8 <= a.n_planned == b.n_planned <= 12
    assert len(server.requests) == 2 * a.n_planned
    assert (runs.stopped, a.state, a.verdict) == (None, RunState.ENDED, None)
    cases = [[sample.case_id for sample, _ in sqlite.samples(header.id)] for header in (a, b)]
    assert cases[0] == cases[1]
    order = order_of(drawn(tmp_path / "again", n=100))
    assert sorted(cases[0]) == sorted(order[: a.n_planned])


def test_without_being_asked_to_it_does_not_stop_early(server, tmp_path, sqlite):
    runs = run_ab(arms_of(tmp_path, server, 30), sqlite, RunOptions(), AbPlan(metric="pass_rate"))
    assert [header.n_planned for header in runs.headers] == [30, 30]


def test_a_case_that_failed_in_one_arm_is_no_pair_and_does_not_hold_up_the_others(server, tmp_path, sqlite):
    def moody(seen):
        return text_answer("no", status=500) if seen.json["number"] % 3 == 0 else bad(seen)

    suites = arms_of(tmp_path, server, 100, a=moody, limits={"retries": 0, "outage": 0, "max_inconclusive": 0.9})
    runs = run_ab(suites, sqlite, RunOptions(concurrency=1), AbPlan(metric="pass_rate", stop_early=True))
    order = [int(one[1:]) for one in order_of(drawn(tmp_path / "again", n=100))]
    eighth = [place for place, number in enumerate(order, 1) if number % 3][7]
    assert runs.headers[0].n_planned == eighth


def test_an_arm_that_is_no_reading_makes_its_run_invalid_and_leaves_the_other(server, tmp_path, sqlite):
    def broken(seen):
        return text_answer("no", status=500)

    suites = arms_of(tmp_path, server, 10, b=broken, limits={"retries": 0})
    runs = run_ab(suites, sqlite, RunOptions(), AbPlan())
    assert [header.verdict for header in runs.headers] == [None, Verdict.INVALID]
    outcomes = {sample.outcome for sample, _ in sqlite.samples(runs.headers[1].id)}
    assert outcomes == {Outcome.TARGET_FAILED}


def test_an_arm_whose_system_dies_midway_is_no_win_for_the_other(tmp_path, sqlite):
    start = {"command": ["{python}", str(SERVICE), "--port", "{port}", "--dies-after", "5"]}
    dying = {"http": {"url": "/ask", "json": "input", "answer": "answer", "start": start, "ready": "/health"}}
    suites = tuple(
        load_suite(write_suite(tmp_path / arm, n=40, gates=[], **more))
        for arm, more in (("a", {}), ("b", {"target": dying}))
    )
    plan = AbPlan(metric="pass_rate", stop_early=True)
    runs = run_ab(suites, sqlite, RunOptions(concurrency=2, retries=0), plan)
    a, b = runs.headers
    assert (runs.stopped, a.state, b.state) == (None, RunState.ENDED, RunState.ENDED)
    assert b.verdict is Verdict.INVALID
    assert "ended with exit code 7" in b.options.broken
    # The other arm is asked no more than a few cases ahead, and is a reading as far as it came.
    assert (a.n_planned <= 10, a.verdict) == (True, None)
    report = offline_report(*(read_run(sqlite, header.id) for header in runs.headers))
    assert report.decided is Decided.INVALID
    assert [check.fine for check in report.checks[:2]] == [True, False]


def test_differences_are_looked_at_in_the_order_drawn_and_not_as_answers_come():
    seen = []
    pairs = PairWatch(lambda difference: seen.append(difference) or False, by_pass=False, mode=None)
    for number in range(3):
        pairs.begin(Turn(Case(id=f"c{number}", input={}), ((0, None), (1, None)), started=False))
    for case, arm, score in (("c2", 0, 0.2), ("c2", 1, 0.5), ("c0", 1, 1.0), ("c1", 0, 0.0), ("c1", 1, 0.1)):
        pairs.seen(arm, scored(case, score))
        assert seen == []
    pairs.seen(0, scored("c0", 0.25))
    assert seen == pytest.approx([0.75, 0.1, 0.3])


def test_what_was_begun_is_brought_to_its_end_although_enough_was_seen():
    pairs = PairWatch(lambda _: True, by_pass=False, mode=None)
    for arm in (0, 1):
        pairs.earlier(arm, scored("c0", 0.5))
    to_ask = ((1, None),)
    assert pairs.begin(Turn(Case(id="c0", input={}), (), started=True))
    assert pairs.enough
    assert pairs.begin(Turn(Case(id="c1", input={}), to_ask, started=True))
    assert not pairs.begin(Turn(Case(id="c2", input={}), to_ask, started=False))


def scored(case_id, score):
    return SimpleNamespace(unit=case_id, outcome=Outcome.SCORED, score=score, passed=None, mode=None)


def test_both_arms_share_one_limit_of_requests_a_second(server, tmp_path, sqlite):
    runs = run_ab(arms_of(tmp_path, server, 5), sqlite, RunOptions(requests_per_second=10), AbPlan())
    samples = [sample for header in runs.headers for sample, _ in sqlite.samples(header.id)]
    times = sorted(sample.call_result.started_at for sample in samples)
    # 10 calls, 100 ms between the moments they start: 900 ms in all; with a limit for each arm it would be 400 ms. A
    # slow machine makes it longer.
    assert times[-1] - times[0] > 0.6


def test_an_open_load_makes_the_calls_of_both_arms_when_they_are_due(server, tmp_path, sqlite):
    runs = run_ab(arms_of(tmp_path, server, 6, limits={"rate": "200/s"}), sqlite, RunOptions(), AbPlan())
    assert len(server.requests) == 12
    samples = [sample for header in runs.headers for sample, _ in sqlite.samples(header.id)]
    assert all(sample.call_result.queued is not None for sample in samples)


def test_a_spending_limit_is_for_both_arms_together_and_what_is_left_can_be_asked_later(server, tmp_path, sqlite):
    def priced(word):
        return lambda seen: json_answer({"answer": {"word": f"{word} {seen.json['number']}"}, "price": 1.0})

    more = {"usage": {"cost": "price"}}
    server.on("/a", priced("no"))
    server.on("/b", priced("word"))
    suite = load_suite(write_suite(tmp_path / "s", n=10, target=http_target(server.base_url, **more), gates=[]))
    suites = tuple(with_target(suite, None, {"url": f"{server.base_url}/{arm}"}) for arm in "ab")
    runs = run_ab(suites, sqlite, RunOptions(concurrency=1, max_cost=7.5), AbPlan())
    assert len(server.requests) == 7
    assert "spending limit" in str(runs.stopped)
    assert [header.state for header in runs.headers] == [RunState.INTERRUPTED] * 2
    again = run_ab(suites, sqlite, RunOptions(max_cost=100), AbPlan(), resumed=find_ab(sqlite, "words", ""))
    assert again.id == runs.id
    assert again.ended
    assert Counter(asked(server)) == Counter((arm, n) for arm in "ab" for n in range(10))


def test_what_was_seen_before_the_stop_counts_for_stopping_early_after_it(server, tmp_path, sqlite):
    def priced(word):
        return lambda seen: json_answer({"answer": {"word": f"{word} {seen.json['number']}"}, "price": 1.0})

    server.on("/a", priced("no"))
    server.on("/b", priced("word"))
    target = http_target(server.base_url, usage={"cost": "price"})
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=target, gates=[]))
    suites = tuple(with_target(suite, None, {"url": f"{server.base_url}/{arm}"}) for arm in "ab")
    plan = AbPlan(metric="pass_rate", stop_early=True)
    run_ab(suites, sqlite, RunOptions(concurrency=1, max_cost=10.5), plan)
    assert len(server.requests) == 10
    again = run_ab(suites, sqlite, RunOptions(concurrency=1, max_cost=100), plan, resumed=find_ab(sqlite, "words", ""))
    # Eight cases that all agree decide: five before, three after.
    assert (again.ended, len(server.requests)) == (True, 16)


def test_one_that_is_still_going_on_is_not_taken_up(server, tmp_path, sqlite):
    suites = arms_of(tmp_path, server, 2)
    runs = run_ab(suites, sqlite, RunOptions(), AbPlan())
    parent = os.getppid()
    owner = replace(myself(), pid=parent, began=_began(parent))
    alive = tuple(
        header_as(sqlite, replace(header, options=replace(header.options, owner=owner))) for header in runs.headers
    )
    with pytest.raises(UsageError, match="is still going on in process"):
        run_ab(suites, sqlite, RunOptions(), AbPlan(), resumed=Attempt(runs.id, *alive))


def test_one_that_another_process_has_ended_meanwhile_is_not_taken_up(server, tmp_path, sqlite):
    suites = arms_of(tmp_path, server, 2)
    runs = run_ab(suites, sqlite, RunOptions(), AbPlan())
    n = len(server.requests)
    seen = tuple(replace(header, state=RunState.INTERRUPTED) for header in runs.headers)
    with pytest.raises(RunTaken, match="was taken over by another process"):
        run_ab(suites, sqlite, RunOptions(), AbPlan(), resumed=Attempt(runs.id, *seen))
    assert len(server.requests) == n


def test_an_arm_is_not_resumed_as_a_run_of_its_own(server, tmp_path, sqlite):
    suites = arms_of(tmp_path, server, 4)
    runs = run_ab(suites, sqlite, RunOptions(), AbPlan())
    reopened = [header_as(sqlite, header) for header in runs.headers]
    with pytest.raises(UsageError, match="no unfinished run"):
        run.run(suites[0], sqlite, RunOptions(resume=""))
    with pytest.raises(UsageError, match="is an arm of an A/B"):
        run.run(suites[0], sqlite, RunOptions(resume=reopened[0].id))


def header_as(store, header):
    """The same run as if the process had died before it ended."""
    copy = replace(header, id=header.id + "x", state=RunState.RUNNING, ended_at=None, verdict=None)
    store.create_run(copy)
    return copy


def test_what_died_between_closing_the_one_run_and_the_other_is_closed_without_a_call(server, tmp_path, sqlite):
    suites = arms_of(tmp_path, server, 4)
    runs = run_ab(suites, sqlite, RunOptions(), AbPlan())
    left = []
    for header, state in zip(runs.headers, (RunState.ENDED, RunState.RUNNING), strict=True):
        options = replace(header.options, ab=replace(header.options.ab, id="words-ab-left"))
        copy = replace(header, id=header.id + "y", state=RunState.RUNNING, options=options, ended_at=None)
        sqlite.create_run(copy)
        pairs = list(sqlite.samples(header.id))
        sqlite.add_samples(copy.id, [sample for sample, _ in pairs], [case for _, case in pairs])
        if state is RunState.ENDED:
            sqlite.update_run(replace(copy, state=state))
        left.append(copy.id)
    before = len(server.requests)
    closed = run_ab(suites, sqlite, RunOptions(), AbPlan(), resumed=find_ab(sqlite, "words", "words-ab-left"))
    assert len(server.requests) == before
    assert closed.ended
    assert [header.id for header in closed.headers] == left


def test_there_is_no_pass_rate_without_a_pass_rule(tmp_path):
    suite = load_suite(write_suite(tmp_path / "s"))
    assert (metric_of(suite, None), metric_of(suite, "average")) == ("pass_rate", "average")
    ruleless = suite.changed(passing=None)
    assert metric_of(ruleless, None) == "average"
    with pytest.raises(UsageError, match="no pass rule"):
        metric_of(ruleless, "pass_rate")


def test_an_unknown_ab_is_reported_with_those_there_are(server, tmp_path, sqlite):
    runs = run_ab(arms_of(tmp_path, server, 2), sqlite, RunOptions(), AbPlan())
    assert find_ab(sqlite, "words", runs.id[:-2]).id == runs.id
    with pytest.raises(UsageError, match=runs.id):
        find_ab(sqlite, "words", "nothing")
    with pytest.raises(UsageError, match="no unfinished A/B"):
        find_ab(sqlite, "words", "")
