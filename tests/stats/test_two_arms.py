"""Two groups of units: Welch's test against scipy, and blocks of both as they come."""

import numpy as np
import pytest

from steelyard.stats.two_arms import block_sizes, blocks, welch

A = np.array([3.1, 2.4, 5.0, 4.4, 3.3, 2.8])
B = np.array([4.0, 5.2, 6.1, 3.9])
# From `scipy.stats.ttest_ind` of B and A without equal variances, and its 95 % confidence interval.
WELCH_P = 0.09537780083624528
WELCH_ENDS = (-0.30394281015388147, 2.903942810153881)


def test_welch_is_as_in_scipy():
    low, high, p = welch(A, B, 0.05)
    assert p == pytest.approx(WELCH_P, rel=1e-9)
    assert (low, high) == pytest.approx(WELCH_ENDS, rel=1e-9)


def test_without_spread_or_units_it_is_undefined():
    assert welch(np.ones(5), np.ones(5), 0.05) is None
    assert welch(np.ones(1), B, 0.05) is None


def test_blocks_use_up_arms_of_unequal_shares_alike():
    assert block_sizes(0.5, 0.5) == (1, 1)
    assert block_sizes(0.9, 0.1) == (9, 1)
    assert block_sizes(0.25, 0.75) == (1, 3)
    # 1.5 to 1: blocks of 2 and 1 would leave a quarter of the second arm waiting for ever.
    assert block_sizes(0.6, 0.4) == (3, 2)
    assert block_sizes(0.999, 0.001) == (100, 1)
    first, second = blocks(np.arange(7.0), np.array([10.0, 20.0, 30.0, 40.0]), (2, 1))
    # (0 + 1) / 2, (2 + 3) / 2, (4 + 5) / 2; the seventh and the fourth wait for partners.
    assert first.tolist() == [0.5, 2.5, 4.5]
    assert second.tolist() == [10.0, 20.0, 30.0]
