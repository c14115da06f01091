"""A judge's report card for a terminal: the verdict first, then what it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from steelyard.report import judge_tables, judge_wording, wording
from steelyard.report.judge_card import JudgeCard
from steelyard.report.safe_text import clipped
from steelyard.report.tables import Table
from steelyard.report.terminal_layout import LONGEST_LINE, STYLES, Layout, print_parts, speaks_ascii_alone

_FEW = 5
"""Examples that a terminal shows of each kind; the other views show more."""


def print_card(card: JudgeCard, console: Console) -> None:
    """Print the whole card; plain ASCII when the terminal cannot show more."""
    view = _View(card, width=console.width, plain=speaks_ascii_alone(console))
    print_parts(view.parts(), console)


class _View(Layout):
    def __init__(self, card: JudgeCard, *, width: int, plain: bool) -> None:
        super().__init__(width=width, plain=plain)
        self.card = card

    def parts(self) -> Iterator[RenderableType]:
        card = self.card
        yield from self.headline()
        yield from self.table(judge_tables.thresholds(card))
        yield from self.bullets("What is wrong", card.health.complaints)
        if judge_tables.has_readings(card):
            yield from self.readings()
        yield from self.table(judge_tables.behaviour(card))
        yield from self.table(judge_tables.rules(card))
        yield from self.bullets("For example", judge_wording.examples(card))
        yield from self.facts("Stands on", judge_wording.standing(card))
        yield Text()
        yield self.text(wording.signature_line(card.header), "dim", limit=10 * LONGEST_LINE)

    def readings(self) -> Iterator[RenderableType]:
        """All that stands on what the judge gave."""
        card = self.card
        yield from self.facts("Pass rate", judge_wording.corrected(card))
        yield from self.agreement()
        yield from self.table(judge_tables.flags(card))
        yield from self.table(judge_tables.disagreements(card, _FEW))
        yield from self.table(judge_tables.flagged_wrongly(card, _FEW))
        yield from self.confusions()
        yield from self.table(judge_tables.rubric(card))
        yield from self.table(judge_tables.length(card))
        yield from self.table(judge_tables.together(card))
        yield from self.table(judge_tables.repeatability(card))

    def headline(self) -> Iterator[RenderableType]:
        card = self.card
        word = judge_wording.verdict_word(card)
        title = [clipped(card.header.suite_name, 60), "judge check", f"run {card.header.id}"]
        yield self.text(" | ".join(title), "dim")
        yield Text()
        yield Text.assemble((f" {word} ", STYLES[word] + " reverse"), f" {judge_wording.headline(card)}")
        for reason in card.invalid:
            yield self.bullet("-", reason)
        for warning in judge_wording.warnings(card):
            yield self.bullet("!", warning, "bold yellow")

    def bullets(self, title: str, sentences: tuple[str, ...] | list[str]) -> Iterator[RenderableType]:
        if not sentences:
            return
        yield from self.heading(title)
        for sentence in sentences:
            yield self.bullet("-", sentence)

    def agreement(self) -> Iterator[RenderableType]:
        wide, *narrow = judge_tables.agreement(self.card)
        for table in [wide] if not narrow or self.fits(wide) else narrow:
            yield from self.table(table)

    def confusions(self) -> Iterator[RenderableType]:
        """The small tables, two beside each other where there is room."""
        tables = judge_tables.confusions(self.card)
        if not tables:
            return
        yield from self.heading("Labels down, judge across")
        across = max(1, (self.width - 2) // max(self.breadth(table) + 6 for table in tables))
        rows = Grid.grid(padding=(0, 4))
        for _ in range(across):
            rows.add_column()
        for some in zip_longest(*[iter(tables)] * across):
            rows.add_row(*(Text() if table is None else self.small(table) for table in some))
        yield Padding(rows, (0, 0, 0, 2))

    def breadth(self, table: Table) -> int:
        """How wide a small table is."""
        columns = list(zip(*[[column.title for column in table.columns], *table.rows], strict=True))
        return max(len(table.title), sum(max(map(len, column)) + 2 for column in columns))

    def small(self, table: Table) -> RenderableType:
        grid = Grid(
            title=self.text(table.title),
            title_justify="left",
            title_style="",
            box=None,
            show_edge=False,
            pad_edge=False,
            padding=(0, 2, 0, 0),
            header_style="dim",
        )
        for column in table.columns:
            grid.add_column(self.text(column.title), justify="right", no_wrap=True)
        for row in table.rows:
            grid.add_row(*(Text(cell) for cell in row))
        return Padding(grid, (0, 0, 1, 0))
