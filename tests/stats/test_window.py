"""One run against a window of earlier ones: against all permutations, scipy, and by simulation of both directions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made, columns, suite
from parts.described import Table
from parts.lengths import simulations, slack
from steelyard.alerts.pool import Pool
from steelyard.stats.window import dispersion, least_window_p, window_test

TIMES = simulations(2000, 300)


def brute_force(results, weights):
    """The share of all ways to pick one run for each unit whose total is as far from the mean total."""
    rows = [weight * row[~np.isnan(row)] for row, weight in zip(results, weights, strict=True)]
    totals = np.array([sum(picked) for picked in product(*rows)])
    away = np.abs(totals - totals.mean())
    observed = abs(sum(weight * row[-1] for row, weight in zip(results, weights, strict=True)) - totals.mean())
    return float((away >= observed - 1e-9).mean())


def undispersed(results, weights):
    """The p-value where earlier runs do not vary as a whole."""
    assert dispersion(results[:, :-1], weights) <= 1
    return window_test(results, weights)[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_is_that_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    results = rng.integers(0, 2, (6, 5)).astype(float)
    results[:, -1] = [0, 0, 0, 1, 0, 0]
    weights = np.ones(6)
    p, _ = window_test(results, weights)
    ratio = max(1.0, dispersion(results[:, :-1], weights))
    expected = brute_force(results, weights)
    assert p == pytest.approx(2 * stats.norm.sf(stats.norm.isf(expected / 2) / ratio**0.5), abs=1e-9)


def test_scores_with_gaps_and_weights_are_permuted_too():
    # Means over repeats, a unit of two samples, and runs that lack a unit.
    results = np.array(
        [[0.9, 0.8, 0.85, 0.2], [0.7, np.nan, 0.72, 0.3], [0.5, 0.55, np.nan, 0.5], [0.9, 0.7, 0.8, 0.1]]
    )
    weights = np.array([1.0, 2.0, 1.0, 1.0])
    assert undispersed(results, weights) == pytest.approx(brute_force(results, weights), abs=1e-6)


def test_a_unit_counts_by_its_weight():
    # One unit rises and two fall: by their number the run fell, by their weights it rose.
    results = np.array([[0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0]])
    weights = np.array([5.0, 1.0, 1.0])
    assert brute_force(results, weights) != brute_force(results, np.ones(3))
    assert undispersed(results, weights) == pytest.approx(brute_force(results, weights), abs=1e-9)


def test_cases_of_one_difficulty_give_about_fishers_p_value():
    # 30 of 1,000 failed before, no case twice, and 9 of 100 now.
    results = np.ones((100, 11))
    results[range(30), np.arange(30) % 10] = 0.0
    results[40:49, -1] = 0.0
    fisher = stats.fisher_exact([[970, 30], [91, 9]])[1]
    assert undispersed(results, np.ones(100)) == pytest.approx(fisher, rel=0.25)


def test_dispersion_is_one_where_units_vary_independently_and_larger_where_runs_vary():
    rng = np.random.default_rng(1)
    alone = [dispersion(rng.normal(size=(50, 10)), np.ones(50)) for _ in range(400)]
    assert np.mean(alone) == pytest.approx(1.0, abs=0.08)
    # Runs that vary as a whole by a standard deviation of 0.2: 1 + 50 x 0.04.
    shared = [dispersion(rng.normal(size=(50, 10)) + rng.normal(0, 0.2, 10), np.ones(50)) for _ in range(400)]
    assert np.mean(shared) == pytest.approx(3.0, abs=0.25)


def test_the_smallest_p_value_is_reached_by_the_largest_change():
    results = np.ones((3, 5))
    results[:, -1] = 0.0
    assert undispersed(results, np.ones(3)) == pytest.approx(least_window_p(3, 4)) == pytest.approx((1 / 5) ** 3)


def test_many_units_have_the_p_value_of_the_normal_distribution():
    rng = np.random.default_rng(3)
    results = (rng.random((3500, 6)) < 0.8).astype(float)
    results[:25, -1] = 0.0
    exact = window_test(results[:1500], np.ones(1500))
    assert exact[1].startswith("exact")
    p, test = window_test(results, np.ones(3500))
    assert test.startswith("permutation")
    q = results.mean(axis=1)
    z = (abs(results[:, -1].sum() - q.sum()) - 0.5) / (q * (1 - q)).sum() ** 0.5
    ratio = max(1.0, dispersion(results[:, :-1], np.ones(3500)))
    assert p == pytest.approx(2 * stats.norm.sf(z / ratio**0.5), rel=1e-6)


def test_a_run_that_lacks_the_hard_part_of_a_unit_is_not_better_for_it():
    # Case c: an easy variant (always 1) and a hard one (always 0), which is missing now; nothing changed.
    easy, hard = Made("c", 1.0, variant="easy"), Made("c", 0.0, variant="hard")
    other = [Made("e1", 1.0, variant="easy"), Made("e2", 1.0, variant="easy")]

    def table(*made):
        return Table(columns(list(made)), suite())

    mine = table(easy, *other)
    pool = Pool(mine)
    for _ in range(4):
        earlier = table(easy, hard, *other)
        pool.add(earlier, earlier.score())
    found = pool.change(mine.score(), np.arange(mine.n))
    assert (found.before, found.now, found.p) == (1.0, 1.0, 1.0)


def rates(rng, n, runs, rate, alike, shift=0.0, together=0.0):
    """Passes of cases (rows) in runs (columns): chances beta distributed, the newest run's shifted."""
    chances = rng.beta(rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike, n) if alike else np.full(n, rate)
    odds = np.log(np.clip(chances, 1e-9, 1 - 1e-9) / np.clip(1 - chances, 1e-9, 1))
    moved = 1 / (1 + np.exp(-odds[:, None] - together * rng.normal(size=runs + 1)))
    moved[:, -1] += shift
    return (rng.random((n, runs + 1)) < moved).astype(float)


