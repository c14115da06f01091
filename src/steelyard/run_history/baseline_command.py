"""The command baseline: runs that others are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from steelyard.cli.options import as_json, store_url
from steelyard.cli.output import console, print_json, print_line, show_document
from steelyard.report.format import one_line
from steelyard.report.render.json import encode
from steelyard.wording import when

if TYPE_CHECKING:
    from steelyard.store.baseline_log import BaselineEntry


_BY = click.option("--by", metavar="WHO", help="Who locks it. [default: the user of this machine, or of the CI]")


_OF_SUITE = click.option(
    "--suite", metavar="NAME", help="The suite whose baseline it is, where several have that name."
)


@click.group("baseline")
def baseline_command() -> None:
    """Lock runs as baselines that others are compared with."""


@baseline_command.command("set")
@click.argument("run", metavar="RUN")
@click.option("--name", metavar="NAME", required=True, help="What to call it, such as release.")
@click.option("--reason", metavar="TEXT", default="", help="Why this run; stored in the log.")
@click.option("--force", is_flag=True, help="Lock it although it is INVALID, suspect or partial; requires --reason.")
@_BY
@store_url
@as_json
def set_(run: str, name: str, reason: str, force: bool, by: str | None, store_url: str | None, as_json: bool) -> None:
    """Lock RUN under a name; a run that had the name before loses it.

    A run that is not finished, INVALID, AMBIGUOUS, suspect or of a part of its suite is refused without --force and a
    reason.
    """
    from steelyard.cli.user import current_user
    from steelyard.decide.baselines import drift
    from steelyard.run_history.baselines import anchors_kept, entry_data, set_baseline
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        header = store.run(run)
        entry = set_baseline(store, header, name, by=by or current_user(), reason=reason, force=force)
        moved = drift(store, entry)
    if as_json:
        print_json(entry_data(entry) | {"drift": encode(moved)})
    else:
        forced = ", although it is INVALID, suspect or partial" if entry.forced else ""
        click.echo(f"{entry.name} of {entry.suite_name} is now run {entry.run_id}{forced}")
        for item in moved:
            click.echo(f"  {item.sentence}")
        if n := anchors_kept(header):
            click.echo(f"its judge is a model: later runs judge {n:,} of its answers again, of all")
            click.echo("scores, to measure a drift of the judge (limits.anchors, run --no-anchors)")


@baseline_command.command("list")
@click.argument("suite", metavar="[SUITE]", required=False)
@store_url
@as_json
def list_(suite: str | None, store_url: str | None, as_json: bool) -> None:
    """List all baselines, or those of SUITE."""
    from steelyard.decide.baselines import baselines, drift
    from steelyard.run_history.baselines import entry_data
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        result, log = baselines(store, suite), store.baseline_log(suite)
        moved = {(entry.suite_name, entry.name): drift(store, entry, log)[-1:] for entry in result}
    if as_json:
        print_json([entry_data(entry) | {"drift": encode(moved[entry.suite_name, entry.name])} for entry in result])
    elif not result:
        of = f" of {suite}" if suite else ""
        click.echo(f"no baselines{of} yet: steelyard baseline set RUN --name release makes one")
    else:
        _table(result, ("suite", "name", "run", "locked", "by"))
        for (_, name), far in moved.items():
            for item in far:
                click.echo(f"{name}: {item.sentence}")


@baseline_command.command("show")
@click.argument("name", metavar="NAME")
@_OF_SUITE
@store_url
@as_json
def show_baseline(name: str, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Show a baseline's run, and who locked it, when and why.

    With the run's verdict, figures and signature.
    """
    from steelyard.analysis.stored import figures_of
    from steelyard.decide.baselines import drift, find_baseline
    from steelyard.run_history.baselines import entry_data
    from steelyard.run_history.report import SHOWN_OF_BASELINES, baseline_data, baseline_document
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        entry = find_baseline(store, name, suite)
        header, moved = store.run(entry.run_id), drift(store, entry)
        figures = figures_of(store, [header], SHOWN_OF_BASELINES).get(header.id)
    data = entry_data(entry) | baseline_data(header, figures) | {"drift": encode(moved)}
    show_document(baseline_document(entry, header, figures, moved), data, as_json=as_json)


@baseline_command.command("log")
@click.argument("name", metavar="[NAME]", required=False)
@_OF_SUITE
@store_url
@as_json
def log(name: str | None, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Print every lock and removal, all or of NAME, newest first."""
    from steelyard.decide.baselines import drift
    from steelyard.run_history.baselines import entry_data
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        entries = store.baseline_log(suite)
        moved = [[] if entry.removed else drift(store, entry, entries) for entry in entries]
    asked = None if name is None else name.removeprefix("@")
    lines = zip(reversed(entries), reversed(moved), strict=True)
    results = [(entry, far) for entry, far in lines if asked in (None, entry.name)]
    if as_json:
        print_json([entry_data(entry) | {"drift": encode(far)} for entry, far in results])
    elif not results:
        click.echo(f"nothing was ever locked as {asked}" if asked else "nothing was ever locked")
    else:
        for entry, far in results:
            click.echo(_message(entry))
            for item in far:
                click.echo(f"    {item.sentence}")


@baseline_command.command("remove")
@click.argument("name", metavar="NAME")
@click.option("--reason", metavar="TEXT", required=True, help="Why; stored in the log.")
@_OF_SUITE
@_BY
@store_url
@as_json
def remove(name: str, reason: str, suite: str | None, by: str | None, store_url: str | None, as_json: bool) -> None:
    """Take a name away from its run; the run stays, and so does the log."""
    from steelyard.cli.user import current_user
    from steelyard.decide.baselines import find_baseline
    from steelyard.run_history.baselines import entry_data, remove_baseline
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        entry = remove_baseline(store, find_baseline(store, name, suite), by=by or current_user(), reason=reason)
    message = f"{entry.name} of {entry.suite_name} is no baseline any more; it was run {entry.run_id}"
    print_line(message, entry_data(entry), as_json=as_json)


def _message(entry: BaselineEntry) -> str:
    did = "removed" if entry.removed else "FORCED" if entry.forced else "locked"
    reason = f": {one_line(entry.reason)}" if entry.reason else ""
    names = f"{one_line(entry.suite_name)}/{entry.name}"
    return f"{when(entry.made_at)}  {did:<7}  {names} = {entry.run_id}\n    by {one_line(entry.made_by)}{reason}"


def _table(baseline_entries: list[BaselineEntry], titles: tuple[str, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title == "run")
    for entry in baseline_entries:
        forced = " (forced)" if entry.forced else ""
        cells = (entry.suite_name, entry.name + forced, entry.run_id, when(entry.made_at)[:10], entry.made_by)
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console().print(table)
