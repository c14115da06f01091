"""The report for a terminal: the verdict and its reasons first, the signature last."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from steelyard.analysis.model import Estimate
from steelyard.records import Verdict
from steelyard.report import criteria_tables, error_tables, figures, tables, wording
from steelyard.report.model import Report
from steelyard.report.safe_text import ascii_only, clipped, one_line
from steelyard.report.tables import Kind, Table

_MOST_GROUPS = 20
_MOST_GATES = 40
_LONGEST_CELL = 120
_LONGEST_FIGURE = 24
_LEAST_NAME = 10
"""Columns that the names at the left of a table need at least."""
_LONGEST_LINE = 400
_BAR_WIDTH = 20
_STYLES = {
    Verdict.PASS.value: "bold green",
    Verdict.FAIL.value: "bold red",
    Verdict.AMBIGUOUS.value: "bold yellow",
    Verdict.INVALID.value: "bold magenta",
    wording.NO_VERDICT: "bold",
}


def print_report(report: Report, console: Console) -> None:
    """Print the whole report; plain ASCII when the terminal cannot show more."""
    _print(_view(report, console).parts(), console)


def print_decision(report: Report, console: Console) -> None:
    """Print the verdict with its reasons and every gate, and nothing else."""
    _print(_view(report, console).decision(), console)


def _view(report: Report, console: Console) -> _View:
    return _View(report, width=console.width, plain=not console.encoding.startswith("utf"))


def _print(parts: Iterator[RenderableType], console: Console) -> None:
    for part in parts:
        console.print(part, highlight=False, markup=False, emoji=False)


class _View:
    """The parts of one printed report, in order."""

    def __init__(self, report: Report, *, width: int, plain: bool) -> None:
        self.report = report
        self.width = width
        self.plain = plain

    def parts(self) -> Iterator[RenderableType]:
        yield from self.decision()
        yield from self.overall()
        yield from self.bands()
        for factor in self.report.summary.slices:
            yield from self.table(tables.slices(self.report, factor, _MOST_GROUPS))
        yield from self.table(tables.components(self.report))
        yield from self.table(error_tables.measures(self.report))
        yield from self.fitting(*error_tables.measures_by_variant(self.report))
        yield from self.table(error_tables.errors(self.report))
        yield from self.table(tables.patterns(self.report))
        yield from self.table(tables.priorities(self.report))
        yield from self.table(tables.worst(self.report))
        yield from self.table(tables.slowest(self.report))
        yield from self.table(tables.failures(self.report))
        yield from self.table(tables.inconclusive(self.report))
        yield Text()
        yield self.text(wording.signature_line(self.report.header), "dim", limit=10 * _LONGEST_LINE)

    def decision(self) -> Iterator[RenderableType]:
        yield from self.headline()
        yield from self.table(_first(tables.gates(self.report), _MOST_GATES))
        yield from self.table(criteria_tables.criteria(self.report))
        for name, about in criteria_tables.unmet(self.report):
            yield Padding(self.text(f"{name}: {about}", "dim"), (0, 0, 0, 2))
        yield from self.fitting(*criteria_tables.by_variant(self.report))

    def text(self, foreign: str, style: str = "", limit: int = _LONGEST_LINE) -> Text:
        """Foreign text as one harmless line; rich reads no markup in a Text."""
        line = one_line(foreign, limit)
        return Text(ascii_only(line) if self.plain else line, style=style, overflow="fold")

    def headline(self) -> Iterator[RenderableType]:
        report = self.report
        word = wording.verdict_word(report)
        target = clipped(wording.target_name(report.header), 80)
        title = [clipped(report.header.suite_name, 60), f"run {report.header.id}", target]
        moment = wording.when(report.header.created_at)
        yield self.text(" | ".join([*title, moment] if moment else title), "dim")
        yield Text()
        yield Text.assemble((f" {word} ", _STYLES[word] + " reverse"), f" {wording.verdict_meaning(report)}")
        yield Padding(self.text(f"Pass rate {wording.pass_rate(report)}", "bold"), (0, 0, 0, 1))
        for reason in wording.reasons(report):
            yield self.bullet("-", reason)
        for warning in report.header.suspect:
            yield self.bullet("!", f"SUSPECT: {warning}", "bold yellow")
        for note in wording.notes(report):
            yield self.bullet("*", note)

    def bullet(self, mark: str, foreign: str, style: str = "") -> RenderableType:
        row = Grid.grid(padding=(0, 1))
        row.add_column(no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(Text(mark, style=style), self.text(foreign, style))
        return Padding(row, (0, 0, 0, 1))

    def heading(self, title: str) -> Iterator[RenderableType]:
        yield Text()
        yield self.text(title, "bold")

    def overall(self) -> Iterator[RenderableType]:
        yield from self.heading("Overall")
        rows = Grid.grid(padding=(0, 2))
        rows.add_column(no_wrap=True)
        rows.add_column(overflow="fold")
        for label, value in tables.overall(self.report):
            rows.add_row(Text(label), self.text(value))
        rows.add_row(Text("Outcomes"), self.text(wording.outcomes_sentence(self.report)))
        if self.report.summary.method:
            rows.add_row(Text("Intervals"), self.text(self.report.summary.method, "dim"))
        yield Padding(rows, (0, 0, 0, 2))

    def bands(self) -> Iterator[RenderableType]:
        shares = self.report.summary.overall.bands
        if not shares:
            return
        yield from self.heading("Score distribution")
        rows = Grid.grid(padding=(0, 2))
        sides: tuple[JustifyMethod, ...] = ("left", "left", "left", "right", "right")
        for justify in sides:
            rows.add_column(no_wrap=True, justify=justify)
        for name, share in shares.items():
            floor = wording.band_floor(self.report.header, name)
            cells = (self.text(clipped(name, 18)), Text(floor, "dim"), Text(self.bar(share), "cyan"))
            rows.add_row(*cells, Text(figures.band_count(share)), Text(figures.percent(share.value)))
        yield Padding(rows, (0, 0, 0, 2))

    def bar(self, share: Estimate) -> str:
        filled = 0.0 if share.value is None else min(max(share.value, 0.0), 1.0) * _BAR_WIDTH
        # A share above nothing always shows a mark.
        marks = max(round(filled), 1) if filled > 0 else 0
        full, rest = ("#", ".") if self.plain else ("█", "░")
        return full * marks + rest * (_BAR_WIDTH - marks)

    def table(self, table: Table) -> Iterator[RenderableType]:
        if not table.rows:
            return
        yield from self.heading(table.title)
        grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, self.gap(table), 0, 0), header_style="dim")
        for index, column in enumerate(table.columns):
            is_text = column.kind in (Kind.TEXT, Kind.LINES)
            last = index == len(table.columns) - 1 and column.kind is Kind.FIGURE
            justify: JustifyMethod = "left" if is_text or last else "right"
            grid.add_column(self.cell(column.title, column.kind), justify=justify, no_wrap=not is_text, overflow="fold")
        for row in table.rows:
            grid.add_row(*(self.cell(value, column.kind) for value, column in zip(row, table.columns, strict=True)))
        yield Padding(grid, (0, 0, 0, 2))
        if table.note:
            yield Padding(self.text(table.note, "dim"), (0, 0, 0, 2))
        if table.conclusion:
            yield Padding(self.text(table.conclusion), (0, 0, 0, 2))

    def fitting(self, *layouts: Table) -> Iterator[RenderableType]:
        """The first layout of a table that fits, else the last."""
        fitting = [layout for layout in layouts if self.fits(layout)]
        yield from self.table((*fitting, layouts[-1])[0])

    def fits(self, table: Table) -> bool:
        """True when every column but the names at the left has room without wrapping."""
        figures_wide = sum(_width(column) + 1 for column in _columns(table)[1:])
        return figures_wide + 2 + _LEAST_NAME <= self.width

    def gap(self, table: Table) -> int:
        """Two spaces between columns where they fit, else one."""
        return 2 if sum(_width(column) + 2 for column in _columns(table)) + 2 <= self.width else 1

    def cell(self, value: str, kind: Kind) -> Text:
        if kind in (Kind.STACKED, Kind.LINES):
            each = Kind.FIGURE if kind is Kind.STACKED else Kind.TEXT
            return Text("\n").join(self.cell(part, each) for part in value.split("\n"))
        shown = clipped(value, _LONGEST_CELL if kind is Kind.TEXT else _LONGEST_FIGURE)
        return self.text(shown, _STYLES.get(value, ""))


def _columns(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*[[column.title for column in table.columns], *table.rows], strict=True))


def _width(column: tuple[str, ...]) -> int:
    return max(len(part) for cell in column for part in cell.split("\n"))


def _first(table: Table, limit: int) -> Table:
    if len(table.rows) <= limit:
        return table
    left_off = len(table.rows) - limit
    note = f"{limit} of {len(table.rows):,} gates; {left_off:,} are not shown, the verdict counts them all"
    unmet_first = sorted(table.rows, key=lambda row: row[-1] == Verdict.PASS.value)
    return Table(table.title, table.columns, unmet_first[:limit], note)
