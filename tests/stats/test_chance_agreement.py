"""Kappa and alpha against published and hand-worked figures, scikit-learn, krippendorff, and by coverage."""

from __future__ import annotations

import math
from dataclasses import astuple
from functools import partial

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from parts.lengths import simulations, slack
from parts.looped import for_every
from steelyard.stats.agreement import LEVELS, krippendorff_alpha, percent_agreement, weighted_kappa
from steelyard.stats.intervals import Estimate

NAN = math.nan
# Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C: 4 observers, 12 units, with gaps.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)


def made(n: int, seed: int, slip: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    best = random.integers(1, 6, n).astype(float)
    moved = np.where(random.random(n) < slip, random.integers(-2, 3, n), 0)
    return np.clip(best + moved, 1, 5), best


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)]
)
def test_alpha_is_the_published_one(level: str, alpha: float) -> None:
    found = krippendorff_alpha(PUBLISHED, level=level)
    assert found.value == pytest.approx(alpha, abs=5e-5)
    assert (found.n, found.n_missing) == (11, 1)  # the last unit has a single rating


def test_kappa_worked_out_by_hand() -> None:
    best, judge = np.array([1.0, 2, 3, 3]), np.array([1.0, 2, 3, 2])
    # Squared: 1 / 4 seen; of all 16 pairs (6 + 2 + 6 + 6) / 16 = 1.25 by chance; 1 - 0.25 / 1.25.
    assert weighted_kappa(judge, best).value == pytest.approx(0.8)
    # Absolute: 1 / 4 seen; (4 + 2 + 4 + 4) / 16 = 0.875 by chance.
    assert weighted_kappa(judge, best, power=1).value == pytest.approx(5 / 7)


def test_agreement_on_one_text_of_the_rarer_class_shows_little() -> None:
    best = np.array([5.0] * 19 + [1.0])
    found = weighted_kappa(best, best)
    # One text of 20 counts as two: of 0 out of 2, Wilson's upper end is z^2 / (2 + z^2) = 0.6576.
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(2 / (2 + 1.96**2), abs=1e-4), 1.0)


@for_every("seed", range(5))
@for_every("n", [3, 20, 300])
def test_kappa_agrees_with_scikit_learn(n: int, seed: int) -> None:
    judge, best = made(n, seed)
    for power, weights in ((0, None), (1, "linear"), (2, "quadratic")):
        expected = cohen_kappa_score(best.astype(int), judge.astype(int), weights=weights, labels=[1, 2, 3, 4, 5])
        assert weighted_kappa(judge, best, power=power).value == pytest.approx(expected, abs=1e-9)


