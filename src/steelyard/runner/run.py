"""Run or rescore a suite from beginning to end: open the target, run, summarise, decide, store."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from steelyard import __version__, plugins
from steelyard.analysis.cell_metrics import MOST_CELLS
from steelyard.analysis.model import Summary
from steelyard.analysis.stored import stored_form
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.decide.baselines import Reference, held_against, runs_held_against, stored
from steelyard.decide.gates import Decision
from steelyard.decide.judge_limits import broken_judge_limits, judge_doubts
from steelyard.decide.provenance import with_provenance
from steelyard.decide.verdict import decide
from steelyard.engine.after_run import after_the_run, worth_noting
from steelyard.engine.engine import Ending, Engine
from steelyard.engine.health import Health
from steelyard.engine.owner import free_lease, myself
from steelyard.engine.plan import Plan
from steelyard.engine.process import in_own_loop
from steelyard.engine.replay import ReplayTarget
from steelyard.engine.rescore import rescore as rescore_answers
from steelyard.engine.resume import (
    SCORING,
    changed_parts,
    find_unfinished,
    load_after_resume,
    refuse_unfinished_rescore,
    require_same_signature,
    resumed_options,
    selection_of,
)
from steelyard.engine.retry import find_failed, planned_samples, retried, take_over
from steelyard.engine.run_options import RunOptions, Selection, load_of
from steelyard.engine.scoring_processes import ScoresRecorded, Scoring
from steelyard.engine.scoring_setup import ScoringSetup, as_rescored
from steelyard.engine.writer import Progress, Silent
from steelyard.errors import UNFINISHED, RunTaken, SteelyardError, UsageError
from steelyard.frozen import frozen, values_of
from steelyard.loading.chosen_judge import models_of, refuse_self_judged
from steelyard.loading.load import strict as with_strict_rules
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.own_values import with_values
from steelyard.metrics.run_data import RunData
from steelyard.records import Mode, RunHeader, RunState, Signature, TargetFacts
from steelyard.redact import redacted_output
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.model_scorers import models_asked
from steelyard.store.base import Store
from steelyard.store.run_rows import new_run_id
from steelyard.suite.case import Case, digest
from steelyard.suite.judge import MODELS
from steelyard.suite.ledger import kept_with_a_run
from steelyard.suite.models import Limits, PlannedCheck, SuiteModel, UncalledCase
from steelyard.suite.prices import prices_used, read_prices
from steelyard.suite.signature import signature
from steelyard.suite.truth import without_truth
from steelyard.targets.base import Target, TargetContext, open_target
from steelyard.targets.open_files import room_for_files
from steelyard.targets.stored_request import asked_by

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges
    from steelyard.engine.scoring_thread import ScoringThread
    from steelyard.pairing.runs import ComparedRun
    from steelyard.report.model import Report
    from steelyard.store.ownership import Lease

_CHUNK_OF_CASES = 1_000
_FILES_OF_COMMAND = 8
"""Files that a program takes while it is started: both ends of its three pipes, one for its errors and one to wait."""
_log = logging.getLogger(__name__)


@redacted_output()
def run(
    suite: SuiteModel,
    store: Store,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    env: Mapping[str, str] | None = None,
    *,
    reference: Reference | None = None,
    allow_mismatch: bool = False,
) -> Result:
    """Score the suite's target. The result says what it came to; its ending says whether it got to the end.

    `reference` is a run that this one may not be worse than, with `allow_mismatch` one of another signature, too.
    """
    options, progress = options or RunOptions(), progress or Silent()
    store.notify(progress.note)
    resumed = None if options.resume is None else find_unfinished(store, suite, options.resume)
    lease = None if resumed is None else free_lease(store, resumed.id, progress.note)
    earlier = None if options.retry_failed is None else find_failed(store, options.retry_failed, suite.name)
    if resumed is not None and earlier is not None:
        raise UsageError("--resume continues a run, and --retry-failed starts one: give one of them")
    if (started := resumed or earlier) is not None:
        options = resumed_options(options, started)
    made = prepare(suite, store, options, env)
    suite, limits, header = made.suite, made.limits, made.header
    if earlier is not None:
        require_same_signature(earlier, header, "retried")
        header = replace(header, options=replace(header.options, retried=retried(store, earlier, made.plan)))
    elif resumed is not None and lease is not None:
        header = _gone_on_with(resumed, lease, made, store, options, progress)
    evaluator, started_run = Evaluator(suite), StartedRun(store, header, resumed is not None)
    open_run = contextlib.nullcontext() if resumed is None else left_open(store, header)
    with open_run, spread([made], options, progress.note, env) as (done_by,):
        engine = Engine(
            plan=made.plan,
            target=done_by.target,
            evaluator=evaluator,
            judges=done_by.judges,
            limits=limits,
            store=store,
            run_id=header.id,
            cache=options.cache,
            redact=suite.redactor,
            scoring=done_by.scoring,
            recorded=_recorded(made, evaluator, options, progress),
            since=header.created_at if header.options.retried or header.options.resumed_from else 0.0,
            keep_going=options.keep_going,
            cures=options.cures,
        )
        ending = in_own_loop(_drive(engine, done_by.target, done_by.judges, progress, started_run))
    header = _with_uncalled(after_the_run(header, ending), made, evaluator, store, ending)
    finished = ending.stopped is None
    unused = _not_used(made, header) if finished and started is None and options.on is None else ""
    for message in filter(None, (*worth_noting(ending, suite, limits), unused)):
        progress.note(message)
    with left_open(store, header):
        if finished and ending.broken is None:
            left = None if limits.max_cost is None else limits.max_cost - ending.spent
            paid = limits.model_copy(update={"max_cost": left})
            if _measures_drift(header, suite, paid):
                from steelyard.runner.anchors import with_anchors  # takes long to import, and few runs need it

                header = with_anchors(header, suite, paid, store, reference, progress, env)
        result = finish(
            store, header, ending.health, finished=finished, reference=reference, allow_mismatch=allow_mismatch
        )
    return replace(result, ending=ending)


def spread(
    made: Sequence[Prepared], options: RunOptions, note: Callable[[str], None], env: Mapping[str, str] | None
) -> AbstractContextManager[list[Prepared]]:
    """The runs (of one suite: the arms of an A/B, or one alone), carried out by workers where `options.on` names
    some."""
    if options.on is None:
        return contextlib.nullcontext(list(made))
    by_workers: AbstractContextManager[list[Prepared]] = plugins.find("features", "spread")(
        options.on, made, options, note, env
    )
    return by_workers


def _spread_scoring(
    suite: SuiteModel, options: RunOptions, note: Callable[[str], None]
) -> AbstractContextManager[ScoresRecorded | None]:
    """How workers score recorded answers where `options.on` names some; None where this process does."""
    if options.on is None:
        return contextlib.nullcontext()
    by_workers: AbstractContextManager[ScoresRecorded] = plugins.find("features", "spread_scoring")(
        options.on, suite, options, note
    )
    return by_workers


def _measures_drift(header: RunHeader, suite: SuiteModel, limits: Limits) -> bool:
    """Whether a model judges whose drift is to be measured; the arms of an experiment are judged side by side."""
    by_model = suite.judge is not None and any(member.kind != "python" for member in suite.judge.members)
    return by_model and bool(limits.anchors) and header.options.experiment is None


def _with_uncalled(header: RunHeader, made: Prepared, evaluator: Evaluator, store: Store, ending: Ending) -> RunHeader:
    """The header with the cases that were planned and never called: their checks stay in every table and denominator.

    Only where cases have checks; other figures count what is missing without its name.
    """
    stopped = ending.stopped is not None or ending.broken is not None
    cases = _uncalled(made.plan, evaluator, store, header.id) if stopped and made.suite.expect else iter(())
    uncalled = tuple(islice(cases, MOST_CELLS))
    described = header.description
    if uncalled == described.uncalled:
        return header
    return replace(header, suite=described.changed(uncalled=uncalled).data())


def _uncalled(plan: Plan, evaluator: Evaluator, store: Store, run_id: str) -> Iterator[UncalledCase]:
    cases = plan.cases()
    while chunk := list(islice(cases, _CHUNK_OF_CASES)):
        done = {(case, variant) for case, variant, _ in store.done(run_id, [case.id for case in chunk])}
        for case, variant in product(chunk, plan.variants):
            if (case.id, variant.name) not in done:
                checks = [
                    PlannedCheck(name=item.name, low=item.low, high=item.high) for item in evaluator.unrun(case, "")
                ]
                yield UncalledCase(case_id=case.id, variant=variant.name, about=case.why, checks=tuple(checks))


def _not_used(made: Prepared, header: RunHeader) -> str:
    """The recorded answers that a run of the whole suite did not take, in words; empty for any other target."""
    facts = header.options
    is_part = facts.only or facts.limit is not None or facts.sample is not None
    not_used: Callable[[], str] | None = getattr(made.target, "not_used", None)
    return "" if not_used is None or is_part else not_used()


def _gone_on_with(
    resumed: RunHeader, lease: Lease, made: Prepared, store: Store, options: RunOptions, progress: Progress
) -> RunHeader:
    """The run to go on with, taken over before anything is asked: the same or, where only scorers have changed since, a
    new one that has its answers scored by the suite as it is now."""
    changed = changed_parts(resumed, made.header)
    if changed and set(changed) <= SCORING:
        n = sum(1 for _ in planned_samples(store, resumed, made.plan))
        header = replace(made.header, options=replace(made.header.options, resumed_from=resumed.id))
        progress.note(
            f"{' and '.join(changed)} changed since run {resumed.id} was started: {n:,} of its samples scored again in"
            f" the new run {header.id}, and only the others are asked for"
        )
        # Of two processes that resume it at the same time one alone makes a new run.
        taken = replace(resumed, state=RunState.RUNNING, options=replace(resumed.options, owner=myself()))
        store.take_run(taken, lease)
        store.create_run(header)
        store.update_run(replace(taken, state=RunState.INTERRUPTED, options=replace(taken.options, owner=None)))
    else:
        require_same_signature(resumed, made.header)
        header = reopened(resumed, made.limits, made.suite)
        store.take_run(header, lease)
    earlier, n = header, header.n_planned
    # A run that was to take over answers may have ended before it had them all: those before it have the rest.
    while (source := earlier.options.resumed_from) is not None:
        earlier = store.run(source)
        with (
            left_open(store, header),
            contextlib.closing(_scoring_of(made.suite, earlier, options, progress)) as scoring,
        ):
            store.journal(header.id, list(store.journalled(source).items()))
            cases = made.plan.cases()
            rescore_answers(
                store, from_run=source, run_id=header.id, cases=cases, scoring=scoring, progress=progress, planned=n
            )
    return header


def _scoring_of(
    suite: SuiteModel, earlier: RunHeader, options: RunOptions, progress: Progress, workers: int | None = None
) -> Scoring:
    """What scores the recorded answers of a run by the suite, its judge's calls read again."""
    judges = None
    if suite.judge is not None:
        from steelyard.engine.judges import Judges

        judges = Judges(suite.judge, suite.folder)
    setup, n = ScoringSetup.of(suite, strict=options.strict, described=earlier.suite), earlier.n_planned
    return Scoring(Evaluator(suite), judges, setup, n=n, workers=workers, note=progress.note)


