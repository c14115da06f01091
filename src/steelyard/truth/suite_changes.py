"""What changed in a suite's truth and in how it scores answers since a run, and the reasons that the ledger gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from steelyard.analysis.criteria import changed_values, criteria_digest, criteria_of, is_signed, suite_criteria
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import judged_as_then
from steelyard.loading.load import strict
from steelyard.records import RunHeader, RunState
from steelyard.store.base import Store
from steelyard.store.headers import is_partial
from steelyard.suite.case import Case, bare_truth, digest
from steelyard.suite.ledger import CRITERIA, SCORED_BY, TRUTH, LedgerLine, append_lines, by_state, kind_of, ledger_line
from steelyard.suite.models import SuiteModel
from steelyard.suite.prices import prices_used, read_prices
from steelyard.suite.signature import signature
from steelyard.suite.yaml import listed, meant

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
class SuiteChanges:
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


def changes_since(suite: SuiteModel, store: Store, header: RunHeader) -> SuiteChanges:
    """All of truth and scoring that is another than in the run, each with its reason where the ledger has one."""
    reasons = by_state(suite.ledger)
    edits = [*_evaluation(suite, header)]
    partial = False
    if header.signature.part(TRUTH) != suite.survey.truth_digest:
        then = _truths(store, header)
        partial = len(then) < (header.description.n_cases or 0)
        edits += _truth_edits(suite, then, partial=partial)
    messages = (replace(edit, line=reasons.get((edit.what, edit.case, edit.after))) for edit in edits)
    return SuiteChanges(header, tuple(messages), partial)


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
    suite: SuiteModel,
    changes: SuiteChanges,
    *,
    by: str,
    reason: str,
    cases: Sequence[str] = (),
    evaluation: bool = False,
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


def _chosen(changes: SuiteChanges, cases: Sequence[str], *, evaluation: bool, since: str) -> list[Edit]:
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
