"""Figures whose intervals stand on what each case adds to them, so that any sum of means over any sets has one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.compared_cases import CommonCases
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.estimates import settled
from steelyard.analysis.intervals import Z, student
from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import NO_CHANGE
from steelyard.analysis.pieces import Array

_WIDEST = 1.0
"""No share moves by more."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A figure with what each case adds to its deviation; sums and differences of such have their own."""

    value: float
    influence: Array

    def __add__(self, other: Moving) -> Moving:
        return Moving(self.value + other.value, self.influence + other.influence)

    def __sub__(self, other: Moving) -> Moving:
        return Moving(self.value - other.value, self.influence - other.influence)

    def times(self, factor: float) -> Moving:
        """The figure and its deviation multiplied."""
        return Moving(self.value * factor, self.influence * factor)

    def error(self, n_cases: int) -> float:
        """The standard error with the case as the unit; 0 when what there is of it is only rounding."""
        if n_cases < 2:
            return 0.0
        error = math.sqrt(n_cases / (n_cases - 1) * float((self.influence**2).sum()))
        return error if error > NO_CHANGE else 0.0

    def estimate(self, n_cases: int, *, spread_unknown: bool = False) -> Estimate:
        """The figure with Student's interval over cases; none with fewer than two or without any spread.

        `spread_unknown` is of a figure that is carried over to values that were not looked at: that those looked at
        agree is no certainty, and no score varies more than a rate (Bonett and Price's interval when none moved).
        """
        error = self.error(n_cases)
        bounds = student(self.value, error, n_cases - 1)
        if bounds is None and spread_unknown and n_cases > 1:
            half = Z * math.sqrt(2) / (n_cases + 2)
            bounds = self.value - half, self.value + half
        value = settled(self.value)
        if bounds is None:
            return Estimate(value, n_cases)
        low, high = map(settled, bounds)
        return Estimate(value, n_cases, 0, max(-_WIDEST, min(low, value)), min(_WIDEST, max(high, value)))


class Units:
    """The cases of two runs under one numbering: A's codes, then those that only B has."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases) -> None:
        n_a = len(a.columns.case_ids)
        self.n = n_a + len(cases.of_b)
        numbers = np.where(cases.of_b >= 0, cases.of_b, n_a + np.arange(len(cases.of_b)))
        self.of_a = a.columns.case.astype(np.int64)
        self.of_b = numbers[b.columns.case].astype(np.int64) if b.columns.n else np.empty(0, dtype=np.int64)

    def mean(self, values: Array, case: Array) -> Moving:
        """The mean of some values with the cases they belong to; there must be one at least."""
        mean = float(values.mean())
        return Moving(mean, np.bincount(case, values - mean, minlength=self.n) / len(values))

    def count(self, *cases: Array) -> int:
        """How many different cases there are in all of these."""
        seen = np.zeros(self.n, dtype=bool)
        for each in cases:
            seen[each] = True
        return int(seen.sum())


def readings(run: ComparedRun, *, by_pass: bool) -> Array:
    """For each sample what it adds to the headline number; NaN where there is no reading."""
    table = run.table
    score, passed = table.score(), table.passed()
    values = passed.astype(float) if by_pass else score
    known = table.conclusive & ~np.isnan(score)
    if run.passes:
        known &= passed >= 0
    return np.where(known, values, np.nan)
