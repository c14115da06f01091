"""A judge's scores and flags against a reviewer's, and correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from parts.judged import health_of, judged, judged_suite, vote
from parts.score_ends import score_ends
from steelyard.analysis.judge.model import FlagCounts, JudgeHealth
from steelyard.stats.agreement import confusion, score_correlation, spearman
from steelyard.stats.intervals import Estimate
from steelyard.suite.labels import Label

NAN = math.nan
SCALE = (1.0, 5.0)


def column(*values: float | None) -> np.ndarray:
    return np.array([NAN if value is None else value for value in values], dtype=float)


def each_its_own(n: int) -> np.ndarray:
    return np.arange(n)


def a_vote(score: float) -> Any:
    """The only vote on a text; NaN where it came to nothing."""
    return vote(None if math.isnan(score) else {"tone": score})


def agreement(judge: Any, best: Any, low: Any, high: Any, case: Any) -> JudgeHealth:
    """A judge with these scores in tone and a reviewer with these labels."""
    samples = [judged(f"c{number}", a_vote(score)) for score, number in zip(judge, case, strict=True)]
    given = zip(best, low, high, case, strict=True)
    labels = {f"c{number}": {"tone": Label(*label)} for *label, number in given if not math.isnan(label[0])}
    return health_of(samples, judged_suite(weights={"tone": 1.0}, flags={}), labels)


def flags(judge: Any, label: Any) -> JudgeHealth:
    """A judge that sets a flag, and a reviewer who does."""
    both = list(enumerate(zip(judge, label, strict=True)))
    samples = [
        judged(f"c{at}", vote(None if math.isnan(given) else {"tone": 3, "harm": bool(given)}))
        for at, (given, _) in both
    ]
    labels = {f"c{at}": {"harm": bool(true)} for at, (_, true) in both if not math.isnan(true)}
    return health_of(samples, judged_suite(weights={"tone": 1.0}), labels)


class TestScores:
    judge = column(1, 3, 5, 4, None, 2)
    best = column(2, 3, 3, 4, 3, None)
    low, high = column(1, 3, 2, 4, 3, None), column(3, 3, 3, 4, 3, None)

    def result(self):
        return agreement(self.judge, self.best, self.low, self.high, each_its_own(6))

    def test_exact_is_inside_the_allowed_range(self) -> None:
        found = self.result()
        # 1 in 1..3, 3 in 3..3, 5 not in 2..3, 4 in 4..4; one labelled text has no score, one text has no label.
        wilson = stats.binomtest(3, 4).proportion_ci(method="wilson")
        assert found["agreement.tone.exact"] == Estimate(
            0.75, 4, 1, pytest.approx(wilson.low), pytest.approx(wilson.high)
        )

    def test_within_one_is_at_most_one_point_outside_it(self) -> None:
        low, high = column(2, 2, 3, 3), column(3, 3, 4, 4)
        within = agreement(column(4, 5, 1, 2), low, low, high, each_its_own(4))["agreement.tone.within_one"]
        # 4 is one above 2..3, 5 two above; 1 is two below 3..4, 2 one below.
        assert (within.value, within.n) == (0.5, 4)

    def test_exact_is_never_more_than_within_one(self) -> None:
        random = np.random.default_rng(0)
        low = random.integers(1, 5, 100).astype(float)
        found = agreement(random.integers(1, 6, 100) * 1.0, low, low, low + 1, each_its_own(100))
        assert found["agreement.tone.exact"].value < found["agreement.tone.within_one"].value

    def test_the_best_score_is_met_or_not(self) -> None:
        best = self.result()["agreement.tone.best"]
        assert (best.value, best.n) == (0.5, 4)  # 3 and 4

    def test_bias_is_judge_minus_best(self) -> None:
        bias = self.result()["agreement.tone.difference"]
        # -1, 0, 2, 0
        assert (bias.value, bias.n, bias.n_missing) == (0.25, 4, 1)
        assert (bias.low, bias.high) == pytest.approx(score_ends(0.25, stats.sem([-1, 0, 2, 0]), 3, (-4.0, 4.0)))

    def test_the_confusion_is_that_of_scikit_learn(self) -> None:
        random = np.random.default_rng(4)
        best, judge = random.integers(1, 6, (2, 80))
        found = confusion(judge * 1.0, best * 1.0, SCALE)
        assert found.levels == (1, 2, 3, 4, 5)
        assert np.array(found.counts).tolist() == confusion_matrix(best, judge, labels=[1, 2, 3, 4, 5]).tolist()

    def test_half_points_of_a_panel_have_their_own_column(self) -> None:
        found = confusion(column(3.5, 4), column(3, 4), SCALE)
        assert found.levels == (1, 2, 3, 3.5, 4, 5)
        assert found.counts[2][3] == 1
        assert found.counts[4][4] == 1

    def test_without_labels_there_is_no_agreement(self) -> None:
        nothing = column(None, None)
        found = agreement(column(3, 4), nothing, nothing, nothing, each_its_own(2))
        for name in ("exact", "within_one", "best", "kappa", "alpha", "bias"):
            assert found[f"agreement.tone.{name}"] == Estimate(None, 0)

    def test_several_texts_of_one_case_widen_the_interval(self) -> None:
        judge, best = np.tile(column(1, 2, 3, 4), 5), np.tile(column(1, 2, 3, 3), 5)
        runs = [agreement(judge, best, best, best, each_its_own(20))]
        runs.append(agreement(judge, best, best, best, np.tile(np.arange(4), 5)))
        alone, clustered = (found["agreement.tone.exact"] for found in runs)
        assert clustered.value == alone.value == 0.75
        assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)
        alone, clustered = (found["agreement.tone.difference"] for found in runs)
        assert clustered.high - clustered.low > alone.high - alone.low


class TestFlags:
    def test_precision_and_recall_are_those_of_scikit_learn(self) -> None:
        random = np.random.default_rng(9)
        label, judge = random.integers(0, 2, (2, 50))
        found = flags(judge * 1.0, label * 1.0)
        assert found["flag.harm.precision"].value == pytest.approx(precision_score(label, judge))
        assert found["flag.harm.recall"].value == pytest.approx(recall_score(label, judge))
        counts = found.flags["harm"].counts
        assert counts.hits + counts.false_alarms + counts.missed + counts.quiet == 50

    def test_counts_and_intervals_by_hand(self) -> None:
        judge, label = column(1, 1, 0, 0, None, None, 1), column(1, 0, 1, 0, 1, 0, None)
        found = flags(judge, label)
        assert found.flags["harm"].counts == FlagCounts(hits=1, false_alarms=1, missed=1, quiet=1)
        wilson = stats.binomtest(1, 2).proportion_ci(method="wilson")
        bounds = pytest.approx(wilson.low), pytest.approx(wilson.high)
        assert found["flag.harm.precision"] == Estimate(0.5, 2, 2, *bounds)  # two labelled texts were not judged
        assert found["flag.harm.recall"] == Estimate(0.5, 2, 1, *bounds)  # one flagged text was not judged

    def test_nothing_flagged_has_no_precision_and_is_not_perfect(self) -> None:
        found = flags(column(0, 0), column(0, 0))
        assert found["flag.harm.precision"] == Estimate(None, 0)
        assert found["flag.harm.recall"] == Estimate(None, 0)


class TestCorrelations:
    def test_spearman_is_that_of_scipy_with_ties(self) -> None:
        random = np.random.default_rng(2)
        first = random.integers(1, 6, 40).astype(float)
        second = first * 100 + random.integers(0, 300, 40)
        assert spearman(first, second, each_its_own(40)).value == pytest.approx(stats.spearmanr(first, second)[0])

    @pytest.mark.parametrize(
        ("kind", "oracle"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)]
    )
    def test_correlations_of_scores_with_ties_are_those_of_scipy(self, kind: str, oracle: Any) -> None:
        random = np.random.default_rng(2)
        first = random.integers(1, 6, 60).astype(float)
        second = np.clip(first + random.integers(-2, 3, 60), 1, 5)
        found = score_correlation(first, second, kind, each_its_own(60))
        assert found.value == pytest.approx(oracle(first, second)[0])
        assert found.low < found.value < found.high

    @pytest.mark.parametrize(("kind", "true"), [("pearson", 0.555), ("spearman", 0.549), ("kendall", 0.464)])
    def test_the_intervals_of_such_correlations_hold(self, kind: str, true: float) -> None:
        # Scores cut from normals of correlation 0.6; true: of 2,000,000 such pairs, by scipy 1.17.
        random, n, held = np.random.default_rng(4), 30, 0
        for _ in range(200):
            one, noise = random.standard_normal((2, n))
            first, second = (np.searchsorted([-1.2, -0.4, 0.4, 1.2], each) for each in (one, 0.6 * one + 0.8 * noise))
            found = score_correlation(first * 1.0, second * 1.0, kind, each_its_own(n))
            held += found.low <= true <= found.high
        assert 0.90 <= held / 200 <= 0.99

    def test_two_points_and_a_constant_have_none(self) -> None:
        assert score_correlation(column(1, 2), column(3, 4), "pearson", each_its_own(2)) == Estimate(None, 2)
        assert spearman(column(3, 3, 3, 3), column(1, 2, 3, 4), each_its_own(4)) == Estimate(None, 4)

    def test_what_is_not_known_is_missing(self) -> None:
        found = spearman(column(1, 2, 3, None, 5), column(1, 2, None, 4, 4), each_its_own(5))
        assert (found.n, found.n_missing) == (3, 2)
