"""What is said of an attempt that was stopped."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from steelyard.report.verdicts import INTERRUPTED

if TYPE_CHECKING:
    from steelyard.experiments.runs import Attempt


def say_how_to_go_on(attempt: Attempt, words: list[str]) -> None:
    """Say how to resume what was stopped; end here when it was interrupted."""
    if attempt.stopped is None:
        return
    again = shlex.join(["steelyard", *words])
    click.echo(f"Not finished ({attempt.stopped}). Resume with:\n  {again}", err=True)
    if attempt.interrupted:
        sys.exit(INTERRUPTED)
