"""Ratios of counts: pooled over samples, with intervals by case."""

from __future__ import annotations

import numpy as np
import pytest

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.lengths import simulations, slack
from parts.score_ends import score_ends
from steelyard.analysis.model import Summary
from steelyard.metrics.aggregate import proportions
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate


def summary_of(*made: Made, **changes: object) -> Summary:
    described = suite(**changes)
    described["components"][0]["measures"] = {"text": {"numerator": "read", "denominator": "visible", "about": "x"}}
    return summarise(columns(list(made)), described)


def text_of(*made: Made) -> Estimate:
    return summary_of(*made).overall["score.name.text"]


def counted(case: str, read: int, visible: int, **changes: object) -> Made:
    counts = {"name": {"read": read, "visible": visible}}
    return Made(case, 0.5, parts={"name": 0.5}, counts=counts, **changes)  # type: ignore[arg-type]


class TestValue:
    def test_it_is_the_ratio_of_sums_and_not_the_mean_of_ratios(self) -> None:
        found = text_of(counted("a", 1, 2), counted("b", 9, 10))
        assert (found.numerator, found.denominator) == (10, 12)
        assert found.value == pytest.approx(10 / 12)  # the mean of 1/2 and 9/10 would be 0.7

    def test_an_answer_that_cannot_be_read_stays_in_the_denominator(self) -> None:
        found = text_of(counted("a", 10, 10), counted("b", 0, 10, outcome="malformed"))
        assert (found.value, found.n) == (0.5, 2)

    def test_beside_it_stands_the_ratio_over_answers_that_could_be_read(self) -> None:
        made = [counted("a", 8, 10), counted("b", 9, 10), counted("c", 0, 10, outcome="malformed")]
        found = summary_of(*made).overall.each("score.<component>.<measure>", "name")
        assert (found["text"].value, found["text"].n) == (pytest.approx(17 / 30), 3)
        readable = summary_of(*made).overall["score.name.text.readable"]
        assert (readable.numerator, readable.denominator) == (17, 20)
        assert (readable.n, readable.n_missing) == (2, 1)
        # Without malformed answers both are one.
        assert summary_of(*made[:2]).overall.each("score.<component>.<measure>", "name").keys() == {"text"}

    def test_what_was_not_counted_or_is_inconclusive_is_missing(self) -> None:
        made = [counted("a", 5, 10), counted("b", 9, 10, outcome="judge_failed"), Made("c", 0.5, parts={"name": 0.5})]
        found = summary_of(*made, n_planned=5).overall["score.name.text"]
        assert (found.value, found.n, found.n_missing) == (0.5, 1, 4)

    def test_a_ratio_of_nothing_is_not_available(self) -> None:
        assert text_of(counted("a", 0, 0), counted("b", 0, 0)) == Estimate(
            None, 2, 0, numerator=0, denominator=0, mean_of=0
        )

    def test_a_run_without_counts_has_no_measures_to_show(self) -> None:
        assert text_of(Made("a", 0.5), Made("b", 0.5)) == Estimate(None, 0, 2, numerator=0, denominator=0, mean_of=0)

    def test_a_suite_without_measures_has_none(self) -> None:
        summary = summarise(columns([counted("a", 1, 2)]), suite())
        assert not summary.overall.each_name("score.<component>.<measure>")
        assert "measures" not in summary.method
        assert "measures: ratios of sums" in summary_of(counted("a", 1, 2)).method

    def test_every_slice_has_its_own(self) -> None:
        made = [counted("a", 1, 4, category="x", tags=("p", "q")), counted("b", 3, 4, category="y", tags=("q",))]
        slices = summary_of(*made).slices
        found = {(each.factor, each.name): each["score.name.text"] for part in slices.values() for each in part}
        assert {key: (each.numerator, each.denominator) for key, each in found.items()} == {
            ("category", "x"): (1, 4),
            ("category", "y"): (3, 4),
            ("tag", "p"): (1, 4),
            ("tag", "q"): (4, 8),
        }


