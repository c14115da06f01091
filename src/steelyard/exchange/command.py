"""The commands import and export: runs from and to files of Steelyard and of other tools."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import FILE, as_json, completed, store_url
from steelyard.cli.output import print_json, print_line
from steelyard.errors import UsageError
from steelyard.frozen import values_of

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.sql import SqlStore


_FORMS = ("csv", "jsonl", "parquet")


@click.command("export")
@click.argument("run", metavar="RUN", shell_complete=completed("runs"))
@click.argument("file", metavar="[FILE]", required=False, type=FILE)
@click.option("--suite", metavar="SUITE", help="Write the suite's own format instead of a Steelyard snapshot.")
@click.option("--csv", metavar="FILE", type=FILE, help="Write a table as CSV, safe to be opened in a spreadsheet.")
@click.option("--jsonl", metavar="FILE", type=FILE, help="Write a table as JSON, one row a line.")
@click.option("--parquet", metavar="FILE", type=FILE, help="Write a table as Parquet.")
@click.option(
    "--table",
    metavar="NAME",
    type=click.Choice(["samples", "findings", "votes", "claims"]),
    help="Which table: samples, findings, votes or claims. [default: samples]",
)
@click.option("--answers", is_flag=True, help="With samples, write the answers too; with votes, the judges' answers.")
@click.option(
    "--otlp", metavar="FILE_OR_URL", help="Write or send its scores as OpenTelemetry events instead (OTLP JSON)."
)
@store_url
@as_json
def export_command(run: str, file: Path | None, suite: str | None, store_url: str | None, **given: Any) -> None:
    """Write a stored run as a snapshot file, or its samples as a table.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release). --otlp takes
    the address of a collector, or a file instead of FILE.
    """
    from steelyard.report.format import counted
    from steelyard.store.sql import open_store

    if any(str(given[name]) == "-" for name in (*_FORMS, "otlp")) or str(file) == "-":
        raise UsageError("-: runs are written to files, not to standard output: name a file")
    if (otlp := given["otlp"]) is not None:
        if any(given[name] for name in (*_FORMS, "table", "answers")) or file is not None or suite is not None:
            raise UsageError("--otlp is instead of all other forms: leave the others out")
        _export_events(run, otlp, store_url, as_json=given["as_json"])
        return
    files = [path for path in (file, *(given[form] for form in _FORMS)) if path is not None]
    if len(files) != 1:
        raise UsageError(
            "name one file: FILE for a snapshot, --csv, --jsonl or --parquet FILE for a table, or --otlp FILE_OR_URL"
        )
    form = next((form for form in _FORMS if given[form]), None)
    if form is None and (given["table"] or given["answers"]):
        raise UsageError(f"--{'table' if given['table'] else 'answers'}: add --csv, --jsonl or --parquet FILE")
    if form is not None and suite is not None:
        raise UsageError(f"--suite and --{form} do not go together: leave one out")
    with open_store(store_url, create=False) as store:
        header = store.run(run)
        message: dict[str, Any] = {"run": header.id, "file": str(files[0])}
        if form is not None:
            from steelyard.tables.files import write_table

            name = given["table"] or "samples"
            n = write_table(store, header, files[0], form, name, answers=given["answers"])
            message |= {"table": name, "rows": n}
        else:
            _write_run(store, header, files[0], suite)
    rows = f": {counted(message['rows'], message['table'].removesuffix('s'))}" if form else ""
    print_line(f"{header.id} written to {files[0]}{rows}", message, as_json=given["as_json"])


def _write_run(store: SqlStore, header: RunHeader, file: Path, suite: str | None) -> None:
    if suite is None:
        from steelyard.store.snapshot import write_snapshot

        write_snapshot(store, header.id, file)
    else:
        from steelyard.exchange.imports import export_foreign
        from steelyard.loading.load import load_suite

        export_foreign(load_suite(suite), store, header, file)


def _export_events(run: str, destination: str, store_url: str | None, *, as_json: bool) -> None:
    """`--otlp`: events of a run to a file or a collector."""

    from steelyard.exchange.otlp import export_events, is_url
    from steelyard.report.format import counted
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        header = store.run(run)
        n = export_events(store, header, destination)
    sent = is_url(destination)
    place = destination.partition("?")[0] if sent else destination  # a query may hold a key
    message = f"{counted(n, 'event')} of {header.id} {'sent' if sent else 'written'} to {place}"
    print_line(message, {"run": header.id, "otlp": place, "events": n}, as_json=as_json)


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