def _recorded(made: Prepared, evaluator: Evaluator, options: RunOptions, progress: Progress) -> Scoring | None:
    """How answers are scored when neither the target nor a judge is asked for anything; None when one is, or when
    workers score."""
    asked = made.judges is not None and made.judges.are_asked
    if asked or options.on is not None or not getattr(made.target, "makes_no_calls", False):
        return None
    setup = ScoringSetup.of(made.suite, strict=options.strict)
    n, workers = made.plan.n, options.workers
    return Scoring(evaluator, made.judges, setup, n=n, workers=workers, note=progress.note)


@frozen
class Result:
    """What a run came to: the header as it is stored, and the figures and the decision that reports show."""

    header: RunHeader
    summary: Summary
    decision: Decision
    ending: Ending | None = None
    """How the engine left it; None where no call was to be made, as of a rescore."""

    @property
    def stopped(self) -> str | None:
        """Why it did not get to the end of its plan; None when it did."""
        return None if self.ending is None else self.ending.stopped

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it with Ctrl-C."""
        return self.ending is not None and self.ending.interrupted

    def report(self, store: Store, *, brief: bool = False) -> Report:
        """The report of the run, with nothing computed a second time; `brief` is what stands on one screen."""
        from steelyard.report.build import build_report

        return build_report(store, self.header, figures=(self.summary, self.decision), brief=brief)


@frozen
class Prepared:
    """A run that is ready to begin: nobody was asked yet, and nothing is kept of it."""

    suite: SuiteModel
    limits: Limits
    plan: Plan
    target: Target
    judges: Judges | None
    header: RunHeader
    scoring: ScoringThread | None = None
    """What scores in the place of the engine's own thread."""


