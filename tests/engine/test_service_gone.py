from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from parts import running as run
from parts.loopback import Loopback, json_answer, text_answer
from parts.small_suite import write_suite
from steelyard.cli import steelyard as main
from steelyard.engine.limits import Pace
from steelyard.engine.presence import Presence
from steelyard.engine.run_options import RunOptions
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite, with_target
from steelyard.records import CallResult, Failure, RunState, Verdict
from steelyard.report.build import build_report
from steelyard.store.sql import open_store

SERVICE = Path(__file__).parents[1] / "parts" / "small_service.py"


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "runs.db")


@pytest.fixture
def sqlite(url):
    opened = open_store(url)
    yield opened
    opened.close()


def started(*switches, **more):
    start = {"command": ["{python}", str(SERVICE), "--port", "{port}", *map(str, switches)]}
    return {"http": {"url": "/ask", "json": "input", "answer": "answer", "start": start, "ready": "/health", **more}}


def suite_of(tmp_path, *switches, n=20, **more):
    return load_suite(write_suite(tmp_path / "suite", n=n, target=started(*switches), **more))


def test_a_run_starts_its_service_and_stops_it(sqlite, tmp_path):
    own = tmp_path / "own"
    header, ending = run.run(suite_of(tmp_path, "--pid", own, n=6), sqlite, RunOptions())
    assert (header.verdict, ending.counts.scored) == (Verdict.PASS, 6)
    with pytest.raises(ProcessLookupError):
        os.kill(int(own.read_text()), 0)


def test_a_service_that_dies_midway_makes_the_run_invalid_and_the_rest_is_not_asked(sqlite, url, tmp_path):
    suite = suite_of(tmp_path, "--dies-after", 5, n=40)
    header, ending = run.run(suite, sqlite, RunOptions(concurrency=2, retries=0))
    assert header.verdict is Verdict.INVALID
    assert header.state is RunState.ENDED
    assert ending.broken == header.options.broken
    assert "ended with exit code 7" in ending.broken
    assert "out of memory: giving up" in ending.broken
    # It dies at the fifth call; the fourth may still be under way beside it, and die with it.
    assert ending.counts.scored in (3, 4)
    # Two were under way, and one more may have begun before the target was asked.
    assert ending.counts.failed <= 3
    # Said again by everything that reads the run later.
    report = build_report(sqlite, sqlite.run(header.id))
    assert report.decision.verdict is Verdict.INVALID
    assert report.decision.reasons[0] == ending.broken
    for command in (["report", header.id], ["gate", header.id]):
        result = CliRunner().invoke(main, [*command, "--store", url])
        assert result.exit_code == (3 if command[0] == "gate" else 0)
        assert "INVALID" in result.output
        assert "ended with exit code 7" in " ".join(result.output.split())
    with pytest.raises(UsageError, match="has ended: there is nothing to resume"):
        run.run(suite, sqlite, RunOptions(resume=header.id))


def test_a_service_that_dies_after_the_last_answer_is_noticed(sqlite, tmp_path):
    # Every question is answered; nothing is inconclusive. The health check is what is left to fail.
    header, ending = run.run(suite_of(tmp_path, "--sick-after", 6, n=6), sqlite, RunOptions())
    assert ending.counts.scored == 6
    assert header.verdict is Verdict.INVALID
    assert "is not ready any more" in header.options.broken


def test_few_failures_within_the_limit_do_not_hide_that_the_service_died(sqlite, tmp_path):
    suite = suite_of(tmp_path, "--dies-after", 20, n=20)
    header, ending = run.run(suite, sqlite, RunOptions(concurrency=1, retries=0, max_inconclusive=0.5))
    # 1 of 20 failed, 5 %, and a half is allowed.
    assert (ending.counts.scored, ending.counts.failed) == (19, 1)
    assert header.verdict is Verdict.INVALID


def test_answers_of_a_run_whose_service_died_stay_invalid_when_scored_again(sqlite, tmp_path):
    suite = suite_of(tmp_path, "--dies-after", 20, n=20)
    header, _ = run.run(suite, sqlite, RunOptions(concurrency=1, retries=0, max_inconclusive=0.5))
    again = run.rescore(suite, sqlite, header, max_inconclusive=0.5)
    assert again.verdict is Verdict.INVALID
    assert again.options.broken == header.options.broken


