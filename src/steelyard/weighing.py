"""The whole way through the house: open the target, run or rescore, sum up, decide, keep.

The command line and the Python API both go through here, so that they cannot differ.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from steelyard import __version__
from steelyard.analysis.summary import summarise
from steelyard.engine.health import Health
from steelyard.engine.judges import Judges
from steelyard.engine.options import RunOptions, Selection, parse_only
from steelyard.engine.owner import is_alive, myself
from steelyard.engine.plan import Plan
from steelyard.engine.progress import Progress, Silent
from steelyard.engine.replay import ReplayTarget
from steelyard.engine.rescore import rescore as rescore_answers
from steelyard.engine.run import Ending, Engine
from steelyard.errors import UserMistake
from steelyard.records import RunHeader, RunState
from steelyard.release.verdict import decide
from steelyard.scoring.weigh import Weigher
from steelyard.store.base import Store
from steelyard.store.ids import new_run_id
from steelyard.suite.case import digest
from steelyard.suite.chosen_judge import refuse_self_judged
from steelyard.suite.describe import describe
from steelyard.suite.describe_judge import as_recorded
from steelyard.suite.load import strict as with_strict_rules
from steelyard.suite.model import Limits, SuiteModel
from steelyard.suite.signature import signature
from steelyard.targets.base import Surroundings, Target
from steelyard.targets.open import open_target


def run(
    suite: SuiteModel,
    store: Store,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[RunHeader, Ending]:
    """Weigh the suite's target. The header says what it came to; the ending says whether it got to the end."""
    options = options or RunOptions()
    progress = progress or Silent()
    if options.resume is not None:
        resumed = find_unfinished(store, suite, options.resume)
        options = _as_begun(options, resumed)
    else:
        resumed = None
    suite = with_strict_rules(suite) if options.strict else suite
    limits = options.limits(suite.limits)
    plan = Plan(suite, options.selection, options.repeats or suite.repeats)
    refuse_self_judged(suite, None if options.answers_of is None else store.run(options.answers_of).target)
    surroundings = _surroundings(suite, limits, os.environ if env is None else env)
    target = _target(suite, surroundings, store, options)
    judges = _judges(suite, limits, surroundings)
    header = _header(suite, target, plan, limits, options)
    if resumed is not None:
        _insist_on_same_instrument(resumed, header)
        header = replace(resumed, state=RunState.RUNNING, options=resumed.options | {"owner": myself()})
        store.update_run(header)
    else:
        store.create_run(header)
    engine = Engine(
        plan=plan,
        target=target,
        weigher=Weigher(suite),
        judges=judges,
        limits=limits,
        store=store,
        run_id=header.id,
        cache=options.cache,
        redact=suite.redactor,
    )
    try:
        ending = _in_own_loop(_drive(engine, target, judges, progress, resumed=resumed is not None))
    except UserMistake:
        store.update_run(_without_owner(replace(header, state=RunState.INTERRUPTED)))
        raise
    if suite.answer.format == "text" and ending.health.all_objects:
        progress.note(
            "every answer is a JSON object, but the suite reads answers as plain text: if scorers are to look inside,"
            " add answer: {format: json}, then rescore"
        )
    return finish(store, header, ending.health, finished=ending.stopped is None), ending


async def _drive(engine: Engine, target: Target, judges: Judges | None, progress: Progress, *, resumed: bool) -> Ending:
    async with target, judges or contextlib.nullcontext():
        return await engine.run(progress, resumed=resumed)


