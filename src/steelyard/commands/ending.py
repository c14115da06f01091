"""The end of every command that scores: the report, what to do next, and the exit code."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.output import print_json, print_on_one_screen, print_verdict
from steelyard.cli.resume import same_command
from steelyard.records import Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.report.document import Block
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
    stopped, header, report = result.stopped, result.header, result.report(store, brief=not as_json)
    against: list[Block] = []
    more: dict[str, Any] = {}
    if reference is not None:
        from steelyard.comparing.operations import against_blocks, against_data, compare_with

        comparison = compare_with(store, header, reference, allow_mismatch=allow_mismatch)
        against, more = against_blocks(comparison, reference.label), against_data(comparison)
    again = same_command(header.id) if go_on is None else shlex.join(go_on)
    next_step = f"Next: {again}" if stopped is not None else _ask_again(report) if go_on is None else ""
    if as_json:
        from steelyard.report.run import data

        print_json(data(report) | more)
        if next_step and stopped is None and not quiet:
            click.echo(next_step, err=True)
    elif quiet:
        print_verdict(report)
    else:
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
