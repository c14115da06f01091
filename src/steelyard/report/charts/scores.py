"""Charts of scores by group: by variant, by single factor and by category; other groups as their rows are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.frozen import values_of
from steelyard.metrics.figures import Slice
from steelyard.report.charts.base import (
    BLUE,
    LIGHT_BLUE,
    VERMILLION,
    Chart,
    based_on,
    chart,
    distinct,
    layer,
    rows_axis,
    short_name,
)
from steelyard.report.format import percent
from steelyard.stats.intervals import Estimate

_MOST_ROWS = 40
_ROW = 20
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_AVERAGE, _PASS_RATE = "average score", "pass rate"
_X = {
    "type": "quantitative",
    "title": None,
    "scale": {"domain": [0, 1]},
    "axis": {"format": "%", "tickCount": 5},
}


def score_charts(slices: Mapping[str, Sequence[Slice]], *, passing: bool) -> dict[str, Chart]:
    """By factor that has several groups (variants, single factors of them, categories), its scores as a chart."""
    charts = {}
    for factor, groups in slices.items():
        if len(groups) < 2 or not (factor == "category" or factor.partition(".")[0] == "variant"):
            continue
        name = factor.removeprefix("variant.")
        rows = [(group.name, group["average"], group["pass_rate"] if passing else None) for group in groups]
        file = f"scores_by_{_NOT_IN_A_FILE_NAME.sub('_', factor)}"
        charts[factor] = scores_chart(file, f"Scores by {short_name(name)}", rows)
    return charts


def scores_chart(file: str, title: str, given: Sequence[tuple[str, Estimate, Estimate | None]]) -> Chart:
    """Rows of a name, an average and a pass rate, each with its interval; no more than fit into a picture."""
    shown = given[:_MOST_ROWS]
    names = distinct([name for name, _, _ in shown])
    values: list[dict[str, Any]] = []
    for row, (_, average, pass_rate) in zip(names, shown, strict=True):
        for figure, estimate in ((_AVERAGE, average), (_PASS_RATE, pass_rate)):
            if estimate is not None and estimate.value is not None:
                ends = values_of(estimate, "low", "high") if estimate.low is not None else {}
                message = f"{percent(estimate.value)}, {based_on(estimate.n)}"
                shown_as = {"row": row, "figure": figure, "value": estimate.value, "message": message}
                values.append(shown_as | values_of(estimate, "n", "n_missing") | ends)
    figures = [name for name in (_AVERAGE, _PASS_RATE) if any(item["figure"] == name for item in values)]
    y = rows_axis(names)
    beside = {"field": "figure", "type": "nominal", "sort": figures}
    legend = {"title": None, "legend": {"orient": "top", "direction": "horizontal"} if len(figures) > 1 else None}
    colour = beside | legend | {"scale": {"domain": figures, "range": [BLUE, VERMILLION][: len(figures)]}}
    offset = {"yOffset": beside} if len(figures) > 1 else {}
    which = f"{len(shown)} of {len(given):,}" if len(shown) < len(given) else f"{len(given)}"
    first = next((item for item in values if item["figure"] == _AVERAGE), None)
    about = f"{title}: {' and '.join(figures) or 'nothing was scored'} with 95 % intervals, {which} rows"
    about += f"; {first['row']} {first['message']}" if first else ""
    return chart(
        file,
        title,
        f"{', '.join(figures) or 'nothing was scored'}; lines: 95 % intervals; {which} rows",
        about,
        width=420,
        height={"step": _ROW},
        layer=[
            layer(
                [item for item in values if "low" in item],
                {"type": "rule", "strokeWidth": 5, "color": LIGHT_BLUE, "opacity": 0.7},
                y=y,
                x=_X | {"field": "low"},
                x2={"field": "high"},
                **offset,
            ),
            layer(
                values,
                {"type": "point", "filled": True, "size": 60, "opacity": 1},
                y=y,
                x=_X | {"field": "value"},
                color=colour,
                shape=beside | legend | {"scale": {"domain": figures}},
                **offset,
            ),
            layer(
                values,
                {"type": "text", "align": "left", "baseline": "middle", "fontSize": 11, "dx": 4},
                y=y,
                x={"value": 424},
                text={"field": "message"},
                **offset,
            ),
        ],
    )
