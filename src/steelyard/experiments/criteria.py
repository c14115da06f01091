"""Whether a candidate is adopted: the criteria of an experiment's file, decided on the runs of both arms."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from steelyard.analysis.model import Summary
from steelyard.analysis.stored import summary_of
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison
from steelyard.decide.gates import GateResult, Scope, measure, results
from steelyard.decide.provenance import counted_verdicts, run_before
from steelyard.decide.verdict import decide
from steelyard.errors import UsageError
from steelyard.experiments.decision import Decided
from steelyard.experiments.factors import Changed, changed_factors, held_against
from steelyard.experiments.plan import ExperimentFile, changed_since, comparison_word, word_holds
from steelyard.experiments.runs import Attempt, attempts_of
from steelyard.frozen import frozen
from steelyard.metrics.expression_checks import SuiteNames
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.runs import read_run
from steelyard.records import EarlierRuns, RunHeader, Verdict
from steelyard.report.render.json import HIDDEN
from steelyard.results.find import FoundRuns
from steelyard.runner.same_signature import rescored
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Store
from steelyard.store.past_runs import past_run

if TYPE_CHECKING:
    from steelyard.store.base import Store


@frozen
class Held:
    """One criterion, and what came of it."""

    text: str
    asks: str
    """adopt or reject."""
    holds: bool | None
    """None when it cannot be decided."""
    reason: str
    baseline: Estimate | None = None
    """The figure of a gate on the baseline, to see beside the candidate's; None for words and gates on many slices."""
    candidate: Estimate | None = None
    unit: str = ""


@frozen
class ExperimentArm:
    """One side of an experiment."""

    header: RunHeader
    summary: Summary

    @property
    def why_invalid(self) -> str:
        """Why it is INVALID; "" when it is not."""
        header = self.header
        decision = decide(
            self.summary,
            header.description,
            state=header.state,
            suspect=header.suspect,
            gone=header.options.broken,
        )
        return "; ".join(decision.reasons) if decision.verdict is Verdict.INVALID else ""


@frozen
class CriteriaDecision:
    """The decision with every reason for it, what spoils it first."""

    decided: Decided
    reasons: tuple[str, ...]
    criteria: tuple[Held, ...] = ()
    changed: Changed | None = None
    """None when there is nothing to compare."""
    by_criteria: Decided | None = None
    """What the criteria alone would say; None when an arm is INVALID."""


def rule(
    adopt: Sequence[str],
    reject: Sequence[str],
    baseline: ExperimentArm,
    candidate: ExperimentArm | None,
    comparison: Comparison | None,
    changed: Changed | None,
    *,
    allow_mismatch: bool = False,
) -> CriteriaDecision:
    """What the experiment comes to: INVALID before anything else, then CANNOT TELL when the arms differ in more than
    the factor, then the criteria.

    `allow_mismatch` lets the criteria decide although other things changed, too; what it is in spite of is said.
    """
    broken = _why_invalid(baseline, candidate, comparison)
    if broken or candidate is None or comparison is None or changed is None:
        return CriteriaDecision(Decided.INVALID, broken, changed=changed)
    held = tuple(
        _held(text, asks, baseline, candidate, comparison)
        for asks, texts in (("adopt", adopt), ("reject", reject))
        for text in texts
    )
    decided, reasons = _by_criteria(held)
    doubts = tuple(
        f"{name} is suspect: {why}"
        for name, arm in (("the baseline", baseline), ("the candidate", candidate))
        for why in arm.header.suspect
    )
    spoilt = _spoilt(changed)
    if spoilt and not allow_mismatch:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return CriteriaDecision(Decided.CANNOT_TELL, (*spoilt, *doubts, alone), held, changed, decided)
    if doubts and decided is Decided.ADOPT:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return CriteriaDecision(Decided.CANNOT_TELL, (*doubts, alone), held, changed, decided)
    in_spite = tuple(f"overridden: {why}" for why in (*spoilt, *doubts))
    return CriteriaDecision(decided, (*reasons, *in_spite), held, changed, decided)


def _why_invalid(
    baseline: ExperimentArm, candidate: ExperimentArm | None, comparison: Comparison | None
) -> tuple[str, ...]:
    arms = (("the baseline", baseline), ("the candidate", candidate))
    matches = [f"{name} is INVALID: {arm.why_invalid}" for name, arm in arms if arm is not None and arm.why_invalid]
    if candidate is None:
        matches.append("the candidate was not asked: there is nothing to compare it with")
    elif comparison is not None and not comparison.pairs.comparable and not matches:
        matches.append("no sample of the baseline can be compared with one of the candidate")
    return tuple(matches)


