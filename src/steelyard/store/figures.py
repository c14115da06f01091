"""What a run's summary is in a store: a row of `figures` for each slice and metric, and its lists, in `summaries`.

Both are written in the transaction that ends the run. They can be made of its samples again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple

from steelyard.frozen import frozen
from steelyard.stats.intervals import Estimate, Possible, lower_bound
from steelyard.store.codec import Row
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.packing import pack_text, unpack_text
from steelyard.store.stored_text import from_stored, to_json, to_stored

Names = tuple[str, ...]


@frozen
class SliceKey:
    """One group of samples; without a factor it is the whole run."""

    factor: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        """`category.lamp`, as gates name it; "" for the whole run."""
        return f"{self.factor}.{self.name}" if self.factor else ""


class Kind(NamedTuple):
    """What a name is of: the pattern of its metric, and what fills the angle brackets there."""

    pattern: str
    names: Names = ()


class Figure(NamedTuple):
    """One number of a run by its slice and name."""

    of: SliceKey
    name: str
    kind: Kind
    estimate: Estimate


class StoredSummary(NamedTuple):
    """A run's summary as it is stored."""

    figures: Sequence[Figure]
    lists: str
    """All but the figures, as JSON."""
    basis: str = ""
    """What it was made of besides the samples: labels, and which metrics there were."""


COLUMNS = (
    *("run", "factor", "metric", "slice", "position", "pattern", "names"),
    *("value", "n", "n_missing", "low", "high", "numerator", "denominator", "more"),
)
_READ = ", ".join(COLUMNS[1:])
_PLAIN = ("n", "n_missing", "low", "high", "numerator", "denominator")
_MORE = ("constant", "at_least", "mean_of", "n_cases")
"""What few figures have; as JSON in one column."""
_DEFAULTS = {part.name: part.default for part in fields(Estimate)}


def _row(run: int, position: int, figure: Figure) -> Row:
    estimate, kind = figure.estimate, figure.kind
    more = {name: value for name in _MORE if (value := getattr(estimate, name)) != _DEFAULTS[name]}
    if (possible := estimate.possible) is not None:
        more["possible"] = [possible.low, possible.high, possible.n_missing, possible.n_planned]
    return (
        run,
        to_stored(figure.of.factor),
        to_stored(figure.name),
        to_stored(figure.of.name),
        position,
        kind.pattern,
        to_stored(json.dumps(kind.names, ensure_ascii=False)) if kind.names else "",
        None if estimate.value is None else float(estimate.value),
        *(getattr(estimate, name) for name in _PLAIN),
        to_json(more) if more else None,
    )


def _figure(row: Row) -> Figure:
    factor, metric, name, _, pattern, names, value, *plain, more = row
    rest = {} if more is None else json.loads(more)
    if "possible" in rest:
        rest["possible"] = Possible(*rest["possible"])
    estimate = Estimate(value, **dict(zip(_PLAIN, plain, strict=True)), **rest)
    kind = Kind(pattern, tuple(json.loads(from_stored(names))) if names else ())
    of = SliceKey(from_stored(factor), from_stored(name))
    return Figure(of, from_stored(metric), kind, lower_bound(estimate) if estimate.at_least else estimate)


def forget_summary(session: Session, run: int) -> None:
    """Delete a run's figures and lists."""
    for table in ("figures", "summaries"):
        session.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608 - our own names


def keep_summary(session: Session, run: int, summary: StoredSummary) -> None:
    """Write a run's figures and lists, in the place of those that it had."""
    forget_summary(session, run)
    session.insert("figures", COLUMNS, [_row(run, at, figure) for at, figure in enumerate(summary.figures)])
    text = to_stored(summary.lists)
    packed = pack_text(text)
    row = (run, None if packed is not None else text, packed, summary.basis)
    session.insert("summaries", ("run", "lists", "packed", "basis"), [row])


def read_summary(session: Session, run: int) -> StoredSummary | None:
    """What `keep_summary` wrote; None when there is nothing."""
    found = session.execute("SELECT lists, packed, basis FROM summaries WHERE run = ?", (run,))
    if not found:
        return None
    text, packed, basis = found[0]
    rows = session.execute(f"SELECT {_READ} FROM figures WHERE run = ? ORDER BY position", (run,))  # noqa: S608
    return StoredSummary([_figure(row) for row in rows], from_stored(unpack_text(text, packed) or "{}"), basis)


def read_figures(
    session: Session, runs: Iterable[int], names: Collection[str] | None, factors: Collection[str] | None
) -> Iterator[tuple[int, Figure]]:
    """The figures of several runs, each with its run's number; all names or factors, or some."""
    wanted, given = [], []
    for column, some in (("factor", factors), ("metric", names)):
        if some is not None:
            wanted.append(f"AND {column} IN ({placeholders(list(some))})")
            given += [to_stored(item) for item in some]
    for piece in in_pieces(runs):
        sql = f"SELECT run, {_READ} FROM figures WHERE run IN ({placeholders(piece)}) {' '.join(wanted)}"  # noqa: S608
        for row in session.execute(f"{sql} ORDER BY run, position", (*piece, *given)):
            yield row[0], _figure(row[1:])


def stored_bases(session: Session, runs: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Those of the runs that have a stored summary, each with what that was made of besides the samples."""
    for piece in in_pieces(runs):
        sql = f"SELECT run, basis FROM summaries WHERE run IN ({placeholders(piece)})"  # noqa: S608 - our own names
        yield from session.execute(sql, piece)
