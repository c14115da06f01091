"""Thresholds: by the rule of one half, and by what claims are worth."""

import pytest

from parts.claims import alone, analysed
from steelyard.analysis.confidence_thresholds import Split


def raised(*groups):
    return analysed(alone(*groups)).overall.raised


def best(*groups, right=1.0, wrong=-1.0):
    rules = {
        "buckets": [{"name": "all", "at_least": 0.0}],
        "utility": {"right": right, "wrong": wrong},
        "bins": 10,
    }
    return analysed(alone(*groups), **rules).overall.best


class TestTheRuleOfOneHalf:
    def test_a_bucket_with_more_than_half_wrong_raises_the_threshold_above_it(self):
        found = raised((0.9, 30, 5), (0.7, 20, 10), (0.3, 4, 36))
        assert (found.bucket, found.above, found.threshold, found.n, found.sure) == ("low", 0.0, 0.6, 40, True)
        assert found.split == Split(right_kept=50, wrong_kept=15, right_lost=4, wrong_dropped=36)
        assert "36 of 40 claims with low confidence are wrong (90.0 %): raise the threshold above 0" in found.reason

    def test_of_several_buckets_the_surest_counts(self):
        found = raised((0.9, 30, 5), (0.7, 5, 20), (0.3, 4, 36))
        assert (found.bucket, found.above, found.threshold) == ("medium", 0.6, 0.8)
        assert found.split == Split(right_kept=30, wrong_kept=5, right_lost=9, wrong_dropped=56)

    def test_exactly_half_is_not_above_half(self):
        found = raised((0.3, 20, 20))
        assert (found.threshold, found.bucket, found.n) == (None, None, 40)
        assert "in no bucket are more than half of the claims wrong" in found.reason

    def test_fewer_than_ten_claims_give_no_recommendation(self):
        found = raised((0.3, 0, 9), (0.9, 20, 0))
        assert found.threshold is None
        assert "not enough data to tell: fewer than 10 claims in medium (0), low (9)" in found.reason
        assert raised((0.3, 0, 10), (0.9, 20, 0)).threshold == 0.6

    def test_a_run_of_few_claims_says_that_they_are_too_few(self):
        found = raised((0.3, 1, 2), (0.9, 2, 0))
        assert found.reason.startswith("not enough data: fewer than 10 claims in high (2), medium (0), low (3)")

    def test_a_rate_that_may_be_luck_is_said_to_be(self):
        # 11 of 20: Wilson's interval is 34.2 to 74.2 %.
        found = raised((0.3, 9, 11))
        assert (found.threshold, found.sure) == (0.6, False)
        assert "may be luck" in found.reason

    def test_where_the_surest_claims_are_wrong_no_threshold_fixes_it(self):
        found = raised((0.9, 5, 25), (0.3, 20, 0))
        assert (found.bucket, found.above, found.threshold) == ("high", 0.8, 1.0)
        assert "no threshold fixes this" in found.reason


class TestTheBestThreshold:
    def test_it_drops_what_costs_more_than_it_is_worth(self):
        # Worth of all below 0.6: 4 - 35 = -31; of all below 0.9: 5 - 37 = -32, so dropping these gains 32 a 100.
        found = best((0.9, 50, 8), (0.6, 1, 2), (0.3, 4, 35))
        assert (found.threshold.value, found.gain.value) == (0.9, pytest.approx(32 / 100))
        assert found.split == Split(right_kept=50, wrong_kept=8, right_lost=5, wrong_dropped=37)

    def test_a_wrong_claim_may_cost_more_than_a_right_one_is_worth(self):
        groups = ((0.9, 40, 2), (0.5, 20, 12))
        assert best(*groups).threshold.value == 0.0
        # 20 right and 12 wrong at -3: 20 - 36 = -16, so dropping them gains 16 of 74 claims.
        found = best(*groups, wrong=-3.0)
        assert (found.threshold.value, found.gain.value) == (0.9, pytest.approx(16 / 74))

    def test_of_thresholds_that_are_worth_the_same_the_lowest_keeps_the_most(self):
        # The claims at 0.5 are worth 10 - 10 = 0.
        assert best((0.9, 40, 2), (0.5, 10, 10)).threshold.value == 0.0

    def test_keeping_everything_is_said_in_words(self):
        found = best((0.9, 40, 12), (0.5, 20, 1))
        assert (found.threshold.value, found.gain.value) == (0.0, 0.0)
        assert found.split == Split(right_kept=60, wrong_kept=13, right_lost=0, wrong_dropped=0)
        assert "keeping every claim" in found.reason

    def test_where_no_claim_is_worth_keeping_there_is_no_threshold(self):
        found = best((0.9, 10, 30), (0.5, 2, 30))
        assert found.threshold.value is None
        assert found.split == Split(right_kept=0, wrong_kept=0, right_lost=12, wrong_dropped=60)
        assert "no claim is worth keeping" in found.reason

    @pytest.mark.parametrize("groups", [((0.9, 100, 0), (0.3, 0, 9)), ((0.9, 9, 0), (0.3, 0, 100))])
    def test_fewer_than_ten_right_or_wrong_claims_are_not_enough_data(self, groups):
        found = best(*groups)
        assert (found.threshold.value, found.split, found.gain.value) == (None, None, None)
        assert found.reason.startswith("not enough data")
        assert "10 of each" in found.reason

    def test_a_clear_cut_has_a_narrow_interval_and_a_sure_gain(self):
        found = best((0.9, 60, 2), (0.3, 2, 60))
        assert (found.threshold.value, found.threshold.low, found.threshold.high) == (0.9, 0.9, 0.9)
        assert found.gain.low > 0
        assert found.gain.value == pytest.approx(58 / 124)
        assert found.reason == "keeping claims with confidence 0.9 and above has the highest utility"

    def test_a_gain_that_may_be_nothing_for_other_claims_is_not_enough_data(self):
        # The claims at 0.5 are wrong in 16 of 30 cases: they cost 2 here, and anything elsewhere.
        found = best((0.9, 40, 2), (0.5, 14, 16))
        assert (found.threshold.value, found.gain.value) == (0.9, pytest.approx(2 / 72))
        assert found.threshold.low == 0.0
        assert found.gain.low < 0
        assert "not enough data" in found.reason

    def test_one_case_alone_gives_a_threshold_without_an_interval(self):
        found = analysed([[(0.9, True)] * 20 + [(0.3, False)] * 20]).overall.best
        assert (found.threshold.value, found.threshold.low, found.gain.low) == (0.9, None, None)
        assert "one case" in found.reason

    def test_of_very_many_confidences_hundredths_are_tried(self):
        # Wrong below 0.425: 0.42 drops 420 wrong ones, 0.43 drops 425 and loses 5 right ones. The lower keeps more.
        claims = [[(i / 1000, i >= 425)] for i in range(1000)]
        found = analysed(claims).overall.best
        assert found.threshold.value == 0.42
        assert found.split == Split(right_kept=575, wrong_kept=5, right_lost=0, wrong_dropped=420)