def prepare(suite: SuiteModel, store: Store, options: RunOptions, env: Mapping[str, str] | None = None) -> Prepared:
    """Everything that a run of the suite takes; UsageError when it cannot be done as asked."""
    suite = with_strict_rules(suite) if options.strict else suite
    limits = options.limits(suite.limits)
    if options.on is None and options.answers_of is None and suite.target.kind != "recorded":
        limits = _with_files_for(limits, suite)
    plan = Plan(suite, options.selection, options.repeats or suite.repeats)
    refuse_self_judged(suite, None if options.answers_of is None else store.run(options.answers_of).target)
    context = _target_context(suite, limits, os.environ if env is None else env)
    target = _target(suite, context, store, options)
    if getattr(target, "makes_no_calls", False):
        limits = limits.model_copy(update={"rate": None, "requests_per_second": None, "warm_up": 0})
    judges = _judges(suite, limits, context, target.secrets())
    header = _header(suite, target, plan, limits, options, context)
    if options.answers_of is not None:
        # True of the answers, whoever judges them.
        now, then = header.options, store.run(options.answers_of).options
        cases = then.other_cases or now.other_cases
        header = replace(
            header, options=replace(now, load=then.load or now.load, broken=then.broken, other_cases=cases)
        )
    return Prepared(suite, limits, plan, target, judges, header)


