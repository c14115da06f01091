"""A system that goes away in the middle of a run is waited for, and costs no sample its answer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

import pytest

from parts import running as weighing
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, error, json_answer, refusing, slow, text_answer, throttle
from parts.small_suite import http_target, write_suite
from steelyard.engine import breaker as breaking
from steelyard.engine import call as calling
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Outcome, RunState, Verdict
from steelyard.store.sql import open_store
from steelyard.suite.values import parse_time
from steelyard.wording import duration_text

DOWN = error(503, "upstream is down")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(calling, "_FIRST_BACKOFF", 0.02)
    monkeypatch.setattr(breaking, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(breaking, "_LONGEST_WAIT", 0.02)


@pytest.fixture
def sqlite(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


class Notes:
    def __init__(self):
        self.notes = []

    def update(self, counts, _samples=()):
        pass

    def note(self, text):
        self.notes.append(text)


def right(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


class Service:
    """A loopback service that answers rightly except where `out` says so; counts what it answered."""

    def __init__(self, server, out, failure=DOWN):
        self.server, self.out, self.failure = server, out, failure
        self.answered = Counter()
        self.asked = []
        self.lock = threading.Lock()
        server.on("/ask", self)

    def __call__(self, seen):
        number = seen.json["number"]
        with self.lock:
            self.asked.append(number)
            if self.out(number, len(self.asked)):
                return self.failure
            self.answered[number] += 1
        return right(seen)


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


def run(server, store, tmp_path, *, n=40, progress=None, limits=None, target=None, **options):
    path = write_suite(tmp_path / "suite", n=n, target=target or http_target(server.base_url), limits=limits or {})
    return weighing.run(load_suite(path), store, RunOptions(**options), progress)


def outcomes(store, header):
    return Counter(sample.outcome for sample, _ in store.samples(header.id))


CUT, TOO_LATE = json_answer({}, cut_after=0), slow(1.0)


@pytest.mark.parametrize(
    ("failure", "concurrency", "retries"),
    [
        *((DOWN, *limits) for limits in ((1, 0), (1, 2), (2, 0), (8, 0), (8, 2))),
        *((CUT, *limits) for limits in ((1, 0), (8, 2))),
        *((TOO_LATE, *limits) for limits in ((2, 0), (8, 2))),
    ],
)
def test_what_failed_in_an_outage_is_asked_again_after_it(server, sqlite, tmp_path, concurrency, retries, failure):
    # From the tenth call on they fail, whatever they ask.
    service = Service(server, lambda _, call: 10 <= call <= 35 + 15 * retries, failure)
    notes, limits = Notes(), {"timeout": 0.2, "concurrency": concurrency, "retries": retries}
    header, ending = run(server, sqlite, tmp_path, n=24, progress=notes, limits=limits)
    assert (header.state, header.verdict, ending.stopped) == (RunState.ENDED, Verdict.PASS, None)
    assert outcomes(sqlite, header) == {Outcome.SCORED: 24}
    # Nothing is lost, and no answer was bought twice.
    assert service.answered == dict.fromkeys(range(24), 1)
    if retries == 0:
        pausing, again = notes.notes
        assert pausing.startswith("pausing: the system under test does not answer, calls of")
        assert again.startswith("the system under test answers again after")


def test_while_it_is_paused_single_calls_are_made(server, sqlite, tmp_path, monkeypatch):
    monkeypatch.setattr(breaking, "_FIRST_WAIT", 0.2)
    monkeypatch.setattr(breaking, "_LONGEST_WAIT", 0.2)
    began = []

    def out(_, call):
        if call == 15:
            began.append(time.monotonic())
        return bool(began) and time.monotonic() - began[0] < 1.0

    service = Service(server, out)
    header, _ = run(server, sqlite, tmp_path, concurrency=8, retries=0)
    assert outcomes(sqlite, header) == {Outcome.SCORED: 40}
    # 8 were under way, up to 4 more were begun before five had failed; then one probe each 0.2 s, of two calls.
    assert len(service.asked) - 40 <= 8 + 4 + 2 * 6


def test_the_pause_is_in_no_latency(server, sqlite, tmp_path):
    began = []

    def out(_, call):
        if call == 10:
            began.append(time.monotonic())
        return bool(began) and time.monotonic() - began[0] < 1.0

    Service(server, out)
    header, _ = run(server, sqlite, tmp_path, n=30, concurrency=4, retries=0)
    latencies = [sample.call_result.latency for sample, _ in sqlite.samples(header.id)]
    assert len(latencies) == 30
    assert max(latencies) < 0.5


def test_an_outage_that_lasts_too_long_stops_the_run_and_stores_no_failure(server, sqlite, tmp_path):
    service = Service(server, lambda _, call: call > 15)
    notes = Notes()
    header, ending = run(server, sqlite, tmp_path, limits={"outage": "0.3s"}, concurrency=4, retries=0, progress=notes)
    assert header.state is RunState.INTERRUPTED
    assert not ending.interrupted
    assert outcomes(sqlite, header) == {Outcome.SCORED: 15}
    assert "the system under test was out for 0." in ending.stopped
    assert "http_503: answered 503: upstream is down" in ending.stopped
    assert ending.stopped.endswith("25 of 40 samples are left")
    # And it goes on where it stopped, waiting again as long as it is still out.
    suite = load_suite(tmp_path / "suite")
    again, ending = weighing.run(suite, sqlite, RunOptions(resume=header.id, retries=0))
    assert outcomes(sqlite, again) == {Outcome.SCORED: 15}
    assert ending.stopped.endswith("25 of 40 samples are left")
    service.out = lambda _, call: False
    again, ending = weighing.run(suite, sqlite, RunOptions(resume=header.id))
    assert (again.state, outcomes(sqlite, again)) == (RunState.ENDED, {Outcome.SCORED: 40})
    assert service.answered == dict.fromkeys(range(40), 1)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("retries", [0, 1])
def test_a_system_that_fails_for_a_third_of_the_samples_is_no_outage(server, sqlite, tmp_path, concurrency, retries):
    service = Service(server, lambda number, _: number % 3 == 2, error(500))
    notes = Notes()
    header, _ending = run(
        server, sqlite, tmp_path, n=60, concurrency=concurrency, retries=retries, progress=notes, outage=2
    )
    assert (header.state, notes.notes) == (RunState.ENDED, [])
    assert outcomes(sqlite, header) == {Outcome.SCORED: 40, Outcome.TARGET_FAILED: 20}
    assert max(Counter(service.asked).values()) <= 1 + retries + 3  # once more, and two probes


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_samples_that_fail_side_by_side_are_no_outage_while_another_is_answered(
    server, sqlite, tmp_path, place, concurrency
):
    bad = {"first": range(20), "middle": range(10, 40), "last": range(30, 50)}[place]
    service = Service(server, lambda number, _: number in bad, error(500))
    notes = Notes()
    header, _ending = run(server, sqlite, tmp_path, n=50, concurrency=concurrency, retries=0, progress=notes, outage=2)
    assert (header.state, notes.notes) == (RunState.ENDED, [])
    assert outcomes(sqlite, header) == {Outcome.SCORED: 50 - len(bad), Outcome.TARGET_FAILED: len(bad)}
    # What was answered is asked again only to find that out: less often each time.
    assert sum(service.answered.values()) <= 50 - len(bad) + 4


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_one_sample_that_always_fails_is_its_own_fault_wherever_it_stands(server, sqlite, tmp_path, n):
    for bad in {0, n // 2, n - 1}:
        service = Service(server, lambda number, _, bad=bad: number == bad, error(500))
        notes = Notes()
        header, _ending = run(server, sqlite, tmp_path, n=n, concurrency=1, retries=0, progress=notes)
        assert (header.state, notes.notes) == (RunState.ENDED, [])
        assert outcomes(sqlite, header)[Outcome.TARGET_FAILED] == 1
        assert Counter(service.asked) == dict.fromkeys(range(n), 1)


def test_a_sample_that_takes_the_service_down_each_time_fails_after_three_outages(server, sqlite, tmp_path):
    down_until = [0.0]

    def out(number, _):
        if number == 12 and time.monotonic() >= down_until[0]:
            down_until[0] = time.monotonic() + 0.3
        return time.monotonic() < down_until[0]

    service = Service(server, out, error(502))
    header, _ending = run(server, sqlite, tmp_path, concurrency=8, retries=0)
    assert header.state is RunState.ENDED
    failed = [sample.case_id for sample, _ in sqlite.samples(header.id) if sample.outcome is Outcome.TARGET_FAILED]
    assert failed == ["c12"]
    assert max(n for number, n in service.answered.items()) == 1


def test_a_system_that_never_answered_is_not_waited_for(sqlite, tmp_path):
    with refusing() as base_url:
        path = write_suite(tmp_path / "suite", n=40, target=http_target(base_url))
        began = time.monotonic()
        header, ending = weighing.run(load_suite(path), sqlite, RunOptions(retries=0, keep_going=True))
        assert time.monotonic() - began < 30  # an outage is waited for for minutes
    assert outcomes(sqlite, header) == {Outcome.TARGET_FAILED: 40}
    assert (header.state, ending.stopped) == (RunState.ENDED, None)


@pytest.mark.parametrize("failure", [error(404), error(422)])
def test_refusals_that_are_about_the_sample_are_no_outage(server, sqlite, tmp_path, failure):
    Service(server, lambda number, _: number >= 10, failure)
    notes = Notes()
    header, _ = run(server, sqlite, tmp_path, progress=notes)
    assert (outcomes(sqlite, header)[Outcome.TARGET_FAILED], notes.notes) == (30, [])


def test_being_throttled_is_no_outage(server, sqlite, tmp_path):
    Service(server, lambda number, _: number >= 34, throttle())
    notes = Notes()
    header, _ = run(server, sqlite, tmp_path, progress=notes, retries=0)
    assert (outcomes(sqlite, header)[Outcome.TARGET_FAILED], notes.notes) == (6, [])


def test_without_a_time_to_wait_failures_are_stored_as_they_come(server, sqlite, tmp_path):
    Service(server, lambda _, call: call > 15)
    header, _ = run(server, sqlite, tmp_path, outage=0, retries=0)
    assert header.state is RunState.ENDED
    assert outcomes(sqlite, header) == {Outcome.SCORED: 15, Outcome.TARGET_FAILED: 25}


def test_an_open_load_gives_way_to_no_outage(server, sqlite, tmp_path):
    # Calls 15 to 24 fail: a load that stopped for them would not measure what users see.
    service = Service(server, lambda _, call: 15 <= call <= 24)
    header, _ = run(server, sqlite, tmp_path, rate=200, retries=0)
    assert outcomes(sqlite, header) == {Outcome.SCORED: 30, Outcome.TARGET_FAILED: 10}
    assert len(service.asked) == 40


def test_a_service_that_somebody_else_runs_is_waited_for_when_it_is_not_ready(server, sqlite, tmp_path):
    down = []
    server.on("/health", lambda _: error(503) if down and time.monotonic() < down[0] else text_answer("ok"))

    def out(_, call):
        if call == 15:
            down.append(time.monotonic() + 2.5)
        return bool(down) and time.monotonic() < down[0]

    service = Service(server, out, json_answer({}, cut_after=0))
    target = http_target(server.base_url, ready=server.url("/health"))
    header, ending = run(server, sqlite, tmp_path, target=target, concurrency=2, retries=0)
    assert (header.state, ending.broken) == (RunState.ENDED, None)
    assert outcomes(sqlite, header) == {Outcome.SCORED: 40}
    assert service.answered == dict.fromkeys(range(40), 1)


def test_a_judge_that_is_out_is_waited_for_and_no_answer_is_asked_again(sqlite, tmp_path):
    asked = []

    def judged(_request):
        asked.append(time.monotonic())
        return DOWN if 5 < len(asked) <= 30 else verdict()

    with judge_server(judged) as server:
        path = write_judged(tmp_path / "judged", n=20, **chat_judge(server))
        notes = Notes()
        header, _ending = weighing.run(load_suite(path), sqlite, RunOptions(retries=0, concurrency=4), notes)
    assert (header.state, outcomes(sqlite, header)) == (RunState.ENDED, {Outcome.SCORED: 20})
    assert len(notes.notes) == 2
    assert notes.notes[0].startswith("pausing: judge ")


def test_a_judge_that_stays_out_stops_the_run_and_resuming_asks_the_target_for_nothing(server, sqlite, tmp_path):
    server.on("/ask", lambda seen: text_answer(f"Number {seen.json['number']} is a fine number to have today."))
    asked, mended = [], []

    def judged(_request):
        asked.append(1)
        return verdict() if mended or len(asked) <= 6 else DOWN

    target = {"http": {"url": server.url("/ask"), "json": {"number": "{{ input.number }}"}}}
    with judge_server(judged) as judge:
        path = write_judged(tmp_path / "judged", n=20, **chat_judge(judge), suite={"target": target})
        options = RunOptions(retries=0, concurrency=4, outage=0.3)
        header, ending = weighing.run(load_suite(path), sqlite, options)
        assert (header.state, outcomes(sqlite, header)) == (RunState.INTERRUPTED, {Outcome.SCORED: 6})
        assert ending.stopped.startswith("judge ")
        mended.append(True)
        header, _ = weighing.run(load_suite(path), sqlite, RunOptions(resume=header.id))
    assert (header.state, outcomes(sqlite, header)) == (RunState.ENDED, {Outcome.SCORED: 20})
    answered = Counter(seen.json["number"] for seen in server.requests)
    assert set(answered.values()) == {1}


async def test_calls_of_several_judges_about_one_answer_are_one_sample(monkeypatch):
    from steelyard.engine.breaker import Breakers
    from steelyard.engine.call import RetryPolicy
    from steelyard.engine.limits import Budget, Pace
    from steelyard.errors import TargetFailure
    from steelyard.suite.models import Limits
    from steelyard.targets.base import Response

    breakers, pace = Breakers(60, 8, Budget(None)), Pace(8)
    patience = RetryPolicy(Limits(retries=0), pace)
    patience.watched_by(breakers.of(pace, "judge one"))

    async def answers():
        return Response("fine")

    async def fails():
        raise TargetFailure("http_500", "no")

    await patience.perform(answers)
    with breakers.sample(1):
        attempts = await asyncio.gather(*(patience.perform(fails) for _ in range(9)))
    assert {attempt.failure.kind for attempt in attempts} == {"http_500"}


@pytest.mark.parametrize(
    ("text", "seconds", "words"),
    [("5m", 300, "5 min"), ("90s", 90, "90 s"), ("1.5 min", 90, "90 s"), ("2 h", 7200, "120 min"), (0.5, 0.5, "0.5 s")],
)
def test_times_to_wait_are_written_in_several_ways(text, seconds, words):
    assert parse_time(text) == seconds
    assert duration_text(parse_time(text)) == words


@pytest.mark.parametrize("text", ["soon", "-1", -1, True, "5 d", float("nan"), "25h"])
def test_what_is_no_time_is_named(text):
    with pytest.raises(ValueError, match=r"a time is written|more than a day"):
        parse_time(text)
