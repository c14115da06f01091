"""`steelyard sql`: questions to the store in SQL."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import FILE, as_json, store_url
from steelyard.cli.output import console, print_line
from steelyard.errors import UsageError
from steelyard.report.format import counted, one_line

if TYPE_CHECKING:
    from steelyard.tables.query import Answer

_SHOWN = 50
_WIDEST = 40
"""Rows, and characters of a cell, that the terminal shows."""


@click.command("sql")
@click.argument("query", metavar="QUERY")
@click.option("--run", "names", metavar="RUN", multiple=True, help="Read this run only; may be repeated.")
@click.option("--suite", metavar="SUITE", help="Read the runs of the suite of this name only.")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Read the newest N runs only. [default: all]")
@click.option("--answers", is_flag=True, help="Give samples the column answer, and votes the column response.")
@click.option("--csv", "file", metavar="FILE", type=FILE, help="Write the result as CSV.")
@store_url
@as_json
def sql_command(query: str, names: tuple[str, ...], file: Path | None, store_url: str | None, **given: Any) -> None:
    """Ask the store in SQL; it is only read.

    QUERY is one SELECT over the views runs, samples, findings, votes, claims and figures of all runs, by DuckDB.
    """
    from steelyard.store.sql import open_store
    from steelyard.tables.query import answer_query

    if names and (given["suite"] or given["last"]):
        raise UsageError(f"--run and --{'suite' if given['suite'] else 'last'} do not go together: leave one out")

    def show(answer: Answer) -> None:
        if file is not None:
            _write(answer, file, as_json=given["as_json"])
        else:
            (_print_json if given["as_json"] else _print)(answer)

    with open_store(store_url, create=False) as store:
        runs = [store.run(name) for name in dict.fromkeys(names)] or store.listing.page(
            suite=given["suite"] or "", limit=given["last"] or 1_000_000
        )
        if not runs:
            raise UsageError(f"there is no run of a suite {given['suite']} here" if given["suite"] else "no runs yet")
        answer_query(store, query, runs, answers=given["answers"], show=show)


def _write(answer: Answer, file: Path, *, as_json: bool) -> None:
    from steelyard.store.snapshot import whole_file
    from steelyard.tables.files import csv_cell, write_csv

    with whole_file(file) as opened:
        n = write_csv(opened, answer.names, (map(csv_cell, row) for row in answer.rows))
    print_line(f"{n:,} rows written to {file}", {"file": str(file), "rows": n}, as_json=as_json)


def _print_json(answer: Answer) -> None:
    """A list of objects, printed as they come."""
    from steelyard.report.render.json import to_text

    if twice := [name for at, name in enumerate(answer.names) if name in answer.names[:at]]:
        raise UsageError(f"two columns are called {twice[0]}: name them apart with AS")
    before = "["
    for row in answer.rows:
        click.echo(f"{before}\n{to_text(dict(zip(answer.names, row, strict=True)))}", nl=False)
        before = ","
    click.echo("[]" if before == "[" else "\n]")


def _print(answer: Answer) -> None:
    """The first rows: as a table where it fits into the width, else one row below the other."""
    from rich.table import Table
    from rich.text import Text

    screen, names = console(), [one_line(name, _WIDEST) for name in answer.names]
    first = list(islice(answer.rows, _SHOWN))
    rows = [[_cell(value) for value in row] for row in first]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) - 2 <= screen.width:
        table = Table(box=None, pad_edge=False)
        for at, name in enumerate(names):
            figures = all(isinstance(row[at], int | float) or row[at] is None for row in first)
            table.add_column(Text(name), justify="right" if figures else "left", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row))
        screen.print(table)
    else:
        for row in rows:
            table = Table(box=None, pad_edge=False, show_header=False)
            for name, cell in zip(names, row, strict=True):
                table.add_row(Text(name), Text(cell))
            screen.print(table, "")
    if next(answer.rows, None) is not None:
        click.echo(f"the first {len(rows)} rows: --csv FILE writes all")
    else:
        click.echo(counted(len(rows), "row"))


def _cell(value: Any) -> str:
    from steelyard.tables.files import to_text

    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line(value if isinstance(value, str) else to_text(value).strip('"'), _WIDEST)
