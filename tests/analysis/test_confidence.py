"""Errors by confidence: buckets, Brier score, kinds of claims, and what cannot be used."""

import math
import random
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss

from parts.claims import alone, analysed, claims
from parts.columns import Made, columns, suite
from parts.described import Table, confidence_figures, summarise
from parts.judged import judged_suite


def wilson(hits, n):
    return binomtest(hits, n).proportion_ci(0.95, "wilson")


def named(claims):
    return {bucket.name: bucket for bucket in claims.buckets}


class TestBuckets:
    @pytest.mark.parametrize(
        ("confidence", "bucket"),
        [
            (0.0, "low"),
            (math.nextafter(0.6, 0), "low"),
            (0.6, "medium"),
            (math.nextafter(0.8, 0), "medium"),
            (0.8, "high"),
            (1.0, "high"),
        ],
    )
    def test_a_boundary_belongs_to_the_upper_bucket_alone(self, confidence, bucket):
        found = analysed([[(confidence, True)]]).overall.buckets
        assert [each.name for each in found if each.error_rate.n] == [bucket]
        assert [(each.name, each.low, each.high) for each in found] == [
            ("high", 0.8, 1.0),
            ("medium", 0.6, 0.8),
            ("low", 0.0, 0.6),
        ]

    def test_errors_are_counted_with_their_rate_and_interval(self):
        # High: 15 right, 5 wrong; medium: 4 right, 6 wrong; low: nothing.
        found = named(analysed(alone((0.95, 15, 5), (0.7, 4, 6))).overall)
        assert (found["high"].errors, found["high"].error_rate.value, found["high"].error_rate.n) == (5, 0.25, 20)
        assert (found["high"].error_rate.low, found["high"].error_rate.high) == pytest.approx(wilson(5, 20))
        assert (found["medium"].errors, found["medium"].error_rate.value) == (6, 0.6)
        assert (found["low"].error_rate.value, found["low"].error_rate.n, found["low"].error_rate.low) == (
            None,
            0,
            None,
        )

    def test_claims_of_one_case_are_one_cluster(self):
        # Ten cases with two claims each that share their fate: worth ten claims, not twenty.
        twice = [[(0.9, i >= 3)] * 2 for i in range(10)]
        rate = named(analysed(twice).overall)["high"].error_rate
        assert (rate.value, rate.n) == (0.3, 20)
        assert (rate.low, rate.high) == pytest.approx(wilson(3, 10))

    def test_repeats_of_a_case_are_in_its_cluster(self):
        made = [Made(f"case-{i // 2}", 1.0, repeat=i % 2) for i in range(20)]
        overall = analysed([[(0.9, i >= 6)] for i in range(20)], made).overall
        assert overall.n_cases == 10
        assert (overall.error_rate.low, overall.error_rate.high) == pytest.approx(wilson(3, 10))

    def test_the_suite_says_what_the_buckets_are(self):
        rules = {
            "buckets": [{"name": "sure", "at_least": 0.5}, {"name": "unsure", "at_least": 0.0}],
            "utility": {"right": 1.0, "wrong": -1.0},
            "bins": 4,
        }
        overall = analysed(alone((0.5, 3, 1), (0.49, 0, 2)), **rules).overall
        assert [(each.name, each.errors, each.error_rate.n) for each in overall.buckets] == [
            ("sure", 1, 4),
            ("unsure", 2, 2),
        ]
        assert len(overall.calibration.bins) == 4


