"""Figures whose intervals stand on what each case adds to them, so that any sum of means over any sets has one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.compared_cases import CommonCases, units_of
from steelyard.analysis.compared_run import ComparedRun
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, Z, settled, student
from steelyard.stats.paired import NO_CHANGE

_WIDEST = 1.0
"""No share moves by more; a difference of two such moves can, and then its own value is the end."""


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

    def estimate(self, n_cases: int, unseen: float = 0.0) -> Estimate:
        """The figure with Student's interval over cases; none with fewer than two or without any spread.

        `unseen` is half an interval of what the values do not show, and widens it: see `unseen_spread`.
        """
        bounds = student(self.value, self.error(n_cases), n_cases - 1)
        value = settled(self.value)
        if unseen and n_cases > 1:
            seen = 0.0 if bounds is None else (bounds[1] - bounds[0]) / 2
            half = math.hypot(seen, unseen)
            bounds = self.value - half, self.value + half
        if bounds is None:
            return Estimate(value, n_cases)
        low, high = map(settled, bounds)
        return Estimate(value, n_cases, 0, min(value, max(-_WIDEST, low)), max(value, min(_WIDEST, high)))


def unseen_spread(n_cases: int) -> float:
    """Half the interval of a shift that all of so many cases agree on: that they agree is no certainty, and no score
    varies more than a rate (Bonett and Price's interval when none moved)."""
    return Z * math.sqrt(2) / (n_cases + 2)


class Units:
    """The units of evidence of two runs under one numbering."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases) -> None:
        by_case_a, by_case_b, self.n = units_of(a, b, cases.of_b)
        self.of_a = by_case_a[a.columns.case] if a.columns.n else np.empty(0, dtype=np.int64)
        self.of_b = by_case_b[b.columns.case] if b.columns.n else np.empty(0, dtype=np.int64)

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
