"""`steelyard import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.store.sql import SqlStore


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--suite", metavar="SUITE", help="Read a snapshot in the suite's own format, written by another tool.")
@store_url
@as_json
def command(file: Path, suite: str | None, store_url: str | None, as_json: bool) -> None:
    """Read a snapshot file into the store.

    Importing the same snapshot again changes nothing; another run under the same name is refused. With --suite the file
    is one in that suite's own format: it is weighed by the suite, and whatever its summary says that its records do not
    is listed.
    """
    from steelyard.errors import UserMistake
    from steelyard.store.open import open_store

    if not file.is_file():
        raise UserMistake(f"there is no snapshot at {file}")
    store = open_store(store_url)
    try:
        if suite is None:
            _own(store, file, as_json=as_json)
        else:
            _foreign(store, file, suite, as_json=as_json)
    finally:
        store.close()


def _own(store: SqlStore, file: Path, *, as_json: bool) -> None:
    from steelyard.cli.show import print_json
    from steelyard.errors import SnapshotError
    from steelyard.report.build import build_report
    from steelyard.report.run import data as report_data
    from steelyard.store.snapshot import read_snapshot

    try:
        run_id = read_snapshot(store, file, lambda header: report_data(build_report(store, header)))
    except SnapshotError as error:
        if "is not a Steelyard snapshot" not in str(error):
            raise
        raise SnapshotError(f"{error}. If another tool wrote it, name the suite that reads it: --suite SUITE") from None
    store.keep_columns(run_id)
    if as_json:
        print_json({"run": run_id, "file": str(file), "last": store.run("LAST").id == run_id})
        return
    click.echo(f"{run_id} is in the store: steelyard report {run_id}")
    _tell_last(store, run_id)


def _foreign(store: SqlStore, file: Path, suite: str, *, as_json: bool) -> None:
    from steelyard.cli.show import print_json
    from steelyard.foreign import import_foreign
    from steelyard.suite.load import load_suite

    found = import_foreign(load_suite(suite), store, file)
    run_id = found.header.id
    if as_json:
        told = {"lacking": list(found.lacking), "differences": list(found.differences), "notes": list(found.notes)}
        told |= {"suspect": list(found.header.suspect)}
        last = store.run("LAST").id == run_id
        print_json({"run": run_id, "file": str(file), "new": found.is_new, "last": last, **told})
        return
    already = "" if found.is_new else " already"
    click.echo(f"{run_id} is{already} in the store: steelyard report {run_id}")
    _tell_last(store, run_id)
    for reason in found.header.suspect:
        click.echo(f"Suspect: {reason}.")
    for sentence in found.lacking:
        click.echo(f"Note: {sentence}.")
    if found.differences:
        click.echo(f"Where its own summary does not fit its records ({len(found.differences)}):")
        for difference in found.differences:
            click.echo(f"  {difference}")
    if found.notes:
        click.echo("What it says and cannot be computed again:")
        for note in found.notes:
            click.echo(f"  {note}")


def _tell_last(store: SqlStore, run_id: str) -> None:
    """Say so when LAST, the newest run by its date, is not what was just imported."""
    last = store.run("LAST")
    if last.id != run_id:
        click.echo(f"It keeps the date it was made on, so LAST is still {last.id}: call this one by its name.")
