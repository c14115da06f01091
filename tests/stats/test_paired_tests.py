"""Paired tests against hand calculations and scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parts.lengths import examples
from parts.looped import for_every
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import (
    at_level,
    holm,
    holm_steps,
    paired_mean,
    paired_quantile,
    paired_rate,
    paired_ratio,
    sign_flips,
    sign_test,
)

ONES = np.ones


@for_every(("one", "other"), [(0, 0), (1, 0), (5, 0), (6, 0), (9, 3), (30, 12), (400, 480), (5, 5)])
def test_the_sign_test_is_the_exact_binomial(one, other):
    expected = stats.binomtest(one, one + other, 0.5).pvalue if one + other else 1.0
    assert sign_test(one, other) == pytest.approx(expected, rel=1e-10)


def test_more_cases_are_tested_by_drawn_sign_patterns():
    before = np.array([0.1, 0.5, 0.7, 0.2, 0.9, 0.3, 0.6, 0.4, 0.8, 0.5, 0.1, 0.2, 0.35, 0.6, 0.75])
    after = before + np.array([0.1, -0.05, 0.2, 0.1, 0.0, 0.15, 0.1, -0.1, 0.05, 0.2, 0.1, 0.0, 0.1, 0.05, 0.1])
    found = paired_mean(after - before, ONES(15), 1.0)
    # 13 cases moved: all 8,192 patterns give the exact p-value; 9,999 drawn ones come within 4 standard errors of it.
    exact = stats.permutation_test((after - before,), np.sum, permutation_type="samples", n_resamples=np.inf).pvalue
    assert found.test == "drawn sign flips"
    assert found.p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 9_999) ** 0.5)
    # Differences that are hardly skewed: the interval is Student's, or a little wider.
    interval = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert found.low <= interval.low + 1e-12
    assert found.high >= interval.high - 1e-12
    assert found.high - found.low < 1.2 * (interval.high - interval.low)


def test_hundreds_of_cases_that_moved_get_the_paired_t_test():
    moves = np.random.default_rng(3).normal(0.1, 1.0, 300)
    oracle = stats.ttest_1samp(moves, 0.0)
    interval = oracle.confidence_interval(0.95)
    found = paired_mean(moves, ONES(300))
    assert found.test == "paired t"
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_what_no_drawn_pattern_reaches_is_not_held_at_one_of_ten_thousand():
    # 39 up by 1, one down by 0.001: Hoeffding's bound is 2 exp(-38.999^2 / (2 x 39.000001)) = 6.9e-9.
    moves = np.array([1.0] * 39 + [-0.001])
    assert paired_mean(moves, ONES(40)).p == pytest.approx(2 * np.exp(-(38.999**2) / (2 * 39.000001)), rel=1e-6)


def test_twelve_cases_prove_no_more_than_their_signs_could():
    before = np.arange(12.0)
    assert paired_quantile(before, 1.001 * before + 100, np.arange(12), 0.5).p == 2 * 0.5**12


def test_cases_in_which_nothing_moved_prove_nothing():
    # 4 of 500 moved, all of them up: 2 of 16 sign patterns are as far out, whatever the other 496 say. The t-test
    # would give 0.045 here.
    moves = np.zeros(500)
    moves[:4] = 1.0
    assert stats.ttest_1samp(moves, 0.0).pvalue < 0.05
    assert paired_mean(moves, ONES(500)).p == 0.125
    assert paired_mean(moves, ONES(500)).low < 0


def test_effect_size_and_sides_are_counted_by_case():
    # Case means 0.2, -0.1, 0, 0.3: mean 0.1, deviations 0.1, -0.2, -0.1, 0.2, SD sqrt(0.1 / 3) = 0.182574.
    found = paired_mean(np.array([0.4, -0.1, 0.0, 0.6]), np.array([2, 1, 1, 2]))
    assert found.effect == pytest.approx(0.1 / 0.182574, rel=1e-5)
    assert (found.rose, found.level, found.fell) == (2, 1, 1)
    rates = paired_rate(np.array([0.0, 0, 1, 1]), np.array([1.0, 0, 1, 1]))
    # 1, 0, 0, 0: mean 0.25, SD 0.5.
    assert (rates.effect, rates.rose, rates.level, rates.fell) == (pytest.approx(0.5), 1, 3, 0)


def test_few_cases_are_tested_by_all_sign_patterns():
    sums = np.array([0.3, 0.1, -0.05, 0.2, 0.4])
    # 2^5 = 32 patterns; the sum is 0.95. At least as far out: all as they are (0.95), the smallest turned (1.05,
    # all plus), and the two mirrored: 4 of 32.
    assert sign_flips(sums) == pytest.approx(4 / 32)
    oracle = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert paired_mean(sums, ONES(5)).p == pytest.approx(oracle.pvalue)


def test_repeats_of_a_case_count_as_one():
    # Three cases with 2, 1 and 1 pairs. Mean (0.4 + 0.1 + 0.1) / 4 = 0.15; deviations 0.4 - 0.3 = 0.1, -0.05, -0.05;
    # error = sqrt(3/2 x (0.01 + 0.0025 + 0.0025)) / 4 = 0.15 / 4 = 0.0375. Cases of 2, 1 and 1 are worth
    # 4^2 / 6 of one size (Kish): t(5/3) = 5.242265 (scipy).
    found = paired_mean(np.array([0.4, 0.1, 0.1]), np.array([2, 1, 1]), 1.0)
    assert found.difference == pytest.approx(0.15)
    assert found.high - found.difference == pytest.approx(5.242265 * 0.0375, rel=1e-6)
    assert found.p == 0.25  # 2 of 8 sign patterns


def test_one_case_has_a_difference_and_nothing_else():
    found = paired_mean(np.array([0.4]), np.array([3]))
    assert found.difference == pytest.approx(0.4 / 3)
    assert (found.n_cases, found.low, found.high, found.p, found.smallest) == (1, None, None, None, None)


def test_no_case_has_no_difference():
    assert paired_mean(np.array([]), np.array([])).difference is None
    assert paired_rate(np.array([]), np.array([])).difference is None


def test_equal_differences_have_no_interval_and_only_their_signs_count():
    few, many = paired_mean(np.full(4, 0.1), ONES(4)), paired_mean(np.full(20, 0.1), ONES(20))
    assert (few.low, few.p) == (None, 0.125)
    assert (many.low, many.p) == (None, 2 * 0.5**20)


def test_rates_by_mcnemar_and_bonett_price():
    # 8 gained, 1 lost of 20: McNemar 2 x (1 + 9) / 2^9 = 20 / 512. Bonett and Price: 9/22 and 2/22,
    # 7/22 -+ 1.959964 x sqrt((11/22 - (7/22)^2) / 22) = 0.318182 -+ 0.263872.
    first, second = np.array([0.0] * 8 + [1.0] + [1.0] * 11), np.array([1.0] * 8 + [0.0] + [1.0] * 11)
    found = paired_rate(first, second)
    assert found.difference == pytest.approx(7 / 20)
    assert found.p == pytest.approx(20 / 512)
    assert (found.low, found.high) == pytest.approx((0.318182 - 0.263872, 0.318182 + 0.263872), abs=2e-6)


def test_five_cases_can_show_nothing_and_six_can():
    assert paired_rate(np.zeros(5), ONES(5)).smallest is None
    assert paired_rate(np.zeros(5), ONES(5)).p == pytest.approx(0.0625)
    assert paired_rate(np.zeros(6), ONES(6)).smallest == 1.0
    assert paired_rate(np.zeros(60), np.zeros(60)).smallest == pytest.approx(0.1)


def test_the_smallest_difference_is_what_80_of_100_studies_would_find():
    # error 1 / sqrt(50) x 0.3; (t(49, 97.5 %) 2.009575 + 0.841621) x 0.3 / sqrt(50)
    moves = np.tile([0.3, -0.3], 25)
    spread = float(np.std(moves, ddof=1))
    assert paired_mean(moves, ONES(50)).smallest == pytest.approx(2.851196 * spread / 50**0.5, rel=1e-6)


def test_a_difference_of_ratios_of_sums():
    # A: 6 of 12, B: 9 of 12 over three cases of 4. Residuals B (3,4,2) - 0.75 x 4 = 0, 1, -1; A (2,2,2) - 2 = 0.
    # error = sqrt(3/2 x 2) / 12 = 0.144338
    ours = paired_ratio((np.array([2.0, 2, 2]), np.array([4.0, 4, 4])), (np.array([3.0, 4, 2]), np.array([4.0, 4, 4])))
    assert ours.difference == pytest.approx(0.25)
    assert ours.high - 0.25 == pytest.approx(4.302653 * 0.144338, rel=1e-5)
    assert paired_ratio((np.zeros(3), np.zeros(3)), (np.zeros(3), ONES(3))).difference is None


def test_a_difference_of_quantiles_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(5)
    many = random.gamma(4.0, 0.25, 500_000) * random.normal(1.2, 0.1, 500_000)
    moved = float(np.median(many)) - stats.gamma(4.0, scale=0.25).median()
    held = 0
    for _ in range(300):
        before = random.gamma(4.0, 0.25, 200)
        after = before * random.normal(1.2, 0.1, 200)
        found = paired_quantile(before, after, np.arange(200), 0.5)
        held += found.low <= moved <= found.high
    # 95 % of 300 is 285; three standard deviations are 11.
    assert 274 <= held <= 298


def test_a_quantile_of_few_values_has_no_interval():
    found = paired_quantile(np.arange(20.0), np.arange(20.0) + 1, np.arange(20), 0.95)
    assert (found.difference, found.low, found.p) == (pytest.approx(1.0), None, None)
    assert paired_quantile(np.arange(19.0), np.arange(19.0) + 1, np.arange(19), 0.95).difference is None


def test_holm_steps_down():
    # statsmodels.stats.multitest.multipletests([.01, .04, .03, .005], method="holm") -> .03, .06, .06, .02
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == [
        pytest.approx(0.03),
        pytest.approx(0.06),
        None,
        pytest.approx(0.06),
        pytest.approx(0.02),
    ]
    assert holm([]) == []


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 3)), min_size=1, max_size=20))
def test_turning_all_signs_mirrors_everything(moves):
    sums, sizes = np.array([move for move, _ in moves]), np.array([size for _, size in moves])
    one, other = paired_mean(sums, sizes), paired_mean(-sums, sizes)
    assert one.difference == -other.difference
    assert one.p == other.p
    assert (one.low is None) == (other.low is None)
    if one.low is not None:
        assert (one.low, one.high) == (-other.high, -other.low)


def leaves_zero_out(result, level=0.05):
    bounds = at_level(
        Estimate(result.difference, result.n_cases, 0, result.low, result.high), result.p, level, result.n_cases - 1
    )
    return bounds.low > 0 or bounds.high < 0


@pytest.mark.parametrize("kind", ["normal", "skewed", "few moved", "rate", "ratio"])
def test_p_and_interval_say_the_same_at_every_level(kind):
    rng = np.random.default_rng([3, len(kind)])
    shown = 0
    for _ in range(150):
        n = int(rng.choice([8, 15, 30, 60]))
        shift = rng.choice([0.0, 0.5]) * (4 / n**0.5)
        if kind == "rate":
            found = paired_rate(*(rng.random((2, n)) < np.array([[0.5], [min(0.95, 0.5 + shift)]])).astype(float))
        elif kind == "ratio":
            below = rng.integers(1, 6, (2, n)).astype(float)
            hits = rng.binomial(below.astype(int), np.array([[0.5], [min(0.95, 0.5 + shift)]])).astype(float)
            found = paired_ratio((hits[0], below[0]), (hits[1], below[1]))
        else:
            moves = rng.normal(shift, 1, n) if kind == "normal" else rng.exponential(1, n) - 1 + shift
            moves = np.where(rng.random(n) < 0.3, moves, 0.0) if kind == "few moved" else moves
            found = paired_mean(moves, np.ones(n))
        if found.low is None or found.difference == 0:
            continue
        for level in (0.05, 0.01, 0.05 / 30):
            assert leaves_zero_out(found, level) == (found.p < level), (found, level)
        shown += found.p < 0.05
    assert shown > 5


def test_holm_tests_each_at_a_level_that_its_adjusted_p_agrees_with():
    # .005 < .05 / 4, .01 < .05 / 3, .03 > .05 / 2: the last two are not tested any further.
    steps = holm_steps([0.01, 0.04, None, 0.03, 0.005])
    assert [level for _, level in steps] == [pytest.approx(0.05 / k) for k in (3, 2, 1, 2, 4)]
    assert [p < 0.05 for p, _ in steps if p is not None] == [
        p < level for p, (_, level) in zip((0.01, 0.04, 0.03, 0.005), (steps[i] for i in (0, 1, 3, 4)), strict=True)
    ]
