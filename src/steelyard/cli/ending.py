"""The end of every command that scores: the report, what to do next, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from steelyard.cli.output import print_json, print_on_one_screen, print_verdict
from steelyard.records import Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.report.model import Report
    from steelyard.runner.run import Result
    from steelyard.store.base import Store


def end_with(
    store: Store,
    result: Result,
    *,
    as_json: bool,
    quiet: bool = False,
    go_on: Sequence[str] | None = None,
    reference: Reference | None = None,
    allow_mismatch: bool = False,
) -> int:
    """Show the run, or its verdict alone when `quiet`, and give the exit code its verdict stands for.

    `go_on` is the command that goes on with a run that was stopped; left out, the one that was given. `reference` is
    the run that it was compared with.
    """
    from steelyard.results.comparisons import compare_with
    from steelyard.results.gates import against_blocks, against_data

    stopped, header, report = result.stopped, result.header, result.report(store, brief=not as_json)
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
    return INTERRUPTED if result.interrupted else exit_code(header.verdict)


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
