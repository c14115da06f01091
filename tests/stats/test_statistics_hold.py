"""By simulation: how often 95 % intervals hold the truth and how often tests see a change where there is none.

What each method holds, and what it cannot, is in docs/design/0006-deciding.md. The seeds are fixed, and every limit
allows for the binomial error of the number of simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from parts.lengths import simulations, slack
from steelyard.pairing.changes import Cut, judged
from steelyard.pairing.figures import Figure
from steelyard.pairing.model import MetricChange, Moved
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import SHARES, Scale, mean_interval
from steelyard.stats.paired import paired_quantile, paired_rate, paired_ratio, sign_flip_test

pytestmark = pytest.mark.simulation

RUNS = simulations(1000, 200)
SLACK = slack(0.95, RUNS, 2.2)
"""Two standard errors and a little of a coverage: 1.5 points of 1,000 simulations, 3.4 of 200."""
MOST = 0.05 + slack(0.05, RUNS)
"""What a test at 5 % may see where there is nothing: 6.4 % of 1,000 simulations, 8.1 % of 200."""
SIZES = (5, 10, 20, 50, 200)

Drawn = tuple[np.ndarray, float, Scale]
Draw = Callable[[np.random.Generator, int, np.ndarray], Drawn]
"""Values of so many cases, where `case` is the case of each; their true mean; their scale."""


def bounded(rng: np.random.Generator, cases: int, case: np.ndarray) -> Drawn:
    centre = rng.beta(4, 2, cases)[case]
    return centre + rng.uniform(-0.5, 0.5, len(case)) * np.minimum(centre, 1 - centre), 4 / 6, SHARES


def mostly_one(rng: np.random.Generator, cases: int, case: np.ndarray) -> Drawn:
    """Four of five at 1.0, the others anywhere below."""
    shaky = np.where(rng.random(cases) < 0.4, 0.5, 1.0)[case]
    return np.where(rng.random(len(case)) < shaky, 1.0, rng.random(len(case))), 0.9, SHARES


def grouped(rng: np.random.Generator, n: int, repeats: int) -> tuple[Groups, np.ndarray]:
    """A group for each simulation; `repeats` 0 asks every case 1 to 6 times."""
    cases = RUNS * n
    sizes = np.full(cases, repeats) if repeats else rng.integers(1, 7, cases)
    case = np.repeat(np.arange(cases), sizes)
    return Groups([""] * RUNS, case // n, None if repeats == 1 else case), case


def covered(estimates: list, truth: float) -> float:
    known = [each for each in estimates if each.low is not None]
    assert len(known) > 0.9 * len(estimates)
    return float(np.mean([each.low <= truth <= each.high for each in known]))


@pytest.mark.parametrize(("n", "repeats"), [(5, 1), (5, 0), (10, 1), (10, 3), (20, 1), (20, 0), (50, 3)])
@pytest.mark.parametrize(
    ("draw", "least_at_5", "most_at_few"),
    [
        (bounded, 0.92, 0.97),
        # At n 5 half of the runs show nothing but 1.0, and all that is known is Wilson's interval for n of n.
        (mostly_one, 0.93, 0.99),
    ],
)
def test_intervals_of_means_hold_the_truth(
    draw: Draw, least_at_5: float, most_at_few: float, n: int, repeats: int
) -> None:
    rng = np.random.default_rng([n, repeats, 1])
    groups, case = grouped(rng, n, repeats)
    values, truth, scale = draw(rng, RUNS * n, case)
    held = covered(groups.means(values, scale), truth)
    assert (least_at_5 if n == 5 else 0.93) - SLACK <= held <= (most_at_few if n <= 10 else 0.97) + SLACK


@pytest.mark.parametrize("draw", [bounded, mostly_one])
def test_intervals_of_means_of_many_cases_hold_the_truth(draw: Draw) -> None:
    rng = np.random.default_rng(200)
    groups, case = grouped(rng, 200, 1)
    values, truth, scale = draw(rng, RUNS * 200, case)
    assert abs(covered(groups.means(values, scale), truth) - 0.95) <= 0.005 + SLACK


@pytest.mark.parametrize("repeats", [1, 3, 0])
@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_rates_hold_the_truth(n: int, repeats: int) -> None:
    rng = np.random.default_rng([n, repeats, 2])
    groups, case = grouped(rng, n, repeats)
    hits = rng.random(len(case)) < rng.beta(4, 1, RUNS * n)[case]
    found = groups.rates(groups.labelled(hits.astype(np.int8) - 1), 1, np.ones(len(hits), dtype=bool))
    assert 0.93 - SLACK <= covered([row[0] for row in found], 0.8) <= (0.985 if n == 5 else 0.97) + SLACK


def documents(kind: str, n: int) -> np.ndarray:
    """How many rows each of `n` documents has."""
    if kind == "unlike":
        return 1 + np.random.default_rng(5).poisson(4, n)
    return np.round(np.geomspace(1, 40, n)).astype(int) if kind == "very unlike" else np.full(n, int(kind))


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize(
    ("kind", "rate", "alike", "least"),
    [
        # The lies that were found: Wilson by a design effect held 67 to 92 % of these.
        ("10", 0.9, 0.6, 0.93),
        ("10", 0.95, 0.3, 0.93),
        ("10", 0.8, 0.3, 0.93),
        ("3", 0.98, 0.6, 0.93),
        ("3", 0.9, 0.0, 0.93),
        ("unlike", 0.9, 0.3, 0.93),
        ("unlike", 0.5, 0.1, 0.93),
        # With sizes of 1 to 40 and rare failures no more can be had.
        ("very unlike", 0.9, 0.6, 0.915),
        ("very unlike", 0.5, 0.6, 0.93),
    ],
)
def test_intervals_of_rates_over_repeats_and_clusters_hold_the_truth(
    kind: str, rate: float, alike: float, least: float, n: int
) -> None:
    rng = np.random.default_rng([n, round(100 * rate), round(10 * alike), len(kind)])
    sizes = np.tile(documents(kind, n), RUNS)
    case = np.repeat(np.arange(RUNS * n), sizes)
    shape = (1 - alike) / alike if alike else 1e9
    hits = rng.random(len(case)) < rng.beta(rate * shape, (1 - rate) * shape, RUNS * n)[case]
    groups = Groups([""] * RUNS, case // n, case)
    rates = [row[0] for row in groups.rates(groups.labelled(hits.astype(np.int8) - 1), 1, np.ones(len(hits), bool))]
    assert covered(rates, rate) >= least - SLACK
    # One answer: the mean of the same numbers.
    means = groups.means(hits.astype(float))
    ends = [(each.low, each.high) for each in means]
    assert [(each.low, each.high) for each in rates] == [pytest.approx(pair, abs=1e-11) for pair in ends]


@pytest.mark.parametrize("repeats", [1, 3, 0])
@pytest.mark.parametrize("n", SIZES[1:])
def test_intervals_of_medians_hold_the_truth(n: int, repeats: int) -> None:
    rng = np.random.default_rng([n, repeats, 3])
    groups, case = grouped(rng, n, repeats)
    values = rng.exponential(1, RUNS * n)[case]
    held = covered([row[0] for row in groups.quantiles(values, [0.5])], float(np.log(2)))
    assert 0.93 - SLACK <= held <= 0.97 + SLACK


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_median_of_five_cases_is_not_bounded(repeats: int) -> None:
    groups, case = grouped(np.random.default_rng(4), 5, repeats)
    found = groups.quantiles(np.random.default_rng(5).normal(0, 1, len(case)), [0.5])
    assert {row[0].low for row in found} == {None}


def two_runs(rng: np.random.Generator, kind: str, n: int, sizes: np.ndarray) -> np.ndarray:
    """The sums by case of the differences between two runs of the same system."""
    case = np.repeat(np.arange(n), sizes)
    if kind == "normal":
        both = rng.normal(0, 1, n)[case] + rng.normal(0, 0.5, (2, len(case)))
    elif kind == "exponential":
        both = rng.exponential(1, n)[case] * rng.exponential(1, (2, len(case)))
    else:
        right = rng.random((2, len(case))) < rng.beta(2, 1, n)[case]
        both = np.where(right, 1.0, 0.0 if kind == "binary" else rng.beta(2, 2, (2, len(case))))
    return np.bincount(case, both[1] - both[0], minlength=n)


def rejected(kind: str, n: int, repeats: int, runs: int = RUNS) -> float:
    rng = np.random.default_rng([n, repeats, len(kind), 17])
    found = 0
    for _ in range(runs):
        sizes = np.full(n, repeats) if repeats else rng.integers(1, 7, n)
        found += sign_flip_test(two_runs(rng, kind, n, sizes))[0] < 0.05
    return found / runs


@pytest.mark.parametrize(
    ("kind", "n", "repeats"),
    [
        ("normal", 10, 1),
        ("exponential", 10, 3),
        ("exponential", 20, 0),
        ("normal", 50, 3),
    ],
)
def test_sign_flips_see_a_change_where_there_is_none_in_5_of_100(kind: str, n: int, repeats: int) -> None:
    assert 0.1 - MOST <= rejected(kind, n, repeats) <= MOST


def test_so_do_those_of_the_most_cases_that_are_drawn_for():
    # Two standard errors of 5 % by 300 simulations are 2.5 points, by 60 they are 5.6.
    runs = simulations(300, 60)
    assert abs(rejected("exponential", 200, 1, runs=runs) - 0.05) <= slack(0.05, runs)


@pytest.mark.parametrize(("n", "repeats"), [(5, 3), (10, 3), (20, 1)])
@pytest.mark.parametrize("kind", ["binary", "mostly one"])
def test_with_many_ties_they_never_see_more(kind: str, n: int, repeats: int) -> None:
    # An exact test can only reach the levels that its few patterns have, and takes the one below.
    assert rejected(kind, n, repeats) <= MOST


@pytest.mark.parametrize("n", SIZES)
def test_mcnemar_never_sees_more_and_its_interval_holds(n: int) -> None:
    rng = np.random.default_rng([n, 6])
    shown = held = 0
    for _ in range(RUNS):
        first, second = (rng.random((2, n)) < rng.beta(2, 1, n)).astype(float)
        found = paired_rate(first, second)
        shown += (found.p or 0.0) < 0.05
        held += found.low <= 0 <= found.high
    assert shown / RUNS <= MOST
    assert held / RUNS >= 0.945 - SLACK


SPARSE = {"few both ways": (0.3, [1, 1, -1], 0.05), "few up": (0.15, [1], 0.075), "fewer up": (0.05, [1], 0.025)}
"""The share of cases that move, their signs, and the mean of all."""


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        ("skewed", 10),
        ("skewed", 20),
        ("heavy", 10),
        ("heavy", 50),
        ("few both ways", 10),
        ("few both ways", 50),
        ("few up", 10),
        ("few up", 20),
        ("few up", 50),
        ("fewer up", 50),
    ],
)
def test_intervals_of_paired_differences_hold_the_truth(kind: str, n: int) -> None:
    rng = np.random.default_rng([n, 7, len(kind)])
    held = 0
    for _ in range(RUNS):
        if kind == "skewed":
            moves, truth = np.minimum(1 - rng.beta(4, 1, n), rng.exponential(0.1, n)), 0.06981
        elif kind == "heavy":
            moves, truth = rng.standard_t(3, n), 0.0
        else:
            share, signs, truth = SPARSE[kind]
            moves = np.where(rng.random(n) < share, rng.random(n) * rng.choice(signs, n), 0.0)
        bounds = mean_interval(moves, np.ones(n), 1.0 if kind in SPARSE else math.inf)
        held += bounds is None or bounds[0] <= truth <= bounds[1]
    # Where few moved both ways, the two cases that are added say more than is needed.
    assert 0.93 - SLACK <= held / RUNS <= (0.98 if kind == "few both ways" else 0.97) + SLACK


@pytest.mark.parametrize("n", [20, 60])
def test_quantiles_and_ratios_never_see_more(n: int) -> None:
    rng = np.random.default_rng([n, 8])
    quantiles = ratios = 0
    for _ in range(RUNS // 2):
        first, second = rng.lognormal(0, 0.5, n) * rng.lognormal(0, 0.3, (2, n))
        quantiles += (paired_quantile(first, second, np.arange(n), 0.5).p or 1.0) < 0.05
        asked = rng.poisson(3, n).astype(float)
        before, after = rng.binomial(asked.astype(int), rng.beta(4, 2, n), (2, n)).astype(float)
        ratios += (paired_ratio((before, asked), (after, asked)).p or 1.0) < 0.05
    # Two standard errors of 5 % by 500 simulations are 1.9 points, by 100 they are 4.4.
    assert max(quantiles, ratios) / (RUNS // 2) <= 0.05 + slack(0.05, RUNS // 2)


def table(rng: np.random.Generator, n: int, *, alike: float = 0.0, drop: float = 0.0) -> list[MetricChange]:
    """Six components of single samples in two runs and the findings that are their misses. So many answers of B are
    those of A, and so many of the first component's are broken."""
    chance = rng.beta(6, 1.5, (n, 6))
    a, b = (rng.random((n, 6)) < chance), (rng.random((n, 6)) < chance)
    b = np.where(rng.random((n, 6)) < alike, a, b)
    b[:, 0] &= rng.random(n) >= drop
    parts = [
        Figure(f"score.{j}", "components", "share", "higher", a[:, j] * 1.0, b[:, j] * 1.0, (0, 1)) for j in range(6)
    ]
    found = [
        Figure(f"findings.{j}", "findings", "count", "lower", 1.0 - one.a, 1.0 - one.b) for j, one in enumerate(parts)
    ]
    everything = Cut(Groups([""], np.zeros(n, dtype=np.int8), None), np.arange(n))
    return judged(everything.of_all([*parts, *found]), confounded=False)


