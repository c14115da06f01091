"""Criteria of a suite: every mistake in them is reported at once."""

from __future__ import annotations

from itertools import product

import pytest

from steelyard.metrics.expression_checks import SuiteNames, criteria_problems, overlap
from steelyard.metrics.expressions import COMPARE, parse_expression

KNOWN = SuiteNames(
    components={"items": ["text", "grouping"], "broken": None},
    codes=["HALLUC", "FORMAT"],
    bands=["Good"],
    slices={"category": ["x"], "variant": ["a", "b"]},
    passing=False,
)


def message(**criteria):
    return [message for message, _ in criteria_problems(criteria, KNOWN)]


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
def test_a_sound_criterion_and_one_that_the_file_check_tells_are_fine_here(criterion):
    assert message(one=criterion) == []


@pytest.mark.parametrize(
    ("criterion", "problem"),
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
            "criteria.one.pass: 'average >= 0' is always true: average is always between 0 and 1",
        ),
        (
            {"pass": "average >= 0.9", "fail": "findings.HALLUC < 0"},
            "criteria.one.fail: 'findings.HALLUC < 0' can never be true: findings.HALLUC is always 0 or more",
        ),
        (
            {"pass": "findings.HALLUC == 0.5"},
            "criteria.one.pass: 'findings.HALLUC == 0.5' can never be true: findings.HALLUC is always a whole number",
        ),
        (
            {"pass": "score >= 0 % in >= 2 of 3 repeats"},
            "criteria.one.pass: 'score >= 0 % in >= 2 of 3 repeats' is always true: a score is always between 0 and 1",
        ),
        (
            {"pass": "findings.HALLUC < 0 in >= 2 of 3 repeats"},
            "criteria.one.pass: 'findings.HALLUC < 0 in >= 2 of 3 repeats' can never be true: a count is 0 or more",
        ),
        (
            {"pass": "average >= 60 %", "fail": "average < 80 %"},
            "criteria.one: 'average >= 60 %' and 'average < 80 %' could both be true: leave room between pass and fail",
        ),
    ],
)
def test_a_mistake_is_reported_in_plain_words(criterion, problem):
    assert message(one=criterion) == [problem]


def test_all_mistakes_of_all_criteria_are_reported():
    both = {"pass": "averge >= 0.9", "fail": "average < 0"}
    assert len(message(one=both, two=both)) == 4


class TestOverlap:
    def test_gates_on_one_figure_overlap_exactly_when_a_value_meets_both(self):
        """Compared with a search over all values in steps of a quarter."""
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
