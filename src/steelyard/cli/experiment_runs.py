"""The runs of an experiment: found again by the plan they carry, made by the engine arm by arm, and decided on."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard.analysis.compare.against import answering_models
from steelyard.analysis.compare.compare import compare
from steelyard.analysis.compare.pairing import read_run
from steelyard.analysis.summary import summarise_stored
from steelyard.cli.experiments import JUDGE, ArmChoice
from steelyard.decide.arms import changed_factors, held_against
from steelyard.decide.experiment import Arm, rule
from steelyard.decide.experiment_file import ARMS, Experiment
from steelyard.decide.provenance import counted_verdicts, run_before
from steelyard.engine.plan import RunOptions, Selection, parse_only
from steelyard.engine.writer import progress_of
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import load_suite
from steelyard.metrics.expression_checks import SuiteNames
from steelyard.records import EarlierRuns, ExperimentPlan, RunHeader, RunState, Verdict
from steelyard.report.experiments import ExperimentReport
from steelyard.results.find import FoundRuns
from steelyard.runner.same_signature import rescored
from steelyard.store.logs import past_run
from steelyard.store.sql import new_run_id
from steelyard.suite.models import SuiteModel

if TYPE_CHECKING:
    from steelyard.store.base import Store


@frozen
class CallResult:
    """One time that the experiment was run, as far as it got."""

    id: str
    baseline: RunHeader | None = None
    candidate: RunHeader | None = None

    @property
    def plan(self) -> ExperimentPlan | None:
        """What was stored before the first call."""
        first = self.baseline or self.candidate
        return None if first is None else first.options.experiment

    @property
    def complete(self) -> bool:
        """True when nothing is left to run: an INVALID baseline ends it."""
        if self.baseline is None or self.baseline.state is not RunState.ENDED:
            return False
        if self.baseline.verdict is Verdict.INVALID:
            return True
        return self.candidate is not None and self.candidate.state is RunState.ENDED


def call_results(store: Store, name: str) -> list[CallResult]:
    """Every time that an experiment of this name was run, newest first. Runs that were rescored are no arms."""
    run_headers: dict[str, dict[str, RunHeader]] = {}
    for header in store.runs():
        plan = header.options.experiment
        if plan is not None and plan.name == name and header.rescored_from is None:
            run_headers.setdefault(plan.id, {}).setdefault(plan.arm, header)
    return [CallResult(number, arms.get(ARMS[0]), arms.get(ARMS[1])) for number, arms in run_headers.items()]


def changed_since(plan: ExperimentPlan | None, now: ExperimentPlan) -> list[str]:
    """The parts of a stored plan that are others in the file now, by the names they have in it."""
    if plan is None:
        return []
    parts = {name: name for name in ("hypothesis", "suite", "factor", "cases")}
    parts |= {"adopt": "criteria.adopt", "reject": "criteria.reject"}
    results = [written for name, written in parts.items() if getattr(plan, name) != getattr(now, name)]
    return results + [arm for arm in ARMS if plan.arms.get(arm) != now.arms.get(arm)]


@frozen
class Ran:
    """How far the arms got."""

    call_result: CallResult
    stopped: str | None = None
    """Why an arm did not get to its end; None when all did."""
    interrupted: bool = False


def loaded_suites(experiment: Experiment) -> dict[str, SuiteModel]:
    """The suite as each arm uses it: a mistake in the second must not show after an hour of the first."""
    return {arm: _loaded(experiment, arm) for arm in ARMS}


def _loaded(experiment: Experiment, arm: str) -> SuiteModel:
    part, settings = experiment.part, experiment.settings(arm)
    suite = load_suite(experiment.place(part.suite), None if part.cases is None else experiment.place(part.cases))
    chosen = dict(settings.get("set", {}))
    chosen |= {key: settings[key] for key in ("model", "base_url") if key in settings}
    return ArmChoice({key: settings[key] for key in ("target", *JUDGE) if key in settings}, chosen).of(suite)


def run_arms(experiment: Experiment, suites: Mapping[str, SuiteModel], store: Store, started: CallResult | None) -> Ran:
    """Run what is not there yet, the baseline first; a candidate is not run when its baseline is INVALID."""
    call_result = started or CallResult(new_run_id(experiment.name, time.time()))
    headers: dict[str, RunHeader | None] = {arm: getattr(call_result, arm) for arm in ARMS}
    for arm in ARMS:
        header = headers[arm]
        if header is None or header.state is not RunState.ENDED:
            options = _options(experiment, arm, call_result.id, resume=None if header is None else header.id)
            header, stopped, interrupted = _run(suites[arm], store, options, f"{experiment.name}, {arm}")
            headers[arm] = header
            if stopped is not None:
                return Ran(CallResult(call_result.id, headers[ARMS[0]], headers[ARMS[1]]), stopped, interrupted)
        if header.verdict is Verdict.INVALID:
            break
    return Ran(CallResult(call_result.id, headers[ARMS[0]], headers[ARMS[1]]))


def _run(suite: SuiteModel, store: Store, options: RunOptions, what: str) -> tuple[RunHeader, str | None, bool]:
    from steelyard.runner import run

    # Whatever the system under test prints must not get into the report.
    with progress_of(what, quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
        header, ending = run.run(suite, store, options, progress)
    return header, ending.stopped, ending.interrupted


def _options(experiment: Experiment, arm: str, call_result: str, *, resume: str | None) -> RunOptions:
    part, settings = experiment.part, experiment.settings(arm)
    only = [*part.only, *_variant(settings)]
    return RunOptions(
        selection=Selection(parse_only(tuple(only)), part.limit),
        repeats=settings.get("repeats"),
        concurrency=settings.get("concurrency"),
        timeout=settings.get("timeout"),
        retries=settings.get("retries"),
        requests_per_second=settings.get("rps"),
        rate=settings.get("rate"),
        warm_up=settings.get("warm_up"),
        max_cost=settings.get("max_cost"),
        max_inconclusive=settings.get("max_inconclusive"),
        cache=part.cache,
        strict=part.strict,
        resume=resume,
        experiment=replace(experiment.plan(), arm=arm, id=call_result),
    )


def _variant(settings: dict[str, Any]) -> Iterator[str]:
    if "variant" in settings:
        yield f"variant={settings['variant']}"


def check_criteria(experiment: Experiment, suite: SuiteModel) -> None:
    """SuiteError when a criterion stands on a figure that the candidate's suite does not have, or cannot fail."""
    experiment.check_criteria(SuiteNames.of_suite(suite))


