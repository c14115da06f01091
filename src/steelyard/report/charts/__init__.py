"""All charts that a run's figures give, as Vega-Lite specifications; imports what `report` may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.latency import CellLatency, no_calls
from steelyard.analysis.model import Summary
from steelyard.analysis.stability import CellStability
from steelyard.records import RunHeader
from steelyard.report.charts.base import Chart
from steelyard.report.charts.counts import counts, pass_fail
from steelyard.report.charts.latency import latency_by_case, latency_histogram
from steelyard.report.charts.scores import score_charts
from steelyard.report.charts.stability import stability
from steelyard.report.charts.stated import stated_latency, stated_stability, with_stated_values
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import UncalledCase

CHARTS = (
    "pass_fail",
    "counts",
    "stability",
    "latency_by_case",
    "latency_histogram",
    "scores_by_variant",
    "scores_by_category",
)
"""What the charts of a run are called, but for the counts of several checks and single factors of variants."""


def charts_of(summary: Summary, header: RunHeader | None = None) -> list[Chart]:
    """Every chart that has something to show.

    Of a run that another tool recorded, whose `header` says what that tool states, also charts of what is stated and
    cannot be computed.
    """
    imported = None if header is None else header.options.imported
    stated = {} if imported is None else imported.stated
    charts: list[Chart | None] = []
    if summary.checks is not None:
        charts.append(pass_fail(summary.checks, summary.overall))
        charts += counts(with_stated_values(summary.checks, stated), summary.overall)
    uncalled = () if header is None else header.description.uncalled
    charts.append(_stability(summary, stated, uncalled))
    charts += _latency(summary, stated, uncalled)
    charts += score_charts(summary.slices, passing=bool(summary.passing)).values()
    return [item for item in charts if item is not None]


def _stability(summary: Summary, stated: Mapping[str, Any], uncalled: Sequence[UncalledCase]) -> Chart | None:
    if (told := stated_stability(stated)) is not None:
        return stability(told, len(told.cells), stated=True)
    result = summary.stability
    if result is None:
        return None
    from steelyard.scoring.expectations import SCHEMA  # few suites have checks

    # A case that expects an error has nothing to compare, and no schema.
    compared = [cell for cell in uncalled if any(check.name == SCHEMA for check in cell.checks)]
    never = [CellStability(cell.case_id, cell.variant, 0, 0, Estimate(None, 0)) for cell in compared]
    n_cells = summary.overall.count("stability.cells.all") or len(result.cells)
    return stability(replace(result, cells=(*result.cells, *never)), n_cells)


def _latency(summary: Summary, stated: Mapping[str, Any], uncalled: Sequence[UncalledCase]) -> list[Chart | None]:
    if told := stated_latency(stated):
        unanswered = sum(cell.timeouts for cell in told), sum(cell.failures for cell in told)
        return [latency_by_case(told, len(told), unanswered, stated=True)]
    result, overall = summary.latency, summary.overall
    if result is None:
        return []
    never = [CellLatency(cell.case_id, cell.variant, no_calls(), 0, 0) for cell in uncalled]
    n_cells = overall.count("latency.cells") + len(never)
    unanswered = overall.count("latency.timeouts"), overall.count("latency.failures")
    by_case = latency_by_case([*result.cells, *never], n_cells, unanswered)
    return [by_case, latency_histogram(result, overall)]
