"""Where a series changed its level: by permutation, reproducible, and never across another signature unsaid."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples, simulations, slack
from steelyard.stats.change_points import FEWEST_RUNS, Series, _cut, find_change_points

LOW = [0.80, 0.81, 0.79, 0.80, 0.82, 0.80]
HIGH = [0.90, 0.91, 0.89, 0.90, 0.92, 0.90]


def one(values, breaks=()):
    return find_change_points([Series("average", values, breaks)])


def test_a_step_is_found_at_its_first_run_with_both_levels():
    (point,) = one([*LOW, *HIGH])
    assert (point.at, point.n_before, point.n_after, point.at_break) == (6, 6, 6, False)
    # 4.82 / 6 and 5.42 / 6.
    assert (point.before, point.after) == (pytest.approx(4.82 / 6), pytest.approx(5.42 / 6))
    assert point.p < 0.05


def test_the_p_value_is_the_share_of_orders_that_can_be_cut_as_clearly():
    values = np.array([0.1, 0.2, 0.15, 0.12, 0.6, 0.5, 0.7, 0.65])

    def strongest(order):
        # The difference of the means of both parts, times sqrt(k (n - k) / n): every cut, two runs a side at least.
        n = len(order)
        cuts = [abs(np.mean(order[:k]) - np.mean(order[k:])) * np.sqrt(k * (n - k) / n) for k in range(2, n - 1)]
        return max(cuts)

    # All 8! = 40,320 orders would take seconds: what matters is which four values stand first, and then the rest.
    orders = [order for i, order in enumerate(permutations(values)) if i % 40 == 0]
    exact = np.mean([strongest(order) >= strongest(values) - 1e-12 for order in orders])
    place, p = _cut(values, np.random.default_rng(1))
    assert place == 4
    assert p == pytest.approx(exact, abs=0.012)


def test_a_cut_near_the_end_counts_as_much_as_one_in_the_middle():
    # At 15: (1 - 1.8 / 15) x sqrt(15 x 3 / 18) = 1.391; at 9: 4.8 / 9 x sqrt(9 x 9 / 18) = 1.131.
    assert _cut(np.array([0.0] * 9 + [0.3] * 6 + [1.0] * 3), np.random.default_rng(1))[0] == 15


def test_the_same_runs_give_the_same_answer():
    assert one([*LOW, *HIGH]) == one([*LOW, *HIGH])


def test_fewer_runs_than_could_show_anything_show_nothing():
    assert FEWEST_RUNS == 8
    assert one([0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9]) == []


@pytest.mark.parametrize("values", [[], [0.5], [0.5] * 20])
def test_what_does_not_move_has_no_change(values):
    assert one(values) == []


def test_a_single_outlier_is_no_change_of_level():
    assert one([0.8, 0.81, 0.79, 0.8, 0.1, 0.8, 0.79, 0.81, 0.8, 0.8]) == []


def test_two_steps_are_both_found_and_their_levels_end_at_each_other():
    up_and_down = [*LOW, *LOW, *HIGH, *HIGH, *LOW, *LOW]
    first, second = one(up_and_down)
    assert (first.at, second.at) == (12, 24)
    assert (first.n_before, first.n_after, second.n_before, second.n_after) == (12, 12, 12, 12)
    assert second.before == pytest.approx(5.42 / 6)


def test_a_step_where_the_signature_changed_is_said_to_be_there():
    (point,) = one([*LOW, *HIGH], breaks=[6])
    assert (point.at, point.at_break) == (6, True)


def test_too_few_runs_on_either_side_of_another_signature_claim_nothing():
    # Two against two can be dealt in 6 ways: none is rarer than 1 in 6.
    assert one([0.1, 0.1, 0.9, 0.9], breaks=[2]) == []


def test_a_step_within_one_signature_is_found_beside_that_of_another():
    points = one([*LOW, *LOW, *HIGH, *HIGH, *LOW, *LOW], breaks=[12])
    assert [(point.at, point.at_break) for point in points] == [(12, True), (24, False)]


def test_many_series_are_adjusted_for_one_another():
    noise = np.random.default_rng(5)
    weak = [*noise.normal(0, 1, 6), *noise.normal(2.2, 1, 6)]
    (alone,) = find_change_points([Series("weak", weak)])
    others = [Series(f"n{i}", noise.normal(0, 1, 12).tolist()) for i in range(12)]
    together = find_change_points([Series("weak", weak), *others])
    assert alone.p < 0.05
    assert all(point.p > alone.p for point in together)


@pytest.mark.simulation
@pytest.mark.parametrize(("n", "breaks"), [(10, []), (24, [12])])
def test_under_no_change_one_series_of_twenty_at_most_is_said_to_change(n, breaks):
    random, runs = np.random.default_rng(11), simulations(200, 60)
    found = sum(
        bool(find_change_points([Series("skewed", random.exponential(size=n).tolist(), breaks)], seed=i))
        for i in range(runs)
    )
    # 5 % of 200 are 10, with a standard deviation of 3.1: 17 are 2.3 of them above.
    assert found / runs <= 0.05 + slack(0.05, runs, 2.3)


@settings(max_examples=examples(30))
@given(st.lists(st.floats(0, 1), min_size=8, max_size=20), st.floats(0.5, 3), st.floats(-2, 2))
def test_the_scale_of_the_figure_does_not_matter(values, factor, shift):
    before = [point.at for point in one(values)]
    after = [point.at for point in one([round(factor * value + shift, 12) for value in values])]
    if len({round(value, 6) for value in values}) == len(values):
        assert before == after


def test_looking_across_another_signature_too_is_paid_for():
    (alone,) = one([*LOW, *HIGH])
    # Two runs of another signature are no stretch to look at, but a second kind of test.
    (point,) = [each for each in one([*LOW, *HIGH, 0.9, 0.9], breaks=[12]) if not each.at_break]
    assert point.p == pytest.approx(2 * alone.p)
