"""Earlier runs together, cell by cell; every figure by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.columns import Made, columns, suite
from parts.described import Table
from steelyard.alerts.pool import Pool


def table(*made):
    return Table(columns(list(made)), suite())


def scores(values, variant=""):
    return [Made(f"c{k}", value, variant=variant) for k, value in enumerate(values) if value is not None]


def change(now, *earlier):
    mine = table(*now)
    pool = Pool(mine)
    for each in earlier:
        other = table(*each)
        pool.add(other, other.score())
    return pool.change(mine.score(), np.arange(mine.n))


def test_every_earlier_sample_counts_once():
    # c0: 1.0, 0.0, 0.0 before (mean 1/3); c1: 1.0 once. Before (1/3 + 1) / 2 = 0.6667, now 0.5.
    found = change(scores([0.0, 1.0]), scores([1.0, 1.0]), scores([0.0]), scores([0.0]))
    assert found.before == pytest.approx(2 / 3)
    assert found.now == pytest.approx(0.5)
    assert found.difference.value == pytest.approx(-1 / 6)
    assert (found.n_before, found.n_now, found.difference.n) == (4, 2, 2)


def test_what_only_one_side_has_is_left_out():
    found = change(scores([0.5, 0.5]), [Made("c1", 1.0), Made("c9", 0.0)])
    assert (found.before, found.now, found.n_before, found.n_now) == (1.0, 0.5, 1, 1)


def test_failed_calls_are_no_readings():
    failed = Made("c0", None, outcome="target_failed", failure="timeout")
    found = change(scores([0.5, 0.5]), [failed, Made("c1", 1.0)])
    assert (found.n_before, found.n_now) == (1, 1)


def test_variants_are_separated():
    found = change(scores([0.5], "a"), scores([1.0], "a"), scores([0.0], "b"))
    assert (found.before, found.n_before) == (1.0, 1)


def test_nothing_in_common_is_nothing():
    found = change(scores([0.5]), [Made("x", 1.0)])
    assert (found.before, found.now, found.p, found.difference.n) == (None, None, None, 0)


def test_only_the_same_answers_are_anchors():
    mine, other = table(*scores([0.5, 0.5, 0.5])), table(*scores([1.0, 0.0, 0.9]))
    pool = Pool(mine, np.array([11, 22, 0], dtype=np.uint64))
    # c0 answered the same, c1 something else; c2 has no answer kept.
    pool.add(other, other.score(), np.array([11, 33, 0], dtype=np.uint64))
    found = pool.change(mine.score(), np.arange(3))
    assert (found.before, found.now, found.n_now) == (1.0, 0.5, 1)


def test_the_same_answer_to_another_case_is_no_anchor():
    mine, other = table(*scores([0.5, 0.5])), table(*scores([1.0, 1.0]))
    pool = Pool(mine, np.array([11, 22], dtype=np.uint64))
    pool.add(other, other.score(), np.array([22, 11], dtype=np.uint64))
    assert pool.change(mine.score(), np.arange(2)).n_now == 0


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=8),
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=8), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_the_order_of_runs_changes_nothing(now, earlier, random):
    one = change(scores(now), *(scores(each) for each in earlier))
    random.shuffle(earlier)
    other = change(scores(now), *(scores(each) for each in earlier))
    assert one.before == pytest.approx(other.before)
    assert one.p == pytest.approx(other.p)