def alerted(draw, level=0.01):
    """How often a run is called worse and better."""
    worse = better = 0
    for _ in range(TIMES):
        results, weights = draw()
        if window_test(results, weights)[0] < level:
            now, before = results[:, -1], np.nanmean(results[:, :-1], axis=1)
            total = float(np.nansum((now - before) * weights))
            worse, better = worse + (total < 0), better + (total > 0)
    return worse / TIMES, better / TIMES


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("n", "runs", "rate", "alike"),
    [(100, 10, 0.97, 0.0), (100, 10, 0.8, 0.5), (30, 10, 0.5, 0.2), (30, 3, 0.8, 0.5), (9, 10, 0.7, 0.0)],
)
def test_rates_that_did_not_change_are_seldom_called_worse_or_better(n, runs, rate, alike):
    # Sign flips of ten runs against one called 6 to 20 % better.
    rng = np.random.default_rng([n, runs])
    found = alerted(lambda: (rates(rng, n, runs, rate, alike), np.ones(n)))
    assert max(found) <= 0.01 + slack(0.01, TIMES, 2.5)


def scores(rng, n, runs):
    """Skewed scores with their own level for each case."""
    return np.clip(rng.beta(5, 1, (n, 1)) + 0.1 * (1 - rng.exponential(size=(n, runs + 1))), 0, 1)


def repeats(rng, n, runs):
    """Means of three pass/fail answers."""
    return rng.binomial(3, rng.beta(4, 1, (n, 1)), (n, runs + 1)) / 3


def clusters(rng, n, runs):
    """Documents of one to six cases, whose answers in one run are similar; weighted by their cases."""
    sizes = rng.integers(1, 7, n)
    shared = rng.normal(size=(n, runs + 1))
    means = [
        (row[None] + rng.normal(size=(size, runs + 1))).mean(axis=0) for row, size in zip(shared, sizes, strict=True)
    ]
    return np.array(means), sizes.astype(float)


def gaps(rng, n, runs):
    """A tenth of all results is missing."""
    results = rates(rng, n, runs, 0.8, 0.3)
    results[:, :-1][rng.random((n, runs)) < 0.1] = np.nan
    return results[rng.random(n) > 0.1]


@pytest.mark.simulation
@pytest.mark.parametrize("kind", [scores, repeats, clusters, gaps])
@pytest.mark.parametrize("runs", [3, 10])
def test_other_figures_that_did_not_change_are_seldom_called_worse_or_better(kind, runs):
    rng = np.random.default_rng(runs)

    def draw():
        results = kind(rng, 40, runs)
        return results if isinstance(results, tuple) else (results, np.ones(len(results)))

    found = alerted(draw)
    assert max(found) <= 0.01 + slack(0.01, TIMES, 2.5)


@pytest.mark.simulation
def test_runs_that_vary_as_a_whole_are_allowed_for():
    # As much as by chance alone (the variance of a run's rate doubles): 3.3 % and 2.2 % without the dispersion.
    rng = np.random.default_rng(7)
    found = alerted(lambda: (rates(rng, 100, 10, 0.8, 0.5, together=0.35), np.ones(100)))
    assert max(found) <= 0.015 + slack(0.015, TIMES, 2.5)


@pytest.mark.simulation
def test_a_drop_is_found_about_as_often_as_by_fishers_exact_test():
    # From 97 to 90 % at n 100 against ten runs: sign flips found 35 %, Fisher's test 67 to 70 %.
    rng, found, by_fisher = np.random.default_rng(9), 0, 0
    for _ in range(TIMES):
        results = rates(rng, 100, 10, 0.97, 0.0, shift=-0.07)
        before, now = results[:, :-1], results[:, -1]
        table = [[before.sum(), before.size - before.sum()], [now.sum(), 100 - now.sum()]]
        by_fisher += stats.fisher_exact(table)[1] < 0.01
        found += window_test(results, np.ones(100))[0] < 0.01
    assert by_fisher / TIMES == pytest.approx(0.68, abs=0.02 + slack(0.68, TIMES, 2.5))
    assert found / TIMES >= by_fisher / TIMES - 0.1
