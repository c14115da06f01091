from __future__ import annotations

import asyncio
import threading
import time

import pytest

from parts import running as run
from parts.loopback import Loopback, error, json_answer, throttle
from parts.looped import for_every
from parts.small_suite import http_target, write_suite
from steelyard.engine.limits import Closed, Pace
from steelyard.engine.open_load import Schedule
from steelyard.engine.run_options import RunOptions
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite
from steelyard.records import Load
from steelyard.report.build import build_report
from steelyard.report.wording import notes
from steelyard.store.sql import open_store
from steelyard.suite.models import Limits
from steelyard.suite.values import load_in_words, parse_rate
from steelyard.wording import rate_text

STALL = 0.5


class Notes:
    def __init__(self):
        self.stated = []

    def update(self, counts, _samples=()):
        return None

    def note(self, text):
        self.stated.append(text)


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}}))
        yield running


@pytest.fixture
def sqlite(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def call_results(store, header):
    """The attempts of a run in the order in which they were planned."""
    return [sample.call_result for sample, _ in store.samples(header.id)]


class Stalling:
    """One system in one thread, as a queue in front of it: it stalls once, and everybody who asks meanwhile waits."""

    def __init__(self, at):
        self._at = at
        self._asked = 0
        self._lock = threading.Lock()

    def answer(self, seen):
        with self._lock:
            self._asked += 1
            if self._asked == self._at:
                time.sleep(STALL)
        return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


def slow_calls(store, header):
    return sum(attempt.latency > STALL / 2 for attempt in call_results(store, header))


def test_a_stall_shows_in_many_calls_under_an_open_load_and_in_one_under_a_closed_one(server, sqlite, tmp_path):
    suite = load_suite(write_suite(tmp_path / "suite", n=40, target=http_target(server.base_url)))
    # The server's loop itself stands still for half a second at the fifth question.
    server.on("/ask", Stalling(5).answer)
    closed, _ = run.run(suite, sqlite, RunOptions(concurrency=1))
    server.on("/ask", Stalling(5).answer)
    opened, _ = run.run(suite, sqlite, RunOptions(rate=50))
    assert slow_calls(sqlite, closed) == 1
    # At 50 a second, those due in the first half of the stall, 0.25 s, wait for more than the other half: 12.
    assert slow_calls(sqlite, opened) >= 8


def test_calls_are_sent_when_they_are_due_whatever_came_back(server, sqlite, tmp_path):
    server.on("/ask", json_answer({"answer": {"word": "word 0"}}, delay=4.0))
    suite = load_suite(write_suite(tmp_path / "suite", n=12, target=http_target(server.base_url)))
    header, _ = run.run(suite, sqlite, RunOptions(rate=40))
    # The twelfth call is due 11 / 40 = 0.275 s after the first, long before the first is answered.
    assert server.most_in_flight == 12
    assert all(
        attempt.queued is not None and attempt.queued < attempt.latency for attempt in call_results(sqlite, header)
    )
    sent = [seen.at for seen in server.seen("/ask")]
    assert sent[-1] - sent[0] >= 0.25


def test_latency_counts_from_when_a_call_was_due_and_the_waiting_is_reported(server, sqlite, tmp_path):
    server.on("/ask", json_answer({"answer": {"word": "word 0"}}, delay=0.1))
    suite = load_suite(write_suite(tmp_path / "suite", n=6, target=http_target(server.base_url)))
    progress = Notes()
    header, ending = run.run(suite, sqlite, RunOptions(rate=100, concurrency=1), progress)
    # One at a time, 0.1 s each: call i ends no sooner than (i + 1) * 0.1 s, and was due at i * 0.01 s.
    for number, attempt in enumerate(call_results(sqlite, header)):
        assert attempt.latency >= (number + 1) * 0.1 - number * 0.01 - 0.005
        assert attempt.latency - attempt.queued >= 0.095
    assert ending.held_up == header.options.load.held_up == 5
    assert any("5 calls were due while 1 were in flight" in said for said in progress.stated)
    assert server.most_in_flight == 1
    (said,) = [note for note in notes(build_report(sqlite, header)) if "open load" in note]
    assert said == "open load: 100 a second, whatever comes back; 5 calls had to wait for one of the 1 under way"


def test_a_call_made_again_counts_from_when_it_was_due_all_tries_included(server, sqlite, tmp_path):
    server.on("/ask", error(500, delay=0.1), json_answer({"answer": {"word": "word 0"}}))
    suite = load_suite(write_suite(tmp_path / "suite", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite, sqlite, RunOptions(rate=10))
    (attempt,) = call_results(sqlite, header)
    assert attempt.tries == 2
    # 0.1 s for the first try and at least 0.25 s (half of 0.5 s) before the second, all after it was sent.
    assert attempt.latency - attempt.queued >= 0.34


def test_a_closed_load_has_no_queue_and_times_the_last_try(server, sqlite, tmp_path):
    server.on("/ask", error(500), json_answer({"answer": {"word": "word 0"}}))
    suite = load_suite(write_suite(tmp_path / "suite", n=1, target=http_target(server.base_url)))
    began = time.perf_counter()
    header, _ = run.run(suite, sqlite, RunOptions())
    took = time.perf_counter() - began
    (attempt,) = call_results(sqlite, header)
    assert (attempt.tries, attempt.queued) == (2, None)
    # The pause of at least 0.25 s before the second try is no part of it.
    assert took - attempt.latency >= 0.25
    assert attempt.first_byte is not None
    assert attempt.first_byte <= attempt.latency


def test_a_429_holds_up_no_other_call_of_an_open_load(server, sqlite, tmp_path):
    def answer(seen):
        if seen.json["number"] == 0 and len(server.seen("/ask")) == 1:
            return throttle(1)
        return json_answer({"answer": {"word": f"word {seen.json['number']}"}})

    server.on("/ask", answer)
    suite = load_suite(write_suite(tmp_path / "suite", n=10, target=http_target(server.base_url)))
    header, _ = run.run(suite, sqlite, RunOptions(rate=50))
    assert call_results(sqlite, header)[0].tries == 2
    # The second that the server asked for is longer than the 0.2 s of the schedule: the call made again comes last, and
    # long after the others.
    seen = server.seen("/ask")
    assert [one.json["number"] for one in (seen[0], seen[-1])] == [0, 0]
    assert seen[-1].at - seen[-2].at >= 0.4


async def test_a_late_schedule_catches_up_and_keeps_its_times():
    now = 100.0
    schedule = Schedule(20, Pace(10), clock=lambda: now)
    assert await schedule.next() == 100.0
    now = 101.0
    # Twenty more are due by now, 0.05 s apart.
    assert [round(await schedule.next() - 100, 6) for _ in range(3)] == [0.05, 0.1, 0.15]
    schedule.put_off(2)
    now = 110.0
    assert round(await schedule.next() - 100, 6) == 2.2


async def test_no_further_call_is_made_ready_while_too_many_wait(monkeypatch):
    class Crowded(Pace):
        waiting = 2

        async def rest(self, seconds):
            rests.append(seconds)
            self.waiting = 2 - len(rests) // 3

    rests = []
    monkeypatch.setattr("steelyard.engine.engine.MOST_WAITING", 2)
    monkeypatch.setattr("steelyard.engine.open_load.MOST_WAITING", 2)
    # One rest until it is due, then one after another until fewer than two wait; it was due all the same.
    assert await Schedule(1, Crowded(10), clock=lambda: 5.0).next() == 5.0
    assert rests == [0.0, 0.01, 0.01]


async def test_a_stop_ends_the_wait_for_the_next_call():
    pace = Pace(10)
    schedule = Schedule(0.01, pace)
    await schedule.next()
    waiting = asyncio.create_task(schedule.next())
    await asyncio.sleep(0.01)
    pace.close()
    with pytest.raises(Closed):
        await waiting


def test_the_load_is_kept_with_the_run(server, sqlite, tmp_path):
    suite = load_suite(write_suite(tmp_path / "suite", n=2, target=http_target(server.base_url)))
    closed, _ = run.run(suite, sqlite, RunOptions(concurrency=3))
    opened, _ = run.run(suite, sqlite, RunOptions(rate=50.0))
    assert closed.options.load.declared == Load(3).declared
    assert opened.options.load.declared == Load(1000, rate=50.0).declared
    assert load_in_words(closed.options.load) == "3 at a time"
    assert load_in_words(opened.options.load) == "50 a second, whatever comes back"
    assert sqlite.run(opened.id).options.load == opened.options.load


def test_a_resumed_run_goes_on_with_the_rate_it_began_with(server, sqlite, tmp_path):
    path = write_suite(tmp_path / "suite", n=8, target=http_target(server.base_url, usage={"cost": "cost"}))
    server.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}, "cost": 1.0}))
    suite = load_suite(path)
    begun, ending = run.run(suite, sqlite, RunOptions(rate=100.0, max_cost=3))
    assert ending.stopped is not None
    assert ending.counts.done < 8
    header, _ = run.run(suite, sqlite, RunOptions(resume=begun.id))
    assert header.options.load.rate == 100.0
    assert [attempt.queued is not None for attempt in call_results(sqlite, header)] == [True] * 8


