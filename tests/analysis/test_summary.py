"""The figures of a run, worked out by hand beside each test."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.score_ends import score_ends
from steelyard.analysis.model import Slice, Summary
from steelyard.decide.gates import evaluate
from steelyard.records import Verdict
from steelyard.stats.intervals import Estimate, Possible

pytestmark = pytest.mark.boundary("numpy")


def summary_of(*made: Made, **changes: object) -> Summary:
    return summarise(columns(list(made)), suite(**changes))


def by_name(summary: Summary, factor: str) -> dict[str, Slice]:
    return {each.name: each for each in summary.slices[factor]}


def of_scores(*scores: float) -> Summary:
    return summary_of(*(Made(f"c{i}", score) for i, score in enumerate(scores)))


class TestCasesBehindAFigure:
    """Four cases asked three times each: every answer to d failed, one of c could not be read by anybody, and b alone
    has the code NAME, in two answers."""

    MADE = (
        *(Made("a", 1.0, repeat=repeat, category="x") for repeat in range(3)),
        *(Made("b", 0.5, repeat=repeat, category="x", findings=("NAME",) * (repeat < 2)) for repeat in range(3)),
        *(Made("c", 0.75, "scored" if repeat else "judge_failed", repeat=repeat, category="y") for repeat in range(3)),
        *(Made("d", None, "target_failed", repeat=repeat, category="y", latency=None) for repeat in range(3)),
    )

    def test_repeats_of_a_case_are_one_case(self) -> None:
        summary = summary_of(*self.MADE, repeats=3, n_planned=12)
        overall, by_category = summary.overall, by_name(summary, "category")
        # 3 + 3 + 2 answers of a, b and c; d has none.
        for name in ("average", "pass_rate", "median", "band.Fair", "findings.NAME.rate"):
            assert (overall[name].n, overall[name].cases, overall[name].n_missing) == (8, 3, 4), name
            assert (by_category["x"][name].n, by_category["x"][name].cases) == (6, 2), name
            assert (by_category["y"][name].n, by_category["y"][name].cases) == (2, 1), name
        # Of c all three calls were answered, whatever became of the judge.
        assert (overall["latency.mean"].n, overall["latency.mean"].cases) == (9, 3)
        assert overall.n_cases == 4

    def test_a_gate_that_asks_for_cases_does_not_count_repeats(self) -> None:
        summary = summary_of(*self.MADE, repeats=3, n_planned=12, limits={"max_inconclusive": 0.5})
        few, enough = evaluate(
            ["findings.NAME.rate <= 90 % with n >= 4", "findings.NAME.rate <= 90 % with n >= 3"], summary
        )
        assert (few.verdict, few.reason[:21]) == (Verdict.AMBIGUOUS, "3 cases or clusters (")
        assert enough.verdict is Verdict.PASS


class TestWhatMissingSamplesLeaveOpen:
    """Six samples of eight that were planned: a, b and c in x, of which c failed, and d, e and f in y. NAME was found
    twice in a and once in d. The two that never came may be of either category."""

    MADE = (
        Made("a", 0.5, category="x", findings=("NAME", "NAME")),
        Made("b", 1.0, category="x"),
        Made("c", None, "target_failed", category="x"),
        Made("d", 0.5, category="y", findings=("NAME",)),
        Made("e", 1.0, category="y"),
        Made("f", 1.0, category="y"),
    )

    @pytest.mark.parametrize(
        ("part", "found", "samples", "n", "missing"),
        [("", 3.0, 2.0, 5, 3), ("x", 2.0, 1.0, 2, 3), ("y", 1.0, 1.0, 3, 2)],
    )
    def test_findings_may_be_more_in_whatever_is_missing(
        self, part: str, found: float, samples: float, n: int, missing: int
    ) -> None:
        summary = summary_of(*self.MADE, n_planned=8, limits={"max_inconclusive": 0.5})
        group = by_name(summary, "category")[part] if part else summary.overall
        count, once = group["findings.NAME"], group["findings.NAME.samples"]
        # One sample may have any number of findings, but is one sample.
        assert (count.value, count.possible) == (found, Possible(found, None, missing, n + missing))
        assert (once.value, once.possible) == (samples, Possible(samples, samples + missing, missing, n + missing))
        assert group["findings.total"].possible == Possible(found, None, missing, n + missing)

    def test_a_gate_on_a_slice_is_open_for_samples_that_may_be_of_it(self) -> None:
        summary = summary_of(*self.MADE, n_planned=8, limits={"max_inconclusive": 0.5})
        (gate,) = evaluate(["category.y.findings.NAME <= 1"], summary)
        assert gate.verdict is Verdict.AMBIGUOUS
        assert gate.reason.startswith("2 of 5 samples are missing and could change it")


class TestWhatCounts:
    def test_average_median_and_pass_rate_of_scored_samples(self) -> None:
        overall = of_scores(0.9, 0.8, 0.4, 0.7).overall
        assert overall["average"].value == pytest.approx(0.7)  # 2.8 / 4
        assert overall["median"].value == pytest.approx(0.75)  # between 0.7 and 0.8
        assert overall["pass_rate"].value == 0.5  # 0.9 and 0.8 reach 0.75
        assert (overall["average"].n, overall["average"].n_missing) == (4, 0)

    def test_a_malformed_answer_is_a_zero_that_did_not_pass(self) -> None:
        overall = summary_of(Made("a", 1.0), Made("b", None, "malformed", findings=("FORMAT",))).overall
        assert overall["average"].value == 0.5
        assert overall["pass_rate"] == replace(overall["pass_rate"], value=0.5, n=2, n_missing=0)
        assert overall["band.Poor"].value == 0.5
        assert overall.outcomes == {"scored": 1, "malformed": 1}

    @pytest.mark.parametrize("outcome", ["target_failed", "judge_failed"])
    def test_a_failed_call_is_missing_and_not_a_zero(self, outcome: str) -> None:
        overall = summary_of(Made("a", 1.0), Made("b", 0.8), Made("c", None, outcome)).overall
        assert overall["average"].value == pytest.approx(0.9)
        assert (overall["average"].n, overall["average"].n_missing) == (2, 1)
        assert (overall["pass_rate"].value, overall["pass_rate"].n, overall["pass_rate"].n_missing) == (1.0, 2, 1)
        assert overall["inconclusive_rate"].value == pytest.approx(1 / 3)
        assert overall["malformed_rate"] == replace(overall["malformed_rate"], value=0.0, n=2)

    def test_an_answer_without_a_call_is_missing_in_attempts_as_in_their_failures(self) -> None:
        calls = replace(columns([Made(case, 1.0) for case in "abc"]), tries=np.array([3, 1, 0]))
        overall = summarise(calls, suite()).overall
        attempts, failures = overall["attempts.total"], overall["first_attempt_failure_rate"]
        assert (attempts.value, attempts.n, attempts.n_missing) == (4.0, 2, 1)
        assert (failures.value, failures.n, failures.n_missing) == (0.5, 2, 1)

    def test_a_score_left_on_a_failed_call_is_not_believed(self) -> None:
        overall = summary_of(Made("a", 0.6), Made("b", 0.0, "judge_failed", findings=("NAME",))).overall
        assert overall["average"].value == 0.6
        assert overall.counts("findings.<code>") == {}

    def test_figures_of_nothing_are_not_available(self) -> None:
        overall = summary_of(Made("a", None, "target_failed"), Made("b", None, "target_failed")).overall
        assert overall["average"] == Estimate(None, 0, 2)
        assert overall["pass_rate"] == Estimate(None, 0, 2)
        assert overall["findings.NAME.rate"] == Estimate(None, 0, 2)

    def test_a_run_without_samples_has_a_summary(self) -> None:
        summary = summary_of()
        assert summary.overall["average"] == Estimate(None, 0, 0)
        assert summary.slices == {}
        assert summary.priorities == []

    def test_without_a_pass_threshold_there_is_no_pass_rate(self) -> None:
        made = columns([Made("a", 0.9), Made("b", None, "malformed")])
        made.passed[:] = -1
        summary = summarise(made, suite(passing=None))
        assert summary.passing == ""
        assert summary.overall["pass_rate"] == Estimate(None, 0, 2)

    def test_the_threshold_is_printed_as_it_was_written(self) -> None:
        assert of_scores(0.5).passing == "score >= 75 %"


class TestSamplesThatNeverCame:
    def test_they_are_missing_from_every_figure_of_the_whole_run(self) -> None:
        overall = summary_of(
            Made("a", 1.0, parts={"name": 1.0}, cost=0.5), Made("b", None, "target_failed"), n_planned=5
        ).overall
        assert (overall.n_planned, overall.outcomes) == (5, {"scored": 1, "target_failed": 1})
        for estimate in (
            *(
                overall["average"],
                overall["median"],
                overall["pass_rate"],
                overall["score.name.points"],
                overall["band.Good"],
            ),
            *(overall["findings.NAME.rate"], overall["latency.p50"], overall["cost.total"]),
        ):
            assert (estimate.n, estimate.n_missing) in [(1, 4), (2, 3)]
        assert overall["average"].value == 1.0

    def test_they_are_inconclusive(self) -> None:
        rates = summary_of(Made("a", 1.0), Made("b", 0.0, "malformed"), n_planned=5).overall
        wilson = stats.binomtest(3, 5).proportion_ci(method="wilson")
        assert (rates["inconclusive_rate"].value, rates["inconclusive_rate"].n) == (0.6, 5)
        assert (rates["inconclusive_rate"].low, rates["inconclusive_rate"].high) == pytest.approx(
            (wilson.low, wilson.high)
        )
        assert (rates["scored_rate"].value, rates["scored_rate"].n, rates["scored_rate"].n_missing) == (0.2, 5, 0)
        assert (rates["malformed_rate"].value, rates["malformed_rate"].n, rates["malformed_rate"].n_missing) == (
            0.5,
            2,
            3,
        )

    def test_slices_do_not_know_of_them(self) -> None:
        summary = summary_of(Made("a", 1.0, category="x"), Made("b", 1.0, category="y"), n_planned=4)
        assert [(each.n_planned, each["average"].n_missing) for each in summary.slices["category"]] == [(1, 0), (1, 0)]

    def test_with_repeats_each_counts_as_a_case_of_its_own(self) -> None:
        made = [Made(case, 1.0, repeat=i) for case in ("a", "b") for i in range(2)]
        inconclusive = summary_of(*made, n_planned=6).overall["inconclusive_rate"]
        # Clusters of 2, 2, 1 and 1 are worth 6^2 / (4 + 4 + 1 + 1) = 3.6 of one size: 2.6 degrees of freedom. Squares
        # 4 (2/3)^2 = 16/9, error sqrt(4 / 3 * 16 / 9) / 6 = 0.256600.
        assert (inconclusive.value, inconclusive.n) == (pytest.approx(1 / 3), 6)
        assert (inconclusive.low, inconclusive.high) == pytest.approx(score_ends(1 / 3, 0.2566001, 2.6), abs=1e-6)

    def test_a_run_with_more_than_was_planned_lacks_nothing(self) -> None:
        assert summary_of(Made("a", 1.0), Made("b", 1.0), n_planned=1).overall.n_planned == 2


class TestIntervals:
    def test_a_mean_has_wilsons_interval_by_its_standard_error(self) -> None:
        scores = [0.9, 0.8, 0.4, 0.7, 0.95]
        average = of_scores(*scores).overall["average"]
        assert stats.t.interval(0.95, 4, np.mean(scores), stats.sem(scores))[1] > 1  # Student's leaves the scale
        assert (average.low, average.high) == pytest.approx(score_ends(0.75, stats.sem(scores), 4))

    def test_few_scores_below_the_top_are_no_proof_of_how_low_the_next_may_be(self) -> None:
        # 2 of 20 are off, by 0.1 and 0.3. Mean 0.98, squares 18 x 0.02^2 + 0.08^2 + 0.28^2 = 0.092, error^2 =
        # 0.092 / 19 / 20 = 0.000242; a rate of 0.98 of 20 would have 0.98 x 0.02 / 20 = 0.00098. As one case more
        # beside two: (2 x 0.000242 + 0.00098) / 3 = 0.000488.
        average = of_scores(*[1.0] * 18, 0.9, 0.7).overall["average"]
        error = ((2 * 0.092 / 19 / 20 + 0.98 * 0.02 / 20) / 3) ** 0.5
        assert (average.low, average.high) == pytest.approx(score_ends(0.98, error, 19))

    def test_one_sample_has_no_interval(self) -> None:
        overall = of_scores(0.9).overall
        for estimate in (
            overall["average"],
            overall["median"],
            overall["pass_rate"],
            *overall.each("band.<band>").values(),
        ):
            assert (estimate.low, estimate.high) == (None, None)

    def test_equal_scores_do_not_make_the_average_certain(self) -> None:
        average = of_scores(*[1.0] * 20).overall["average"]
        # Wilson for 20 of 20: 20 / (20 + 1.96^2) = 0.8389
        assert (average.low, average.high) == (pytest.approx(0.8389, abs=1e-4), 1.0)

    def test_equal_scores_inside_the_scale_have_the_interval_that_their_n_supports(self) -> None:
        average = of_scores(*[0.75] * 120).overall["average"]
        # None of 120 differs: Wilson allows 1.96^2 / (120 + 1.96^2) = 3.102 % of others, all at 0 or all at 1.
        assert (average.low, average.high) == pytest.approx((0.75 - 0.03102 * 0.75, 0.75 + 0.03102 * 0.25), abs=1e-5)
        assert average.constant
        assert not of_scores(*[1.0] * 20).overall["average"].constant
        # Of 30 cases asked four times there are 30 trials: 1.96^2 / (30 + 1.96^2) = 11.35 %.
        asked_again = summary_of(*(Made(f"c{i // 4}", 0.75, repeat=i % 4) for i in range(120))).overall["average"]
        assert (asked_again.low, asked_again.high) == pytest.approx((0.75 * (1 - 0.11352), 0.75 + 0.02838), abs=1e-5)

    def test_a_median_has_the_interpolated_order_statistic_interval(self) -> None:
        scores = list(np.random.default_rng(7).random(25))
        ranked = sorted(scores)
        # Hettmansperger and Sheather (1986): ranks 8 and 18 hold it 1 - 2 x 0.0216426 = 95.6715 % of the time, 9 and
        # 17 1 - 2 x 0.0538760 = 89.2248 % (binomial tables). I = 0.6715 / 6.4467 = 0.104157, so that the end lies
        # 17 I / (8 + 9 I) = 0.198128 of the way from one to the other.
        low = ranked[7] + 0.198128 * (ranked[8] - ranked[7])
        high = ranked[17] - 0.198128 * (ranked[17] - ranked[16])
        median = of_scores(*scores).overall["median"]
        assert (median.low, median.high) == pytest.approx((low, high), abs=1e-5)
        widest = stats.quantile_test(scores, p=0.5).confidence_interval(0.95)
        assert (widest.low, widest.high) == (ranked[7], ranked[17])

    def test_repeats_of_one_case_alone_bound_nothing(self) -> None:
        overall = summary_of(*(Made("only", 0.5 + i / 10, repeat=i) for i in range(5))).overall
        assert overall["average"].value == pytest.approx(0.7)
        assert (overall["average"].low, overall["pass_rate"].low, overall["median"].low) == (None, None, None)

    def test_with_repeats_the_interval_is_that_of_the_averages_of_the_cases(self) -> None:
        per_case = {"a": (0.2, 0.4), "b": (0.6, 0.6), "c": (0.9, 0.7), "d": (0.5, 0.3)}
        made = [Made(case, score, repeat=i) for case, scores in per_case.items() for i, score in enumerate(scores)]
        means = [np.mean(scores) for scores in per_case.values()]
        summary = summary_of(*made)
        assert summary.overall["average"].n == 8
        ends = (summary.overall["average"].low, summary.overall["average"].high)
        assert ends == pytest.approx(score_ends(np.mean(means), stats.sem(means), 3))
        assert summary.repeats == 2
        assert "cluster" in summary.method

    def test_variants_of_one_case_are_clustered_in_the_whole_run_but_not_in_a_variant(self) -> None:
        made = [Made(f"c{i}", i / 10, variant=v) for i in range(10) for v in ("x", "y")]
        summary = summary_of(*made, variants=["x", "y"])
        one = by_name(summary, "variant")["x"]["average"]
        assert (summary.overall["average"].low, summary.overall["average"].high) == pytest.approx((one.low, one.high))

    def test_method_says_nothing_of_clusters_when_there_are_none(self) -> None:
        assert "cluster" not in of_scores(0.1, 0.2).method


class TestSlices:
    def test_factors_that_nobody_uses_are_left_out(self) -> None:
        assert summary_of(Made("a", 0.5), Made("b", 0.5)).slices == {}

    def test_cases_without_a_category_are_a_slice_when_others_have_one(self) -> None:
        summary = summary_of(Made("a", 0.5, category="x"), Made("b", 0.7), Made("c", 0.9))
        assert {name: each["average"].value for name, each in by_name(summary, "category").items()} == {
            "x": 0.5,
            "(none)": pytest.approx(0.8),
        }

    def test_the_largest_category_comes_first_and_none_last(self) -> None:
        made = [Made("a", 0, category="x"), *(Made(f"b{i}", 0, category="y") for i in range(2))]
        made += [Made(f"n{i}", 0) for i in range(5)]
        assert [each.name for each in summary_of(*made).slices["category"]] == ["y", "x", "(none)"]

    def test_difficulties_come_from_easy_to_hard_and_variants_as_declared(self) -> None:
        made = [Made("a", 0, difficulty=d, variant=v) for d in ("hard", "odd", "easy") for v in ("b", "a")]
        summary = summary_of(*made, variants=["b", "a"])
        assert [each.name for each in summary.slices["difficulty"]] == ["easy", "hard", "odd"]
        assert [each.name for each in summary.slices["variant"]] == ["b", "a"]

    def test_a_sample_counts_in_each_of_its_tags_once(self) -> None:
        summary = summary_of(Made("a", 0.2, tags=("x", "y", "x")), Made("b", 0.4, tags=("x",)), Made("c", 0.9))
        tags = by_name(summary, "tag")
        assert (tags["x"].n_planned, tags["x"]["average"].value) == (2, pytest.approx(0.3))
        assert (tags["y"].n_planned, tags["y"]["average"].value) == (1, 0.2)
        assert set(tags) == {"x", "y"}

    def test_missing_samples_are_counted_where_they_are_missing(self) -> None:
        summary = summary_of(
            Made("a", 0.5, category="x"), Made("b", None, "target_failed", category="x"), Made("c", 1.0, category="y")
        )
        found = by_name(summary, "category")
        assert (found["x"]["average"].n, found["x"]["average"].n_missing) == (1, 1)
        assert (found["y"]["average"].n, found["y"]["average"].n_missing) == (1, 0)


class TestComponentsAndFindings:
    def test_a_skipped_component_is_missing_from_its_average(self) -> None:
        overall = summary_of(
            Made("a", 0.7, parts={"name": 1.0, "value": 0.0}), Made("b", 1.0, parts={"name": 1.0, "value": None})
        ).overall
        assert (overall["score.name.points"].value, overall["score.name.points"].n) == (1.0, 2)
        value = overall["score.value.points"]
        assert (value.value, value.n, value.n_missing) == (0.0, 1, 1)

    def test_what_could_not_be_read_earned_nothing_in_components_that_no_case_may_skip(self) -> None:
        described = suite()
        described["components"][1]["when_unknown"] = "skip"
        made = [Made("a", 1.0, parts={"name": 1.0, "value": 1.0}), Made("b", 0.0, "malformed")]
        overall = summarise(columns(made), described).overall
        assert (overall["score.name.points"].value, overall["score.name.points"].n) == (0.5, 2)
        assert (overall["score.value.points"].value, overall["score.value.points"].n_missing) == (1.0, 1)

    def test_a_component_on_another_scale_keeps_its_numbers(self) -> None:
        described = suite()
        described["components"][0]["scale"] = [1.0, 5.0]
        made = [Made(f"c{i}", 0.5, parts={"name": 5.0}) for i in range(20)]
        name = summarise(columns(made), described).overall["score.name.points"]
        # Wilson for 20 of 20 is 0.8389, on the scale 1..5 that is 4.3554
        assert (name.value, name.low, name.high) == (5.0, pytest.approx(4.3554, abs=1e-3), 5.0)

    def test_findings_are_counted_and_their_rate_counts_samples(self) -> None:
        overall = summary_of(
            Made("a", 0.1, findings=("NAME", "NAME", "VALUE")), Made("b", 0.9), Made("c", 0.2, findings=("NAME",))
        ).overall
        assert overall.counts("findings.<code>") == {"NAME": 3, "VALUE": 1}
        assert overall["findings.NAME.rate"].value == pytest.approx(2 / 3)
        assert overall["findings.FORMAT.rate"].value == 0.0

    def test_bands_come_best_first_and_add_up(self) -> None:
        bands = of_scores(0.9, 0.8, 0.6, 0.1).overall.each("band.<band>")
        assert {name: each.value for name, each in bands.items()} == {"Good": 0.5, "Fair": 0.25, "Poor": 0.25}
        assert list(bands) == ["Good", "Fair", "Poor"]


class TestCalls:
    def test_latency_is_of_answered_calls_only(self) -> None:
        made = [Made(f"c{i}", 0.5, latency=float(i)) for i in range(1, 5)]
        run = summary_of(*made, Made("t", None, "target_failed", latency=60.0)).overall
        latency = {name: run[f"latency.{name}"] for name in ("p50", "p95", "p99", "mean", "min", "max")}
        assert {name: each.value for name, each in latency.items()} == {
            "p50": 2.5,
            "p95": None,
            "p99": None,
            "mean": 2.5,
            "min": 1.0,
            "max": 4.0,
        }
        assert (latency["p50"].n, latency["p50"].n_missing) == (4, 1)

    def test_equal_latencies_have_a_mean_without_interval(self) -> None:
        mean = summary_of(*(Made(f"c{i}", 0.5, latency=0.1) for i in range(9))).overall["latency.mean"]
        assert (mean.low, mean.high) == (None, None)

    def test_totals_say_how_many_calls_reported(self) -> None:
        summary = summary_of(
            Made("a", 0.5, tokens=(10, 3), cost=0.25, category="x"),
            Made("b", 0.5, tokens=(5, 4), category="x"),
            Made("c", 0.5, category="y"),
        )
        # A call that did not report its tokens used some: the sum has no upper end.
        assert summary.overall["tokens.in"] == Estimate(15.0, 2, 1, possible=Possible(15.0, None, 1, 3))
        assert summary.overall["tokens.out"] == Estimate(7.0, 2, 1, possible=Possible(7.0, None, 1, 3))
        assert summary.overall["cost.total"] == Estimate(0.25, 1, 2, possible=Possible(0.25, None, 2, 3))
        assert by_name(summary, "category")["y"]["cost.total"] == Estimate(None, 0, 1)

    def test_failures_are_tallied(self) -> None:
        made = [Made(f"c{i}", None, "target_failed", failure="timeout" if i else "refused") for i in range(3)]
        assert summary_of(*made).overall.counts("failures.<kind>") == {"timeout": 2, "refused": 1}


def test_a_summary_is_plain_data() -> None:
    summary = summary_of(
        Made("a", 0.1, category="x", tags=("t",), findings=("NAME",), parts={"name": 0.1}, cost=1.0),
        Made("b", 0.2, category="x", findings=("NAME",), parts={"name": 0.2}),
    )
    figures = [[row.of.text, row.name, asdict(row.estimate)] for row in summary.figures.rows()]
    data = json.loads(json.dumps(asdict(summary) | {"figures": figures}, allow_nan=False))
    assert [figure["value"] for key, name, figure in data["figures"] if (key, name) == ("", "outcomes.planned")] == [2]
    assert ["", "average", 0.15] in [
        [key, name, round(figure["value"], 9)] for key, name, figure in data["figures"] if figure["value"] is not None
    ]
