"""Attribution: why the headline number moved from A to B, by `Cause`.

What is left when all others are taken off is the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.comparing.attribution_model import (
    Anchors,
    Attribution,
    Cause,
    How,
    Identical,
    Noise,
    Portion,
    ScoreAgain,
    ScoredAgain,
    Wanted,
)
from steelyard.comparing.attribution_sentences import METHOD, ask_for, sentence, without_anchors
from steelyard.comparing.attribution_steps import Steps, other_signatures
from steelyard.comparing.judge_portion import Judged, Separated, judge_and_system, stands_on
from steelyard.comparing.ledger_reasons import Reasons, reason_messages
from steelyard.comparing.shared_pairs import SharedPairs
from steelyard.frozen import frozen
from steelyard.pairing.cases import CommonCases
from steelyard.pairing.judge_drift import band_of, must_be_measured, reread
from steelyard.pairing.judge_drift import identical as identical_answers
from steelyard.pairing.pairs import no_variant_in_common
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled
from steelyard.stats.paired import NO_CHANGE, SIGNIFICANT, Paired, case_starts, paired_mean, paired_rate


@frozen
class Terms:
    """Readings of a run, by their places in its columns, and what each adds to a portion."""

    run: ComparedRun
    rows: Array
    adds: Array
    before: Array
    after: Array
    """Its score before and after the step; of a sample on one side only both are the same."""
    stated: str = ""
    """Words before that."""


Traces = dict[tuple[Cause, ...], list[Terms]]
"""By the causes of a portion, its samples."""


def attribute(
    a: ComparedRun,
    b: ComparedRun,
    cases: CommonCases,
    score_again: ScoreAgain | None = None,
    identical: Identical | None = None,
) -> tuple[Attribution, Traces]:
    """The change of the headline number in portions, with what every reading adds to each.

    Without `score again` nothing can be scored again, and without `identical` a judge has no anchors: what that leaves
    untold is joined with the system.
    """
    cut = _Cut(SharedPairs(a, b, cases))
    return cut.attribution(score_again, identical), cut.traces


def attribute_stored(a: ComparedRun, b: ComparedRun, cases: CommonCases) -> Attribution:
    """What the stored runs alone show of the change: no suite is read, nothing is scored again, nobody is asked."""

    def read_then(wanted: Wanted) -> ScoredAgain:
        judge = reread(a, b, wanted.first, by_pass=wanted.by_pass)
        return ScoredAgain(judge=None if np.isnan(judge).all() else judge)

    return attribute(a, b, cases, read_then, partial(identical_answers, a, b))[0]


class _Cut:
    def __init__(self, pairs: SharedPairs) -> None:
        self._pairs, self._units = pairs, pairs.units
        self.traces: Traces = {}

    def attribution(self, score_again: ScoreAgain | None, identical: Identical | None) -> Attribution:
        pairs = self._pairs
        before, after = _headline(pairs.values_a), _headline(pairs.values_b)
        started = Attribution("pass_rate" if pairs.by_pass else "average", before, after, None, method=METHOD)
        if before.value is None or after.value is None:
            return replace(started, sentence=sentence(started))
        started = replace(started, total=settled(after.value - before.value))
        if not len(self._pairs.first):
            return self._nothing_shared(started)
        steps = Steps(self._pairs, score_again)
        same = self._same_answers(identical, steps)
        results = [*self._sets(), *steps.portions(self._units, self._pairs.case)]
        for causes, earlier, later in steps.steps:
            self._trace(causes, later - earlier, earlier, later)
        rest, anchors, joined = self._rest(steps, same)
        results += rest
        reasons = Reasons(pairs.b, steps.again.ledger)
        done = replace(
            started,
            portions=tuple(results),
            noise=self._noise(steps.values_b - steps.last, rest[-1].change),
            truth_edits=steps.truth_edits(reasons),
            scoring_edits=reasons.of_scoring(pairs.a),
            anchors=replace(anchors, failed=steps.again.failed),
            joined=joined,
        )
        return replace(done, sentence=sentence(done), ledger=reason_messages(done))

    def _layers(self) -> Iterator[tuple[Cause, list[Array], list[Array], str]]:
        """By what only one side has, the readings with it and without it, and what that leaves out in words."""
        pairs = self._pairs
        sides = (pairs.values_a, pairs.values_b)
        everything = [np.flatnonzero(~np.isnan(values)) for values in sides]
        met, asked = (
            [rows[~np.isnan(values[rows])] for rows, values in zip(both, sides, strict=True)]
            for both in (pairs.met, pairs.asked)
        )
        yield Cause.CASES, everything, met, "without a counterpart: {} of A, {} of B"
        yield Cause.QUESTIONS, met, asked, "another question: {} of A, {} of B"
        yield Cause.AVAILABILITY, asked, [pairs.first, pairs.second], "scored on one side only: {} of A, {} of B"

    def _sets(self) -> Iterator[Portion]:
        """The portions of what only one side has: cases, questions, and readings."""
        pairs, units = self._pairs, self._units
        sides = ((pairs.values_a, units.of_a), (pairs.values_b, units.of_b))
        for cause, wide, narrow, message in self._layers():
            left = [len(more) - len(fewer) for more, fewer in zip(wide, narrow, strict=True)]
            if not any(left):
                continue
            a, b = (
                units.mean(values[more], case[more]) - units.mean(values[fewer], case[fewer])
                for (values, case), more, fewer in zip(sides, wide, narrow, strict=True)
            )
            n_cases = units.count(units.of_a[wide[0]], units.of_b[wide[1]])
            unread = pairs.unreadable if cause is Cause.AVAILABILITY else 0
            counts = message.format(*(f"{count - unread:,}" for count in left))
            counts += f"; pairs that B's suite cannot score: {unread:,}" if unread else ""
            self.traces[(cause,)] = [*self._dropped(wide, narrow)]
            yield Portion((cause,), (b - a).estimate(n_cases), How.COUNTED, message=counts)

    def _dropped(self, wide: Sequence[Array], narrow: Sequence[Array]) -> Iterator[Terms]:
        """The readings that are in a wider set alone, with what each moves the mean by."""
        pairs = self._pairs
        sides = ((pairs.a, pairs.values_a, -1.0, "only in A: "), (pairs.b, pairs.values_b, 1.0, "only in B: "))
        for (run, values, sign, text), more, fewer in zip(sides, wide, narrow, strict=True):
            rows = np.setdiff1d(more, fewer)
            mean = float(values[fewer].mean()) if len(fewer) else 0.0
            yield Terms(run, rows, sign * (values[rows] - mean) / max(1, len(more)), values[rows], values[rows], text)

    def _trace(self, causes: tuple[Cause, ...], moved: Array, before: Array, after: Array) -> None:
        pairs = self._pairs
        self.traces[causes] = [Terms(pairs.a, pairs.first, moved / len(pairs.first), before, after)]

    def _same_answers(self, identical: Identical | None, steps: Steps) -> Array:
        """Marks the judged pairs whose answers are the same, and gives a judge that reads the truth its due."""
        judged = self._pairs.judged()
        # Code that has read all of A's answers itself has nothing left to measure.
        worth_it = Cause.JUDGE in steps.pending or not steps.again.by_code
        if identical is None or not worth_it or not judged.any():
            return np.zeros(len(self._pairs.first), dtype=bool)
        same: Array = identical(self._pairs.first, self._pairs.second) & judged
        if Cause.JUDGE not in steps.pending:
            # The same judge read the same answer beside another truth: what it says otherwise is the truth's.
            steps.read_with_truth(same & self._pairs.other_truth)
        return same

    def _rest(self, steps: Steps, same: Array) -> tuple[list[Portion], Anchors, tuple[str, ...]]:
        """What lies between A's answers as last scored and B's readings."""
        left, pending = steps.values_b - steps.last, steps.pending
        judged = self._pairs.judged()
        counts = Anchors(int(same.sum()), judged=int(judged.sum()))
        band = band_of(self._pairs.a.table.score()[self._pairs.first])
        pairs = Judged(left, steps.bought, same, judged, band, self._pairs.case, pending)
        drift = pairs.drift
        if pending or drift.is_shown:
            result = judge_and_system(pairs, self._units)
            if result is not None:
                return self._separated(result, pairs, steps)
        if not pending and must_be_measured(self._pairs.a, self._pairs.b):
            counts = replace(
                counts, bought=drift.n_reread, n_cases=drift.shift.n_cases, not_measured=drift.not_measured
            )
        if not pending:
            return [*self._not_carried_over(left, steps.last, same, counts)], counts, ()
        reasons = tuple(dict.fromkeys(steps.again.untold.get(cause) or ask_for(cause) for cause in pending))
        if pending == (Cause.TRUTH,) and not self._pairs.truth_unknown:
            return [*self._on_some(left, steps.last)], counts, reasons
        return [self._left((*pending, Cause.SYSTEM), left, steps.last)], counts, reasons

    def _separated(
        self, separated: Separated, pairs: Judged, steps: Steps
    ) -> tuple[list[Portion], Anchors, tuple[str, ...]]:
        """Judge and system where anchors tell them apart, and both in one elsewhere."""
        judge, shift, last, apart = separated.judge, separated.to_pair, steps.last, np.isnan(separated.to_pair)
        available = np.nan_to_num(shift)
        self._trace(judge.causes, available, last, last + available)
        portions = [replace(judge, message=f"{judge.message}{_in_vain(steps.again)}")]
        reasons: tuple[str, ...] = ()
        if apart.any():
            joint = self._left((*judge.causes, Cause.SYSTEM), np.where(apart, pairs.left, 0.0), last)
            portions.append(replace(joint, message=f"pairs with scores that no anchor has: {int(apart.sum()):,}"))
            reasons = (without_anchors(int(apart.sum()), int(pairs.judged.sum())),)
        if separated.system is not None:
            mine = np.where(apart, 0.0, pairs.left - available)
            self._trace(separated.system.causes, mine, last + available, last + available + mine)
            portions.append(separated.system)
        return portions, separated.anchors, reasons

    def _not_carried_over(self, left: Array, last: Array, same: Array, anchors: Anchors) -> Iterator[Portion]:
        """The same judge has the part of answers that are the same, the system all others."""
        of_judge = np.where(same, left, 0.0)
        if (np.abs(of_judge) > NO_CHANGE).any():
            yield replace(self._left((Cause.JUDGE,), of_judge, last), how=How.ANCHORS, message=stands_on(anchors))
        yield self._left((Cause.SYSTEM,), left - of_judge, last)

    def _on_some(self, left: Array, last: Array) -> Iterator[Portion]:
        """Truth and system in one where the truth changed, the system alone elsewhere."""
        touched = np.where(self._pairs.other_truth, left, 0.0)
        yield replace(
            self._left((Cause.TRUTH, Cause.SYSTEM), touched, last),
            message=f"pairs whose truth changed: {int(self._pairs.other_truth.sum()):,}",
        )
        yield self._left((Cause.SYSTEM,), left - touched, last)

    def _left(self, causes: tuple[Cause, ...], left: Array, last: Array) -> Portion:
        self._trace(causes, left, last, last + left)
        starts = case_starts(self._pairs.case)
        if self._pairs.by_pass and len(starts) == len(left):
            paired: Paired = paired_rate(last, last + left)
        else:
            paired = paired_mean(np.add.reduceat(left, starts), np.diff(np.append(starts, len(left))), 1.0)
        change = Estimate(paired.difference, paired.n_cases, 0, paired.low, paired.high)
        moved = bool((np.abs(left) > NO_CHANGE).any())
        unsure = moved and (paired.p is None or paired.p >= SIGNIFICANT or paired.difference == 0)
        return Portion(causes, change, How.LEFT, unsure)

    def _noise(self, left: Array, change: Estimate) -> Noise | None:
        """How far what is left may be off, and how much of that is repeats of one case differing."""
        if change.low is None or change.high is None:
            return None
        return Noise(settled((change.high - change.low) / 2), self._of_repeats(left))

    def _of_repeats(self, left: Array) -> float | None:
        case = self._pairs.case
        error = self._units.mean(left, case).error(self._units.count(case))
        variant = self._pairs.a.columns.variant[self._pairs.first].astype(np.int64)
        asked = self._pairs.a.columns.case[self._pairs.first].astype(np.int64)
        starts = case_starts(asked * (len(self._pairs.a.columns.variants) + 1) + variant)
        sizes = np.diff(np.append(starts, len(left)))
        if error == 0 or not (sizes > 1).any():
            return None
        means = np.add.reduceat(left, starts) / sizes
        squares = np.add.reduceat((left - np.repeat(means, sizes)) ** 2, starts)
        several = sizes > 1
        within = float((squares[several] / (sizes[several] - 1) * sizes[several]).sum()) / len(left) ** 2
        return min(1.0, settled(within / error**2))

    def _nothing_shared(self, started: Attribution) -> Attribution:
        """One portion of everything that is known to differ: no sample has a reading on both sides."""
        pairs = self._pairs
        results = [
            (cause, message.format(*(f"{len(more) - len(fewer):,}" for more, fewer in zip(wide, narrow, strict=True))))
            for cause, wide, narrow, message in self._layers()
            if sum(map(len, wide)) > sum(map(len, narrow))
        ]
        differ = {*(cause for cause, _ in results), *other_signatures(pairs), Cause.SYSTEM}
        causes = tuple(cause for cause in Cause if cause in differ)
        everything = [np.flatnonzero(~np.isnan(item)) for item in (pairs.values_a, pairs.values_b)]
        self.traces[causes] = [*self._dropped(everything, [item[:0] for item in everything])]
        why = no_variant_in_common(pairs.a, pairs.b) or "the two runs have no case in common"
        if len(pairs.met[0]):
            why = "no sample of the same question is scored in both runs"
        stands_on = "; ".join(message for _, message in results)
        done = replace(
            started,
            portions=(Portion(causes, Estimate(started.total, 0), How.LEFT, cannot_tell=True, message=stands_on),),
            joined=(f"{why}: causes cannot be separated",),
        )
        return replace(done, sentence=sentence(done))


def _in_vain(again: ScoredAgain) -> str:
    """What was asked for of a judge and not got, in words."""
    failed = f"; {again.failed:,} more it gave no verdict on" if again.failed else ""
    return f"{failed}; {again.stopped}" if again.stopped else failed


def _headline(values: Array) -> Estimate:
    available = values[~np.isnan(values)]
    mean = settled(float(available.mean())) if len(available) else None
    return Estimate(mean, len(available), len(values) - len(available))
