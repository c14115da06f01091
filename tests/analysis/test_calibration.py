"""Calibration errors against figures by hand and against scikit-learn, and how honest their intervals are."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from parts.claims import alone, analysed
from parts.lengths import simulations
from steelyard.analysis.calibration import bin_of, calibrate


def calibration(*groups, **rules):
    return analysed(alone(*groups), **rules).overall.calibration


def drawn(seed, n_cases=60, each=8, shift=0.0):
    """Confidences that are too high by `shift`, with the case each belongs to."""
    lot = np.random.default_rng(seed)
    confidence = lot.beta(4, 1.5, size=n_cases * each)
    right = lot.random(len(confidence)) < confidence - shift
    return confidence, right, np.repeat(np.arange(n_cases), each)


def test_the_expected_error_is_the_weighted_mean_of_the_gaps():
    # Bin 0.9-1.0: 20 x 0.95 = 19 said, 15 right. Bin 0.5-0.6: 10 x 0.55 = 5.5 said, 5 right. (4 + 0.5) / 30 = 0.15
    found = calibration((0.95, 15, 5), (0.55, 5, 5))
    assert found.ece.value == pytest.approx(0.15)
    assert (found.ece.n, len(found.bins)) == (30, 10)


def test_the_maximum_error_is_the_widest_gap_with_its_bin():
    # |0.95 - 15/20| = 0.20 and |0.55 - 5/10| = 0.05
    found = calibration((0.95, 15, 5), (0.55, 5, 5))
    assert found.mce.value == pytest.approx(0.20)
    assert (found.widest, found.bins[9].low, found.bins[9].high) == (9, 0.9, 1.0)


def test_a_bin_of_few_claims_is_no_widest_gap():
    # The single claim at 0.05 is right: a gap of 0.95 that says nothing.
    found = calibration((0.95, 15, 5), (0.05, 1, 0))
    assert found.mce.value == pytest.approx(0.20)
    assert (found.mce.n, found.mce.n_missing) == (20, 1)
    assert calibration((0.95, 5, 4)).mce.value is None
    assert calibration((0.95, 5, 4)).mce.n_missing == 9


def test_opposite_gaps_in_two_bins_do_not_cancel():
    # Too sure by 0.4 in one bin, not sure enough by 0.4 in the other.
    assert calibration((0.9, 5, 5), (0.1, 5, 5)).ece.value == pytest.approx(0.4)


def test_bins_hold_mean_confidence_share_right_and_n():
    found = calibration((0.72, 4, 0), (0.78, 0, 4)).bins[7]
    assert (found.confidence, found.right.value, found.right.n) == (pytest.approx(0.75), 0.5, 8)
    empty = calibration((0.72, 4, 0)).bins[0]
    assert (empty.confidence, empty.right.value, empty.right.n) == (None, None, 0)


@pytest.mark.parametrize("n_bins", [5, 10, 15, 20])
def test_every_boundary_belongs_to_the_upper_bin(n_bins):
    edges = np.array([edge / n_bins for edge in range(n_bins + 1)])
    assert bin_of(edges, n_bins).tolist() == [*range(n_bins), n_bins - 1]


@pytest.mark.parametrize("n_bins", [5, 10, 15])
def test_scikit_learn_finds_the_same_bins_and_error(n_bins):
    confidence, right, case = drawn(3, shift=0.1)
    found = calibrate(confidence, right, case, n_bins)
    shares, means = calibration_curve(right, confidence, n_bins=n_bins, strategy="uniform")
    full = [each for each in found.bins if each.right.n]
    assert [each.right.value for each in full] == pytest.approx(shares)
    assert [each.confidence for each in full] == pytest.approx(means)
    weights = np.histogram(confidence, np.linspace(0, 1, n_bins + 1))[0]
    assert found.ece.value == pytest.approx(np.average(np.abs(shares - means), weights=weights[weights > 0]))


def test_one_case_alone_gives_no_interval():
    found = analysed([[(0.95, True)] * 30]).overall.calibration
    assert found.ece.value == pytest.approx(0.05)
    assert (found.ece.low, found.ece.high, found.by_chance) == (None, None, None)


def test_the_interval_is_the_same_every_time_and_holds_the_value():
    first, second = (calibrate(*drawn(4, shift=0.2), 10) for _ in range(2))
    assert first == second
    assert 0 < first.ece.low < first.ece.value < first.ece.high < 1
    assert first.mce.low < first.mce.value < first.mce.high


@pytest.mark.simulation
def test_perfect_confidences_are_not_called_ill_calibrated():
    # A plain percentile interval would lie above 0 in every one of these.
    found = [calibrate(*drawn(seed), 10) for seed in range(simulations(60, 20))]
    assert sum(each.ece.low == 0 for each in found) >= 0.9 * len(found)
    assert all(each.ece.value > 0 for each in found)
    ratio = np.mean([each.ece.value for each in found]) / np.mean([each.by_chance for each in found])
    assert 0.8 < ratio < 1.25


@pytest.mark.simulation
def test_confidences_that_are_too_high_are_called_so():
    # Every confidence is 0.2 too high, so the true error is 0.2.
    found = [calibrate(*drawn(seed, shift=0.2), 10).ece for seed in range(simulations(60, 20))]
    assert all(each.low > 0 for each in found)
    # 95 % of 60 less three of them, and of 20 less one.
    assert sum(each.low <= 0.2 <= each.high for each in found) >= 0.9 * len(found)


def test_very_many_cases_are_drawn_in_blocks_with_the_same_interval():
    # Of independent claims the interval shrinks with the root of n: 2,000 cases against the 400 that are drawn singly.
    few, many = (calibrate(*drawn(8, n_cases=n, shift=0.2), 10).ece for n in (400, 2000))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(5**0.5, rel=0.25)