class TestWhatCannotBeUsed:
    def test_it_is_counted_and_named_and_never_clamped(self):
        claims = [[(None, True), (math.nan, True), (-0.1, False), (1.01, True), (math.inf, True), (0.9, True)]]
        found = analysed(claims)
        assert found.unusable == {"no confidence": 1, "not a number": 1, "below 0": 1, "above 1": 2}
        assert (found.overall.n, found.overall.n_missing, found.overall.errors) == (1, 5, 0)
        assert sum(bucket.error_rate.n for bucket in found.overall.buckets) == 1
        assert (found.overall.brier.n, found.overall.brier.n_missing) == (1, 5)

    def test_claims_of_inconclusive_samples_are_left_out_and_counted(self):
        made = [Made("a", 1.0), Made("b", None, outcome="judge_failed")]
        found = analysed([[(0.9, True)], [(0.9, False), (0.2, False)]], made)
        assert (found.overall.n, found.overall.errors, found.n_left_out) == (1, 0, 2)

    def test_claims_of_samples_excluded_are_left_out(self):
        described = judged_suite()
        given = columns([Made("a", 1.0), Made("b", 1.0)])
        given.mode, given.modes = np.array([0, 1]), [described["judge"]["mode"], "basic"]
        found = confidence_figures(claims([[(0.9, True)], [(0.9, False)]]), Table(given, described), described)
        assert (found.overall.n, found.overall.errors, found.n_left_out) == (1, 0, 1)

    def test_a_run_in_which_nothing_can_be_used_has_no_figures_but_says_why(self):
        found = analysed([[(None, True)], [(2.0, True)]])
        assert found.unusable == {"no confidence": 1, "above 1": 1}
        assert (found.overall.brier.value, found.overall.calibration.ece.value) == (None, None)
        assert found.overall.best.threshold.value is found.overall.raised.threshold is None


def test_the_brier_score_is_the_mean_squared_distance():
    groups = ((0.95, 15, 5), (0.55, 5, 5))
    # (15 x 0.05^2 + 5 x 0.95^2 + 5 x 0.45^2 + 5 x 0.55^2) / 30 = (0.0375 + 4.5125 + 1.0125 + 1.5125) / 30
    brier = analysed(alone(*groups)).overall.brier
    assert brier.value == pytest.approx(7.075 / 30)
    said = [claim[0][0] for claim in alone(*groups)]
    assert brier.value == pytest.approx(brier_score_loss([claim[0][1] for claim in alone(*groups)], said))
    assert brier.low < brier.value < brier.high
    assert brier.n == 30


def test_kinds_of_claims_have_figures_of_their_own_the_most_frequent_first():
    claims = [[(0.9, True, "role"), (0.9, False, "role"), (0.7, False, "kind"), (None, True, "kind"), (0.1, True, "")]]
    found = analysed(claims * 3)
    assert list(found.labels) == ["kind", "role", "(none)"]
    assert (found.labels["role"].n, found.labels["role"].errors, found.labels["role"].n_missing) == (6, 3, 0)
    assert (found.labels["kind"].n, found.labels["kind"].n_missing) == (3, 3)
    assert (found.n_labels, sum(each.n for each in found.labels.values())) == (3, found.overall.n)


def test_claims_without_kinds_have_no_table_of_them():
    assert (analysed([[(0.9, True)]]).labels, analysed([[(0.9, True)]]).n_labels) == ({}, 0)


def test_a_run_without_claims_has_no_confidence():
    given = columns([Made("a", 1.0)])
    assert summarise(given, suite()).confidence is None
    assert summarise(given, suite(), claims=claims([[]])).confidence is None


def test_a_summary_holds_what_its_claims_are_worth():
    summary = summarise(columns([Made("a", 1.0)]), suite(), claims=claims([[(0.9, False)]]))
    assert summary.overall["confidence.errors"].value == 1


def test_the_order_of_samples_and_claims_changes_nothing():
    lot = random.Random(5)
    made = [Made(f"case-{i // 3:03d}", 1.0, repeat=i % 3) for i in range(90)]
    claims = [[(round(lot.random(), 2), lot.random() < 0.6, lot.choice("ab")) for _ in range(6)] for _ in made]
    expected = asdict(analysed(claims, made))
    order = list(range(90))
    lot.shuffle(order)
    shuffled = [lot.sample(claims[i], len(claims[i])) for i in order]
    assert asdict(analysed(shuffled, [made[i] for i in order])) == expected
