"""The best assignment, compared with scipy's: the very same pairs, also where several assignments have the same sum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from steelyard.stats.assignment import best_assignment

CHANCE = np.random.default_rng(15)


def of_kind(kind: str, shape: tuple[int, int]) -> np.ndarray:
    dense = CHANCE.random(shape)
    return {
        "dense": dense,
        "sparse": np.where(dense < 0.8, 0.0, dense),
        "few different": np.round(dense * 4) / 3,
        "sparse and few different": np.where(dense < 0.8, 0.0, np.round(dense, 1)),
        "all the same": np.full(shape, 0.75),
        "near the diagonal": dense / 5 + np.eye(*shape),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["dense", "sparse", "few different", "sparse and few different", "all the same", "near the diagonal"]
)
def test_the_pairs_are_those_of_scipy(kind: str) -> None:
    shapes = [*CHANCE.integers(1, 13, (200, 2)).tolist(), (30, 30), (60, 40), (5, 400), (50, 420)]
    for rows, columns in shapes:
        weights = of_kind(kind, (rows, columns))
        expected = list(zip(*(each.tolist() for each in linear_sum_assignment(weights, maximize=True)), strict=True))
        assert best_assignment(weights.tolist()) == expected


def test_the_greatest_sum_is_found_where_the_greatest_cell_is_not_in_it() -> None:
    # By hand: 8 + 8 is more than 9 + 1.
    assert best_assignment([[9, 8], [8, 1]]) == [(0, 1), (1, 0)]


def test_nothing_is_assigned_to_nothing() -> None:
    assert best_assignment([]) == best_assignment([[], []]) == []
