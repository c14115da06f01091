"""What goes wrong more than once, and what to fix first."""

from __future__ import annotations

import pytest

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.found import gains
from steelyard.analysis.model import Summary


def summary_of(made: list[Made], **changes: object) -> Summary:
    return summarise(columns(made), suite(**changes))


def sentences(summary: Summary) -> list[str]:
    return [pattern.sentence for pattern in summary.patterns]


def good(case: str, **changes: object) -> Made:
    return Made(case, 1.0, parts={"name": 1.0, "value": 1.0}, **changes)  # type: ignore[arg-type]


def bad(case: str, part: str, **changes: object) -> Made:
    parts = {"name": 1.0, "value": 1.0} | {part: 0.2}
    score = 0.7 * parts["name"] + 0.3 * parts["value"]
    return Made(case, score, parts=parts, findings=(part.upper(),), **changes)  # type: ignore[arg-type]


class TestPatterns:
    def test_a_low_component_in_a_category_is_one(self) -> None:
        made = [bad(f"b{i}", "name", category="letters") for i in (2, 1)]
        made += [good(f"g{i}", category="letters") for i in range(6)]
        made += [bad("other", "name", category="notes"), *(good(f"c{i}", category="notes") for i in range(4))]
        summary = summary_of(made)
        assert sentences(summary) == ["name below 50 % in letters (2 of 8)"]
        (pattern,) = summary.patterns
        assert (pattern.count, pattern.n, pattern.cases) == (2, 8, ("b1", "b2"))

    def test_the_mark_is_the_components_own(self) -> None:
        described = suite()
        described["components"][0]["wrong_below"] = 0.1
        made = [bad(f"b{i}", "name") for i in range(5)]
        assert summarise(columns(made), described).patterns == []

    def test_without_categories_it_is_of_the_whole_run(self) -> None:
        made = [bad("b1", "value"), bad("b2", "value"), *(good(f"g{i}") for i in range(3))]
        assert sentences(summary_of(made)) == ["value below 50 % (2 of 5)"]

    def test_answers_in_the_wrong_shape_are_one_and_their_components_are_not(self) -> None:
        made = [Made(f"m{i}", 0.0, "malformed", category="letters", findings=("FORMAT",)) for i in range(3)]
        made += [good(f"g{i}", category="letters") for i in range(3)]
        assert sentences(summary_of(made)) == ["FORMAT in letters (3 of 6)"]

    def test_difficulties_and_variants_that_do_not_pass_are_ones(self) -> None:
        made = [bad(f"b{i}", "name", difficulty="medium", variant="v1") for i in range(5)]
        made += [good(f"g{i}", difficulty="medium", variant="v2") for i in range(20)]
        found = sentences(summary_of(made, variants=["v1", "v2"]))
        assert "difficulty medium: 5 of 25 do not pass" not in found  # the only difficulty says nothing new
        assert "variant v1: 5 of 5 do not pass" in found
        made += [good("h", difficulty="hard", variant="v2")]
        assert "difficulty medium: 5 of 25 do not pass" in sentences(summary_of(made, variants=["v1", "v2"]))

    def test_the_most_frequent_come_first_and_then_the_larger_share(self) -> None:
        made = [bad(f"x{i}", "name", category="x") for i in range(3)]
        made += [good(f"gx{i}", category="x") for i in range(7)]
        made += [bad(f"y{i}", "value", category="y") for i in range(2)] + [
            good(f"gy{i}", category="y") for i in range(3)
        ]
        made += [bad(f"z{i}", "value", category="z") for i in range(2)] + [
            good(f"gz{i}", category="z") for i in range(8)
        ]
        assert sentences(summary_of(made)) == [
            "name below 50 % in x (3 of 10)",
            "value below 50 % in y (2 of 5)",
            "value below 50 % in z (2 of 10)",
        ]

    def test_one_case_that_fails_in_every_repeat_is_not_a_pattern(self) -> None:
        made = [bad("b", "name", repeat=i) for i in range(3)] + [good("g", repeat=i) for i in range(3)]
        assert summary_of(made).patterns == []

    def test_with_repeats_the_sentence_says_how_many_cases(self) -> None:
        made = [bad(case, "name", repeat=i) for case in ("a", "b") for i in range(3)]
        made += [good("g", repeat=i) for i in range(3)]
        assert sentences(summary_of(made)) == ["name below 50 % (6 of 9 samples, 2 cases)"]

    def test_a_small_n_is_said(self) -> None:
        made = [bad(f"b{i}", "name", category="x") for i in range(2)] + [good("g", category="y")]
        assert sentences(summary_of(made)) == ["name below 50 % in x (2 of 2, small n)"]

    def test_no_more_than_twenty_are_kept_and_the_rest_is_counted(self) -> None:
        made = [bad(f"{c}-{i}", "name", category=f"c{c}") for c in range(30) for i in range(2)]
        summary = summary_of(made)
        assert (len(summary.patterns), summary.overall.count("patterns")) == (20, 30)

    def test_failed_calls_are_no_pattern(self) -> None:
        made = [Made(f"t{i}", None, "target_failed", category="x", difficulty="d") for i in range(5)]
        assert summary_of(made).patterns == []


