"""Experiments in which both arms are the same, read again and again: 5 of 100 may be decided, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from parts.lengths import simulations
from steelyard.experiments.decision import Decided, decided_by
from steelyard.experiments.effects import PlannedTest, quality
from steelyard.experiments.online import online_report
from steelyard.experiments.outcomes import Outcomes, UnitOutcome, read_online
from steelyard.experiments.pairs import ArmPairs

ARMS = ("control", "treatment")
UNEQUAL = "experiment: checkout\nassigned: elsewhere\narms: {control: 90 %, treatment: 10 %}\n"


def experiment(folder, text):
    file = folder / "checkout.yaml"
    file.write_text(text)
    return read_online(file)


def outcomes(arms, values):
    """Units in the order in which they came, read to the end."""
    units = {
        str(n): UnitOutcome((ARMS[int(arm)],), float(n), 1, float(value))
        for n, (arm, value) in enumerate(zip(arms, values, strict=True))
    }
    return Outcomes(units, len(units), binary=bool(np.isin(values, (0.0, 1.0)).all()))


def mostly_zeros(rng, n, kind):
    amounts = {
        "one amount": np.full(n, 20.0),
        "exponential": rng.exponential(20, n),
        "lognormal": rng.lognormal(3, 1, n),
    }
    return np.where(rng.random(n) < 0.03, amounts[kind], 0.0)


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["one amount", "exponential", "lognormal"])
def test_97_percent_of_zeros_in_arms_of_9_to_1_decide_nothing_that_is_not_there(tmp_path, kind):
    found, rng, shown = experiment(tmp_path, UNEQUAL), np.random.default_rng(16), 0
    for _ in range(simulations(25, 8)):
        arms, values = np.arange(2_500) % 10 == 9, mostly_zeros(rng, 2_500, kind)
        looks = (online_report(found, outcomes(arms[:n], values[:n])) for n in (600, 800, 1_100, 1_600, 2_500))
        shown += any(look.decided in (Decided.A, Decided.B) for look in looks)
    assert shown <= simulations(2, 1)  # 5 % of 25 are 1.3, of 8 they are 0.4


@pytest.mark.simulation
def test_fewer_and_larger_amounts_with_the_same_mean_are_no_difference(tmp_path):
    found, rng, shown = experiment(tmp_path, UNEQUAL), np.random.default_rng(16), 0
    for _ in range(simulations(20, 8)):
        arms = np.arange(3_000) % 10 == 9
        values = np.where(arms, 200.0 * (rng.random(3_000) < 0.003), 20.0 * (rng.random(3_000) < 0.03))
        looks = (online_report(found, outcomes(arms[:n], values[:n])) for n in (800, 1_500, 3_000))
        shown += any(look.decided in (Decided.A, Decided.B) for look in looks)
    assert shown <= simulations(2, 1)


def test_why_nothing_is_decided_is_said_and_what_to_do(tmp_path):
    arms, values = np.arange(1_000) % 10 == 9, mostly_zeros(np.random.default_rng(1), 1_000, "exponential")
    report = online_report(experiment(tmp_path, UNEQUAL), outcomes(arms, values))
    assert (report.decided, report.quality.low) == (Decided.CANNOT_TELL, None)
    assert report.why[0].startswith("too few units carry the difference")
    assert "outcome: {range: [0, 500]}" in report.why[0]
    ranged = online_report(experiment(tmp_path, UNEQUAL + "outcome: {range: [0, 500]}\n"), outcomes(arms, values))
    assert ranged.quality.low < 0 < ranged.quality.high


@pytest.mark.simulation
def test_a_fixed_test_of_a_small_arm_with_few_amounts_decides_nothing_that_is_not_there(tmp_path):
    fixed = experiment(tmp_path, UNEQUAL + "test: fixed\nplanned: 1000\n")
    rng, shown = np.random.default_rng(16), 0
    for _ in range(simulations(60, 20)):
        arms, values = np.arange(1_000) % 10 == 9, mostly_zeros(rng, 1_000, "exponential")
        shown += online_report(fixed, outcomes(arms, values)).decided in (Decided.A, Decided.B)
    assert shown <= simulations(5, 2)  # 5 % of 60 are 3, of 20 they are 1


def test_a_fixed_test_of_few_that_bought_has_an_interval_where_the_ends_are_known(tmp_path):
    fixed = experiment(tmp_path, UNEQUAL + "test: fixed\nplanned: 1000\n")
    arms = np.arange(1_000) % 10 == 9
    none = online_report(fixed, outcomes(arms, np.where(arms, 0.0, np.arange(1_000) % 30 == 0))).quality
    # None of 100 in the small arm: Clopper and Pearson's upper end of 0 of 100 at 1.25 % is 1 - 0.0125^(1/100) = 4.3 %.
    assert none.high == pytest.approx(0.043 - 0.02, abs=0.01)
    assert none.low < -0.03


@pytest.mark.simulation
def test_arms_that_lose_rarely_and_much_are_not_the_same_for_all_that_matters():
    rng, same = np.random.default_rng(16), 0
    for _ in range(simulations(100, 30)):
        # One answer of 33 is lost, the others move by less than half a point: -3 points in the mean.
        moves = np.where(rng.random(30) < 0.03, -0.9, rng.uniform(-0.005, 0.005, 30))
        pairs = ArmPairs(np.full(30, 0.9), 0.9 + moves, 30, single=True)
        same += decided_by(quality(pairs, "average", PlannedTest("fixed", 30, 0.02)), 0.02) is Decided.SAME
    assert same <= simulations(5, 2)
    moves = rng.uniform(-0.005, 0.005, 400)
    pairs = ArmPairs(np.full(400, 0.9), 0.9 + moves, 400, single=True)
    assert decided_by(quality(pairs, "average", PlannedTest("fixed", 400, 0.02)), 0.02) is Decided.SAME
