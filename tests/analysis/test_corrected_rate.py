"""The corrected pass rate by hand, at its edges, and by how often its interval covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.analysis.correction import Trials, corrected_pass_rate, lang_reiczigel, rogan_gladen

NAN = math.nan


def corrected(passed: list[float], labels: list[float]):
    return corrected_pass_rate(np.array(passed, dtype=float), np.array(labels, dtype=float), np.arange(len(passed)))


def test_the_point_is_that_of_rogan_and_gladen() -> None:
    assert rogan_gladen(0.5, 0.9, 0.8) == pytest.approx(0.3 / 0.7)


def test_the_interval_for_labels_from_elsewhere_is_that_of_lang_and_reiczigel() -> None:
    # By their formula, z = 1.96: 50 of 100 become 51.9207 of 103.8415 = 0.5; 18 of 20 become 19 / 22 = 0.863636;
    # 16 of 20 become 17 / 22 = 0.772727. J = 0.636364, p = 0.272727 / J = 0.428571.
    # Variances: 0.25 / 103.8415 = 0.0024075; 0.117769 / 22 = 0.0053531; 0.175620 / 22 = 0.0079827.
    # Error: sqrt(0.0024075 + p^2 0.0053531 + (1 - p)^2 0.0079827) / J = 0.0774426 / J = 0.121696.
    # Shift: 2 z^2 (p 0.0053531 - (1 - p) 0.0079827) = -0.017420. 0.428571 - 0.017420 -+ 1.96 * 0.121696.
    found = lang_reiczigel(Trials(0.5, 100), Trials(0.9, 20), Trials(0.8, 20), among=False)
    assert found == pytest.approx((0.17263, 0.64967), abs=2e-5)


def test_with_all_texts_labelled_it_is_the_labels_own_rate() -> None:
    passed, labels = [1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    found = corrected(passed, labels)
    assert found.reported.value == 0.5
    assert (found.sensitivity.value, found.specificity.value) == (0.75, 0.75)
    assert found.rate.value == pytest.approx(0.5)  # 4 of 8 labels pass
    assert found.rate.n == 8
    assert not found.clipped


def test_by_hand_with_some_labelled() -> None:
    # 12 of 20 pass. Labelled: of 5 good 4 pass, of 5 bad 4 do not. (0.6 + 0.8 - 1) / 0.6 = 2 / 3.
    passed = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0] + [1] * 7 + [0] * 3
    labels = [1] * 5 + [0] * 5 + [NAN] * 10
    found = corrected(passed, labels)
    assert found.rate.value == pytest.approx(2 / 3)
    assert found.rate.low < found.rate.value < found.rate.high
    assert (found.rate.n, found.sensitivity.n, found.specificity.n) == (20, 5, 5)


class TestWithoutACorrectedRate:
    def test_no_labels(self) -> None:
        found = corrected([1, 0], [NAN, NAN])
        assert found.rate.value is None
        assert "labels" in found.told
        assert found.reported.value == 0.5

    def test_a_class_without_labelled_texts(self) -> None:
        assert corrected([1, 0, 1], [1, 1, NAN]).rate.value is None
        assert "every judged text passes" in corrected([1, 0, 1], [1, 1, NAN]).told
        assert "no judged text passes" in corrected([1, 0, 1], [0, 0, NAN]).told

    def test_a_judge_that_tells_nothing(self) -> None:
        found = corrected([1, 0, 1, 0], [1, 1, 0, 0])  # passes half of the good and half of the bad
        assert found.rate.value is None
        assert found.rate.low is None
        assert "tell nothing" in found.told

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


def test_a_rate_outside_0_to_1_is_cut_off_and_says_so() -> None:
    # All 20 unlabelled pass, yet of the labelled good only half do: (0.8 + 1 - 1) / 0.5 = 1.6 before it is cut.
    found = corrected([1, 0, 1, 0, 0, 0] + [1] * 20, [1, 1, 1, 1, 0, 0] + [NAN] * 20)
    assert found.rate.value == 1.0
    assert found.clipped


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "n", "labelled"),
    [(0.7, 0.9, 0.8, 400, 60), (0.6, 0.9, 0.9, 40, 40), (0.5, 0.7, 0.7, 300, 200), (0.85, 0.95, 0.6, 200, 80)],
)
def test_the_interval_covers_the_truth_about_95_times_in_100(
    rate: float, sensitivity: float, specificity: float, n: int, labelled: int
) -> None:
    random = np.random.default_rng(17)
    covered = []
    for _ in range(500):
        good = random.random(n) < rate
        passed = np.where(good, random.random(n) < sensitivity, random.random(n) >= specificity).astype(float)
        labels = np.where(np.arange(n) < labelled, good.astype(float), NAN)
        found = corrected_pass_rate(passed, labels, np.arange(n)).rate
        if found.low is not None and found.high is not None:
            covered.append(found.low <= rate <= found.high)
    assert len(covered) > 490
    assert 0.92 <= np.mean(covered) <= 0.985


def test_repeats_of_a_case_are_not_new_evidence() -> None:
    passed, labels = [1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    once = corrected(passed, labels).rate
    case = np.repeat(np.arange(8), 5)
    often = corrected_pass_rate(np.repeat(np.array(passed) * 1.0, 5), np.repeat(np.array(labels) * 1.0, 5), case).rate
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.1)
