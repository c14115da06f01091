"""What commands print, and how they end."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.errors import StoreError, UsageError
from steelyard.records import Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.engine.run_options import RunOptions
    from steelyard.report.document import Block, Document
    from steelyard.report.model import Report
    from steelyard.results.shown import ShownResult
    from steelyard.suite.models import SuiteModel


def print_json(data: Any) -> None:
    """Print plain data as JSON on standard output, what a terminal or a CI log would obey escaped."""
    from steelyard.report.render.json import to_text

    click.echo(to_text(data))


def print_line(text: str, data: Any, *, as_json: bool) -> None:
    """Print what was done, or its data as JSON."""
    if as_json:
        print_json(data)
    else:
        click.echo(text)


def print_document(document: Document) -> None:
    """Print a report on standard output."""
    from steelyard.report.render import terminal

    terminal.print_document(document, console())


def print_estimate(suite: SuiteModel, options: RunOptions, store_url: str | None, *, as_json: bool) -> None:
    """Print what a run would take and cost; earlier runs count where there is a store."""
    from steelyard.report.render.json import encode_object
    from steelyard.runner.estimate import estimate_run
    from steelyard.store.sql import open_store

    with contextlib.ExitStack() as closing:
        store = None
        with contextlib.suppress(StoreError):
            store = closing.enter_context(open_store(store_url, create=False))
        result = estimate_run(suite, store, options)
    show_document(result.document(), encode_object(result), as_json=as_json)


def print_on_one_screen(report: Report, more: Sequence[Block] = (), next_step: str = "") -> None:
    """Print what a person needs at once of a run; `more` stands before the verdict and the next command."""
    from steelyard.report import run
    from steelyard.report.document import bullets
    from steelyard.report.render import terminal
    from steelyard.report.wording import disclosed_texts

    shown, extra, lines = console(), [*more], run.LINES
    if report.decision.verdict is Verdict.INVALID:
        # How it came about takes no room from why it is INVALID.
        lines, extra = run.LINES_INVALID, [*more, bullets(disclosed_texts(report))]
    terminal.print_fitting(run.brief(report, more, next_step), shown, lines + terminal.count_lines(extra, shown))


def print_verdict(report: Report) -> None:
    """Print the verdict in one line, with the reasons of one that is not PASS."""
    from steelyard.report.format import one_line
    from steelyard.report.wording import reasons, verdict_meaning, verdict_word

    unmet = report.decision.verdict not in (None, Verdict.PASS)
    why = "; ".join(reasons(report)) if unmet else ""
    click.echo(one_line(f"{verdict_word(report)}: {verdict_meaning(report)}" + (f": {why}" if why else "")))


def write_document(document: Document, markdown: Path | None = None, html: Path | None = None) -> list[Path]:
    """Write a report in the forms that were asked for; the files that are there then."""
    from steelyard.report.render.json import write_text

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
        report_written(*written)


def show(result: ShownResult[Any], markdown: Path | None = None, html: Path | None = None, *, as_json: bool) -> int:
    """The same of a result, with the exit code that its verdict stands for."""
    show_document(result.document(), result.to_data() if as_json else None, markdown, html, as_json=as_json)
    return result.exit_code


def report_written(*files: Path | None) -> None:
    """Say which files a command wrote besides what it printed; None for those that nobody asked for."""
    for file in files:
        if file is not None:
            click.echo(f"written: {file}")


def console() -> Console:
    """The console for reports: standard output."""
    from rich.console import Console

    return Console()


def confirm(question: str, *, yes: bool) -> None:
    """Go on when somebody at a terminal agrees, or `yes` was given; UsageError where nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise UsageError("confirmation needs a terminal: add --yes")
    if not yes:
        click.confirm(question, abort=True, err=True)
