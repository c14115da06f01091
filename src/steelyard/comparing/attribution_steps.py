"""A's answers scored again, one change of the signature after another: what each step moves."""

from __future__ import annotations

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
from steelyard.comparing.shared_pairs import SharedPairs, Units
from steelyard.pairing.model import MOST_LISTED
from steelyard.pairing.signatures import other_scorers, signed
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import settled
from steelyard.stats.paired import NO_CHANGE, case_starts

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
