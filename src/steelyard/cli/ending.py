"""The end of every command that weighs: the report, what to do next, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from steelyard.cli.held_against import against_blocks, against_data, compare_with
from steelyard.cli.show import print_json, print_on_one_screen
from steelyard.records import Verdict

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.report.model import Report
    from steelyard.store.base import Store
    from steelyard.weighing import Result

_INTERRUPTED = 130


def end_with(
    store: Store,
    result: Result,
    *,
    as_json: bool,
    interrupted: bool = False,
    stopped: str | None = None,
    go_on: Sequence[str] | None = None,
    reference: Reference | None = None,
    anyway: bool = False,
) -> int:
    """Show the run and give the exit code its verdict stands for.

    `go_on` is the command that goes on with a run that was stopped; left out, the one that was given. `reference` is
    the run that it was held against.
    """
    from steelyard.report.verdicts import exit_code

    header, report = result.header, result.report(store)
    comparison = None if reference is None else compare_with(store, header, reference, anyway=anyway)
    next_step = _ask_again(report) if stopped is None and go_on is None else ""
    if as_json:
        from steelyard.report.run import data

        print_json(data(report) | against_data(comparison))
        if next_step:
            click.echo(next_step, err=True)
    else:
        against = against_blocks(comparison, reference.label if reference else "")
        print_on_one_screen(report, against, next_step)
    if stopped is not None:
        again = same_command(header.id) if go_on is None else shlex.join(go_on)
        click.echo(f"Not finished ({stopped}). Go on with:\n  {again}", err=True)
    return _INTERRUPTED if interrupted else exit_code(header.verdict)


def _ask_again(report: Report) -> str:
    """The command that asks again for what failed; "" when that would help nothing."""
    if report.header.rescored_from is not None or not _has_failed(report):
        return ""
    again = same_command(report.header.id, "--retry-failed")
    return f"Ask again for the samples that failed, and for no others, with:\n  {again}"


def _has_failed(report: Report) -> bool:
    return report.header.verdict is Verdict.INVALID and bool(report.summary.failures)


def same_command(run_id: str, how: str = "--resume") -> str:
    """The command line as it was given, going on with the run: target and settings must be the same."""
    words = iter(sys.argv[1:])
    kept = []
    for word in words:
        if word == "--retry-failed":
            next(words, None)
        elif word not in ("--resume", run_id) and not word.startswith(("--resume=", "--retry-failed=")):
            kept.append(word)
    return shlex.join(["steelyard", *kept, how, run_id])
