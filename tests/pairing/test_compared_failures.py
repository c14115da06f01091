"""How often target and judge fail is a figure of its own, over every pair with the same question."""

from __future__ import annotations

import pytest

from parts.columns import Made
from parts.compared import ONE_AB, compared
from steelyard.comparing.compare import compare
from steelyard.pairing.model import Moved
from steelyard.suite.case import Case

JUDGED = {"judge": {"mode": "model", "rubric": {}, "members": []}}


def metric(comparison, name):
    return next(each for each in comparison.metrics if each.name == name)


def samples(n, ending):
    """n samples, of which the first ones end otherwise."""
    made = [Made(f"c{i:02d}", 1.0) for i in range(n)]
    for i, outcome in enumerate(ending):
        made[i] = Made(f"c{i:02d}", 0.0 if outcome == "malformed" else None, outcome)
    return made


def test_failures_are_shares_of_all_pairs_and_malformed_ones_of_those_answered():
    a = compared(samples(20, ["target_failed"]), described=JUDGED)
    b = compared(samples(20, ["judge_failed"] * 8 + ["target_failed"] * 2 + ["malformed"] * 5), described=JUDGED)
    found = compare(a, b)
    # 1 of 20 and 10 of 20; exact McNemar of 9 against 0 (c00 failed in both): 2 / 2^9.
    rate = metric(found, "inconclusive_rate")
    assert (rate.a.value, rate.b.value, rate.a.n) == (0.05, 0.5, 20)
    assert rate.p == pytest.approx(2 / 512)
    assert (rate.difference.low, rate.difference.high) != (None, None)
    assert rate.verdict is Moved.WORSE
    assert (metric(found, "target_failed_rate").a.value, metric(found, "target_failed_rate").b.value) == (0.05, 0.1)
    assert (metric(found, "judge_failed_rate").a.value, metric(found, "judge_failed_rate").b.value) == (0.0, 0.4)
    # 10 pairs have an answer on both sides, and 5 of those are malformed in B.
    malformed = metric(found, "malformed_rate")
    assert (malformed.a.value, malformed.b.value, malformed.a.n) == (0.0, 0.5, 10)


def test_failures_count_even_where_they_block_the_verdict():
    found = compare(compared(samples(20, [])), compared(samples(20, ["target_failed"] * 15)))
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert metric(found, "target_failed_rate").verdict is Moved.WORSE
    assert not any(each.name == "judge_failed_rate" for each in found.metrics)


def test_another_question_is_no_failure_of_the_old_one():
    asked_anew = {"c00": Case("c00", input="another")}
    found = compare(compared(samples(3, [])), compared(samples(3, ["target_failed"]), cases=asked_anew))
    assert (metric(found, "inconclusive_rate").a.n, metric(found, "inconclusive_rate").b.value) == (2, 0.0)


def test_repeats_of_a_case_do_not_make_a_failure_surer():
    a = [Made(f"c{i}", 1.0, repeat=r) for i in range(3) for r in range(10)]
    b = [Made(f"c{i}", None, "target_failed", repeat=r) for i in range(3) for r in range(10)]
    rate = metric(compare(compared(a), compared(b)), "inconclusive_rate")
    assert (rate.a.n, rate.difference.n, rate.p, rate.verdict) == (30, 3, 0.25, Moved.CANNOT_TELL)


def test_cost_and_latency_of_interleaved_arms_are_paired_and_have_intervals():
    # Differences of 0.5 and 0.7 s in turn: mean 0.6, standard deviation 0.1 x sqrt(20 / 19) = 0.1026. Two figures are
    # tested, so the first is at 97.5 %, the second at 95 %: t(19) 2.4334 and 2.0930 (scipy).
    a = [Made(f"c{i:02d}", 1.0, latency=1.0 + i, cost=0.01 * i) for i in range(20)]
    b = [Made(f"c{i:02d}", 1.0, latency=1.5 + i + 0.2 * (i % 2), cost=0.01 * i + 0.05 * (i % 2)) for i in range(20)]
    found = compare(compared(a, options=ONE_AB), compared(b, options=ONE_AB))
    latency, cost = metric(found, "latency.mean").difference, metric(found, "cost").difference
    assert (latency.value, latency.low, latency.high) == pytest.approx((0.6, 0.5442, 0.6558), abs=5e-5)
    # 0 and 0.05 in turn: mean 0.025, 2.093 x 0.02565 / sqrt(20) = 0.0120.
    assert (cost.value, cost.low, cost.high) == pytest.approx((0.025, 0.0130, 0.0370), abs=5e-5)
