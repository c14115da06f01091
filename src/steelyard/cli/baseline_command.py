"""`steelyard baseline`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.store.logs import BaselineEntry

_BY = click.option("--by", metavar="WHO", help="Who locks it. [default: the user of this machine, or of the CI]")
_OF_SUITE = click.option(
    "--suite", metavar="NAME", help="The suite whose baseline it is, where several have that name."
)


@click.group("baseline")
def command() -> None:
    """Lock runs that others are held against."""


@command.command("set")
@click.argument("run", metavar="RUN")
@click.option("--name", metavar="NAME", required=True, help="What to call it, such as release.")
@click.option("--reason", metavar="TEXT", default="", help="Why this run; the log keeps it.")
@click.option("--force", is_flag=True, help="Lock it although it is no sound reading; asks for --reason.")
@_BY
@store_url
@as_json
def set_(run: str, name: str, reason: str, force: bool, by: str | None, store_url: str | None, as_json: bool) -> None:
    """Lock RUN under a name of its suite, in the place of what had the name before.

    A run that is not finished, INVALID, AMBIGUOUS, suspect or of a part of its suite is refused without --force and a
    reason.
    """
    from steelyard.cli.show import print_json
    from steelyard.decide.baselines import anchors_kept, entry_data, set_baseline, whoever
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        entry = set_baseline(store, header, name, by=by or whoever(), reason=reason, force=force)
    finally:
        store.close()
    if as_json:
        print_json(entry_data(entry))
    else:
        forced = ", although it is no sound reading" if entry.forced else ""
        click.echo(f"{entry.name} of {entry.suite_name} is now run {entry.run_id}{forced}")
        if n := anchors_kept(header):
            click.echo(f"its judge is a model: later runs read {n:,} of its answers again, of all")
            click.echo("scores, to measure a drift of the judge (limits.anchors, run --no-anchors)")


@command.command("list")
@click.argument("suite", metavar="[SUITE]", required=False)
@store_url
@as_json
def list_(suite: str | None, store_url: str | None, as_json: bool) -> None:
    """List the baselines that hold; with SUITE, those of the suite of that name."""
    from steelyard.cli.show import print_json
    from steelyard.decide.baselines import baselines, entry_data
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        found = baselines(store, suite)
    finally:
        store.close()
    if as_json:
        print_json([entry_data(entry) for entry in found])
    elif not found:
        of = f" of {suite}" if suite else ""
        click.echo(f"no baselines{of} yet: steelyard baseline set RUN --name release makes one")
    else:
        _table(found, ("suite", "name", "run", "locked", "by"))


@command.command("show")
@click.argument("name", metavar="NAME")
@_OF_SUITE
@store_url
@as_json
def show(name: str, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Show what a baseline stands for: its run, verdict, figures and signature, who locked it, when and why."""
    from steelyard.cli.show import print_document, print_json
    from steelyard.decide.baselines import entry_data, find_baseline
    from steelyard.report.history import baseline_data, baseline_document
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        entry = find_baseline(store, name, suite)
        header = store.run(entry.run_id)
    finally:
        store.close()
    if as_json:
        print_json(entry_data(entry) | baseline_data(header))
    else:
        print_document(baseline_document(entry, header))


@command.command("log")
@click.argument("name", metavar="[NAME]", required=False)
@_OF_SUITE
@store_url
@as_json
def log(name: str | None, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Print every lock and removal, newest first; with NAME, those of one name."""
    from steelyard.cli.show import print_json
    from steelyard.decide.baselines import entry_data
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        entries = store.baseline_log(suite)
    finally:
        store.close()
    asked = None if name is None else name.removeprefix("@")
    found = [entry for entry in reversed(entries) if asked in (None, entry.name)]
    if as_json:
        print_json([entry_data(entry) for entry in found])
    elif not found:
        click.echo(f"nothing was ever locked as {asked}" if asked else "nothing was ever locked")
    else:
        for entry in found:
            click.echo(_told(entry))


@command.command("remove")
@click.argument("name", metavar="NAME")
@click.option("--reason", metavar="TEXT", required=True, help="Why; the log keeps it.")
@_OF_SUITE
@_BY
@store_url
@as_json
def remove(name: str, reason: str, suite: str | None, by: str | None, store_url: str | None, as_json: bool) -> None:
    """Take a name away from its run; the run stays, and so does the log."""
    from steelyard.cli.show import print_json
    from steelyard.decide.baselines import entry_data, find_baseline, remove_baseline, whoever
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        entry = remove_baseline(store, find_baseline(store, name, suite), by=by or whoever(), reason=reason)
    finally:
        store.close()
    if as_json:
        print_json(entry_data(entry))
    else:
        click.echo(f"{entry.name} of {entry.suite_name} is no baseline any more; it was run {entry.run_id}")


def _when(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _told(entry: BaselineEntry) -> str:
    from steelyard.report.format import one_line

    did = "removed" if entry.removed else "FORCED" if entry.forced else "locked"
    reason = f": {one_line(entry.reason)}" if entry.reason else ""
    names = f"{one_line(entry.suite_name)}/{entry.name}"
    return f"{_when(entry.made_at)}  {did:<7}  {names} = {entry.run_id}\n    by {one_line(entry.made_by)}{reason}"


def _table(found: list[BaselineEntry], titles: tuple[str, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    from steelyard.cli.show import console
    from steelyard.report.format import one_line

    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title == "run")
    for entry in found:
        forced = " (forced)" if entry.forced else ""
        cells = (entry.suite_name, entry.name + forced, entry.run_id, _when(entry.made_at)[:10], entry.made_by)
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console().print(table)
