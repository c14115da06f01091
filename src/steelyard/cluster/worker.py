"""What a worker does on whatever machine it runs: it makes calls and scores answers, and keeps no books."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from steelyard.cluster.messages import Ask, Broken, Complete, LeaseItem, Report, Scored, Setup, WorkerAnswer, text_size
from steelyard.engine.breaker import try_once
from steelyard.engine.call import Caller
from steelyard.engine.judges import Judges
from steelyard.engine.limits import Pace
from steelyard.engine.scoring_processes import Task, evaluated
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.errors import SteelyardError, TargetFailure
from steelyard.judging.ask import Bench
from steelyard.records import CallResult
from steelyard.redact import RedactedStream, learn_secrets, redact_known, secrets_in
from steelyard.scoring.evaluate import Evaluator
from steelyard.targets.base import Request, Response, TargetContext, open_target
from steelyard.user_code import raised_in_words

_LARGEST_REPLY = 64_000
"""Characters of answers in one reply: Ray keeps a larger one in its object store."""
_GATHER = 0.002
"""Seconds in which a busy worker gathers results before it hands them over."""
_FEW = 8
_NO_CALL = CallResult()


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
