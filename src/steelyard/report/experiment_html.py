"""An experiment as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.release.experiment import Decided
from steelyard.report import compare_sentences, compare_tables, experiment_sentences, wording
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.report.html_page import asset, environment, policy
from steelyard.report.safe_text import as_text, one_line

_LONGEST_LINE = 600
_MOST_ROWS = 100
_KINDS = {
    Decided.ADOPT: "pass",
    Decided.REJECT: "fail",
    Decided.CANNOT_TELL: "ambiguous",
    Decided.INVALID: "invalid",
}
"""In which of the report's colours a decision is shown."""


def experiment_to_html(report: ExperimentReport) -> str:
    """The page."""
    style = asset("report.css")
    page = (
        environment()
        .get_template("experiment.html")
        .render(
            report=report,
            ruling=report.ruling,
            comparison=report.comparison,
            kind=_KINDS[report.ruling.decided],
            sign=experiment_sentences.SIGNS[report.ruling.decided],
            words=experiment_sentences,
            compared=compare_sentences,
            main_figures=None
            if report.comparison is None
            else compare_tables.main_figures(report.comparison, _MOST_ROWS),
            arms=[("Baseline", report.baseline), ("Candidate", report.candidate)],
            wording=wording,
            one_line=one_line,
            cut_line=lambda value: one_line(as_text(value), _LONGEST_LINE),
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=policy(style, ""),
        )
    )
    return page.lstrip()
