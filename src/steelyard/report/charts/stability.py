"""How alike repeats are: a heat map of cases and fields."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.model import Estimate
from steelyard.analysis.stability_model import CellStability, StabilityFigures
from steelyard.report.charts.base import GREY, INK, MOST_ROWS, Chart, chart, height, row_name, rows_axis, rows_shown

_PRESENCE = "presence"


def stability(figures: StabilityFigures) -> Chart | None:
    """A heat map of how alike the repeats of each case are, field by field; None without cases."""
    if not figures.cells:
        return None
    cells = list(figures.cells)
    if len(cells) > MOST_ROWS:
        cells = sorted(cells, key=_least)[:MOST_ROWS]
    columns = [_PRESENCE, *figures.how]
    values = [_square(cell, column) for cell in cells for column in columns]
    which = rows_shown(len(cells), figures.n_cells, "least stable")
    return chart(
        "stability",
        "Stability over repeats",
        f"100 %: the same every time; grey: nothing to compare; {which}",
        f"Heat map of how alike the repeats of {len(cells)} cases are, by {', '.join(columns)}",
        data={"values": values},
        width={"step": 120},
        height=height(),
        encoding={
            "y": rows_axis([row_name(cell.case_id, cell.variant) for cell in cells]),
            "x": {
                "field": "column",
                "type": "nominal",
                "sort": columns,
                "title": None,
                "axis": {"orient": "top", "labelAngle": 0, "domain": False, "ticks": False},
            },
        },
        layer=[
            {
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "condition": {"test": "datum.share === null", "value": GREY},
                        "field": "share",
                        "type": "quantitative",
                        # Light to dark in one direction: it reads the same without colour.
                        "scale": {"domain": [0, 1], "scheme": "cividis"},
                        "legend": {"title": "alike", "format": ".0%", "orient": "right"},
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "told"},
                    "color": {
                        "condition": {"test": "datum.share !== null && datum.share < 0.55", "value": "white"},
                        "value": INK,
                    },
                },
            },
        ],
    )


def _square(cell: CellStability, column: str) -> dict[str, Any]:
    figure = cell.presence if column == _PRESENCE else cell.fields.get(column, Estimate(None, 0))
    told = "n/a" if figure.value is None else f"{_percent(figure.value)} (n {figure.n:,})"
    return {"row": row_name(cell.case_id, cell.variant), "column": column, "share": figure.value, "told": told}


def _percent(share: float) -> str:
    """Never 100 % for what is not the same every time."""
    return "100 %" if share >= 1.0 else f"{min(share * 100, 99.9):.3g} %"


def _least(cell: CellStability) -> float:
    values = [figure.value for figure in (cell.presence, *cell.fields.values()) if figure.value is not None]
    return min(values, default=2.0)
