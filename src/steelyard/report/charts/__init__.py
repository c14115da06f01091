"""Charts of a run as Vega-Lite specifications; imports what `report` may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.records import RunHeader
from steelyard.report.charts.base import Chart
from steelyard.report.charts.counts import counts, pass_fail, stated_latency, stated_stability, with_stated_values
from steelyard.report.charts.latency import latency_by_case, latency_histogram, stability

# All charts that a run's figures give.

CHARTS = ("pass_fail", "counts", "stability", "latency_by_case", "latency_histogram")
"""What the charts of a run are called, but for the counts of several checks."""


def charts_of(summary: Summary, header: RunHeader | None = None) -> list[Chart]:
    """Every chart that has something to show.

    Of a run that another tool recorded, whose `header` says what that tool states, also charts of what is stated and
    cannot be computed.
    """
    imported = None if header is None else header.options.imported
    stated = {} if imported is None else imported.stated
    charts: list[Chart | None] = []
    if summary.checks is not None:
        charts += [pass_fail(summary.checks), *counts(with_stated_values(summary.checks, stated))]
    charts.append(_stability(summary, stated))
    charts += _latency(summary, stated)
    return [item for item in charts if item is not None]


def _stability(summary: Summary, stated: Mapping[str, Any]) -> Chart | None:
    if (figures := stated_stability(stated)) is not None:
        return stability(figures, stated=True)
    return None if summary.stability is None else stability(summary.stability)


def _latency(summary: Summary, stated: Mapping[str, Any]) -> list[Chart | None]:
    if (figures := stated_latency(stated)) is not None:
        return [latency_by_case(figures, stated=True)]
    result = summary.latency
    return [] if result is None else [latency_by_case(result), latency_histogram(result)]
