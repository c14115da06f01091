"""The samples that two runs share, with a reading on both sides, and what each reads."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.attribution_sums import Units, readings
from steelyard.analysis.compare_model import Why
from steelyard.analysis.compared_cases import TRUTH, CommonCases
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.instruments import signed
from steelyard.analysis.judge_drift import judged_in_both
from steelyard.analysis.pairing import pair
from steelyard.stats.arrays import Array


class SharedPairs:
    """Pairs with the same question and a reading on both sides, in the order of A's cases."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases) -> None:
        self.a, self.b = a, b
        self.units = Units(a, b, cases)
        self.by_pass = a.passes and b.passes
        self.values_a, self.values_b = (readings(run, by_pass=self.by_pass) for run in (a, b))
        pairing = pair(a, b, cases, anyway=True)
        self.asked = pairing.asked[:2]
        """Positions of the samples that both have, with the same question; `met` also with another one."""
        nobody = np.empty(0, dtype=int)
        others = pairing.aside.get(Why.CHANGED_QUESTION, (nobody, nobody))
        self.met = [np.concatenate(sides) for sides in zip(self.asked, others, strict=True)]
        state = cases.state[a.columns.case[self.asked[0]]] if len(self.asked[0]) else np.empty(0, dtype=np.int8)
        read = ~np.isnan(self.values_a[self.asked[0]]) & ~np.isnan(self.values_b[self.asked[1]])
        self.first, self.second = self.asked[0][read], self.asked[1][read]
        edited = np.isin(a.columns.case[self.first], cases.edited)
        self.other_truth = (state[read] == TRUTH) | edited
        self.unreadable = 0
        """Pairs left out because B's suite has no reading of A's answer."""
        shared = self.asked[0] if not read.any() else self.first
        self.question_unknown, unknown = (
            bool(np.isin(a.columns.case[shared], codes).any())
            for codes in (cases.unknown_questions, cases.unknown_truths)
        )
        # Where nothing was read on both sides, nothing can be scored by another truth either.
        unknown |= not read.any() and bool((state == TRUTH).any())
        self.truth_unknown = unknown or (not cases.known and signed(a, "truth") != signed(b, "truth"))

    @property
    def case(self) -> Array:
        """The unit of evidence of each pair: its case, or the cluster that the case is in."""
        return self.units.of_a[self.first]

    def keep(self, kept: Array) -> None:
        """Go on with these pairs only; the others count as without a reading on one side."""
        self.unreadable += int((~kept).sum())
        self.first, self.second, self.other_truth = self.first[kept], self.second[kept], self.other_truth[kept]

    def judged(self) -> Array:
        """Marks the pairs that judges have read, on every side that has one; none where no side has."""
        return judged_in_both(self.a, self.b, self.first, self.second)
