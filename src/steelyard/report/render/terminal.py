"""A document in a terminal: within its width, harmless, in ASCII where the terminal knows no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text as Line

from steelyard.report import document as doc
from steelyard.report.format import ascii_only, clipped, one_line, visible
from steelyard.report.verdicts import STYLES, Colour, style_of

_LONGEST_LINE = 400
_LONGEST_FOOTER = 4_000
_LONGEST_CELL = 160
_LONGEST_FIGURE = 24
_LONGEST_WORD = 30
"""A longer word may be broken."""
_BAR_WIDTH = 20
_OPTIONAL = 20
"""Columns that a text needs at least which a table can do without."""
_INDENT = 2
_COLOURS = {
    Colour.GOOD: "bold green",
    Colour.BAD: "bold red",
    Colour.UNSURE: "bold yellow",
    Colour.INVALID: "bold magenta",
    Colour.NONE: "bold",
}
_TONES = {doc.Tone.PLAIN: "", doc.Tone.STRONG: "bold", doc.Tone.MUTED: "dim", doc.Tone.WARNING: "bold yellow"}
_MARKS = {doc.Tone.PLAIN: "-", doc.Tone.STRONG: "*", doc.Tone.MUTED: "-", doc.Tone.WARNING: "!"}
_BROKEN_TEXT = (doc.Kind.TEXT, doc.Kind.LINES)


def print_document(document: doc.Document, console: Console) -> None:
    """Print it all; plain ASCII when the terminal cannot show more."""
    print_blocks(_parts(document, _Layout(console)), console)


def to_text(document: doc.Document, width: int) -> str:
    """The whole as plain text. It is text in a notebook, too, where rich would show every line as an output."""
    page = StringIO()
    print_document(document, Console(file=page, width=width, force_jupyter=False, force_terminal=False))
    return "\n".join(line.rstrip() for line in page.getvalue().split("\n"))


def print_fitting(documents: Iterable[doc.Document], console: Console, lines: int) -> None:
    """Print the first that takes no more than so many lines, or the last."""
    shown: list[RenderableType] = []
    for document in documents:
        shown = list(_parts(document, _Layout(console)))
        if _n_lines(shown, console) <= lines:
            break
    print_blocks(iter(shown), console)


def count_lines(blocks: Sequence[doc.Block], console: Console) -> int:
    """How many lines some blocks take."""
    return _n_lines(list(_parts(doc.Document("", blocks), _Layout(console))), console)


def _n_lines(parts: Sequence[RenderableType], console: Console) -> int:
    return len(console.render_lines(Group(*parts), pad=False)) if parts else 0


def print_blocks(parts: Iterator[RenderableType], console: Console) -> None:
    """Print them one below the other; nothing in them is markup."""
    for part in parts:
        # What must not be broken, as a command that is to be copied, goes beyond the width.
        soft = isinstance(part, Line) and part.no_wrap is True
        console.print(part, highlight=False, markup=False, emoji=False, soft_wrap=soft)


def _parts(document: doc.Document, layout: _Layout) -> Iterator[RenderableType]:
    if document.title:
        lines = [clipped(document.title, 60)]
        for part in document.context:
            together = f"{lines[-1]} | {part}"
            lines = [*lines[:-1], together] if len(together) <= layout.width else [*lines, part]
        yield from (layout.text(line, "dim") for line in lines)
    for block in document.blocks:
        yield from layout.block(block)
    if document.footer:
        yield Line()
        yield from (layout.text(line, "dim", limit=_LONGEST_FOOTER) for line in document.footer)
    if document.last:
        yield Line()
        yield from (layout.last(line) for line in document.last)


class _Layout:
    """Lays out blocks in the width of a console; a signature that stands above already is not said again."""

    def __init__(self, console: Console) -> None:
        self.width = console.width
        self.plain = not console.encoding.startswith("utf")
        self.signatures: set[str] = set()

    def block(self, block: doc.Block) -> Iterator[RenderableType]:
        """The lines of a block; none of what only a page can show."""
        ways: dict[type, Callable[[Any], Iterable[RenderableType]]] = {
            doc.Headline: self.headline,
            doc.Section: lambda item: self.section(item.title, item.blocks, item.remark),
            doc.Fold: lambda item: () if item.bulky else self.section(item.title, item.blocks),
            doc.Facts: lambda item: [self.facts(item)],
            doc.Bullets: self.bullets,
            doc.Table: self.table,
            doc.SmallTables: self.small_tables,
            doc.Quote: self.quote,
            doc.Text: lambda item: [Padding(self.text(item.text, _TONES[item.tone]), (0, 0, 0, _INDENT))],
        }
        if doc.has_content(block) and type(block) in ways:
            yield from ways[type(block)](block)

    def bullets(self, block: doc.Bullets) -> Iterator[RenderableType]:
        """The items one below the other."""
        for number, item in enumerate(block.items, 1):
            yield self.bullet(item, number if block.numbered else 0)

    def text(self, foreign: str, style: str = "", limit: int = _LONGEST_LINE) -> Line:
        """Foreign text as one harmless line; rich reads no markup in a Text."""
        line = one_line(foreign, limit)
        return Line(ascii_only(line) if self.plain else line, style=style, overflow="fold")

    def last(self, line: str) -> Line:
        """A line; a verdict's word at its beginning has its colour."""
        word = next((word for word in STYLES if line.startswith(f"{word}:")), "")
        indent = " " * (len(line) - len(line.lstrip(" ")))
        shown = Line(indent, no_wrap=True).append_text(self.text(line, "" if word else "bold"))
        if word:
            shown.stylize(_COLOURS[style_of(word).colour], 0, len(word))
        return shown

    def headline(self, block: doc.Headline) -> Iterator[RenderableType]:
        yield Line()
        badge = self.text(block.shown or block.word)
        style = _COLOURS[style_of(block.word).colour] + " reverse"
        yield Line.assemble(Line(f" {badge.plain} ", style), " ", self.text(block.text))
        yield from map(self.bullet, block.warnings)
        if block.figure is not None:
            message = f"{block.figure.label} {block.figure.value} {block.figure.detail}"
            yield Padding(self.text(message, "bold"), (0, 0, 0, 1))
        yield from map(self.bullet, block.reasons)
        for extra in block.extra:
            yield from self.block(extra)

    def section(self, title: str, blocks: Sequence[doc.Block], remark: str = "") -> Iterator[RenderableType]:
        shown = [part for block in blocks for part in self.block(doc.untitled(block, title))]
        if shown:
            yield Line()
            yield self.text(f"{title} ({remark})" if remark else title, "bold")
            yield from shown

    def quote(self, block: doc.Quote) -> Iterator[RenderableType]:
        """Foreign text under its title, its lines as they came."""
        if block.title:
            yield Line()
            yield self.text(block.title, "bold")
        for line in visible(block.text).splitlines():
            shown = Line(ascii_only(line) if self.plain else line, overflow="fold")
            yield Padding(shown, (0, 0, 0, _INDENT))

    def bullet(self, item: doc.Bullet, number: int = 0) -> RenderableType:
        """A mark, or a label, and a sentence that is indented behind it."""
        style = _TONES[item.tone] if item.tone is not doc.Tone.STRONG else ""
        row = Grid.grid(padding=(0, 1))
        row.add_column(no_wrap=True, width=12 if item.label else None)
        row.add_column(overflow="fold")
        mark = item.label or (f"{number}." if number else _MARKS[item.tone])
        row.add_row(self.text(mark, style), self.text(item.text, style))
        return Padding(row, (0, 0, 0, 1))

    def facts(self, block: doc.Facts) -> RenderableType:
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for label, value in block.rows:
            grid.add_row(self.text(label), self.text(value))
        return Padding(grid, (0, 0, 0, _INDENT))

    def table(self, block: doc.Table) -> Iterator[RenderableType]:
        """The table under its title, in the first layout that fits.

        As it is, stacked, without what it can do without, or a paragraph a row.
        """
        table = block.sound
        if table is None:
            return
        if table.title:
            yield Line()
            yield self.text(table.title, "bold")
        table = table.only([at for at, column in enumerate(table.columns) if column.kind is not doc.Kind.GAUGE])
        shown = replace(table, rows=table.rows[: table.most])
        needed = shown.only([at for at, column in enumerate(shown.columns) if not column.optional])
        layouts = [shown, _stacked(shown), needed, _stacked(needed)]
        fitting = next(
            (layout for layout in layouts if sum(_least(layout)) + len(layout.columns) - 1 <= self.room), None
        )
        yield Padding(self.paragraphs(needed) if fitting is None else self.grid(fitting), (0, 0, 0, _INDENT))
        for text, style in zip(table.below(table.most, self.signatures), ("dim", "", "dim"), strict=True):
            if text:
                yield Padding(self.text(text, style), (0, 0, 0, _INDENT))

    @property
    def room(self) -> int:
        """Columns that a table has."""
        return self.width - _INDENT

    def grid(self, table: doc.Table) -> RenderableType:
        """The table as it is; columns of text share the room that is left, and none is narrower than its words."""
        least, wish = _least(table), _wish(table)
        gap = 2 if sum(wish) + 2 * (len(wish) - 1) <= self.room or sum(least) + 2 * (len(least) - 1) <= self.room else 1
        widths = _shared_out(least, wish, self.room - gap * (len(least) - 1))
        grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
        for at, (column, width) in enumerate(zip(table.columns, widths, strict=True)):
            left = column.kind in (*_BROKEN_TEXT, doc.Kind.VERDICT, doc.Kind.BAR) or (at == len(widths) - 1 and at > 0)
            justify: JustifyMethod = "left" if left else "right"
            title = Line("\n").join(self.text(line) for line in _broken(column.title, width))
            # The padding of the last column is dropped.
            grid.add_column(title, justify=justify, width=width, overflow="fold")
        for row in table.rows:
            cells = zip(row, table.columns, widths, strict=True)
            grid.add_row(*(self.cell(cell, column.kind, width) for cell, column, width in cells))
        return grid

    def cell(self, cell: doc.Cell, kind: doc.Kind, width: int) -> Line:
        """What stands in a cell, clipped; a verdict in its colour."""
        if isinstance(cell, doc.Gauge):
            return Line(self.bar(cell), "cyan")
        value = str(cell)
        if kind in (doc.Kind.STACKED, doc.Kind.LINES):
            part = doc.Kind.FIGURE if kind is doc.Kind.STACKED else doc.Kind.TEXT
            return Line("\n").join(self.cell(line, part, width) for line in value.split("\n"))
        if kind is doc.Kind.TEXT:
            return self.text(at_dots(clipped(value, _LONGEST_CELL), width))
        style = _COLOURS[style_of(value).colour] if kind is doc.Kind.VERDICT and value in STYLES else ""
        return self.text(clipped(value, _LONGEST_FIGURE), style)

    def paragraphs(self, table: doc.Table) -> RenderableType:
        """A paragraph a row, for a table that has no room beside: the name, then every figure with its title."""
        lines = Grid.grid(padding=(0, 1, 0, 0))
        lines.add_column(overflow="fold")
        for row in table.rows:
            messages = [
                f"{column.title} {one_line(str(cell))}".replace("\n", " ").strip()
                for column, cell in zip(table.columns[1:], row[1:], strict=True)
                if str(cell) not in ("", "n/a")
            ]
            lines.add_row(self.text(str(row[0]), "bold"))
            lines.add_row(Padding(self.text("; ".join(messages)), (0, 0, 0, _INDENT)))
        return lines

    def bar(self, gauge: doc.Gauge) -> str:
        """A share as a bar; what is above nothing always shows a mark."""
        filled = 0.0 if gauge.value is None else min(max(gauge.value, 0.0), 1.0) * _BAR_WIDTH
        marks = max(round(filled), 1) if filled > 0 else 0
        full, rest = ("#", ".") if self.plain else ("█", "░")
        return full * marks + rest * (_BAR_WIDTH - marks)

    def small_tables(self, block: doc.SmallTables) -> Iterator[RenderableType]:
        """The small tables, as many beside each other as there is room for."""
        across = max(1, self.room // (max(_breadth(table) for table in block.tables) + 6))
        rows = Grid.grid(padding=(0, 4))
        for _ in range(across):
            rows.add_column()
        for some in zip_longest(*[iter(block.tables)] * across):
            rows.add_row(*(Line() if table is None else self.small(table) for table in some))
        yield Padding(rows, (0, 0, 0, _INDENT))
        if block.note:
            yield Padding(self.text(block.note, "dim"), (0, 0, 0, _INDENT))

    def small(self, table: doc.Table) -> RenderableType:
        grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        grid.title, grid.title_justify, grid.title_style = self.text(table.title), "left", ""
        for column in table.columns:
            grid.add_column(self.text(column.title), justify="right", no_wrap=True)
        for row in table.rows:
            grid.add_row(*(self.text(str(cell)) for cell in row))
        return Padding(grid, (0, 0, 1, 0))


def _stacked(table: doc.Table) -> doc.Table:
    """The table with every column that may stand below the one before it standing there."""
    groups: list[list[int]] = []
    for at, column in enumerate(table.columns):
        if column.below and groups:
            groups[-1].append(at)
        else:
            groups.append([at])
    columns = tuple(
        table.columns[group[0]]
        if len(group) == 1
        else doc.Column("\n".join(dict.fromkeys(table.columns[at].title for at in group)), doc.Kind.STACKED)
        for group in groups
    )
    rows = [tuple(_joined(row, group) for group in groups) for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def _joined(row: Sequence[doc.Cell], group: Sequence[int]) -> doc.Cell:
    return row[group[0]] if len(group) == 1 else "\n".join(str(row[at]) for at in group if str(row[at]))


def _least(table: doc.Table) -> list[int]:
    """How narrow each column can be without a word broken inside.

    Text that a table can do without is shown only where all other text has room.
    """
    spare = any(column.optional for column in table.columns)
    least = []
    for at, (column, wish) in enumerate(zip(table.columns, _wish(table), strict=True)):
        narrow = max([*map(cell_len, _words(column.title)), *_cells(table, at, _narrow)])
        if column.kind in _BROKEN_TEXT and column.optional:
            narrow = max(narrow, _OPTIONAL)
        elif column.kind in _BROKEN_TEXT and spare:
            narrow = max(narrow, min(wish, 2 * _OPTIONAL))
        least.append(narrow)
    return least


def _wish(table: doc.Table) -> list[int]:
    """How wide each column would be with every cell on one line."""
    return [
        max([*map(cell_len, column.title.split("\n")), *_cells(table, at, _wide)])
        for at, column in enumerate(table.columns)
    ]


def _cells(table: doc.Table, at: int, measure: Callable[[doc.Cell, doc.Kind], int]) -> Iterator[int]:
    kind = table.columns[at].kind
    yield from (measure(row[at], kind) for row in table.rows)


def _narrow(cell: doc.Cell, kind: doc.Kind) -> int:
    if isinstance(cell, doc.Gauge):
        return _BAR_WIDTH
    if kind in _BROKEN_TEXT:
        words = (min(cell_len(word), _LONGEST_WORD) for word in _words(clipped(str(cell), _LONGEST_CELL)))
        return max(words, default=0)
    return _wide(cell, kind)


def _wide(cell: doc.Cell, kind: doc.Kind) -> int:
    if isinstance(cell, doc.Gauge):
        return _BAR_WIDTH
    longest = _LONGEST_CELL if kind in _BROKEN_TEXT else _LONGEST_FIGURE
    return max(min(cell_len(one_line(line)), longest) for line in str(cell).split("\n"))


def _words(text: str) -> list[str]:
    """What is never broken inside; a name of words joined by dots may be broken after a dot."""
    return [piece for word in text.split() for piece in re.findall(r"[^.]+\.*|\.+", word)] or [""]


def _shared_out(least: Sequence[int], wish: Sequence[int], room: int) -> list[int]:
    """Widths that fill the room and give the most to the column that lacks the most."""
    widths, left = list(least), room - sum(least)
    while left > 0 and (lacking := max(range(len(widths)), key=lambda at: wish[at] - widths[at])) >= 0:
        if wish[lacking] <= widths[lacking]:
            break
        widths[lacking] += 1
        left -= 1
    return widths


def _broken(title: str, width: int) -> list[str]:
    """A title on lines no longer than the width."""
    lines: list[str] = []
    for part in title.split("\n"):
        lines.append("")
        for word in part.split():
            if lines[-1] and cell_len(f"{lines[-1]} {word}") > width:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def at_dots(name: str, room: int) -> str:
    """A name of words joined by dots that has no room on one line, with spaces where it is best broken."""
    return " ".join(_at_dots(word, room) for word in name.split(" "))


def _at_dots(word: str, room: int) -> str:
    if len(word) <= room:
        return word
    lines = [""]
    for part in re.findall(r"[^.]+\.?|\.", word):
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append("")
        lines[-1] += part
    return " ".join(lines)


def _breadth(table: doc.Table) -> int:
    """How wide a small table is."""
    return max(len(table.title), sum(width + 2 for width in _wish(table)))
