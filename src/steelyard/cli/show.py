"""What a person sees: the console, progress on a terminal, plain lines elsewhere, JSON on demand."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from steelyard.engine.progress import Counts, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress as RichProgress

    from steelyard.report.document import Block, Document
    from steelyard.report.model import Report

_EVERY = 5.0
"""Seconds between two plain lines of progress."""


def print_json(data: Any) -> None:
    """Print plain data as JSON on standard output, what a terminal or a CI log would obey escaped."""
    from steelyard.report.render.json import to_text

    click.echo(to_text(data))


def print_document(document: Document) -> None:
    """Print a report on standard output."""
    from steelyard.report.render import terminal

    terminal.print_document(document, console())


def print_on_one_screen(report: Report, more: Sequence[Block] = (), next_step: str = "") -> None:
    """Print what a person needs at once of a run; `more` stands before the verdict and the next command."""
    from steelyard.records import Verdict
    from steelyard.report import run
    from steelyard.report.render import terminal

    lines = run.LINES_INVALID if report.decision.verdict is Verdict.INVALID else run.LINES
    shown = console()
    terminal.print_fitting(run.brief(report, more, next_step), shown, lines + terminal.count_lines(more, shown))


def write_document(document: Document, markdown: Path | None = None, html: Path | None = None) -> list[Path]:
    """Write a report in the forms that were asked for; the files that are there then."""
    from steelyard.report.write import write_text

    if markdown is not None:
        from steelyard.report.render.markdown import to_markdown

        write_text(markdown, to_markdown(document))
    if html is not None:
        from steelyard.report.render.html import to_html

        write_text(html, to_html(document))
    return [path for path in (markdown, html) if path is not None]


def show_document(
    document: Document, data: Any, markdown: Path | None = None, html: Path | None = None, *, as_json: bool
) -> None:
    """Write a report in the forms that were asked for, and print it, or its data."""
    written = write_document(document, markdown, html)
    if as_json:
        print_json(data)
    else:
        print_document(document)
        tell_written(*written)


def tell_written(*files: Path | None) -> None:
    """Say which files a command wrote besides what it printed; None for those that nobody asked for."""
    for file in files:
        if file is not None:
            click.echo(f"written: {file}")


def console() -> Console:
    """The console for reports: standard output."""
    from rich.console import Console

    return Console()


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
