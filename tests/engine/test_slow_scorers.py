"""Scoring runs beside the event loop: what it takes is in no latency and in no timeout, and the report says so."""

import json
import time

import pytest

from parts import running as run
from parts.command import steelyard
from parts.loopback import Loopback, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.engine import engine as engine_run
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.store.sql import open_store

WAITS = "time.sleep(0.2)"
WORKS = """
        began = time.perf_counter()
        while time.perf_counter() - began < 0.2:
            pass"""
SCORER = """
import time

from steelyard import Reading, Scorer

scored = []


class Word(Scorer):
    def read(self, answer, case):
        {slow}
        scored.append(case.id)
        return Reading(1.0)
"""


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/ask", _word)
        yield running


def write(tmp_path, server, slow, n=12, module="slow_scorer"):
    score = {"word": {"python": f"{module}:Word"}}
    path = write_suite(tmp_path / "s", n=n, target=http_target(server.url("")), score=score)
    (path.parent / f"{module}.py").write_text(SCORER.format(slow=slow))
    return path


@pytest.mark.parametrize("slow", [WAITS, WORKS], ids=["waits", "works"])
def test_a_slow_scorer_is_in_no_latency_and_in_no_timeout_and_is_named(server, tmp_path, slow):
    # 12 answers at 0.2 s: on the loop, the last one of a round of six would wait 1.2 s to be read.
    path = write(tmp_path, server, slow)
    done = steelyard("run", path, "--concurrency", 6, "--timeout", "0.5", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"], len(server.requests)) == (0, "PASS", 12)
    figures = report["figures"]
    assert (figures["latency.p50"]["n"], figures["latency.timeouts"]["value"]) == (12, 0)
    # With the scoring of one other answer in it, half of them would take 0.2 s and more.
    assert 0.02 <= figures["latency.p50"]["value"] < 0.2
    assert report["latency"]["bottleneck"].startswith("scoring was the bottleneck: it took 2")


def test_a_run_with_a_rate_asks_no_more_when_too_many_answers_wait_to_be_scored(server, tmp_path, store, monkeypatch):
    monkeypatch.setattr(engine_run, "_MOST_BACKLOG", 3)
    path = write(tmp_path, server, "time.sleep(0.05)", n=60, module="scorer_with_a_backlog")
    suite = load_suite(path)
    ahead = []
    server.on("/ask", lambda seen: _answer(seen, ahead, server))
    header, _ = run.run(suite, store, RunOptions(rate=80.0))
    # 60 calls are due within 0.75 s, in which 15 are scored: 45 would be ahead. 3 may wait, one is being scored, and
    # some two are on their way for 20 ms, or all of the 0.3 s that a busy machine may take to answer.
    assert len(server.requests) == 60
    assert max(ahead) <= 30
    assert 0.05 <= header.options.load.scoring.mean < 1  # seconds, whatever else the machine does


def _answer(seen, ahead, server):
    import scorer_with_a_backlog

    ahead.append(len(server.requests) - len(scorer_with_a_backlog.scored))
    return _word(seen)


def _word(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0.02)


def test_a_run_with_a_rate_asks_no_more_when_too_many_answers_wait_to_be_stored(server, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_run, "_MOST_BACKLOG", 3)
    # Scoring takes so long that answers are stored before it, and storing takes far longer.
    path = write(tmp_path, server, "time.sleep(0.01)", n=30, module="scorer_of_stored_answers")
    store, stored, ahead = open_store(str(tmp_path / "runs.db")), [], []
    journal = store.journal

    def slowly(run_id, entries):
        time.sleep(0.6)
        journal(run_id, entries)
        stored.extend(entries)

    monkeypatch.setattr(store, "journal", slowly)
    server.on("/ask", lambda seen: (ahead.append(len(server.requests) - len(stored)), _word(seen))[1])
    run.run(load_suite(path), store, RunOptions(rate=60.0))
    store.close()
    # Without a limit all would be asked before the first answers are stored.
    assert len(server.requests) == 30
    assert max(ahead) <= 22
