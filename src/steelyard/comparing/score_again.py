"""Why the headline number moved between two stored runs: scores A's answers by B's suite as far as it takes."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from steelyard.comparing.attribution import Traces, attribute
from steelyard.comparing.attribution_model import Attribution, Cause, ScoredAgain, Wanted
from steelyard.engine.other_suite import OtherBalance, reading_of
from steelyard.errors import UsageError
from steelyard.pairing.cases import CommonCases
from steelyard.pairing.judge_drift import drawn_anchors, identical, reread
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import other_scorers, signed
from steelyard.records import Mode
from steelyard.runner.anchors import Purchase, answers_of, rejudged
from steelyard.runner.current_suite import CurrentSuite, current_suite
from steelyard.runner.same_signature import scored_otherwise
from steelyard.stats.arrays import Array
from steelyard.suite.models import SuiteModel


def attribution_of(
    a: ComparedRun,
    b: ComparedRun,
    cases: CommonCases,
    *,
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
) -> tuple[Attribution, Traces]:
    """The change from A to B in portions, with what every reading adds to each. `suite` is where B's suite is, if not
    where the run says.

    UsageError when that cannot be read, or when a purchase is asked for that nobody could make.
    """
    again = _Again(a, b, suite, purchase)
    return attribute(a, b, cases, again.score_again, again.identical)


class _Again:
    def __init__(
        self, a: ComparedRun, b: ComparedRun, suite: str | SuiteModel | None, purchase: Purchase | None
    ) -> None:
        self._a, self._b, self._suite, self._purchase = a, b, suite, purchase
        self._other_judge = signed(a, "judge") != signed(b, "judge")

    def identical(self, first: Array, second: Array) -> Array:
        """Marks the pairs whose answers are the same to the byte."""
        return identical(self._a, self._b, first, second)

    def score_again(self, wanted: Wanted) -> ScoredAgain:
        """A's answers scored by B's suite, and by B's judge when B was run or now."""
        result, retained = self._scored_again(wanted), reread(self._a, self._b, wanted.first, by_pass=wanted.by_pass)
        if result.by_code or np.isnan(retained).all():
            return result
        return replace(
            result, judge=retained if result.judge is None else np.where(np.isnan(result.judge), retained, result.judge)
        )

    def _scored_again(self, wanted: Wanted) -> ScoredAgain:
        scorers = other_scorers(self._a, self._b)
        if not (scorers or self._other_judge or wanted.other_truth.any() or self._purchase):
            return ScoredAgain()
        hand = current_suite(self._b.header, self._suite)
        if hand.suite is None:
            return self._without_suite(hand)
        balance = OtherBalance(hand.suite, self._a.header.description.judge, same_judge=not self._other_judge)
        if case := scored_otherwise(self._b, hand.suite):
            where = hand.suite.path
            wrong = f"the suite at {where} does not score B's answer to {case} as it did: its code has changed since"
            return self._without_suite(replace(hand, suite=None, why=wrong))
        result = _Evaluated(len(wanted.first))
        rows = np.arange(len(wanted.first)) if scorers else np.flatnonzero(wanted.other_truth)
        if balance.why_no_words:
            rows = rows[:0]
        by_code = balance.asks_no_model and (self._other_judge or bool(balance.why_no_words))
        if by_code and not hand.is_judge:
            by_code = False
        self._evaluate(wanted, result, balance, rows, everything=by_code)
        return self._message(wanted, result, balance, hand, by_code=by_code, scorers_differ=scorers)

    def _message(
        self,
        wanted: Wanted,
        result: _Evaluated,
        balance: OtherBalance,
        hand: CurrentSuite,
        *,
        by_code: bool,
        scorers_differ: bool,
    ) -> ScoredAgain:
        values_a = _recorded(self._a, wanted)
        untold = {}
        scorers: Array | None = result.scorers
        truth: Array | None = np.where(wanted.other_truth, result.truth, result.scorers)
        if balance.why_no_words:
            untold = dict.fromkeys((Cause.SCORERS, Cause.TRUTH), balance.why_no_words)
            scorers = truth = None
        elif not scorers_differ:
            scorers, truth = values_a, np.where(wanted.other_truth, result.truth, values_a)
        scored_again = ScoredAgain(scorers, truth, untold=untold, ledger=hand.ledger)
        if by_code:
            return replace(scored_again, judge=result.judge, by_code=True)
        if hand.why_no_judge:
            scored_again.untold[Cause.JUDGE] = hand.why_no_judge
        return scored_again if self._purchase is None else self._bought(self._purchase, wanted, scored_again, hand)

    def _without_suite(self, hand: CurrentSuite) -> ScoredAgain:
        if self._purchase is not None:
            raise UsageError(f"--rejudge: {hand.why}")
        message = dict.fromkeys((Cause.SCORERS, Cause.TRUTH), hand.why)
        if self._b.mode == Mode.RULES:
            message[Cause.JUDGE] = hand.why
        return ScoredAgain(untold=message, ledger=hand.ledger)

    def _evaluate(
        self, wanted: Wanted, result: _Evaluated, balance: OtherBalance, rows: Array, *, everything: bool
    ) -> None:
        """Fill in what the answers at these rows come to, and by B's own judge those at all rows."""
        chosen = np.arange(len(wanted.first)) if everything else rows
        scored_again = np.zeros(len(wanted.first), dtype=bool)
        scored_again[rows] = True
        for row, sample, case, truth in answers_of(self._a, self._b, wanted.first, chosen):
            if scored_again[row]:
                retained = reading_of(balance.evaluate(sample, case), by_pass=wanted.by_pass)
                result.scorers[row] = result.truth[row] = retained
                if wanted.other_truth[row]:
                    result.truth[row] = reading_of(balance.evaluate(sample, truth), by_pass=wanted.by_pass)
            if everything:
                result.judge[row] = reading_of(balance.judge(sample, truth), by_pass=wanted.by_pass)

    def _bought(self, purchase: Purchase, wanted: Wanted, message: ScoredAgain, hand: CurrentSuite) -> ScoredAgain:
        """What B's judge says of some answers of A that are not the same in B."""
        suite = hand.suite
        if hand.why_no_judge or suite is None or suite.judge is None:
            raise UsageError(f"--rejudge: {hand.why_no_judge or 'run B has no judge'}")
        if unknown := [member.name for member in suite.judge.members if member not in suite.judge.judges.values()]:
            raise UsageError(
                f"--rejudge: the judge {unknown[0]} is not in the suite, and no call is made to an address that only"
                f" a run names: declare it under judge, judges"
            )
        rows = self._chosen(wanted, message, purchase.most)
        places, done = rejudged(self._a, self._b, suite, wanted.first, rows, purchase, suite.limits, os.environ)
        judge = np.full(len(wanted.first), np.nan)
        for place, sample in done.samples.items():
            judge[places[place]] = reading_of(sample, by_pass=wanted.by_pass)
        failed = len(done.samples) - int((~np.isnan(judge)).sum())
        stopped = done.stopped and f"{done.stopped}: {len(done.samples):,} of {len(places):,} answers were judged"
        if stopped:
            message.untold[Cause.JUDGE] = stopped
        return replace(message, judge=judge, failed=failed, stopped=stopped)

    def _chosen(self, wanted: Wanted, message: ScoredAgain, most: int) -> Array:
        """Rows drawn at random from every score band, without those that B's judge has read."""
        run = self._a
        read = self.identical(wanted.first, wanted.second)
        read |= ~np.isnan(reread(run, self._b, wanted.first, by_pass=False))
        last = message.truth if message.truth is not None else _recorded(run, wanted)
        rows = np.flatnonzero(~read & ~np.isnan(last) & ~run.table.malformed[wanted.first])
        return np.asarray(rows[drawn_anchors(run, wanted.first[rows], most)])


class _Evaluated:
    """What A's answers come to, a value for each pair; NaN where they have not been scored."""

    def __init__(self, n: int) -> None:
        self.scorers, self.truth, self.judge = (np.full(n, np.nan) for _ in range(3))


def _recorded(run: ComparedRun, wanted: Wanted) -> Array:
    values = run.table.passed() if wanted.by_pass else run.table.score()
    return np.asarray(values[wanted.first].astype(float))
