"""All charts that a run's figures give."""

from __future__ import annotations

from steelyard.analysis.model import Summary
from steelyard.report.charts.base import Chart
from steelyard.report.charts.counts import counts
from steelyard.report.charts.grid import pass_fail
from steelyard.report.charts.latency import latency_by_case, latency_histogram
from steelyard.report.charts.stability import stability


def charts_of(summary: Summary) -> list[Chart]:
    """Every chart that has something to show."""
    found: list[Chart | None] = []
    if summary.checks is not None:
        found += [pass_fail(summary.checks), *counts(summary.checks)]
    if summary.stability is not None:
        found.append(stability(summary.stability))
    if summary.latency is not None:
        found += [latency_by_case(summary.latency), latency_histogram(summary.latency)]
    return [each for each in found if each is not None]
