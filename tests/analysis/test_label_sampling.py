"""Whether labeled texts can be a random sample: level and power of the comparison, and which intervals are printed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made, columns, suite
from parts.described import RunData
from parts.lengths import simulations, slack
from steelyard.analysis.judge.corrected import DECLARED, LabelColumns, RunLabels
from steelyard.metrics.run_data import CorrectedRate
from steelyard.stats.arrays import Array
from steelyard.stats.sampling import LEVEL, ranks, sampling_differences

GOOD = {("easy", False): 0.98, ("easy", True): 0.85, ("hard", False): 0.7, ("hard", True): 0.4}
"""By category and whether a text is long, the chance that people pass it."""
RATE = sum(GOOD.values()) / 4
N = 240


def one(sampled: Array, columns: Array) -> float:
    return sampling_differences(sampled, {"it": columns})["it"]


def test_a_category_is_compared_as_by_fishers_test() -> None:
    """20 labels, 16 of them easy, of 60 texts, 30 of them easy; exact two-sided p by scipy: 0.0018."""
    sampled = np.arange(60) < 20
    easy = np.r_[np.ones(16), np.zeros(4), np.ones(14), np.zeros(26)]
    exact = stats.fisher_exact([[16, 4], [14, 26]]).pvalue
    assert exact == pytest.approx(0.0018, abs=5e-4)
    # 999 permutations: the p-value is off by less than 0.004 in 99 of 100 seeds.
    assert one(sampled, easy[:, np.newaxis]) == pytest.approx(exact, abs=0.006)


def test_a_number_is_compared_by_where_it_lies_and_by_how_far_it_spreads() -> None:
    values = np.arange(60.0)
    middle, ends, low = np.abs(values - 29.5) < 10, np.abs(values - 29.5) > 20, values < 20
    assert max(one(part, ranks(values)) for part in (middle, ends, low)) <= 0.002
    assert one(values % 3 == 0, ranks(values)) > 0.5


def test_ranks_are_those_of_scipy_from_the_middle() -> None:
    values = np.array([3.0, 1, 3, 2, np.nan])
    expected = stats.rankdata(np.nan_to_num(values, nan=-1)) - 3
    assert ranks(values)[:, 0] == pytest.approx(expected)
    assert ranks(values)[:, 1] == pytest.approx(expected**2)


def test_what_is_missing_is_the_lowest_and_not_a_zero() -> None:
    values = np.linspace(-1, 1, 100)
    values[:40] = np.nan
    columns = ranks(values)
    assert columns[:40, 0].max() < columns[40:, 0].min()


def test_what_was_sampled_within_strata_is_compared_within_them() -> None:
    """All 30 of one kind and 10 of the other 30: as planned, and no difference; only the first of these are one."""
    stratum, place = np.arange(60) // 30, np.arange(60) % 30
    planned = (stratum == 0) | (place % 3 == 0)
    verdict = {"verdict": stratum[:, np.newaxis].astype(float), "place": ranks(place.astype(float))}
    assert "verdict" not in sampling_differences(planned, verdict, stratum)
    assert sampling_differences(planned, verdict, stratum)["place"] > 0.5
    assert sampling_differences(planned, verdict)["verdict"] <= LEVEL
    assert sampling_differences((stratum == 0) | (place < 10), verdict, stratum)["place"] <= LEVEL
    # Samples by chance have as many of each stratum as this one, or a difference between strata hides one within them.
    apart = {"score": ranks(100.0 * stratum + place)}
    assert sampling_differences((stratum == 0) | (place < 10), apart, stratum)["score"] <= LEVEL


def test_units_that_do_not_differ_show_nothing() -> None:
    assert sampling_differences(np.arange(20) < 10, {"one": np.ones((20, 1))}) == {}


def test_of_very_many_units_a_part_is_compared() -> None:
    n = 20_000
    values = np.arange(n) % 997.0
    assert one(np.arange(n) % 7 == 0, ranks(values)) > LEVEL
    assert one(values < 500, ranks(values)) <= LEVEL


def labelled(rng: np.random.Generator, kind: str, n_labels: int) -> CorrectedRate:
    """The pass rate by labels of some texts, picked in one way and declared as a random sample.

    The judge is right in 95 % of the easy texts and in 80 % of the hard ones.
    """
    easy, long = rng.random(N) < 0.5, rng.random(N) < 0.5
    names = np.where(easy, "easy", "hard")
    good = rng.random(N) < [GOOD[str(name), bool(of)] for name, of in zip(names, long, strict=True)]
    passed = np.where(rng.random(N) < np.where(easy, 0.95, 0.8), good, ~good)
    scores = np.where(passed, rng.uniform(0.75, 1, N), rng.uniform(0, 0.74, N))
    lengths = rng.uniform(20, 100, N) + 80 * long
    pool = {"random": np.ones(N, dtype=bool), "easy": easy, "passed": passed, "short": ~long}[kind]
    rows = rng.choice(np.flatnonzero(pool), min(n_labels, int(pool.sum())), replace=False).tolist()
    made = [Made(f"c{k:03d}", float(scores[k]), category=str(names[k])) for k in range(N)]
    keys = {k: (f"c{k:03d}", "", 0) for k in range(N)}
    labels = RunLabels(
        by_people={keys[k]: float(good[k]) for k in rows},
        sampled={keys[k]: DECLARED for k in rows},
        lengths={key: int(lengths[k]) for k, key in keys.items()},
    )
    return LabelColumns(labels, RunData(columns(made), suite())).corrected(np.arange(N))


def simulated(kind: str, n_labels: int, n: int) -> tuple[float, float]:
    """The share of samples that give no rate, and the share in which an interval is given that misses the truth."""
    rng = np.random.default_rng(23)
    found = [labelled(rng, kind, n_labels) for _ in range(n)]
    wrong = [item.rate for item in found if not item.message and not item.rate.low <= RATE <= item.rate.high]
    return sum(bool(item.message) for item in found) / n, len(wrong) / n


@pytest.mark.simulation
@pytest.mark.parametrize("n_labels", [20, 40, 60])
def test_a_random_sample_is_seldom_taken_for_another_one(n_labels: int) -> None:
    n = simulations(2000, 60)
    rejected, wrong = simulated("random", n_labels, n)
    assert rejected <= LEVEL + slack(LEVEL, n, 3)
    assert wrong <= 0.07 + slack(0.07, n, 3)


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["easy", "passed", "short"])
@pytest.mark.parametrize(("n_labels", "power"), [(20, 0.65), (40, 0.97), (60, 0.99)])
def test_texts_that_somebody_picked_are_noticed_and_give_no_wrong_interval(
    kind: str, n_labels: int, power: float
) -> None:
    n = simulations(1000, 40)
    rejected, wrong = simulated(kind, n_labels, n)
    assert rejected >= power - slack(power, n, 3)
    assert wrong <= 0.07 + slack(0.07, n, 3)
