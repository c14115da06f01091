"""The charts of trends: one of each, one with a panel for each slice or code, and the scores run by run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard.frozen import frozen, values_of
from steelyard.report.charts.base import (
    BLUE,
    MUTED,
    PALE_BLUE,
    Chart,
    chart,
    distinct,
    layer,
    short_name,
)
from steelyard.report.charts.scores import scores_chart
from steelyard.report.format import when
from steelyard.run_history.chart_marks import MarkPlaces, gate_lines, standing_lines
from steelyard.run_history.history import History, Trend, days, figure_by_slice
from steelyard.stats.intervals import Estimate
from steelyard.wording import in_unit

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_WIDTH = 640
_HEIGHT, _PANEL = 260, 84
_SHARES = ("share", "score")


@frozen
class _Axis:
    """The runs along the horizontal axis: all of them, those in the trends by their place among these."""

    names: tuple[str, ...]
    trended: tuple[str, ...]
    left_out: tuple[str, ...]
    stretches: tuple[int, ...]
    """For each run of the trends, how often the signature changed before it: no line joins two signatures."""

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
    """A chart for each trend, one with a panel for each slice or code, and the scores run by run with their targets;
    none of fewer than two runs."""
    if len(history.in_trends) < 2:
        return []
    axis = _axis(history)
    charts = [_single(history, trend, axis) for trend in history.trends]
    if history.grouped:
        charts.append(_panels(history, axis))
    return [*charts, *filter(None, [_scores_by_run(history)])]


def _scores_by_run(history: History) -> Chart | None:
    """The scores of each run, with the name of its target, newest first; None of fewer than two runs."""
    runs = history.runs[::-1]
    if len(runs) < 2:
        return None
    nothing = Estimate(None, 0)
    rows = [
        (
            f"{run.target}, {when(run.answered_at)}",
            run.figures.get("average", nothing),
            run.figures.get("pass_rate") if history.passing else None,
        )
        for run in runs
    ]
    return scores_chart("scores_by_run", f"{short_name(history.suite)}: scores by run", rows)


def _axis(history: History) -> _Axis:
    names = distinct(days([run.answered_at for run in history.runs]))
    breaks = [mark.at for mark in history.marks if mark.signature_part]
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
    what = "findings by code" if history.by == "code" else f"{figure_by_slice(history)} by {history.by}"
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


def _subtitle(history: History, trends: Sequence[Trend], axis: _Axis, which: str) -> list[str]:
    """How much there is, and below it how to read what is drawn."""
    excluded = f", {len(axis.left_out)} more not in the trend (x)" if axis.left_out else ""
    first = f"{len(axis.trended)} runs with 95 % intervals{excluded}" + (f"; {which}" if which else "")
    parts = [
        ("green dashes: gate", any(trend.gates for trend in trends)),
        ("dotted: the signature or the truth changed", any(mark.signature_part for mark in history.marks)),
        ("thin: the target, model or prompts changed", any(not mark.signature_part for mark in history.marks)),
        ("thick orange: the level changed", any(trend.changes for trend in trends)),
    ]
    return [first, "; ".join(message for message, there in parts if there)]


def _about(trend: Trend, axis: _Axis) -> str:
    available = [value.value for value in trend.values if value.value is not None]
    ends = f", from {in_unit(available[0], trend.unit)} to {in_unit(available[-1], trend.unit)}" if available else ""
    changes = "; ".join(change.sentence for change in trend.changes)
    return f"{trend.metric} over {len(axis.trended)} runs{ends}" + (f". {changes}" if changes else "")


def _layers(history: History, trend: Trend, axis: _Axis, *, labels: bool, last: bool = True) -> list[dict[str, Any]]:
    x, y = axis.x(labels=last), _y_axis(trend)
    values = [
        {"run": name, **values_of(item, "value", "low", "high"), "stretch": stretch}
        for name, item, stretch in zip(axis.trended, trend.values, axis.stretches, strict=True)
        if item.value is not None
    ]
    banded = [value for value in values if value["low"] is not None and value["high"] is not None]
    # An area of one run has no width, and would not be seen.
    alone = {stretch for stretch, n in Counter(item["stretch"] for item in banded).items() if n == 1}
    apart = {"field": "stretch", "type": "nominal"}
    value = y | {"field": "value"}
    low, high = y | {"field": "low"}, {"field": "high"}
    band = {"type": "area", "color": PALE_BLUE, "opacity": 0.6}
    bar = {"type": "rule", "color": PALE_BLUE, "strokeWidth": 8, "opacity": 0.6}
    dot = {"type": "point", "color": BLUE, "filled": True, "size": 36, "opacity": 1}
    cross = {"type": "text", "text": "x", "color": MUTED, "fontSize": 12, "dy": -5}
    excluded = [{"run": name} for name in axis.left_out]
    standing = MarkPlaces(_WIDTH, axis.names, axis.trended, x)
    layers = [
        layer([item for item in banded if item["stretch"] not in alone], band, x=x, y=low, y2=high, detail=apart),
        layer([item for item in banded if item["stretch"] in alone], bar, x=x, y=low, y2=high),
        *gate_lines(trend, y, (_WIDTH, _HEIGHT) if labels else None),
        *standing_lines(history, trend, standing, labels=labels),
        layer(values, {"type": "line", "color": BLUE, "strokeWidth": 2}, x=x, y=value, detail=apart),
        layer(values, dot, x=x, y=value),
        layer(excluded, cross, x=x, y={"value": _HEIGHT if labels else _PANEL}),
    ]
    return [item for item in layers if item["data"]["values"]]


def _y_axis(trend: Trend) -> dict[str, Any]:
    ends = [end for value in trend.values for end in (value.value, value.low, value.high) if end is not None]
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