def test_answers_that_are_recorded_are_asked_at_no_rate_and_not_warmed_up(sqlite, tmp_path):
    path = write_suite(tmp_path / "suite", n=3, target={"recorded": "answers.jsonl"})
    lines = [f'{{"case": "c{n}", "answer": {{"word": "word {n}"}}, "latency": 2.5}}\n' for n in range(3)]
    (path.parent / "answers.jsonl").write_text("".join(lines))
    header, _ = run.run(load_suite(path), sqlite, RunOptions(rate=1.0, warm_up=2))
    assert header.options.load == Load(1000)
    assert [(attempt.latency, attempt.queued) for attempt in call_results(sqlite, header)] == [(2.5, None)] * 3


def test_warm_up_calls_come_first_and_are_no_samples(server, sqlite, tmp_path):
    suite = load_suite(write_suite(tmp_path / "suite", n=2, target=http_target(server.base_url), limits={"warm_up": 3}))
    header, ending = run.run(suite, sqlite, RunOptions())
    asked = [seen.json["number"] for seen in server.seen("/ask")]
    # Three warm-up calls over two cases, then one call a case.
    assert sorted(asked[:3]) == [0, 0, 1]
    assert sorted(asked[3:]) == [0, 1]
    assert ending.counts.done == len(call_results(sqlite, header)) == 2
    assert header.options.load.declared == Load(8, warm_up=3).declared
    assert "after 3 warm-up calls" in notes(build_report(sqlite, header))