def test_a_service_that_refuses_for_a_while_and_comes_back_is_not_gone(sqlite, tmp_path):
    with Loopback() as server:
        server.on("/health", text_answer("ok"))
        server.on(
            "/ask", *[json_answer({"answer": {"word": "x"}}, cut_after=3)], json_answer({"answer": {"word": "x"}})
        )
        target = {"http": {"base_url": server.base_url, "url": "/ask", "json": "input", "ready": "/health"}}
        suite = load_suite(write_suite(tmp_path / "suite", n=4, target=target))
        header, ending = run.run(suite, sqlite, RunOptions(retries=0, concurrency=1))
    assert (ending.counts.failed, ending.counts.done, ending.broken) == (1, 4, None)
    assert header.options.broken is None


def test_a_service_that_does_not_get_ready_begins_no_run(sqlite, tmp_path):
    suite = suite_of(tmp_path, "--crash", "no luck")
    with pytest.raises(UsageError, match="no luck"):
        run.run(suite, sqlite, RunOptions())
    assert list(sqlite.runs()) == []


async def test_what_goes_wrong_is_also_reported_inside_a_running_loop(sqlite, tmp_path):
    # As in a notebook, where the run gets a thread of its own.
    with pytest.raises(UsageError, match="no luck"):
        run.run(suite_of(tmp_path, "--crash", "no luck"), sqlite, RunOptions())


def test_an_address_on_the_command_line_starts_nothing(tmp_path):
    suite = suite_of(tmp_path, "--crash", "it was started")
    elsewhere = with_target(suite, None, {"base_url": "http://127.0.0.1:9"})
    assert elsewhere.target.settings.start is None
    assert with_target(suite, None, {"max_bytes": 5}).target.settings.start is not None


def test_ready_checks_are_no_samples(sqlite, tmp_path):
    header, ending = run.run(suite_of(tmp_path, "--loading", 3, n=2), sqlite, RunOptions())
    assert ending.counts.done == len(list(sqlite.samples(header.id))) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_stops_its_service(tmp_path, number):
    own = tmp_path / "own"
    path = write_suite(tmp_path / "suite", n=2_000, target=started("--pid", own), limits={"rate": "50/s"})
    environment = dict(os.environ) | {"STEELYARD_STORE": str(tmp_path / "runs.db")}
    command = [sys.executable, "-m", "steelyard", "run", str(path), "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 120
        store = tmp_path / "runs.db"
        while not (store.exists() and own.exists() and _n_kept(store)):
            assert time.monotonic() < until
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(number)
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert json.loads(out)["run"]["state"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int(own.read_text()), 0)


def _n_kept(path):
    store = open_store(str(path), create=False)
    try:
        return sum(1 for header in store.runs() for _ in store.samples(header.id))
    finally:
        store.close()


class Lost:
    """A target that only says whether its system is there."""

    def __init__(self, message):
        self._message = message
        self.asked = 0

    async def gone(self):
        self.asked += 1
        await asyncio.sleep(0.01)
        if isinstance(self._message, Exception):
            raise self._message
        return self._message


async def test_no_call_is_made_while_a_system_is_looked_for():
    pace = Pace(4)
    target = Lost(None)
    looking = asyncio.create_task(Presence(target, pace).gone_after(CallResult(failure=Failure("refused", "nobody"))))
    while not target.asked:
        await asyncio.sleep(0)
    entering = asyncio.create_task(pace.enter())
    await asyncio.sleep(0)
    assert not entering.done()
    await looking
    assert await entering is False


async def test_calls_that_fail_together_ask_once():
    target = Lost("it is gone")
    presence = Presence(target, Pace(4))
    refused = CallResult(failure=Failure("refused", "nobody there"))
    assert sorted(map(str, await asyncio.gather(*(presence.gone_after(refused) for _ in range(5))))) == [
        *["None"] * 4,
        "it is gone",
    ]
    assert target.asked == 1


@pytest.mark.parametrize(
    "call_result", [CallResult(text="hello"), CallResult(failure=Failure("http_500", "answered 500"))]
)
async def test_a_system_that_answers_is_not_looked_for(call_result):
    target = Lost("it is gone")
    assert await Presence(target, Pace(4)).gone_after(call_result) is None
    assert target.asked == 0


async def test_a_target_that_cannot_tell_is_taken_to_be_there_and_one_that_raises_is_not():
    assert await Presence(object(), Pace(4)).gone() is None
    assert "ZeroDivisionError: oh" in await Presence(Lost(ZeroDivisionError("oh")), Pace(4)).gone()
