"""What a worker does on whatever machine it runs: it makes calls and scores answers, and keeps no books."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import sys
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.engine.breaker import try_once
from steelyard.engine.call import Caller
from steelyard.engine.judges import Judges
from steelyard.engine.limits import Pace
from steelyard.engine.scoring_processes import Task, evaluated
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.errors import SteelyardError, TargetFailure, UsageError
from steelyard.frozen import frozen
from steelyard.judging.ask import Bench
from steelyard.loading.load import load_without_cases, strict
from steelyard.records import CallResult, Sample, Signature
from steelyard.redact import RedactedStream, learn_secrets, redact_known, secrets_in
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.suite.case import CaseSurvey
from steelyard.suite.models import Limits, SuiteModel
from steelyard.suite.prices import Prices, read_prices
from steelyard.suite.signature import signature
from steelyard.targets.base import Request, Response, TargetContext, open_target
from steelyard.user_code import raised_in_words

# What goes to a worker and what comes back. No value of a secret is in any of it: a worker reads its own environment.

_LARGEST_REPLY = 64_000
"""Characters of answers in one reply: Ray keeps a larger one in its object store."""
_GATHER = 0.002
"""Seconds in which a busy worker gathers results before it hands them over."""
_FEW = 8
_NO_CALL = CallResult()


@frozen
class Setup:
    """What a worker needs of a suite to call its target and to score; its cases come with the work."""

    place: str
    """The suite's file in its folder, or the name of one that is installed."""
    folder: str | None
    """Where the suite is on the worker; None: in the working directory that Ray has brought there."""
    survey: CaseSurvey
    chosen: bytes
    """Target, prompts and who judges how often, as chosen for the run; pickled, since what is of the suite's own code
    can be read only after the suite."""
    strict: bool
    limits: Limits
    asks: bool
    """Whether the target is called; else answers are recorded ones."""
    judges: bool
    """Whether judges that are models are called; else what they said is recorded."""
    signature: Signature
    prices: Prices
    version: str = __version__

    @classmethod
    def of(cls, suite: SuiteModel, limits: Limits, *, asks: bool, judges: bool, strict: bool, ships: bool) -> Setup:
        """That of a suite as it is here; with `ships`, Ray brings its folder along. UsageError if it cannot be."""
        path = Path(suite.path)
        if not suite.path or (path.exists() and not path.resolve().is_relative_to(suite.folder)):
            raise UsageError(
                f"the suite {suite.name} is in no file, so other processes cannot read it: write it to one"
            )
        try:
            judge = None if suite.judge is None else (suite.judge.members, suite.judge.repeats)
            chosen = pickle.dumps((suite.target, suite.prompts, judge))
        except Exception as error:
            message = f"the target or judge of suite {suite.name} cannot be sent to other processes"
            raise UsageError(f"{message}: name it as module:function") from error
        here = path.exists()
        return cls(
            place=str(path.resolve().relative_to(suite.folder)) if here else suite.path,
            folder=None if here and ships else str(suite.folder),
            survey=suite.survey,
            chosen=chosen,
            strict=strict,
            limits=limits,
            asks=asks,
            judges=judges,
            signature=_without_target(signature(suite)),
            prices=read_prices(suite.folder),
        )

    def load(self) -> SuiteModel:
        """The suite on this worker; UsageError when it is not the one that the run was begun with."""
        if self.version != __version__:
            raise UsageError(f"it has Steelyard {__version__}, and the run was started by {self.version}")
        folder = Path.cwd() if self.folder is None else Path(self.folder)
        inside = folder / self.place
        suite = load_without_cases(str(inside if inside.exists() else self.place), self.survey)
        suite = strict(suite) if self.strict else suite
        target, prompts, judged = pickle.loads(self.chosen)  # noqa: S301 - written by the driver of this run
        judge = None if suite.judge is None or judged is None else suite.judge.judged_by(judged[0], repeats=judged[1])
        suite = suite.changed(target=target, judge=judge, prompts=prompts, survey=self.survey)
        now = _without_target(signature(suite))
        if changed := [part for part in self.signature.to_data() if now.part(part) != self.signature.part(part)]:
            raise UsageError(f"its copy of suite {suite.name} differs in {', '.join(changed)}")
        return suite


def _without_target(signed: Signature) -> Signature:
    return replace(signed, text=None, target=None, target_kind=None, model=None)


@frozen
class Ask:
    """Call the target once and score what it answers."""

    request: Request


@frozen
class Complete:
    """Let a judge that is a model answer once."""

    member: str
    body: dict[str, Any]
    schema: dict[str, Any] | None


@frozen
class LookAround:
    """Find out whether the system under test is still there."""


Work = Ask | Task | Complete | LookAround
"""A Task is to be scored."""


@frozen
class LeaseItem:
    """One piece of a lease: what is to be done for which arm, and the number to report it under."""

    number: int
    arm: int
    work: Work


@frozen
class WorkerAnswer:
    """What a call came to. Of the answer to an Ask, the score follows."""

    number: int
    value: Any


@frozen
class Scored:
    """A sample without its answer, with what a judge that is a model has still to read, and the seconds it took."""

    number: int
    sample: Sample
    evaluated: Evaluated | None
    seconds: float


@frozen
class Broken:
    """Work that raised what no target and no scorer may raise."""

    number: int
    message: str


Report = WorkerAnswer | Scored | Broken


def text_size(report: Report) -> int:
    """About how many characters the report holds."""
    value = report.value if isinstance(report, WorkerAnswer) else None
    return 500 + (len(value.text) if isinstance(value, Response) else 0)


