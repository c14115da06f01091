"""The command store: copies a store into another."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from steelyard.cli.options import as_json
from steelyard.cli.output import print_json
from steelyard.records import RunState


@click.group("store")
def store_command() -> None:
    """Copy a store into another, SQLite or PostgreSQL."""


@store_command.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@as_json
def copy(source: str, target: str, as_json: bool) -> None:
    """Copy all that is in the store FROM into the store TO.

    FROM and TO are files or URLs, as --store takes them. Each run is copied whole and compared, or not at all; what is
    in TO already is never changed. Ends with 2 when something was left out.
    """

    from steelyard.engine.owner import state_of
    from steelyard.store.copy import copy_store
    from steelyard.store.sql import open_store

    with open_store(source, create=False) as reads, open_store(target) as writes:
        going_on = [run.id for run in reads.runs() if state_of(run) == RunState.RUNNING]
        copied = copy_store(reads, writes, going_on, lambda text: click.echo(text, err=True))
    if as_json:
        print_json(asdict(copied))
    else:
        click.echo(
            f"{len(copied.runs):,} runs copied with {copied.samples:,} samples, {len(copied.there):,} were there;"
            f" {copied.rest:,} baselines, alerts, labels and queues are the same in both"
        )
        for problem in copied.left:
            click.echo(f"NOT COPIED: {problem}")
    sys.exit(2 if copied.left else 0)
