"""How a verdict came about: earlier runs of the same target, and changed criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from steelyard.analysis.criteria import changed_criteria, criteria_digest, criteria_of, has_criteria, suite_criteria
from steelyard.decide.baselines import baselines as baselines_of
from steelyard.decide.baselines import drift
from steelyard.records import CriteriaChanges, EarlierRuns, PastRun, RunFacts, RunHeader, RunState, Verdict
from steelyard.store.base import Store
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.headers import answers_from, arm_of, is_partial
from steelyard.suite.yaml import listed
from steelyard.wording import counted

_ORDER = [*(verdict.value for verdict in Verdict), "without gates", "interrupted", "running"]
_LOOKED_AT = 20
"""The newest runs among which the one before is looked for."""
_SIGNATURE = ("cases", "truth", "scorers", "schema", "judge", "rules", "sample")


def counted_verdicts(runs: Iterable[PastRun]) -> dict[str, int]:
    """How many runs have each verdict, in the order in which sentences name them."""
    counts = Counter(run.verdict for run in runs)
    return {name: counts[name] for name in [*_ORDER, *sorted({*counts} - {*_ORDER})] if counts[name]}


def verdicts_in_words(verdicts: Mapping[str, int]) -> str:
    """`4 FAIL, 1 INVALID`."""
    return ", ".join(f"{n:,} {verdict}" for verdict, n in verdicts.items())


def times(n: int) -> str:
    """`once`, or `17 times`."""
    return "once" if n == 1 else f"{n:,} times"


def run_before(earlier: EarlierRuns | None, of: str | None = None) -> str:
    """How often it was run before and with which verdicts, as every report says it; "" for the first run.

    `run 5 times before with the same signature and target: 4 FAIL, 1 INVALID (2 of them deleted)`. `of` takes the
    place of what is the same.
    """
    if earlier is None or not (n := sum(earlier.verdicts.values())):
        return ""
    if of is None:
        of = f" with the same {'target' if earlier.other_signature else 'signature and target'}"
    among = (
        (earlier.deleted, "of them deleted"),
        (earlier.other_signature, "with another signature"),
        (earlier.other_criteria, "with other gates, limits or prices"),
    )
    more = ", ".join(f"{count:,} {what}" for count, what in among if count)
    return f"run {times(n)} before{of}: {verdicts_in_words(earlier.verdicts)}{f' ({more})' if more else ''}"


def earlier_runs(store: Store, header: RunHeader) -> EarlierRuns:
    """The runs of the same target on the same suite or cases that the store has, deleted ones included.

    Neither another part of the cases nor other repeats, scorers, truth or gates make a run the first one: how many
    differ in these is counted. The other arm of the same A/B or experiment is no earlier run.
    """
    signed, plan = header.signature, arm_of(header)[0]
    # A plain run has the criteria of the suite alone, without those of the A/B or experiment.
    of_suite = suite_criteria(header.description, header.options.prices, strict=header.options.strict)
    same_criteria = {criteria_digest(criteria_of(header)), criteria_digest(of_suite)}
    others = [
        run
        for run in store.runs_of_target(header.target)
        if run.id != header.id
        and (run.suite_name == header.suite_name or run.signature.cases == signed.cases)
        and run.signature.prompts == signed.prompts
        and not (plan and run.plan == plan)
    ]
    by_id = {run.id: run for run in others}

    def origin(name: str) -> str:
        seen = {name}
        while (earlier := by_id.get(name)) and earlier.source and earlier.source not in seen:
            seen.add(name := earlier.source)
        return name

    scored_again = header.rescored_from is not None or header.options.answers_of is not None
    mine = origin(answers_from(header)) if scored_again else ""
    runs = [run for run in others if not run.source and run.id != mine]
    again = [run for run in others if mine and origin(run.id) == mine]
    if header.rescored_from is None:
        # A rescore calls no judge.
        again = [run for run in again if not run.source or run.judged_again]
    other = [run for run in runs if any(run.signature.part(part) != signed.part(part) for part in _SIGNATURE)]
    same = [run for run in runs if run not in other]
    return EarlierRuns(
        verdicts=counted_verdicts(runs),
        other_signature=len(other),
        other_criteria=sum(bool(run.criteria) and run.criteria not in same_criteria for run in same),
        deleted=sum(run.deleted_at is not None for run in runs),
        same_answers=counted_verdicts(again),
    )


def with_provenance(store: Store, header: RunHeader, baselines: Mapping[str, tuple[Store, str]]) -> RunFacts:
    """The facts of a run that ends now, with its earlier runs, its criteria, and what changed in these.

    `baselines` are the runs that it is compared with by their names, each with the store that holds it.
    """
    locks = {lock.name: lock for lock in baselines_of(store, header.suite_name)} if baselines else {}
    changed = [
        replace(changes_since(store, header, *place, name), drift=_drift(store, locks.get(name), place[1]))
        for name, place in baselines.items()
    ]
    if (before := _previous(store, header)) and before not in {run for _, run in baselines.values()}:
        since = changes_since(store, header, store, before)
        if (since.changes, since.dropped) not in [(item.changes, item.dropped) for item in changed]:
            changed.insert(0, since)
    return replace(
        header.options,
        earlier=earlier_runs(store, header),
        criteria=criteria_digest(criteria_of(header)),
        changed=tuple(item for item in changed if item.changes or item.dropped or item.drift),
    )


def _drift(store: Store, lock: BaselineEntry | None, run_id: str) -> str:
    if lock is None or lock.run_id != run_id:
        return ""
    return next((item.sentence for item in reversed(drift(store, lock)) if item.is_another), "")


def changes_since(store: Store, header: RunHeader, other: Store, run_id: str, label: str = "") -> CriteriaChanges:
    """What decided on an earlier run and differs in this one, and the cases that it had and this one has not.

    Of a run of a part of the suite, which says so itself, cases are compared only with those of a baseline.
    """
    before = other.run(run_id)
    if not has_criteria(before):
        return CriteriaChanges(before.id, label)
    dropped: list[str] = []
    passed: int | None = None
    same = before.signature.cases == header.signature.cases
    if (not same and not is_partial(header)) or (label and is_partial(header)):
        columns, mine = other.columns(run_id), {*store.columns(header.id).case_ids}
        codes = [code for code, name in enumerate(columns.case_ids) if name not in mine]
        dropped = [columns.case_ids[code] for code in codes]
        failed = {*columns.case[columns.passed != 1].tolist()}
        passed = None if before.description.passing is None else sum(code not in failed for code in codes)
    changes = changed_criteria(before, header)
    return CriteriaChanges(before.id, label, changes, tuple(dropped), passed)


def _previous(store: Store, header: RunHeader) -> str:
    """The run whose answers this one scores again, else the newest ended run of the suite; one of a part of the suite
    only where there is no other. "" when there is none, and for the second arm of an A/B or experiment the first of
    another one."""
    if (source := answers_from(header)) or header.options.imported is not None:
        return source
    plan = arm_of(header)[0]
    runs = [
        run
        for run in store.runs(header.suite_name, _LOOKED_AT)
        if run.id != header.id
        and run.state is RunState.ENDED
        and run.options.imported is None
        and not (plan and arm_of(run)[0] == plan)
    ]
    whole = (run for run in runs if has_criteria(run) and not is_partial(run))
    return next((run.id for run in chain(whole, runs)), "")


def changed_in_words(changed: CriteriaChanges) -> Iterator[str]:
    """What changed since another run, and which cases were dropped, a sentence each."""
    since = f"{changed.label} (run {changed.run})" if changed.label else f"run {changed.run}"
    if changed.changes:
        yield f"changed since {since}: {'; '.join(changed.changes)}"
    if n := len(changed.dropped):
        cases = f"{counted(n, 'case')} of {since} {'is' if n == 1 else 'are'} not in this run"
        passed = "" if changed.dropped_passed is None else f", {changed.dropped_passed:,} of them passed there"
        yield f"{cases}{passed}: {listed(changed.dropped)}"
    if changed.drift:
        yield f"{changed.label} was locked again; {changed.drift}"
