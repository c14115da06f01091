"""What a run's verdict takes from its judge: limits of the suite that it breaks, and whether it tells texts apart."""

from __future__ import annotations

from steelyard.analysis.model import Summary
from steelyard.decide.gates import broken_limits, evaluate_gates
from steelyard.decide.verdict import decide, is_judged
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.suite.models import SuiteModel

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
    from steelyard.analysis.judge.constant_scores import constant_judge

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
