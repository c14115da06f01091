"""What commands print, and how they end."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import workflow_command
from steelyard.errors import StoreError, UsageError
from steelyard.records import Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.ci_report import Annotation
    from steelyard.decide.baselines import Reference
    from steelyard.engine.engine import Ending
    from steelyard.engine.plan import RunOptions
    from steelyard.report.document import Block, Document
    from steelyard.report.model import Report
    from steelyard.results.shown import ShownResult
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


# The GitHub job that a command runs in: what it shows beside the log, and what of the log it may obey.


class GithubJob:
    """A job, known by its environment; a file that it does not name is not written."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.root = Path(env.get("GITHUB_WORKSPACE") or ".")
        """Of the repository: annotations name files from here."""
        self._env = env

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """Nothing that the system under test prints is a command to the runner."""
        from steelyard.report.render.github import commands_off

        off, on = commands_off()
        workflow_command(off)
        try:
            yield
        finally:
            # On a line of its own, whatever the system under test left unfinished.
            workflow_command(f"\n{on}")

    def annotate(self, annotations: Iterable[Annotation]) -> None:
        """Show annotations beside the lines of files."""
        for annotation in annotations:
            workflow_command(annotation.command)

    def summarise(self, markdown: str) -> None:
        """Add Markdown to the summary of the step."""
        from steelyard.report.render.github import append_summary

        with _message("the step summary"):
            append_summary(markdown, self._env)

    def give(self, outputs: dict[str, str]) -> None:
        """Set outputs of the step."""
        from steelyard.report.render.github import output_lines

        if path := self._env.get("GITHUB_OUTPUT"):
            with _message("the outputs of the step"), Path(path).open("a", encoding="utf-8", errors="replace") as file:
                file.write(output_lines(outputs))


@contextlib.contextmanager
def _message(what: str) -> Iterator[None]:
    """What cannot be written is only reported: the verdict must not depend on it."""
    try:
        yield
    except OSError as error:
        click.echo(f"note: {what} could not be written: {error.strerror or error}", err=True)


# What a person sees: reports on the console, in files, JSON on demand.


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


# The end of every command that scores: the report, what to do next, and the exit code.


def end_with(
    store: Store,
    result: Result,
    *,
    as_json: bool,
    quiet: bool = False,
    ending: Ending | None = None,
    go_on: Sequence[str] | None = None,
    reference: Reference | None = None,
    allow_mismatch: bool = False,
) -> int:
    """Show the run, or its verdict alone when `quiet`, and give the exit code its verdict stands for.

    `go_on` is the command that goes on with a run that was stopped; left out, the one that was given. `reference` is
    the run that it was compared with.
    """
    from steelyard.results.operations import against_blocks, against_data, compare_with

    stopped = None if ending is None else ending.stopped
    header, report = result.header, result.report(store, brief=not as_json)
    comparison = None if reference is None else compare_with(store, header, reference, allow_mismatch=allow_mismatch)
    again = same_command(header.id) if go_on is None else shlex.join(go_on)
    next_step = f"Next: {again}" if stopped is not None else _ask_again(report) if go_on is None else ""
    if as_json:
        from steelyard.report.run import data

        print_json(data(report) | against_data(comparison))
        if next_step and stopped is None and not quiet:
            click.echo(next_step, err=True)
    elif quiet:
        print_verdict(report)
    else:
        against = against_blocks(comparison, reference.label if reference else "")
        print_on_one_screen(report, against, next_step)
    if stopped is not None:
        click.echo(f"Not finished ({stopped}). Resume with:\n  {again}", err=True)
    return INTERRUPTED if ending is not None and ending.interrupted else exit_code(header.verdict)


def _ask_again(report: Report) -> str:
    """The command that asks again for what failed; "" when that helps nothing, or a scorer is to be fixed first."""
    if report.header.rescored_from is not None or report.summary.n_scorer_errors > 0 or not _has_failed(report):
        return ""
    from steelyard.report.run import only_raised  # as `data` above

    if only_raised(report):
        return f"Next: fix the target, then {same_command()}"
    return f"Next: {same_command(report.header.id, '--retry-failed')}"


def _has_failed(report: Report) -> bool:
    return report.header.verdict is Verdict.INVALID and bool(report.summary.overall.counts("failures.<kind>"))


def same_command(run_id: str = "", how: str = "--resume") -> str:
    """The command line as it was given, going on with the run: target and settings must be the same. Without a run,
    the one that starts a new one."""
    words = iter(sys.argv[1:])
    retained = []
    for word in words:
        if word == "--retry-failed":
            next(words, None)
        elif word not in ("--resume", run_id) and not word.startswith(("--resume=", "--retry-failed=")):
            retained.append(word)
    return shlex.join(["steelyard", *retained, *([how, run_id] if run_id else [])])


# Alerts after a run: whatever becomes of them, the run's exit code is its verdict's.
