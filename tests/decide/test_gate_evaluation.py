"""Gates compared with runs."""

from __future__ import annotations

import pytest

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.looped import for_every
from steelyard.analysis.model import Summary
from steelyard.decide.gates import GateResult, Scope, evaluate, evaluate_criteria
from steelyard.records import Verdict
from steelyard.suite.models import Criterion


def summary_of(made: list[Made], **changes: object) -> Summary:
    return summarise(columns(made), suite(**changes))


def one(gate: str, made: list[Made]) -> GateResult:
    (result,) = evaluate([gate], summary_of(made))
    return result


def scores(*values: float) -> list[Made]:
    return [Made(f"c{i}", value) for i, value in enumerate(values)]


RUN = [
    Made("a", 0.9, category="x", parts={"name": 0.9}, latency=0.1, tokens=(10, 2), cost=0.5, findings=("VALUE",)),
    Made("b", 0.7, category="x", parts={"name": 0.5}, latency=0.3, tokens=(20, 2), cost=0.25),
    Made(
        "c", 0.8, category="y", parts={"name": 1.0}, latency=0.2, tokens=(30, 2), cost=0.25, findings=("NAME", "NAME")
    ),
    Made("d", 0.0, "malformed", category="y", latency=0.4, findings=("FORMAT",)),
]


@for_every(
    ("metric", "value", "n"),
    [
        ("pass_rate", 0.5, 4),
        ("average", 0.6, 4),
        ("median", 0.75, 4),
        ("scored_rate", 0.75, 4),
        ("malformed_rate", 0.25, 4),
        ("inconclusive_rate", 0.0, 4),
        ("band.Good", 0.5, 4),
        ("band.Poor", 0.25, 4),
        ("score.name.average", 0.6, 4),
        ("findings.total", 4, 4),
        ("findings.NAME", 2, 4),
        ("findings.NAME.rate", 0.25, 4),
        ("latency.p50", 0.25, 4),
        ("latency.mean", 0.25, 4),
        ("latency.min", 0.1, 4),
        ("latency.max", 0.4, 4),
        ("cost.total", 1.0, 3),
        ("tokens.in", 60, 3),
        ("tokens.out", 6, 3),
        ("category.x.average", 0.8, 2),
        ("category.y.findings.NAME", 2, 2),
        ("category.x.findings.NAME", 0, 2),
        ("category.x.tokens.in", 30, 2),
    ],
)
def test_each_metric_reads_its_figure(metric: str, value: float, n: int) -> None:
    result = one(f"{metric} <= 0.999" if value <= 1 else f"{metric} >= 1", RUN)
    assert (result.value.value, result.value.n) == (pytest.approx(value), n)
    assert result.metric == metric


class TestComparison:
    def test_forty_five_of_fifty_is_ninety_percent(self) -> None:
        made = scores(*[1.0] * 45, *[0.0] * 5)
        assert one("pass_rate >= 90 %", made).verdict is Verdict.PASS
        assert one("pass_rate > 90 %", made).verdict is Verdict.FAIL
        assert one("pass_rate == 90 %", made).verdict is Verdict.PASS
        assert one("pass_rate >= 90.1 %", made).verdict is Verdict.FAIL

    def test_rounding_of_a_mean_does_not_fail_a_gate(self) -> None:
        assert 0.1 + 0.7 + 0.1 < 0.9  # the sum in floats is a hair short
        assert one("average >= 0.3", scores(0.1, 0.7, 0.1)).verdict is Verdict.PASS

    def test_a_result_has_value_n_interval_and_reason(self) -> None:
        result = one("pass_rate >= 90 %", scores(*[1.0] * 38, *[0.0] * 12))
        # Wilson for 38 of 50, statsmodels proportion_confint(38, 50, method="wilson")
        assert (result.value.low, result.value.high) == pytest.approx((0.6259, 0.8570), abs=1e-4)
        assert (result.verdict, result.value.n, result.unit) == (Verdict.FAIL, 50, "share")
        assert result.reason == "76.0 % is not >= 90.0 %"

    def test_the_reason_says_when_the_interval_reaches_across(self) -> None:
        assert "contains the threshold" in one("pass_rate >= 90 %", scores(*[1.0] * 46, *[0.0] * 4)).reason

    def test_a_near_miss_does_not_look_like_a_hit(self) -> None:
        reason = one("average >= 90 %", scores(0.89996, 0.89996)).reason
        assert reason.startswith("89.996 % is not >= 90.0 %")

    def test_a_latency_in_milliseconds_is_compared_in_seconds(self) -> None:
        made = [Made(f"c{i}", 1.0, latency=0.45) for i in range(3)]
        assert one("latency.p50 <= 450 ms", made).verdict is Verdict.PASS
        assert one("latency.p50 < 450 ms", made).verdict is Verdict.FAIL

    def test_a_component_on_another_scale_is_held_against_its_share(self) -> None:
        described = suite()
        described["components"][0]["scale"] = [1.0, 5.0]
        made = [Made("a", 0.5, parts={"name": 2.0}), Made("b", 0.5, parts={"name": 4.0})]
        (result,) = evaluate(["score.name.average >= 50 %"], summarise(columns(made), described))
        assert (result.value.value, result.verdict) == (pytest.approx(0.5), Verdict.PASS)