def rescore(
    suite: SuiteModel,
    store: Store,
    earlier: RunHeader,
    *,
    strict: bool = False,
    max_inconclusive: float | None = None,
    progress: Progress | None = None,
) -> RunHeader:
    """A new run: the answers of an earlier one, weighed by the suite as it is now."""
    progress = progress or Silent()
    suite = with_strict_rules(suite) if strict else suite
    _refuse_other_redaction(suite, earlier)
    told = earlier.suite.get("judge")
    if suite.judge is not None and told is not None:
        suite = replace(suite, judge=as_recorded(suite.judge, told))
    now = time.time()
    limits = suite.limits if max_inconclusive is None else replace(suite.limits, max_inconclusive=max_inconclusive)
    header = replace(
        earlier,
        id=new_run_id(suite.name, now),
        suite_name=suite.name,
        suite_path=suite.path,
        created_at=now,
        signature=_rescored_signature(suite, earlier),
        suite=_description(suite, limits, earlier.suite["variants"], earlier.suite["repeats"], earlier.n_planned),
        options=earlier.options | {"strict": strict},
        state=RunState.RUNNING,
        rescored_from=earlier.id,
        version=__version__,
    )
    store.create_run(header)
    rescored = rescore_answers(
        store,
        from_run=earlier.id,
        run_id=header.id,
        cases=iter(suite.cases),
        weigher=Weigher(suite),
        judges=None if suite.judge is None else Judges(suite.judge, suite.folder),
        progress=progress,
        planned=earlier.n_planned,
    )
    for count, why in (
        (rescored.changed_questions, "the question has changed since it was answered"),
        (rescored.gone_cases, "the case is not in the suite any more, or was never answered"),
    ):
        if count:
            progress.note(f"{count} of {earlier.n_planned} samples not weighed: {why}")
    return finish(store, header, rescored.health, finished=True)


def judge_again(
    suite: SuiteModel, store: Store, earlier: RunHeader, options: RunOptions, progress: Progress | None = None
) -> tuple[RunHeader, Ending]:
    """A new run: the answers of an earlier one, and its judges asked anew. It can be resumed as any other."""
    return run(suite, store, _as_begun(replace(options, answers_of=earlier.id), earlier), progress)


def finish(store: Store, header: RunHeader, health: Health, *, finished: bool) -> RunHeader:
    """Sum the run up, decide, and close it; an unfinished run stays open for `--resume`."""
    columns = store.columns(header.id)
    judgements = store.judgements(header.id) if header.suite.get("judge") else None
    contents = store.contents(header.id) if len(columns.finding_sample) else None
    summary = summarise(columns, header.suite, judgements, store.certainties(header.id), contents)
    typical = summary.overall.latency.get("p50")
    suspect = health.complaints(typical.value if typical else None, _usual_latency(store, header))
    state = RunState.ENDED if finished else RunState.INTERRUPTED
    decision = decide(summary, header.suite, state=state, suspect=suspect)
    header = replace(
        _without_owner(header),
        state=state,
        ended_at=time.time(),
        suspect=suspect,
        verdict=decision.verdict,
        summary=_plain(asdict(summary)),
    )
    if finished:
        store.forget_journal(header.id)
    store.update_run(header)
    return header


def _usual_latency(store: Store, header: RunHeader) -> list[float]:
    """The medians of earlier runs that this one can be held against.

    A function in this process has no line that may be dead: its first calls pay for its imports, so that a run of a few
    cases is slow and every longer one after it would look far too fast.
    """
    if header.target.get("kind") == "python":
        return []
    return store.usual_latency(header.suite_name, header.target, before=header.created_at)


def find_unfinished(store: Store, suite: SuiteModel, name: str) -> RunHeader:
    """The run to go on with: by name, or the suite's newest that has not ended."""
    if name:
        header = store.run(name)
        if header.state is RunState.ENDED:
            raise UserMistake(f"run {header.id} has ended: there is nothing to resume")
        if is_alive(header.options.get("owner")):
            raise UserMistake(
                f"run {header.id} is still going on in process {header.options['owner']['pid']}:"
                " wait for it, or stop it first"
            )
        return header
    for header in store.runs(suite.name):
        if header.state is not RunState.ENDED and not is_alive(header.options.get("owner")):
            return header
    raise UserMistake(f"no unfinished run of suite {suite.name}: start one without --resume")


def _without_owner(header: RunHeader) -> RunHeader:
    return replace(header, options={name: value for name, value in header.options.items() if name != "owner"})


