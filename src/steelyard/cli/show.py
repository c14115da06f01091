"""What a person sees: reports on the console, in files, JSON on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from steelyard.report.document import Block, Document
    from steelyard.report.model import Report


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
