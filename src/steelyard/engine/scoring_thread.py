"""Scores answers beside the event loop, so that a slow scorer delays no call: latency is the target's alone.

One thread, since scorers of a suite need not be safe for several; docs/design/0007 has the measurements.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass(slots=True)
class _Job:
    score: Callable[[], Any]
    done: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class ScoringThread:
    """Runs what it is given one after the other. It begins with the first job."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._over: deque[_Job] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes = False
        self._seconds, self._n, self._began, self._ended = 0.0, 0, 0.0, 0.0
        self.mean = 1.0
        """Seconds that scoring an answer took of late; taken to be long until it is known."""

    @property
    def waiting(self) -> int:
        """Answers that wait to be scored."""
        return self._jobs.qsize()

    @property
    def load(self) -> dict[str, float]:
        """The mean of an answer's seconds, and the share of the time since the first answer; empty without answers."""
        if not self._n:
            return {}
        elapsed = max(self._ended - self._began, 1e-9)
        return {"mean": round(self._seconds / self._n, 6), "share": round(self._seconds / elapsed, 4)}

    async def run(self, score: Callable[[], _T]) -> _T:
        """What `score` gives, run in the thread; raises what it raised."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            # A daemon: a scorer that never returns must not keep the process from ending.
            threading.Thread(target=self._work, name="steelyard-scoring", daemon=True).start()
        done: asyncio.Future[_T] = self._loop.create_future()
        self._jobs.put(_Job(score, done))
        return await done

    def close(self) -> None:
        """End when what waits is scored."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
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
            # What is over before the loop has woken up is handed back together: each wake-up costs time.
            if not self._wakes and self._loop is not None:
                self._wakes = True
                try:
                    self._loop.call_soon_threadsafe(self._hand_back)
                except RuntimeError:  # a loop that is closed has nobody left who waits
                    return

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
