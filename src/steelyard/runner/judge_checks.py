"""What is checked of a judge when its run ends: the suite's own limits, whether it tells texts apart, its drift."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.analysis.model import Summary
from steelyard.decide.baselines import Reference, runs_held_against
from steelyard.decide.gates import broken_limits, evaluate_gates
from steelyard.decide.verdict import decide, is_judged
from steelyard.engine.writer import Progress
from steelyard.errors import SteelyardError
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.records import Anchors, Mode, RunHeader, RunState, Verdict
from steelyard.store.base import Store
from steelyard.suite.models import Limits, SuiteModel

if TYPE_CHECKING:
    from steelyard.judging.cost_estimate import CostEstimate


_UNANSWERED = "unanswered_findings"
_MOST_UNANSWERED = f"{_UNANSWERED} <= 5 %"
"""What a judge owes that must answer findings, where its suite sets no limit of its own."""


def broken_judge_limits(suite: SuiteModel, summary: Summary) -> list[str]:
    """That the judge of a run breaks limits of `judge.health`, in one sentence, if it does."""
    if suite.judge is None or summary.judge is None:
        return []
    texts = list(suite.judge.health)
    if suite.judge.must_answer is not None and not any(text.startswith(_UNANSWERED) for text in texts):
        texts.append(_MOST_UNANSWERED)
    sentence = broken_limits(evaluate_gates(list(map(parse_judge_threshold, texts)), summary))
    return [sentence] if sentence else []


def judge_doubts(header: RunHeader, summary: Summary, *, differ: bool) -> list[str]:
    """That the judge does not separate texts, if so, which gates pass because of it and what to do; `differ` says
    whether the texts do."""
    judge = header.description.judge
    if summary.judge is None or judge is None or not differ:
        return []
    from steelyard.analysis.judge.health import constant_judge

    why = constant_judge(summary.judge, judge.rubric.scale, judge.constant)
    if not why:
        return []
    suite = header.description
    results = decide(summary, suite, state=RunState.ENDED).gates
    passing = dict.fromkeys(item.gate for item in results if item.verdict is Verdict.PASS and is_judged(item, suite))
    constant = [
        name
        for name in summary.judge.constant
        if name not in summary.judge.usual or not summary.judge.usual[name].n_refused
    ]
    gates = f"gates that pass on these scores: {', '.join(passing)}" if passing else "no gate passes on these scores"
    # Where labels refuse the score, there is nothing to declare.
    declare = f", or declare the score expected: judge.constant: [{', '.join(constant)}]" if constant else ""
    return [f"{why}; {gates}; compare the judge with labels (steelyard judge check){declare}"]


def with_anchors(
    header: RunHeader,
    suite: SuiteModel,
    limits: Limits,
    store: Store,
    reference: Reference | None,
    progress: Progress,
    env: Mapping[str, str] | None,
) -> RunHeader:
    """The header with what the run's judge, if it is a model, reads of the anchors of the runs that this one is held
    against, within `limits`. What goes wrong is told, and ends nothing."""
    asked = suite.judge is not None and any(member.kind != "python" for member in suite.judge.members)
    # The arms of an experiment are judged side by side.
    if not asked or not limits.anchors or header.options.experiment is not None:
        return header
    from steelyard.analysis.compare.pairing import read_run
    from steelyard.runner.attribute import Purchase, read_anchors

    results: dict[str, Anchors] = {}
    for label, (home, run_id) in runs_held_against(store, header, reference).items():

        def add_problem(estimate: CostEstimate, label: str = label) -> None:
            if estimate.texts:
                progress.note(f"judging answers of {label} again, to measure drift of the judge: {estimate}")

        try:
            before, now = read_run(home, run_id), read_run(store, header.id)
            if run_id in results or before.mode not in (Mode.MODEL, Mode.BASIC):
                continue
            left = (
                None if limits.max_cost is None else limits.max_cost - sum(item.cost or 0 for item in results.values())
            )
            read = read_anchors(
                before, now, suite, Purchase(limits.anchors, store, add_problem, left), limits, env or os.environ
            )
        except SteelyardError as error:
            progress.note(f"drift of the judge is not measured against {label}: {str(error).partition(chr(10))[0]}")
            continue
        if read is not None:
            results[run_id] = read
    return replace(header, options=replace(header.options, anchors=results or header.options.anchors))
