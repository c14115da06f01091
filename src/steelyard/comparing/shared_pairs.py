"""The samples that two runs share, with a reading on both sides, and means over them with what each case adds."""

from __future__ import annotations

import math

import numpy as np

from steelyard.frozen import frozen
from steelyard.pairing.cases import OTHER_TRUTH, CommonCases, units_of
from steelyard.pairing.judge_drift import judged_in_both, readings
from steelyard.pairing.model import Why
from steelyard.pairing.pairs import pair
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import signed
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled, student
from steelyard.stats.paired import NO_CHANGE

_WIDEST = 1.0
"""No share moves by more; a difference of two such moves can, and then its own value is the end."""


@frozen
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
        for case in cases:
            seen[case] = True
        return int(seen.sum())


class SharedPairs:
    """Pairs with the same question and a reading on both sides, in the order of A's cases."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases) -> None:
        self.a, self.b = a, b
        self.units = Units(a, b, cases)
        self.by_pass = a.passes and b.passes
        self.values_a, self.values_b = (readings(run, by_pass=self.by_pass) for run in (a, b))
        pairing = pair(a, b, cases, allow_mismatch=True)
        self.asked = pairing.asked[:2]
        """Positions of the samples that both have, with the same question; `met` also with another one."""
        nobody = np.empty(0, dtype=int)
        others = pairing.excluded.get(Why.CHANGED_QUESTION, (nobody, nobody))
        self.met = [np.concatenate(sides) for sides in zip(self.asked, others, strict=True)]
        state = cases.state[a.columns.case[self.asked[0]]] if len(self.asked[0]) else np.empty(0, dtype=np.int8)
        read = ~np.isnan(self.values_a[self.asked[0]]) & ~np.isnan(self.values_b[self.asked[1]])
        self.first, self.second = self.asked[0][read], self.asked[1][read]
        edited = np.isin(a.columns.case[self.first], cases.edited)
        self.other_truth = (state[read] == OTHER_TRUTH) | edited
        self.unreadable = 0
        """Pairs left out because B's suite has no reading of A's answer."""
        shared = self.asked[0] if not read.any() else self.first
        self.question_unknown, unknown = (
            bool(np.isin(a.columns.case[shared], codes).any())
            for codes in (cases.unknown_questions, cases.unknown_truths)
        )
        # Where nothing was read on both sides, nothing can be scored by another truth either.
        unknown |= not read.any() and bool((state == OTHER_TRUTH).any())
        self.truth_unknown = unknown or (not cases.available and signed(a, "truth") != signed(b, "truth"))

    @property
    def case(self) -> Array:
        """The unit of evidence of each pair: its case, or the cluster that the case is in."""
        return self.units.of_a[self.first]

    def keep(self, retained: Array) -> None:
        """Go on with these pairs only; the others count as without a reading on one side."""
        self.unreadable += int((~retained).sum())
        self.first, self.second, self.other_truth = (
            self.first[retained],
            self.second[retained],
            self.other_truth[retained],
        )

    def judged(self) -> Array:
        """Marks the pairs that judges have read, on every side that has one; none where no side has."""
        return judged_in_both(self.a, self.b, self.first, self.second)
