"""Tests of counts, compared with scipy.stats."""

import pytest

from steelyard.stats.ratio_mismatch import MISMATCH, independence_p, ratio_p


@pytest.mark.parametrize(
    ("counts", "shares", "p"),
    [
        ([5100, 4900], [0.5, 0.5], 0.04658552770494645),
        ([0, 219], [0.5, 0.5], 2.3738919364399497e-66),
        ([910, 90], [0.9, 0.1], 0.31647628278688283),
        ([195, 5], [0.99, 0.01], 0.10349252726157204),
        ([40, 35, 25], [0.5, 0.3, 0.2], 0.12981217685543797),
    ],
)
def test_counts_against_the_meant_shares(counts, shares, p):
    # Of two counts `2 * min(binom.cdf(k, n, share), binom.sf(k - 1, n, share))` of scipy.stats, k the first of them; of
    # three `scipy.stats.chisquare`, with the shares times the total as what is expected.
    assert ratio_p(counts, shares) == pytest.approx(p, rel=1e-9, abs=0)


def test_219_of_219_in_one_arm_is_a_mismatch():
    p = ratio_p([219, 0], [0.5, 0.5])
    assert p is not None
    assert p < MISMATCH


def test_nothing_to_test_is_none():
    assert ratio_p([0, 0], [0.5, 0.5]) is None
    assert independence_p([[10, 0], [12, 0]]) is None


def test_rows_that_have_to_do_with_columns():
    # The p-value is that of `scipy.stats.chi2_contingency` without Yates's correction.
    assert independence_p([[90, 10], [70, 30]]) == pytest.approx(0.00040695201744495946, rel=1e-9)
