"""Figures over the runs of a suite: a line with its interval, gates as lines, what changed between runs as marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.release.gates import shown
from steelyard.release.history_marks import day
from steelyard.release.history_model import History, Trend
from steelyard.report.charts.base import (
    BLUE,
    DARK_VERMILLION,
    GREEN,
    INK,
    MUTED,
    PALE_BLUE,
    VERMILLION,
    Chart,
    chart,
    distinct,
    short_name,
)

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_WIDTH = 640
_HEIGHT, _PANEL = 260, 84
_SHARES = ("share", "score")


@dataclass(frozen=True, slots=True)
class _Axis:
    """The runs along the horizontal axis: all of them, those in the trends by their place among these."""

    names: tuple[str, ...]
    trended: tuple[str, ...]
    left_out: tuple[str, ...]
    stretches: tuple[int, ...]
    """For each run of the trends, how often the instrument changed before it: no line joins two instruments."""

    def x(self, *, labels: bool = True) -> dict[str, Any]:
        return {
            "field": "run",
            "type": "ordinal",
            "sort": list(self.names),
            "title": None,
            "scale": {"domain": list(self.names), "type": "point", "padding": 0.5},
            "axis": {"labelAngle": -40, "labelOverlap": "greedy", "grid": False, "labels": labels, "ticks": labels},
        }


def trend_charts(history: History) -> list[Chart]:
    """A chart for each trend, and one with a panel for each slice or code; none of fewer than two runs."""
    if len(history.in_trends) < 2:
        return []
    axis = _axis(history)
    charts = [_single(history, trend, axis) for trend in history.trends]
    if history.grouped:
        charts.append(_panels(history, axis))
    return charts


def _axis(history: History) -> _Axis:
    names = distinct([day(run.answered_at) for run in history.runs])
    breaks = [mark.at for mark in history.marks if mark.instrument]
    return _Axis(
        tuple(names),
        tuple(name for name, run in zip(names, history.runs, strict=True) if not run.left_out),
        tuple(name for name, run in zip(names, history.runs, strict=True) if run.left_out),
        tuple(sum(at <= place for at in breaks) for place in range(len(history.in_trends))),
    )


def _single(history: History, trend: Trend, axis: _Axis) -> Chart:
    return chart(
        f"trend_{_NOT_IN_A_FILE_NAME.sub('_', trend.metric)}",
        f"{short_name(history.suite)}: {short_name(trend.title)}",
        _subtitle(history, [trend], axis, ""),
        _about(trend, axis),
        width=_WIDTH,
        height=_HEIGHT,
        layer=_layers(history, trend, axis, labels=True),
    )


def _panels(history: History, axis: _Axis) -> Chart:
    what = "findings by code" if history.by == "code" else f"{_metric_of(history.grouped[0])} by {history.by}"
    n, of = len(history.grouped), history.n_groups
    which = "" if n == of else f"{n} of {of}, those that moved most first"
    panels = [
        {
            "title": {"text": short_name(trend.title), "fontSize": 12},
            "width": _WIDTH,
            "height": _PANEL,
            "layer": _layers(history, trend, axis, labels=False, last=trend is history.grouped[-1]),
        }
        for trend in history.grouped
    ]
    return chart(
        f"trend_by_{history.by}",
        f"{short_name(history.suite)}: {what}",
        _subtitle(history, history.grouped, axis, which),
        f"{what} over {len(axis.trended)} runs",
        vconcat=panels,
        spacing=8,
    )


def _metric_of(trend: Trend) -> str:
    return trend.metric.rpartition(f".{trend.title}.")[2] or trend.metric


def _subtitle(history: History, trends: Sequence[Trend], axis: _Axis, which: str) -> list[str]:
    """How much there is, and below it how to read what is drawn."""
    aside = f", {len(axis.left_out)} more without a part in the trend (x)" if axis.left_out else ""
    first = f"{len(axis.trended)} runs with 95 % intervals{aside}" + (f"; {which}" if which else "")
    parts = [
        ("green dashes: gate", any(each.gates for each in trends)),
        ("dotted: the instrument or the truth changed", any(mark.instrument for mark in history.marks)),
        ("thin: what is weighed changed", any(not mark.instrument for mark in history.marks)),
        ("thick orange: the level changed", any(each.changes for each in trends)),
    ]
    return [first, "; ".join(told for told, there in parts if there)]


def _about(trend: Trend, axis: _Axis) -> str:
    known = [value.value for value in trend.values if value.value is not None]
    ends = f", from {shown(known[0], trend.unit)} to {shown(known[-1], trend.unit)}" if known else ""
    changes = "; ".join(change.sentence for change in trend.changes)
    return f"{trend.metric} over {len(axis.trended)} runs{ends}" + (f". {changes}" if changes else "")


def _layers(history: History, trend: Trend, axis: _Axis, *, labels: bool, last: bool = True) -> list[dict[str, Any]]:
    x, y = axis.x(labels=last), _y_axis(trend)
    values = [
        {"run": name, "value": each.value, "low": each.low, "high": each.high, "stretch": stretch}
        for name, each, stretch in zip(axis.trended, trend.values, axis.stretches, strict=True)
        if each.value is not None
    ]
    banded = [one for one in values if one["low"] is not None and one["high"] is not None]
    apart = {"field": "stretch", "type": "nominal"}
    value = y | {"field": "value"}
    band = {"type": "area", "color": PALE_BLUE, "opacity": 0.6}
    dot = {"type": "point", "color": BLUE, "filled": True, "size": 36, "opacity": 1}
    cross = {"type": "text", "text": "x", "color": MUTED, "fontSize": 12, "dy": -5}
    aside = [{"run": name} for name in axis.left_out]
    layers = [
        _layer(banded, band, x, y | {"field": "low"}, {"field": "high"}, detail=apart),
        *_rules(history, trend, axis, x, y, labels=labels),
        _layer(values, {"type": "line", "color": BLUE, "strokeWidth": 2}, x, value, detail=apart),
        _layer(values, dot, x, value),
        _layer(aside, cross, x, {"value": _HEIGHT if labels else _PANEL}),
    ]
    return [layer for layer in layers if layer["data"]["values"]]


def _layer(
    values: list[dict[str, Any]],
    mark: dict[str, Any],
    x: dict[str, Any] | None,
    y: dict[str, Any] | None,
    y2: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    places = {"x": x, "y": y, "y2": y2, **more}
    return {
        "data": {"values": values},
        "mark": mark,
        "encoding": {name: one for name, one in places.items() if one is not None},
    }


def _y_axis(trend: Trend) -> dict[str, Any]:
    ends = [end for each in trend.values for end in (each.value, each.low, each.high) if end is not None]
    ends += [threshold for _, threshold in trend.gates]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    room = (high - low) * 0.1 or 0.05
    domain = [low - room, high + room]
    shares = trend.unit in _SHARES
    if shares:
        domain = [max(0.0, domain[0]), min(1.0, domain[1])]
    axis = {"format": ".0%" if domain[1] - domain[0] > 0.1 else ".1%"} if shares else {}
    title = None if shares else {"s": "seconds"}.get(trend.unit, trend.unit)
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"domain": domain, "zero": False, "nice": False},
        "axis": axis | {"tickCount": 5},
    }


def _rules(
    history: History, trend: Trend, axis: _Axis, x: dict[str, Any], y: dict[str, Any], *, labels: bool
) -> list[dict[str, Any]]:
    """Gates lie, changes stand."""
    gates = [{"value": limit, "told": f"gate {sign} {shown(limit, trend.unit)}"} for sign, limit in trend.gates]
    instrument, subject = (
        [
            {"run": axis.trended[mark.at], "told": f"{', '.join(mark.parts)} changed"}
            for mark in history.marks
            if mark.instrument is one
        ]
        for one in (True, False)
    )
    changes = [
        {"run": axis.trended[each.at], "told": f"level {'rose' if each.after > each.before else 'fell'}"}
        for each in trend.changes
    ]
    flat = {"type": "rule", "color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}
    stands = {"type": "rule", "strokeWidth": 1.5}
    layers = [
        _layer(gates, flat, None, y | {"field": "value"}),
        _layer(changes, stands | {"color": VERMILLION, "strokeWidth": 4, "opacity": 0.55}, x, None),
        _layer(subject, stands | {"color": MUTED, "strokeWidth": 0.75}, x, None),
        _layer(instrument, stands | {"color": INK, "strokeDash": [2, 3]}, x, None),
    ]
    if labels:
        text = {"type": "text", "align": "left", "fontSize": 11, "dx": 5}
        told = {"field": "told", "type": "nominal"}
        layers += [
            _layer(gates, text | {"dy": -7, "color": GREEN}, {"value": 0}, y | {"field": "value"}, text=told),
            _layer(instrument, text | {"color": INK}, x, {"value": 8}, text=told),
            _layer(subject, text | {"color": MUTED}, x, {"value": 21}, text=told),
            _layer(changes, text | {"color": DARK_VERMILLION}, x, {"value": 34}, text=told),
        ]
    return layers
