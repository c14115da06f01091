"""Conditions over repeats: what people may write, and what they are told otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard.metrics.expressions import RepeatsRule, parse_repeats


@pytest.mark.parametrize(
    ("text", "condition", "operator", "threshold", "code", "at_least", "of"),
    [
        ("valid in >= 2 of 3 repeats", "valid", ">=", 1.0, "", 2, 3),
        ("valid in >= 2 of 3 runs", "valid", ">=", 1.0, "", 2, 3),
        ("passed in >= 1 of 1 repeat", "passed", ">=", 1.0, "", 1, 1),
        ("score >= 80 % in >= 2 of 3 repeats", "score", ">=", 0.8, "", 2, 3),
        ("score<0.25 in>=10 of 10 repeats", "score", "<", 0.25, "", 10, 10),
        ("findings.HALLUC == 0 in >= 3 of 3 repeats", "findings", "==", 0.0, "HALLUC", 3, 3),
        ('findings."in 2.5" <= 4 in >= 1 of 2 repeats', "findings", "<=", 4.0, "in 2.5", 1, 2),
    ],
)
def test_a_rule_says_what_must_hold_how_often(text, condition, operator, threshold, code, at_least, of):
    assert parse_repeats(text) == RepeatsRule(text, condition, operator, threshold, code, at_least, of)


def test_space_around_a_rule_is_no_part_of_it():
    rule = parse_repeats("  valid  in >= 2 of 3 repeats ")
    assert rule is not None
    assert (rule.text, rule.condition) == ("valid  in >= 2 of 3 repeats", "valid")


@pytest.mark.parametrize(
    "text",
    [
        "pass_rate >= 90 %",
        "category.*.average >= 0.6 with n >= 2",
        'tag."in >= 2 of 3 repeats".average >= 0.5',
        "tag.made in 2 of 3 runs.average >= 0.5",
        "valid_rate >= 3",
        "",
        "nonsense",
    ],
)
def test_what_is_of_another_form_is_none(text):
    assert parse_repeats(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("valid", "write <condition> in >= <k> of <n> repeats"),
        ("valid in 2 of 3 repeats", "does not say in how many of how many"),
        ("valid in > 1 of 3 repeats", "does not say in how many of how many"),
        ("valid in >= 2 of 3", "does not say in how many of how many"),
        ("valid in >= 2 repeats", "does not say in how many of how many"),
        ("score >= 80 % in 2 of 3", "does not say in how many of how many"),
        ("valid in >= 0 of 3 repeats", "the least is 1"),
        ("valid in >= 0 of 0 repeats", "the least is 1"),
        ("valid in >= 4 of 3 repeats", "4 of 3 repeats can never be"),
        ("in >= 2 of 3 repeats", "'' is no condition on one sample"),
        ("vaild in >= 2 of 3 repeats", "'vaild' is no condition on one sample; there are: valid, passed"),
        ("pass_rate >= 90 % in >= 2 of 3 repeats", "is no condition on one sample"),
        ("score.name.average >= 0.5 in >= 2 of 3 repeats", "is no condition on one sample"),
        ("score >= 80 in >= 2 of 3 repeats", "80 is above 1: write 80 % or 0.8"),
        ("score = 0.8 in >= 2 of 3 repeats", "write == or >="),
        ("score >= 0.8 with n >= 2 in >= 2 of 3 repeats", "with n >= 2 has no meaning for one sample"),
        ("findings.X.rate < 0.5 in >= 2 of 3 repeats", "of one sample write findings.CODE"),
        ("findings.total == 0 in >= 2 of 3 repeats", "of one sample write findings.CODE"),
        ("findings.X == 0.5 in >= 2 of 3 repeats", "0.5 is not a whole number"),
    ],
)
def test_a_broken_rule_is_explained(text, part):
    with pytest.raises(ValueError) as caught:
        parse_repeats(text)
    assert part in str(caught.value)
    assert repr(text) in str(caught.value)
    assert "average" not in str(caught.value).replace(repr(text), "").replace("score.name.average", "")


@pytest.mark.parametrize("condition", ["valid", "passed", "score >= 33 %", 'findings."A.B" > 1'])
def test_a_rule_asked_of_a_single_run_is_the_same_condition(condition):
    rule = parse_repeats(f"{condition} in >= 2 of 3 repeats")
    assert rule is not None
    assert parse_repeats(rule.once) == replace(rule, text=rule.once, at_least=1, of=1)
