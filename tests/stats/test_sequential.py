"""Intervals that hold at all looks at once: by hand, by another way to compute them, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from steelyard.stats.sequential import (
    FEWEST_WITHOUT_ENDS,
    Watch,
    asymptotic_mean,
    betting_interval,
    mixture_radius,
    sequential_mean,
)

DIFFERENCES = st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.2, 1.0]), min_size=2, max_size=25)
ROUNDING = 1e-9
few_examples = settings(max_examples=examples(25))


def pass_or_fail(draw, n):
    return draw.choice([-1.0, 0.0, 1.0], size=n, p=[0.1, 0.8, 0.1])


def any_score(draw, n):
    return draw.uniform(-1, 1, n)


def seldom_and_far(draw, n):
    return np.where(draw.random(n) < 0.05, -0.95, 0.05)


NULLS = [pass_or_fail, any_score, seldom_and_far]


@pytest.mark.parametrize("differences", NULLS)
def test_looking_after_every_case_finds_a_difference_where_there_is_none_in_at_most_5_of_100(differences):
    # What is summed up looks after every case, as the watch does; a test below holds one against the other.
    draw = np.random.default_rng(7)
    found = sum(sequential_mean(differences(draw, 100)).decided_at is not None for _ in range(100))
    assert found <= 0.05 * 100


def test_a_fixed_test_looked_at_after_every_case_would_find_one_far_more_often():
    # What the test above would show if the always-valid test were an ordinary one: Student's t at every look.
    draw = np.random.default_rng(7)
    n = np.arange(2, 151)
    found = 0
    for _ in range(200):
        x = any_score(draw, 150)
        mean, squares = np.cumsum(x)[1:] / n, np.cumsum(x * x)[1:]
        error = np.sqrt((squares / n - mean**2) / (n - 1))
        found += bool((np.abs(mean / error) > 1.98)[8:].any())
    assert found > 0.15 * 200


@pytest.mark.parametrize(("skew", "mean"), [(0.3, 0.3), (0.05, -0.05)])
def test_the_true_mean_lies_inside_at_all_looks_at_once(skew, mean):
    draw = np.random.default_rng(11)
    missed = 0
    for _ in range(60):
        x = np.where(draw.random(120) < abs(skew), math.copysign(1.0, mean), 0.0)
        ends = [betting_interval(x[:n]) for n in (10, 40, 120)]
        missed += any(not low <= mean <= high for low, high in ends)
    assert missed <= 0.05 * 60


def capital(n, value=0.5):
    """What half of the capital has become after `n` wins of 1, worked out stake by stake."""
    shares = [1 / ((k + 1) * (k + 2)) for k in range(13)]
    owned = [share * (1 + 0.75 / value * 0.5**k * (1 - value)) ** n for k, share in enumerate(shares)]
    return 0.5 * sum(owned) / sum(shares)


def test_eight_cases_that_all_agree_decide():
    # The boldest stake, on which 7/13 of the capital is set, multiplies by 1.75 with each win, the next by 1.375, ...:
    # 0.5 * (7/13 * 1.75^8 + 7/39 * 1.375^8 + ...) = 0.5 * (47.4 + 2.3 + ...) > 20 = 1 / 0.05, and after seven wins it
    # is below.
    assert capital(7) < 20 < capital(8)
    watch = Watch()
    assert [watch.add(1.0) for _ in range(8)] == [False] * 7 + [True]
    assert watch.decided_at == 8
    assert sequential_mean(np.full(8, 1.0)).p == pytest.approx(1 / capital(8))


def test_the_other_way_round_is_the_mirror_image():
    x = np.array([0.4, -0.2, 1.0, 0.0, 0.3, 0.9, 0.8, 0.7, 0.1])
    low, high = betting_interval(x)
    mirrored = betting_interval(-x)
    assert mirrored == pytest.approx((-high, -low))


@few_examples
@given(DIFFERENCES)
def test_the_interval_is_all_values_that_no_gambler_has_excluded(differences):
    # Another way to compute it: the definition, value by value and stake by stake, without halving or logarithms.
    x = [(one + 1) / 2 for one in differences]

    def owned(value, sign):
        most = 0.75 / (value if sign > 0 else 1 - value)
        shares = [1 / ((k + 1) * (k + 2)) for k in range(13)]
        ways = [math.prod(1 + sign * most * 0.5**k * (one - value) for one in x) for k in range(13)]
        return 0.5 * sum(share * way for share, way in zip(shares, ways, strict=True)) / sum(shares)

    low, high = betting_interval(np.array(differences))
    for value in np.linspace(0.02, 0.98, 25):
        excluded = max(owned(value, 1), owned(value, -1)) >= 20
        difference = 2 * value - 1
        assert excluded == (difference < low + ROUNDING or difference > high - ROUNDING)


@few_examples
@given(DIFFERENCES, st.randoms())
def test_the_order_does_not_matter_to_the_interval(differences, shuffle):
    turned = list(differences)
    shuffle.shuffle(turned)
    assert betting_interval(np.array(turned)) == betting_interval(np.array(differences))


@few_examples
@given(DIFFERENCES)
def test_what_is_watched_and_what_is_summed_up_decide_at_the_same_case(differences):
    watch, first = Watch(), None
    for n, one in enumerate(differences, 1):
        watch.add(one)
        low, high = betting_interval(np.array(differences[:n]))
        if first is None and not low < 0 < high:
            first = n
    assert watch.decided_at == first
    found = sequential_mean(np.array(differences))
    assert found.decided_at == first
    assert (found.low > 0 or found.high < 0) == (first is not None)


def test_a_decision_stays_one_when_later_cases_pull_the_other_way():
    x = np.array([1.0] * 8 + [-1.0] * 4)
    assert betting_interval(x)[0] < 0
    found = sequential_mean(x)
    assert found.decided_at == 8
    assert found.low > 0


def test_arms_that_are_close_are_the_same_once_both_margins_are_excluded():
    watch = Watch(same_within=0.2)
    for _ in range(200):
        watch.add(0.0)
    assert watch.decided_at is not None
    low, high = betting_interval(np.zeros(watch.decided_at))
    assert -0.2 <= low < 0 < high <= 0.2
    earlier = betting_interval(np.zeros(watch.decided_at - 1))
    assert earlier[1] > 0.2
    without = Watch()
    assert not any(without.add(0.0) for _ in range(200))


def test_margins_that_were_excluded_at_two_moments_are_both_left_out():
    # Above -0.2 is shown early, below 0.2 late, and by then the interval reaches beyond -0.2 again.
    x = np.array([1.0] * 4 + [0.0] * 20 + [-1.0] * 9)
    watch = Watch(same_within=0.2)
    decided = [watch.add(one) for one in x]
    assert (decided[-1], decided[-2]) == (True, False)
    assert betting_interval(x)[0] < -0.2
    found = sequential_mean(x, 0.2)
    assert found.decided_at == len(x)
    assert -0.2 < found.low < found.high < 0.2


def test_below_two_differences_it_is_undefined():
    found = sequential_mean(np.array([1.0]))
    assert (found.low, found.high, found.p) == (None, None, None)


def test_the_normal_mixture_is_as_its_authors_wrote_it():
    # n = planned = 300, alpha 0.05: rho^2 = (-2 ln 0.05 + ln(1 - 2 ln 0.05)) / 300 = (5.991465 + 1.944690) / 300
    # = 0.02645385, n rho^2 + 1 = 8.936155,
    # sqrt(2 * 8.936155 / (300^2 * 0.02645385) * ln(sqrt(8.936155) / 0.05)) = sqrt(0.00750675 * 4.090768)
    assert mixture_radius(300, 300) == pytest.approx(math.sqrt(0.00750675 * 4.090768), rel=1e-5)
    # Fewer that are planned make it no tighter for few.
    assert mixture_radius(60, 10) == mixture_radius(60, 300)


@pytest.mark.parametrize("shape", ["symmetric", "skewed"])
def test_a_mean_without_ends_lies_inside_at_all_looks_at_once(shape):
    draw = np.random.default_rng(3)
    n = np.arange(1, 601)
    radius = np.array([mixture_radius(int(k), 300) for k in n])
    missed = 0
    for _ in range(400):
        x = (
            draw.lognormal(0, 1, 600) - draw.lognormal(0, 1, 600)
            if shape == "symmetric"
            else draw.exponential(1, 600) - 1
        )
        mean = np.cumsum(x) / n
        spread = np.sqrt(np.maximum(np.cumsum(x * x) / n - mean**2, 0) * n / np.maximum(n - 1, 1))
        outside = np.abs(mean) > radius * spread
        missed += bool(outside[FEWEST_WITHOUT_ENDS - 1 :].any())
    # Asymptotic: of 1,500 simulations of the skewed ones 5.1 % missed.
    assert missed <= 0.06 * 400


def test_a_mean_without_ends_is_undefined_for_few_differences_and_without_spread():
    draw = np.random.default_rng(3)
    assert asymptotic_mean(draw.normal(size=FEWEST_WITHOUT_ENDS - 1), 100).low is None
    assert asymptotic_mean(np.full(100, 0.3), 100).low is None
    # Lyapunov's ratio of normal values is 1.6 / sqrt(n): 0.15 and less from 113 on.
    assert asymptotic_mean(draw.normal(2, 1, 60), 100).low is None
    x = draw.normal(2, 1, 200)
    found = asymptotic_mean(x, 100)
    half = x.std(ddof=1) * mixture_radius(200, 100)
    assert (found.low, found.high) == pytest.approx((x.mean() - half, x.mean() + half))
