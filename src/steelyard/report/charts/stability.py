"""How alike repeats are: a heat map of cases and fields."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.model import Estimate
from steelyard.analysis.stability import CellStability, StabilityFigures
from steelyard.report import format as words
from steelyard.report.charts.base import (
    BLACK,
    GREY,
    MOST_ROWS,
    STATED,
    WHITE,
    Chart,
    based_on,
    chart,
    columns_axis,
    distinct,
    height,
    row_names,
    rows_axis,
    rows_shown,
)

_PRESENCE = "presence"
_COLUMN = 120
_DARK_BELOW = 0.46
"""Where the colours of the map become too light for white letters and light enough for black ones."""


def stability(figures: StabilityFigures, *, stated: bool = False) -> Chart | None:
    """A heat map of how alike the repeats of each case are, field by field; None without cases.

    `stated` says that another tool states the figures.
    """
    cells = list(figures.cells)
    if not cells:
        return None
    if len(cells) > MOST_ROWS:
        cells = sorted(cells, key=_least)[:MOST_ROWS]
    fields = [_PRESENCE, *figures.how]
    if stated and all(cell.presence.value is None for cell in cells):
        fields.remove(_PRESENCE)
    columns, rows = distinct(fields), row_names(cells)
    values = [
        {"row": row, "column": column, **_square(estimate)}
        for row, cell in zip(rows, cells, strict=True)
        for column, estimate in zip(columns, _estimates(cell, fields), strict=True)
    ]
    which = rows_shown(cells, figures.n_cells, "least stable", n_known=len(figures.cells))
    return chart(
        "stability",
        "Stability over repeats",
        f"{STATED if stated else ''}100 %: the same every time; grey: nothing to compare; n: comparisons; {which}",
        f"{STATED if stated else ''}Heat map of how alike the repeats of {which} are, by {', '.join(columns)}",
        data={"values": values},
        width={"step": _COLUMN},
        height=height(),
        encoding={"y": rows_axis(rows), "x": columns_axis(columns)},
        layer=[
            # A map of shares leaves out what has none.
            {
                "transform": [{"filter": "!isValid(datum.share)"}],
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2, "color": GREY},
            },
            {
                "transform": [{"filter": "isValid(datum.share)"}],
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "field": "share",
                        "type": "quantitative",
                        # Dark to light in one direction: it reads the same without colour.
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
                        "condition": {
                            "test": f"isValid(datum.share) && datum.share < {_DARK_BELOW}",
                            "value": WHITE,
                        },
                        "value": BLACK,
                    },
                },
            },
        ],
    )


def _estimates(cell: CellStability, fields: list[str]) -> list[Estimate]:
    known = {**cell.fields, _PRESENCE: cell.presence}
    return [known.get(name, Estimate(None, 0)) for name in fields]


def _square(estimate: Estimate) -> dict[str, Any]:
    told = words.NOT_AVAILABLE
    if estimate.value is not None:
        told = f"{words.percent(estimate.value)} ({based_on(estimate.n)})"
    return {"share": estimate.value, "told": told}


def _least(cell: CellStability) -> float:
    """What the cell is ordered by: its lowest share, those with nothing to compare behind all others."""
    values = [figure.value for figure in (cell.presence, *cell.fields.values()) if figure.value is not None]
    return min(values, default=2.0)
