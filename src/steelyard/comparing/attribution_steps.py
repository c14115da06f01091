"""Steps from one run's signature to the other's, and what each explains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.comparing.attribution_model import (
    Cause,
    How,
    Portion,
    ScoreAgain,
    ScoredAgain,
    TruthEdit,
    TruthEdits,
    Wanted,
)
from steelyard.comparing.ledger_reasons import Reasons
from steelyard.frozen import frozen
from steelyard.pairing.cases import OTHER_TRUTH, CommonCases, units_of
from steelyard.pairing.judge_drift import (
    judged_in_both,
    readings,
)
from steelyard.pairing.model import MOST_LISTED, Why
from steelyard.pairing.pairs import pair
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import other_scorers, signed
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled, student
from steelyard.stats.paired import NO_CHANGE, case_starts

# The samples that two runs share, with a reading on both sides, and what each reads.


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


# A's answers scored again, one change of the signature after another: what each step moves.

_MOST_LOST = 0.05
"""Above this share of answers that B's suite cannot score, scoring again shows nothing."""


class Steps:
    """A's readings of the pairs as they are scored again, one change of the signature after another."""

    def __init__(self, pairs: SharedPairs, score_again: ScoreAgain | None) -> None:
        self._pairs = pairs
        wanted = Wanted(pairs.first, pairs.second, pairs.other_truth, pairs.by_pass)
        self.again = ScoredAgain() if score_again is None else score_again(wanted)
        self._take_up_readable()
        n, again = len(pairs.first), self.again
        self.values_a, self.values_b = pairs.values_a[pairs.first], pairs.values_b[pairs.second]
        self.steps: list[tuple[tuple[Cause, ...], Array, Array]] = []
        """Causes with what A's answers were worth before and after."""
        self.last = self.values_a
        pending: list[Cause] = []
        # A truth that is not known has not been scored by.
        truth = None if pairs.truth_unknown else again.truth
        others = other_signatures(pairs)
        for cause, scored in (
            (Cause.SCORERS, again.scorers),
            (Cause.TRUTH, truth),
            (Cause.JUDGE, again.judge if again.by_code else None),
        ):
            if cause in others:
                pending.append(cause)
            if pending and scored is not None:
                self.steps.append((tuple(pending), self.last, scored))
                self.last, pending = scored, []
        self.bought = np.full(n, np.nan)
        """A's answers by B's judge minus as last scored; NaN where it has not read them."""
        if again.judge is not None and not again.by_code:
            self.bought = again.judge - self.last
        # A question that is not known has a part in nothing but what is left.
        self.pending = (*others[: others.count(Cause.QUESTIONS)], *pending)
        """The causes that nothing has told from the system yet."""

    def _take_up_readable(self) -> None:
        """Leave out pairs that B's suite cannot score; when there are many, use none of it."""
        n, again = len(self._pairs.first), self.again
        lost, retained = np.zeros(n, dtype=bool), {}
        untold = dict(again.untold)
        for cause, values in (
            (Cause.SCORERS, again.scorers),
            (Cause.TRUTH, again.truth),
            (Cause.JUDGE, again.judge if again.by_code else None),
        ):
            missing = np.zeros(n, dtype=bool) if values is None else np.isnan(values)
            if missing.sum() > _MOST_LOST * n:
                untold[cause] = f"B's suite cannot score {int(missing.sum()):,} of {n:,} answers of A"
                values = None
            else:
                lost |= missing
            retained[cause] = values
        if not again.by_code:
            retained[Cause.JUDGE] = again.judge
        self._pairs.keep(~lost)
        scorers, truth, judge = (None if values is None else values[~lost] for values in retained.values())
        self.again = replace(again, scorers=scorers, truth=truth, judge=judge, untold=untold)

    def read_with_truth(self, marks: Array) -> None:
        """Put B's reading of these pairs into the step of the truth, if there is one."""
        if not marks.any() or not self.steps or Cause.TRUTH not in self.steps[-1][0]:
            return
        causes, before, after = self.steps.pop()
        self.last = np.where(marks, self.values_b, after)
        self.steps.append((causes, before, self.last))
        self.bought = np.where(marks, np.nan, self.bought)

    def portions(self, units: Units, case: Array) -> Iterator[Portion]:
        """What scoring A's answers again has moved, a portion a step."""
        n_cases = units.count(case)
        for causes, before, after in self.steps:
            n = int(self._pairs.other_truth.sum()) if causes == (Cause.TRUTH,) else len(case)
            change = units.mean(after - before, case).estimate(n_cases)
            yield Portion(causes, change, How.SCORED_AGAIN, message=f"answers of A scored again: {n:,}")

    def truth_edits(self, reasons: Reasons) -> TruthEdits:
        """The cases whose truth changed, those that moved the number most first."""
        pairs = self._pairs
        rows = np.flatnonzero(pairs.other_truth)
        step = next((step for step in self.steps if step[0] == (Cause.TRUTH,)), None)
        case = pairs.a.columns.case[pairs.first[rows]]
        starts = case_starts(case)
        ids = [pairs.a.columns.case_ids[code] for code in case[starts].tolist()]
        why = reasons.of_cases(ids)
        if step is None or not len(rows):
            return TruthEdits(len(starts), n_with_reason=len(why))
        sums = np.add.reduceat(step[2][rows] - step[1][rows], starts)
        sizes = np.diff(np.append(starts, len(rows)))
        moved = np.flatnonzero(np.abs(sums) > NO_CHANGE)
        order = moved[np.argsort(-np.round(np.abs(sums[moved]), 12), kind="stable")][:MOST_LISTED]
        listed = [
            TruthEdit(
                ids[i],
                int(sizes[i]),
                settled(float(sums[i] / sizes[i])),
                settled(float(sums[i]) / len(pairs.case)),
                why.get(ids[i]),
            )
            for i in order.tolist()
        ]
        without = float(sums[[name not in why for name in ids]].sum()) / len(pairs.case)
        return TruthEdits(len(starts), len(moved), tuple(listed), len(why), settled(without))


def other_signatures(pairs: SharedPairs) -> tuple[Cause, ...]:
    """What differs, or may differ, in what answers of the same id were asked and how they were scored."""
    results = (
        (Cause.QUESTIONS, pairs.question_unknown),
        (Cause.SCORERS, other_scorers(pairs.a, pairs.b)),
        (Cause.TRUTH, bool(pairs.other_truth.any()) or pairs.truth_unknown),
        (Cause.JUDGE, signed(pairs.a, "judge") != signed(pairs.b, "judge")),
    )
    return tuple(cause for cause, differs in results if differs)