def test_failed_warm_up_calls_end_nothing_and_are_reported(server, sqlite, tmp_path):
    server.on(
        "/ask", error(500), error(500), lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}})
    )
    suite = load_suite(write_suite(tmp_path / "suite", n=2, target=http_target(server.base_url)))
    header, ending = run.run(suite, sqlite, RunOptions(warm_up=2))
    assert (ending.counts.scored, ending.warm_up_failed) == (2, 2)
    assert header.verdict == "PASS"
    assert "after 2 warm-up calls, 2 of which failed" in notes(build_report(sqlite, header))
    # A failed warm-up call is not made again: two and two.
    assert len(server.seen("/ask")) == 4


def test_what_warm_up_costs_counts_against_the_limit(server, sqlite, tmp_path):
    server.on("/ask", json_answer({"answer": {"word": "word 0"}, "cost": 1.0}))
    target = http_target(server.base_url, usage={"cost": "cost"})
    suite = load_suite(write_suite(tmp_path / "suite", n=5, target=target))
    _, ending = run.run(suite, sqlite, RunOptions(warm_up=2, max_cost=4))
    # Two of four are spent before the first sample.
    assert len(server.seen("/ask")) <= 4
    assert ending.stopped is not None


def test_two_loads_at_once_are_a_mistake_and_the_one_asked_for_takes_the_place_of_the_declared():
    with pytest.raises(UsageError, match="give one of them"):
        RunOptions(rate=5, requests_per_second=5).limits(Limits())
    opened = RunOptions(rate=5).limits(Limits(requests_per_second=9, concurrency=4))
    assert (opened.rate, opened.requests_per_second, opened.concurrency) == (5, None, 1000)
    closed = RunOptions(requests_per_second=9).limits(Limits(rate=5, concurrency=1000))
    assert (closed.rate, closed.requests_per_second, closed.concurrency) == (None, 9, 8)


def test_a_suite_may_declare_an_open_load(tmp_path):
    limits = load_suite(write_suite(tmp_path / "one", limits={"rate": "90/min"})).limits
    assert (limits.rate, limits.concurrency) == (1.5, 1000)
    limits = load_suite(write_suite(tmp_path / "two", limits={"rate": 20, "concurrency": 5})).limits
    assert (limits.rate, limits.concurrency) == (20, 5)
    with pytest.raises(SuiteError, match="exclude each other: give one"):
        load_suite(write_suite(tmp_path / "three", limits={"rate": 20, "requests_per_second": 5}))
    with pytest.raises(SuiteError, match="a rate is written 20/s or 90/min"):
        load_suite(write_suite(tmp_path / "four", limits={"rate": "fast"}))


@pytest.mark.parametrize(
    ("written", "rate", "words"),
    [
        ("20/s", 20, "20 a second"),
        ("90/min", 1.5, "90 a minute"),
        ("1.5/s", 1.5, "90 a minute"),
        ("20", 20, "20 a second"),
        (0.5, 0.5, "30 a minute"),
        ("7 per minute", 7 / 60, "7 a minute"),
        ("2/h", 2 / 3600, "2 an hour"),
    ],
)
def test_a_rate_is_read_and_said_in_words(written, rate, words):
    assert parse_rate(written) == pytest.approx(rate)
    assert rate_text(parse_rate(written)) == words


@for_every("written", ["0/s", "-3/s", "20/fortnight", "", "nan", "inf/s", True, None, "1e9", 10**6])
def test_what_is_no_rate_is_reported(written):
    with pytest.raises(ValueError, match=r"rate|more than"):
        parse_rate(written)
