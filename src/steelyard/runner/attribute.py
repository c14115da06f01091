"""Why the headline moved between two runs, and what changed in the truth meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.compare.attribution import Traces, attribute
from steelyard.analysis.compare.attribution_model import Attribution, Cause, ScoredAgain, Wanted
from steelyard.analysis.compare.attribution_steps import SharedPairs, other_scorers
from steelyard.analysis.compare.judge_drift import drawn_anchors, identical, keys_of, reread
from steelyard.analysis.compare.pairing import CommonCases, ComparedRun, common_cases
from steelyard.analysis.compare.signatures import signed
from steelyard.analysis.criteria import changed_values, criteria_digest, criteria_of, is_signed, suite_criteria
from steelyard.engine.rescore import OtherBalance, reading_of
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import judged_as_then, refuse_self_judged
from steelyard.loading.load import strict
from steelyard.records import AnchorReading, Anchors, Mode, RunHeader, RunState, Sample
from steelyard.runner.same_signature import CurrentSuite, current_suite, scored_otherwise
from steelyard.stats.arrays import Array
from steelyard.store.base import Store
from steelyard.store.headers import is_partial
from steelyard.suite.case import Case, bare_truth, digest
from steelyard.suite.models import SuiteModel
from steelyard.suite.prices import prices_used, read_prices
from steelyard.suite.signature import signature
from steelyard.suite.truth import CRITERIA, SCORED_BY, TRUTH, LedgerLine, append_lines, by_state, kind_of, ledger_line
from steelyard.suite.yaml import listed, meant

if TYPE_CHECKING:
    from steelyard.engine.judges import Rejudged
    from steelyard.judging.ask import CostEstimate
    from steelyard.suite.models import Limits


# Why the headline number moved between two stored runs: scores A's answers by B's suite as far as it takes.

_CHUNK = 200
"""Cases whose samples are in memory at a time."""


@frozen
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
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
) -> tuple[Attribution, Traces]:
    """The change from A to B in portions, with what every reading adds to each. `suite` is where B's suite is, if not
    where the run says.

    UsageError when that cannot be read, or when a purchase is asked for that nobody could make.
    """
    again = _Again(a, b, suite, purchase)
    return attribute(a, b, cases, again.score_again, again.identical)


def read_anchors(
    a: ComparedRun, b: ComparedRun, suite: SuiteModel, purchase: Purchase, limits: Limits, env: Mapping[str, str]
) -> Anchors | None:
    """What the judge of B, whose suite this is, says of answers of A drawn from every score band; None without any:
    those that are the same in B it has read already.

    UsageError when nobody may be asked.
    """
    again, pairs = _Again(a, b, None, purchase), SharedPairs(a, b, common_cases(a, b))
    wanted = Wanted(pairs.first, pairs.second, pairs.other_truth, pairs.by_pass)
    rows = np.flatnonzero(pairs.judged() & ~a.table.malformed[pairs.first])
    rows = rows[drawn_anchors(a, pairs.first[rows], purchase.most)]
    rows = rows[~again.identical(pairs.first[rows], pairs.second[rows])]
    _, done = again.rejudged(suite, wanted, rows, limits, env)
    samples = list(done.samples.values())
    readings = tuple(
        AnchorReading(*sample.key, sample.score, sample.passed) for sample in samples if sample.outcome.conclusive
    )
    calls = [call.call_result for sample in samples if sample.judgement for call in sample.judgement.calls]
    costs = [call_result.cost for call_result in calls if call_result.failure is None]
    cost = None if None in costs else sum(cost for cost in costs if cost)
    price = "at a price that is not known" if cost is None else f"for {cost:.4g}"
    messages = [f"{len(readings):,} answers of run {a.header.id} judged again {price}", done.stopped]
    if failed := len(samples) - len(readings):
        messages.insert(1, f"{failed:,} more failed")
    return Anchors(readings, cost, "; ".join(item for item in messages if item)) if samples else None


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
        for row, sample, case, truth in self._answers(wanted, chosen):
            if scored_again[row]:
                retained = reading_of(balance.evaluate(sample, case), by_pass=wanted.by_pass)
                result.scorers[row] = result.truth[row] = retained
                if wanted.other_truth[row]:
                    result.truth[row] = reading_of(balance.evaluate(sample, truth), by_pass=wanted.by_pass)
            if everything:
                result.judge[row] = reading_of(balance.judge(sample, truth), by_pass=wanted.by_pass)

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
            places = dict(zip(keys_of(run, wanted.first[part]), part.tolist(), strict=True))
            ids = list(dict.fromkeys(key[0] for key in places))
            truths = {} if contents is None else contents.cases(ids)
            for sample, then in run.samples(case_ids=ids) if run.samples else ():
                row = places.get(sample.key)
                if row is not None and sample.call_result.text is not None:
                    yield row, sample, then, truths.get(then.id, then)

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
        places, done = self.rejudged(
            suite, wanted, self._chosen(wanted, message, purchase.most), suite.limits, os.environ
        )
        judge = np.full(len(wanted.first), np.nan)
        for place, sample in done.samples.items():
            judge[places[place]] = reading_of(sample, by_pass=wanted.by_pass)
        failed = len(done.samples) - int((~np.isnan(judge)).sum())
        stopped = done.stopped and f"{done.stopped}: {len(done.samples):,} of {len(places):,} answers were judged"
        if stopped:
            message.untold[Cause.JUDGE] = stopped
        return replace(message, judge=judge, failed=failed, stopped=stopped)

    def rejudged(
        self, suite: SuiteModel, wanted: Wanted, rows: Array, limits: Limits, env: Mapping[str, str]
    ) -> tuple[list[int], Rejudged]:
        """The rows whose answers B's judge was asked about, in order, and what came of it."""
        from steelyard.engine.judges import Rejudging

        purchase = self._purchase
        if purchase is None:
            raise RuntimeError("no calls are allowed")
        refuse_self_judged(suite, self._a.header.target)
        if self._a.header.signature.redact != self._b.header.signature.redact:
            raise UsageError("A and B redact differently, so A's answers are not sent")
        answers = {row: (sample, truth) for row, sample, _, truth in self._answers(wanted, np.sort(rows))}
        places = [row for row in rows.tolist() if row in answers]
        rejudging = Rejudging(suite, [answers[row] for row in places], purchase.store, self._b.header.id)
        purchase.agree(rejudging.estimate())
        return places, rejudging.ask(limits, env, purchase.max_cost)

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


