"""What a suite asks of its judge: every figure can be written, and what decides nothing is refused."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.suite.health import HEALTH, parse_health
from steelyard.suite.judge_model import Dimension, Flag, Rubric
from steelyard.suite.load import load_suite

RUBRIC = Rubric((Dimension("tone"), Dimension("sense")), (Flag("unsafe"),), 1, 5, 3)


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
    found = parse_health(text, RUBRIC)
    assert (found.metric, found.subject, found.operator) == (metric, subject, operator)
    assert (found.threshold, found.pattern, found.text) == (threshold, pattern, text)


@pytest.mark.parametrize("pattern", list(HEALTH))
def test_every_figure_can_be_asked_for(pattern):
    written = pattern.replace("<dimension>", "tone").replace("<flag>", "unsafe")
    assert parse_health(f"{written} <= 0.5", RUBRIC).pattern == pattern


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agreement.tone.kapa >= 0.6", "no figure 'agreement.tone.kapa' about a judge"),
        ("top_shar.tone <= 10 %", "no figure 'top_shar.tone' about a judge: did you mean top_share.<dimension>?"),
        ("zzz <= 10 %", "there are: agreement.<dimension>.exact"),
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
        ("top_share.tone <= 110 %", "110 is above 100 %, which no share is"),
        ("spread.tone >= 5", "cannot pass: spread.tone is always between 0 and 4"),
        ("length.tone != 2", "cannot fail"),
        ("length.tone == 2", "cannot pass"),
        ("broken_rules <= few", "'few' is not a number"),
        ("broken_rules <= 1e999", "beyond every number"),
        ("broken_rules", "has none of the operators"),
        ("broken_rules = 3", "write == or >="),
        ("<= 3", "a name is missing"),
        ("broken_rules <= 5 % with n >= 3", "is not a number"),
    ],
)
def test_a_mistake_is_explained(text, message):
    with pytest.raises(ValueError) as caught:
        parse_health(text, RUBRIC)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"health {text!r}")


def test_a_threshold_of_the_suite_is_checked_where_it_stands(judged):
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(health=["top_share.tone <= 10 %", "top_share.tome <= 10 %"]))
    (told,) = str(raised.value).splitlines()
    assert told.startswith("suite.yaml:")
    assert "judge.health 'top_share.tome <= 10 %': there is no dimension 'tome': did you mean tone?" in told


ONE = {"dimensions": {"tone": {}}, "flags": {"unsafe": {}}}


@pytest.mark.parametrize(
    ("change", "text", "message"),
    [
        ({"labels": None}, "agreement.tone.kappa >= 0.6", "the judge has no labels: say where they are"),
        ({"labels": None}, "flag.unsafe.recall >= 0.6", "the judge has no labels"),
        ({"bind": None}, "broken_rules <= 5 %", "the judge has no binding rules"),
        ({}, "made_up_quotes <= 5 %", "the judge owes no evidence"),
        ({"rubric": ONE, "bind": None, "labels": None}, "together.tone <= 0.9", "the rubric has a single dimension"),
    ],
)
def test_a_figure_that_this_judge_cannot_have_is_a_mistake(judged, change, text, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(health=[text], **change))
    assert f"judge.health {text!r}: {message}" in str(raised.value)


def test_good_thresholds_are_kept_as_written(judged):
    health = ["agreement.tone.kappa >= 0.6", "broken_rules <= 5 %"]
    assert load_suite(judged(health=health)).judge.health == tuple(health)
