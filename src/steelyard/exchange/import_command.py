"""The command import: runs from files of Steelyard and of other tools."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import as_json, store_url
from steelyard.cli.output import print_json
from steelyard.errors import UsageError
from steelyard.frozen import values_of

if TYPE_CHECKING:
    from steelyard.store.sql import SqlStore


def _scale(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        low, high = map(float, value.split(":"))
    except ValueError:
        low = high = 0.0
    if not -math.inf < low < high < math.inf:
        raise click.BadParameter(f"{value!r}: write the lowest and the highest score, as 0:100", context, parameter)
    return low, high


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--suite", metavar="SUITE", help="Read a snapshot in the suite's own format, written by another tool.")
@click.option("--name", metavar="NAME", help="Another tool's results: the suite's name. [default: as the file says]")
@click.option(
    "--scale", metavar="LOW:HIGH", callback=_scale, help="Another tool's results: the scale of its scores, as 0:100."
)
@store_url
@as_json
def import_command(
    file: Path,
    suite: str | None,
    name: str | None,
    scale: tuple[float, float] | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Read a snapshot, or results of another tool, into the store.

    Recognised by content: snapshots; inspect logs (.eval, JSON), promptfoo results, lm-eval samples, OpenAI-evals
    records, output items of OpenAI's hosted Evals, CSV or JSONL of question, answer, expected and score. Scores of
    another tool stay its own and are shown as such. Importing the same again changes nothing; another run under the
    same name is refused. With --suite the file is one in that suite's own format: it is scored by the suite, and
    whatever its summary says that its records do not is listed.
    """
    from steelyard.store.sql import open_store

    if not file.is_file():
        raise UsageError(f"there is no snapshot at {file}")
    is_snapshot = suite is not None or _is_snapshot(file)
    if scale is not None and is_snapshot:
        raise UsageError("--scale: a snapshot says its scale; it is for results of another tool")
    if name is not None and is_snapshot:
        raise UsageError("--name: a snapshot has the name of its suite; it is for results of another tool")
    if not is_snapshot:
        _results(file, name or "", scale, store_url, as_json=as_json)
        return
    with open_store(store_url) as store:
        if suite is None:
            _own(store, file, as_json=as_json)
        else:
            _foreign(store, file, suite, as_json=as_json)


def _is_snapshot(file: Path) -> bool:
    from steelyard.store.snapshot_format import FORMAT

    with file.open("rb") as stream:
        return f'"{FORMAT}"'.encode() in stream.read(200)


def _results(file: Path, name: str, scale: tuple[float, float] | None, store_url: str | None, *, as_json: bool) -> None:

    from steelyard.exchange.other_tools import import_results
    from steelyard.exchange.results import recognise
    from steelyard.store.sql import open_store

    results = recognise(file)
    with open_store(store_url) as store:
        runs = import_results(store, results, file, name, scale)
        if as_json:
            imported = [
                {"run": run.header.id, "new": run.is_new, "differences": run.differences, "notes": run.lacking}
                for run in runs
            ]
            print_json({"file": str(file), "scored_by": results.scored_by, "runs": imported})
            return
        for run in runs:
            already = "" if run.is_new else " already"
            click.echo(f"{run.header.id} is{already} in the store")
            for sentence in (*run.lacking, *run.differences):
                click.echo(f"  {sentence}.")
        click.echo(f"Scored by {results.scored_by}, not by Steelyard.")
        click.echo(f"To see it: steelyard report {runs[-1].header.id} --full")
        click.echo(f"To score the same answers anew, without a call: steelyard init FOLDER --from {file}")
        _report_last(store, runs[-1].header.id)


def _own(store: SqlStore, file: Path, *, as_json: bool) -> None:
    from steelyard.report.build import build_report
    from steelyard.report.run import data as report_data
    from steelyard.store.snapshot import read_snapshot

    run_id = read_snapshot(store, file, lambda header: report_data(build_report(store, header)))
    store.keep_columns(run_id)
    if as_json:
        print_json({"run": run_id, "file": str(file), "last": store.run("LAST").id == run_id})
        return
    click.echo(f"{run_id} is in the store: steelyard report {run_id}")
    _report_last(store, run_id)


def _foreign(store: SqlStore, file: Path, suite: str, *, as_json: bool) -> None:
    from steelyard.exchange.imports import import_foreign
    from steelyard.loading.load import load_suite

    result = import_foreign(load_suite(suite), store, file)
    run_id = result.header.id
    if as_json:
        messages = values_of(result, "lacking", "differences", "notes") | values_of(result.header, "suspect")
        last = store.run("LAST").id == run_id
        print_json({"run": run_id, "file": str(file), "new": result.is_new, "last": last, **messages})
        return
    already = "" if result.is_new else " already"
    click.echo(f"{run_id} is{already} in the store: steelyard report {run_id}")
    _report_last(store, run_id)
    for reason in result.header.suspect:
        click.echo(f"Suspect: {reason}.")
    for sentence in result.lacking:
        click.echo(f"Note: {sentence}.")
    if result.differences:
        click.echo(f"Where its own summary differs from its records ({len(result.differences)}):")
        for difference in result.differences:
            click.echo(f"  {difference}")
    if result.notes:
        click.echo("What it states and cannot be recomputed:")
        for note in result.notes:
            click.echo(f"  {note}")


def _report_last(store: SqlStore, run_id: str) -> None:
    """Say so when LAST, the newest run by its date, is not what was just imported."""
    last = store.run("LAST")
    if last.id != run_id:
        click.echo(f"It keeps the date it was made on, so LAST is still {last.id}: call this one by its name.")
