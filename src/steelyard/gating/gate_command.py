"""The command gate."""

from __future__ import annotations

import sys
from typing import Any

import click

from steelyard.cli.options import against, allow_mismatch, as_json, run_name, store_url
from steelyard.cli.output import show


@click.command("gate")
@run_name
@click.option(
    "--gate",
    "gates",
    metavar="GATE",
    multiple=True,
    help="Check this gate instead of the suite's, such as 'pass_rate >= 90 %'. May be given more than once.",
)
@click.option("--without-contested", is_flag=True, help="Leave out cases whose truth experts contest; it says which.")
@against
@allow_mismatch
@store_url
@as_json
def gate_command(
    run: str,
    gates: tuple[str, ...],
    without_contested: bool,
    against: str | None,
    allow_mismatch: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Check a run's gates; the exit code is the verdict.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, a baseline (@release), or a snapshot file
    (.json). Gates on a baseline are compared with what it stands for now.
    """
    from steelyard.gating.operations import gate

    options: dict[str, Any] = {"allow_mismatch": allow_mismatch, "without_contested": without_contested}
    sys.exit(show(gate(run, gates=gates, against=against, store=store_url, **options), as_json=as_json))
