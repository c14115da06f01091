"""Charts of latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from steelyard.analysis.histogram import Bar
from steelyard.analysis.latency import CellLatency, LatencyDetails, percentiles
from steelyard.metrics.figures import Slice
from steelyard.records import AtLeast
from steelyard.report.charts.base import (
    BLUE,
    INK,
    MOST_ROWS,
    MUTED,
    PALE_BLUE,
    STATED,
    Chart,
    based_on,
    chart,
    height,
    layer,
    row_names,
    rows_axis,
    rows_shown,
)
from steelyard.wording import seconds

_WIDTH, _HEIGHT = 520, 220
_LINE = 13
"""Pixels between two names that stand one below the other."""
_NEAR_THE_LEFT = 0.07


def latency_by_case(
    cells: Sequence[CellLatency], n_cells: int, unanswered: tuple[int, int], *, stated: bool = False
) -> Chart | None:
    """Mean time of each of `n_cells` cases as a bar, with a tick at the 95th percentile; None when no call has a time.

    `unanswered` are the calls that timed out and those that failed otherwise; `stated` says that another tool states
    the figures.
    """
    if all(cell.spread["mean"] is None for cell in cells):
        return None
    shown, timed = list(cells), timed_calls(unanswered[0])
    if len(shown) > MOST_ROWS:
        shown = sorted(shown, key=lambda cell: -(cell.spread.tail[1] or 0.0))[:MOST_ROWS]
    unit, factor = _unit(max((cell.spread.tail[1] or 0.0 for cell in shown), default=0.0))
    names = row_names(shown)
    values = [{"row": name, **_row(cell, factor)} for name, cell in zip(names, shown, strict=True)]
    x = {
        "type": "quantitative",
        "title": f"time of {timed}, {unit}",
        "scale": {"zero": True, "nice": True},
        "axis": {"tickCount": 8},
    }
    which = rows_shown(shown, n_cells, "slowest", n_known=len(cells)) + _missing(*unanswered)
    source = STATED if stated else ""
    kinds = {cell.spread.tail[0] for cell in shown if cell.spread.n}
    tick = (
        "longest call"
        if kinds == {"max"}
        else "95th percentile" + (", of few calls the longest" if len(kinds) > 1 else "")
    )
    return chart(
        "latency_by_case",
        "Latency by case",
        f"{source}bar: mean, tick: {tick}; {which}",
        f"{source}Mean and {tick} of the time of {timed} for {which}",
        data={"values": values},
        width=_WIDTH,
        height=height(),
        encoding={"y": rows_axis(names)},
        layer=[
            {"mark": {"type": "bar", "color": PALE_BLUE, "height": 11}, "encoding": {"x": {"field": "mean", **x}}},
            {
                "mark": {"type": "rule", "color": BLUE},
                "encoding": {"x": {"field": "mean", **x}, "x2": {"field": "tail"}},
            },
            {
                "mark": {"type": "tick", "color": BLUE, "thickness": 3, "size": 13, "opacity": 1},
                "encoding": {"x": {"field": "tail", **x}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 11},
                "encoding": {"x": {"field": "end", **x}, "text": {"field": "message", "type": "nominal"}},
            },
        ],
    )


def latency_histogram(details: LatencyDetails, overall: Slice) -> Chart | None:
    """How many answered calls took how long, with the percentiles of all calls as lines; None when none was answered.

    A percentile that is a lower bound has no line: it lies somewhere to the right of where it would stand.
    """
    if not details.bars:
        return None
    unit, factor = _unit(details.bars[-1].high)
    values = [_bar(bar, factor) for bar in details.bars]
    points = [(name, at) for name in percentiles() if (at := overall[f"latency.{name}"].value)]
    missing = _missing(overall.count("latency.timeouts"), overall.count("latency.failures"))
    ends = values[0]["low"], values[-1]["high"]
    x = {
        "type": "quantitative",
        "title": f"time of answered calls, {unit}{' (logarithmic)' if details.log_bars else ''}",
        "scale": {
            "type": "log" if details.log_bars else "linear",
            "domain": list(ends),
            "nice": False,
            "zero": False,
        },
        "axis": {"tickCount": 10, "grid": False},
    }
    lines = [(name, at * factor) for name, at in points if not isinstance(at, AtLeast)]
    before = bool(lines) and not _is_far_left(lines[0][1], ends, by_ratio=details.log_bars)
    message = ", ".join(f"{name} {seconds(at)}" for name, at in points)
    answered = sum(bar.count for bar in details.bars)
    calls = f"{answered:,} call" if answered == 1 else f"{answered:,} calls"
    return chart(
        "latency_histogram",
        "Latency of all answered calls",
        f"{calls}; {message}{missing}",
        f"Histogram of the times of {calls} that were answered; {message}{missing}",
        width=_WIDTH,
        height=_HEIGHT,
        layer=[_bars(values, x), *_percentiles(lines, x, before=before)],
    )


def _bars(values: list[dict[str, Any]], x: dict[str, Any]) -> dict[str, Any]:
    highest = max(value["count"] for value in values)
    counts = {"values": list(range(highest + 1))} if highest <= 5 else {"tickCount": 5, "format": ",d"}
    return layer(
        values,
        {"type": "rect", "color": PALE_BLUE, "stroke": BLUE},
        x={"field": "low", **x},
        x2={"field": "high"},
        y={"field": "count", "type": "quantitative", "title": "calls", "axis": counts},
        y2={"datum": 0},
    )


def _percentiles(lines: list[tuple[str, float]], x: dict[str, Any], *, before: bool) -> list[dict[str, Any]]:
    """A dashed line for each with its name before or behind it.

    Each line begins at the height of its name, those that the name might cross below it: none strikes a name out.
    """
    layers: list[dict[str, Any]] = []
    for place, (name, at) in enumerate(reversed(lines) if before else lines):
        top = _LINE * place + 8
        across, values = {"field": "at", **x}, [{"at": at, "name": name}]
        rule = {"type": "rule", "color": MUTED, "strokeDash": [4, 3]}
        side = {"align": "right", "dx": -4} if before else {"align": "left", "dx": 4}
        text = {"type": "text", "y": top, "color": INK, "fontSize": 11, "fontWeight": "bold", **side}
        layers.append(layer(values, rule, x=across, y={"value": top - 5}, y2={"value": _HEIGHT}))
        layers.append(layer(values, text, x=across, text={"field": "name", "type": "nominal"}))
    return layers


def _is_far_left(at: float, ends: tuple[float, float], *, by_ratio: bool) -> bool:
    """Whether a place is so near the left end of the axis that a name before it would run into the labels there."""
    low, high = ends
    if by_ratio:
        at, low, high = math.log(at), math.log(low), math.log(high)
    return at < low + _NEAR_THE_LEFT * (high - low)


def _bar(bar: Bar, factor: float) -> dict[str, Any]:
    # Rounded, because 0.07 * 1000 is not 70.
    return {"low": float(f"{bar.low * factor:.12g}"), "high": float(f"{bar.high * factor:.12g}"), "count": bar.count}


def _row(cell: CellLatency, factor: float) -> dict[str, Any]:
    mean, (_, tail) = cell.spread["mean"], cell.spread.tail
    row: dict[str, Any] = {"message": _message(cell), "end": 0.0}
    if mean is not None and tail is not None:
        row |= {"mean": mean * factor, "tail": tail * factor, "end": max(mean, tail) * factor}
    return row


def _message(cell: CellLatency) -> str:
    name, tail = cell.spread.tail
    text = "no call with a time"
    mean = cell.spread["mean"]
    if mean is not None and tail is not None:
        text = f"mean {seconds(mean)}, {name} {seconds(tail)} ({based_on(cell.spread.n)})"
    counts = ((cell.timeouts, "timed out"), (cell.failures, "failed"))
    return ", ".join([text, *(f"{count} {what}" for count, what in counts if count)])


def timed_calls(timeouts: int) -> str:
    """The calls that have a time, in words: those that timed out among them took at least the time waited."""
    return "calls" if timeouts else "answered calls"


def _missing(timeouts: int, failures: int) -> str:
    """What is known of calls that were not answered: those that timed out count in every figure as the time waited."""
    parts = [f"{timeouts:,} timed out: at least the time waited"] if timeouts else []
    parts += [f"{failures:,} failed, not in it"] if failures else []
    return "".join(f"; {part}" for part in parts)


def _unit(largest: float) -> tuple[str, float]:
    return ("ms", 1_000.0) if largest < 1.0 else ("s", 1.0)
