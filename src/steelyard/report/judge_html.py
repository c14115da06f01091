"""A judge's report card as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from steelyard.report import judge_tables, judge_wording, wording
from steelyard.report.html_page import page
from steelyard.report.judge_card import JudgeCard
from steelyard.report.safe_text import laid_out, shortened
from steelyard.report.tables import Table

_LONGEST_TEXT = 2_000
_SHADES = 4


def card_to_html(card: JudgeCard) -> str:
    """The page."""
    return page(
        "judge.html",
        card=card,
        header=card.header,
        tables=judge_tables,
        words=judge_wording,
        wording=wording,
        shade=shade,
        cut=lambda value: shortened(laid_out(value), _LONGEST_TEXT),
    )


def shade(table: Table, cell: str) -> str:
    """The class of a cell of a table of counts: the more, the darker; "" for nothing."""
    counts = [int(each.replace(",", "")) for row in table.rows for each in row[1:-1] if each != "."]
    if cell == "." or not counts:
        return ""
    return f"h{max(1, round(_SHADES * int(cell.replace(',', '')) / max(counts)))}"
