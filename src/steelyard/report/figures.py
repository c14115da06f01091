"""Tables of figures, from names and slices.

    figures_table("Score distribution", suite, overall, "band.<band>", *estimate("Share"))
    figures_table("By category", suite, figures.slices("category"), "", *estimate("Average", "average"))

The first has a row for each band, the second one for each category. Units and scales come from the registry and the
suite; the samples that a row links to, from its slice and name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import POINTS, find, metric
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import Cell, Column, Gauge, Table, Written
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Kind
from steelyard.store.selection import Selection
from steelyard.suite.models import SuiteModel

_WHOLE = (0.0, 1.0)
_INTERVAL = "95 % interval"
_SELECTED_BY = {
    "<band>": "band",
    "<component>": "component",
    "<code>": "code",
    "<check>": "check",
    "<section>": "section",
}
"""What fills an angle bracket of a metric's name, and the field of a selection of the samples that have it."""
_OUTCOMES = {"malformed_rate": "malformed", "scored_rate": "scored", "inconclusive_rate": "inconclusive"}

Of = str | Kind
"""Which figure of a row: that of a metric by name or pattern, or of a pattern with what fills it."""


@frozen
class Row:
    """What the figures of a row are of: a slice, a metric, and what fills the angle brackets of metrics' names."""

    suite: SuiteModel
    part: Slice
    label: str
    own: Kind
    """What the row's own figure is of; the pattern "" for a row that is a slice."""

    def __getitem__(self, of: Of) -> Estimate:
        """The figure of a metric, whose angle brackets are filled as those of the row are; "" is the row's own."""
        return self.part[self.name(of)]

    def count(self, of: Of = "") -> str:
        """A figure that is a count: `1,234`, 0 where the slice does not have it."""
        return f"{self.part.count(self.name(of)):,}"

    def kind(self, of: Of = "") -> Kind:
        """The pattern of a figure and what fills it."""
        return self.own._replace(pattern=of or self.own.pattern) if isinstance(of, str) else of

    def name(self, of: Of = "") -> str:
        """The name of a figure: `score.tone.points` for `score.<component>.points`."""
        pattern, names = self.kind(of)
        return self.part.name_of(pattern, *names)

    def unit(self, of: Of = "") -> str:
        """The unit of a figure, as the registry or the suite declares it."""
        pattern, _ = self.kind(of)
        declared = (item["unit"] for item in self.suite.metrics if item["name"] == pattern)
        if (own := next(declared, None)) is not None:
            return str(own)
        return "share" if pattern == POINTS and self.scale(of) == _WHOLE else metric(pattern).unit

    def scale(self, of: Of = "") -> tuple[float, float]:
        """The lowest and the highest value: those of the component where the figure is in its points."""
        pattern, names = self.kind(of)
        components = self.suite.components if pattern == POINTS else ()
        return next((item.scale for item in components if item.name == names[0]), _WHOLE)


def figures_table(
    title: str,
    suite: SuiteModel,
    slices: Slice | Sequence[Slice],
    names: str | Mapping[str, str | Kind],
    *columns: Written[Row],
    head: str | Column = "",
    each: Iterable[str] | None = None,
    label: Callable[[Row], str] = lambda row: row.label,
    selection: Callable[[Row], Selection | None] = lambda row: samples_of(row),
    **settings: Any,
) -> Table:
    """A table with a row for each name in each slice; `head` is the heading above what they are called.

    `names` are a pattern (`band.<band>`: all that fills it in the first slice, or what `each` lists), names by label,
    or "", where each row is a slice. A column shows the row's own figure or, given a pattern, that of another metric.
    """
    parts = [slices] if isinstance(slices, Slice) else slices
    rows = [
        Row(suite, part, _label(part, called), kind) for called, kind in _named(parts, names, each) for part in parts
    ]
    return doc.table(title, rows, (head, label), *columns, selection=selection, **settings)


def _label(part: Slice, called: str) -> str:
    return ".".join(filter(None, (part.key.text, called))) if called else part.name


def _named(
    parts: Sequence[Slice], names: str | Mapping[str, str | Kind], each: Iterable[str] | None
) -> Iterator[tuple[str, Kind]]:
    """The label of each row, and the pattern of its own figure with what fills it."""
    if not isinstance(names, str):
        yield from ((called, kind_of(name, parts) if isinstance(name, str) else name) for called, name in names.items())
    elif not names:
        yield "", Kind("")
    elif each is not None:
        yield from ((called, Kind(names, (called,))) for called in each)
    else:
        yield from ((".".join(fills), Kind(names, fills)) for part in parts[:1] for fills in part.each_name(names))


