"""The command export: runs to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import FILE, as_json, completed, store_url
from steelyard.cli.output import print_line
from steelyard.errors import UsageError

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
