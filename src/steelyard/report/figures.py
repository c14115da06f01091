"""Tables of figures, from names and slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.report import document as doc
from steelyard.report.document import Table
from steelyard.stats.intervals import Estimate
from steelyard.store.selection import Selection


@frozen
class NamedFigure:
    """One row: a label, the name of its figure, and the figure."""

    label: str
    name: str
    figure: Estimate


def figures_table(
    title: str,
    part: Slice,
    names: Mapping[str, str],
    *columns: doc.Written[NamedFigure],
    head: str = "",
    **settings: Any,
) -> Table:
    """A table with a row for each of some figures of a slice, by label.

    `figures_table("Bands", overall, {"Good": "band.good"}, *doc.estimate(figure_of, "Share"))`
    """
    rows = [NamedFigure(label, name, part[name]) for label, name in names.items()]
    first: doc.Written[NamedFigure] = (head, lambda row: row.label)
    samples = Selection.of_slice(part.factor, part.name) if part.factor else Selection()
    return doc.table(title, rows, first, *columns, selection=lambda _: samples, **settings)


def figure_of(row: NamedFigure) -> Estimate:
    """The figure of a row."""
    return row.figure
