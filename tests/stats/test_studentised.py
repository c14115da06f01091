"""The studentised bootstrap against a plain one, drawn case by case."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from steelyard.stats.intervals import mean_interval, studentised
from steelyard.stats.paired import paired_mean
from steelyard.stats.resampling import RESAMPLES, SEED

VALUES = np.array([0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.4, 2.1, 3.3, 6.0])


def plainly(values: np.ndarray) -> tuple[float, float]:
    """Draw, subtract the mean, divide by each resample's own standard error; values are in order."""
    n = len(values)
    picked = np.random.default_rng(SEED).integers(0, n, size=(RESAMPLES, n))
    ratios = sorted((values[row].mean() - values.mean()) / stats.sem(values[row]) for row in picked)
    # (1000 + 1) x 2.5 % is the 25th from either end.
    error = stats.sem(values)
    return values.mean() - ratios[-25] * error, values.mean() - ratios[24] * error


def test_skewed_values_get_the_bootstraps_end_on_one_side_and_students_on_the_other():
    low, high = plainly(VALUES)
    student = stats.t.interval(0.95, 11, VALUES.mean(), stats.sem(VALUES))
    assert student[0] < low
    assert high > student[1] + 0.5
    assert studentised(VALUES, np.ones(12)) == pytest.approx((student[0], high), rel=1e-9)
    assert studentised(-VALUES, np.ones(12)) == pytest.approx((-high, -student[0]), rel=1e-9)


def test_the_order_of_cases_and_the_time_of_day_change_nothing():
    shuffled = np.random.default_rng(1).permutation(VALUES)
    assert studentised(shuffled, np.ones(12)) == pytest.approx(studentised(VALUES, np.ones(12)), rel=1e-12)
    assert studentised(VALUES, np.ones(12)) == studentised(VALUES, np.ones(12))


def test_equal_repeats_of_a_case_are_the_same_as_one():
    once, thrice = studentised(VALUES, np.ones(12)), studentised(3 * VALUES, np.full(12, 3))
    assert thrice == pytest.approx(once, rel=1e-9)


def test_few_and_many_cases_have_students_interval():
    for values in (VALUES[:4], np.random.default_rng(2).exponential(1, 201)):
        expected = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        assert studentised(values, np.ones(len(values))) == pytest.approx(expected, rel=1e-9)


def test_cases_of_unlike_size_are_worth_fewer_degrees_of_freedom():
    # Sizes 1, 1 and 4 are worth 6 * 6 / (1 + 1 + 16) = 2 cases by Kish: one degree of freedom, not two. The mean is
    # 9 / 6, residuals are -1.5, -0.5 and 2, and the standard error is sqrt(3 / 2 * 6.5) / 6.
    half = stats.t.ppf(0.975, 1) * math.sqrt(9.75) / 6
    assert studentised(np.array([0.0, 1.0, 8.0]), np.array([1, 1, 4])) == pytest.approx((1.5 - half, 1.5 + half))


def test_what_has_no_spread_has_no_interval():
    assert studentised(np.full(10, 0.3), np.ones(10)) is None
    assert studentised(np.array([0.3]), np.ones(1)) is None


def test_where_most_did_not_move_two_cases_are_added():
    # 3 of 10 moved, by 0.2, 0.3 and -0.3: the farthest of 3 is 3/4 of the way to the end, 0.4. With one more at +0.4
    # and one at -0.4 there are 12 of mean 0.2 / 12.
    moves = np.array([0.2, 0.3, -0.3] + [0.0] * 7)
    more = np.array([*moves, 0.4, -0.4])
    expected = stats.t.interval(0.95, 11, more.mean(), stats.sem(more))
    assert mean_interval(moves, np.ones(10)) == pytest.approx(expected, rel=1e-9)
    # The same, each asked twice.
    assert mean_interval(2 * moves, np.full(10, 2)) == pytest.approx(expected, rel=1e-9)
    # On a scale that ends at 0.35 nothing moves farther.
    more = np.array([*moves, 0.35, -0.35])
    assert mean_interval(moves, np.ones(10), 0.35) == pytest.approx(
        stats.t.interval(0.95, 11, more.mean(), stats.sem(more)), rel=1e-9
    )
    # From 5 that moved on they are of average length: sqrt((4 x 0.01 + 0.16) / 5) = 0.2.
    moves = np.array([0.1, 0.1, 0.1, -0.1, 0.4] + [0.0] * 7)
    more = np.array([*moves, 0.2, -0.2])
    assert mean_interval(moves, np.ones(12)) == pytest.approx(
        stats.t.interval(0.95, 13, more.mean(), stats.sem(more)), rel=1e-9
    )


def test_one_direction_is_tested_exactly_however_many_cases_there_are():
    assert paired_mean(VALUES, np.ones(12)).p == 2 * 0.5**12
    assert math.isclose(paired_mean(np.linspace(1, 2, 50), np.ones(50)).p, 2 * 0.5**50)


def test_five_and_two_hundred_cases_are_still_resampled():
    for values in (VALUES[-5:], np.random.default_rng(2).exponential(1, 200)):
        student = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        low, high = studentised(values, np.ones(len(values)))
        assert low == pytest.approx(student[0], rel=1e-9)
        assert high > student[1] + 1e-6


def test_where_half_of_the_cases_moved_none_is_added():
    moves = np.array([0.2, 0.3, -0.3, 0.1, 0.5, 0.2] + [0.0] * 6)
    assert mean_interval(moves, np.ones(12)) == studentised(moves, np.ones(12))


def test_a_share_of_repeats_never_moves_farther_than_all_of_them():
    # One of 10 cases turned in all 3 repeats: the two that are added turned as far, and no farther.
    moves = np.array([1.0] + [0.0] * 9)
    more = np.array([*moves, 1.0, -1.0])
    found = paired_mean(3 * moves, np.full(10, 3), 1.0)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 11, more.mean(), stats.sem(more)), rel=1e-9)