class TestInterval:
    def test_it_is_that_of_the_ratio_estimator(self) -> None:
        # p = 26 / 40 = 0.65; residuals 8 - 6.5, 3 - 3.25, 6 - 7.8, 9 - 8.45 = 1.5, -0.25, -1.8, 0.55
        # squares 2.25 + 0.0625 + 3.24 + 0.3025 = 5.855; error = sqrt(4 / 3 * 5.855) / 40 = 0.0698511
        # Cases of 10, 5, 12 and 13 are worth 40^2 / 438 = 3.652968 of one size (Kish): 2.652968 degrees of freedom.
        estimate = text_of(counted("a", 8, 10), counted("b", 3, 5), counted("c", 6, 12), counted("d", 9, 13))
        assert estimate.value == 0.65
        assert (estimate.low, estimate.high) == pytest.approx(score_ends(0.65, 0.0698511, 2.652968), abs=1e-6)

    def test_repeats_of_a_case_are_one_cluster(self) -> None:
        once = text_of(counted("a", 8, 10), counted("b", 3, 5), counted("c", 6, 12))
        made = [counted("a", 4, 5), counted("a", 4, 5, repeat=1), counted("b", 3, 5)]
        made += [counted("c", 1, 6), counted("c", 5, 6, repeat=1)]
        twice = text_of(*made)
        assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
        assert twice.n == 5

    def test_one_case_bounds_nothing(self) -> None:
        estimate = text_of(counted("a", 1, 2), counted("a", 2, 2, repeat=1))
        assert (estimate.value, estimate.low, estimate.high) == (0.75, None, None)

    def test_a_case_with_nothing_to_count_is_no_second_case(self) -> None:
        estimate = text_of(counted("a", 1, 2), counted("b", 0, 0))
        assert (estimate.value, estimate.n, estimate.low) == (0.5, 2, None)

    def test_cases_with_nothing_to_count_are_no_degrees_of_freedom(self) -> None:
        # p = 15 / 25 = 0.6; residuals 8 - 6, 3 - 3, 4 - 6 = 2, 0, -2; squares 8; error = sqrt(3 / 2 * 8) / 25 =
        # 0.138564; cases of 10, 5 and 10 are worth 25^2 / 225 = 2.777778, 1.777778 degrees of freedom. With the two
        # empty cases counted the error would be sqrt(5 / 4 * 8) / 25.
        made = [counted("a", 8, 10), counted("b", 3, 5), counted("c", 4, 10), counted("d", 0, 0), counted("e", 0, 0)]
        estimate = text_of(*made)
        assert (estimate.value, estimate.n) == (pytest.approx(0.6), 5)
        assert estimate.low == pytest.approx(score_ends(0.6, 0.138564, 1.777778)[0], abs=1e-6)
        assert estimate.high == pytest.approx(score_ends(0.6, 0.138564, 1.777778)[1], abs=1e-6)

    def test_all_right_is_not_certainty(self) -> None:
        # Wilson for 4 of 4 trials, one a case: 4 / (4 + 1.96**2) = 0.5101.
        estimate = text_of(*(counted(case, 10, 10) for case in "abcd"))
        assert estimate.low == pytest.approx(0.5101, abs=5e-5)
        assert estimate.high == 1.0

    def test_it_stays_between_nothing_and_all(self) -> None:
        estimate = text_of(counted("a", 10, 10), counted("b", 2, 10), counted("c", 10, 10))
        # 22 of 30; residuals 8/3, -16/3, 8/3: squares 42.6667, error sqrt(3 / 2 * 42.6667) / 30 = 0.266667, and
        # 4.3 times that on either side would be beyond both ends.
        assert (estimate.low, estimate.high) == pytest.approx(score_ends(22 / 30, 0.2666667, 2), abs=1e-6)

    def test_it_agrees_with_the_jackknife(self) -> None:
        # Leaving out one case at a time needs no formula for the residuals.
        chance = np.random.default_rng(3)
        below = chance.integers(5, 30, 60)
        above = chance.binomial(below, chance.beta(6, 3, 60))
        left_out = (above.sum() - above) / (below.sum() - below)
        error = (59 / 60 * ((left_out - left_out.mean()) ** 2).sum()) ** 0.5
        groups = Groups([""], np.zeros(60, dtype=np.int8), np.arange(60))
        (found,) = proportions(groups, above.astype(float), below.astype(float))
        assert found.low is not None
        assert found.high is not None
        half = (found.high - found.low) / 2
        assert half == pytest.approx(2.000995 * error, rel=0.02)  # t(59) from a printed table

    @pytest.mark.simulation
    def test_it_covers_the_truth_as_often_as_it_says(self) -> None:
        # Many runs at once, each a group: 30 cases of unlike size, unlike difficulty and two alike repeats.
        chance = np.random.default_rng(7)
        runs, cases = simulations(4000, 400), 30
        visible = np.repeat(chance.integers(4, 25, runs * cases), 2)
        ability = np.repeat(chance.beta(7, 3, runs * cases), 2)
        read = chance.binomial(visible, ability)
        run = np.repeat(np.arange(runs), cases * 2)
        groups = Groups([str(i) for i in range(runs)], run, np.repeat(np.arange(runs * cases), 2))
        found = proportions(groups, read.astype(float), visible.astype(float))
        covered = sum((each.low or 0) <= 0.7 <= (each.high or 0) for each in found)
        # Two standard errors of 95 % by 4,000 simulations are 0.7 points, by 400 they are 2.2; one for the method.
        assert abs(covered / runs - 0.95) <= 0.013 + slack(0.95, runs)
