"""Criteria and judge thresholds of a suite file: every mistake is reported with its line."""

from __future__ import annotations

from typing import ClassVar

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.scoring.base import Measure, Reading
from steelyard.suite.models import Criterion


class Counting:
    """A scorer as a Python suite brings it along, with a measure of its own."""

    measures: ClassVar[dict[str, Measure]] = {"found": Measure("found", "there", "what was found")}

    def read(self, answer, case):
        return Reading(1.0)

    def truth(self, case):
        return "x"


def test_criteria_of_a_suite_file_are_checked_with_line_and_kept_in_order(write):
    text = """suite: demo
cases: cases.json
target: {python: "m:f"}
score: {text: {same: {expected: expected.text}}}
criteria:
  first:
    pass: average >= 80 %
    fail: averag < 60 %
  second: {pass: findings.TEXT == 0, fail: findings.TXT.samples > 1}
  third: {pass: average >= 80 %, fail: average < 90 %}
  fourth: {pss: average >= 80 %}
  fifth: {pass: score.text.exact >= 80 %}
"""
    with pytest.raises(SuiteError) as raised:
        load_suite(write(text))
    assert str(raised.value).splitlines() == [
        "suite.yaml:8: criteria.first.fail: 'averag < 60 %': there is no metric 'averag': did you mean average?",
        "suite.yaml:9: criteria.second.fail: 'findings.TXT.samples > 1': there is no finding code 'TXT':"
        " did you mean TEXT?",
        "suite.yaml:10: criteria.third: 'average >= 80 %' and 'average < 90 %' could both be true:"
        " leave room between pass and fail",
        "suite.yaml:11: criteria.fourth: unknown key 'pss': did you mean pass?",
        "suite.yaml:12: criteria.fifth.pass: 'score.text.exact >= 80 %': there is no measure of text 'exact';"
        " there are: average, points",
    ]


def test_more_repeats_than_the_suite_makes_is_no_mistake(write):
    criteria = {"json": {"pass": "valid in >= 2 of 3 repeats", "secondary": True, "about": "It is read."}}
    suite = load_suite(write({"criteria": criteria}))
    assert suite.criteria == (
        Criterion(name="json", passes="valid in >= 2 of 3 repeats", fails=None, secondary=True, about="It is read."),
    )


def test_a_code_of_a_broken_findings_part_is_not_reported_twice(write):
    criteria = {"a": {"pass": "findings.TEXT == 0"}}
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"criteria": criteria, "findings": {"TEXT": {"severity": "bad"}}}))
    assert len(str(raised.value).splitlines()) == 1


def test_the_measures_of_a_scorer_may_be_named():
    from steelyard import Suite

    suite = Suite(
        "counted",
        cases=[{"id": "a", "input": "x"}],
        target=lambda case: "x",
        score={"items": Counting()},
        gates=["score.items.found >= 50 %"],
        criteria={"found": {"pass": "score.items.found >= 80 %", "fail": "score.items.found < 60 %"}},
    )
    assert [criterion.name for criterion in suite.model.criteria] == ["found"]
    with pytest.raises(SuiteError, match="no measure of items 'fond': did you mean found"):
        Suite(
            "counted",
            cases=[{"id": "a", "input": "x"}],
            target=lambda case: "x",
            score={"items": Counting()},
            criteria={"found": {"pass": "score.items.fond >= 80 %"}},
        )


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
