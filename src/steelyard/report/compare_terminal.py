"""A comparison for a terminal: what differs, the answer, how sure, what moved; then what it stands on."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from steelyard.analysis.compare_model import Comparison, Moved, Part
from steelyard.report import compare_sentences, compare_tables, wording
from steelyard.report.compare_left_out import left_out
from steelyard.report.safe_text import clipped
from steelyard.report.tables import Table
from steelyard.report.terminal_layout import LONGEST_LINE, Layout, print_parts, speaks_ascii_alone

_MOST_ROWS = 12
_STYLES = {
    Moved.BETTER: "bold green",
    Moved.WORSE: "bold red",
    Moved.CANNOT_TELL: "bold yellow",
    Moved.CHANGED: "bold yellow",
    Moved.SAME: "bold",
}
_MARKS = {Part.SCALE: ("!", "bold yellow"), Part.SUBJECT: (">", ""), Part.NOTED: ("-", "")}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the whole comparison; plain ASCII when the terminal cannot show more."""
    view = _View(comparison, width=console.width, plain=speaks_ascii_alone(console))
    print_parts(view.parts(), console)


class _View(Layout):
    def __init__(self, comparison: Comparison, *, width: int, plain: bool) -> None:
        super().__init__(width=width, plain=plain)
        self.comparison = comparison

    def parts(self) -> Iterator[RenderableType]:
        comparison = self.comparison
        yield from self.first_screen()
        yield from self.facts("Pairs", compare_sentences.pair_lists(comparison))
        for table in compare_tables.everything(comparison, _MOST_ROWS):
            yield from self.table(table if self.has_room(table) else compare_tables.narrowed(table))
        still = compare_tables.unmoved_slices(comparison)
        if still:
            yield Text()
            yield self.text(still)
        yield from self.bullets("Not compared", left_out(comparison.not_compared))
        if compare_sentences.needs_table(comparison):
            sentences = [change.sentence for change in comparison.instruments.changes]
            yield from self.bullets("Everything that differs in how they were made", sentences)
        yield Text()
        yield self.text(f"Method: {comparison.method}", "dim", limit=10 * LONGEST_LINE)
        for side, header in (("A", comparison.a), ("B", comparison.b)):
            yield self.text(f"{side}: {wording.signature_line(header)}", "dim", limit=10 * LONGEST_LINE)

    def first_screen(self) -> Iterator[RenderableType]:
        comparison = self.comparison
        yield self.text(f"{clipped(compare_sentences.title(comparison), 60)} | compare", "dim")
        for side, told in compare_sentences.runs(comparison):
            yield self.bullet(side, told, "dim")
        yield Text()
        for means, sentence in compare_sentences.differences(comparison):
            mark, style = _MARKS[means]
            yield self.bullet(mark, sentence, style)
        yield Text()
        headline = comparison.headline
        word = compare_sentences.verdict_word(comparison)
        badge = Text(f" {word} ", style=_STYLES[headline.verdict] + " reverse")
        yield Text.assemble(badge, " ", self.text(compare_sentences.answer(comparison)))
        for label, told in compare_sentences.how_sure(comparison):
            yield self.bullet(f"{label:<11}", told)
        yield from self.bullets("What moved", compare_sentences.what_moved(comparison))

    def has_room(self, table: Table) -> bool:
        """True when every column has, the names at the left too."""
        columns = zip(*[[column.title for column in table.columns], *table.rows], strict=True)
        return sum(max(map(len, column)) + 1 for column in columns) + 2 <= self.width

    def bullets(self, title: str, sentences: tuple[str, ...] | list[str]) -> Iterator[RenderableType]:
        if sentences:
            yield from self.heading(title)
        for sentence in sentences:
            yield self.bullet("-", sentence)
