"""What changed in a suite's truth and in how it weighs answers since a run, and the reasons that the ledger gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from steelyard.analysis.sound_runs import is_partial
from steelyard.errors import SteelyardError, UserMistake
from steelyard.records import RunHeader, RunState
from steelyard.store.base import Store
from steelyard.suite.case import Case, bare_truth, digest
from steelyard.suite.chosen_judge import judged_as_then
from steelyard.suite.load import strict
from steelyard.suite.models import SuiteModel
from steelyard.suite.signature import signature
from steelyard.suite.truth import TRUTH, WEIGHED_BY, LedgerLine, append_lines, by_state, kind_of, moment_now
from steelyard.suite.yaml import listed, meant

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that is another now, with the line of the ledger that says why; None where none does."""

    what: str
    case: str | None
    before: str | None
    after: str | None
    line: LedgerLine | None = None

    @property
    def kind(self) -> str:
        """`added`, `removed` or `edited`."""
        return kind_of(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed from a run to the suite as it is now."""

    since: RunHeader
    edits: tuple[Edit, ...]
    """How answers are weighed first, then the cases by their ids."""
    partial: bool = False
    """True when the run asked a part of the cases alone: nobody can tell which cases were added since."""

    @property
    def without_reason(self) -> tuple[Edit, ...]:
        """The edits that the ledger does not speak of."""
        return tuple(edit for edit in self.edits if edit.line is None)


def newest_run(suite: SuiteModel, store: Store) -> RunHeader:
    """The newest ended run of the suite, of all its cases if there is such a one; UserMistake when none has ended.

    One that asked entirely other cases, as `run --cases` does, is passed over unless all did.
    """
    ended = [header for header in store.runs(suite.name) if header.state is RunState.ENDED]
    if not ended:
        raise UserMistake(
            f"no run of suite {suite.name} has ended in this store: run it first, or name one: --since RUN"
        )
    ended.sort(key=is_partial)
    if ended[0].signature.get(TRUTH) == suite.survey.truth_digest:
        return ended[0]
    ids = {case.id for case in suite.cases}
    return next((each for each in ended if not ids.isdisjoint(store.columns(each.id).case_ids)), ended[0])


def changes_since(suite: SuiteModel, store: Store, header: RunHeader) -> Changes:
    """All of truth and weighing that is another than in the run, each with its reason where the ledger has one."""
    reasons = by_state(suite.ledger)
    edits = [*_weighing(suite, header)]
    partial = False
    if header.signature.get(TRUTH) != suite.survey.truth_digest:
        then = _truths(store, header)
        partial = len(then) < (header.description.n_cases or 0)
        edits += _truth_edits(suite, then, partial=partial)
    told = (replace(edit, line=reasons.get((edit.what, edit.case, edit.after))) for edit in edits)
    return Changes(header, tuple(told), partial)


def _weighing(suite: SuiteModel, header: RunHeader) -> Iterator[Edit]:
    suite = strict(suite) if header.options.get("strict") else suite
    # Where that judge is gone, what is made of its words is looked at as the suite has it now.
    with suppress(SteelyardError):
        suite = judged_as_then(suite, header.description.judge, to_ask=False)
    now = signature(suite, header.target)
    for part in WEIGHED_BY:
        before = header.signature.get(part)
        if before is not None and before != now[part]:
            yield Edit(part, None, before, now[part])


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
    suite: SuiteModel, changes: Changes, *, by: str, reason: str, cases: Sequence[str] = (), weighing: bool = False
) -> list[LedgerLine]:
    """Write the reason of the edits that have none yet: of all, or of these cases and of how answers are weighed.

    UserMistake, and nothing is written, when there is nothing to note or a named case has no such edit.
    """
    if not reason.strip():
        raise UserMistake('give --reason "...": the ledger keeps why an edit was made')
    since = f"run {changes.since.id}"
    if not changes.without_reason:
        told = "every edit has its reason" if changes.edits else "truth and scorers are as they were"
        raise UserMistake(f"there is nothing to note since {since}: {told}")
    if strange := [case for case in cases if case not in {edit.case for edit in changes.edits}]:
        ids = [case.id for case in suite.cases]
        unknown = [f"{case!r}{meant(case, ids)}" for case in strange if case not in ids]
        if unknown:
            raise UserMistake(f"nothing was noted: neither the suite nor {since} has a case {listed(unknown)}")
    chosen = _chosen(changes, cases, weighing=weighing, since=since)
    said = {"at": moment_now(), "by": by, "reason": reason.strip()}
    # Words of a command line may hold what is no text.
    said = {name: text.encode("utf-8", "replace").decode() for name, text in said.items()}
    lines = [
        LedgerLine.model_validate(
            said | {"what": edit.what, "case": edit.case, "before": edit.before, "after": edit.after}
        )
        for edit in chosen
    ]
    append_lines(suite.folder, lines)
    return lines


def _chosen(changes: Changes, cases: Sequence[str], *, weighing: bool, since: str) -> list[Edit]:
    open_edits = changes.without_reason
    if not cases and not weighing:
        return [*open_edits]
    edited = {edit.case: edit for edit in changes.edits if edit.case is not None}
    open_cases = {edit.case for edit in open_edits}
    as_before = [case for case in cases if case not in edited]
    reasoned = [case for case in cases if case in edited and case not in open_cases]
    of_weighing = [edit for edit in open_edits if edit.case is None]
    wrong = [f"no edit of the truth of {listed(as_before)} is known since {since}"] if as_before else []
    wrong += [f"{listed(reasoned)} has its reason in the ledger already"] if reasoned else []
    wrong += [f"no edit of the scorers since {since} is without a reason"] if weighing and not of_weighing else []
    if wrong:
        raise UserMistake(f"nothing was noted: {'; '.join(wrong)}")
    return [edit for edit in open_edits if edit.case in cases or (weighing and edit.case is None)]
