"""The corrected pass rate by hand, at its edges, and by how often its interval covers the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from parts.lengths import simulations, slack
from steelyard.analysis.judge.corrected_rate import corrected_pass_rate
from steelyard.stats.arrays import Array

NAN = math.nan


def corrected(passed: list[float], labels: list[float], **sampling: Any):
    columns = np.array(passed, dtype=float), np.array(labels, dtype=float), np.arange(len(passed))
    return corrected_pass_rate(*columns, **sampling)


def counted(both: int, label: int, judge: int, neither: int, others_pass: int, others: int, **sampling: Any):
    """By how many labelled texts pass by both, by the label alone, by the judge alone, by neither, and the others."""
    labels = [1.0] * (both + label) + [0.0] * (judge + neither) + [NAN] * others
    passed = [1.0] * both + [0.0] * label + [1.0] * judge + [0.0] * neither
    return corrected(passed + [1.0] * others_pass + [0.0] * (others - others_pass), labels, **sampling)


def test_with_all_texts_labelled_it_is_the_labels_own_rate() -> None:
    passed, labels = [1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    found = corrected(passed, labels)
    assert found.reported.value == 0.5
    assert (found.sensitivity.value, found.specificity.value) == (0.75, 0.75)
    assert found.rate.value == pytest.approx(0.5)  # 4 of 8 labels pass
    assert found.rate.n == 8


class TestLabelsOfARandomPart:
    def test_by_hand(self) -> None:
        # Of 56 labelled that the judge passes 48 are good, of 44 others 12; it passes 616 of all 1,000.
        found = counted(48, 12, 8, 32, 560, 900)
        assert found.method == "prediction-powered"
        assert found.rate.value == pytest.approx(0.616 * 48 / 56 + 0.384 * 12 / 44)
        assert "100 labels of a random part of 1000 texts" in found.why

    @pytest.mark.parametrize(
        ("counts", "value", "low", "high", "near"),
        [
            # ppi_mean_pointestimate and ppi_mean_ci(alpha=0.05) of ppi_py 0.2.3, power tuned, with the same counts.
            ((48, 12, 8, 32, 560, 900), 0.6340568, 0.5546826, 0.7134311, 7e-3),
            ((1200, 300, 200, 800, 28000, 50000), 0.6, 0.5843276, 0.6156724, 2e-4),
        ],
    )
    def test_it_is_what_ppi_py_finds(
        self, counts: tuple[int, ...], value: float, low: float, high: float, near: float
    ) -> None:
        found = counted(*counts).rate
        assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=near)
        assert found.high - found.low == pytest.approx(high - low, rel=0.03)

    def test_it_is_never_wider_than_the_labels_alone(self) -> None:
        random = np.random.default_rng(5)
        for _ in range(300):
            n, right = int(random.integers(2, 80)), random.random()
            label = np.where(np.arange(200) < n, random.random(200) < random.random(), NAN)
            passed = np.where(random.random(200) < right, np.nan_to_num(label, nan=1), random.random(200) < 0.5)
            found = corrected_pass_rate(passed, label, np.arange(200))
            if found.method in ("prediction-powered", "labels alone"):
                assert found.rate.high - found.rate.low <= found.labels.high - found.labels.low

    def test_a_judge_that_tells_nothing_leaves_the_labels_alone(self) -> None:
        found = counted(20, 20, 20, 20, 200, 400)
        assert (found.rate.value, found.rate.n, found.method) == (0.5, 80, "labels alone")
        assert found.why == "the judge's passes do not narrow what 80 labels say"

    def test_labels_that_all_pass_are_no_certainty(self) -> None:
        found = counted(20, 10, 0, 0, 100, 200)
        assert (found.rate.value, found.method) == (1.0, "labels alone")
        assert found.rate.low == pytest.approx(0.8865, abs=1e-4)  # Wilson, 30 of 30: 30 / (30 + 1.96^2)

    def test_a_judge_without_an_error_in_30_labels_may_still_err(self) -> None:
        found = counted(15, 0, 0, 15, 1500, 3000)
        assert found.method == "prediction-powered"
        # An error rate of 1 in 20 on either side shows no error in 30 labels one time in five.
        assert found.rate.low < 0.46
        assert found.rate.high > 0.54


class TestLabelsOfAPartThatIsOnlyDeclaredAsRandom:
    def test_the_judges_verdict_weighs_them_even_where_that_is_wider(self) -> None:
        # Of 40 labels half pass on either side, and the judge passes half of all: the labels alone would be narrower.
        found = counted(10, 10, 10, 10, 200, 400, declared=True)
        assert (found.rate.value, found.method) == (0.5, "prediction-powered")
        assert "40 labels of a part declared as random of 440 texts" in found.why

    def test_labels_of_one_verdict_say_nothing_of_the_other(self) -> None:
        # 18 of 20 labeled texts that the judge passes are good; it passes 180 of 200. Wilson of 18 of 20: 69.90, 97.21.
        found = counted(18, 0, 2, 0, 160, 180, declared=True)
        assert found.rate.value == pytest.approx(0.9 * 0.9 + 0.1 / 2)
        assert found.rate.low == pytest.approx(0.9 * 0.69897, abs=1e-5)
        assert found.rate.high == pytest.approx(0.9 * 0.97213 + 0.1, abs=1e-5)

    def test_a_judge_that_passes_everything_leaves_the_labels_alone(self) -> None:
        found = counted(18, 0, 2, 0, 180, 180, declared=True)
        assert (found.rate.value, found.method) == (pytest.approx(0.9), "labels alone")


class TestLabelsOfChosenTexts:
    def test_they_give_bounds_and_no_rate(self) -> None:
        # Six of ten labels are good; the ten other texts may all fail, or all pass: 6 to 16 of 20.
        found = counted(5, 1, 1, 3, 5, 10, not_random="they were chosen")
        assert (found.rate.value, found.rate.low, found.method) == (None, None, "")
        assert found.message == (
            "they were chosen; whatever the 10 unlabeled texts are, between 30.0 % and 80.0 % of these 20 pass"
        )
        assert (found.labels.value, found.labels.n, found.labels.low) == (0.6, 10, None)
        assert (found.sensitivity.n, found.specificity.n) == (6, 4)

    def test_labels_of_all_texts_need_no_sampling(self) -> None:
        found = corrected([1, 1, 0], [1, 0, 0], not_random="they were chosen")
        assert (found.rate.value, found.message) == (pytest.approx(1 / 3), "")


class TestWithoutACorrectedRate:
    def test_no_labels(self) -> None:
        found = corrected([1, 0], [NAN, NAN])
        assert found.rate.value is None
        assert "labels" in found.message
        assert found.reported.value == 0.5

    def test_a_judge_that_failed_on_everything(self) -> None:
        found = corrected([NAN, NAN], [1, 0])
        assert (found.rate.value, found.reported.n, found.reported.n_missing) == (None, 0, 2)
        assert found.sensitivity.n_missing == 1
        assert found.specificity.n_missing == 1

    def test_texts_that_were_not_judged_are_missing_on_their_own_side(self) -> None:
        # Not judged: one good text, two bad ones, and one without a label, which is missing on neither side.
        found = corrected([1, NAN, 0, NAN, NAN, NAN], [1, 1, 0, 0, 0, NAN])
        assert (found.sensitivity.n, found.sensitivity.n_missing) == (1, 1)
        assert (found.specificity.n, found.specificity.n_missing) == (1, 2)


def simulated(
    random: np.random.Generator, right: float, n_labels: int, rate: float, *, part: float = 0.25
) -> tuple[Array, Array, Array]:
    """What is good, what a judge that is right so often passes, and the labels of a random part."""
    n = round(n_labels / part)
    good = random.random(n) < rate
    passed = np.where(random.random(n) < right, good, ~good).astype(float)
    return good, passed, np.where(np.arange(n) < n_labels, good.astype(float), NAN)


@pytest.mark.simulation
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("right", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("n_labels", [20, 60, 200])
def test_the_interval_covers_the_truth_about_95_times_in_100(right: float, n_labels: int, declared: bool) -> None:
    """docs/trust.md has the figures of many more settings."""
    random, rate, n = np.random.default_rng(17), 0.7, simulations(4000, 150)
    covered = []
    for _ in range(n):
        _, passed, labels = simulated(random, right, n_labels, rate)
        found = corrected_pass_rate(passed, labels, np.arange(len(passed)), declared=declared).rate
        covered.append(found.low <= rate <= found.high)
    assert np.mean(covered) >= 0.93 - slack(0.93, n)


def test_repeats_of_a_case_are_not_new_evidence() -> None:
    passed, labels = [1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    once = corrected(passed, labels).rate
    case = np.repeat(np.arange(8), 5)
    often = corrected_pass_rate(np.repeat(np.array(passed) * 1.0, 5), np.repeat(np.array(labels) * 1.0, 5), case).rate
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.1)
