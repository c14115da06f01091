"""What a person sees: the console, progress on a terminal, plain lines elsewhere, JSON on demand."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from steelyard.engine.progress import Counts, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress as RichProgress

_EVERY = 5.0
"""Seconds between two plain lines of progress."""


def print_json(data: Any) -> None:
    """Print plain data as JSON on standard output, what a terminal or a CI log would obey escaped."""
    from steelyard.report.github_log import harmless_json
    from steelyard.report.safe_text import escaped_json

    with _reader_may_leave():
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        click.echo(harmless_json(escaped_json(text)))


def tell_written(*files: Path | None) -> None:
    """Say which files a command wrote besides what it printed; None for those that nobody asked for."""
    for file in files:
        if file is not None:
            click.echo(f"written: {file}")


def console() -> Console:
    """The console for reports: standard output."""
    from rich.console import Console

    class Patient(Console):
        """Goes silent when the reader (head, less) leaves: the exit code must still be the verdict's."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            _to_nowhere()

    return Patient()


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _to_nowhere()


def _to_nowhere() -> None:
    """Let everything that is still written to standard output vanish, at exit too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress_of(what: str, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, plain lines otherwise, on standard error so that reports stay clean."""
    if quiet:
        from steelyard.engine.progress import Silent

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


def _words(counts: Counts) -> str:
    return f"{counts.scored} scored, {counts.malformed} malformed, {counts.failed} failed"


class Bar:
    """Progress as a bar on a terminal."""

    def __init__(self, bar: RichProgress, what: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=None, counts="")

    def update(self, counts: Counts) -> None:
        """Show what is durable."""
        self._bar.update(self._task, total=counts.planned, completed=counts.done, counts=_words(counts))

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
        self.note(f"{self._what}: {counts.done}/{counts.planned} ({_words(counts)})")

    def note(self, text: str) -> None:
        """Say it now."""
        click.echo(text, err=True)
