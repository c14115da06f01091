"""The corrected pass rate by hand, at its edges, and by how often its interval covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.analysis.judge.model import Trials, corrected_pass_rate, lang_reiczigel, rogan_gladen

NAN = math.nan


def corrected(passed: list[float], labels: list[float], *, chosen: bool = False):
    columns = np.array(passed, dtype=float), np.array(labels, dtype=float), np.arange(len(passed))
    return corrected_pass_rate(*columns, chosen=chosen)


def counted(both: int, label: int, judge: int, neither: int, others_pass: int, others: int):
    """By how many labelled texts pass by both, by the label alone, by the judge alone, by neither, and the others."""
    labels = [1.0] * (both + label) + [0.0] * (judge + neither) + [NAN] * others
    passed = [1.0] * both + [0.0] * label + [1.0] * judge + [0.0] * neither
    return corrected(passed + [1.0] * others_pass + [0.0] * (others - others_pass), labels)


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


class TestLabelsThatAreNoRandomPart:
    def test_labels_that_were_chosen_give_only_the_error_rates(self) -> None:
        found = corrected([1, 1, 1, 0, 1, 0, 0, 0] + [1] * 6 + [0] * 6, [1] * 4 + [0] * 4 + [NAN] * 12, chosen=True)
        assert found.method == "Rogan-Gladen"
        assert found.rate.value == pytest.approx((0.5 + 0.75 - 1) / 0.5)
        assert "the suite says that they were chosen" in found.why

    def test_labels_of_texts_that_the_judge_passes_far_more_often_are_not_random(self) -> None:
        found = counted(45, 5, 5, 5, 100, 400)
        assert found.method == "Rogan-Gladen"
        assert "the judge passes 83.3 % of the labelled and 25.0 % of the other texts" in found.why


def test_by_hand_with_some_labelled() -> None:
    # 12 of 20 pass. Labelled: of 5 good 4 pass, of 5 bad 4 do not. (0.6 + 0.8 - 1) / 0.6 = 2 / 3.
    passed = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0] + [1] * 7 + [0] * 3
    labels = [1] * 5 + [0] * 5 + [NAN] * 10
    found = corrected(passed, labels, chosen=True)
    assert found.rate.value == pytest.approx(2 / 3)
    assert found.rate.low < found.rate.value < found.rate.high
    assert (found.rate.n, found.sensitivity.n, found.specificity.n) == (20, 5, 5)


class TestWithoutACorrectedRate:
    def test_no_labels(self) -> None:
        found = corrected([1, 0], [NAN, NAN])
        assert found.rate.value is None
        assert "labels" in found.message
        assert found.reported.value == 0.5

    def test_a_class_without_labelled_texts(self) -> None:
        assert corrected([1, 0, 1], [1, 1, NAN], chosen=True).rate.value is None
        assert "every judged text passes" in corrected([1, 0, 1], [1, 1, NAN], chosen=True).message
        assert "no judged text passes" in corrected([1, 0, 1], [0, 0, NAN], chosen=True).message

    def test_a_judge_that_tells_nothing(self) -> None:
        # Passes half of the good and half of the bad.
        found = corrected([1, 0, 1, 0, 1], [1, 1, 0, 0, NAN], chosen=True)
        assert found.rate.value is None
        assert found.rate.low is None
        assert "no information" in found.message

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
    found = corrected([1, 0, 1, 0, 0, 0] + [1] * 20, [1, 1, 1, 1, 0, 0] + [NAN] * 20, chosen=True)
    assert found.rate.value == 1.0
    assert found.clipped


@pytest.mark.parametrize(
    ("right", "n_labels", "chosen"),
    [(0.5, 30, False), (0.8, 30, False), (0.8, 100, False), (0.95, 50, False), (0.8, 100, True)],
)
def test_the_interval_covers_the_truth_about_95_times_in_100(right: float, n_labels: int, chosen: bool) -> None:
    random, n, rate = np.random.default_rng(17), 4 * n_labels, 0.6
    covered = []
    for _ in range(150):
        good = random.random(n) < rate
        passed = np.where(random.random(n) < right, good, ~good).astype(float)
        labels = np.where(np.arange(n) < n_labels, good.astype(float), NAN)
        found = corrected_pass_rate(passed, labels, np.arange(n), chosen=chosen).rate
        covered.append(found.low <= rate <= found.high)
    # 150 draws of 95 % give 136 to 149 in 99 of 100 seeds; docs/trust.md has the figures of many more.
    assert 0.90 <= np.mean(covered) <= 1.0


def test_repeats_of_a_case_are_not_new_evidence() -> None:
    passed, labels = [1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    once = corrected(passed, labels).rate
    case = np.repeat(np.arange(8), 5)
    often = corrected_pass_rate(np.repeat(np.array(passed) * 1.0, 5), np.repeat(np.array(labels) * 1.0, 5), case).rate
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.1)
