"""Limits of a suite on its judge, on given figures: what is shown, what breaks a limit, and what does neither."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from parts.slices import a_slice, a_summary
from steelyard.analysis.model import Summary
from steelyard.decide.gates import GateResult, evaluate_gates
from steelyard.decide.judge_limits import broken_judge_limits
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.records import Verdict
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import SuiteModel


def summary(constant: tuple[str, ...] = (), **figures: Estimate) -> Summary:
    """What a run comes to, with figures of its judge: `agreement_tone_exact` is `judge.agreement.tone.exact`."""
    named = {f"judge.{name.replace('__', '.')}": item for name, item in figures.items()}
    judge: Any = SimpleNamespace(constant=constant)
    return a_summary("", a_slice("", "", 50, metrics=named), judge=judge)


def decided(text: str, run: Summary) -> GateResult:
    (result,) = evaluate_gates([parse_judge_threshold(text)], run)
    return result


EXACT = "agreement.tone.exact >= 80 %"


@pytest.mark.parametrize(
    ("text", "figure", "verdict", "broken"),
    [
        # Of the run's own votes the share is counted: its value decides, whatever another draw would give.
        ("contradictions <= 20 %", Estimate(0.22, 50, 0, 0.12, 0.36), Verdict.AMBIGUOUS, True),
        ("contradictions <= 20 %", Estimate(0.18, 50, 0, 0.1, 0.31), Verdict.AMBIGUOUS, False),
        ("contradictions <= 20 %", Estimate(0.02, 50, 0, 0.0, 0.1), Verdict.PASS, False),
        ("contradictions <= 20 %", Estimate(0.5, 50, 0, 0.37, 0.63), Verdict.FAIL, True),
        # How far it agrees with labels is estimated: its whole interval decides.
        (EXACT, Estimate(0.75, 50, 0, 0.61, 0.85), Verdict.AMBIGUOUS, False),
        (EXACT, Estimate(0.85, 50, 0, 0.73, 0.92), Verdict.AMBIGUOUS, False),
        (EXACT, Estimate(0.5, 50, 0, 0.37, 0.63), Verdict.FAIL, True),
        (EXACT, Estimate(0.96, 50, 0, 0.87, 0.99), Verdict.PASS, False),
        # Fewer than 20 texts show nothing good.
        (EXACT, Estimate(1.0, 19, 0, 0.83, 1.0), Verdict.AMBIGUOUS, False),
        (EXACT, Estimate(1.0, 20, 0, 0.84, 1.0), Verdict.PASS, False),
        (EXACT, Estimate(None, 0, 50), Verdict.AMBIGUOUS, False),
    ],
)
def test_what_is_shown_and_what_breaks_a_limit(text: str, figure: Estimate, verdict: Verdict, broken: bool) -> None:
    name = text.split()[0].replace(".", "__")
    found = decided(text, summary(**{name: figure}))
    assert (found.verdict, found.broken, found.value) == (verdict, broken, figure)


def test_labels_that_remain_after_texts_changed_show_nothing_good() -> None:
    good, bad = Estimate(0.96, 50, 0, 0.87, 0.99), Estimate(0.5, 50, 0, 0.37, 0.63)
    otherwise = Estimate(3.0, 50)
    kept = decided(EXACT, summary(agreement__tone__exact=good, texts__labelled_otherwise=otherwise))
    assert (kept.verdict, kept.broken) == (Verdict.AMBIGUOUS, False)
    assert "; not shown: 3 texts have labels given for another text" in kept.reason
    # What is wrong is so whatever became of other texts, and so is what no label is about.
    assert decided(EXACT, summary(agreement__tone__exact=bad, texts__labelled_otherwise=otherwise)).broken
    share = decided(
        "contradictions <= 20 %",
        summary(contradictions=Estimate(0.02, 50, 0, 0.0, 0.1), texts__labelled_otherwise=otherwise),
    )
    assert share.verdict is Verdict.PASS


KAPPA = "agreement.tone.kappa >= 0.6"


@pytest.mark.parametrize(
    ("n", "constant", "verdict", "broken"),
    [
        (20, ("tone",), Verdict.FAIL, True),
        # Few texts may well deserve the same score: the limit is not met, and the run is not suspect for it.
        (19, ("tone",), Verdict.FAIL, False),
        (5, ("tone",), Verdict.FAIL, False),
        (4, ("tone",), Verdict.AMBIGUOUS, False),
        (20, ("overall",), Verdict.AMBIGUOUS, False),
    ],
)
def test_the_same_score_for_every_text_is_no_agreement(
    n: int, constant: tuple[str, ...], verdict: Verdict, broken: bool
) -> None:
    found = decided(KAPPA, summary(constant, agreement__tone__kappa=Estimate(None, n, 50 - n)))
    assert (found.verdict, found.broken) == (verdict, broken)


def suite(*health: str, must_answer: bool = False) -> SuiteModel:
    judge: dict[str, Any] = {
        "mode": "model",
        "rubric": {"scale": [1, 5], "neutral": 3, "dimensions": [{"name": "tone", "weight": 1.0}], "flags": []},
        "health": list(health),
    }
    judge |= {"must_answer": {"in": "answers", "findings": ["NAME"]}} if must_answer else {}
    return SuiteModel.from_data({"name": "made", "judge": judge})


def test_a_judge_that_must_answer_has_a_limit_unless_its_suite_sets_one() -> None:
    run = summary(unanswered_findings=Estimate(0.2, 50, 0, 0.11, 0.33))
    usual = "the judge breaks the suite's limit: unanswered_findings 20.0 % is not <= 5.0 % (n 50)"
    assert broken_judge_limits(suite(must_answer=True), run) == [usual]
    assert broken_judge_limits(suite("unanswered_findings <= 50 %", must_answer=True), run) == []
    assert broken_judge_limits(suite(), run) == []
    own = "the judge breaks the suite's limit: unanswered_findings 20.0 % is not <= 10.0 % (n 50)"
    assert broken_judge_limits(suite("unanswered_findings <= 10 %", must_answer=True), run) == [own]


def test_broken_limits_are_counted_among_all_and_those_beyond_noise_come_first() -> None:
    run = summary(
        contradictions=Estimate(0.22, 50, 0, 0.12, 0.36),
        agreement__tone__exact=Estimate(0.5, 50, 0, 0.37, 0.63),
        broken_rules=Estimate(0.0, 50, 0, 0.0, 0.07),
    )
    (sentence,) = broken_judge_limits(suite("contradictions <= 20 %", EXACT, "broken_rules <= 10 %"), run)
    assert sentence == (
        "the judge breaks 2 of the suite's 3 limits: agreement.tone.exact 50.0 % is not >= 80.0 % (n 50),"
        " contradictions 22.0 % is not <= 20.0 % (n 50)"
    )
