"""Times are skewed: what a few calls cannot say is not printed, and what is printed holds with 5 % of stalls."""

from __future__ import annotations

import numpy as np
import pytest

from parts.columns import Made, columns, suite
from parts.compared import compared
from parts.described import summarise
from steelyard.comparing.compare import compare
from steelyard.decide.gates import evaluate
from steelyard.records import Verdict
from steelyard.stats.groups import Groups

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
STALL = 30.0


def run_of(seconds):
    return [Made(f"c{i:03d}", 1.0, latency=float(each)) for i, each in enumerate(seconds)]


def summary_of(seconds):
    return summarise(columns(run_of(seconds)), suite())


def with_stalls(rng, n):
    return np.where(rng.random(n) < 0.05, STALL, rng.lognormal(0, 0.3, n))


@pytest.mark.parametrize(("name", "takes"), [("p95", 20), ("p99", 100)])
def test_a_percentile_of_fewer_calls_than_it_takes_is_no_figure(name, takes):
    for n in (1, 6, takes - 1):
        summary = summary_of(range(1, n + 1))
        assert (summary.overall[f"latency.{name}"].value, summary.overall[f"latency.{name}"].n) == (None, n)
        assert summary.latency.cells[0].spread[name] is None
    assert summary_of(range(1, takes + 1)).overall[f"latency.{name}"].value > takes * 0.9


@pytest.mark.parametrize("name", ["p95", "p99"])
def test_a_gate_on_a_percentile_of_six_calls_is_decided_only_where_no_percentile_could_change_it(name):
    def verdict(*seconds):
        (result,) = evaluate([f"latency.{name} <= 2 s"], summary_of(seconds))
        return result

    all_within = verdict(1, 1, 1, 1, 1, 1.5)
    assert all_within.verdict is PASS
    assert all_within.reason == f"latency.{name} of 6 calls is not known; the longest: 1.50 s <= 2.00 s"
    one_beyond = verdict(1, 1, 1, 1, 1, 9)
    assert one_beyond.verdict is AMBIGUOUS
    assert one_beyond.reason == f"latency.{name} of 6 calls is not known; the longest took 9.00 s"
    most_beyond = verdict(1, 1, 3, 3, 3, 9)
    assert most_beyond.verdict is FAIL
    assert "the median: 3.00 s is not <= 2.00 s" in most_beyond.reason


@pytest.mark.parametrize("n", [10, 30, 300])
def test_the_mean_of_times_has_no_interval(n):
    mean = summary_of(with_stalls(np.random.default_rng(1), n)).overall["latency.mean"]
    assert mean.value > 0
    assert (mean.low, mean.high) == (None, None)


def test_a_comparison_of_twelve_calls_has_no_95th_percentile():
    found = compare(compared(run_of(range(1, 13))), compared(run_of(range(2, 14)), id="made-2"))
    assert {"latency.p50", "latency.p95"} & {each.name for each in found.metrics} == {"latency.p50"}


@pytest.mark.parametrize(("point", "n", "repeats"), [(0.5, 10, 1), (0.5, 30, 1), (0.5, 30, 3), (0.95, 100, 1),
                                                     (0.95, 400, 1), (0.95, 100, 3), (0.99, 500, 1)])  # fmt: skip
def test_intervals_of_percentiles_hold_with_5_percent_of_stalls(point, n, repeats):
    rng, runs = np.random.default_rng([n, repeats]), 400
    case = np.repeat(np.arange(runs * n), repeats)
    # Stalls of 20 to 40 s, so that every percentile is one value.
    usual = rng.lognormal(0, 0.3, runs * n)[case] * rng.uniform(0.9, 1.1, len(case))
    values = np.where(rng.random(len(case)) < 0.05, rng.uniform(20, 40, len(case)), usual)
    truth = float(np.quantile(values, point))
    groups = Groups([""] * runs, case // n, None if repeats == 1 else case)
    found = [row[0] for row in groups.quantiles(values, [point])]
    held = np.mean([each.low <= truth <= each.high for each in found if each.low is not None])
    assert sum(each.low is None for each in found) < 0.05 * runs
    # 95 %, less 2.3 standard errors of 400 simulations.
    assert held >= 0.925
