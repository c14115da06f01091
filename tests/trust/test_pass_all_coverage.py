"""How often the 95 % interval of pass^k holds the true chance, with and without missing repeats."""

from __future__ import annotations

import numpy as np
import pytest

from parts.lengths import simulations, slack
from steelyard.metrics.aggregate import aggregate
from steelyard.metrics.cells import PassedRepeats
from steelyard.metrics.kinds import Aggregate
from steelyard.stats.groups import Groups

ASKED = 5
# What a case's chance of passing is drawn from: all cases alike, most nearly always right, some never right.
CHANCES = {
    "alike": lambda chance, n: np.full(n, 0.9),
    "spread": lambda chance, n: chance.beta(4, 1, n),
    "two kinds": lambda chance, n: np.where(chance.random(n) < 0.8, 0.98, 0.1),
}
TRUE = {
    # E p^k, by hand: 0.9^k; the k-th moment of Beta(4, 1) is 4 / (4 + k); and 0.8 * 0.98^k + 0.2 * 0.1^k.
    "alike": lambda k: 0.9**k,
    "spread": lambda k: 4 / (4 + k),
    "two kinds": lambda k: 0.8 * 0.98**k + 0.2 * 0.1**k,
}
# The chance that a repeat is missing if it would have passed, and if it would have failed.
MISSING = {"none": (0.0, 0.0), "at random": (0.1, 0.1), "failures time out": (0.02, 0.5), "passes are lost": (0.2, 0.0)}


def held(chances, missing, k, n, runs, seed):
    """The share of runs of n cases whose interval holds the true chance that k repeats all pass."""
    chance, hits = np.random.default_rng(seed), 0
    groups = Groups([""], np.zeros(n, dtype=np.int8))
    for _ in range(runs):
        right = chance.random((n, ASKED)) < CHANCES[chances](chance, n)[:, None]
        lost = chance.random((n, ASKED)) < np.where(right, *MISSING[missing])
        passed, decided = (right & ~lost).sum(axis=1), (~lost).sum(axis=1)
        repeats = PassedRepeats(passed, decided, np.full(n, ASKED))
        (figure,) = aggregate(Aggregate.MEAN, repeats.all_of(k), groups)
        hits += figure.low is not None and figure.low <= TRUE[chances](k) <= figure.high
    return hits / runs


@pytest.mark.simulation
@pytest.mark.parametrize("k", [5, 3])
@pytest.mark.parametrize("missing", list(MISSING))
@pytest.mark.parametrize("chances", list(CHANCES))
def test_the_interval_of_pass_k_holds_the_true_chance(chances, missing, k):
    """n = k and n > k; whatever the reason for which repeats are missing, at least 93 % hold."""
    for n in (20, 100):
        runs = simulations(2_000, 100)
        share = held(chances, missing, k, n, runs, seed=7)
        assert share >= 0.93 - slack(0.95, runs, 3)