# What changed in a suite's truth and in how it scores answers since a run, and the reasons that the ledger gives.

_PAGE = 500


@frozen
class Edit:
    """One thing that is another now, with the line of the ledger that says why; None where none does."""

    what: str
    case: str | None
    before: str | None
    after: str | None
    line: LedgerLine | None = None
    values: tuple[str, ...] = ()
    """Values that differ, as in `gate pass_rate >= 90 % -> pass_rate >= 60 %`, where it is known."""

    @property
    def kind(self) -> str:
        """`added`, `removed` or `edited`."""
        return kind_of(self.before, self.after)


@frozen
class Changes:
    """What changed from a run to the suite as it is now."""

    since: RunHeader
    edits: tuple[Edit, ...]
    """How answers are scored first, then the cases by their ids."""
    partial: bool = False
    """True when the run covers only a part of the cases: cannot tell which were added since."""

    @property
    def without_reason(self) -> tuple[Edit, ...]:
        """The edits that the ledger does not speak of."""
        return tuple(edit for edit in self.edits if edit.line is None)


def newest_run(suite: SuiteModel, store: Store) -> RunHeader:
    """The newest ended run of the suite, of all its cases if there is such a one; UsageError when none has ended.

    One that asked entirely other cases, as `run --cases` does, is passed over unless all did.
    """
    ended = [header for header in store.runs(suite.name) if header.state is RunState.ENDED]
    if not ended:
        raise UsageError(
            f"no run of suite {suite.name} has ended in this store: run it first, or name one: --since RUN"
        )
    ended.sort(key=is_partial)
    if ended[0].signature.part(TRUTH) == suite.survey.truth_digest:
        return ended[0]
    ids = {case.id for case in suite.cases}
    return next((item for item in ended if not ids.isdisjoint(store.columns(item.id).case_ids)), ended[0])


def changes_since(suite: SuiteModel, store: Store, header: RunHeader) -> Changes:
    """All of truth and scoring that is another than in the run, each with its reason where the ledger has one."""
    reasons = by_state(suite.ledger)
    edits = [*_evaluation(suite, header)]
    partial = False
    if header.signature.part(TRUTH) != suite.survey.truth_digest:
        then = _truths(store, header)
        partial = len(then) < (header.description.n_cases or 0)
        edits += _truth_edits(suite, then, partial=partial)
    messages = (replace(edit, line=reasons.get((edit.what, edit.case, edit.after))) for edit in edits)
    return Changes(header, tuple(messages), partial)