def _with_files_for(limits: Limits, suite: SuiteModel) -> Limits:
    """The limits with as many calls at once as this process may open files for; what is lowered is reported."""
    each = _FILES_OF_COMMAND if suite.target.kind == "command" else 1
    each += suite.judge is not None
    room, most = room_for_files(limits.concurrency * each)
    fitting = max(1, room // each)
    if fitting >= limits.concurrency:
        return limits
    _log.warning(
        "concurrency lowered from %s to %s: the system lets this process open %s files (raise it with ulimit -n)",
        f"{limits.concurrency:,}",
        f"{fitting:,}",
        f"{most:,}",
    )
    return limits.model_copy(update={"concurrency": fitting})


def reopened(resumed: RunHeader, limits: Limits, suite: SuiteModel) -> RunHeader:
    """The header of a run that goes on now, in this process."""
    load = load_after_resume(resumed.options.load, limits)
    facts = replace(resumed.options, owner=myself(), load=load, stopped=None)
    return replace(resumed, suite_path=suite.path, state=RunState.RUNNING, options=facts)


@frozen
class StartedRun:
    """A run that begins once its target is open: before that there is nothing to keep."""

    store: Store
    header: RunHeader
    resumed: bool

    @contextlib.contextmanager
    def stored(self) -> Iterator[None]:
        """The run is in the store; whatever ends it before its end leaves it open for `--resume`."""
        if not self.resumed:
            self.store.create_run(self.header)
        with left_open(self.store, self.header):
            if (source := self.header.options.retried) is not None:
                take_over(self.store, source.run, self.header.id)
            yield


@contextlib.contextmanager
def left_open(store: Store, header: RunHeader) -> Iterator[None]:
    """Whatever is raised leaves the run open for `--resume`, and is noted to have ended it."""
    try:
        yield
    except RunTaken:
        raise
    except BaseException as error:
        error.add_note(f"{UNFINISHED}{header.id}")
        with contextlib.suppress(Exception):  # a store in trouble must not hide what went wrong
            facts = replace(header.options, owner=None)
            store.update_run(replace(header, state=RunState.INTERRUPTED, options=facts))
        raise


async def _drive(
    engine: Engine, target: Target, judges: Judges | None, progress: Progress, started: StartedRun
) -> Ending:
    async with target, judges or contextlib.nullcontext():
        with started.stored():
            return await engine.run(progress, resumed=started.resumed or started.header.options.retried is not None)


@redacted_output()
def rescore(
    suite: SuiteModel,
    store: Store,
    earlier: RunHeader,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Result:
    """A new run: the answers of an earlier one, scored by the suite as it is now.

    Of the options, these count: selection (of cases), strict, max_inconclusive, on and workers.
    """
    options = options or RunOptions()
    _refuse_other_suite(suite, earlier)
    earlier = _part_of(suite, earlier, options.selection)
    progress = progress or Silent()
    store.notify(progress.note)
    refuse_unfinished_rescore(earlier)
    _refuse_other_redaction(suite, earlier)
    suite = as_rescored(suite, earlier.description, strict=options.strict)
    header = _rescored_header(suite, earlier, options)
    processes = options.workers if options.on is None else 1
    here = _scoring_of(suite, earlier, options, progress, processes)
    with contextlib.closing(here), _spread_scoring(suite, options, progress.note) as remote:
        store.create_run(header)
        rescored = rescore_answers(
            store,
            from_run=earlier.id,
            run_id=header.id,
            cases=options.selection.of(suite.cases),
            scoring=remote or here,
            progress=progress,
            planned=earlier.n_planned,
        )
    for count, why in (
        (rescored.changed_questions, "the question has changed since it was answered"),
        (rescored.gone_cases, "the case is not in the suite any more, or was never answered"),
    ):
        if count:
            progress.note(f"{count} of {earlier.n_planned} samples not scored: {why}")
    return finish(store, header, rescored.health, finished=True)


def _part_of(suite: SuiteModel, earlier: RunHeader, selection: Selection) -> RunHeader:
    """The earlier run as if it had asked for that part of its cases alone; UsageError when there is none."""
    factors = [factor for factor, _ in selection.only]
    if not factors:
        return earlier
    if "variant" in factors:
        raise UsageError("--only variant=...: a rescore takes every variant of its cases; leave it out")
    then, written = earlier.description, tuple(f"{factor}={value}" for factor, value in selection.only)
    n = sum(map(selection.takes_case, selection_of(earlier).of(suite.cases)))
    if not n:
        raise UsageError(f"nothing to score: no case of run {earlier.id} fits --only {', '.join(written)}")
    others = tuple(text for text in earlier.options.only if text.partition("=")[0] not in factors)
    facts = replace(earlier.options, only=(*others, *written))
    return replace(earlier, n_planned=n * len(then.variants) * then.repeats, options=facts)


def _rescored_header(suite: SuiteModel, earlier: RunHeader, options: RunOptions) -> RunHeader:
    """The header of a new run with the plan and the answers of an earlier one, and today's suite."""
    now = time.time()
    allowed = options.limits(suite.limits).max_inconclusive
    signed = _rescored_signature(suite, earlier)
    then = earlier.description
    described = _description(suite, signed, selection_of(earlier).of(suite.cases)).changed(
        limits=suite.limits.model_copy(update={"max_inconclusive": allowed}),
        variants=then.variants,
        repeats=then.repeats,
        n_planned=earlier.n_planned,
    )
    return replace(
        earlier,
        id=new_run_id(suite.name, now),
        suite_name=suite.name,
        suite_path=suite.path,
        created_at=now,
        signature=signed,
        suite=described.data(),
        # What the judge said of anchors was scored as the suite was then.
        options=replace(earlier.options, strict=options.strict, owner=myself(), anchors={}),
        state=RunState.RUNNING,
        rescored_from=earlier.id,
        version=__version__,
    )


def judge_again(
    suite: SuiteModel, store: Store, earlier: RunHeader, options: RunOptions, progress: Progress | None = None
) -> Result:
    """A new run: the answers of an earlier one, judged again. It can be resumed as any other."""
    _refuse_other_suite(suite, earlier)
    refuse_unfinished_rescore(earlier)
    return run(suite, store, resumed_options(replace(options, answers_of=earlier.id), earlier), progress)


def finish(
    store: Store,
    header: RunHeader,
    health: Health,
    *,
    finished: bool,
    reference: Reference | None = None,
    allow_mismatch: bool = False,
) -> Result:
    """Sum the run up, decide, and close it; an unfinished run stays open for `--resume`."""
    if finished and header.description.metrics:
        load_metrics(header)
        stored_suite = with_values(header.description, RunData(store.columns(header.id), header.description))
        header = replace(header, suite=stored_suite.data())
    summary = summarise_stored(store, header.id, header.description, header=header)
    judge = header.description.judge
    if (
        finished
        and set(summary.overall.each("mode.<mode>.n")) == {Mode.BASIC}
        and judge is not None
        and judge.mode is Mode.MODEL
    ):
        # No answer of the judge gave more than its scores: those are then what the figures stand on, and called so.
        basic = judge.model_copy(update={"mode": Mode.BASIC})
        header = replace(header, suite=header.description.model_copy(update={"judge": basic}).data())
        summary = summarise_stored(store, header.id, header.description, header=header)
    typical = summary.overall["latency.p50"]
    hints = () if summary.latency is None else summary.latency.hints
    doubts = judge_doubts(header, summary, differ=health.answers_differ)
    usual = _usual_latency(store, header)
    complaints = health.complaints(typical.value, usual, header.suite, lambda: store.cases(header.id))
    suspect = (*broken_judge_limits(header.description, summary), *complaints, *doubts, *hints)
    state = RunState.ENDED if finished else RunState.INTERRUPTED
    ended = replace(header, state=state)
    relative = (
        held_against(store, ended, rescore=_rescored, reference=reference, allow_mismatch=allow_mismatch)
        if finished
        else []
    )
    gone = header.options.broken
    decision = decide(summary, header.description, state=state, suspect=suspect, gone=gone, relative=relative)
    header = replace(
        header,
        options=replace(
            with_provenance(store, header, runs_held_against(store, header, reference)),
            owner=None,
            against=stored(relative, reference),
            all_cached=finished and is_all_cached(summary),
        ),
        state=state,
        ended_at=time.time(),
        suspect=suspect,
        verdict=decision.verdict,
    )
    if finished:
        store.forget_journal(header.id)
    store.update_run(header, stored_form(store, header.id, summary))
    return Result(header, summary, decision)


def is_all_cached(summary: Summary) -> bool:
    """Whether every answer came from the cache: such a run is an earlier run's reading, and no new one."""
    answers = summary.overall.count("reused.answers")
    return 0 < answers <= summary.overall.count("reused.cached")


def _rescored(a: ComparedRun, b: ComparedRun) -> ComparedRun:
    """A as the suite of B shows it, which this process has just run: where that is, nobody's data says."""
    # Read by runs that are compared with a baseline, and by no others.
    from steelyard.runner.same_signature import rescored

    try:
        return rescored(a, b, b.header.suite_path)
    except SteelyardError:
        return a


def _usual_latency(store: Store, header: RunHeader) -> list[float]:
    """The medians of earlier runs that this one can be compared with.

    A function in this process has no line that may be dead: its first calls pay for its imports, so that a run of a few
    cases is slow and every longer one after it would look far too fast.
    """
    if header.target.kind == "python":
        return []
    return store.usual_latency(header.suite_name, header.target, before=header.created_at)


def _refuse_other_suite(suite: SuiteModel, earlier: RunHeader) -> None:
    """The answers to the questions of one suite say nothing of another."""
    if suite.name != earlier.suite_name:
        raise UsageError(
            f"run {earlier.id} answers the suite {earlier.suite_name}, and the suite at {suite.path} is {suite.name}:"
            " name the suite of the run with --suite, or run the other one"
        )


def _refuse_other_redaction(suite: SuiteModel, earlier: RunHeader) -> None:
    """Answers that were kept before they were redacted must not get into another run."""
    if suite.redactor is None or earlier.signature.redact == digest(suite.redactor.identity()):
        return
    raise UsageError(
        f"run {earlier.id} was made before the suite redacted as it does now, and its stored answers are not"
        f" redacted so: run the suite again"
    )


def _target(suite: SuiteModel, target_context: TargetContext, store: Store, options: RunOptions) -> Target:
    if options.answers_of is not None:
        return ReplayTarget(store, store.run(options.answers_of))
    return open_target(suite.target, target_context)


def _judges(suite: SuiteModel, limits: Limits, target_context: TargetContext, secrets: list[str]) -> Judges | None:
    models = models_asked(suite.computed)
    if suite.judge is None and not models:
        return None
    from steelyard.engine.judges import Judges

    if limits.rate is not None:
        # So many calls as an open load may have under way are for the system under test, not for its judges.
        most = min(limits.concurrency, Limits().concurrency)
        limits = limits.model_copy(update={"concurrency": most})
    return Judges(
        suite.judge,
        suite.folder,
        models=models,
        limits=limits,
        target_context=target_context,
        redact=suite.redactor,
        secrets=secrets,
    )


def _target_context(suite: SuiteModel, limits: Limits, env: Mapping[str, str]) -> TargetContext:
    schema, most = suite.answer.schema_data, limits.concurrency
    prices = read_prices(suite.folder)
    return TargetContext(folder=suite.folder, answer_schema=schema, env=dict(env), max_connections=most, prices=prices)


def _prices(suite: SuiteModel, target: Target, plan: Plan, context: TargetContext) -> dict[str, Any]:
    """What the models that are asked cost."""
    members = () if suite.judge is None else suite.judge.members
    asked: list[tuple[Any, Iterable[str]]] = [(item.settings, [str(item.model)]) for item in members if item.is_model]
    if suite.target.kind in MODELS and not getattr(target, "makes_no_calls", False):
        settings = suite.target.settings
        asked.append((settings, models_of(settings.model, plan.variants) or ()))
    return prices_used(asked, context.prices)


def _header(
    suite: SuiteModel, target: Target, plan: Plan, limits: Limits, options: RunOptions, context: TargetContext
) -> RunHeader:
    now = time.time()
    identity = TargetFacts.from_data(target.identity())
    signed = signature(suite, identity, sample=options.selection.sample)
    described = _description(suite, signed, plan.cases()).changed(
        # How the calls were made is in the options of the run.
        limits=suite.limits.model_copy(update={"max_inconclusive": limits.max_inconclusive}),
        variants=plan.variants,
        repeats=plan.repeats,
        n_planned=plan.n,
    )
    return RunHeader(
        id=new_run_id(suite.name, now),
        suite_name=suite.name,
        suite_path=suite.path,
        created_at=now,
        signature=signed,
        target=identity,
        suite=described.data(),
        options=replace(
            options.facts(),
            owner=myself(),
            load=load_of(limits),
            other_cases=suite.other_cases,
            asked_by=asked_by(suite.target, plan.variants, context),
            target_name=suite.target.name,
            prices=_prices(suite, target, plan, context),
        ),
        n_planned=plan.n,
        version=__version__,
    )


def _description(suite: SuiteModel, signed: Signature, cases: Iterable[Case]) -> SuiteModel:
    """The suite as a run stores it, with what only its cases and its signature say."""
    available = {
        "usual_repeats": suite.repeats,
        "n_cases": suite.survey.n,
        **values_of(suite.survey, "n_pending", "n_pending_known"),
        "without_truth": tuple(without_truth(suite, cases)),
        "ledger": kept_with_a_run(suite, signed),
    }
    return suite.changed(**available)


def _rescored_signature(suite: SuiteModel, earlier: RunHeader) -> Signature:
    """Truth, scorers and rules of today; what was asked of whom is as it was then."""
    asked = suite.judge is not None and any(member.kind != "python" for member in suite.judge.members)
    judge = earlier.signature.judge if asked else None
    then, sample = earlier.signature, earlier.options.sample
    return signature(suite, earlier.target, prompts=then.prompts, judge=judge, sample=sample)