class TestPriorities:
    def test_the_gain_is_the_weight_times_what_is_lacking(self) -> None:
        # 50 samples whose value averages 61.9 %, weight 10 of 100: 0.1 * 0.381 = 3.81 points.
        described = suite()
        described["components"][0]["weight"], described["components"][1]["weight"] = 90.0, 10.0
        made = [Made(f"c{i}", 0.9 + 0.1 * 0.619, parts={"name": 1.0, "value": 0.619}) for i in range(50)]
        summary = summarise(columns(made), described)
        (priority,) = summary.priorities
        assert priority.sentence == "Improve value (average 61.9 %, n 50): worth up to +3.8 points"
        assert gains(summary) == pytest.approx([0.0381])
        assert (priority.component, summary.overall["score.value.points"].n) == ("value", 50)

    def test_weights_are_renormalised_in_each_sample(self) -> None:
        # a: name weighs 70 of 100 and lacks 0.5: 0.35. b: name is all that was scored and lacks 0.5: 0.5.
        made = [Made("a", 0.65, parts={"name": 0.5, "value": 1.0}), Made("b", 0.5, parts={"name": 0.5, "value": None})]
        assert gains(summary_of(made)) == pytest.approx([(0.35 + 0.5) / 2])

    def test_fixing_everything_is_worth_exactly_what_is_lacking(self) -> None:
        made = [
            Made("a", 0.7 * 0.3 + 0.3 * 0.9, parts={"name": 0.3, "value": 0.9}),
            Made("b", 0.4, parts={"name": None, "value": 0.4}),
            Made("m", 0.0, "malformed", findings=("FORMAT",)),
            Made("t", None, "target_failed"),
        ]
        summary = summary_of(made)
        assert summary.overall["average"].value is not None
        assert sum(gains(summary)) == pytest.approx(1 - summary.overall["average"].value)

    def test_the_largest_gain_comes_first_and_format_is_a_line_of_its_own(self) -> None:
        made = [Made(f"c{i}", 0.7 + 0.3 * 0.5, parts={"name": 1.0, "value": 0.5}) for i in range(7)]
        made += [Made(f"m{i}", 0.0, "malformed", findings=("FORMAT",)) for i in range(3)]
        described = suite()
        described["components"][0]["when_unknown"] = described["components"][1]["when_unknown"] = "skip"
        assert [each.sentence for each in summarise(columns(made), described).priorities] == [
            "Fix the format of answers (average 70.0 %, n 10): worth up to +30.0 points",
            "Improve value (average 50.0 %, n 7): worth up to +10.5 points",  # 7 * 0.3 * 0.5 / 10
        ]

    def test_a_small_n_is_said(self) -> None:
        made = [Made("a", 0.7, parts={"name": 1.0, "value": 0.0})]
        assert "n 1, small n" in summary_of(made).priorities[0].sentence

    def test_what_is_perfect_or_has_no_weight_is_left_out(self) -> None:
        described = suite()
        described["components"][1]["weight"] = 0.0
        made = [Made(f"c{i}", 1.0, parts={"name": 1.0, "value": 0.0}) for i in range(4)]
        assert summarise(columns(made), described).priorities == []

    def test_a_component_on_another_scale_gains_by_its_share(self) -> None:
        # 2 on 1..5 is a quarter: 0.7 * 0.75 = 52.5 points.
        described = suite()
        described["components"][0]["scale"] = [1.0, 5.0]
        made = [Made(f"c{i}", 0.475, parts={"name": 2.0, "value": 1.0}) for i in range(6)]
        (priority,) = summarise(columns(made), described).priorities
        assert priority.sentence == "Improve name (average 25.0 %, n 6): worth up to +52.5 points"
