"""Figures for pages, computed in a separate process and kept: a page never waits long for them.

Summing up a million samples takes seconds of CPU. In the process that serves, every other page would wait for it. What
a store has already, the figures of a run that has ended, is read in the process that serves.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    from steelyard.store.sql import SqlStore

WAIT = 0.1
"""Seconds that a page waits for figures before it shows that they are being computed."""
_MOST_RESULTS = 500
"""Results; each is a page's text, some tens of kB."""

Job = Callable[..., dict[str, Any]]
"""A function of a module, of the store and plain values, that gives what a page shows as texts and plain data."""


class FigureJobs:
    """Results of jobs, by what they were asked for; each is computed once."""

    def __init__(self, store_url: str | None) -> None:
        self._url = store_url
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[Any, ...], Future[dict[str, Any]]] = OrderedDict()
        self._executor: Executor | None = None

    def ask(
        self, job: Job, *given: Any, state: object, timeout: float = WAIT, again: bool = True
    ) -> dict[str, Any] | None:
        """What the job gives; None while it is at work. `state` is that of what it reads: another one is computed anew.

        Errors of the job are raised here.
        """
        key = (job.__module__, job.__qualname__, given, state)
        with self._lock:
            future = self._results.get(key)
            if future is None or _is_broken(future):
                future = self._submit(job, given)
            self._keep(key, future)
        try:
            return future.result(timeout)
        except TimeoutError:
            return None
        except BrokenProcessPool:
            # It was killed, for memory say: the next one may do better.
            if again:
                return self.ask(job, *given, state=state, timeout=timeout, again=False)
            raise

    def read(self, job: Job, store: SqlStore, *given: Any, state: object) -> dict[str, Any]:
        """What a job that is quick gives, from the store at once."""
        key = (job.__module__, job.__qualname__, given, state)
        with self._lock:
            future = self._results.get(key)
        if future is None or not future.done() or future.exception() is not None:
            future = Future()
            future.set_result(job(store, *given))
            with self._lock:
                self._keep(key, future)
        return future.result()

    def _keep(self, key: tuple[Any, ...], future: Future[dict[str, Any]]) -> None:
        self._results[key] = future
        self._results.move_to_end(key)
        while len(self._results) > _MOST_RESULTS:
            self._results.popitem(last=False)

    def _submit(self, job: Job, given: tuple[Any, ...]) -> Future[dict[str, Any]]:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(1, get_context("spawn"), _open, (self._url,))
        try:
            return self._executor.submit(_compute, job, given)
        except BrokenProcessPool:
            self._executor.shutdown(wait=False)
            self._executor = None
            return self._submit(job, given)

    def close(self) -> None:
        """End the process, and forget what was computed."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)


def _is_broken(future: Future[dict[str, Any]]) -> bool:
    """Whether it ended in an error that trying again may mend."""
    return future.done() and future.exception() is not None and not isinstance(future.exception(), SteelyardError)


_store: Any = None


def _open(url: str | None) -> None:
    global _store
    import signal

    from steelyard.store.sql import open_store

    # Ctrl-C reaches the whole group: the process that serves ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _store = open_store(url, create=False)


def _compute(job: Job, given: tuple[Any, ...]) -> dict[str, Any]:
    return job(_store, *given)