@for_every("seed", range(5))
@for_every("raters", [2, 3, 6])
def test_alpha_agrees_with_the_krippendorff_package(raters: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.integers(1, 6, 40)
    ratings = np.clip(truth + random.integers(-1, 2, (raters, 40)), 1, 5).astype(float)
    ratings[random.random(ratings.shape) < 0.2] = NAN
    for level in LEVELS:
        expected = krippendorff.alpha(ratings, level_of_measurement=level)
        assert krippendorff_alpha(ratings, level=level).value == pytest.approx(expected, abs=1e-9)


def test_the_interval_is_near_that_of_statsmodels() -> None:
    table = [[69, 5, 3, 0, 0], [9, 51, 3, 6, 0], [5, 5, 61, 9, 6], [0, 3, 11, 48, 10], [0, 0, 6, 8, 82]]
    row, column = np.divmod(np.repeat(np.arange(25), np.ravel(table)), 5)
    found = weighted_kappa(column + 1.0, row + 1.0)
    # statsmodels 0.15.0: cohens_kappa(table, wt="fc"), the large-sample formula of Fleiss, Cohen and Everitt (1969).
    assert found.value == pytest.approx(0.8955126854)
    assert (found.low, found.high) == pytest.approx((0.8688, 0.9222), abs=0.004)


def test_the_interval_is_that_of_a_jackknife_with_a_t_of_few_texts() -> None:
    judge, best = np.array([1, 2, 3, 2, 5, 4]), np.array([1, 2, 3, 3, 4, 4])

    def kappa(stored: np.ndarray) -> float:
        return float(cohen_kappa_score(best[stored], judge[stored], weights="quadratic", labels=[1, 2, 3, 4, 5]))

    n = len(judge)
    without = np.array([kappa(np.arange(n) != left_out) for left_out in range(n)])
    value = kappa(np.arange(n) >= 0)
    # Efron's jackknife: the variance is (n - 1) / n of the sum of squares; then Fisher's z with n - 1 degrees.
    error = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    reach = stats.t.ppf(0.975, n - 1) * error / (1 - value**2)
    found = weighted_kappa(judge.astype(float), best.astype(float))
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(math.tanh(math.atanh(value) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(value) + reach))


@pytest.mark.simulation
@pytest.mark.parametrize("strength", [0.3, 0.9])
def test_the_interval_of_kappa_covers_the_truth_about_95_times_in_100(strength: float) -> None:
    random = np.random.default_rng(3)

    def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
        first, noise = random.standard_normal((2, n))
        second = strength * first + math.sqrt(1 - strength**2) * noise
        cuts = (-1.2, -0.4, 0.4, 1.2)
        return 1.0 + np.digitize(second, cuts), 1.0 + np.digitize(first, cuts)

    truth = weighted_kappa(*pairs(300_000)).value
    n = simulations(600, 150)
    found = [weighted_kappa(*pairs(40)) for _ in range(n)]
    covered = np.mean([each.low <= truth <= each.high for each in found])
    # 0.925 to 0.985 of 600.
    assert 0.95 - slack(0.95, n, 2.8) <= covered <= 0.95 + slack(0.95, n, 3.9)


def test_texts_of_one_case_count_as_one() -> None:
    judge, best = made(30, 11)
    once = weighted_kappa(judge, best)
    case = np.repeat(np.arange(30), 4)
    four_times = weighted_kappa(np.repeat(judge, 4), np.repeat(best, 4), case=case)
    assert (four_times.value, four_times.n) == (pytest.approx(once.value), 120)
    assert (four_times.low, four_times.high) == (pytest.approx(once.low), pytest.approx(once.high))
    as_if_alone = weighted_kappa(np.repeat(judge, 4), np.repeat(best, 4))
    assert as_if_alone.high - as_if_alone.low < 0.7 * (once.high - once.low)


def test_many_clusters_are_walked_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, best = made(200, 5)
    case = np.random.default_rng(1).integers(0, 60, 200)
    ratings = np.stack((judge, best))
    whole = weighted_kappa(judge, best, case=case), krippendorff_alpha(ratings, case=case)
    monkeypatch.setattr("steelyard.stats.agreement._NUMBERS_AT_ONCE", 100)
    assert (weighted_kappa(judge, best, case=case), krippendorff_alpha(ratings, case=case)) == whole


class TestWhatCannotBeTold:
    def test_nothing_is_not_available(self) -> None:
        nothing = np.empty(0)
        assert weighted_kappa(nothing, nothing) == Estimate(None, 0)
        assert krippendorff_alpha(np.empty((2, 0))) == Estimate(None, 0)

    def test_without_any_variance_agreement_is_not_perfect_but_unknown(self) -> None:
        fours = np.full(10, 4.0)
        assert weighted_kappa(fours, fours) == Estimate(None, 10)
        assert krippendorff_alpha(np.stack((fours, fours))) == Estimate(None, 10)

    def test_a_judge_that_always_says_the_same_agrees_no_more_than_chance(self) -> None:
        best = np.array([1.0, 2, 3, 4, 5])
        found = weighted_kappa(np.full(5, 4.0), best)
        assert (found.value, found.low, found.high) == (0.0, None, None)

    def test_perfect_agreement_is_no_certainty(self) -> None:
        best = np.array([1.0, 2, 3, 4, 5, 1])
        # Of 6 texts without a disagreement 39.0 % may disagree (Wilson, 0 of 6): were they by chance, kappa is 0.61.
        found = weighted_kappa(best, best)
        assert (found.value, found.low, found.high) == (1.0, pytest.approx(6 / (6 + 1.96**2), abs=1e-4), 1.0)

    def test_what_is_not_known_is_missing(self) -> None:
        judge, best = np.array([1.0, NAN, 3, 4]), np.array([1.0, 2, NAN, 3])
        assert (weighted_kappa(judge, best).n, weighted_kappa(judge, best).n_missing) == (2, 2)

    def test_a_level_of_measurement_that_does_not_exist(self) -> None:
        with pytest.raises(ValueError, match="ratio"):
            krippendorff_alpha(PUBLISHED, level="circular")

    def test_a_ratio_of_values_below_0(self) -> None:
        with pytest.raises(ValueError, match="-4 is below 0"):
            krippendorff_alpha(PUBLISHED - 5, level="ratio")


class TestPercentAgreement:
    def test_of_the_published_example_by_hand(self) -> None:
        found = percent_agreement(PUBLISHED)
        # Pairs: 3 + 6 * 8 + 3 + 1 = 55 (the last unit has one rating); the same: 3, 3, 6, 6, 6, 0, 6, 3, 6, 3, 1 = 43.
        assert (found.value, found.n, found.n_missing) == (pytest.approx(43 / 55), 55, 1)
        assert 0 < found.low < 43 / 55 < found.high < 1

    def test_of_two_people_it_is_a_rate_with_wilsons_interval(self) -> None:
        first, second = np.array([1.0, 2, 3, 1, 1, 2, 2, 3, 3, 1, NAN]), np.array([1.0, 2, 3, 1, 1, 2, 2, 3, 1, 2, 3])
        found = percent_agreement(np.stack((first, second)))
        # Wilson, 8 of 10: 0.4902 to 0.9433.
        assert (found.value, found.n, found.n_missing) == (0.8, 10, 1)
        assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=5e-5)

    def test_texts_of_one_case_count_as_one(self) -> None:
        judge, best = made(30, 11)
        once = percent_agreement(np.stack((judge, best)))
        thrice = percent_agreement(np.repeat(np.stack((judge, best)), 3, axis=1), case=np.repeat(np.arange(30), 3))
        assert (thrice.value, thrice.n) == (pytest.approx(once.value), 90)
        assert (thrice.low, thrice.high) == (pytest.approx(once.low), pytest.approx(once.high))

    def test_of_nothing_is_not_available(self) -> None:
        assert percent_agreement(np.full((2, 3), NAN)) == Estimate(None, 0, 3)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_who_is_who_and_which_text_comes_first_changes_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    ratings = random.integers(1, 6, (int(random.integers(2, 9)), 12)).astype(float)
    ratings[random.random(ratings.shape) < 0.4] = NAN
    moved = ratings[random.permutation(len(ratings))][:, random.permutation(12)]
    for figure in (percent_agreement, *(partial(krippendorff_alpha, level=level) for level in LEVELS)):
        first, second = figure(ratings), figure(moved)
        assert (first.n, first.n_missing) == (second.n, second.n_missing)
        for ours, theirs in zip(astuple(first)[:5], astuple(second)[:5], strict=True):
            assert ours == theirs or ours == pytest.approx(theirs, abs=1e-9)


