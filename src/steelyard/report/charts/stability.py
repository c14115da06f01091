"""How alike repeats are: a heat map of cases and fields."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.stability import CellStability, StabilityDetails
from steelyard.report import format as words
from steelyard.report.charts.base import (
    GREY,
    MOST_ROWS,
    RECTANGLE,
    STATED,
    Chart,
    based_on,
    distinct,
    grid,
    row_names,
    rows_shown,
)
from steelyard.stats.intervals import Estimate

_PRESENCE = "presence"
_COLUMN = 120
_DARK_BELOW = 0.46
"""Where the colours of the map become too light for white letters and light enough for black ones."""
_LAYERS: list[dict[str, Any]] = [
    # A map of shares leaves out what has none.
    {"transform": [{"filter": "!isValid(datum.share)"}], "mark": RECTANGLE | {"color": GREY}},
    {
        "transform": [{"filter": "isValid(datum.share)"}],
        "mark": RECTANGLE,
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
]
"""What has no share in grey, what has one by colour."""


def stability(details: StabilityDetails, n_cells: int, *, stated: bool = False) -> Chart | None:
    """A heat map of how alike the repeats of each of `n_cells` cases are, field by field; None without cases.

    `stated` says that another tool states the figures.
    """
    cells = list(details.cells)
    if not cells:
        return None
    if len(cells) > MOST_ROWS:
        cells = sorted(cells, key=_least)[:MOST_ROWS]
    fields = [_PRESENCE, *details.how]
    if stated and all(cell.presence.value is None for cell in cells):
        fields.remove(_PRESENCE)
    columns, rows = distinct(fields), row_names(cells)
    which = rows_shown(cells, n_cells, "least stable", n_known=len(details.cells))
    source = STATED if stated else ""
    shares = [{**cell.fields, _PRESENCE: cell.presence} for cell in cells]
    return grid(
        "stability",
        "Stability over repeats",
        (
            f"{source}100 %: the same every time; grey: nothing to compare; n: comparisons; {which}",
            f"{source}Heat map of how alike the repeats of {which} are, by {', '.join(columns)}",
        ),
        rows,
        {
            column: [_square(share.get(field, Estimate(None, 0))) for share in shares]
            for column, field in zip(columns, fields, strict=True)
        },
        _COLUMN,
        _LAYERS,
        f"isValid(datum.share) && datum.share < {_DARK_BELOW}",
    )


def _square(estimate: Estimate) -> dict[str, Any]:
    message = words.NOT_AVAILABLE
    if estimate.value is not None:
        message = f"{words.percent(estimate.value)} ({based_on(estimate.n)})"
    return {"share": estimate.value, "message": message}


def _least(cell: CellStability) -> float:
    """What the cell is ordered by: its lowest share, those with nothing to compare behind all others."""
    values = [figure.value for figure in (cell.presence, *cell.fields.values()) if figure.value is not None]
    return min(values, default=2.0)
