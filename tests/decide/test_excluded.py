"""Samples that another kind of judge has read, and points on a component's own scale, before gates and verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.columns import Made, columns
from parts.described import summarise
from parts.judged import judged_suite
from steelyard.analysis.model import Summary
from steelyard.decide.gates import evaluate
from steelyard.decide.verdict import decide
from steelyard.records import Verdict
from steelyard.suite.models import SuiteModel


def summary_of(modes: list[int], suite: dict[str, object]) -> Summary:
    made = [Made(f"c{i:02}", 0.8, parts={"tone": 4.0, "overall": 3.0}) for i in range(len(modes))]
    given = replace(columns(made), mode=np.array(modes), modes=["model", "basic"])
    return summarise(given, suite)


def test_too_many_excluded_make_a_run_invalid() -> None:
    suite = judged_suite(gates=["average >= 50 %"])
    decision = decide(summary_of([0] * 17 + [1] * 3, suite), SuiteModel.from_data(suite))
    assert decision.verdict is Verdict.INVALID
    assert decision.reasons[0] == (
        "3 of 20 samples are excluded, judged in another mode (15.0 %), more than the 5 % allowed"
    )


def test_a_few_excluded_are_allowed() -> None:
    suite = judged_suite(gates=["average >= 50 %"])
    assert decide(summary_of([0] * 19 + [1], suite), SuiteModel.from_data(suite)).verdict is Verdict.PASS


def test_excluded_and_failed_samples_are_counted_together() -> None:
    suite = judged_suite(gates=["average >= 50 %"], limits={"max_inconclusive": 0.1})
    made = [Made(f"c{i}", 0.8) for i in range(9)] + [Made("c9", None, "judge_failed")]
    given = replace(columns(made), mode=np.array([0] * 8 + [1, -1]), modes=["model", "basic"])
    decision = decide(summarise(given, suite), SuiteModel.from_data(suite))
    assert decision.verdict is Verdict.INVALID
    assert "1 of 10 samples is inconclusive and 1 of 10 samples is excluded" in decision.reasons[0]


def test_all_excluded_is_nothing_scored() -> None:
    suite = judged_suite(gates=["average >= 50 %"])
    decision = decide(summary_of([1, 1], suite), SuiteModel.from_data(suite))
    assert decision.verdict is Verdict.INVALID
    assert decision.reasons[0] == "nothing was scored: 2 samples, 0 of them inconclusive, 2 excluded"


def test_findings_stand_on_the_samples_that_were_not_excluded() -> None:
    result = evaluate(["findings.total == 0"], summary_of([0, 0, 1], judged_suite()))[0]
    assert (result.value.n, result.value.n_missing) == (2, 1)


class TestPoints:
    def test_a_gate_in_points_stands_on_the_declared_scale(self) -> None:
        result = evaluate(["score.tone.points >= 3.5"], summary_of([0, 0], judged_suite()))[0]
        assert (result.verdict, result.value.value, result.value.n) == (Verdict.PASS, 4.0, 2)
        assert result.reason.startswith("4.00 >= 3.50")

    def test_a_mean_just_below_the_limit_does_not_look_like_it(self) -> None:
        made = [Made("a", 0.5, parts={"tone": 3.499}), Made("b", 0.5, parts={"tone": 3.499})]
        result = evaluate(["score.tone.points >= 3.5"], summarise(columns(made), judged_suite()))[0]
        assert result.verdict is Verdict.FAIL
        assert result.reason.startswith("3.499 is not >= 3.50")

    def test_the_average_of_the_same_component_is_a_share_of_its_scale(self) -> None:
        result = evaluate(["score.tone.average >= 50 %"], summary_of([0, 0], judged_suite()))[0]
        assert result.value.value == pytest.approx(0.75)
