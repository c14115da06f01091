"""How tables and foreign text are laid out in a terminal: within its width, harmless, in ASCII where need be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from steelyard.records import Verdict
from steelyard.report.safe_text import ascii_only, clipped, one_line
from steelyard.report.tables import Kind, Table
from steelyard.report.wording import NO_VERDICT

_LONGEST_CELL = 160
_LONGEST_FIGURE = 24
_LEAST_NAME = 10
"""Columns that the names at the left of a table need at least."""
_MOST_NAME = 24
"""A longer word may be broken."""
LONGEST_LINE = 400
STYLES = {
    Verdict.PASS.value: "bold green",
    Verdict.FAIL.value: "bold red",
    Verdict.AMBIGUOUS.value: "bold yellow",
    Verdict.INVALID.value: "bold magenta",
    NO_VERDICT: "bold",
}


def print_parts(parts: Iterable[RenderableType], console: Console) -> None:
    """Print them one below the other; nothing in them is markup."""
    for part in parts:
        console.print(part, highlight=False, markup=False, emoji=False)


def speaks_ascii_alone(console: Console) -> bool:
    """True for a terminal that cannot show more."""
    return not console.encoding.startswith("utf")


class Layout:
    """Lays out what is printed in a terminal of a width; `plain` is one that knows ASCII alone."""

    def __init__(self, *, width: int, plain: bool) -> None:
        self.width = width
        self.plain = plain

    def text(self, foreign: str, style: str = "", limit: int = LONGEST_LINE) -> Text:
        """Foreign text as one harmless line; rich reads no markup in a Text."""
        line = one_line(foreign, limit)
        return Text(ascii_only(line) if self.plain else line, style=style, overflow="fold")

    def bullet(self, mark: str, foreign: str, style: str = "") -> RenderableType:
        """A mark and a sentence that is indented behind it."""
        row = Grid.grid(padding=(0, 1))
        row.add_column(no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(Text(mark, style=style), self.text(foreign, style))
        return Padding(row, (0, 0, 0, 1))

    def heading(self, title: str) -> Iterator[RenderableType]:
        """An empty line and a title."""
        yield Text()
        yield self.text(title, "bold")

    def facts(self, title: str, rows: list[tuple[str, str]]) -> Iterator[RenderableType]:
        """Labels with what stands beside them; nothing when there are none."""
        if not rows:
            return
        yield from self.heading(title)
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for label, value in rows:
            grid.add_row(Text(label), self.text(value))
        yield Padding(grid, (0, 0, 0, 2))

    def table(self, table: Table) -> Iterator[RenderableType]:
        """The table under its title; nothing when it has no rows."""
        if not table.rows:
            return
        yield from self.heading(table.title)
        grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, self.gap(table), 0, 0), header_style="dim")
        for index, column in enumerate(table.columns):
            is_text = column.kind in (Kind.TEXT, Kind.LINES)
            last = index == len(table.columns) - 1 and column.kind is Kind.FIGURE
            justify: JustifyMethod = "left" if is_text or last else "right"
            grid.add_column(self.cell(column.title, column.kind), justify=justify, no_wrap=not is_text, overflow="fold")
        room = self.width - 2 - sum(_width(column) + self.gap(table) for column in _columns(table)[1:])
        kinds = [column.kind for column in table.columns]
        for name, *values in table.rows:
            cells = zip((at_dots(name, room) if kinds[0] is Kind.TEXT else name, *values), kinds, strict=True)
            grid.add_row(*(self.cell(value, kind) for value, kind in cells))
        yield Padding(grid, (0, 0, 0, 2))
        if table.note:
            yield Padding(self.text(table.note, "dim"), (0, 0, 0, 2))
        if table.conclusion:
            yield Padding(self.text(table.conclusion), (0, 0, 0, 2))
        if table.signature:
            yield Padding(self.text(table.signature, "dim"), (0, 0, 0, 2))

    def fitting(self, *layouts: Table) -> Iterator[RenderableType]:
        """The first layout of a table that fits, else the last."""
        fitting = [layout for layout in layouts if self.fits(layout)]
        yield from self.table((*fitting, layouts[-1])[0])

    def fits(self, table: Table) -> bool:
        """True when every column but the names at the left has room without wrapping."""
        figures_wide = sum(_width(column) + 1 for column in _columns(table)[1:])
        names = (word for cell in (_columns(table) or [()])[0] for word in cell.split())
        longest = max((len(word) for word in names), default=_LEAST_NAME)
        return figures_wide + 2 + min(max(longest, _LEAST_NAME), _MOST_NAME) <= self.width

    def gap(self, table: Table) -> int:
        """Two spaces between columns where they fit, else one."""
        return 2 if sum(_width(column) + 2 for column in _columns(table)) + 2 <= self.width else 1

    def cell(self, value: str, kind: Kind) -> Text:
        """What stands in a cell, clipped; a verdict in its colour."""
        if kind in (Kind.STACKED, Kind.LINES):
            each = Kind.FIGURE if kind is Kind.STACKED else Kind.TEXT
            return Text("\n").join(self.cell(part, each) for part in value.split("\n"))
        shown = clipped(value, _LONGEST_CELL if kind is Kind.TEXT else _LONGEST_FIGURE)
        return self.text(shown, STYLES.get(value, ""))


def at_dots(name: str, room: int) -> str:
    """A name of words joined by dots that has no room on one line, with spaces where it is best broken."""
    if " " in name or len(name) <= room:
        return name
    lines = [""]
    for part in re.findall(r"[^.]+\.?|\.", name):
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append("")
        lines[-1] += part
    return " ".join(lines)


def _columns(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*[[column.title for column in table.columns], *table.rows], strict=True))


def _width(column: tuple[str, ...]) -> int:
    return max(len(part) for cell in column for part in cell.split("\n"))