class TestUndecided:
    def test_a_metric_of_nothing_is_ambiguous(self) -> None:
        result = one("cost.total <= 1", scores(0.5, 0.6))
        assert (result.verdict, result.value.value) == (Verdict.AMBIGUOUS, None)
        assert "n/a" in result.reason

    def test_fewer_samples_than_the_gate_asks_for_are_ambiguous(self) -> None:
        result = one("average >= 0.5 with n >= 3", scores(0.9, 0.9))
        assert result.verdict is Verdict.AMBIGUOUS
        assert "n 2 is below the 3" in result.reason

    def test_even_a_bad_value_on_too_few_samples_is_ambiguous(self) -> None:
        assert one("average >= 0.5 with n >= 3", scores(0.0, 0.0)).verdict is Verdict.AMBIGUOUS

    def test_a_slice_that_no_sample_is_in_is_ambiguous(self) -> None:
        assert one("category.x.average >= 0.5", scores(0.9, 0.9)).verdict is Verdict.AMBIGUOUS
        assert one("category.*.average >= 0.5", scores(0.9, 0.9)).verdict is Verdict.AMBIGUOUS

    def test_a_code_that_nobody_knows_is_ambiguous_and_not_zero_times_found(self) -> None:
        assert one("findings.TYPO == 0", scores(0.9, 0.9)).verdict is Verdict.AMBIGUOUS


class TestEverySlice:
    def test_a_star_gives_a_result_for_each_slice(self) -> None:
        results = evaluate(["category.*.average >= 0.6"], summary_of(RUN))
        assert [(each.metric, each.verdict) for each in results] == [
            ("category.x.average", Verdict.PASS),
            ("category.y.average", Verdict.FAIL),
        ]
        assert {each.gate for each in results} == {"category.*.average >= 0.6"}

    def test_a_minimum_n_holds_for_each_slice(self) -> None:
        made = [Made("a", 0.9, category="x"), Made("b", 0.9, category="x"), Made("c", 0.1, category="y")]
        results = evaluate(["category.*.average >= 0.6 with n >= 2"], summary_of(made))
        assert [each.verdict for each in results] == [Verdict.PASS, Verdict.AMBIGUOUS]

    SMALL = "category.*.average >= 0.6 with n >= 2 skip small"

    def test_small_slices_are_left_out_and_named_where_the_gate_says_so(self) -> None:
        made = [Made("a", 0.9, category="x"), Made("b", 0.9, category="x"), Made("c", 0.1, category="y")]
        (result,) = evaluate([self.SMALL], summary_of(made))
        assert (result.metric, result.verdict, result.skipped) == ("category.x.average", Verdict.PASS, "y (n 1)")

    def test_a_criterion_names_what_it_left_out(self) -> None:
        made = [Made("a", 0.9, category="x"), Made("b", 0.9, category="x"), Made("c", 0.1, category="y")]
        summary = summary_of(made)
        (result,) = evaluate_criteria([Criterion(name="kinds", passes=self.SMALL)], Scope(summary, summary.overall))
        assert (result.verdict, result.reason.endswith("; skipped as small: y (n 1)")) == (Verdict.PASS, True)

    def test_a_gate_that_left_out_every_slice_decides_nothing(self) -> None:
        made = [Made("a", 0.9, category="x"), Made("c", 0.1, category="y")]
        (result,) = evaluate([self.SMALL], summary_of(made))
        assert (result.metric, result.verdict, result.skipped) == ("category.*.average", Verdict.AMBIGUOUS, "")
        assert result.reason == (
            "every category is below the n 2 that this gate asks for, so none is left: x (n 1), y (n 1)"
        )

    @pytest.mark.parametrize(("score", "outcome"), [(None, "target_failed"), (0.0, "malformed")])
    def test_a_slice_that_is_small_for_want_of_answers_is_not_left_out(self, score, outcome) -> None:
        made = [Made("a", 0.9, category="x"), Made("b", 0.9, category="x")]
        made += [Made("c", 0.9, category="y"), Made("d", score, outcome, category="y")]
        results = evaluate([self.SMALL], summary_of(made))
        assert [(each.metric, each.skipped) for each in results] == [
            ("category.x.average", ""),
            ("category.y.average", ""),
        ]
        # One of two missing, or counts as 0: 45 % is not 60 %.
        assert results[1].verdict is (Verdict.AMBIGUOUS if score is None else Verdict.FAIL)


