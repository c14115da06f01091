"""The end of every command that weighs: the report, what to do next, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from steelyard.cli.held_against import against_data, compare_with, print_against
from steelyard.cli.show import console, print_json

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.release.baseline_gates import Reference
    from steelyard.store.base import Store

_INTERRUPTED = 130


def end_with(
    store: Store,
    header: RunHeader,
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
    from steelyard.release.verdict import exit_code
    from steelyard.report.build import build_report

    report = build_report(store, header)
    comparison = None if reference is None else compare_with(store, header, reference, anyway=anyway)
    if as_json:
        from steelyard.report.json import to_json

        print_json(to_json(report) | against_data(comparison))
    else:
        from steelyard.report.terminal import print_report

        print_report(report, console())
        print_against(comparison, reference)
    if stopped is not None:
        again = same_command(header.id) if go_on is None else shlex.join(go_on)
        click.echo(f"Not finished ({stopped}). Go on with:\n  {again}", err=True)
    return _INTERRUPTED if interrupted else exit_code(header.verdict)


def same_command(run_id: str) -> str:
    """The command line as it was given, going on with the run: target and settings must be the same."""
    kept = [word for word in sys.argv[1:] if word not in ("--resume", run_id) and not word.startswith("--resume=")]
    return shlex.join(["steelyard", *kept, "--resume", run_id])
