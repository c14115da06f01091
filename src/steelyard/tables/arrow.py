"""Tables as Arrow: one array a column, in a type that does not depend on what the run holds.

A column of which a run has no value has its type all the same: texts are `string` or, where they repeat, dictionaries
of it, figures `double`, whole numbers `int64`, truth values `bool`, tags `list<string>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import MissingExtra
from steelyard.tables.columns import Field, Kind, Piece, table_columns

if TYPE_CHECKING:
    import pyarrow

    from steelyard.records import RunHeader
    from steelyard.store.sql import SqlStore


def table_of(store: SqlStore, header: RunHeader, name: str = "samples", *, answers: bool = False) -> pyarrow.Table:
    """A table of a run: `samples`, `findings`, `votes` or `claims`; MissingExtra without pyarrow.

    `answers` adds the answers to `samples`, and what the judges answered to `votes`.
    """
    pa = arrow()

    def read() -> pyarrow.Table:
        fields, pieces = table_columns(store, header, name, answers=answers)
        schema = schema_of(fields)
        table = pa.Table.from_batches((batch_of(schema, fields, piece) for piece in pieces), schema)
        return table.unify_dictionaries()

    return store.one_view(read)


def arrow() -> Any:
    """The module pyarrow; MissingExtra where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("Arrow tables and Parquet files", "parquet") from None
    return pyarrow


def schema_of(fields: list[Field]) -> pyarrow.Schema:
    """The types of the columns."""
    pa = arrow()
    types = {
        "text": pa.string(),
        "code": pa.dictionary(pa.int32(), pa.string()),
        "texts": pa.list_(pa.string()),
        "real": pa.float64(),
        "whole": pa.int64(),
        "flag": pa.bool_(),
    }
    return pa.schema([(field.name, types[field.kind]) for field in fields])


def batch_of(schema: pyarrow.Schema, fields: list[Field], piece: Piece) -> pyarrow.RecordBatch:
    """Some rows."""
    pa = arrow()
    arrays = [
        _array(pa, column.type, field.kind, values) for column, field, values in zip(schema, fields, piece, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)


def _array(pa: Any, of: Any, kind: Kind, values: Any) -> Any:
    if kind == "text":
        return pa.array(values, of)
    if kind in ("code", "texts"):
        codes = pa.array(values.codes.astype(np.int32), mask=values.codes < 0)
        if kind == "texts":
            return pa.array(values.names, of).take(codes)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values.names, pa.string()))
    absent = values < 0 if kind == "flag" else np.isnan(values)
    plain = values > 0 if kind == "flag" else np.where(absent, 0, values)
    return pa.array(plain, mask=absent).cast(of)