class TestSumsWithMissingSamples:
    def made(self, result: int, missing: int, n: int = 20) -> list[Made]:
        made = [Made(f"c{i}", 1.0, findings=("NAME",) if i < result else ()) for i in range(n - missing)]
        return made + [Made(f"t{i}", None, "target_failed") for i in range(missing)]

    def test_nothing_found_and_nothing_missing_is_none(self) -> None:
        result = one("findings.NAME == 0", self.made(0, 0))
        assert (result.verdict, result.value.n) == (Verdict.PASS, 20)

    def test_nothing_found_with_few_missing_passes_and_says_so(self) -> None:
        result = one("findings.NAME == 0", self.made(0, 1))
        assert result.verdict is Verdict.PASS
        assert "1 missing" in result.reason

    def test_nothing_found_with_many_missing_is_ambiguous(self) -> None:
        result = one("findings.NAME == 0", self.made(0, 2))
        assert result.verdict is Verdict.AMBIGUOUS
        assert "2 of 20 samples are missing" in result.reason

    def test_what_was_found_fails_however_many_are_missing(self) -> None:
        assert one("findings.NAME == 0", self.made(1, 10)).verdict is Verdict.FAIL
        assert one("findings.NAME <= 2", self.made(3, 10)).verdict is Verdict.FAIL

    def test_what_already_suffices_is_not_put_in_doubt(self) -> None:
        assert one("findings.NAME >= 2", self.made(3, 10)).verdict is Verdict.PASS
        assert one("findings.NAME >= 5", self.made(3, 10)).verdict is Verdict.AMBIGUOUS

    def test_a_cost_that_half_the_calls_did_not_report_is_ambiguous(self) -> None:
        made = [Made(f"c{i}", 1.0, cost=0.01 if i % 2 else None) for i in range(10)]
        assert one("cost.total <= 1", made).verdict is Verdict.AMBIGUOUS


def test_a_value_that_only_rounding_keeps_from_its_threshold_holds():
    # 0.7 + 0.1 is 0.7999999999999999 in binary; as the mean of two scores it must still reach 80 %.
    assert 0.7 + 0.1 < 0.8
    assert one("average >= 80 %", scores(2 * (0.7 + 0.1) - 1, 1.0)).verdict is Verdict.PASS


def test_a_gate_over_readable_answers_leaves_out_malformed_ones_and_says_how_many() -> None:
    def counted(case: str, read: int, **more: object) -> Made:
        counts = {"name": {"read": read, "visible": 10}}
        return Made(case, 0.5, parts={"name": 0.5}, counts=counts, **more)  # type: ignore[arg-type]

    made = [counted("a", 8), counted("b", 9), counted("c", 0, outcome="malformed")]
    # 17 of 20 that could be read, 17 of all 30.
    gates = ["score.name.text.readable >= 80 %", "score.name.text >= 80 %"]
    described = suite()
    described["components"][0]["measures"] = {"text": {"numerator": "read", "denominator": "visible", "about": "x"}}
    readable, every = evaluate(gates, summarise(columns(made), described))
    assert (readable.value.value, readable.value.n, readable.value.n_missing) == (pytest.approx(17 / 20), 2, 1)
    # One of three is malformed, and no gate limits how many may be: what it would have read could change the first.
    assert (readable.verdict, every.verdict) == (Verdict.AMBIGUOUS, Verdict.FAIL)
    assert every.value.value == pytest.approx(17 / 30)
    # Of nothing but malformed answers nothing was read, which is no pass.
    (nothing,) = evaluate(gates[:1], summarise(columns(made[2:]), described))
    assert (nothing.verdict, nothing.value.n) == (Verdict.AMBIGUOUS, 0)
