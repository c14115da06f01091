"""What the average would be were one code fixed, worked out by hand beside each test."""

from __future__ import annotations

import pytest
from scipy import stats

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.found import Found, found_codes
from parts.score_ends import score_ends
from steelyard.analysis.model import Summary
from steelyard.stats.intervals import Estimate


def summary_of(*made: Made, **changes: object) -> Summary:
    return summarise(columns(list(made)), suite(**changes))


def figures(*made: Made, **changes: object) -> dict[str, Found]:
    return {found.code: found for found in found_codes(summary_of(*made, **changes))}


def only_name(case: str, value: float, *findings: tuple[str, str, float], **changes: object) -> Made:
    """A sample scored by one component alone."""
    return Made(case, value, parts={"name": value}, findings=findings, **changes)  # type: ignore[arg-type]


MISS, EXTRA = ("MISS", "name", 0.1), ("EXTRA", "name", 0.0)


class TestMended:
    def test_every_finding_of_the_code_gives_back_what_it_cost(self) -> None:
        # a: 0.6 + 2 * 0.1 = 0.8, b: 0.9 + 0.1 = 1, c stays 1: the average goes from 2.5 / 3 to 2.8 / 3.
        found = figures(only_name("a", 0.6, MISS, MISS), only_name("b", 0.9, MISS), only_name("c", 1.0))["MISS"]
        assert found.if_fixed.value == pytest.approx(2.8 / 3)
        assert found.gain == pytest.approx(0.1)
        assert (found.count, found.samples.value, found.samples.n) == (3, pytest.approx(2 / 3), 3)
        assert not found.at_most

    def test_a_gain_counts_by_the_part_its_component_has_in_the_sample(self) -> None:
        # a: weights 70 : 30, so 0.5 of value is 0.15. b: value alone was scored, so 0.5 of it is 0.5.
        finding = (("VALUE", "value", 0.5),)
        a = Made("a", 0.85, parts={"name": 1.0, "value": 0.5}, findings=finding)
        b = Made("b", 0.5, parts={"name": None, "value": 0.5}, findings=finding)
        assert figures(a, b)["VALUE"].gain == pytest.approx((0.15 + 0.5) / 2)

    def test_a_sample_never_rises_above_full_marks(self) -> None:
        found = figures(only_name("a", 0.8, ("MISS", "name", 0.4)), only_name("b", 0.5))["MISS"]
        assert found.if_fixed.value == pytest.approx(0.75)

    def test_a_component_that_has_no_weight_gives_nothing(self) -> None:
        described = suite()
        described["components"][1]["weight"] = 0.0
        made = [
            Made(case, 1.0, parts={"name": 1.0, "value": 0.0}, findings=(("VALUE", "value", 1.0),)) for case in "ab"
        ]
        (found,) = found_codes(summarise(columns(made), described))
        assert (found.gain, found.if_fixed.value) == (0.0, 1.0)

    def test_an_error_that_costs_nothing_leaves_the_average_as_it_is(self) -> None:
        summary = summary_of(only_name("a", 0.6, EXTRA), only_name("b", 0.7, EXTRA, EXTRA))
        (found,) = found_codes(summary)
        assert (found.code, found.gain, found.if_fixed) == ("EXTRA", 0.0, summary.overall["average"])

    def test_an_answer_that_cannot_be_read_would_be_worth_one_at_most(self) -> None:
        unread = Made("m", 0.0, "malformed", findings=(("FORMAT", "", 1.0),))
        found = figures(only_name("a", 0.6, MISS), unread)["FORMAT"]
        assert found.at_most
        assert found.if_fixed.value == pytest.approx(0.8)  # (0.6 + 1) / 2

    def test_the_interval_is_that_of_a_mean(self) -> None:
        made = [only_name("a", 0.6, MISS), only_name("b", 0.9, MISS), only_name("c", 0.4)]
        mended = figures(*made)["MISS"].if_fixed
        assert (mended.low, mended.high) == pytest.approx(score_ends(0.7, stats.sem([0.7, 1.0, 0.4]), 2))

    def test_a_failed_call_is_missing_and_its_findings_are_nothing(self) -> None:
        failed = Made("t", None, "judge_failed", findings=(("SCORER_ERROR", "name", 1.0), MISS))
        found = figures(only_name("a", 0.6, MISS), failed, n_planned=4)
        assert list(found) == ["MISS"]
        assert found["MISS"].count == 1
        assert (found["MISS"].if_fixed.value, found["MISS"].if_fixed.n, found["MISS"].if_fixed.n_missing) == (0.7, 1, 3)

    def test_the_gain_is_a_share_of_the_scale_whatever_the_scale_is(self) -> None:
        described = suite()
        described["components"][0]["scale"] = [1.0, 5.0]
        made = [
            Made(case, 0.475, parts={"name": 2.0, "value": 1.0}, findings=(("NAME", "name", 0.75),)) for case in "ab"
        ]
        (found,) = found_codes(summarise(columns(made), described))
        assert found.if_fixed.value == pytest.approx(1.0)  # 0.475 + 0.7 * 0.75


