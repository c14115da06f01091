"""What a suite can detect: against independent tools, and by simulation of the very tests that compare runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from parts.lengths import simulations, slack
from parts.noisy_runs import SIGNATURE, add_run
from steelyard.analysis.power import recorded_power
from steelyard.analysis.run_spread import RunSpread, spread_of
from steelyard.errors import UsageError
from steelyard.records import Verdict
from steelyard.stats.paired import paired_rate, sign_flip_test, sign_test
from steelyard.stats.power import Design, VarianceComponents, cases_needed, designs, power, repeats_needed, smallest
from steelyard.store.sql import open_store

SPREAD = VarianceComponents(
    n_runs=3,
    n_pairs=2,
    n_cases=50,
    repeats=1,
    variants=1,
    mean=0.7,
    between=0.04,
    within=0.02,
    response=0.0025,
    change=0.0425,
)
TIMES = simulations(1500, 200)
SLACK = slack(0.8, TIMES)
"""Two standard errors of a power of 80 %: 2.1 points by 1,500 simulations, 5.7 by 200."""


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def test_the_power_of_the_average_is_that_of_statsmodels():
    # statsmodels 0.14, TTestPower().power(effect_size, nobs, 0.05): 0.4, 50 -> 0.791787; 1.0, 10 -> 0.803097
    spread = replace(SPREAD, within=0.005, response=0.0, change=None)
    # A case's change has a variance of 2 x 0.005, a standard deviation of 0.1.
    assert power(spread, Design(50, 1), 0.04, rate=False) == pytest.approx(0.791787, abs=1e-6)
    assert power(spread, Design(10, 1), 0.1, rate=False) == pytest.approx(0.803097, abs=1e-6)
    # TTestPower().solve_power(effect_size=0.3, alpha=0.05, power=0.8) -> 89.15 cases; (nobs=30) -> effect 0.529236
    assert cases_needed(spread, 1, 0.03, rate=False) == 90
    assert smallest(spread, Design(30, 1), rate=False) == pytest.approx(0.0529236, abs=1e-6)


@pytest.mark.parametrize(("within", "n", "change"), [(0.05, 20, 0.3), (0.1, 50, 0.15), (0.0, 40, 0.2), (0.15, 12, 0.4)])
def test_the_power_of_the_pass_rate_is_that_of_all_tables(within, n, change):
    # The chances to pass before and after are beta distributed with the correlation that two answers to a case have;
    # scipy's quantiles say how many pairs of single answers differ.
    spread = replace(SPREAD, mean=0.5, within=within, response=0.0, change=None)
    alike = 1 - within / 0.25
    both = [_chances(mean, alike) for mean in (0.5, 0.5 - change)]
    changing = float((both[0] * (1 - both[1]) + both[1] * (1 - both[0])).mean())
    down, reached = (changing + change) / 2 / changing, 0.0
    for moved in range(n + 1):
        for lost in range(moved // 2 + 1, moved + 1):
            if sign_test(lost, moved - lost) < 0.05:
                reached += stats.binom.pmf(moved, n, changing) * stats.binom.pmf(lost, moved, down)
    assert power(spread, Design(n, 1), change, rate=True) == pytest.approx(reached, abs=0.01)


def _chances(mean: float, alike: float) -> np.ndarray:
    places = (np.arange(20_000) + 0.5) / 20_000
    if alike == 1:
        return (places > 1 - mean).astype(float)
    return stats.beta.ppf(places, mean * (1 - alike) / alike, (1 - mean) * (1 - alike) / alike)


def shown(spread: VarianceComponents, design: Design, drop: float, *, rate: bool) -> float:
    """How often the comparison shows a true drop, by simulation."""
    rng = np.random.default_rng([design.cases, design.repeats, int(rate)])
    n, found = design.cases, 0
    alike = max(1e-6, 1 - spread.within / (spread.mean * (1 - spread.mean)))
    shapes = [each * (1 - alike) / alike for each in (spread.mean, 1 - spread.mean)]
    by = _log_odds_moved(_chances(spread.mean, alike), spread.mean - drop) if rate else 0.0
    for _ in range(TIMES):
        if rate:
            # The log odds of all cases fall by the same.
            odds = rng.beta(*shapes, n)
            odds = np.clip(odds, 1e-12, 1 - 1e-12)
            moved = 1 / (1 + np.exp(-np.log(odds / (1 - odds)) - by))
            first, second = (rng.binomial(design.repeats, each) for each in (odds, moved))
            moves = (second - first).astype(float)[:, None]
        else:
            shift = rng.normal(-drop, spread.response**0.5, (n, 1))
            moves = shift + np.subtract(*rng.normal(0, spread.within**0.5, (2, n, design.repeats)))
        p = paired_rate(first, second).p if rate and design.repeats == 1 else sign_flip_test(moves.sum(axis=1))[0]
        found += p is not None and p < 0.05
    return found / TIMES


def _log_odds_moved(chances: np.ndarray, mean: float) -> float:
    odds = np.log(np.clip(chances, 1e-12, 1 - 1e-12)) - np.log(np.clip(1 - chances, 1e-12, 1))
    return brentq(lambda by: float((1 / (1 + np.exp(-odds - by))).mean()) - mean, -20, 20)


@pytest.mark.parametrize(("cases", "repeats"), [(15, 1), (40, 3)])
@pytest.mark.simulation
def test_the_smallest_drop_of_the_average_is_shown_4_times_of_5(cases, repeats):
    design = Design(cases, repeats)
    change = smallest(SPREAD, design, rate=False)
    assert 0.78 - SLACK <= shown(SPREAD, design, change, rate=False) <= 0.82 + SLACK


@pytest.mark.parametrize(
    ("mean", "within", "cases", "repeats"),
    [
        (0.7, 0.09, 80, 1),
        (0.7, 0.09, 60, 3),
        (0.8, 0.08, 100, 3),
        (0.9, 0.018, 90, 3),
        (0.8, 0.032, 45, 10),
        # Issue 29: of 80 % stated for rises and drops together, 67 % of the drops were shown.
        (0.8, 0.16, 60, 1),
        (0.8, 0.08, 60, 1),
        (0.97, 0.0291, 100, 1),
    ],
)
@pytest.mark.simulation
def test_the_smallest_drop_of_the_pass_rate_is_shown_4_times_of_5(mean, within, cases, repeats):
    # Taken to turn cases for good, whatever the noise, a change of these was shown in 92 to 99 %.
    spread = replace(SPREAD, mean=mean, within=within, between=mean * (1 - mean) - within, response=0.0, change=None)
    design = Design(cases, repeats)
    change = smallest(spread, design, rate=True)
    assert 0.78 - SLACK <= shown(spread, design, change, rate=True) <= 0.82 + SLACK


@pytest.mark.simulation
def test_what_one_recorded_run_says_is_true_on_average():
    # The variance of repeats is an estimate of 20 cases: taken for the truth, 80 % were 76 to 78 %.
    rng = np.random.default_rng(21)
    found = []
    for _ in range(TIMES):
        recorded = rng.normal(0, 0.1, (20, 2))
        means = recorded.mean(axis=1)
        squares = float(((recorded - means[:, None]) ** 2).sum())
        spread = spread_of([RunSpread(tuple("abcdefghijklmnopqrst"), means, np.full(20, 2), squares, 20, 2, 1, 20)])
        needed = cases_needed(spread, 2, 0.05, rate=False)
        error = 0.1 / needed**0.5
        # Two runs of two repeats: a case's change has a standard deviation of 0.1.
        found.append(stats.nct.sf(stats.t.ppf(0.975, needed - 1), needed - 1, 0.05 / error))
    assert 0.78 <= np.mean(found) <= 0.82


def test_clusters_are_the_units_of_power():
    # 5 cases a document, which move together: as if there were a fifth as many cases, each asked 5 times as often.
    spread = replace(SPREAD, per_unit=5.0, response=0.0, change=None)
    alone = replace(spread, per_unit=1.0)
    found = power(spread, Design(50, 1), 0.05, rate=False)
    assert found == pytest.approx(power(alone, Design(10, 5), 0.05, rate=False))
    assert power(spread, Design(25, 1), 0.3, rate=False) == 0.0


def test_five_cases_show_nothing_and_what_is_asked_for_is_enough():
    assert smallest(SPREAD, Design(5, 10), rate=False) is None
    assert smallest(SPREAD, Design(5, 10), rate=True) is None
    for rate in (False, True):
        needed = cases_needed(SPREAD, 3, 0.05, rate=rate)
        assert power(SPREAD, Design(needed, 3), 0.05, rate=rate) >= 0.8
        assert power(SPREAD, Design(needed - 1, 3), 0.05, rate=rate) < 0.8


def test_more_repeats_help_until_only_the_cases_differ():
    changes = [smallest(SPREAD, Design(50, repeats), rate=False) for repeats in (1, 2, 5, 100)]
    assert changes == sorted(changes, reverse=True)
    # 50 cases whose changes vary by 0.05 show (2.0096 + 0.85) x 0.05 / 7.07 = 0.0202 with any number of repeats.
    assert repeats_needed(SPREAD, 50, 0.019, rate=False) is None
    enough = repeats_needed(SPREAD, 50, 0.03, rate=False)
    assert power(SPREAD, Design(50, enough), 0.03, rate=False) >= 0.8
    assert power(SPREAD, Design(50, enough - 1), 0.03, rate=False) < 0.8


def test_parts_of_the_variance_by_hand():
    # Two cases, two repeats: means 0.5 and 0.8 in the new run, 0.4 and 0.6 in the old one. Squares 0.02 + 0.02 of the
    # new, 0.02 + 0 of the old over 4 degrees of freedom: within 0.06 / 4 = 0.015.
    def run(means: tuple[float, float], squares: float) -> RunSpread:
        return RunSpread(("a", "b"), np.array(means), np.array([2, 2]), squares, 2, 2, 1, 2)

    found = spread_of([run((0.5, 0.8), 0.04), run((0.4, 0.6), 0.02)])
    assert found.within == pytest.approx(0.015)
    # Changes 0.1 and 0.2: variance 0.005; noise of repeats in it 0.015 x (1/2 + 1/2) is more: nothing is left.
    assert (found.change, found.response) == (pytest.approx(0.005), 0.0)
    # Means 0.5 and 0.8: variance 0.045, of which 0.015 / 2 is the noise of repeats.
    assert found.between == pytest.approx(0.0375)
    # By the runs a change varies by 0.01 less than its repeats say, but never by less than half of that.
    assert found.of_difference(2) == pytest.approx(0.015 / 2)
    assert found.of_difference(3) == pytest.approx(0.015 / 3)


def test_the_noise_of_recorded_runs_is_found(store):
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.4, 0.6, (300, 1))
    for number in range(3):
        shift = rng.normal(0, 0.05, (300, 1))
        add_run(store, number, truth + shift + rng.normal(0, 0.1, (300, 4)))
    found = recorded_power(store, "demo", "average").spread
    assert (found.n_runs, found.n_pairs, found.n_cases, found.repeats) == (3, 2, 300, 4)
    # 0.01 of repeats; of a case's change 2 x 0.0025 beyond it; 0.2^2 / 12 and the shift between cases.
    assert found.within == pytest.approx(0.01, rel=0.05)
    assert found.response == pytest.approx(0.005, rel=0.25)
    assert found.between == pytest.approx(0.2**2 / 12 + 0.0025, rel=0.2)


def test_the_metric_is_the_pass_rate_where_there_is_a_pass_rule(store):
    scores = np.random.default_rng(2).random((20, 2))
    add_run(store, 1, scores)
    assert recorded_power(store, "demo").metric == "pass_rate"
    add_run(store, 2, scores, suite={"passing": None})
    assert recorded_power(store, "demo").metric == "average"


def test_without_repeats_and_without_a_second_run_only_the_worst_is_known(store):
    scores = np.random.default_rng(3).uniform(0.2, 0.8, (40, 1))
    add_run(store, 1, scores)
    found = recorded_power(store, "demo", "average", 0.03)
    assert (found.spread.within, found.spread.change, found.at_worst) == (None, None, True)
    assert (found.table, found.needed, found.repeats_needed) == ((), (), None)
    # Two runs with nothing in common: variance 2 x that of the scores, (2.0227 + 0.851) standard errors.
    assert found.now == pytest.approx(2.87 * (2 * scores.var(ddof=1) / 40) ** 0.5, rel=0.01)


def test_two_runs_without_repeats_know_their_own_repeats_only(store):
    rng = np.random.default_rng(4)
    for number in range(2):
        add_run(store, number, rng.uniform(0.2, 0.8, (40, 1)))
    found = recorded_power(store, "demo", "average", 0.1)
    assert not found.at_worst
    assert {design.repeats for design, _ in found.table} == {1}
    assert [each.repeats for each in found.needed] == [1]
    assert found.repeats_needed is None


def test_runs_that_are_no_readings_of_the_same_signature_are_left_out(store):
    rng = np.random.default_rng(5)

    def scores() -> np.ndarray:
        return rng.random((12, 2))

    for number, part in enumerate(("truth", "scorers", "schema", "judge", "rules"), -4):
        add_run(store, number, scores(), signature=SIGNATURE | {part: "another"})
    add_run(store, 1, scores(), cached=True)
    add_run(store, 2, scores(), verdict=Verdict.INVALID)
    add_run(store, 3, scores(), rescored_from="demo-1")
    add_run(store, 4, scores())
    add_run(store, 5, scores(), ended=False)
    add_run(store, 6, scores())
    found = recorded_power(store, "demo")
    assert found.runs == ("demo-6", "demo-4")
    assert found.left_out["with another truth, scorer or judge than the newest"] == 5
    assert found.left_out["mostly answered from the cache"] == 1
    assert sum(found.left_out.values()) == 9
    assert recorded_power(store, "demo", most_runs=1).runs == ("demo-6",)


def test_no_run_and_no_reading_are_said(store):
    with pytest.raises(UsageError, match=r"no run of a suite demo.*steelyard run demo --repeats 3"):
        recorded_power(store, "demo")
    add_run(store, 1, np.array([[0.5, 0.6]]))
    with pytest.raises(UsageError, match="1 with fewer than two scored cases"):
        recorded_power(store, "demo")


def test_a_system_that_always_answers_the_same_shows_what_the_test_itself_takes(store):
    for number in range(2):
        add_run(store, number, np.tile(np.linspace(0.1, 0.9, 60)[:, None], (1, 2)))
    assert recorded_power(store, "demo", "average").now == pytest.approx(0.0, abs=1e-9)
    # McNemar's test, or sign flips over cases, need six cases that turn.
    assert recorded_power(store, "demo", "pass_rate").now > 6 / 60


def test_the_table_has_todays_cases_and_repeats():
    assert Design(50, 1) in designs(SPREAD)
    assert Design(500, 10) in designs(SPREAD)
    assert {each.repeats for each in designs(replace(SPREAD, within=None))} == {1}