def _spoilt(changed: Changed) -> tuple[str, ...]:
    """Why a difference could not be put down to the factor."""
    message = changed.sentences
    if not message:
        return ()
    return (f"{'; '.join(message)}: the difference cannot be attributed to the {changed.declared}",)


def _held(text: str, asks: str, baseline: ExperimentArm, candidate: ExperimentArm, comparison: Comparison) -> Held:
    word = comparison_word(text)
    if word is None:
        return _gate(text, asks, baseline, candidate)
    headline = comparison.headline
    if baseline.header.suspect:
        # What is better than a reading that nobody believes, nobody knows.
        return Held(text, asks, None, f"the baseline is suspect: {baseline.header.suspect[0]}")
    return Held(text, asks, word_holds(word, headline.verdict.value), headline.sentence)


def _gate(text: str, asks: str, baseline: ExperimentArm, candidate: ExperimentArm) -> Held:
    """A gate on the candidate; to adopt it must hold in every slice it speaks of, to reject one is enough."""
    gate = parse_gate(text)
    scopes = [Scope(arm.summary, arm.summary.overall) for arm in (baseline, candidate)]
    outcome = results(gate, scopes[1])
    decisive = Verdict.FAIL if asks == "adopt" else Verdict.PASS
    order = {decisive: 0, Verdict.AMBIGUOUS: 1}
    gate_result: GateResult = min(outcome, key=lambda item: order.get(item.verdict, 2))
    holds = {Verdict.PASS: True, Verdict.FAIL: False}.get(gate_result.verdict)
    message = gate_result.reason if gate.factor is None else f"{gate_result.metric}: {gate_result.reason}"
    before = next((result.value for result in results(gate, scopes[0]) if result.metric == gate_result.metric), None)
    if before is None and gate.factor is None:
        before = measure(gate, scopes[0].part)
    return Held(text, asks, holds, message, before, gate_result.value, gate.unit)


def _by_criteria(held: Sequence[Held]) -> tuple[Decided, tuple[str, ...]]:
    """Rejected when one criterion to reject holds, adopted when all to adopt hold and none to reject could."""
    adopt = [item for item in held if item.asks == "adopt"]
    reject = [item for item in held if item.asks == "reject"]
    if fatal := [item for item in reject if item.holds]:
        return Decided.REJECT, tuple(_stated(item) for item in fatal)
    failed = [item for item in adopt if item.holds is False]
    if failed and not reject:
        return Decided.REJECT, tuple(f"is not met: {_stated(item)}" for item in failed)
    still_open = [item for item in held if item.holds is None]
    if not failed and not still_open:
        return Decided.ADOPT, (_all_hold(len(adopt), len(reject)),)
    messages = [f"is not met: {_stated(item)}" for item in failed]
    messages += [f"cannot be decided: {_stated(item)}" for item in still_open]
    if failed:
        messages.insert(0, "neither what it takes to adopt nor what it takes to reject is met")
    return Decided.CANNOT_TELL, tuple(messages)


def _all_hold(adopt: int, reject: int) -> str:
    message = "the criterion to adopt is met" if adopt == 1 else f"all {adopt} criteria to adopt are met"
    if not reject:
        return message
    return f"{message}, and {'the one to reject is not' if reject == 1 else 'none to reject is'}"


def _stated(held: Held) -> str:
    return f"{held.text}: {held.reason}"


@frozen
class ExperimentReport:
    """Everything that the views of an experiment show."""

    name: str
    hypothesis: str
    factor: str
    file: str
    plan: str
    """The hash of the plan."""
    baseline: ExperimentArm = field(metadata=HIDDEN)
    candidate: ExperimentArm | None = field(metadata=HIDDEN)
    comparison: Comparison | None = field(metadata=HIDDEN)
    ruling: CriteriaDecision = field(metadata=HIDDEN)
    beforehand: bool = True
    """Whether both runs carry this very plan, stored before their first call."""
    notes: tuple[str, ...] = ()
    """Notes on how it was made: run before, or a plan that was not stored beforehand."""


