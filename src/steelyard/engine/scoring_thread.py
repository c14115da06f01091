"""Scores answers beside the event loop, so that a slow scorer delays no call: latency is the target's alone."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from steelyard.engine.sample import Evaluation
from steelyard.frozen import slotted
from steelyard.records import CallResult, ScoringTime
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case

_T = TypeVar("_T")


@slotted
class _Job:
    score: Callable[[], Any]
    done: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class ScoringThread:
    """Runs what it is given one after the other. It begins with the first job."""

    is_remote = False
    """Whether answers are scored by other processes."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._next: list[_Job] = []
        self._over: deque[_Job] = deque()
        self._n_given = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes = False
        self._seconds, self._n, self._began, self._ended = 0.0, 0, 0.0, 0.0
        self.mean = 1.0
        """Seconds that scoring an answer took of late; taken to be long until it is known."""

    @property
    def waiting(self) -> int:
        """Answers that wait to be scored."""
        return self._n_given - self._n

    @property
    def load(self) -> ScoringTime | None:
        """What it took; None without answers."""
        if not self._n:
            return None
        elapsed = max(self._ended - self._began, 1e-9)
        return ScoringTime(round(self._seconds / self._n, 6), round(self._seconds / elapsed, 4))

    async def run(self, score: Callable[[], _T]) -> _T:
        """What `score` gives, run in the thread; raises what it raised."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            # A daemon: a scorer that never returns must not keep the process from ending.
            threading.Thread(target=self._work, name="steelyard-scoring", daemon=True).start()
        done: asyncio.Future[_T] = self._loop.create_future()
        self._n_given += 1
        self._next.append(_Job(score, done))
        # What comes in one turn of the loop is handed over together: each wake-up of the thread costs time.
        if len(self._next) == 1:
            self._loop.call_soon(self._hand_over)
        return await done

    def _hand_over(self) -> None:
        if self._next:
            self._jobs.put(self._next)
            self._next = []

    async def evaluate(
        self, evaluator: Evaluator, case: Case, variant: str, repeat: int, call_result: CallResult
    ) -> Evaluation:
        """The answer scored as far as it goes without a judge."""
        return await self.run(lambda: Evaluation(evaluator, case, variant, repeat, call_result))

    def close(self) -> None:
        """End when what waits is scored."""
        self._hand_over()
        self._jobs.put(None)

    def _work(self) -> None:
        while (jobs := self._jobs.get()) is not None:
            for job in jobs:
                if not self._score(job):
                    return

    def _score(self, job: _Job) -> bool:
        """Do one job; False when nobody is left who waits."""
        began = time.perf_counter()
        try:
            job.result = job.score()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            job.error = error
        took = time.perf_counter() - began
        self.mean += 0.1 * (took - self.mean)
        self._began = self._began or began
        self._seconds, self._n, self._ended = self._seconds + took, self._n + 1, began + took
        self._over.append(job)
        # What is over before the loop has woken up is handed back together.
        if not self._wakes and self._loop is not None:
            self._wakes = True
            try:
                self._loop.call_soon_threadsafe(self._hand_back)
            except RuntimeError:  # a loop that is closed has nobody left who waits
                return False
        return True

    def _hand_back(self) -> None:
        self._wakes = False
        while self._over:
            job = self._over.popleft()
            if job.done.done():
                continue
            if job.error is None:
                job.done.set_result(job.result)
            else:
                job.done.set_exception(job.error)
