"""Recorded answers are scored on several processes: the same samples, none lost, whatever becomes of a process."""

from __future__ import annotations

import json
import os
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from parts import running as run
from steelyard.engine import scoring_processes
from steelyard.engine.run_options import RunOptions
from steelyard.engine.writer import Silent
from steelyard.loading.load import load_suite
from steelyard.runner import run as runner
from steelyard.store.sql import open_store

SCORER = """
import os
import signal
from pathlib import Path

from steelyard import Reading, Scorer

HERE = Path(__file__).parent


class Odd(Scorer):
    def read(self, answer, case):
        number = int(case.id)
        print("what scorers print is nobody's message")
        (HERE / f"by-{os.getpid()}").touch()
        if number == 3:
            raise ValueError("boom")
        if os.getpid() != int(os.environ["ASKING"]):
            if number == 5 and not (HERE / "killed").exists():
                (HERE / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if number == 70 and (HERE / "poison").exists():  # as code that breaks the interpreter would
                os.kill(os.getpid(), signal.SIGKILL)
        odd = (lambda: None) if number == 9 else "even"
        return Reading(1.0 if answer == case.expected["word"] else 0.0, got=answer, note=str(odd)[:4])
"""


def write(folder: Path, n: int, scorer: str = SCORER, name: str = "odd_scorer") -> Path:
    folder.mkdir()
    rows = [{"id": k, "input": f"{k}", "expected": {"word": f"w{k % 7}"}, "category": f"c{k % 3}"} for k in range(n)]
    answers = [{"case": f"{k}", "answer": f"w{k % 5}"} for k in range(n)]
    for file, records in (("cases.jsonl", rows), ("answers.jsonl", answers)):
        (folder / file).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / f"{name}.py").write_text(scorer)
    suite = {"suite": "words", "cases": "cases.jsonl", "target": {"recorded": "answers.jsonl"}}
    suite |= {"answer": {"format": "text"}, "score": {"word": {"python": f"{name}:Odd"}}, "pass": "score >= 50 %"}
    (folder / "suite.yaml").write_text(json.dumps(suite | {"gates": ["category.c1.average >= 1 %"]}))
    return folder


class Notes(Silent):
    def __init__(self):
        self.texts = []

    def note(self, text):
        self.texts.append(text)


def samples(store, header):
    return [
        (replace(sample, call_result=replace(sample.call_result, started_at=0.0)), case)
        for sample, case in store.samples(header.id)
    ]


def test_processes_give_what_one_process_gives_also_when_they_are_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKING", str(os.getpid()))
    folder, notes = write(tmp_path / "s", 100), Notes()
    suite, store = load_suite(folder), open_store(str(tmp_path / "runs.db"))
    alone, first = (runner.run(suite, store, RunOptions(workers=workers), notes) for workers in (1, 2))
    (folder / "poison").touch()
    second = runner.rescore(suite, store, alone.header, RunOptions(workers=2), notes)
    expected = samples(store, alone.header)
    assert (first.ending.counts.done, len(expected), notes.texts) == (100, 100, [])
    assert "boom" in str(expected[3][0].findings)
    assert samples(store, first.header) == expected
    assert samples(store, second.header) == expected
    assert [sample.position for sample, _ in expected] == list(range(100))
    # Two for each of the two, one in the place of the one that was killed, up to two for what kills every process.
    assert 1 + 2 + 1 + 2 + 2 >= len(list(folder.glob("by-*"))) >= 1 + 2 + 2
    store.close()


def test_a_suite_that_has_changed_meanwhile_is_scored_here_and_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKING", str(os.getpid()))
    folder, notes = write(tmp_path / "s", 20, name="changed_scorer"), Notes()
    suite, store = load_suite(folder), open_store(str(tmp_path / "runs.db"))
    (folder / "changed_scorer.py").write_text(SCORER.replace("== case", "!= case"))
    _, ending = run.run(suite, store, RunOptions(workers=2), notes)
    assert ending.counts.done == 20
    assert [text.partition(": ")[0] for text in notes.texts] == ["scored in one process"]
    assert "scores otherwise when it is loaded again" in notes.texts[0]
    assert len(list(folder.glob("by-*"))) == 1
    store.close()


BUSY = """
import time

from steelyard import Reading, Scorer


class Odd(Scorer):
    def read(self, answer, case):
        until = time.thread_time() + {seconds}
        while time.thread_time() < until:
            pass
        return Reading(1.0)
"""


@pytest.mark.parametrize(("seconds", "by_processes"), [(0.0, range(1)), (0.012, range(20, 41))])
def test_processes_are_used_when_they_are_measured_to_pay(tmp_path, monkeypatch, seconds, by_processes):
    scored = []

    class Counted(scoring_processes.ProcessPool):
        def submit(self, tasks):
            scored.extend(tasks)
            done = Future()
            done.set_result(self._score_here(tasks))
            return done

    monkeypatch.setattr(scoring_processes, "ProcessPool", Counted)
    monkeypatch.setattr(scoring_processes, "cores", lambda: 4)
    monkeypatch.setattr(scoring_processes, "_STARTING", 0.1)
    suite = load_suite(write(tmp_path / "s", 60, BUSY.format(seconds=seconds), f"busy_{len(by_processes)}"))
    store = open_store(str(tmp_path / "runs.db"))
    first = run.run(suite, store)[0]
    # What is measured, a quarter of a second, is scored here.
    assert len(scored) in by_processes
    scored.clear()
    run.rescore(suite, store, first)
    assert len(scored) in by_processes
    store.close()


@pytest.mark.parametrize(
    ("scoring", "other", "carrying", "n", "processors", "workers"),
    [
        (50e-6, 300e-6, 40e-6, 1_000_000, 8, 0),  # nothing to gain
        (5e-3, 300e-6, 40e-6, 100, 8, 0),  # over before the processes have begun
        (5e-3, 300e-6, 40e-6, 1_000_000, 1, 0),  # nowhere to run them
        (300e-6, 300e-6, 40e-6, 1_000_000, 2, 1),  # one scores while this one reads and stores
        (5e-3, 300e-6, 40e-6, 1_000_000, 8, 8),
        (1e-3, 300e-6, 40e-6, 1_000_000, 64, 3),  # more would wait for this one
    ],
)
def test_as_many_processes_as_pay(scoring, other, carrying, n, processors, workers):
    assert scoring_processes.best_workers(scoring, other, carrying, n, processors) == workers
