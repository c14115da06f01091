"""Latency and cost: the run is the unit, since the calls of a run share the machine's load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made
from parts.compared import ONE_AB, arm_of_experiment, compared
from parts.lengths import simulations
from parts.slices import a_slice, a_summary
from steelyard.analysis.stored import stored_form
from steelyard.comparing.compare import compare
from steelyard.comparing.report import spending
from steelyard.comparing.sentences import what_moved
from steelyard.decide.relative_gates import relative_results
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.against import Against
from steelyard.pairing.by_run import difference_of_runs
from steelyard.pairing.model import Moved
from steelyard.records import Load, RunFacts, RunState, TargetFacts, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import SIGNIFICANT
from steelyard.store.sql import open_store

CALLS = 60
FIGURES = ("latency.p50", "latency.p95", "latency.mean", "cost")


def correlated(rng, runs, *, slower=1.0, mood=0.3, persistence=0.9, spread=0.3):
    """Times of the calls of runs, a row each: a mood of the run, and within it moods that pass slowly (AR(1))."""
    shocks = rng.normal(0, spread * np.sqrt(1 - persistence**2), (runs, CALLS))
    state = rng.normal(0, spread, runs)
    passing = np.empty((runs, CALLS))
    for call in range(CALLS):
        state = persistence * state + shocks[:, call]
        passing[:, call] = state
    own = rng.normal(0, 0.1, (runs, CALLS))
    return 0.05 * slower * np.exp(rng.normal(0, mood, (runs, 1)) + passing + own)


def run_of(times, **more):
    made = [Made(f"c{i:02d}", 1.0, latency=float(time), cost=float(time)) for i, time in enumerate(times)]
    return compared(made, **more)


def metric(comparison, name):
    return next(each for each in comparison.metrics if each.name == name)


def rejected(tests):
    return np.mean([each is not None and each.p < SIGNIFICANT for each in tests])


class TestOneRunASide:
    def test_the_same_system_under_correlated_load_is_never_better_or_worse(self):
        # Tested case by case, 32 of 40 of these were better or worse in one of the four figures.
        rng = np.random.default_rng(14)
        for _ in range(20):
            a, b = correlated(rng, 2)
            found = compare(run_of(a), run_of(b, id="made-2"))
            assert {metric(found, name).verdict for name in FIGURES} == {Moved.NOT_TESTED}

    def test_both_figures_and_the_difference_are_shown_and_why_there_is_no_verdict(self):
        found = compare(run_of([1.0] * 12), run_of([2.0] * 12, id="made-2"))
        change = metric(found, "latency.p50")
        assert (change.a.value, change.b.value, change.difference.value) == (1.0, 2.0, 1.0)
        assert (change.p, change.p_adjusted, change.difference.low, change.effect) == (None, None, None, None)
        table = spending(found)
        assert table.note == "latency and cost: one run a side: not tested"
        assert {row[-1] for row in table.rows} == {"not tested"}
        assert not any("latency" in told for told in what_moved(found))

    def test_a_relative_gate_passes_within_its_limit_and_is_open_above_it(self):
        def result(after, gate):
            (found,) = relative_results(parse_gate(gate), Against(run_of([0.1] * 20), run_of(after, id="made-2")))
            return found

        within = result([0.104] * 20, "latency.p50 <= release + 5 ms")
        assert within.verdict is Verdict.PASS
        above = result([0.2] * 20, "latency.p50 <= release + 5 ms")
        assert above.verdict is Verdict.AMBIGUOUS
        assert above.reason.endswith("more than 5 ms above, and one run a side: not tested")
        assert "noise" not in above.reason
        assert result([0.104] * 20, "latency.p50 <= release + 5 ms for sure").verdict is Verdict.AMBIGUOUS
        # 5 % of 100 ms, and 5 ms: a gate that names no margin allows what does not matter.
        assert result([0.104] * 20, "latency.p50 <= @release").verdict is Verdict.PASS
        assert result([0.106] * 20, "latency.p50 <= @release").verdict is Verdict.AMBIGUOUS
        assert result([0.106] * 20, "cost.total <= @release").verdict is Verdict.AMBIGUOUS


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def stored(store, name, seconds, *, system="", signed=None, **more):
    """A run of the system `name` for each figure, in a store; the last one, ready to be compared."""
    signature = {"target": system or name} | (signed or {})
    for number, value in enumerate(seconds):
        run = run_of([value] * 12, id=f"{name}-{number}", signature=signature, **more)
        figure = Estimate(value, 12)
        points = dict.fromkeys(("p50", "p95", "mean"), figure)
        cost = Estimate(12 * value, 12)
        part = a_slice("", "", 12, average=figure, median=figure, pass_rate=figure, latency=points, cost_total=cost)
        header = replace(run.header, target=TargetFacts({"kind": "http"}))
        store.create_run(replace(header, state=RunState.RUNNING))
        store.update_run(header, stored_form(store, header.id, a_summary("", part)))
    return replace(run, header=header, store=store)


class TestSeveralRunsASide:
    SLOW, FAST = (0.190, 0.200, 0.210), (0.100, 0.104, 0.096)

    def test_a_slowdown_is_worse_by_welch_s_test(self, store):
        change = metric(compare(stored(store, "old", self.FAST), stored(store, "new", self.SLOW)), "latency.p50")
        oracle = stats.ttest_ind(self.SLOW, self.FAST, equal_var=False)
        assert change.verdict is Moved.WORSE
        assert (change.a.value, change.b.value, change.runs) == (pytest.approx(0.1), pytest.approx(0.2), (3, 3))
        # scipy 1.x has 2.62 degrees of freedom; here they are rounded down.
        assert (change.test, change.df, int(oracle.df)) == ("Welch's t", 2, 2)
        assert change.p == pytest.approx(2 * stats.t.sf(oracle.statistic, 2))
        assert change.difference.n == 6
        # At the level of its step among the figures of its table.
        half = stats.t.ppf((1 + change.confidence_level) / 2, 2) * 0.1 / oracle.statistic
        assert change.difference.low == pytest.approx(0.1 - half)

    def test_a_gate_fails_when_it_is_shown_and_not_before(self, store):
        def result(before, after, gate="latency.p50 <= release + 5 ms"):
            (found,) = relative_results(parse_gate(gate), Against(before, after))
            return found

        old, new = stored(store, "old", self.FAST), stored(store, "new", self.SLOW)
        failed = result(old, new)
        assert failed.verdict is Verdict.FAIL
        assert "3 and 3 runs" in failed.reason
        assert result(old, new, "cost.total <= @release").verdict is Verdict.FAIL
        noisy = stored(store, "noisy", (0.05, 0.11, 0.3))
        assert result(old, noisy).verdict is Verdict.PASS
        assert "within noise" in result(old, noisy).reason
        assert result(old, stored(store, "few", (0.3, 0.3))).verdict is Verdict.AMBIGUOUS

    def test_fewer_than_three_on_one_side_are_not_tested(self, store):
        change = metric(compare(stored(store, "old", self.FAST), stored(store, "new", (0.2, 0.2))), "latency.mean")
        assert change.verdict is Moved.NOT_TESTED
        assert change.test == "3 and 2 runs: not tested with fewer than 3 a side"

    def test_of_one_system_nothing_says_which_runs_belong_to_which_side(self, store):
        last = stored(store, "same", (0.1, 0.1, 0.1, 0.3, 0.3, 0.3))
        first = replace(last, header=store.run("same-0"))
        assert metric(compare(first, last), "latency.p50").test == "one run a side: not tested"

    @pytest.mark.parametrize(
        "other",
        [
            {"options": RunFacts(load=Load(64))},
            {"options": RunFacts(load=Load(8), only=("id=c01",))},
            {"options": RunFacts(load=Load(8), answers_of="old-1")},
            {"options": RunFacts(load=Load(8)), "rescored_from": "old-1"},
            {"options": RunFacts(load=Load(8)), "verdict": Verdict.INVALID},
            {"options": RunFacts(load=Load(8)), "suspect": ("too fast",)},
            {"options": RunFacts(load=Load(8)), "signed": {"prompts": "p2"}},
        ],
    )
    def test_runs_under_another_load_or_of_a_part_or_that_are_no_readings_have_no_say(self, store, other):
        load = RunFacts(load=Load(8))
        stored(store, "other", (5.0, 5.0), system="old", **other)
        stored(store, "alike", self.FAST[:1], system="old", options=load)
        old = stored(store, "old", self.FAST[:2], options=load)
        assert sorted(each.id for each in old.same_runs) == ["alike-0", "old-0", "old-1"]

    def test_times_under_another_load_are_tested_on_demand_alone(self, store):
        old = stored(store, "old", self.FAST, options=RunFacts(load=Load(8)))
        new = stored(store, "new", self.SLOW, options=RunFacts(load=Load(64)))
        change = metric(compare(old, new), "latency.p50")
        assert (change.verdict, change.test) == (Moved.NOT_TESTED, "the load differs: not tested")
        assert metric(compare(old, new, allow_mismatch=True), "latency.p50").verdict is Moved.WORSE

    def test_three_runs_a_side_of_other_cases_are_not_tested(self, store):
        old, new = stored(store, "old", self.FAST), stored(store, "new", self.SLOW, signed={"cases": "c2"})
        assert metric(compare(old, new), "latency.p50").test == "other samples were asked: not tested"

    def test_medians_of_the_arms_of_one_a_b_are_not_paired_case_by_case(self):
        arms = (run_of([0.1] * 12, options=ONE_AB), run_of([0.3] * 12, id="made-2", options=ONE_AB))
        found = compare(*arms)
        assert metric(found, "latency.p50").verdict is Moved.NOT_TESTED
        assert metric(found, "latency.mean").verdict is Moved.WORSE

    def test_a_difference_that_does_not_matter_is_neither_better_nor_worse(self, store):
        # 2 ms of 100 ms, however sure: less than 5 ms and 5 %.
        old = stored(store, "old", (0.1000, 0.1001, 0.0999))
        new = stored(store, "new", (0.1020, 0.1021, 0.1019))
        assert metric(compare(old, new), "latency.p50").verdict is Moved.SAME
        # A fifth more, and 2 ms of 10: less than 5 ms, which counts of seconds alone.
        old, new = stored(store, "quick", (0.0100, 0.0101, 0.0099)), stored(store, "slower", (0.0120, 0.0121, 0.0119))
        found = compare(old, new)
        assert (metric(found, "latency.p50").verdict, metric(found, "cost").verdict) == (Moved.SAME, Moved.WORSE)
        strict = replace(
            new,
            header=replace(
                new.header, suite=new.header.suite | {"latency": {"smallest": 0.001, "smallest_share": 0.01}}
            ),
        )
        assert metric(compare(old, strict), "latency.p50").verdict is Moved.WORSE

    def test_arms_of_the_same_experiments_are_paired_by_experiment(self, store):
        rows = ((0.10, 0.15), (0.30, 0.36), (0.20, 0.26))
        sides = []
        for arm, name in enumerate(("old", "new")):
            for number, row in enumerate(rows):
                told = arm_of_experiment(id=f"x-{number}", arm=name)
                run = stored(store, f"{name}{number}", [row[arm]], options=told)
                header = replace(
                    run.header, id=f"{name}-{number}", signature=replace(run.header.signature, target=name)
                )
                store.create_run(replace(header, state=RunState.RUNNING))
                store.update_run(header, store.summary(run.header.id))
            sides.append(replace(run, header=header))
        change = metric(compare(*sides), "latency.p50")
        assert change.test == "paired t over runs"
        assert change.p == pytest.approx(stats.ttest_rel([0.15, 0.36, 0.26], [0.1, 0.3, 0.2]).pvalue)


@pytest.mark.simulation
class TestSimulated:
    def test_several_runs_of_the_same_system_differ_in_5_of_100_at_most(self):
        rng = np.random.default_rng(5)
        for mood in (0.1, 0.6):
            times = correlated(rng, 2 * 4 * 500, mood=mood)
            for figure in (np.median(times, axis=1), np.quantile(times, 0.95, axis=1), times.mean(axis=1)):
                groups = figure.reshape(500, 2, 4).tolist()
                assert rejected([difference_of_runs(a, b) for a, b in groups]) <= 0.05

    def test_one_more_run_is_slower_than_earlier_ones_in_5_of_100_at_most(self):
        rng = np.random.default_rng(6)
        n = simulations(5_000, 500)
        times = np.median(correlated(rng, 6 * n, mood=0.6), axis=1).reshape(n, 6).tolist()
        assert rejected([difference_of_runs(row[:5], row[5:]) for row in times]) <= 0.05

    def test_twice_the_time_over_four_runs_a_side_is_found(self):
        rng = np.random.default_rng(7)
        before = np.median(correlated(rng, 4 * 300, mood=0.15), axis=1).reshape(300, 4).tolist()
        after = np.median(correlated(rng, 4 * 300, mood=0.15, slower=2.0), axis=1).reshape(300, 4).tolist()
        assert rejected([difference_of_runs(a, b) for a, b in zip(before, after, strict=True)]) >= 0.8

    def test_interleaved_arms_of_one_system_differ_in_5_of_100_at_most_and_twice_the_time_is_found(self):
        rng = np.random.default_rng(8)
        shown = {1.0: 0, 2.0: 0}
        for slower, n in ((1.0, simulations(80, 20)), (2.0, simulations(20, 5))):
            for times in correlated(rng, n, persistence=0.98, spread=0.6):
                # Both arms of a case side by side, in an order drawn for each, as `ab` asks them.
                first = rng.integers(0, 2, CALLS // 2)
                a, b = (times[2 * np.arange(CALLS // 2) + place] for place in (first, 1 - first))
                arms = run_of(a, options=ONE_AB), run_of(slower * b, id="made-2", options=ONE_AB)
                shown[slower] += metric(compare(*arms), "latency.mean").verdict in (Moved.BETTER, Moved.WORSE)
        assert shown[1.0] <= simulations(4, 1)  # of 80 and of 20 at 5 %
        assert shown[2.0] >= simulations(19, 5)  # of 20 and of 5
