"""A comparison as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.analysis.compare_model import Comparison, Moved, Part
from steelyard.report import compare_sentences, compare_tables, wording
from steelyard.report.compare_left_out import left_out
from steelyard.report.html_page import asset, environment, policy
from steelyard.report.safe_text import as_text, one_line

_LONGEST_LINE = 600
_MOST_ROWS = 100
_KINDS = {
    Moved.BETTER.value: "pass",
    Moved.WORSE.value: "fail",
    Moved.CHANGED.value: "ambiguous",
    Moved.CANNOT_TELL.value: "ambiguous",
    Moved.SAME.value: "none",
}
"""In which of the report's colours a verdict is shown."""


def comparison_to_html(comparison: Comparison) -> str:
    """The page."""
    style = asset("report.css")
    page = (
        environment()
        .get_template("compare.html")
        .render(
            comparison=comparison,
            headline=comparison.headline,
            pairs=comparison.pairs,
            words=compare_sentences,
            tables=compare_tables,
            everything=compare_tables.everything(comparison, _MOST_ROWS),
            verdict_title=compare_tables.VERDICT,
            kinds=_KINDS,
            signs=compare_sentences.SIGNS,
            hinders=Part.SCALE,
            left_out=left_out(comparison.not_compared),
            wording=wording,
            one_line=one_line,
            cut_line=lambda value: one_line(as_text(value), _LONGEST_LINE),
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=policy(style, ""),
        )
    )
    return page.lstrip()
