"""Runs of a system whose noise is known, in a store."""

from __future__ import annotations

from typing import Any

import numpy as np

from parts.stored import case, header, sample
from steelyard.records import CallResult, RunState, Verdict
from steelyard.store.base import Store

SIGNATURE = {"truth": "t1", "scorers": "s1", "schema": "a1", "judge": "", "rules": ""}
PASSING = {"passing": {"at_least": 0.5, "text": "score >= 50 %"}}


def add_run(
    store: Store, number: int, scores: np.ndarray, *, ended: bool = True, cached: bool = False, **changes: Any
) -> str:
    """Store a run with the scores of its cases (rows) and repeats (columns); a sample passes from 0.5 on."""
    run_id = f"demo-{number}"
    suite = {"name": "demo", "components": [{"name": "title"}], **PASSING, **changes.pop("suite", {})}
    told = {"signature": SIGNATURE, "created_at": 1000.0 + number, "n_planned": scores.size} | changes
    run = header(run_id, suite=suite, **told)
    store.create_run(run)
    answered = {"findings": (), "call_result": CallResult(text="{}", latency=0.25, cached=cached)}
    cases = [case(i) for i in range(len(scores))]
    samples = [
        sample(of, i * scores.shape[1] + j, repeat=j, score=float(score), passed=bool(score >= 0.5), **answered)
        for i, of in enumerate(cases)
        for j, score in enumerate(scores[i])
    ]
    store.add_samples(run_id, samples, [each for each in cases for _ in range(scores.shape[1])])
    if ended:
        run.state, run.verdict, run.ended_at = RunState.ENDED, changes.get("verdict", Verdict.PASS), 2000.0
        store.update_run(run)
    return run_id
