"""Stores answers and samples: one thread commits them in small groups, and only then are they used or counted."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.engine.journal import Entry
from steelyard.records import Sample
from steelyard.store.base import Store
from steelyard.suite.case import Case

_GROUP = 200
_MANY = 8
_PATIENCE = 0.005
"""Seconds in which groups gather while answers come thick and fast; a kill costs the answers of that time. Of 0, 5 and
20 ms, 5 took least time for 5,000 calls of 50 ms at concurrency 100: docs/design/0007."""
_FEW = 4
"""So many samples may wait to be committed while the next call is made already."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A weighed sample with its case, and the cache entry to keep with it."""

    sample: Sample
    case: Case
    cache_entry: tuple[str, dict[str, Any]] | None = None
    journalled: Sequence[str] = ()
    """What the journal holds of it, which is not needed any more."""


@dataclass(frozen=True, slots=True)
class _Item:
    """What is to be committed, and who waits for it."""

    content: Completed | Entry
    committed: asyncio.Future[None] | None


class Writer:
    """A background thread in front of the store. `kept` is called, after each commit, with what became durable."""

    def __init__(self, store: Store, run_id: str, kept: Callable[[list[Completed]], None]) -> None:
        self._store = store
        self._run_id = run_id
        self._kept = kept
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="steelyard-writer", daemon=True)
        self.failure: Exception | None = None
        self._busy = False

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, completed: Completed) -> None:
        """Hand over one sample; raises what the store raised if writing has failed."""
        self._put(_Item(completed, None))

    async def store(self, content: Completed | Entry) -> None:
        """Hand over a sample, or an answer of one that is not complete yet, and wait until it is committed.

        For one of a few samples nobody waits. Raises what the store raised if writing has failed.
        """
        if isinstance(content, Completed) and self.backlog < _FEW:
            self.put(content)
            return
        committed = asyncio.get_running_loop().create_future()
        self._put(_Item(content, committed))
        await committed

    def _put(self, item: _Item) -> None:
        self._queue.put(item)
        # Asked afterwards: whoever comes too late for the thread's last look at the queue sees why it ended.
        if self.failure is not None:
            raise self.failure

    @property
    def backlog(self) -> int:
        """How many samples wait to be written."""
        return self._queue.qsize()

    def close(self) -> None:
        """Write what is left and end; raises what the store raised."""
        self._queue.put(None)
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._next_group()
            if not group:
                continue
            try:
                self._commit(group)
            except Exception as error:  # noqa: BLE001 - handed to the run, which stops and reports it
                self.failure = error
                while not self._queue.empty():
                    if (item := self._queue.get()) is not None:
                        group.append(item)
                _wake(group, error)
                return

    def _next_group(self) -> tuple[list[_Item], bool]:
        """All that waits, at once: while one group is committed, the next one gathers.

        When answers come thick and fast, a moment's patience makes larger groups and saves CPU; a single answer of a
        slow and costly system is committed at once.
        """
        group: list[_Item] = []
        item = self._queue.get()
        if self._busy and item is not None:
            time.sleep(_PATIENCE)
        self._busy = self._queue.qsize() > _MANY
        while item is not None:
            group.append(item)
            if len(group) == _GROUP:
                return group, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _commit(self, group: list[_Item]) -> None:
        # Answers first: a judge waits to be asked about them.
        answers = [item for item in group if not isinstance(item.content, Completed)]
        if answers:
            self._store.journal(self._run_id, [item.content for item in answers if isinstance(item.content, tuple)])
            _wake(answers)
        done = [item.content for item in group if isinstance(item.content, Completed)]
        if not done:
            return
        cases = {completed.case.id: completed.case for completed in done}
        forget = [key for completed in done for key in completed.journalled]
        samples = [completed.sample for completed in done]
        self._store.add_samples(self._run_id, samples, list(cases.values()), forget=forget)
        _wake(item for item in group if isinstance(item.content, Completed))
        entries = [completed.cache_entry for completed in done if completed.cache_entry is not None]
        if entries:
            self._store.cache(entries)
        self._kept(done)


def _wake(items: Iterable[_Item], failure: Exception | None = None) -> None:
    """Let the loop tell those who wait, in one step, that these are committed, or why they are not."""
    waiting = [item.committed for item in items if item.committed is not None]

    def wake() -> None:
        for future in waiting:
            if not future.done():
                if failure is None:
                    future.set_result(None)
                else:
                    future.set_exception(failure)

    if waiting:
        with contextlib.suppress(RuntimeError):  # a loop that is closed has nobody left who waits
            waiting[0].get_loop().call_soon_threadsafe(wake)
