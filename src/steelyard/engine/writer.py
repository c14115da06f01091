"""Answers and scores on their way into the store, in groups, and progress."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import click

from steelyard.engine.journal import Entry
from steelyard.frozen import frozen, slotted
from steelyard.records import Outcome, Sample
from steelyard.store.base import Store
from steelyard.suite.case import Case, cell_name

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


_EVERY = 5.0
"""Seconds between two plain lines of progress."""


@slotted
class Counts:
    """Samples that are durable, by how they ended."""

    planned: int = 0
    scored: int = 0
    malformed: int = 0
    failed: int = 0

    @property
    def done(self) -> int:
        """All that are durable."""
        return self.scored + self.malformed + self.failed

    def __str__(self) -> str:
        return f"{self.scored} scored, {self.malformed} malformed, {self.failed} failed"

    def add(self, outcome: Outcome) -> None:
        """Count one more sample."""
        if outcome is Outcome.SCORED:
            self.scored += 1
        elif outcome is Outcome.MALFORMED:
            self.malformed += 1
        else:
            self.failed += 1


class Progress(Protocol):
    """Told from the writer's thread, after each commit, with the samples of that commit."""

    def update(self, counts: Counts, samples: Sequence[Sample] = (), /) -> None: ...

    def note(self, text: str) -> None:
        """Something a person should know now: throttled, stopping, resuming."""
        ...


class Silent:
    """Shows nothing."""

    def update(self, _counts: Counts, _samples: Sequence[Sample] = ()) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


@contextmanager
def progress_of(what: str, *, quiet: bool, verbose: bool = False) -> Iterator[Progress]:
    """A progress bar on a terminal, plain lines otherwise, on standard error so that reports stay clean; or, verbose,
    a line per sample."""
    if quiet or verbose:
        yield SampleLines() if verbose else Silent()
        return
    if not sys.stderr.isatty():
        yield PlainLines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    with RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        yield ProgressBar(bar, what)


class ProgressBar:
    """Progress as a bar on a terminal."""

    def __init__(self, bar: RichProgress, what: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=None, counts="")

    def update(self, counts: Counts, _samples: Sequence[Sample] = ()) -> None:
        """Show what is durable."""
        self._bar.update(self._task, total=counts.planned, completed=counts.done, counts=str(counts))

    def note(self, text: str) -> None:
        """Say it above the bar."""
        self._bar.console.print(text, markup=False)


class PlainLines:
    """Progress as a line now and then, for logs."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said_at = time.monotonic()

    def update(self, counts: Counts, _samples: Sequence[Sample] = ()) -> None:
        """Say what is durable, at most every few seconds and at the end."""
        now = time.monotonic()
        if counts.done < counts.planned and now - self._said_at < _EVERY:
            return
        self._said_at = now
        self.note(f"{self._what}: {counts.done}/{counts.planned} ({counts})")

    def note(self, text: str) -> None:
        """Say it now."""
        click.echo(text, err=True)


class SampleLines:
    """Progress as a line per sample: `[3/50] furn-003 91 %`."""

    def update(self, counts: Counts, samples: Sequence[Sample] = ()) -> None:
        """Print what has become durable, in the order in which it did."""
        first = counts.done - len(samples) + 1
        for n, sample in enumerate(samples, first):
            repeat = f" #{sample.repeat + 1}" if sample.repeat else ""
            name = f"{cell_name(sample.case_id, sample.variant)}{repeat}"
            self.note(f"[{n}/{counts.planned}] {name} {_result(sample)}")

    def note(self, text: str) -> None:
        """Say it now."""
        click.echo(text, err=True)


def _result(sample: Sample) -> str:
    """What came of a sample, on one line; nothing of what the target printed."""
    if not sample.outcome.conclusive:
        failure = sample.call_result.failure
        why = f" ({failure.kind})" if failure is not None else ""
        return f"{sample.outcome.value.replace('_', ' ')}{why}"
    score = "no score" if sample.score is None else f"{100 * sample.score:.0f} %"
    if sample.outcome is Outcome.MALFORMED:
        score += ", malformed"
    return f"{score}, not passed" if sample.passed is False else score


_GROUP = 200
_MANY = 2
_LONGEST_WAIT = 0.005
"""Seconds in which groups gather while answers come thick and fast; a kill costs the answers of that time. Of 0, 5 and
20 ms, 5 took least time for 5,000 calls of 50 ms at concurrency 100: docs/design/0009."""
_FEW = 4
"""So many samples may wait to be committed while the next call is made already."""


@frozen
class Completed:
    """A scored sample with its case, and the cache entry to keep with it."""

    sample: Sample
    case: Case
    cache_entry: tuple[str, dict[str, Any]] | None = None
    journalled: Sequence[str] = ()
    """What the journal holds of it, which is not needed any more."""


@frozen
class _Item:
    """What is to be committed, and who waits for it."""

    content: Completed | Entry
    committed: asyncio.Future[None] | None


class Writer:
    """A background thread in front of the store. `kept` is called, after each commit, with what became durable."""

    def __init__(self, store: Store, run_id: str, retained: Callable[[list[Completed]], None]) -> None:
        self._store = store
        self._run_id = run_id
        self._stored = retained
        self._items: deque[_Item | None] = deque()
        self._signals: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._will_signal = False
        self._thread = threading.Thread(target=self._work, name="steelyard-writer", daemon=True)
        self.failure: Exception | None = None
        self.awaited = 0
        """How many answers and samples somebody waits for to be committed."""
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
        self.awaited += 1
        try:
            self._put(_Item(content, committed))
            await committed
        finally:
            self.awaited -= 1

    def _put(self, item: _Item) -> None:
        self._items.append(item)
        # One signal for all that comes in a turn of the loop: each wake-up of the thread costs time.
        if not self._will_signal:
            self._will_signal = True
            asyncio.get_running_loop().call_soon(self._signal)
        # Asked afterwards: whoever comes too late for the thread's last look at the items sees why it ended.
        if self.failure is not None:
            raise self.failure

    def _signal(self) -> None:
        self._will_signal = False
        self._signals.put(None)

    @property
    def backlog(self) -> int:
        """How many samples wait to be written."""
        return len(self._items)

    def close(self) -> None:
        """Write what is left and end; raises what the store raised."""
        self._items.append(None)
        self._signals.put(None)
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
                while self._items:
                    if (item := self._items.popleft()) is not None:
                        group.append(item)
                _wake(group, error)
                return

    def _next_group(self) -> tuple[list[_Item], bool]:
        """All that waits, at once: while one group is committed, the next one gathers.

        When answers come thick and fast, a moment's patience makes larger groups and saves CPU; a single answer of a
        slow and costly system is committed at once.
        """
        if not self._items:
            self._signals.get()
        if self._busy and self._items and self._items[-1] is not None:
            time.sleep(_LONGEST_WAIT)
        self._busy = len(self._items) > _MANY
        group: list[_Item] = []
        while self._items and len(group) < _GROUP:
            item = self._items.popleft()
            if item is None:
                return group, False
            group.append(item)
        return group, True

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
        self._stored(done)


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
