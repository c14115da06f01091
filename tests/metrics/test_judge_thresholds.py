"""What a suite asks of its judge: every figure can be written, and what decides nothing is refused."""

from __future__ import annotations

import pytest

from steelyard.metrics.expression_checks import check_judge_threshold
from steelyard.metrics.expressions import parse_judge_threshold, short_name
from steelyard.metrics.registry import gate_metrics
from steelyard.suite.judge import Dimension, Evidence, Flag, JudgeModel, MustAnswer, Reasons, Rubric

RUBRIC = Rubric(
    dimensions=(Dimension(name="tone"), Dimension(name="sense")), flags=(Flag(name="unsafe"),), scale=(1, 5), neutral=3
)
JUDGE = JudgeModel.model_construct(
    rubric=RUBRIC,
    labels="expected.labels",
    rules=("tone <= 3",),
    evidence=Evidence(place="quotes"),
    reasons=Reasons(place="reasons", at_least=2),
    must_answer=MustAnswer(place="answers", findings=("CODE",)),
    check="rules:check",
)
NAMES = [short_name(name) for name, metric in gate_metrics(judged=True).items() if metric.of_judge]


def read(text):
    threshold = parse_judge_threshold(text)
    if problem := check_judge_threshold(threshold, JUDGE):
        raise ValueError(problem)
    return threshold


@pytest.mark.parametrize(
    ("text", "metric", "subject", "operator", "threshold", "pattern"),
    [
        ("agreement.tone.kappa >= 0.6", "agreement.tone.kappa", "tone", ">=", 0.6, "agreement.<dimension>.kappa"),
        ("agreement.tone.kappa > -0.5", "agreement.tone.kappa", "tone", ">", -0.5, "agreement.<dimension>.kappa"),
        ("agreement.tone.alpha >= -3", "agreement.tone.alpha", "tone", ">=", -3, "agreement.<dimension>.alpha"),
        ("agreement.tone.bias <= 0.5", "agreement.tone.bias", "tone", "<=", 0.5, "agreement.<dimension>.bias"),
        ("agreement.tone.exact >= 80 %", "agreement.tone.exact", "tone", ">=", 0.8, "agreement.<dimension>.exact"),
        ("flag.unsafe.recall>=.9", "flag.unsafe.recall", "unsafe", ">=", 0.9, "flag.<flag>.recall"),
        ("top_share.sense <= 10 %", "top_share.sense", "sense", "<=", 0.1, "top_share.<dimension>"),
        ("spread.sense >= 0.5", "spread.sense", "sense", ">=", 0.5, "spread.<dimension>"),
        ("together.sense <= 0.9", "together.sense", "sense", "<=", 0.9, "together.<dimension>"),
        ("broken_rules <= 5 %", "broken_rules", "", "<=", 0.05, "broken_rules"),
        ("failed == 0", "failed", "", "==", 0.0, "failed"),
    ],
)
def test_a_threshold_says_figure_operator_and_number(text, metric, subject, operator, threshold, pattern):
    found = read(text)
    assert (found.metric, found.subject, found.operator) == (metric, subject, operator)
    assert (found.threshold, found.pattern, found.text) == (threshold, f"judge.{pattern}", text)


@pytest.mark.parametrize("pattern", NAMES)
def test_every_figure_can_be_asked_for(pattern):
    written = pattern.replace("<dimension>", "tone").replace("<flag>", "unsafe")
    assert read(f"{written} <= 0.5").pattern == f"judge.{pattern}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agreement.tone.kapa >= 0.6", "no metric 'agreement.tone.kapa'"),
        ("top_shar.tone <= 10 %", "no metric 'top_shar.tone': did you mean top_share.<dimension>?"),
        ("zzz <= 10 %", "metrics of a judge are: agreement.<dimension>.exact"),
        ("agreement.tome.kappa >= 0.6", "no dimension 'tome': did you mean tone?"),
        ("agreement.unsafe.kappa >= 0.6", "no dimension 'unsafe'"),
        ("flag.tone.recall >= 0.6", "no flag 'tone'; there are: unsafe"),
        ("agreement.tone.kappa >= 60 %", "is not measured in %"),
        ("agreement.tone.kappa >= 2", "cannot pass: agreement.tone.kappa is always between -1 and 1"),
        ("agreement.tone.kappa >= -1", "cannot fail: agreement.tone.kappa is always between -1 and 1"),
        ("agreement.tone.kappa > 1", "cannot pass"),
        ("agreement.tone.alpha <= 1", "cannot fail: agreement.tone.alpha is always 1 or less"),
        ("agreement.tone.bias <= 4", "cannot fail: agreement.tone.bias is always between 0 and 4"),
        ("agreement.tone.bias >= 0", "cannot fail"),
        ("top_share.tone <= 1", "cannot fail: top_share.tone is always between 0 and 1"),
        ("top_share.tone >= 0 %", "cannot fail"),
        ("top_share.tone < 0", "cannot pass"),
        ("top_share.tone <= 10", "10 is above 1: write 10 % or 0.1"),
        ("top_share.tone <= 110 %", "110 % is above 100 %, which top_share.<dimension> never is"),
        ("spread.tone >= 5", "cannot pass: spread.tone is always between 0 and 4"),
        ("length.tone != 2", "cannot fail"),
        ("length.tone == 2", "cannot pass"),
        ("broken_rules <= few", "'few' is not a number"),
        ("broken_rules <= 1e999", "beyond every number"),
        ("broken_rules", "has none of the operators"),
        ("broken_rules = 3", "write == or >="),
        ("<= 3", "a name is missing"),
        ("broken_rules <= 5 % with n >= 3", "is not a number"),
        ("broken_rules <= 5 s", "broken_rules is not measured in s; allowed: %"),
        ("broken_rules <= @release", "is not a number"),
        ("top_share.tone != 30 %", "fails by coincidence alone"),
    ],
)
def test_a_mistake_is_explained(text, message):
    with pytest.raises(ValueError) as caught:
        read(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"health {text!r}")