def on_attempt(experiment: ExperimentFile, store: Store, attempt: Attempt, *, allow_mismatch: bool) -> ExperimentReport:
    """The report on the runs of one attempt, with how often the experiment was run earlier."""
    places = [(store, header.id) for header in attempt.headers]
    others = [item for item in attempts_of(store, experiment.name) if item.id != attempt.id]
    attempts = {item.id: past_run(item.headers[-1]) for item in others}
    deleted = {run.plan: run for run in store.deleted_runs() if run.experiment == experiment.name}
    deleted = {plan: run for plan, run in deleted.items() if plan not in {*attempts, attempt.id}}
    verdicts = counted_verdicts([*attempts.values(), *deleted.values()])
    sentence = run_before(EarlierRuns(verdicts, deleted=len(deleted)), of="")
    chance = "; repeating an experiment until it succeeds finds differences that are chance"
    notes = [sentence + chance] if sentence else []
    changed = changed_since(others[0].experiment_plan, experiment.plan()) if others else []
    notes += [f"changed since it was run before ({others[0].id}): {', '.join(changed)}"] if changed else []
    return _decided(experiment, places, tuple(notes), allow_mismatch=allow_mismatch)


def on_runs(
    experiment: ExperimentFile, names: tuple[str, str], store_url: str | None, *, allow_mismatch: bool
) -> ExperimentReport:
    """The report on two runs by name, or two snapshot files; nothing is run.

    UsageError when a run was made under another plan, unless it is asked for `allow_mismatch`.
    """
    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing)
        places = [runs.find(name) for name in names]
        notes = [_beforehand(experiment, store.run(name), allow_mismatch=allow_mismatch) for store, name in places]
        return _decided(experiment, places, tuple(note for note in notes if note), allow_mismatch=allow_mismatch)


def _beforehand(experiment: ExperimentFile, header: RunHeader, *, allow_mismatch: bool) -> str:
    """What is to be said when a run does not carry the plan as it is now; "" when it does."""
    plan, stored = experiment.plan(), header.options.experiment
    if stored is None:
        return f"nothing shows that the criteria were written before run {header.id}: it carries no plan"
    if stored.digest == plan.digest:
        return ""
    changed = ", ".join(changed_since(stored, plan)) or "its name"
    sentence = f"since run {header.id} was made, these have changed in the plan: {changed}"
    if not allow_mismatch:
        raise UsageError(
            f"{experiment.file.name}: {sentence}. Criteria that were not written beforehand decide nothing: undo the"
            f" change, or decide all the same with --allow-mismatch"
        )
    return sentence


def _decided(
    experiment: ExperimentFile, places: Sequence[tuple[Store, str]], notes: tuple[str, ...], *, allow_mismatch: bool
) -> ExperimentReport:
    part, plan = experiment.part, experiment.plan().digest
    arms = [_arm(*place) for place in places]
    candidate = arms[1] if len(arms) == 2 else None
    comparison = changed = None
    if candidate is not None:
        slices = {factor: [item.name for item in result] for factor, result in candidate.summary.slices.items()}
        experiment.check_criteria(SuiteNames.of_run(candidate.header.description, slices))
        before, after = (read_run(*place) for place in places)
        comparison = compare(rescored(before, after), after, allow_mismatch=allow_mismatch)
        answered = [answering_models(*place) for place in places]
        changed = held_against(part.factor, changed_factors(comparison, (answered[0], answered[1])))
    ruling = rule(
        part.criteria.adopt,
        part.criteria.reject,
        arms[0],
        candidate,
        comparison,
        changed,
        allow_mismatch=allow_mismatch,
    )
    return ExperimentReport(
        name=experiment.name,
        hypothesis=part.hypothesis,
        factor=part.factor,
        file=str(experiment.file),
        plan=plan,
        beforehand=all((stored := arm.header.options.experiment) and stored.digest == plan for arm in arms),
        baseline=arms[0],
        candidate=candidate,
        comparison=comparison,
        ruling=ruling,
        notes=notes,
    )


def _arm(store: Store, name: str) -> ExperimentArm:
    header = store.run(name)
    return ExperimentArm(header, summary_of(store, header))


_MOST_LOOKED_AT = 200


def answering_models(store: Store, run_id: str) -> tuple[str, ...]:
    """The models that the first answers of a run name, each once; nothing when none does."""
    first = islice(store.samples(run_id), _MOST_LOOKED_AT)
    return tuple(sorted({sample.call_result.model for sample, _ in first if sample.call_result.model}))
