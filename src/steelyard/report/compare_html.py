"""A comparison as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from steelyard.analysis.compare_model import Comparison, Moved, Part
from steelyard.report import attribution_tables, compare_sentences, compare_tables, wording
from steelyard.report.compare_left_out import left_out
from steelyard.report.html_page import page

_MOST_ROWS = 100
_KINDS = {
    Moved.BETTER.value: "pass",
    Moved.WORSE.value: "fail",
    Moved.CHANGED.value: "ambiguous",
    Moved.CANNOT_TELL.value: "ambiguous",
    Moved.SAME.value: "none",
    Moved.NOT_TESTED.value: "none",
}
"""In which of the report's colours a verdict is shown."""


def comparison_to_html(comparison: Comparison) -> str:
    """The page."""
    return page(
        "compare.html",
        comparison=comparison,
        headline=comparison.headline,
        pairs=comparison.pairs,
        words=compare_sentences,
        tables=compare_tables,
        everything=[
            *attribution_tables.tables(comparison, _MOST_ROWS),
            *compare_tables.everything(comparison, _MOST_ROWS),
        ],
        method=attribution_tables.method(comparison),
        verdict_title=compare_tables.VERDICT,
        kinds=_KINDS,
        signs=compare_sentences.SIGNS,
        hinders=Part.SCALE,
        left_out=left_out(comparison.not_compared),
        wording=wording,
    )
