"""A judge's report card as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.report import judge_tables, judge_wording, wording
from steelyard.report.html_page import VERDICT_SIGNS, asset, environment, policy
from steelyard.report.judge_card import JudgeCard
from steelyard.report.safe_text import as_text, laid_out, one_line, shortened
from steelyard.report.tables import Table

_LONGEST_TEXT = 2_000
_LONGEST_LINE = 600
_SHADES = 4


def card_to_html(card: JudgeCard) -> str:
    """The page."""
    style = asset("report.css")
    page = (
        environment()
        .get_template("judge.html")
        .render(
            card=card,
            header=card.header,
            tables=judge_tables,
            words=judge_wording,
            wording=wording,
            shade=shade,
            verdict_signs=VERDICT_SIGNS,
            one_line=one_line,
            cut=lambda value: shortened(laid_out(value), _LONGEST_TEXT),
            cut_line=lambda value: one_line(as_text(value), _LONGEST_LINE),
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=policy(style, ""),
        )
    )
    return page.lstrip()


def shade(table: Table, cell: str) -> str:
    """The class of a cell of a table of counts: the more, the darker; "" for nothing."""
    counts = [int(each.replace(",", "")) for row in table.rows for each in row[1:-1] if each != "."]
    if cell == "." or not counts:
        return ""
    return f"h{max(1, round(_SHADES * int(cell.replace(',', '')) / max(counts)))}"
