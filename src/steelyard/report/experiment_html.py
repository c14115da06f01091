"""An experiment as one HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""

from __future__ import annotations

from steelyard.release.experiment import Decided
from steelyard.report import compare_sentences, compare_tables, experiment_sentences, wording
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.report.html_page import page

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
    return page(
        "experiment.html",
        report=report,
        ruling=report.ruling,
        comparison=report.comparison,
        kind=_KINDS[report.ruling.decided],
        sign=experiment_sentences.SIGNS[report.ruling.decided],
        words=experiment_sentences,
        compared=compare_sentences,
        main_figures=None if report.comparison is None else compare_tables.main_figures(report.comparison, _MOST_ROWS),
        arms=[("Baseline", report.baseline), ("Candidate", report.candidate)],
        wording=wording,
    )
