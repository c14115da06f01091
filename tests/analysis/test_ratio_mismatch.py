"""Chi-square tests of counts, held against scipy.stats."""

import pytest

from steelyard.analysis.ratio_mismatch import MISMATCH, independence_p, ratio_p


@pytest.mark.parametrize(
    ("counts", "shares", "p"),
    [
        ([5100, 4900], [0.5, 0.5], 0.04550026389635857),
        ([219, 0], [0.5, 0.5], 1.494552928147418e-49),
        ([910, 90], [0.9, 0.1], 0.29184054514378543),
        ([40, 35, 25], [0.5, 0.3, 0.2], 0.12981217685543797),
    ],
)
def test_counts_against_the_meant_shares(counts, shares, p):
    # The p-values are those of `scipy.stats.chisquare`, with the shares times the total as what is expected.
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
