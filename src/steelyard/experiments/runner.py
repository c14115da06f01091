"""Runs the two arms of an experiment and stores each as a run: interleaved in one loop, or one after the other.

Interleaved, both arms meet the same conditions and may stop early; one after the other, each has its own load.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from steelyard.engine.after_run import after_the_run
from steelyard.engine.engine import Ending, pace_of
from steelyard.engine.health import Health
from steelyard.engine.interleave import ArmEngine, CommonProgress, Interleaved, PairWatch
from steelyard.engine.interleaved_plan import DrawnPlan, asks_until
from steelyard.engine.limits import Budget
from steelyard.engine.owner import free_lease
from steelyard.engine.process import in_own_loop
from steelyard.engine.resume import require_same_signature, resumed_options
from steelyard.engine.run_options import RunOptions, Selection, parse_only
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.engine.writer import Progress, Silent, progress_of
from steelyard.errors import UsageError
from steelyard.experiments.effects import AVERAGE, PASS_RATE
from steelyard.experiments.plan import ARMS, ExperimentFile
from steelyard.experiments.runs import AB_ARMS, Attempt
from steelyard.records import AbPlan, RunHeader, RunState, Verdict
from steelyard.runner.run import Prepared, StartedRun, finish, left_open, prepare, reopened, run, spread
from steelyard.scoring.evaluate import Evaluator
from steelyard.stats.sequential import Watch
from steelyard.store.base import Store
from steelyard.store.ownership import Lease
from steelyard.store.run_rows import new_run_id
from steelyard.suite.models import Limits, SuiteModel

Suites = tuple[SuiteModel, SuiteModel]
Headers = tuple[RunHeader, RunHeader]


def metric_of(suite: SuiteModel, asked: str | None) -> str:
    """What decides: as asked for, else the pass rate where the suite says when a sample passes."""
    if asked == PASS_RATE and suite.passing is None:
        raise UsageError(f"suite {suite.name} has no pass rule: there is no pass rate to decide by")
    return asked or (AVERAGE if suite.passing is None else PASS_RATE)


def run_interleaved(
    suites: Suites, store: Store, options: RunOptions, plan: AbPlan, resumed: Attempt | None = None
) -> Attempt:
    """Both arms on the same cases, begun or gone on with, with their progress shown; those that have ended are as they
    are."""
    if resumed is not None and resumed.ended:
        return resumed
    with _watched(f"{suites[0].name} A/B") as progress:
        return run_ab(suites, store, options, plan, progress, resumed=resumed)


def run_ab(
    suites: Suites,
    store: Store,
    options: RunOptions,
    plan: AbPlan,
    progress: Progress | None = None,
    *,
    resumed: Attempt | None = None,
    env: Mapping[str, str] | None = None,
) -> Attempt:
    """Ask both arms, interleaved, and give the runs that came of it; `resumed` goes on under its own plan."""
    progress = progress or Silent()
    store.notify(progress.note)
    leases: list[Lease] = []
    if resumed is not None:
        plan, options = resumed.ab_plan, resumed_options(options, resumed.headers[0])
        leases = [free_lease(store, header.id, progress.note) for header in resumed.headers]
    made = (prepare(suites[0], store, options, env), prepare(suites[1], store, options, env))
    drawn = DrawnPlan((made[0].plan, made[1].plan), plan.seed, plan.max_cases)
    headers = _headers(made, drawn, plan, resumed)
    with contextlib.ExitStack() as taken:
        for item, before, lease in zip(headers, () if resumed is None else resumed.headers, leases, strict=False):
            if before.state is not RunState.ENDED:
                store.take_run(item, lease)
                taken.enter_context(left_open(store, item))
        if resumed is not None and any(header.state is RunState.ENDED for header in resumed.headers):
            # Both were asked to the end, and the process died between closing the one and the other.
            a, b = (_closed(store, item, now.suite) for item, now in zip(resumed.headers, made, strict=True))
            return Attempt(resumed.id, a, b)
        arm_a, arm_b = taken.enter_context(spread(made, options, progress.note, env))
        endings = in_own_loop(_drive((arm_a, arm_b), headers, drawn, plan, store, progress, resumed))
    stopped = next((ending.stopped for ending in endings if ending.stopped is not None), None)
    a, b = (_finished(store, *item, stopped=stopped) for item in zip(headers, endings, strict=True))
    number = "" if a.options.ab is None else a.options.ab.id
    return Attempt(number, a, b, stopped, any(ending.interrupted for ending in endings))


def _headers(made: tuple[Prepared, Prepared], drawn: DrawnPlan, plan: AbPlan, resumed: Attempt | None) -> Headers:
    if resumed is not None:
        for started, now in zip(resumed.headers, made, strict=True):
            require_same_signature(started, now.header)
        a, b = (reopened(started, now.limits, now.suite) for started, now in zip(resumed.headers, made, strict=True))
        return a, b
    number = new_run_id(f"{made[0].suite.name} ab", time.time())
    a, b = (
        _planned(replace(item.header, options=replace(item.header.options, ab=arm)), n)
        for item, n, arm in zip(
            made, drawn.n, (replace(plan, id=number, cases=drawn.n_cases, arm=name) for name in AB_ARMS), strict=True
        )
    )
    return a, b


def _planned(header: RunHeader, n: int) -> RunHeader:
    described = header.description.model_copy(update={"n_planned": n})
    return replace(header, n_planned=n, suite=described.data())


async def _drive(
    made: tuple[Prepared, Prepared],
    headers: Headers,
    drawn: DrawnPlan,
    plan: AbPlan,
    store: Store,
    progress: Progress,
    resumed: Attempt | None,
) -> tuple[Ending, Ending]:
    watch = Watch(plan.same_within)
    judge = headers[0].description.judge
    pairs = PairWatch(
        watch.add if plan.stop_early else lambda _: False,
        by_pass=plan.metric == PASS_RATE,
        mode=None if judge is None else judge.mode,
    )
    limits, together = _shared_limits(made), CommonProgress(progress)
    a, b = _arms(made, headers, store, limits)
    async with contextlib.AsyncExitStack() as opened:
        for item in made:
            await opened.enter_async_context(item.target)
            if item.judges is not None:
                await opened.enter_async_context(item.judges)
        with _stored(store, headers, resumed=resumed is not None):
            for number, arm in enumerate((a, b)):
                if resumed is not None:
                    for sample in arm.stored():
                        pairs.earlier(number, sample)
                half = together.of(number)
                arm.begin(half, drawn.n[number], _seen_by(pairs, number), resumed=resumed is not None)
            done = [None, None] if resumed is None else [a.done, b.done]
            asks = asks_until(drawn.turns(done), pairs.begin)
            width = min(limits.concurrency, sum(drawn.n))
            return await Interleaved((a, b), asks, width, limits.rate).run()


def _seen_by(pairs: PairWatch, arm: int) -> Any:
    return lambda sample: pairs.seen(arm, sample)


def _arms(
    made: tuple[Prepared, Prepared], headers: Headers, store: Store, limits: Limits
) -> tuple[ArmEngine, ArmEngine]:
    pace, budget, scoring = pace_of(limits), Budget(limits.max_cost), ScoringThread()
    a, b = (
        ArmEngine(
            plan=item.plan,
            target=item.target,
            evaluator=Evaluator(item.suite),
            judges=item.judges,
            limits=item.limits,
            store=store,
            run_id=header.id,
            cache=False,
            redact=item.suite.redactor,
            pace=pace,
            budget=budget,
            scoring=item.scoring or scoring,
        )
        for item, header in zip(made, headers, strict=True)
    )
    return a, b


def _shared_limits(made: tuple[Prepared, Prepared]) -> Limits:
    """The limits of an arm that asks somebody: recorded answers know none."""
    asking = [item for item in made if not getattr(item.target, "makes_no_calls", False)]
    return (asking or list(made))[0].limits


@contextlib.contextmanager
def _stored(store: Store, headers: Headers, *, resumed: bool) -> Iterator[None]:
    with contextlib.ExitStack() as both:
        for header in headers:
            both.enter_context(StartedRun(store, header, resumed).stored())
        yield


def _finished(store: Store, header: RunHeader, ending: Ending, *, stopped: str | None) -> RunHeader:
    header = after_the_run(header, ending)
    if stopped is None and ending.broken is None:
        # Cases that were not begun because enough was seen are not missing.
        header = _planned(header, ending.counts.done)
    with left_open(store, header):
        return finish(store, header, ending.health, finished=stopped is None).header


def _closed(store: Store, header: RunHeader, suite: SuiteModel) -> RunHeader:
    if header.state is RunState.ENDED:
        return header
    health, n = Health(), 0
    for sample, _ in store.samples(header.id):
        health.watch(sample)
        n += 1
    return finish(store, _planned(replace(header, suite_path=suite.path), n), health, finished=True).header


def run_in_turn(
    experiment: ExperimentFile, suites: Mapping[str, SuiteModel], store: Store, started: Attempt | None
) -> Attempt:
    """Run what is not there yet, the baseline first; a candidate is not run when its baseline is INVALID."""
    attempt = started or Attempt(new_run_id(experiment.name, time.time()))
    for arm, side in zip(ARMS, ("a", "b"), strict=True):
        header: RunHeader | None = getattr(attempt, side)
        if header is None or header.state is not RunState.ENDED:
            options = _options(experiment, arm, attempt.id, resume=None if header is None else header.id)
            with _watched(f"{experiment.name}, {arm}") as progress:
                result = run(suites[arm], store, options, progress)
                header = result.header
            a, b = (header, attempt.b) if side == "a" else (attempt.a, header)
            attempt = Attempt(attempt.id, a, b, result.stopped, result.interrupted)
            if attempt.stopped is not None:
                break
        if header.verdict is Verdict.INVALID:
            break
    return attempt


def _options(experiment: ExperimentFile, arm: str, attempt: str, *, resume: str | None) -> RunOptions:
    part, settings = experiment.part, experiment.settings(arm)
    only = [*part.only, *([f"variant={settings['variant']}"] if "variant" in settings else [])]
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
        experiment=replace(experiment.plan(), arm=arm, id=attempt),
    )


@contextlib.contextmanager
def _watched(what: str) -> Iterator[Progress]:
    # Whatever the system under test prints must not get into the report.
    with progress_of(what, quiet=False) as progress, contextlib.redirect_stdout(sys.stderr):
        yield progress