def _as_begun(options: RunOptions, begun: RunHeader) -> RunOptions:
    """A resumed run keeps the part of the grid it was started with."""
    kept = begun.options
    selection = Selection(parse_only(tuple(kept["only"])), kept["limit"])
    return replace(
        options,
        selection=selection,
        repeats=kept["repeats"],
        strict=kept["strict"],
        cache=kept["cache"] or options.cache,
        answers_of=options.answers_of or kept.get("answers_of"),
    )


def _insist_on_same_instrument(begun: RunHeader, now: RunHeader) -> None:
    # A run that began before there were judges knows nothing of them: "" stands for none.
    changed = [
        part for part, value in now.signature.items() if begun.signature.get(part, "") != value and part != "text"
    ]
    if changed:
        raise UserMistake(
            f"run {begun.id} cannot be resumed: since it began these have changed: {', '.join(changed)}."
            f" Samples from two instruments do not belong in one run: {_same_again(changed)}start a new one"
        )


def _refuse_other_redaction(suite: SuiteModel, earlier: RunHeader) -> None:
    """Answers that were kept before they were redacted must not get into another run."""
    if suite.redactor is None or earlier.signature.get("redact") == digest(suite.redactor.identity()):
        return
    raise UserMistake(
        f"run {earlier.id} was made before the suite redacted as it does now, and its answers are kept as they came:"
        " run the suite again"
    )


def _same_again(changed: list[str]) -> str:
    """What was said on the command line then and may have been left out now."""
    options = {"target": "--target, --model and --set", "judge": "--judge options"}
    left_out = [options[part] for part in changed if part in options]
    return f"give the same {' and '.join(left_out)} as then, or " if left_out else ""


def _target(suite: SuiteModel, surroundings: Surroundings, store: Store, options: RunOptions) -> Target:
    if options.answers_of is not None:
        return ReplayTarget(store, store.run(options.answers_of))
    return open_target(suite.target, surroundings)


def _judges(suite: SuiteModel, limits: Limits, surroundings: Surroundings) -> Judges | None:
    if suite.judge is None:
        return None
    return Judges(suite.judge, suite.folder, limits=limits, surroundings=surroundings, redact=suite.redactor)


def _surroundings(suite: SuiteModel, limits: Limits, env: Mapping[str, str]) -> Surroundings:
    return Surroundings(
        folder=suite.folder,
        answer_schema=suite.answer.schema,
        env=dict(env),
        max_connections=limits.concurrency,
    )


def _header(suite: SuiteModel, target: Target, plan: Plan, limits: Limits, options: RunOptions) -> RunHeader:
    now = time.time()
    identity = target.identity()
    return RunHeader(
        id=new_run_id(suite.name, now),
        suite_name=suite.name,
        suite_path=suite.path,
        created_at=now,
        signature=signature(suite, identity),
        target=identity,
        suite=_description(suite, limits, [variant.name for variant in plan.variants], plan.repeats, plan.n),
        options=options.as_data() | {"owner": myself()},
        n_planned=plan.n,
        version=__version__,
    )


def _description(
    suite: SuiteModel, limits: Limits, variants: list[str], repeats: int, n_planned: int
) -> dict[str, Any]:
    """The suite as it is used in this run: what was asked for on the command line included."""
    return describe(suite) | {
        "repeats": repeats,
        "variants": variants,
        "max_inconclusive": limits.max_inconclusive,
        "n_cases": suite.survey.n,
        "n_planned": n_planned,
    }


def _rescored_signature(suite: SuiteModel, earlier: RunHeader) -> dict[str, Any]:
    """Truth, scorers and rules of today; what was asked of whom is as it was then."""
    asked = suite.judge is not None and any(member.kind != "python" for member in suite.judge.members)
    judge = earlier.signature.get("judge") if asked else None
    return signature(suite, earlier.target, prompts=earlier.signature["prompts"], judge=judge)


def _in_own_loop(coroutine: Any) -> Any:
    """Run to the end, also when the caller (a notebook) is inside a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(asyncio.run(coroutine)))
    thread.start()
    thread.join()
    return result[0]


def _plain(data: Any) -> Any:
    """The same data with nothing that JSON cannot say."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
