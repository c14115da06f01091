"""What a run tells while it goes on: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import click

from steelyard.records import Outcome

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_EVERY = 5.0
"""Seconds between two plain lines of progress."""


@dataclass(slots=True)
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
    """Told from the writer's thread, after each commit."""

    def update(self, counts: Counts) -> None: ...

    def note(self, text: str) -> None:
        """Something a person should know now: throttled, stopping, resuming."""
        ...


class Silent:
    """Shows nothing."""

    def update(self, counts: Counts) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


@contextmanager
def progress_of(what: str, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, plain lines otherwise, on standard error so that reports stay clean."""
    if quiet:
        yield Silent()
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
        yield Bar(bar, what)


class Bar:
    """Progress as a bar on a terminal."""

    def __init__(self, bar: RichProgress, what: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=None, counts="")

    def update(self, counts: Counts) -> None:
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

    def update(self, counts: Counts) -> None:
        """Say what is durable, at most every few seconds and at the end."""
        now = time.monotonic()
        if counts.done < counts.planned and now - self._said_at < _EVERY:
            return
        self._said_at = now
        self.note(f"{self._what}: {counts.done}/{counts.planned} ({counts})")

    def note(self, text: str) -> None:
        """Say it now."""
        click.echo(text, err=True)
