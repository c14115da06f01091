"""How long answers took: case by case with the 95th percentile, and all together as a histogram."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.latency_model import CellLatency, LatencyFigures, Spread
from steelyard.report.charts.base import (
    BLUE,
    INK,
    MOST_ROWS,
    MUTED,
    PALE_BLUE,
    Chart,
    chart,
    height,
    row_name,
    rows_axis,
    rows_shown,
)


def latency_by_case(figures: LatencyFigures) -> Chart | None:
    """Mean time of each case as a bar, with a tick at the 95th percentile; None when no call was answered."""
    if not figures.overall.n:
        return None
    shown = list(figures.cells)
    if len(shown) > MOST_ROWS:
        shown = sorted(shown, key=lambda cell: -(cell.spread.p95 or 0.0))[:MOST_ROWS]
    unit, factor = _unit(max((cell.spread.p95 or 0.0 for cell in shown), default=0.0))
    values = [_row(cell, factor, unit) for cell in shown]
    names = [value["row"] for value in values]
    y = rows_axis(names)
    x = {"type": "quantitative", "title": f"time of answered calls, {unit}", "scale": {"zero": True, "nice": True}}
    told = {"field": "told", "type": "nominal"}
    missing = _missing(figures)
    return chart(
        "latency_by_case",
        "Latency by case",
        f"bar: mean, tick: 95th percentile; {rows_shown(len(shown), figures.n_cells, 'slowest')}{missing}",
        f"Mean and 95th percentile of the time of answered calls for {len(shown)} cases",
        data={"values": values},
        width=520,
        height=height(),
        encoding={"y": y},
        layer=[
            {"mark": {"type": "bar", "color": PALE_BLUE, "height": 11}, "encoding": {"x": {"field": "mean", **x}}},
            {
                "mark": {"type": "rule", "color": BLUE},
                "encoding": {"x": {"field": "mean", **x}, "x2": {"field": "p95"}},
            },
            {
                "mark": {"type": "tick", "color": BLUE, "thickness": 3, "size": 13, "opacity": 1},
                "encoding": {"x": {"field": "p95", **x}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 11},
                "encoding": {"x": {"field": "end", **x}, "text": told},
            },
        ],
    )


def latency_histogram(figures: LatencyFigures) -> Chart | None:
    """How many calls took how long; None when no call was answered."""
    if not figures.bars:
        return None
    unit, factor = _unit(figures.overall.max or 0.0)
    values = [{"low": bar.low * factor, "high": bar.high * factor, "count": bar.count} for bar in figures.bars]
    overall = figures.overall
    lines: list[dict[str, Any]] = [
        {"at": at * factor, "name": f"{name} {_time(at)}"}
        for name, at in (("p50", overall.p50), ("p95", overall.p95), ("p99", overall.p99))
        if at is not None
    ]
    x = {"type": "quantitative", "title": f"time of answered calls, {unit}", "scale": {"nice": False}}
    return chart(
        "latency_histogram",
        "Latency of all answered calls",
        f"{overall.n:,} calls; " + ", ".join(line["name"] for line in lines) + _missing(figures),
        f"Histogram of the times of {overall.n} answered calls",
        width=520,
        height=220,
        layer=[
            {
                "data": {"values": values},
                "mark": {"type": "bar", "color": PALE_BLUE, "stroke": BLUE},
                "encoding": {
                    "x": {"field": "low", "bin": {"binned": True}, **x},
                    "x2": {"field": "high"},
                    "y": {"field": "count", "type": "quantitative", "title": "calls"},
                },
            },
            {
                "data": {"values": lines},
                "mark": {"type": "rule", "color": MUTED, "strokeDash": [4, 3]},
                "encoding": {"x": {"field": "at", **x}},
            },
        ],
    )


def _row(cell: CellLatency, factor: float, unit: str) -> dict[str, Any]:
    spread = cell.spread
    row: dict[str, Any] = {"row": row_name(cell.case_id, cell.variant), "told": _told(cell), "end": 0.0}
    if spread.mean is not None and spread.p95 is not None:
        end = max(spread.mean, spread.p95) * factor
        row |= {"mean": spread.mean * factor, "p95": spread.p95 * factor, "end": end, "unit": unit}
    return row


def _told(cell: CellLatency) -> str:
    parts = [_summed_up(cell.spread)]
    if cell.timeouts:
        parts.append(f"{cell.timeouts} timed out")
    if cell.failures:
        parts.append(f"{cell.failures} failed")
    return ", ".join(parts)


def _summed_up(spread: Spread) -> str:
    if spread.mean is None or spread.p95 is None:
        return "no answered call"
    return f"{_time(spread.mean)}, p95 {_time(spread.p95)} (n {spread.n})"


def _missing(figures: LatencyFigures) -> str:
    found = [
        f"{count:,} {what}" for count, what in ((figures.timeouts, "timed out"), (figures.failures, "failed")) if count
    ]
    return f"; {' and '.join(found)}, not in it" if found else ""


def _unit(largest: float) -> tuple[str, float]:
    return ("ms", 1_000.0) if largest < 1.0 else ("s", 1.0)


def _time(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{seconds * 1_000:.3g} ms"
    return f"{seconds * 1_000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"
