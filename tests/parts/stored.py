"""Runs, cases and samples to put into a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parts.headers import run_header
from steelyard.analysis.stored import summary_of
from steelyard.records import (
    CallResult,
    Failure,
    Finding,
    Outcome,
    RunFacts,
    RunHeader,
    RunState,
    Sample,
    Score,
    Verdict,
)
from steelyard.store.base import Store
from steelyard.store.people import PRECISION, RANDOM, LabelRecord, Queue, QueuePlan
from steelyard.suite.case import Case


def header(run_id: str = "demo-1", **changes: Any) -> RunHeader:
    values: dict[str, Any] = {
        "id": run_id,
        "suite_name": "demo",
        "suite_path": "demo/suite.yaml",
        "created_at": 1000.0,
        "signature": {"truth": "ab12", "text": "demo|truth:ab12"},
        "target": {"kind": "recorded", "file": "answers.jsonl"},
        "suite": {
            "name": "demo",
            "components": [{"name": "title"}, {"name": "year"}],
            "bands": [{"name": "Good", "at_least": 0.75}, {"name": "Poor", "at_least": 0.0}],
        },
        "options": RunFacts(limit=20),
        "n_planned": 3,
        "version": "0.1.0",
    }
    return run_header(**(values | changes))


def case(number: int, **changes: Any) -> Case:
    values: dict[str, Any] = {
        "id": f"case-{number:04d}",
        "input": {"description": f"thing {number}"},
        "expected": {"title": f"Thing {number}", "year": 1900 + number},
        "category": "even" if number % 2 == 0 else "odd",
        "difficulty": "easy",
        "tags": ("old", "small"),
        "why": "a plain one",
    }
    return Case(**(values | changes))


def sample(of: Case, position: int | None = None, **changes: Any) -> Sample:
    values: dict[str, Any] = {
        "case_id": of.id,
        "variant": "",
        "repeat": 0,
        "call_result": CallResult(
            text='{"title": "Thing"}',
            status=200,
            latency=0.25,
            started_at=1001.5,
            tries=2,
            tokens_in=12,
            tokens_out=7,
            cost=0.0015,
            model="model-x",
        ),
        "outcome": Outcome.SCORED,
        "score": 0.8,
        "passed": True,
        "band": "Good",
        "scores": (
            Score("title", 1.0, 70.0),
            Score("year", 0.5, 30.0, uncapped=0.9, capped_by="no date", note="guessed"),
        ),
        "findings": (Finding("YEAR", "year", 1900, [1890, None], "said 1890", "major"),),
        "step": "whole",
        "category": of.category,
        "difficulty": of.difficulty,
        "tags": of.tags,
        "position": position,
    }
    return Sample(**(values | changes))


def failed(of: Case, position: int | None = None, **changes: Any) -> Sample:
    attempt = CallResult(latency=3.0, started_at=1002.0, tries=4, failure=Failure("timeout", "no answer in 3 s"))
    nothing = {"score": None, "passed": None, "band": None, "scores": (), "findings": (), "step": None}
    return sample(of, position, **({"call_result": attempt, "outcome": Outcome.TARGET_FAILED} | nothing | changes))


def keep_figures(store: Store, *run_ids: str) -> None:
    """Store the figures of runs that were put there without: a run of the product has them when it ends."""
    for run_id in run_ids:
        summary_of(store, store.run(run_id))


def fill(store: Store, run_id: str = "demo-1", n: int = 4) -> None:
    """Put an ended run of four samples, one failed and one with difficult text, into a store."""
    run = header(run_id, suspect=("zero tokens",))
    store.create_run(run)
    cases = [case(number) for number in range(n)]
    samples = [sample(of, 2 * number) for number, of in enumerate(cases)]
    samples[1] = failed(cases[1], 2)
    samples[2] = sample(
        cases[2], 4, call_result=CallResult(text="a\x00b\ud800 🪑 é\x10\r\n"), scores=(Score("title", None),)
    )
    store.add_samples(run_id, samples, cases)
    run.state, run.verdict, run.ended_at = RunState.ENDED, Verdict.FAIL, 1012.25
    store.update_run(run)


def ended_run(store: Store, n: int, run_id: str = "demo-1") -> RunHeader:
    """An ended run of `n` answers, two thirds of which pass."""
    run = header(run_id, n_planned=n, options=RunFacts())
    store.create_run(run)
    cases = [case(number) for number in range(n)]
    samples = [sample(of, number, passed=number % 3 != 0) for number, of in enumerate(cases)]
    store.add_samples(run_id, samples, cases)
    run.state = RunState.ENDED
    store.update_run(run)
    return store.run(run_id)


def add_planned(store: Store, labels: Sequence[LabelRecord]) -> None:
    """Labels of texts that a plan sampled, at random or for precision, which the store has on record."""
    queue = Queue(labels[0].run_id or "")
    by_chance = [label for label in labels if label.drawn in (RANDOM, PRECISION) and label.round == 0]
    places = {label.key: label.drawn for label in reversed(by_chance)}
    store.people.add_places(queue, store.people.plan(queue) or QueuePlan(labels[0].kind), list(places.items())[::-1])
    store.people.add_labels(labels)