def on_call(experiment: Experiment, store: Store, call_result: CallResult, *, allow_mismatch: bool) -> ExperimentReport:
    """The report on the runs of one attempt, with how often the experiment was run earlier."""
    places = [(store, header.id) for header in (call_result.baseline, call_result.candidate) if header is not None]
    others = [item for item in call_results(store, experiment.name) if item.id != call_result.id]
    arms = {item.id: item.candidate or item.baseline for item in others}
    attempts = {plan: past_run(header) for plan, header in arms.items() if header is not None}
    deleted = {run.plan: run for run in store.deleted_runs() if run.experiment == experiment.name}
    deleted = {plan: run for plan, run in deleted.items() if plan not in {*attempts, call_result.id}}
    verdicts = counted_verdicts([*attempts.values(), *deleted.values()])
    sentence = run_before(EarlierRuns(verdicts, deleted=len(deleted)), of="")
    chance = "; repeating an experiment until it succeeds finds differences that are chance"
    notes = [sentence + chance] if sentence else []
    changed = changed_since(others[0].plan, experiment.plan()) if others else []
    notes += [f"changed since it was run before ({others[0].id}): {', '.join(changed)}"] if changed else []
    return _decided(experiment, places, tuple(notes), allow_mismatch=allow_mismatch)


def on_runs(
    experiment: Experiment, names: tuple[str, str], store_url: str | None, *, allow_mismatch: bool
) -> ExperimentReport:
    """The report on two runs by name, or two snapshot files; nothing is run.

    UsageError when a run was made under another plan, unless it is asked for `allow_mismatch`.
    """
    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing)
        places = [runs.find(name) for name in names]
        notes = [_beforehand(experiment, store.run(name), allow_mismatch=allow_mismatch) for store, name in places]
        return _decided(experiment, places, tuple(note for note in notes if note), allow_mismatch=allow_mismatch)


def _beforehand(experiment: Experiment, header: RunHeader, *, allow_mismatch: bool) -> str:
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
    experiment: Experiment, places: Sequence[tuple[Store, str]], notes: tuple[str, ...], *, allow_mismatch: bool
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


def _arm(store: Store, name: str) -> Arm:
    header = store.run(name)
    return Arm(header, summarise_stored(store, header.id, header.description, only_for_gates=True))
