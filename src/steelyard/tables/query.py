"""SQL over the runs of a store, answered by DuckDB on copies of the tables: nothing that it does can reach the store.

It may read no file, attach no database and load no extension; only the tables that a statement names are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from steelyard.analysis.stored import figures_of
from steelyard.errors import MissingExtra, UsageError
from steelyard.frozen import frozen
from steelyard.store.headers import is_partial
from steelyard.tables.arrow import arrow, table_of
from steelyard.tables.columns import NAMES

if TYPE_CHECKING:
    import pyarrow

    from steelyard.records import RunHeader
    from steelyard.stats.intervals import Estimate
    from steelyard.store.sql import SqlStore

VIEWS = ("runs", *NAMES)
MOST_SAMPLES = 10_000_000
"""Planned samples of the runs of one statement: as many fit into the memory of a usual machine."""
_FETCHED = 1_000
_ALONE = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
"""No files, not even for what does not fit into memory, no network, no extensions, no variables of this process."""


@frozen
class Answer:
    """The columns of a result and its rows, which are read once, some at a time."""

    names: list[str]
    rows: Iterator[tuple[Any, ...]]


def answer_query(
    store: SqlStore,
    sql: str,
    runs: Sequence[RunHeader],
    *,
    answers: bool,
    show: Callable[[Answer], Any],
) -> Any:
    """What `show` makes of the answer to one SELECT over these runs, as `store.listing` has them.

    UsageError with DuckDB's own words for a mistake in it, and for anything that is no SELECT.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("`steelyard sql`", "sql") from None
    with duckdb.connect(":memory:", config=_ALONE) as connection:
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("give one SELECT: the store is only read")
            for name in VIEWS:
                # A name that stands in a text or an alias only costs time.
                if re.search(rf"\b{name}\b", sql, re.IGNORECASE):
                    table = _runs(store, runs) if name == "runs" else _of_all(store, runs, name, answers=answers)
                    connection.register(name, table)
            connection.execute("SET lock_configuration = true")
            reader = connection.sql(sql).to_arrow_reader(_FETCHED)
            return show(Answer(reader.schema.names, _rows(reader)))
        except duckdb.Error as error:
            no_table = f"\nThe tables here: {', '.join(VIEWS)}" if isinstance(error, duckdb.CatalogException) else ""
            raise UsageError(f"SQL: {error}{no_table}") from None


def _rows(reader: pyarrow.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (OSError, arrow().ArrowException) as error:
            # A mistake that shows in a later row only reaches us through Arrow.
            raise UsageError(f"SQL: {str(error).partition('. Detail:')[0]}") from None
        # A literal such as 0.5 makes a column of decimals, which neither JSON nor a table of figures has.
        columns = ([float(cell) if isinstance(cell, Decimal) else cell for cell in item.to_pylist()] for item in batch)
        yield from zip(*columns, strict=True)


def _of_all(store: SqlStore, runs: Sequence[RunHeader], name: str, *, answers: bool) -> pyarrow.Table:
    """A table of all these runs, with the run as its first column; a run has no value in columns that it lacks."""
    pa = arrow()
    planned = sum(run.n_planned for run in runs)
    if planned > MOST_SAMPLES and name != "figures":
        raise UsageError(
            f"{len(runs):,} runs with {planned:,} samples are too many to be asked at once (at most {MOST_SAMPLES:,}): "
            "choose some with --run, --suite or --last"
        )
    tables = []
    for run in runs:
        table = table_of(store, store.run(run.id), name, answers=answers and name in ("samples", "votes"))
        of_run = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(table)), pa.array([run.id]))
        tables.append(table.add_column(0, "run", of_run))
    return pa.concat_tables(tables, promote_options="default")


def _runs(store: SqlStore, runs: Sequence[RunHeader]) -> pyarrow.Table:
    pa = arrow()
    figures = figures_of(store, runs, ("average", "pass_rate"))

    def of_run(run: RunHeader, name: str) -> Estimate | None:
        return figures[run.id].slice()[name] if run.id in figures else None

    # DuckDB knows zones of time only with an extension.
    moment, figure = pa.timestamp("us"), pa.float64()
    columns: dict[str, tuple[Any, Callable[[RunHeader], Any]]] = {
        "run": (pa.string(), lambda run: run.id),
        "suite": (pa.string(), lambda run: run.suite_name),
        "began": (moment, lambda run: _moment(run.created_at)),
        "ended": (moment, lambda run: _moment(run.ended_at)),
        "state": (pa.string(), lambda run: run.state.value),
        "verdict": (pa.string(), lambda run: run.verdict and run.verdict.value),
        "partial": (pa.bool_(), is_partial),
        "planned": (pa.int64(), lambda run: run.n_planned),
        "n": (pa.int64(), lambda run: (item := of_run(run, "average")) and item.n),
        "average": (figure, lambda run: (item := of_run(run, "average")) and item.value),
        "pass_rate": (figure, lambda run: (item := of_run(run, "pass_rate")) and item.value),
        "suspect": (pa.list_(pa.string()), lambda run: list(run.suspect)),
        "scored_by": (pa.string(), lambda run: (run.options.imported and run.options.imported.tool) or None),
        "rescored_from": (pa.string(), lambda run: run.rescored_from),
        "signature": (pa.string(), lambda run: run.signature.text),
        "target": (pa.string(), lambda run: json.dumps(run.target.to_data(), ensure_ascii=False)),
        "version": (pa.string(), lambda run: run.version or None),
    }
    arrays = {name: pa.array([read(run) for run in runs], kind) for name, (kind, read) in columns.items()}
    return pa.table(arrays)


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
