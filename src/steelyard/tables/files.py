"""Tables as files: CSV and JSON lines without any library, Parquet with pyarrow; each appears whole or not at all."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from steelyard.store.snapshot import whole_file
from steelyard.suite.files import formula_safe
from steelyard.tables.arrow import arrow, batch_of, schema_of
from steelyard.tables.columns import Coded, Field, Pieces, cells, table_columns

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.sql import SqlStore

_ROW_GROUP = 100_000


def write_table(
    store: SqlStore, header: RunHeader, path: Path, form: str, name: str = "samples", *, answers: bool = False
) -> int:
    """Write a table of a run as `csv`, `jsonl` or `parquet`, a piece at a time; how many rows."""
    if form == "parquet":
        arrow()

    def write() -> int:
        fields, pieces = table_columns(store, header, name, answers=answers)
        with whole_file(path) as file:
            return _WRITERS[form](file, fields, pieces)

    return store.one_view(write)


def write_csv(file: TextIO, names: Sequence[str], rows: Iterable[Iterable[Any]]) -> int:
    """Rows of cells under their names; how many."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(formula_safe, names))
    n = 0
    for row in rows:
        writer.writerow(row)
        n += 1
    return n


def csv_cell(value: Any) -> Any:
    """A value that is safe to be opened in a spreadsheet: none is an empty cell, a list is JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return to_text(value) if isinstance(value, list | tuple | dict) else formula_safe(value)


to_text = json.JSONEncoder(ensure_ascii=False, default=str).encode
"""A value as JSON on one line; what JSON has no word for, such as a time, as its text."""


def _rows(fields: list[Field], pieces: Pieces) -> Iterator[tuple[Any, ...]]:
    for piece in pieces:
        yield from zip(*(cells(field.kind, values) for field, values in zip(fields, piece, strict=True)), strict=True)


def _csv(file: TextIO, fields: list[Field], pieces: Pieces) -> int:
    safe = ([_safe(field, values) for field, values in zip(fields, piece, strict=True)] for piece in pieces)
    return write_csv(file, [field.name for field in fields], _rows(fields, safe))


def _safe(field: Field, values: Any) -> Any:
    """Each text that repeats is looked at once, numbers are not."""
    if isinstance(values, Coded):
        return Coded(values.codes, list(map(csv_cell, values.names)))
    if field.kind == "flag":
        return Coded(values, ["false", "true"])
    return list(map(formula_safe, values)) if field.kind == "text" else values


def _jsonl(file: TextIO, fields: list[Field], pieces: Pieces) -> int:
    names, n = [field.name for field in fields], 0
    for row in _rows(fields, pieces):
        file.write(to_text(dict(zip(names, row, strict=True))) + "\n")
        n += 1
    return n


def _parquet(file: TextIO, fields: list[Field], pieces: Pieces) -> int:
    from pyarrow import Table
    from pyarrow.parquet import ParquetWriter

    schema, n, waiting = schema_of(fields), 0, []
    with ParquetWriter(file.buffer, schema) as writer:
        for piece in pieces:
            waiting.append(batch_of(schema, fields, piece))
            if sum(map(len, waiting)) >= _ROW_GROUP:
                writer.write_table(Table.from_batches(waiting, schema))
                n += sum(map(len, waiting))
                waiting.clear()
        writer.write_table(Table.from_batches(waiting, schema))
    return n + sum(map(len, waiting))


_WRITERS: dict[str, Callable[[TextIO, list[Field], Pieces], int]] = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}