def _evaluation(suite: SuiteModel, header: RunHeader) -> Iterator[Edit]:
    suite = strict(suite) if header.options.strict else suite
    # Where that judge is gone, what is made of its words is looked at as the suite has it now.
    with suppress(SteelyardError):
        suite = judged_as_then(suite, header.description.judge, to_ask=False)
    now = signature(suite, header.target)
    then, today = criteria_of(header), suite_criteria(suite, _prices(suite, header), strict=header.options.strict)
    # A run may allow more than its suite; only for itself.
    today["max_inconclusive"] = then["max_inconclusive"]
    changes = changed_values(then, today)
    for part in SCORED_BY:
        before = header.signature.part(part)
        if before is not None and before != now.part(part):
            values = tuple(filter(is_signed, changes)) if part == "scorers" else ()
            yield Edit(part, None, before, now.part(part), values=values)
    if values := tuple(text for text in changes if not is_signed(text)):
        yield Edit(CRITERIA, None, criteria_digest(then), criteria_digest(today), values=values)


def _prices(suite: SuiteModel, header: RunHeader) -> dict[str, Any]:
    """What the models that a run asked cost now."""
    members = () if suite.judge is None else suite.judge.members
    settings = {str(item.model): item.settings for item in members if item.is_model}
    asked = [(settings.get(model, suite.target.settings), [model]) for model in header.options.prices]
    return prices_used(asked, read_prices(suite.folder))


def _truths(store: Store, header: RunHeader) -> dict[str, tuple[str, str]]:
    """By case of the run, the digest of its truth, and the one that every spelling of that truth has."""
    ids = [*store.columns(header.id).case_ids]
    contents = store.contents(header.id)
    return {
        case.id: _digests(case)
        for start in range(0, len(ids), _PAGE)
        for case in contents.cases(ids[start : start + _PAGE]).values()
    }


def _digests(case: Case) -> tuple[str, str]:
    return digest(case.expected), digest(bare_truth(case.expected))


def _truth_edits(suite: SuiteModel, then: dict[str, tuple[str, str]], *, partial: bool) -> list[Edit]:
    edits = []
    left = dict(then)
    for case in suite.cases:
        before, after = left.pop(case.id, None), _digests(case)
        if (before is None and not partial) or (before is not None and before[1] != after[1]):
            edits.append(Edit(TRUTH, case.id, None if before is None else before[0], after[0]))
    edits += [Edit(TRUTH, case, before, None) for case, (before, _) in left.items()]
    return sorted(edits, key=lambda edit: edit.case or "")


def note(
    suite: SuiteModel, changes: Changes, *, by: str, reason: str, cases: Sequence[str] = (), evaluation: bool = False
) -> list[LedgerLine]:
    """Write the reason of the edits that have none yet: of all, or of these cases and of how answers are scored.

    UsageError, and nothing is written, when there is nothing to note or a named case has no such edit.
    """
    since = f"run {changes.since.id}"
    if not changes.without_reason:
        message = "every edit has its reason" if changes.edits else "truth and scorers are as they were"
        raise UsageError(f"there is nothing to note since {since}: {message}")
    if strange := [case for case in cases if case not in {edit.case for edit in changes.edits}]:
        ids = [case.id for case in suite.cases]
        unknown = [f"{case!r}{meant(case, ids)}" for case in strange if case not in ids]
        if unknown:
            raise UsageError(f"nothing was noted: neither the suite nor {since} has a case {listed(unknown)}")
    chosen = _chosen(changes, cases, evaluation=evaluation, since=since)
    lines = [
        ledger_line(by=by, reason=reason, what=edit.what, case=edit.case, before=edit.before, after=edit.after)
        for edit in chosen
    ]
    append_lines(suite.folder, lines)
    return lines


def _chosen(changes: Changes, cases: Sequence[str], *, evaluation: bool, since: str) -> list[Edit]:
    open_edits = changes.without_reason
    if not cases and not evaluation:
        return [*open_edits]
    edited = {edit.case: edit for edit in changes.edits if edit.case is not None}
    open_cases = {edit.case for edit in open_edits}
    as_before = [case for case in cases if case not in edited]
    reasoned = [case for case in cases if case in edited and case not in open_cases]
    of_scoring = [edit for edit in open_edits if edit.case is None]
    wrong = [f"no edit of the truth of {listed(as_before)} is known since {since}"] if as_before else []
    wrong += [f"{listed(reasoned)} has its reason in the ledger already"] if reasoned else []
    wrong += [f"no edit of the scorers since {since} is without a reason"] if evaluation and not of_scoring else []
    if wrong:
        raise UsageError(f"nothing was noted: {'; '.join(wrong)}")
    return [edit for edit in open_edits if edit.case in cases or (evaluation and edit.case is None)]
