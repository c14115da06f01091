"""What two arms came to on the same cases: one pair of means per case, in the order in which the cases were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array
from steelyard.suite.case import drawn_place


@frozen
class ArmPairs:
    """Units (cases, or clusters of them) that both arms have a figure of, and how many at least one was asked."""

    a: Array
    b: Array
    n_cases: int
    single: bool = True
    """True when each of these figures is of a single sample."""
    at_least_a: bool = False
    """True when some figures of an arm are lower bounds: calls timed out."""
    at_least_b: bool = False

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.a)

    @property
    def differences(self) -> Array:
        """B less A."""
        differences: Array = self.b - self.a
        return differences


def quality_pairs(a: Table, b: Table, seed: int, *, by_pass: bool) -> ArmPairs:
    """Scores, or shares of passed samples, case by case."""
    return _paired(a, b, _quality(a, by_pass=by_pass), _quality(b, by_pass=by_pass), seed)


def latency_pairs(a: Table, b: Table, seed: int) -> ArmPairs:
    """Seconds of the calls that were answered or timed out, case by case."""
    (values_a, timed_out_a), (values_b, timed_out_b) = a.times(), b.times()
    pairs = _paired(a, b, values_a, values_b, seed)
    return replace(pairs, at_least_a=bool(timed_out_a.any()), at_least_b=bool(timed_out_b.any()))


def cost_pairs(a: Table, b: Table, seed: int) -> ArmPairs:
    """What a call of the system cost, case by case."""
    return _paired(a, b, a.reported("cost"), b.reported("cost"), seed)


def _quality(table: Table, *, by_pass: bool) -> Array:
    if not by_pass:
        return table.score()
    passed = table.passed().astype(float)
    passed[passed < 0] = np.nan
    return passed


def _paired(a: Table, b: Table, values_a: Array, values_b: Array, seed: int) -> ArmPairs:
    first, second = _by_unit(a, values_a), _by_unit(b, values_b)
    common = [item for item in first if item in second]
    common.sort(key=lambda item: (drawn_place(seed, item), item))
    return ArmPairs(
        np.array([first[item][0] for item in common], dtype=float),
        np.array([second[item][0] for item in common], dtype=float),
        len({*_asked(a), *_asked(b)}),
        all(first[item][1] == second[item][1] == 1 for item in common),
    )


def _asked(table: Table) -> Sequence[str]:
    return table.unit_names


def _by_unit(table: Table, values: Array) -> dict[str, tuple[float, int]]:
    """By unit, the mean of the values that are known, and how many they are."""
    present = ~np.isnan(values)
    size = len(table.unit_names)
    unit = table.unit[present].astype(int)
    counts = np.bincount(unit, minlength=size)
    sums = np.bincount(unit, values[present], minlength=size)
    there = np.flatnonzero(counts)
    return {table.unit_names[code]: (sums[code] / counts[code], int(counts[code])) for code in there.tolist()}