def kind_of(name: str, parts: Iterable[Slice]) -> Kind:
    """The pattern of a name and what fills it, also where no slice has such a figure."""
    if (kind := next((part.kind(name) for part in parts if name in part), None)) is not None:
        return kind
    named = find(name.split("."), gates_only=False)
    return Kind(name) if named is None else Kind(named[0].name, tuple(named[1].values()))


def samples_of(row: Row) -> Selection | None:
    """The samples that a row's figures come from."""
    return selection_of(row.part.factor, row.part.name, row.own)


def selection_of(factor: str, name: str, kind: Kind) -> Selection | None:
    """The samples of a slice, or of the whole run, that a metric is about: those with the band, code or outcome that it
    names. None for a level of one of several factors of variants, which nothing selects."""
    if factor.startswith("variant."):
        return None
    blanks = (part for part in kind.pattern.split(".") if part.startswith("<"))
    filled_by = zip(blanks, kind.names, strict=False)
    asked: dict[str, Any] = {_SELECTED_BY[blank]: fill for blank, fill in filled_by if blank in _SELECTED_BY}
    asked |= {"outcome": _OUTCOMES[kind.pattern]} if kind.pattern in _OUTCOMES else {}
    return Selection.of_slice(factor, name, **asked) if factor else Selection(**asked)


def value(title: str | Column = "Value", of: Of = "") -> Written[Row]:
    """The column of a figure in its unit, of a component's points with their scale: `3.82 of 1..5`."""
    return title, lambda row: _value(row, of)


def interval(of: Of = "") -> Written[Row]:
    """The column of a figure's interval."""
    return _INTERVAL, lambda row: fmt.interval(row[of], row.unit(of))


def base(of: Of = "", kind: doc.Kind = doc.Kind.FIGURE) -> Written[Row]:
    """The column of what a figure is based on, and of what is missing."""
    return Column("n", kind), lambda row: fmt.bare_base(row[of])


def estimate(title: str = "Value", of: Of = "") -> list[Written[Row]]:
    """The columns of a figure with its interval and what it is based on."""
    return [value(title, of), interval(of), base(of)]


def points(title: str, of: Of = "") -> list[Written[Row]]:
    """The same of points whose scale another column states."""
    bare: list[Written[Row]] = [(title, lambda row: fmt.plain(row[of].value))]
    return [*bare, (_INTERVAL, lambda row: fmt.interval(row[of], "points")), base(of)]


def stacked(title: str, of: Of = "") -> Written[Row]:
    """The column of a figure with its interval below it."""
    return Column(title, doc.Kind.STACKED), lambda row: over_interval(row, of)


def over_interval(row: Row, of: Of = "") -> str:
    """A figure with its interval on the next line."""
    figure = _value(row, of)
    return figure if row[of].value is None else f"{figure}\n{fmt.interval(row[of], row.unit(of))}"


def stacked_base(of: Of = "") -> Written[Row]:
    """The column of what a figure is based on, with what is missing below it."""
    return Column("n", doc.Kind.STACKED), lambda row: fmt.bare_base(row[of]).replace(", ", "\n")


def stacked_sums(title: str, of: Of = "") -> Written[Row]:
    """The column of a ratio with its two sums below it."""
    return Column(title, doc.Kind.STACKED), lambda row: "\n".join(filter(None, (_value(row, of), row[of].sums)))


def gauge(of: Of = "", title: str = "0 to 100 %") -> Written[Row]:
    """The column that draws where a figure lies on its scale, on pages."""
    return Column(title, doc.Kind.GAUGE), lambda row: _gauge(row[of], row.scale(of))


def bar(of: Of = "") -> Written[Row]:
    """The column that draws a share as a bar."""
    return Column("", doc.Kind.BAR), lambda row: Gauge(row[of].value)


def sums(title: str, of: Of = "") -> Written[Row]:
    """The column of the two sums of a ratio: `10 of 12`."""
    return title, lambda row: row[of].sums


def counted(title: str, of: Of = "") -> Written[Row]:
    """The column of how many samples, or votes, a share is of: `29 of 50`."""
    return title, lambda row: fmt.band_count(row[of])


def _value(row: Row, of: Of) -> str:
    figure, scale = row[of], row.scale(of)
    return fmt.in_unit(figure.value, row.unit(of)) if scale == _WHOLE else fmt.on_scale(figure.value, scale)


def _gauge(figure: Estimate, scale: tuple[float, float]) -> Cell:
    low, high = scale

    def place(end: float | None) -> float | None:
        return None if end is None or high <= low else (end - low) / (high - low)

    label = fmt.with_base(figure) if scale == _WHOLE else fmt.on_scale(figure.value, scale)
    return Gauge(place(figure.value), place(figure.low), place(figure.high), label=label)
