"""Made-up runs to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parts.columns import Made, columns, suite
from parts.headers import run_header
from steelyard.pairing.runs import ComparedRun
from steelyard.records import AbPlan, ExperimentPlan, RunFacts, RunState
from steelyard.store.contents import Contents, confusion_digest
from steelyard.suite.case import Case, digest

SIGNATURE = {
    "suite": "made",
    "cases": "c1",
    "truth": "t1",
    "scorers": "s1",
    "prompts": "p1",
    "schema": "a1",
    "judge": "",
    "rules": "",
    "target": "x1",
    "target_kind": "http",
    "model": "m",
}
ONE_AB = RunFacts(ab=AbPlan(id="ab-1"))
"""Options of the arms of one A/B: their calls were interleaved, so means of latency and cost are paired by case."""


def arm_of_experiment(**changes: Any) -> RunFacts:
    """Facts of a run that is an arm of an experiment."""
    plain = ExperimentPlan("trial", "it helps", "made", "prompt", ("better",), ("worse",), "c1", {})
    return RunFacts(experiment=replace(plain, **changes))


def compared(
    made: Sequence[Made],
    *,
    cases: Mapping[str, Case] | None = None,
    confusions: Sequence[tuple[str, str] | None] | None = None,
    sections: Sequence[str] | None = None,
    signature: Mapping[str, Any] | None = None,
    described: Mapping[str, Any] | None = None,
    contents: bool = True,
    **header: Any,
) -> ComparedRun:
    """A run of these samples; `confusions` and `sections` are of its findings, one after another."""
    found = columns(list(made))
    if sections is not None:
        names = list(dict.fromkeys(sections))
        found = replace(found, finding_section=np.array([names.index(one) for one in sections]), finding_sections=names)
    told = {"id": "made-1", "state": RunState.ENDED, "version": "1", "target": {"kind": "http"}} | header
    head = run_header(
        suite_name="made",
        suite_path="",
        created_at=0.0,
        signature=SIGNATURE | dict(signature or {}),
        suite=suite(**(described or {})),
        n_planned=len(made),
        **told,
    )
    return ComparedRun(head, found, _contents(made, found, dict(cases or {}), confusions) if contents else None)


def _contents(made: Sequence[Made], result: Any, cases: dict[str, Case], confusions: Any) -> Contents:
    def case(one: str) -> Case:
        return cases.get(one) or Case(one, input=one, expected=one)

    told = [
        (int(result.finding_sample[i]), (result.finding_codes[result.finding_code[i]], *pair))
        for i, pair in enumerate(confusions or ())
        if pair is not None
    ]
    return Contents(
        case_hash=np.array([int(digest(case(one.case).as_data()), 16) for one in made], dtype=np.uint64),
        confusion=np.array([confusion_digest(*texts) for _, texts in told], dtype=np.uint64),
        confusion_sample=np.array([place for place, _ in told], dtype=int),
        confused=lambda places: [told[place][1] for place in places],
        cases=lambda ids: {one: case(one) for one in ids},
    )