class _Arm:
    """One suite with its open target and judges on this worker."""

    def __init__(self, setup: Setup) -> None:
        suite = self.suite = setup.load()
        self._limits = setup.limits
        self._evaluator = Evaluator(suite)
        env = dict(os.environ)
        most = setup.limits.concurrency
        context = TargetContext(suite.folder, suite.answer.schema_data, env, most, setup.prices)
        self.target = open_target(suite.target, context) if setup.asks else None
        self._judges = None if suite.judge is None else Judges(suite.judge, suite.folder)
        self._bench = Bench(suite.judge, context) if setup.judges and suite.judge is not None else None
        self._caller = (
            None
            if self.target is None
            else Caller(self.target, setup.limits, Pace(1), folder=None, redact=suite.redactor)
        )
        if self._bench is not None:
            learn_secrets(self._bench.secrets())

    async def open(self, opened: AsyncExitStack) -> None:
        for part in (self.target, self._bench):
            if part is not None:
                await opened.enter_async_context(part)

    async def ask(self, request: Request) -> Response | TargetFailure:
        if self._caller is None:
            raise RuntimeError("this worker only scores")
        return await self._caller.once(request)

    async def complete(self, work: Complete) -> Response | TargetFailure:
        bench, judge = self._bench, self.suite.judge
        if bench is None or judge is None:
            raise RuntimeError("this worker asks no judge")
        member = next(member for member in judge.members if member.name == work.member)
        seconds = getattr(member.settings, "timeout", None) or self._limits.timeout
        began = time.perf_counter()
        result = await try_once(lambda: bench.complete(work.member, work.body, work.schema), seconds)
        if isinstance(result, TargetFailure) or result.latency is not None:
            return result
        return replace(result, latency=time.perf_counter() - began)

    async def gone(self) -> str | None:
        message = await self.target.gone()  # type: ignore[union-attr]  # only asked of those that can tell
        return None if message is None else redact_known(str(message))

    def score(self, number: int, work: Task) -> Scored:
        began = time.perf_counter()
        evaluation = evaluated(self._evaluator, self._judges, work)
        sample = evaluation.sample
        sample.call_result = _NO_CALL
        still = evaluation.evaluated if evaluation.to_judge is not None else None
        return Scored(number, sample, still, time.perf_counter() - began)


class Worker:
    """Takes leases and hands over results, of many calls at once. It runs in the event loop of its process."""

    def __init__(self, setups: tuple[Setup, ...], wants: int) -> None:
        """`wants` is how much it wants to have in hand."""
        self._setups = setups
        self._wants = wants
        self._arms: list[_Arm] = []
        self._scoring = ScoringThread()
        self._open = AsyncExitStack()
        self._reports: list[Report] = []
        self._news = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()

    async def start(self) -> tuple[str, str | None]:
        """Read the suite and open its target: the name of the machine, and why that cannot be done, or None."""
        return socket.gethostname(), await self._start()

    async def _start(self) -> str | None:
        learn_secrets(secrets_in(os.environ))
        sys.stdout, sys.stderr = RedactedStream(sys.stdout), RedactedStream(sys.stderr)
        try:
            self._arms = [_Arm(setup) for setup in self._setups]
            for arm in self._arms:
                await arm.open(self._open)
        except SteelyardError as error:
            return redact_known(str(error))
        except Exception as error:  # noqa: BLE001 - code of the suite may raise anything
            return redact_known(raised_in_words(error))
        return None

    async def take(self, lease: list[LeaseItem]) -> None:
        """Begin with all of it; what comes of it is in the results."""
        for item in lease:
            task = asyncio.create_task(self._do(item))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def results(self) -> tuple[list[Report], int]:
        """What was finished since, as soon as there is something, and how much it wants to have in hand from now on."""
        await self._news.wait()
        if len(self._reports) < _FEW <= len(self._under_way):
            await asyncio.sleep(_GATHER)
        size, n = 0, 0
        while n < len(self._reports) and (n == 0 or size + text_size(self._reports[n]) <= _LARGEST_REPLY):
            size += text_size(self._reports[n])
            n += 1
        reports, self._reports = self._reports[:n], self._reports[n:]
        if not self._reports:
            self._news.clear()
        # A worker that is behind with scoring asks for less.
        return reports, max(1, self._wants - self._scoring.waiting)

    async def close(self) -> None:
        """Drop what is under way and close connections and processes of the target."""
        for task in list(self._under_way):
            task.cancel()
        self._scoring.close()
        self._news.set()  # whoever waits for results gets none
        await self._open.aclose()

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        self._news.set()

    async def _do(self, item: LeaseItem) -> None:
        arm, work = self._arms[item.arm], item.work
        try:
            if isinstance(work, Ask):
                await self._ask(item.number, arm, work.request)
            elif isinstance(work, Task):
                self._report(await self._scoring.run(lambda: arm.score(item.number, work)))
            else:
                answer: Coroutine[Any, Any, Any] = arm.complete(work) if isinstance(work, Complete) else arm.gone()
                self._report(WorkerAnswer(item.number, await answer))
        except Exception as error:  # noqa: BLE001 - whoever waits on the driver must be told
            self._report(Broken(item.number, redact_known(raised_in_words(error))))

    async def _ask(self, number: int, arm: _Arm, request: Request) -> None:
        answer = await arm.ask(request)
        self._report(WorkerAnswer(number, answer))
        if isinstance(answer, Response):
            work = scoring_of(request, answer)
            self._report(await self._scoring.run(lambda: arm.score(number, work)))


def scoring_of(request: Request, answer: Response) -> Task:
    """What is left to do once the target has answered."""
    case = replace(request.case, expected=request.truth, private=request.private)
    call_result = CallResult(text=answer.text, status=answer.status, cut_off=answer.cut_off)
    return Task(case, request.variant.name, request.repeat, call_result)
