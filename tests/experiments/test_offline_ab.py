"""The decision on two interleaved runs: by which test, on which scale, and with what beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.headers import typed
from parts.loopback import Loopback, json_answer, text_answer
from parts.looped import for_every
from parts.small_suite import http_target, write_suite
from steelyard.engine.run_options import RunOptions
from steelyard.experiments.decision import Decided, decided_by
from steelyard.experiments.effects import Effect, PlannedTest, extra, quality
from steelyard.experiments.offline import offline_report
from steelyard.experiments.pairs import ArmPairs, quality_pairs
from steelyard.experiments.runner import run_ab
from steelyard.loading.load import load_suite, with_target
from steelyard.pairing.runs import Rescored, read_run
from steelyard.records import AbPlan, RunState, Verdict
from steelyard.store.sql import open_store
from steelyard.suite.case import drawn_place

RIGHT_IN_A, RIGHT_IN_B = 8, 17


def answering(right, price):
    def answer(seen):
        number = seen.json["number"]
        word = f"{'word' if number < right else 'no'} {number}"
        return json_answer({"answer": {"word": word}, "price": price + number / 100})

    return answer


def evaluated(folder, a, b, plan, *, n=20, repeats=None, **more):
    """Both runs of an A/B of two services, read again."""
    store = open_store(str(folder / "runs.db"))
    with Loopback() as server:
        server.on("/a", a)
        server.on("/b", b)
        target = http_target(server.base_url, usage={"cost": "price"})
        suite = load_suite(write_suite(folder / "s", n=n, target=target, gates=[], **more))
        suites = tuple(with_target(suite, None, {"url": f"{server.base_url}/{arm}"}) for arm in "ab")
        runs = run_ab(suites, store, RunOptions(repeats=repeats), plan)
    found = [read_run(store, header.id) for header in runs.headers]
    store.close()
    return found


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    plan = AbPlan(metric="pass_rate")
    return evaluated(tmp_path_factory.mktemp("fixed"), answering(RIGHT_IN_A, 1), answering(RIGHT_IN_B, 1.5), plan)


def with_header(run, **changes):
    return replace(run, header=replace(run.header, **typed(changes)))


def test_without_stopping_early_the_fixed_test_decides(fixed):
    report = offline_report(*fixed)
    assert (report.decided, report.test) == (Decided.B, "fixed")
    quality = report.quality
    # 9 of 20 cases are right in B alone, none in A alone: exact McNemar p = 2 * 0.5^9.
    assert (quality.a, quality.b, quality.difference) == pytest.approx((0.40, 0.85, 0.45))
    assert quality.p == pytest.approx(2 * 0.5**9)
    assert (quality.n, quality.n_missing) == (20, 0)


def test_cost_and_latency_stand_beside_with_their_intervals(fixed):
    report = offline_report(*fixed)
    names = {effect.name: effect for effect in report.extra}
    cost = names["cost of a call"]
    # 1 + n / 100 and 1.5 + n / 100 for n from 0 to 19.
    assert (cost.a, cost.b, cost.difference) == pytest.approx((1.095, 1.595, 0.5))
    assert (cost.low, cost.better_when) == (None, "lower")
    latency = names["latency"]
    assert latency.n == 20
    # 20 pairs are too few for an interval of what has no ends: one call that stalls would outweigh them all.
    assert (latency.low, latency.high) == (None, None)


def test_a_fixed_test_of_an_unfinished_run_shows_the_always_valid_interval_and_decides_nothing(fixed):
    a, b = fixed
    report = offline_report(a, with_header(b, state=RunState.INTERRUPTED), stopped="the money is gone")
    assert report.test == "sequential"
    assert "betting" in report.quality.method
    assert report.notes[0] == "stopped before its end: the money is gone"
    # Read early by the always-valid test and at the end by the fixed one, 7 of 100 would find what is not there.
    assert report.decided is Decided.CANNOT_TELL
    assert "a fixed test is read once" in report.why[0]
    assert report.quality.low > 0
    certain = offline_report(a, b).quality
    assert report.quality.high - report.quality.low > certain.high - certain.low


def test_a_sequential_test_that_was_stopped_decides_by_what_it_was_asked(fixed):
    runs = [
        with_header(
            run,
            state=RunState.INTERRUPTED,
            verdict=Verdict.INVALID,
            options=replace(run.header.options, ab=replace(run.header.options.ab, stop_early=True)),
        )
        for run in fixed
    ]
    report = offline_report(*runs, stopped="the money is gone")
    # An unfinished run is no reading of the suite, and yet all that it was asked has one.
    assert (report.decided, report.test) == (Decided.B, "sequential")


def test_a_stopped_arm_with_too_many_failures_is_no_reading(tmp_path):
    def moody(seen):
        return text_answer("no", status=500) if seen.json["number"] % 3 == 0 else answering(20, 1)(seen)

    plan = AbPlan(metric="pass_rate", stop_early=True)
    runs = evaluated(tmp_path, moody, moody, plan, n=9, limits={"retries": 0})
    report = offline_report(*(with_header(run, state=RunState.INTERRUPTED, verdict=None) for run in runs))
    assert report.decided is Decided.INVALID
    assert report.why[1] == "arm A is valid: 6 of 9 samples are conclusive"


def test_repeats_of_one_case_that_fail_are_one_case_that_fails(tmp_path):
    def moody(seen):
        return text_answer("no", status=500) if seen.json["number"] == 3 else answering(20, 1)(seen)

    plan = AbPlan(metric="pass_rate")
    limits = {"retries": 0, "max_inconclusive": 0.9}
    report = offline_report(*evaluated(tmp_path, answering(20, 1), moody, plan, n=4, limits=limits, repeats=12))
    found = next(check for check in report.checks if check.name == "missing in both arms alike")
    # As samples, 12 of 48 against none, it would have been INVALID: chi-square 13.7, p = 0.0002.
    assert found.fine
    assert found.message == "cases without a score: 0 of 4 in A, 1 of 4 in B"


def _unstored(run, target):
    """The run with a target of which only the identity is known, as of a run of an earlier version."""
    return with_header(run, target=target, options=replace(run.header.options, asked_by=None))


def test_what_the_arms_differ_in_is_reported_setting_by_setting(fixed):
    a, b = fixed
    target = {"kind": "chat", "model": "m", "prompts": {"system": "1a2b"}, "settings": {}}
    other = target | {"prompts": {"system": "3c4d"}, "settings": {"temperature": 1.5}}
    headers = [
        with_header(run, target=item, options=replace(run.header.options, asked_by=None))
        for run, item in ((a, target), (b, other))
    ]
    one, two = offline_report(*headers).arms
    same = (("target", "chat m"),)
    assert one.facts[1:] == (*same, ("temperature", "not set"), ("prompt system", "differs"))
    assert two.facts[1:] == (*same, ("temperature", "1.5"), ("prompt system", "differs"))


def test_arms_that_do_not_differ_are_reported(fixed):
    a, b = fixed
    same = with_header(b, target=a.header.target)
    assert any("no known setting of the arms differs" in note for note in offline_report(a, same).notes)
    assert not any("nothing that is known" in note for note in offline_report(a, b).notes)


def test_an_interval_that_contradicts_an_exact_test_is_not_reported():
    def constant(n, move):
        return ArmPairs(np.full(n, 0.5), np.full(n, 0.5 + move), n, single=False)

    reading = PlannedTest("fixed", 10)
    # Ten of ten moved by the same: exact, p = 2 * 0.5^10; what always holds after ten reaches beyond 0.
    few = quality(constant(10, 0.1), "average", reading)
    assert (few.low, few.p) == (None, pytest.approx(2 * 0.5**10))
    assert decided_by(few, None) is Decided.B
    many = quality(constant(200, 0.1), "average", reading)
    assert 0 < many.low < 0.1 < many.high
    none = quality(constant(200, 0.0), "average", reading)
    assert none.low < 0 < none.high
    assert decided_by(none, 0.2) is Decided.SAME


def test_the_fixed_interval_lies_around_the_difference_of_b_less_a():
    pairs = ArmPairs(np.full(20, 0.2), np.full(20, 0.3) + np.arange(20) / 100, 20, single=False)
    found = quality(pairs, "average", PlannedTest("fixed", 20))
    # 0.1 + n / 100 for n from 0 to 19: mean 0.195, standard error 0.0592 / sqrt(20) = 0.0132, t(19) = 2.093.
    assert found.difference == pytest.approx(0.195)
    assert (found.low, found.high) == pytest.approx((0.1673, 0.2227), abs=0.002)
    many = ArmPairs(np.full(200, 0.2), np.full(200, 0.3) + np.arange(200) % 20 / 100, 200, single=False)
    found = extra("cost", "cost", many, PlannedTest("fixed", 200))
    # The same ten times over: standard error 0.0578 / sqrt(200) = 0.0041, t(199) = 1.972.
    assert (found.low, found.high) == pytest.approx((0.1869, 0.2031), abs=0.001)


def test_cases_come_in_the_order_drawn_whatever_their_place_in_the_files(fixed):
    a, b = fixed
    order = sorted((f"c{n}" for n in range(20)), key=lambda one: drawn_place(3, one))
    expected = [float(int(one[1:]) < RIGHT_IN_B) for one in order]
    assert quality_pairs(a.table, b.table, 3, by_pass=True).b.tolist() == expected


def test_two_judges_are_two_scales_and_decide_nothing_unless_asked_to(fixed):
    a, b = fixed
    other = with_header(b, signature=replace(b.header.signature, judge="another"))
    report = offline_report(a, other)
    assert report.decided is Decided.CANNOT_TELL
    assert "two scales" in report.why[1]
    assert report.quality.difference == pytest.approx(0.45)
    assert offline_report(a, other, allow_mismatch=True).decided is Decided.B
    # Code that gives every recorded answer the scores it had is one scale.
    assert offline_report(replace(a, rescored=Rescored({"judge": "another"}, 20, "A")), other).decided is Decided.B


def test_a_suspect_arm_decides_nothing_unless_asked_to(fixed):
    a, b = fixed
    report = offline_report(a, with_header(b, suspect=("all 20 answers are identical",)))
    assert report.decided is Decided.CANNOT_TELL
    assert "identical" in report.why[1]


def test_readings_that_are_missing_in_one_arm_alone_make_it_invalid(tmp_path):
    def moody(seen):
        if seen.json["number"] % 2:
            return text_answer("no", status=500)
        return answering(20, 1)(seen)

    plan = AbPlan(metric="pass_rate")
    a, b = evaluated(tmp_path, answering(20, 1), moody, plan, n=40, limits={"retries": 0, "max_inconclusive": 0.9})
    report = offline_report(a, b)
    # 20 of 40 missing against none: chi-square 26.7 on one degree of freedom.
    assert report.decided is Decided.INVALID
    assert any("not missing by chance" in why for why in report.why)
    assert (report.quality.n, report.quality.n_missing) == (20, 20)


def test_no_case_with_a_reading_in_both_arms_is_no_reading(tmp_path):
    def broken(_):
        return text_answer("no", status=500)

    plan = AbPlan(metric="pass_rate")
    a, b = evaluated(tmp_path, broken, broken, plan, n=4, limits={"retries": 0, "max_inconclusive": 1.0})
    report = offline_report(a, b)
    assert report.decided is Decided.INVALID
    assert (report.quality.n, report.quality.difference) == (0, None)


def effect(low, high, p=None, difference=0.1, better="higher"):
    return Effect("pass rate", "share", 0.5, 0.6, difference, low, high, 50, 0, "", p, better)


@for_every(
    ("result", "same_within", "decided"),
    [
        (effect(0.02, 0.18, 0.01), None, Decided.B),
        (effect(0.02, 0.18, 0.01, better="lower"), None, Decided.A),
        (effect(-0.18, -0.02, 0.01, difference=-0.1), None, Decided.A),
        (effect(-0.02, 0.18, 0.08), None, Decided.CANNOT_TELL),
        (effect(-0.02, 0.18), None, Decided.CANNOT_TELL),
        (effect(-0.02, 0.18, 0.04), None, Decided.CANNOT_TELL),
        (effect(0.02, 0.18, 0.06), None, Decided.CANNOT_TELL),
        (effect(0.02, 0.18), None, Decided.B),
        (effect(None, None), None, Decided.CANNOT_TELL),
        (effect(None, None, 0.01), None, Decided.B),
        (effect(-0.02, 0.03, 0.6, difference=0.005), 0.05, Decided.SAME),
        (effect(0.01, 0.04, 0.01, difference=0.02), 0.05, Decided.SAME),
        (effect(0.01, 0.06, 0.01, difference=0.02), 0.05, Decided.B),
    ],
)
def test_what_a_figure_comes_to(result, same_within, decided):
    assert decided_by(result, same_within) is decided


def test_the_same_seed_draws_the_same_order_on_every_machine():
    # The first 16 hexadecimal digits of what sha256sum prints for '0\nc1'.
    assert drawn_place(0, "c1") == int(FIRST, 16)
    places = [drawn_place(seed, "c1") for seed in range(2_000)]
    # Even: the mean of 2,000 uniform numbers lies within 4 standard errors (4 * 0.289 / sqrt(2000) = 0.026) of a half.
    assert abs(np.mean(places) / 2**64 - 0.5) < 0.026


FIRST = "c75d4ad211cdde60"
