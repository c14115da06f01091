"""Criteria of a suite: every mistake in them is told at once, at its place."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import pytest

from steelyard.errors import SuiteError
from steelyard.scoring.base import Measure, Reading
from steelyard.suite.criteria import check_criteria, overlap, parse_expression
from steelyard.suite.draft import Draft
from steelyard.suite.gate_checks import Known
from steelyard.suite.gates import COMPARE
from steelyard.suite.load import load_suite
from steelyard.suite.located import Located
from steelyard.suite.model import Criterion

KNOWN = Known(
    components={"items": ["text", "grouping"], "broken": None},
    codes=["HALLUC", "FORMAT"],
    bands=["Good"],
    slices={"category": ["x"], "variant": ["a", "b"]},
    passing=False,
)


def told(tmp_path, known=KNOWN, **criteria):
    draft = Draft(Located({}, "suite.yaml", {}), tmp_path)
    check_criteria(criteria, known, draft)
    return [mistake.message for mistake in draft.mistakes]


@pytest.mark.parametrize(
    "criterion",
    [
        {"pass": "score.items.text >= 80 %", "fail": "score.items.text < 60 %"},
        {"pass": "findings.HALLUC == 0", "fail": "findings.HALLUC.samples > 1"},
        {"pass": "score.items.grouping >= 70 %", "secondary": True},
        {"pass": "valid in >= 2 of 3 repeats"},
        {"pass": "average >= 0.5", "fail": "findings.HALLUC >= 1 in >= 2 of 3 repeats"},
        {"pass": "variant.*.score.items.text >= 80 %", "fail": "variant.*.score.items.text < 60 %"},
        {"pass": "score.broken.anything >= 80 %"},
        {"pass": "average >= 60 %", "fail": "median < 80 %"},
        {"pass": 3, "fail": None},
        "not a criterion",
    ],
)
def test_a_sound_criterion_and_one_that_the_file_check_tells_are_fine_here(tmp_path, criterion):
    assert told(tmp_path, one=criterion) == []


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (
            {"pass": "score.itms.text >= 80 %"},
            "criteria.one.pass: 'score.itms.text >= 80 %': there is no component 'itms': did you mean items?",
        ),
        (
            {"pass": "score.items.txt >= 80 %"},
            "criteria.one.pass: 'score.items.txt >= 80 %': there is no measure of items 'txt': did you mean text?",
        ),
        (
            {"pass": "average >= 0.9", "fail": "findings.HALUC > 1"},
            "criteria.one.fail: 'findings.HALUC > 1': there is no finding code 'HALUC': did you mean HALLUC?",
        ),
        (
            {"pass": "findings.HALUC == 0 in >= 2 of 3 repeats"},
            "criteria.one.pass: 'findings.HALUC == 0 in >= 2 of 3 repeats': there is no finding code 'HALUC':"
            " did you mean HALLUC?",
        ),
        (
            {"pass": "averge >= 0.9"},
            "criteria.one.pass: 'averge >= 0.9': there is no metric 'averge': did you mean average?",
        ),
        (
            {"pass": "category.y.average >= 0.9"},
            "criteria.one.pass: 'category.y.average >= 0.9': there is no category 'y'; there are: x",
        ),
        (
            {"pass": "valid in >= 4 of 3 repeats"},
            "criteria.one.pass: 'valid in >= 4 of 3 repeats': 4 of 3 repeats can never be",
        ),
        (
            {"pass": "passed in >= 2 of 3 repeats"},
            "criteria.one.pass: 'passed in >= 2 of 3 repeats' needs a pass rule: write pass: score >= 75 %",
        ),
        (
            {"pass": "pass_rate >= 90 %"},
            "criteria.one.pass: 'pass_rate >= 90 %' needs a pass rule: write pass: score >= 75 %",
        ),
        (
            {"pass": "average >= 0"},
            "criteria.one.pass: 'average >= 0' always holds: average is always between 0 and 1",
        ),
        (
            {"pass": "average >= 0.9", "fail": "findings.HALLUC < 0"},
            "criteria.one.fail: 'findings.HALLUC < 0' can never hold: findings.HALLUC is always 0 or more",
        ),
        (
            {"pass": "findings.HALLUC == 0.5"},
            "criteria.one.pass: 'findings.HALLUC == 0.5' can never hold: findings.HALLUC is always a whole number",
        ),
        (
            {"pass": "score >= 0 % in >= 2 of 3 repeats"},
            "criteria.one.pass: 'score >= 0 % in >= 2 of 3 repeats' always holds: a score is always between 0 and 1",
        ),
        (
            {"pass": "findings.HALLUC < 0 in >= 2 of 3 repeats"},
            "criteria.one.pass: 'findings.HALLUC < 0 in >= 2 of 3 repeats' can never hold: a count is 0 or more",
        ),
        (
            {"pass": "average >= 60 %", "fail": "average < 80 %"},
            "criteria.one: 'average >= 60 %' and 'average < 80 %' could hold at once: leave room between pass and fail",
        ),
    ],
)
def test_a_mistake_is_told_in_plain_words(tmp_path, criterion, message):
    assert told(tmp_path, one=criterion) == [message]


def test_all_mistakes_of_all_criteria_are_told(tmp_path):
    both = {"pass": "averge >= 0.9", "fail": "average < 0"}
    assert len(told(tmp_path, one=both, two=both)) == 4


class TestOverlap:
    def test_gates_on_one_figure_overlap_exactly_when_a_value_meets_both(self):
        """Held against a search over all values in steps of a quarter."""
        values = {"average": [n / 4 for n in range(5)], "findings.X": [float(n) for n in range(9)]}
        limits = {"average": ["0.25", "0.5", "0.75"], "findings.X": ["1", "2", "3"]}
        for metric, reachable in values.items():
            for one, other in product(product(COMPARE, limits[metric]), repeat=2):
                gates = [parse_expression(f"{metric} {sign} {limit}") for sign, limit in (one, other)]
                expected = any(
                    all(COMPARE[gate.operator](value, gate.threshold) for gate in gates) for value in reachable
                )
                # Between two quarters lie values that the search leaves out.
                if metric == "average" and {one[0], other[0]} == {">", "<"} and not expected:
                    low = min(gate.threshold for gate in gates if gate.operator == "<")
                    high = max(gate.threshold for gate in gates if gate.operator == ">")
                    expected = low > high
                assert overlap(*gates) is expected, [gate.text for gate in gates]

    @pytest.mark.parametrize(
        ("passes", "fails", "expected"),
        [
            ("average >= 0.6", "median < 0.8", False),
            ("category.x.average >= 0.6", "average < 0.8", False),
            ("findings.X > 1", "findings.X < 2", False),
            ("latency.p50 > 1 s", "latency.p50 < 2 s", True),
            ("latency.p50 < 1 s", "latency.p50 > 1 s", False),
            ("valid in >= 2 of 3 repeats", "average < 0.5", False),
            ("valid in >= 2 of 3 repeats", "valid in >= 1 of 3 repeats", True),
            ("valid in >= 2 of 3 repeats", "passed in >= 1 of 3 repeats", False),
            # 2 of 3 clean leave 1 of 3 that is not; 1 of 3 clean leaves 2 of 3.
            ("findings.X == 0 in >= 2 of 3 repeats", "findings.X > 0 in >= 2 of 3 repeats", False),
            ("findings.X == 0 in >= 1 of 3 repeats", "findings.X > 0 in >= 2 of 3 repeats", True),
            ("findings.X == 0 in >= 2 of 3 repeats", "findings.Y > 0 in >= 1 of 3 repeats", False),
            ("score >= 80 % in >= 3 of 3 repeats", "score < 90 % in >= 3 of 3 repeats", True),
        ],
    )
    def test_what_could_hold_at_once(self, passes, fails, expected):
        assert overlap(parse_expression(passes), parse_expression(fails)) is expected


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
        "suite.yaml:10: criteria.third: 'average >= 80 %' and 'average < 90 %' could hold at once:"
        " leave room between pass and fail",
        "suite.yaml:11: criteria.fourth: unknown key 'pss': did you mean pass?",
        "suite.yaml:12: criteria.fifth.pass: 'score.text.exact >= 80 %': there is no measure of text 'exact';"
        " there are: average, points",
    ]


def test_more_repeats_than_the_suite_makes_is_no_mistake(write):
    criteria = {"json": {"pass": "valid in >= 2 of 3 repeats", "secondary": True, "about": "It is read."}}
    suite = load_suite(write({"criteria": criteria}))
    assert suite.criteria == (
        Criterion("json", "valid in >= 2 of 3 repeats", None, secondary=True, about="It is read."),
    )


def test_a_code_of_a_broken_findings_part_is_not_told_twice(write):
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
