"""Case files that are tables: CSV by rows, Parquet by batches. Dotted headings nest: `expected.name`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from steelyard.errors import MissingExtra, Mistake
from steelyard.suite.paths import split_path
from steelyard.suite.record import Record, Report

_BATCH = 1_000

# The csv module's own limit of 128 KiB a cell is less than one long document.
csv.field_size_limit(1 << 30)


def read_csv(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    """Each row as a record of texts, an empty cell as null; `tags` and `attachments` are lists."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, strict=True)
        try:
            headings = next(rows, None)
            if headings is None:
                return
            if other := _other_separator(headings):
                message = f"the headings are separated by {other}, not by commas: save the file with commas"
                report(Mistake(message, name, 1))
                return
            columns = _columns(headings, name, report)
            if columns is None:
                return
            for row in rows:
                if len(row) > len(columns):
                    message = f"{len(row)} cells under {len(columns)} headings: is a comma missing its quotes?"
                    report(Mistake(message, name, rows.line_num))
                elif row:
                    cells = [_cell(steps, cell) for steps, cell in zip(columns, row, strict=False)]
                    yield Record(_nested(columns, cells), name, rows.line_num)
        except csv.Error as error:
            report(Mistake(f"not readable as CSV: {error}", name, rows.line_num))


def _other_separator(headings: list[str]) -> str | None:
    """What separates the headings when it is not the comma: the mark of a spreadsheet saved another way."""
    if len(headings) != 1:
        return None
    signs = {";": "semicolons", "\t": "tabs", "|": "bars"}
    return next((word for sign, word in signs.items() if sign in headings[0]), None)


def read_parquet(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    """Each row as a record, the file read in batches; MissingExtra when pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "parquet") from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = _columns(file.schema_arrow.names, name, report)
            if columns is None:
                return
            row = 0
            for batch in file.iter_batches(batch_size=_BATCH):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    row += 1
                    yield Record(_nested(columns, [_plain(value) for value in values]), f"{name} row {row}")
    except (pyarrow.ArrowException, OSError) as error:
        report(Mistake(f"not readable as Parquet: {str(error).splitlines()[0]}", name))


def _plain(value: Any) -> Any:
    """A typed value as JSON would have it: dates as their text, decimals as numbers."""
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def _cell(steps: tuple[str, ...], cell: str) -> Any:
    if steps == ("tags",):
        return split_list(cell)
    if steps == ("attachments",):
        return [part.strip() for part in cell.split(";") if part.strip()]
    return cell or None


def split_list(cell: str) -> list[str]:
    """The parts of a cell that holds a list, cut at semicolons or, without any, at commas."""
    return [part.strip() for part in cell.split(";" if ";" in cell else ",") if part.strip()]


def _columns(headings: list[str], name: str, report: Report) -> list[tuple[str, ...]] | None:
    """The steps of each heading, or None (and a report) when they cannot be told apart."""
    columns: list[tuple[str, ...]] = []
    for heading in headings:
        try:
            steps = split_path(heading.strip())
        except ValueError:
            steps = (heading,)
        if not steps:
            report(Mistake("a heading is empty: give every column a name", name, 1))
            return None
        clash = next((other for other in columns if other[: len(steps)] == steps[: len(other)]), None)
        if clash is not None:
            told = "is there twice" if clash == steps else f"and {'.'.join(clash)!r} cannot both be there"
            report(Mistake(f"the heading {heading!r} {told}", name, 1))
            return None
        columns.append(steps)
    return columns


def _nested(columns: list[tuple[str, ...]], cells: list[Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for steps, cell in zip(columns, cells, strict=False):
        inner = record
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = cell
    return record
