"""Intervals against published values, against scipy.stats, and by how often they cover what they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from parts.looped import for_every
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import effective_n, quantile_ranks, student, t_quantile, t_two_sided, wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [  # Newcombe (1998), Statistics in Medicine 17, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(hits: int, n: int, low: float, high: float) -> None:
    bounds = wilson(hits / n, n)
    assert bounds is not None
    assert bounds == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [2, 3, 10, 50, 1000])
def test_wilson_agrees_with_scipy(n: int) -> None:
    for hits in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
        assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@for_every("df", [*range(1, 130), 1000, 10**6])
def test_the_t_quantile_agrees_with_scipy(df: int) -> None:
    assert t_quantile(df) == pytest.approx(float(stats.t.ppf(0.975, df)), rel=1e-9)


@for_every("df", [1, 2, 3, 7, 24, 100, 101, 1000])
@for_every("pairs", [3, 45])
def test_the_t_quantile_of_several_comparisons_agrees_with_scipy(df: int, pairs: int) -> None:
    assert t_quantile(df, 0.025 / pairs) == pytest.approx(float(stats.t.isf(0.025 / pairs, df)), rel=1e-8)


@for_every("df", [1, 2, 5, 24, 100, 10**5])
@for_every("t", [0.0, 0.01, -0.7, 1.0, 2.5, -8.0, 100.0])
def test_two_sided_p_values_of_t_agree_with_scipy(df: int, t: float) -> None:
    assert t_two_sided(t, df) == pytest.approx(2 * float(stats.t.sf(abs(t), df)), rel=1e-8, abs=1e-300)


def test_the_t_quantile_is_the_tabled_one() -> None:
    # Any printed table of Student's t, two-sided 5 %.
    assert [round(t_quantile(df), 3) for df in (1, 2, 10, 30, 120)] == [12.706, 4.303, 2.228, 2.042, 1.980]


@for_every("point", [0.5, 0.95])
@for_every("n", [2, 5, 6, 10, 72, 73, 100, 999, 1_000_000])
def test_quantile_ranks_agree_with_scipys_binomial(n: int, point: float) -> None:
    low, high = int(stats.binom.ppf(0.025, n, point)), int(stats.binom.isf(0.025, n, point)) + 1
    assert quantile_ranks(n, point) == ((low, high) if low >= 1 and high <= n else None)


def test_a_median_of_five_values_has_no_interval_and_of_six_has_the_extremes() -> None:
    # 1 - 2 / 2**5 = 93.75 % is less than 95 %; 1 - 2 / 2**6 = 96.9 % is enough.
    assert quantile_ranks(5, 0.5) is None
    assert quantile_ranks(6, 0.5) == (1, 6)


def test_one_trial_bounds_nothing() -> None:
    assert wilson(1.0, 1) is None
    assert student(0.5, 0.1, 0) is None


def test_values_without_spread_bound_nothing_by_themselves() -> None:
    assert student(0.8, 0.0, 49) is None


class TestEffectiveN:
    def test_answers_that_are_alike_within_a_case_count_once_a_case(self) -> None:
        # 10 cases of 3, 6 cases all right: sum of (3 - 0.6 * 3)^2 * 6 + (0.6 * 3)^2 * 4 = 8.64 + 12.96 = 21.6
        assert effective_n(0.6, 30, 10, 21.6, 90.0) == pytest.approx(10.0)

    def test_it_is_never_above_n(self) -> None:
        # Two cases of two, one hit in each: no case deviates from the rate at all.
        assert effective_n(0.5, 4, 2, 0.0, 8.0) == 4.0

    def test_when_everything_came_out_the_same_cases_are_counted(self) -> None:
        assert effective_n(1.0, 30, 10, 0.0, 90.0) == pytest.approx(10.0)

    def test_between_the_extremes_it_follows_the_variance_between_cases(self) -> None:
        # 4 cases of 2 with hits 2, 2, 1, 0: share 5/8; deviations .75 .75 -.25 -1.25, squares 2.75
        # worth = 0.234375 * 64 * 3 / (4 * 2.75) = 4.0909
        assert effective_n(0.625, 8, 4, 2.75, 16.0) == pytest.approx(45 / 11)


def groups_of(n_groups: int, cases: int, repeats: int) -> Groups:
    rows = np.arange(n_groups * cases * repeats)
    case = rows // repeats if repeats > 1 else None
    return Groups([str(g) for g in range(n_groups)], rows // (cases * repeats), case)


def rates_of(groups: Groups, hits: np.ndarray) -> list:
    found = groups.rates(groups.labelled(hits.astype(int) - 1), 1, np.ones(len(hits), bool))
    return [row[0] for row in found]


def coverage(estimates: list, truth: float) -> float:
    return float(np.mean([each.low <= truth <= each.high for each in estimates]))


RUNS = 1500


class TestCoverage:
    """A 95 % interval must hold the true value in about 95 % of simulated runs."""

    def test_of_rates(self) -> None:
        hits = np.random.default_rng(1).random(RUNS * 60) < 0.8
        assert 0.92 <= coverage(rates_of(groups_of(RUNS, 60, 1), hits), 0.8) <= 0.98

    def test_of_means(self) -> None:
        values = np.random.default_rng(2).beta(4, 2, RUNS * 40)
        assert 0.92 <= coverage(groups_of(RUNS, 40, 1).means(values), 4 / 6) <= 0.98

    def test_of_medians(self) -> None:
        values = np.random.default_rng(3).beta(3, 3, RUNS * 41)
        assert 0.92 <= coverage([row[0] for row in groups_of(RUNS, 41, 1).quantiles(values, [0.5])], 0.5) <= 0.98

    def test_of_means_when_each_case_is_asked_five_times(self) -> None:
        rng = np.random.default_rng(4)
        values = np.repeat(rng.uniform(0.2, 0.8, RUNS * 30), 5) + rng.normal(0, 0.05, RUNS * 150)
        clustered = coverage(groups_of(RUNS, 30, 5).means(values), 0.5)
        assert 0.92 <= clustered <= 0.98
        # The same numbers taken for 150 independent ones claim far too much: this is what clustering is for.
        assert coverage(groups_of(RUNS, 150, 1).means(values), 0.5) < 0.75

    def test_of_rates_when_each_case_is_asked_five_times(self) -> None:
        rng = np.random.default_rng(5)
        hits = rng.random(RUNS * 200) < np.repeat(rng.beta(2, 1, RUNS * 40), 5)
        assert 0.92 <= coverage(rates_of(groups_of(RUNS, 40, 5), hits), 2 / 3) <= 0.98
        assert coverage(rates_of(groups_of(RUNS, 200, 1), hits), 2 / 3) < 0.9

    def test_of_medians_when_each_case_is_asked_five_times(self) -> None:
        rng = np.random.default_rng(6)
        values = np.repeat(rng.uniform(0, 1, RUNS * 40), 5) + rng.normal(0, 0.02, RUNS * 200)
        found = [row[0] for row in groups_of(RUNS, 40, 5).quantiles(values, [0.5])]
        assert 0.92 <= coverage(found, 0.5) <= 0.985
