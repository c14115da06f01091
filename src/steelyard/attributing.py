"""Why the headline number moved between two stored runs: weighs A's answers by B's suite as far as it takes.

Nothing is written but what `--rejudge` buys, and nothing is weighed again where the instruments are the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.attribution import attribute
from steelyard.analysis.attribution_model import Attribution, Cause, Reweighed, Wanted
from steelyard.analysis.attribution_steps import other_scorers
from steelyard.analysis.attribution_terms import Traces
from steelyard.analysis.compared_cases import CommonCases
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.instruments import signed
from steelyard.analysis.pieces import Array
from steelyard.engine.again import OtherBalance, reading_of
from steelyard.instrument_at_hand import AtHand, at_hand
from steelyard.records import Mode, Sample
from steelyard.same_instrument import scored_otherwise
from steelyard.store.base import Store
from steelyard.suite.case import Case

if TYPE_CHECKING:
    from steelyard.judging.estimate import CostEstimate

_CHUNK = 200
"""Cases whose samples are in memory at a time."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """How many answers of A the judge of B may be asked about, for how much, and who has to agree to it."""

    most: int
    store: Store
    """Keeps what is bought."""
    agree: Callable[[CostEstimate], None]
    max_cost: float | None = None


def attribution_of(
    a: ComparedRun,
    b: ComparedRun,
    cases: CommonCases,
    *,
    suite: str | None = None,
    purchase: Purchase | None = None,
) -> tuple[Attribution, Traces]:
    """The change from A to B in portions, with what every reading adds to each. `suite` is where B's suite is, if not
    where the run says.

    UserMistake when that cannot be read, or when a purchase is asked for that nobody could make.
    """
    again = _Again(a, b, suite, purchase)
    return attribute(a, b, cases, again.reweigh, again.identical)


class _Again:
    def __init__(self, a: ComparedRun, b: ComparedRun, suite: str | None, purchase: Purchase | None) -> None:
        self._a, self._b, self._suite, self._purchase = a, b, suite, purchase
        self._digests: tuple[Array, Array] | None = None
        self._other_judge = signed(a, "judge") != signed(b, "judge")

    def identical(self, first: Array, second: Array) -> Array:
        """Marks the pairs whose answers are the same to the byte."""
        digests = self._digests
        if digests is None:
            a, b = (np.zeros(run.columns.n) if run.digests is None else run.digests() for run in (self._a, self._b))
            digests = self._digests = a, b
        here, there = digests[0][first], digests[1][second]
        return np.asarray((here == there) & (here != 0))

    def reweigh(self, wanted: Wanted) -> Reweighed:
        """A's answers on B's balance; nothing where both are the same and nothing is bought."""
        scorers = other_scorers(self._a, self._b)
        if not (scorers or self._other_judge or wanted.other_truth.any() or self._purchase):
            return Reweighed()
        hand = at_hand(self._b.header, self._suite)
        if hand.suite is None:
            return self._without_suite(hand)
        balance = OtherBalance(hand.suite, self._a.suite.get("judge"), same_judge=not self._other_judge)
        if case := scored_otherwise(self._b, hand.suite):
            where = hand.suite.path
            wrong = f"the suite at {where} does not weigh B's answer to {case} as it did: its code has changed since"
            return self._without_suite(replace(hand, suite=None, why=wrong))
        found = _Weighed(len(wanted.first))
        rows = np.arange(len(wanted.first)) if scorers else np.flatnonzero(wanted.other_truth)
        if balance.why_no_words:
            rows = rows[:0]
        by_code = balance.asks_no_model and (self._other_judge or bool(balance.why_no_words))
        if by_code and not hand.is_judge:
            by_code = False
        self._weigh(wanted, found, balance, rows, everything=by_code)
        return self._told(wanted, found, balance, hand, by_code=by_code, scorers_differ=scorers)

    def _told(
        self,
        wanted: Wanted,
        found: _Weighed,
        balance: OtherBalance,
        hand: AtHand,
        *,
        by_code: bool,
        scorers_differ: bool,
    ) -> Reweighed:
        values_a = _recorded(self._a, wanted)
        untold = {}
        scorers: Array | None = found.scorers
        truth: Array | None = np.where(wanted.other_truth, found.truth, found.scorers)
        if balance.why_no_words:
            untold = dict.fromkeys((Cause.SCORERS, Cause.TRUTH), balance.why_no_words)
            scorers = truth = None
        elif not scorers_differ:
            scorers, truth = values_a, np.where(wanted.other_truth, found.truth, values_a)
        told = Reweighed(scorers, truth, untold=untold, ledger=hand.ledger)
        if by_code:
            return replace(told, judge=found.judge, by_code=True)
        if hand.why_no_judge:
            told.untold[Cause.JUDGE] = hand.why_no_judge
        return told if self._purchase is None else self._bought(self._purchase, wanted, told, hand)

    def _without_suite(self, hand: AtHand) -> Reweighed:
        from steelyard.errors import UserMistake

        if self._purchase is not None:
            raise UserMistake(f"--rejudge: {hand.why}")
        told = dict.fromkeys((Cause.SCORERS, Cause.TRUTH), hand.why)
        if self._b.mode == Mode.RULES:
            told[Cause.JUDGE] = hand.why
        return Reweighed(untold=told, ledger=hand.ledger)

    def _weigh(self, wanted: Wanted, found: _Weighed, balance: OtherBalance, rows: Array, *, everything: bool) -> None:
        """Fill in what the answers at these rows come to, and by B's own judge those at all rows."""
        chosen = np.arange(len(wanted.first)) if everything else rows
        reweighed = np.zeros(len(wanted.first), dtype=bool)
        reweighed[rows] = True
        for row, sample, case, truth in self._answers(wanted, chosen):
            if reweighed[row]:
                kept = reading_of(balance.weigh(sample, case), by_pass=wanted.by_pass)
                found.scorers[row] = found.truth[row] = kept
                if wanted.other_truth[row]:
                    found.truth[row] = reading_of(balance.weigh(sample, truth), by_pass=wanted.by_pass)
            if everything:
                found.judge[row] = reading_of(balance.judge(sample, truth), by_pass=wanted.by_pass)

    def _answers(self, wanted: Wanted, rows: Array) -> Iterator[tuple[int, Sample, Case, Case]]:
        """The answers of A at some rows, each with its case as it was asked in A and with the truth of B.

        One whose text is not kept is passed over.
        """
        run, contents = self._a, self._b.contents
        case = run.columns.case[wanted.first[rows]]
        starts = np.flatnonzero(np.concatenate(([True], case[1:] != case[:-1]))) if len(rows) else rows
        for chunk in range(0, len(starts), _CHUNK):
            end = starts[chunk + _CHUNK] if chunk + _CHUNK < len(starts) else len(rows)
            part = rows[starts[chunk] : end]
            places = dict(zip(_keys(run, wanted.first[part]), part.tolist(), strict=True))
            ids = list(dict.fromkeys(key[0] for key in places))
            truths = {} if contents is None else contents.cases(ids)
            for sample, then in run.samples(case_ids=ids) if run.samples else ():
                row = places.get(sample.key)
                if row is not None and sample.attempt.text is not None:
                    yield row, sample, then, truths.get(then.id, then)

    def _bought(self, purchase: Purchase, wanted: Wanted, told: Reweighed, hand: AtHand) -> Reweighed:
        """What B's judge says of some answers of A that are not the same in B."""
        from steelyard.engine.rejudge import Rejudging
        from steelyard.errors import UserMistake
        from steelyard.suite.chosen_judge import refuse_self_judged

        suite = hand.suite
        if hand.why_no_judge or suite is None or suite.judge is None:
            raise UserMistake(f"--rejudge: {hand.why_no_judge or 'run B has no judge'}")
        header = self._a.header
        refuse_self_judged(suite, header.target)
        if self._a.header.signature.get("redact") != self._b.header.signature.get("redact"):
            raise UserMistake("--rejudge: A and B redact in different ways, and A's answers are sent to nobody")
        rows = self._chosen(wanted, told, purchase.most)
        answers = {row: (sample, truth) for row, sample, _, truth in self._answers(wanted, np.sort(rows))}
        places = [row for row in rows.tolist() if row in answers]
        rejudging = Rejudging(suite, [answers[row] for row in places], purchase.store)
        purchase.agree(rejudging.estimate())
        done = rejudging.ask(suite.limits, os.environ, purchase.max_cost)
        judge = np.full(len(wanted.first), np.nan)
        for place, sample in done.samples.items():
            judge[places[place]] = reading_of(sample, by_pass=wanted.by_pass)
        failed = len(done.samples) - int((~np.isnan(judge)).sum())
        stopped = done.stopped and f"{done.stopped}: {len(done.samples):,} of {len(places):,} answers were judged"
        if stopped:
            told.untold[Cause.JUDGE] = stopped
        return replace(told, judge=judge, failed=failed, stopped=stopped)

    def _chosen(self, wanted: Wanted, told: Reweighed, most: int) -> Array:
        """Rows drawn at random, always the same and in the same order: a larger number buys only what is new."""
        run = self._a
        same = self.identical(wanted.first, wanted.second)
        last = told.truth if told.truth is not None else _recorded(run, wanted)
        rows = np.flatnonzero(~same & ~np.isnan(last) & ~run.table.malformed[wanted.first])
        keys = _keys(run, wanted.first[rows])
        drawn = [hashlib.blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys]
        order = sorted(range(len(rows)), key=drawn.__getitem__)[:most]
        return np.asarray(rows[np.array(order, dtype=int)])


class _Weighed:
    """What A's answers come to, a value for each pair; NaN where they have not been weighed."""

    def __init__(self, n: int) -> None:
        self.scorers, self.truth, self.judge = (np.full(n, np.nan) for _ in range(3))


def _recorded(run: ComparedRun, wanted: Wanted) -> Array:
    values = run.table.passed() if wanted.by_pass else run.table.score()
    return np.asarray(values[wanted.first].astype(float))


def _keys(run: ComparedRun, rows: Sequence[int] | Array) -> list[tuple[str, str, int]]:
    columns = run.columns
    return [
        (
            columns.case_ids[int(columns.case[row])],
            columns.variants[int(columns.variant[row])],
            int(columns.repeat[row]),
        )
        for row in rows
    ]
