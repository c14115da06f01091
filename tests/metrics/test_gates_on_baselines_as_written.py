"""Gates on a baseline as people write them."""

from __future__ import annotations

import pytest

from parts.looped import for_every
from parts.mixed_run import SUITE
from steelyard.metrics.expression_checks import SuiteNames, cannot_fail, check_gate
from steelyard.metrics.expressions import baseline_name_problem, is_relative, parse_expression, parse_gate
from steelyard.suite.models import SuiteModel


@for_every(
    ("text", "stated"),
    [
        ("average >= release - 3 points", (None, "average", "release", -0.03, 1, False)),
        ("category.*.average >= release - 3 points", ("*", "average", "release", -0.03, 1, False)),
        ("average >= release - 1 point", (None, "average", "release", -0.01, 1, False)),
        ("average>=@release-2.5 points with n >= 10", (None, "average", "release", -0.025, 10, False)),
        ("pass_rate >= @v2.1", (None, "pass_rate", "v2.1", 0.0, 1, False)),
        ("pass_rate >= @release for sure", (None, "pass_rate", "release", 0.0, 1, True)),
        ("average >= last-good - 3 points for sure with n >= 9", (None, "average", "last-good", -0.03, 9, True)),
        ("latency.p95 <= release + 200 ms", (None, "latency.p95", "release", 0.2, 1, False)),
        ("latency.p95 <= release + 0.2", (None, "latency.p95", "release", 0.2, 1, False)),
        ("findings.NAME <= release + 2", (None, "findings.NAME", "release", 2.0, 1, False)),
        ("score.style.points >= release - 0.5", (None, "score.style.points", "release", -0.5, 1, False)),
        ("cost.total <= release + 1.5", (None, "cost.total", "release", 1.5, 1, False)),
    ],
)
def test_a_threshold_is_counted_from_a_baseline(text, stated):
    gate = parse_gate(text)
    assert (gate.slice, gate.metric, gate.baseline, gate.threshold, gate.min_n, gate.for_sure) == stated
    assert is_relative(text)


def test_a_plain_number_is_counted_from_nothing():
    assert (parse_gate("average >= 0.8").baseline, is_relative("average >= 0.8")) == ("", False)
    assert not is_relative("no gate at all")


@for_every(
    ("text", "part"),
    [
        ("average >= release", "'release' is not a number"),
        ("average >= release - 3", "write 3 points"),
        ("average >= release - 3 %", "write 3 points"),
        ("latency.p95 <= release + 10 %", "write 10 s or 10 ms or 10"),
        ("average == release - 3 points", "by >= or <="),
        ("average > release - 3 points", "by >= or <="),
        ("average >= release + 3 points", "to allow one, write >= release - 3"),
        ("latency.p95 <= release - 200 ms", "to allow one, write <= release + 200"),
        ("flaky_rate <= release + 3 points", "flaky_rate is not compared between runs"),
        ("category.x.stability.presence >= release - 3 points", "stability.presence in a slice is not compared"),
        ("category.x.malformed_rate <= release + 3 points", "malformed_rate in a slice is not compared"),
        ("average >= release - 3 points with n >= 0", "the least is 1"),
        ("averag >= release - 3 points", "did you mean average?"),
    ],
)
def test_a_mistake_is_explained(text, part):
    with pytest.raises(ValueError, match="gate") as caught:
        parse_gate(text)
    assert part in str(caught.value)


def test_names_of_the_suite_are_checked_and_that_of_the_baseline_is_not():
    known = SuiteNames(codes=["NAME"], slices={"category": ["art"]})
    assert check_gate(parse_gate("findings.NAME.rate <= anything - 0 points"), known) is None
    assert "no finding code 'NAMES'" in check_gate(parse_gate("findings.NAMES <= release + 1"), known)
    assert "no category 'arts'" in check_gate(parse_gate("category.arts.average >= release - 1 points"), known)


def test_a_mean_of_measures_has_no_paired_difference_and_is_refused():
    known = SuiteNames.of_run(SuiteModel.from_data(SUITE), None)
    wrong = check_gate(parse_gate("score.items.both >= release - 2 points"), known)
    assert "score.items.both is a mean of measures, which is not compared between runs" in wrong
    assert check_gate(parse_gate("score.items.both >= 60 %"), known) is None
    assert check_gate(parse_gate("score.items.recall >= release - 2 points"), known) is None


def test_a_margin_that_no_run_can_miss_decides_nothing():
    assert "cannot fail: average is always between 0 and 1" in cannot_fail(
        parse_gate("average >= release - 100 points")
    )
    assert cannot_fail(parse_gate("average >= release - 99 points")) is None
    known = SuiteNames(scales={"style": (1.0, 5.0)})
    assert "cannot fail" in cannot_fail(parse_gate("score.style.points >= release - 4"), known)
    assert cannot_fail(parse_gate("score.style.points >= release - 3.9"), known) is None
    assert cannot_fail(parse_gate("cost.total <= release + 1000000")) is None


@pytest.mark.parametrize("text", ["average >= release - 3 points", "score >= release - 3 points in >= 2 of 3 repeats"])
def test_a_criterion_is_held_against_numbers(text):
    with pytest.raises(ValueError, match="compared with a number"):
        parse_expression(text)


@pytest.mark.parametrize("name", ["release", "v2.1", "last-good", "R", "a_b"])
def test_names_that_do(name):
    assert baseline_name_problem(name) is None


@for_every("name", ["", "LAST", "last", "2", "-a", "a-", "a b", "a/b", "@a", "é", "x" * 61, "a\n"])
def test_names_that_do_not(name):
    assert baseline_name_problem(name) is not None