def test_a_person_who_labels_nothing_changes_nothing() -> None:
    more = np.vstack((PUBLISHED, np.full(12, NAN)))
    assert percent_agreement(more) == percent_agreement(PUBLISHED)
    assert [krippendorff_alpha(more, level=level) for level in LEVELS] == [
        krippendorff_alpha(PUBLISHED, level=level) for level in LEVELS
    ]


def test_many_values_are_left_out_in_groups_and_the_interval_hardly_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, best = made(3000, 5)
    ratings = np.stack((judge, best))
    whole = weighted_kappa(judge, best), krippendorff_alpha(ratings)
    monkeypatch.setattr("steelyard.stats.agreement._NUMBERS_IN_ALL", 1)
    for ours, grouped in zip(whole, (weighted_kappa(judge, best), krippendorff_alpha(ratings)), strict=True):
        assert (grouped.value, grouped.n) == (ours.value, ours.n)
        assert (grouped.low, grouped.high) == pytest.approx((ours.low, ours.high), abs=0.004)


def test_a_figure_that_stands_on_one_unit_has_no_interval() -> None:
    """Without the third unit both raters give one score alone, and kappa is undefined."""
    found = weighted_kappa(np.array([1.0, 1, 2]), np.array([1.0, 1, 1]), power=0)
    assert found == Estimate(0.0, 3)