class TestWhatIsNotKnown:
    def test_a_run_of_before_gains_were_noted_has_counts_and_no_fixed_average(self) -> None:
        old = Made("a", 0.3, parts={"name": 0.3}, findings=("NAME",))
        found = figures(old, Made("b", 1.0, parts={"name": 1.0}), n_planned=3)["NAME"]
        assert (found.count, found.samples.value) == (1, 0.5)
        assert (found.if_fixed, found.gain) == (Estimate(None, 0, 3), 0.0)

    def test_of_such_a_run_the_format_is_still_known(self) -> None:
        found = figures(Made("a", 1.0, parts={"name": 1.0}), Made("m", 0.0, "malformed", findings=("FORMAT",)))
        assert (found["FORMAT"].if_fixed.value, found["FORMAT"].at_most) == (1.0, True)

    def test_a_code_with_a_finding_of_no_component_has_no_fixed_average(self) -> None:
        found = figures(only_name("a", 0.6, MISS, ("ODD", "", 0.4)), only_name("b", 0.9, ("ODD", "name", 0.1)))
        assert found["ODD"].if_fixed.value is None
        assert found["MISS"].if_fixed.value == pytest.approx(0.8)


class TestOrder:
    def test_what_is_worth_most_comes_first_then_what_is_more_frequent(self) -> None:
        made = [
            only_name("a", 0.2, MISS, ("OCR", "name", 0.3), EXTRA),
            only_name("b", 0.7, ("SPOT", "name", 0.0), EXTRA),
        ]
        assert [figure.code for figure in summary_of(*made).codes] == ["OCR", "MISS", "EXTRA", "SPOT"]


class TestPriorities:
    def test_a_component_that_tells_errors_apart_is_spoken_of_code_by_code(self) -> None:
        # MISS: a rises by 0.2, b by 0.1, five in all: 0.3 / 5 = 6 points above (0.6 + 0.9 + 3) / 5 = 90 %.
        made = [only_name("a", 0.6, MISS, MISS, EXTRA, ("OCR", "name", 0.2)), only_name("b", 0.9, MISS)]
        made += [only_name(case, 1.0) for case in "cde"]
        assert [priority.sentence for priority in summary_of(*made).priorities] == [
            "Fix MISS (3 findings in 2 of 5 samples): the average would be 96.0 %, +6.0 points",
            "Fix OCR (1 finding in 1 of 5 samples): the average would be 94.0 %, +4.0 points",
        ]

    def test_a_component_with_only_its_own_code_is_spoken_of_as_before(self) -> None:
        made = [
            Made(case, 0.7, parts={"name": 1.0, "value": 0.0}, findings=(("VALUE", "value", 1.0),)) for case in "ab"
        ]
        (priority,) = summary_of(*made).priorities
        assert priority.sentence == "Improve value (average 0.0 %, n 2, small n): worth up to +30.0 points"

    def test_both_stand_side_by_side_and_the_format_is_said_once(self) -> None:
        value, unread = ("VALUE", "value", 1.0), Made("m", 0.0, "malformed", findings=(("FORMAT", "", 1.0),))
        both = Made("a", 0.35, parts={"name": 0.5, "value": 0.0}, findings=(("MISS", "name", 0.5), value))
        made = [both, unread, *(Made(case, 1.0, parts={"name": 1.0, "value": 1.0}) for case in "bcd")]
        found = [priority.sentence for priority in summary_of(*made).priorities]
        assert [sentence.split(" (")[0] for sentence in found] == [
            "Fix the format of answers",  # 1 of 5: 20 points
            "Fix MISS",  # 0.7 * 0.5 / 5 = 7 points
            "Improve value",  # 0.3 / 5 = 6 points
        ]

    def test_where_the_gain_of_a_code_is_not_known_the_component_is_spoken_of(self) -> None:
        made = [only_name("a", 0.5, ("MISS", "name", 0.5)), only_name("b", 1.0, ("MISS", "", 0.0))]
        (priority,) = summary_of(*made).priorities
        assert priority.sentence.startswith("Improve name")


def test_a_slice_says_in_how_many_samples_each_code_was_found() -> None:
    made = [only_name("a", 0.6, MISS, MISS, EXTRA, category="x"), only_name("b", 0.9, MISS, category="y")]
    summary = summary_of(*made)
    assert summary.overall.counts("findings.<code>.samples") == {"EXTRA": 1, "MISS": 2}
    assert summary.overall.counts("findings.<code>") == {"EXTRA": 1, "MISS": 3}
    assert {each.name: each.counts("findings.<code>.samples") for each in summary.slices["category"]} == {
        "x": {"EXTRA": 1, "MISS": 1},
        "y": {"MISS": 1},
    }
