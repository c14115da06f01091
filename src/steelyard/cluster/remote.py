"""A target, its judges and the scoring of a run as the engine knows them, carried out by workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from typing import Any, NoReturn, Self

from steelyard.cluster.messages import Ask, Complete, LookAround, Scored
from steelyard.cluster.worker_pool import Job, WorkerPool
from steelyard.engine.sample import Evaluation
from steelyard.engine.scoring_processes import Task
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.errors import TargetFailure
from steelyard.records import CallResult, Sample
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case
from steelyard.targets.base import Request, Response, Target
from steelyard.user_code import UserCodeError

GRACE = 60.0
"""Seconds beyond the timeout, which the worker watches, that the driver waits for what a worker says of a call."""


class RemoteScoring(ScoringThread):
    """Scores of answers come from the workers that got them; answers that are stored already are sent to one."""

    is_remote = True

    def __init__(self, pool: WorkerPool, arm: int) -> None:
        super().__init__()
        self._pool = pool
        self._arm = arm
        self._coming: dict[tuple[str, str, int], tuple[Response, Job]] = {}
        self._under_way = 0

    @property
    def waiting(self) -> int:
        """Answers whose score has not come yet."""
        return self._under_way

    def expect(self, request: Request, response: Response, job: Job) -> None:
        """A worker has got this answer and is scoring it."""
        self._coming[request.case.id, request.variant.name, request.repeat] = response, job

    async def evaluate(
        self, evaluator: Evaluator, case: Case, variant: str, repeat: int, call_result: CallResult
    ) -> Evaluation:
        """What a worker made of the answer; one that failed has no score to wait for."""
        if call_result.failure is not None:
            return Evaluation(evaluator, case, variant, repeat, call_result)
        response, job = self._coming.pop((case.id, variant, repeat), (None, None))
        if job is None or response is None or not _is_scored(response, call_result):
            job = self._pool.submit(self._arm, Task(case, variant, repeat, call_result))
        self._under_way += 1
        try:
            scored: Scored = await job.done
        except UserCodeError as error:
            return _unscored(evaluator, Task(case, variant, repeat, call_result), error)
        finally:
            self._under_way -= 1
        self.mean += 0.1 * (scored.seconds - self.mean)
        scored.sample.call_result = call_result
        return Evaluation.received(evaluator, case, scored.sample, scored.evaluated)


def _unscored(evaluator: Evaluator, task: Task, error: UserCodeError) -> Evaluation:
    """An answer whose scoring kills workers: inconclusive, as with a scorer that raises, and not lost."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    broken = copy(evaluator)
    broken.evaluate = fail  # type: ignore[method-assign]
    return Evaluation(broken, *task[:4])


def _is_scored(response: Response, call_result: CallResult) -> bool:
    """Whether the answer that was scored is the one to be stored."""
    stored = (call_result.text, call_result.status, call_result.cut_off)
    return stored == (response.text, response.status, response.cut_off)


class RemoteTarget:
    """The target of a run, called by workers: each call is one try, since limits and retries are the engine's.

    `target` is the same one in this process. It says what it is, and gives answers only if it makes no calls for them.
    """

    grace = GRACE

    def __init__(self, target: Target, pool: WorkerPool, arm: int, scoring: RemoteScoring) -> None:
        self._target, self._pool, self._arm, self._scoring = target, pool, arm, scoring
        self._replays = getattr(target, "makes_no_calls", False)
        if hasattr(target, "gone"):
            self.gone = self._gone

    async def __aenter__(self) -> Self:
        if self._replays:
            await self._target.__aenter__()
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._pool.__aexit__(*exc_info)
        if self._replays:
            await self._target.__aexit__(*exc_info)

    async def ask(self, ask: Request) -> Response:
        """What a worker was answered; TargetFailure as it failed there."""
        if self._replays:
            return await self._target.ask(ask)
        job = self._pool.submit(self._arm, Ask(ask))
        response = _answer(await (job.answered or job.done))
        self._scoring.expect(ask, response, job)
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    async def _gone(self) -> str | None:
        message: str | None = await self._pool.submit(self._arm, LookAround()).done
        return message


def completed_by(pool: WorkerPool, arm: int) -> Callable[[str, dict[str, Any], dict[str, Any] | None], Any]:
    """How a judge that is a model is asked by workers: name, body and schema to its answer."""

    async def complete(member: str, body: dict[str, Any], schema: dict[str, Any] | None) -> Response:
        return _answer(await pool.submit(arm, Complete(member, body, schema)).done)

    return complete


def _answer(value: Any) -> Response:
    if isinstance(value, TargetFailure):
        raise value
    response: Response = value
    return response


class RemoteRecorded:
    """Scores recorded answers by workers, for code that is not asynchronous."""

    ahead = 10

    def __init__(self, pool: WorkerPool, evaluator: Evaluator, loop: asyncio.AbstractEventLoop) -> None:
        self._pool, self._evaluator, self._loop = pool, evaluator, loop

    def submit(self, tasks: Sequence[Task]) -> list[Future[list[Sample]]]:
        """Their samples, in the same order."""
        return [asyncio.run_coroutine_threadsafe(self._score(tasks), self._loop)]

    async def _score(self, tasks: Sequence[Task]) -> list[Sample]:
        jobs = [self._pool.submit(0, task) for task in tasks]
        samples = []
        for task, job in zip(tasks, jobs, strict=True):
            try:
                sample: Sample = (await job.done).sample
                sample.call_result = task.call_result
            except UserCodeError as error:
                sample = _unscored(self._evaluator, task, error).sample
            samples.append(sample)
        return samples


@contextmanager
def scored_by(pool: WorkerPool, evaluator: Evaluator) -> Iterator[RemoteRecorded]:
    """Workers that score recorded answers."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="steelyard-workers", daemon=True)
    thread.start()

    def wait(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        wait(pool.__aenter__())
        try:
            yield RemoteRecorded(pool, evaluator, loop)
        finally:
            wait(pool.__aexit__())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
