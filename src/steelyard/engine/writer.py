"""Keeps completed samples: one thread commits them in small groups, and only then are they counted as done."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.engine.journal import Entry
from steelyard.records import Sample
from steelyard.store.base import Store
from steelyard.suite.case import Case

_GROUP = 200
_MANY = 8
_PATIENCE = 0.05
"""Seconds in which groups gather while answers come thick and fast."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A weighed sample with its case, and the cache entry to keep with it."""

    sample: Sample
    case: Case
    cache_entry: tuple[str, dict[str, Any]] | None = None
    journalled: Sequence[str] = ()
    """What the journal holds of it, which is not needed any more."""


class Writer:
    """A background thread in front of the store. `kept` is called, after each commit, with what became durable."""

    def __init__(self, store: Store, run_id: str, kept: Callable[[list[Completed]], None]) -> None:
        self._store = store
        self._run_id = run_id
        self._kept = kept
        self._queue: queue.SimpleQueue[Completed | Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="steelyard-writer", daemon=True)
        self.failure: Exception | None = None
        self._busy = False

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, completed: Completed) -> None:
        """Hand over one sample; raises what the store raised if writing has failed."""
        if self.failure is not None:
            raise self.failure
        self._queue.put(completed)

    def journal(self, entry: Entry) -> None:
        """Hand over a part of a sample that is not complete yet."""
        self._queue.put(entry)

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
                return

    def _next_group(self) -> tuple[list[Completed | Entry], bool]:
        """All that waits, at once: while one group is committed, the next one gathers.

        When answers come thick and fast, a moment's patience makes larger groups and saves CPU; a single answer of a
        slow and costly system is committed at once.
        """
        group: list[Completed | Entry] = []
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

    def _commit(self, group: list[Completed | Entry]) -> None:
        parts = [item for item in group if not isinstance(item, Completed)]
        if parts:
            self._store.journal(self._run_id, parts)
        done = [item for item in group if isinstance(item, Completed)]
        if not done:
            return
        cases = {completed.case.id: completed.case for completed in done}
        forget = [key for completed in done for key in completed.journalled]
        samples = [completed.sample for completed in done]
        self._store.add_samples(self._run_id, samples, list(cases.values()), forget=forget)
        entries = [completed.cache_entry for completed in done if completed.cache_entry is not None]
        if entries:
            self._store.cache(entries)
        self._kept(done)
