"""A run compared with a baseline: worse beyond noise fails, noise does not, and what cannot tell is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.columns import Made, suite
from parts.compared import ONE_AB, compared
from parts.looped import for_every
from steelyard.decide.relative_gates import relative_results, results_data, results_from
from steelyard.decide.verdict import decide
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.against import Against
from steelyard.records import Load, RunState, Verdict
from steelyard.suite.models import SuiteModel

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS


def samples(scores, **more):
    return [Made(f"c{i:03d}", score, **more) for i, score in enumerate(scores)]


def held(gate, before, after, *, allow_mismatch=False, a=None, b=None):
    against = Against(
        compared(before, id="old-1", **(a or {})),
        compared(after, id="new-1", **(b or {})),
        allow_mismatch=allow_mismatch,
    )
    return relative_results(parse_gate(gate), against)


def only(*arguments, **more):
    (result,) = held(*arguments, **more)
    return result


def test_worse_beyond_noise_fails():
    # Every one of 20 cases falls by 0.08 or 0.12: mean -0.10, standard deviation 0.0205, error 0.00459.
    before = [0.9] * 20
    after = [0.82, 0.78] * 10
    result = only("average >= release - 3 points", samples(before), samples(after))
    assert result.verdict is FAIL
    assert result.value.value == pytest.approx(-0.10)
    assert (result.value.n, result.threshold, result.baseline, result.unit) == (20, -0.03, "old-1", "±score")
    assert result.reason.startswith("90.0 % -> 80.0 % (-10.0 points [")
    assert "more than 3 points below, beyond noise (p < 0.001)" in result.reason


def test_within_the_margin_passes_even_where_the_fall_itself_is_beyond_noise():
    after = [0.89, 0.87] * 10
    assert only("average >= release - 3 points", samples([0.9] * 20), samples(after)).verdict is PASS
    assert only("average >= release - 1 points", samples([0.9] * 20), samples(after)).verdict is FAIL


def test_a_fall_beyond_noise_is_not_yet_a_fall_beyond_the_margin():
    # Falls of 0.02 and 0.06: mean 0.04, error 0.00459, half an interval 2.093 x 0.00459 = 0.0096.
    after = [0.88, 0.84] * 10
    result = only("average >= release - 3.5 points", samples([0.9] * 20), samples(after))
    assert (result.verdict, "more than 3.5 points below, but within noise" in result.reason) == (PASS, True)
    assert only("average >= release - 2.5 points", samples([0.9] * 20), samples(after)).verdict is FAIL


def test_beyond_the_margin_and_within_noise_passes_and_says_so():
    # One of 20 cases falls from 1 to 0: -5 points, the interval reaches far above -3.
    after = [1.0] * 19 + [0.0]
    result = only("average >= release - 3 points", samples([1.0] * 20), samples(after))
    assert result.verdict is PASS
    assert "more than 3 points below, but within noise" in result.reason


def test_for_sure_passes_only_what_is_shown():
    noisy = [1.0] * 19 + [0.0]
    assert only("average >= release - 3 points for sure", samples([1.0] * 20), samples(noisy)).verdict is AMBIGUOUS
    rng = np.random.default_rng(3)
    # 0.97^n is below 2.5 % from n = 122 on: fewer could hide a loss of all in 3 % of the answers.
    near = (0.9 + rng.normal(0, 0.01, 130)).tolist()
    result = only("average >= release - 3 points for sure", samples([0.9] * 130), samples(near))
    assert (result.verdict, "for sure" in result.reason) == (PASS, True)
    result = only("average >= release - 3 points for sure", samples([0.9] * 20), samples(near[:20]))
    assert (result.verdict, "20 cases cannot show it; it takes 122" in result.reason) == (AMBIGUOUS, True)
    wide = (0.6 + rng.normal(0, 0.2, 20)).tolist()
    result = only("average >= release - 3 points for sure", samples([0.6] * 20), samples(wide))
    assert result.verdict in (AMBIGUOUS, FAIL)


def test_a_gate_fails_exactly_where_the_whole_interval_is_beyond_the_limit():
    # Most fall a little and few a lot: the interval reaches farther down than up.
    falls = [0.02, 0.03, 0.04] * 6 + [0.05, 0.3, 0.5]
    after = [round(0.9 - fall, 3) for fall in falls]
    verdicts = set()
    for tenths in range(0, 80, 2):
        result = only(f"average >= release - {tenths / 10} points", samples([0.9] * 21), samples(after))
        assert (result.verdict is FAIL) is (result.value.high < -tenths / 1000), tenths
        verdicts.add(result.verdict)
    assert verdicts == {PASS, FAIL}
    up, down = result.value.high - result.value.value, result.value.value - result.value.low
    assert down > 1.2 * up


def test_what_is_for_sure_in_one_slice_is_not_in_one_of_four():
    def made(scores, name):
        return [Made(f"{name}-{i}", score, category=name) for i, score in enumerate(scores)]

    names = ["art", "glass", "silver", "toys"]
    before = [one for name in names for one in made([0.9] * 140, name)]
    after = [one for name in names for one in made([0.93, 0.87] * 70, name)]
    alone = only("category.art.average >= release - 3 points for sure", before, after)
    assert (alone.verdict, "for sure" in alone.reason) == (PASS, True)
    among = held("category.*.average >= release - 3 points for sure", before, after)
    assert {result.verdict for result in among} == {AMBIGUOUS}


def test_the_median_is_not_the_average():
    after = [0.9] * 14 + [0.0] * 6
    before = samples([0.9] * 20)
    assert only("median >= @release", before, samples(after)).value.value == 0.0
    assert only("average >= @release", before, samples(after)).value.value == pytest.approx(-0.27)


def test_the_same_answers_pass():
    result = only("pass_rate >= @release", samples([0.9, 0.1] * 6), samples([0.9, 0.1] * 6))
    assert (result.verdict, result.value.value) == (PASS, 0.0)


def test_rates_agree_with_the_test_that_compare_uses():
    # 5 of 12 broken, none fixed: McNemar's exact p is 2 / 2**5 = 0.0625, though the interval excludes 0.
    after = [0.0] * 5 + [1.0] * 7
    result = only("pass_rate >= @release", samples([1.0] * 12), samples(after))
    assert result.verdict is PASS
    assert "within noise (p 0.06" in result.reason
    # 6 of 12: 2 / 2**6 = 0.031.
    result = only("pass_rate >= @release", samples([1.0] * 12), samples([0.0] * 6 + [1.0] * 6))
    assert (result.verdict, "p 0.031" in result.reason) == (FAIL, True)


def test_too_few_cases_to_tell_are_no_pass():
    # Five cases that all fall: 2 / 2**5 = 0.0625 is the least that so few can show.
    result = only("average >= @release", samples([1.0] * 5), samples([0.0, 0.1, 0.0, 0.1, 0.0]))
    assert result.verdict is AMBIGUOUS
    assert "5 cases are too few to tell" in result.reason
    # Nor do so few show that nothing is lost, unless nothing changed.
    result = only("average >= @release", samples([0.5] * 2), samples([0.6, 0.7]))
    assert (result.verdict, "not below, but 2 cases are too few to tell" in result.reason) == (AMBIGUOUS, True)
    assert only("average >= @release", samples([0.5] * 2), samples([0.5] * 2)).verdict is PASS


def test_one_case_shows_nothing():
    assert only("average >= @release", samples([1.0]), samples([0.0])).verdict is AMBIGUOUS


def categories(falls, n=10):
    before, after = [], []
    for name, fall in falls.items():
        for i in range(n):
            before.append(Made(f"{name}-{i}", 0.9, category=name))
            after.append(Made(f"{name}-{i}", round(0.9 - fall + (0.01 if i % 2 else -0.01), 3), category=name))
    return before, after


def test_a_gate_on_every_slice_gives_one_result_a_slice():
    found = held("category.*.average >= release - 3 points", *categories({"art": 0.0, "glass": 0.2, "toys": 0.01}))
    assert {result.metric: result.verdict for result in found} == {
        "category.art.average": PASS,
        "category.glass.average": FAIL,
        "category.toys.average": PASS,
    }


def test_slices_are_adjusted_for_one_another():
    # 7 cases that all fall: 2 / 2**7 = 0.0156 alone; as one of four slices 4 x 0.0156 = 0.0625.
    falls = {"art": 0.2, "b": 0.0, "c": 0.0, "d": 0.0}
    alone = only("category.art.average >= release - 3 points", *categories(falls, n=7))
    assert alone.verdict is FAIL
    (among, *_) = held("category.*.average >= release - 3 points", *categories(falls, n=7))
    assert (among.metric, among.verdict) == ("category.art.average", AMBIGUOUS)
    assert "7 cases are too few to tell, as one of 4 slices" in among.reason


def test_a_slice_that_only_one_run_has_is_said():
    before, after = categories({"art": 0.0, "old": 0.0})
    _, more = categories({"new": 0.0})
    after = [each for each in after if each.category != "old"] + more
    found = {result.metric: result for result in held("category.*.average >= release - 3 points", before, after)}
    assert found["category.art.average"].verdict is PASS
    assert found["category.new.average"].verdict is AMBIGUOUS
    assert found["category.new.average"].reason == "release has no category 'new': there is nothing to compare it with"
    assert found["category.old.average"].verdict is AMBIGUOUS
    assert found["category.old.average"].reason == "this run has no category 'old', and release has"
    named = only("category.new.average >= release - 3 points", before, after)
    assert named.verdict is AMBIGUOUS


@pytest.mark.parametrize("factor", ["difficulty", "variant", "tag"])
def test_every_factor_can_be_held(factor):
    def made(score, value):
        told = {"tags": (value,)} if factor == "tag" else {factor: value}
        return [Made(f"c{i:02d}", score + 0.01 * (i % 2), **told) for i in range(10)]

    variants = {"described": {"variants": ["x", "y"]}} if factor == "variant" else {}
    before, after = made(0.8, "x") + made(0.8, "y"), made(0.8, "x") + made(0.5, "y")
    if factor != "variant":
        before = made(0.8, "x") + [Made(f"d{i}", 0.8, **message(factor, "y")) for i in range(10)]
        after = made(0.8, "x") + [Made(f"d{i}", 0.5 + 0.01 * (i % 2), **message(factor, "y")) for i in range(10)]
    found = {
        each.metric: each.verdict
        for each in held(f"{factor}.*.average >= release - 3 points", before, after, a=variants, b=variants)
    }
    assert found == {f"{factor}.x.average": PASS, f"{factor}.y.average": FAIL}


def message(factor, value):
    return {"tags": (value,)} if factor == "tag" else {factor: value}


def test_another_signature_leaves_it_open_and_latency_is_not_touched_by_it():
    before, after = samples([0.9] * 20, latency=1.0), samples([0.5] * 20, latency=1.0)
    other = {"signature": {"scorers": "s2"}}
    result = only("average >= release - 3 points", before, after, b=other)
    assert result.verdict is AMBIGUOUS
    assert "A being release and B this run: the scorers differ" in result.reason
    assert only("latency.mean <= release + 100 ms", before, after, b=other).verdict is PASS
    anyway = only("average >= release - 3 points", before, after, b=other, allow_mismatch=True)
    assert anyway.verdict is FAIL
    assert "overridden: the scorers differ" in anyway.reason
    assert (
        "in spite" not in only("latency.mean <= release + 100 ms", before, after, b=other, allow_mismatch=True).reason
    )


def test_times_under_another_load_are_nobody_s_fault_unless_asked_anyway():
    before, after = samples([0.9] * 20, latency=1.0), samples([0.9] * 20, latency=2.0)
    loads = [{"options": replace(ONE_AB, load=Load(n))} for n in (1, 8)]
    gate = "latency.mean <= release + 100 ms"
    assert only(gate, before, after, a=loads[0], b=loads[0]).verdict is FAIL
    result = only(gate, before, after, a=loads[0], b=loads[1])
    assert (result.verdict, "the load differs" in result.reason) == (AMBIGUOUS, True)
    assert only("average >= @release", before, after, a=loads[0], b=loads[1]).verdict is PASS
    assert only(gate, before, after, a=loads[0], b=loads[1], allow_mismatch=True).verdict is FAIL


def test_a_baseline_that_is_invalid_or_not_finished_decides_nothing():
    for state in ({"verdict": Verdict.INVALID}, {"state": RunState.INTERRUPTED}):
        result = only("average >= @release", samples([0.9] * 20), samples([0.5] * 20), a=state)
        assert result.verdict is AMBIGUOUS


def test_failed_calls_are_no_fall():
    before = samples([0.9] * 40)
    after = [*samples([0.9] * 38), *(Made(f"c{i:03d}", outcome="target_failed") for i in (38, 39))]
    result = only("average >= release - 3 points", before, after)
    assert (result.verdict, result.value.value) == (PASS, 0.0)


def test_more_samples_than_there_are_are_asked_for():
    result = only("average >= @release with n >= 30", samples([0.9] * 20), samples([0.9] * 20))
    assert result.verdict is AMBIGUOUS
    assert "n 20 is below the 30" in result.reason


def test_nothing_to_compare_is_no_pass():
    after = [Made(f"z{i}", 0.9) for i in range(10)]
    assert only("average >= @release", samples([0.9] * 10), after).verdict is AMBIGUOUS


@for_every(
    ("gate", "value"),
    [
        ("median >= release - 3 points", -0.2),
        ("band.Good >= release - 3 points", -1.0),
        ("score.name.average >= release - 3 points", -0.25),
        ("score.name.points >= release - 0.1", -0.25),
        # 2 more findings in each of 20 samples.
        ("findings.NAME <= release + 5", 40.0),
        ("findings.total <= release + 5", 40.0),
        ("findings.NAME.rate <= release + 5 points", 1.0),
        ("findings.NAME.samples <= release + 5", 20.0),
        ("latency.mean <= release + 200 ms", 1.0),
        ("cost.total <= release + 1", 20 * 0.5),
        ("tokens.out <= release + 10", 100.0),
        ("malformed_rate <= release + 3 points", 0.0),
        ("inconclusive_rate <= release + 3 points", 0.0),
    ],
)
def test_every_figure_that_two_runs_share_can_be_held(gate, value):
    def made(score, name, findings, latency, cost, out, every):
        jitter = [0.01 * (i * every % 5 - 2) for i in range(20)]
        return [
            Made(
                f"c{i:02d}",
                round(score + jitter[i], 4),
                parts={"name": name, "value": 1.0},
                findings=findings,
                latency=latency + jitter[i],
                cost=cost,
                tokens=(1, out),
            )
            for i in range(20)
        ]

    before, after = made(0.9, 0.75, (), 1.0, 0.5, 5, 1), made(0.7, 0.5, ("NAME", "NAME"), 2.0, 1.0, 10, 2)
    result = only(gate, before, after, a={"options": ONE_AB}, b={"options": ONE_AB})
    assert result.value.value == pytest.approx(value, abs=1e-6)
    assert result.verdict is (PASS if "_rate" in gate else FAIL), result.reason


def test_a_figure_that_one_run_does_not_have_is_said():
    result = only(
        "score.name.average >= release - 3 points",
        samples([0.9] * 8),
        [Made(f"c{i:03d}", 0.9, parts={"name": 1.0}) for i in range(8)],
    )
    assert result.verdict is AMBIGUOUS
    assert "do not both have score.name.average" in result.reason


def test_under_no_change_a_gate_fails_seldom_and_under_a_large_one_always():
    rng = np.random.default_rng(7)
    failed = {0.0: 0, 0.15: 0}
    for fall in failed:
        for _ in range(40):
            before = rng.uniform(0.4, 0.9, 30)
            after = np.clip(before - fall + rng.normal(0, 0.1, 30), 0, 1)
            result = only("average >= @release", samples(before.tolist()), samples(after.tolist()))
            failed[fall] += result.verdict is FAIL
    # One-sided 2.5 % of 40 are 1; five and more come in 3 of 1,000 such tests.
    assert failed[0.0] <= 4
    assert failed[0.15] == 40


def test_results_come_back_from_plain_data():
    found = held("category.*.average >= release - 3 points", *categories({"art": 0.0, "glass": 0.2}))
    assert results_from(results_data(found)) == tuple(found)


def test_the_verdict_of_a_run_counts_them_and_names_what_is_within_noise(summary_of):
    noisy = [1.0] * 19 + [0.0]
    described = suite(gates=["average >= 50 %", "average >= release - 3 points"])
    found = held("average >= release - 3 points", samples([1.0] * 20), samples(noisy))
    decision = decide(summary_of(samples(noisy)), SuiteModel.from_data(described), relative=found)
    assert decision.verdict is PASS
    assert decision.reasons[0] == "all 2 gates pass"
    assert "but within noise" in decision.reasons[1]
    strict = suite(gates=["average == 100 %", "average >= release - 3 points"])
    failed = decide(summary_of(samples(noisy)), SuiteModel.from_data(strict), relative=found)
    assert failed.reasons[1:] == decision.reasons[1:]
    unheld = decide(summary_of(samples(noisy)), SuiteModel.from_data(described))
    assert unheld.verdict is AMBIGUOUS
    assert "was not compared with release" in unheld.reasons[0]


@pytest.fixture
def summary_of():
    from parts.columns import columns
    from parts.described import summarise

    return lambda made: summarise(columns(made), suite())


def test_small_slices_are_left_out_before_the_others_are_adjusted_for_one_another():
    # 7 cases show a fall alone (p 0.016), and not as one of four slices: 3 of them have 2 cases each.
    before, after = categories({"art": 0.2}, n=7)
    more = [categories({name: 0.0}, n=2) for name in ("books", "glass", "toys")]
    before, after = (
        before + [one for made in more for one in made[0]],
        after + [one for made in more for one in made[1]],
    )
    (result,) = held("category.*.average >= release - 3 points with n >= 3 skip small", before, after)
    assert (result.metric, result.verdict) == ("category.art.average", FAIL)
    assert result.skipped == "books (n 2), glass (n 2), toys (n 2)"
    assert results_from(results_data([result])) == (result,)
    nothing = only("category.*.average >= release - 3 points with n >= 8 skip small", before, after)
    assert (nothing.verdict, "none is left: art (n 7), books (n 2)" in nothing.reason) == (AMBIGUOUS, True)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_a_slice_that_lost_its_cases_on_one_side_is_not_small(lost):
    before, after = categories({"art": 0.0, "glass": 0.2}, n=10)
    fewer = [one for one in (before if lost == "before" else after) if one.case != "glass-2"]
    sides = (fewer, after) if lost == "before" else (before, fewer)
    found = held("category.*.average >= release - 3 points with n >= 10 skip small", *sides)
    assert {each.metric: (each.verdict, each.skipped) for each in found} == {
        "category.art.average": (PASS, ""),
        "category.glass.average": (AMBIGUOUS, ""),
    }
