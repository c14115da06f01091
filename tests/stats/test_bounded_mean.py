"""Bounds of a mean between two ends, against Clopper and Pearson's, and by simulation where nothing else is known."""

import numpy as np
import pytest
from scipy.stats import beta

from parts.lengths import simulations, slack
from parts.looped import for_every
from steelyard.stats.bounded_mean import bounded_mean, bounded_ratios

SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)


def of(values, ends=DIFFERENCES):
    return bounded_mean(np.asarray(values, dtype=float), np.ones(len(values)), ends)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 30), (15, 30), (29, 30), (100, 100), (3, 400)])
def test_of_hits_it_is_the_interval_of_clopper_and_pearson(hits, n):
    low, high = of([1.0] * hits + [0.0] * (n - hits), SHARES).interval()
    assert low == pytest.approx(beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0, abs=0.002)
    assert high == pytest.approx(beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0, abs=0.002)


def test_so_many_cases_that_do_not_change_show_that_not_more_is_lost():
    # (1 - 0.02)^183 = 0.0248 and (1 - 0.02)^182 = 0.0253.
    assert of([0.0] * 10).fewest(-0.02) == 183
    assert of([0.0] * 183).p_at_most(-0.02) == pytest.approx(0.02480, rel=0.02)
    assert of([0.0] * 10).fewest(0.0) == np.inf


def test_a_case_of_many_repeats_is_one_case():
    values = np.array([0.1, -0.2, 0.0, 0.05, 0.3])
    once, ten = (bounded_mean(values * k, np.full(5, float(k)), DIFFERENCES) for k in (1, 10))
    assert ten.interval() == pytest.approx(once.interval())


def test_the_ends_change_places_when_the_values_do():
    low, high = of([0.5, 0.1, -0.3, 0.0]).interval()
    assert of([0.5, 0.1, -0.3, 0.0]).turned().interval() == pytest.approx((-high, -low))


def test_very_many_values_are_rounded_outwards_and_end_near_the_interval_of_student():
    values = np.random.default_rng(1).normal(0.05, 0.1, 20_000)
    low, high = of(values).interval()
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert values.mean() - 2 * half < low < values.mean() - half
    assert values.mean() + half < high < values.mean() + 2 * half


@pytest.mark.simulation
@for_every("n", [10, 30, 300])
@for_every(
    "draw",
    [lambda rng, n: np.where(rng.random(n) < 0.02, -1.0, 0.02 / 0.98),
     lambda rng, n: np.where(rng.random(n) < 0.1, -0.9, 0.1),
     lambda rng, n: np.where(rng.random(n) < 0.1, 0.9, -0.1),
     lambda rng, n: rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=n),
     lambda rng, n: 2 * rng.beta(0.3, 0.3, n) - 1],
)  # fmt: skip
def test_a_true_mean_of_0_is_shown_to_be_above_0_at_most_as_often_as_said(draw, n):
    rng = np.random.default_rng(n)
    runs = simulations(400, 100)
    shown = sum(of(draw(rng, n)).p_at_most(0.0) <= 0.025 for _ in range(runs))
    # 2.5 % of 400 are 10; 3 standard errors more are 19.
    assert shown / runs <= 0.025 + slack(0.025, runs, 3)


def test_a_difference_of_ratios_goes_as_one_of_means_where_all_cases_count_alike():
    before, after, ten = np.full(200, 9.0), np.full(200, 9.0), np.full(200, 10.0)
    ratios = bounded_ratios(before, ten, after, ten)
    # The worst case goes from 10 of 10 to 0 of 10.
    assert (ratios.low, ratios.high) == pytest.approx((-1.0, 1.0))
    assert ratios.interval() == pytest.approx(of([0.0] * 200).interval())
    assert bounded_ratios(2 * ten, ten, ten, ten) is None