@pytest.mark.parametrize("n", [10, 30])
def test_a_table_of_one_system_with_itself_sees_a_change_in_5_of_100(n: int) -> None:
    rng = np.random.default_rng([n, 16])
    runs = [table(rng, n) for _ in range(simulations(60, 20))]
    seen = [any(each.verdict in (Moved.BETTER, Moved.WORSE) for each in run) for run in runs]
    # Two standard errors of 5 % by 60 simulations are 5.6 points, by 20 they are 9.7.
    assert np.mean(seen) <= 0.05 + slack(0.05, len(runs))
    for each in (each for run in runs for each in run if each.difference.low is not None):
        assert (each.difference.low > 0 or each.difference.high < 0) is (each.p_adjusted < 0.05)


def test_a_component_that_loses_30_points_of_50_cases_is_found_among_others() -> None:
    rng = np.random.default_rng(15)
    # A fault that breaks 3 of 8 answers, of which 80 of 100 were right, in a system that mostly says what it said.
    runs = [table(rng, 50, alike=0.8, drop=0.375) for _ in range(simulations(30, 10))]
    assert np.mean([run[0].verdict is Moved.WORSE for run in runs]) >= 0.9
    # And its findings are the same thing.
    assert all(run[6].verdict is run[0].verdict for run in runs)
