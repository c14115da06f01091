"""Tables as data frames of pandas and polars."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import MissingExtra
from steelyard.tables.arrow import table_of
from steelyard.tables.columns import Kind, table_columns

if TYPE_CHECKING:
    import pandas
    import polars

    from steelyard.records import RunHeader
    from steelyard.store.sql import SqlStore


def to_pandas(store: SqlStore, header: RunHeader, name: str = "samples", *, answers: bool = False) -> pandas.DataFrame:
    """A table of a run as `table_of` gives it; MissingExtra without pandas, pyarrow is not needed.

    Figures are float64 with NaN for none, whole numbers Int64, truth values boolean, texts that repeat categories, and
    tags tuples.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("a pandas DataFrame", "pandas") from None

    def read() -> pandas.DataFrame:
        fields, pieces = table_columns(store, header, name, answers=answers)
        columns: list[list[Any]] = [[] for _ in fields]
        for piece in pieces:
            for column, values in zip(columns, piece, strict=True):
                column.append(values)
        # Taken one by one, so that no more than one column is held twice.
        named = {field.name: _series(pd, field.kind, columns.pop(0)) for field in fields}
        return pd.DataFrame(named, copy=False)

    return store.one_view(read)


def _series(pd: Any, kind: Kind, pieces: list[Any]) -> Any:
    if kind == "text":
        return pd.array(list(chain.from_iterable(pieces)), dtype="string")
    if kind in ("code", "texts"):
        codes = np.concatenate([np.empty(0, np.int8), *(piece.codes for piece in pieces)])
        # The pieces share their names, of which the last knows all.
        names = pieces[-1].names if pieces else []
        if kind == "code":
            return pd.Categorical.from_codes(codes, categories=pd.Index(names, dtype="str"))
        shared = np.empty(len(names), dtype=object)
        shared[:] = names
        return shared[codes]
    values = np.concatenate([np.empty(0, np.int8 if kind == "flag" else np.float64), *pieces])
    if kind == "flag":
        return pd.arrays.BooleanArray(values > 0, values < 0)
    if kind == "whole":
        absent = np.isnan(values)
        return pd.arrays.IntegerArray(np.where(absent, 0, values).astype(np.int64), absent)
    return values


def to_polars(store: SqlStore, header: RunHeader, name: str = "samples", *, answers: bool = False) -> polars.DataFrame:
    """A table of a run as `table_of` gives it; MissingExtra without polars, which needs pyarrow here."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtra("a polars DataFrame", "polars") from None
    return pl.DataFrame(table_of(store, header, name, answers=answers))
