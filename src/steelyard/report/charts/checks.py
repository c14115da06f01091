"""What came of expectations: a grid of cases and checks, and counted things against their expected range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.checks_model import CellChecks, CheckOfCell, ChecksFigures
from steelyard.report.charts.base import (
    BLUE,
    INK,
    MOST_ROWS,
    PALE_BLUE,
    VERMILLION,
    YELLOW,
    Chart,
    chart,
    height,
    row_name,
    rows_axis,
    rows_shown,
)

_STATES = {"holds": BLUE, "broken": VERMILLION, "cannot tell": YELLOW, "does not apply": "#EEF1F4"}
_LETTERS = {"holds": "P", "broken": "F", "cannot tell": "?", "does not apply": "–"}
_ON_DARK = ("holds", "broken")
_COLUMN = 104
_REACH = 0.35


def pass_fail(figures: ChecksFigures) -> Chart | None:
    """A grid of cases and checks: P holds, F is broken, ? cannot be told, – does not apply; None without checks."""
    cells = _broken_first(figures.cells)
    if not cells:
        return None
    columns = list(dict.fromkeys(_declared(check.name) for cell in figures.cells for check in cell.checks))
    values = [_square(cell, column) for cell in cells for column in ["all", *columns]]
    names = [row_name(cell.case_id, cell.variant) for cell in cells]
    held, total = figures.cells_held, figures.n_cells
    x = {
        "field": "column",
        "type": "nominal",
        "sort": ["all", *columns],
        "title": None,
        "axis": {"orient": "top", "labelAngle": -30 if len(columns) > 4 else 0, "domain": False, "ticks": False},
    }
    return chart(
        "pass_fail",
        "Expectations by case",
        f"{held} of {total} hold; k/n: answers that passed; {rows_shown(len(cells), total, 'broken')}",
        f"Grid of {len(cells)} cases and {len(columns)} checks; {held} of {total} cases hold",
        data={"values": values},
        width={"step": _COLUMN if len(columns) <= 8 else 72},
        height=height(),
        encoding={"y": rows_axis(names), "x": x},
        layer=[
            {
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "field": "state",
                        "type": "nominal",
                        "scale": {"domain": list(_STATES), "range": list(_STATES.values())},
                        "legend": {"title": None, "orient": "bottom"},
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "told"},
                    "color": {
                        "condition": {"test": f"indexof({list(_ON_DARK)}, datum.state) >= 0", "value": "white"},
                        "value": INK,
                    },
                },
            },
        ],
    )


def counts(figures: ChecksFigures) -> list[Chart]:
    """For each check that holds a figure against a range, one chart: the range as a band, each answer as a mark."""
    names = dict.fromkeys(
        check.name for cell in figures.cells for check in cell.checks if check.values and not _is_open(check)
    )
    return [_counts(figures, name, single=len(names) == 1) for name in names]


def _counts(figures: ChecksFigures, name: str, *, single: bool) -> Chart:
    cells = [cell for cell in _broken_first(figures.cells) if _of(cell, name) is not None]
    highest = max(_largest(check) for cell in cells if (check := _of(cell, name)) is not None) + 1
    bands, marks = [], []
    for cell in cells:
        check = _of(cell, name)
        if check is None:
            continue
        row = row_name(cell.case_id, cell.variant)
        high = highest if check.high is None else check.high
        # Half a step wider than the range, so that the marks at its ends, and a range of one number, are seen inside.
        bands.append({"row": row, "low": (check.low or 0.0) - _REACH, "high": high + _REACH})
        marks += _marks(row, check)
    rows = rows_axis([row_name(cell.case_id, cell.variant) for cell in cells])
    x: dict[str, Any] = {
        "type": "quantitative",
        "title": name.replace("_", " "),
        "scale": {"domain": [-0.6, highest + 0.6], "nice": False},
        "axis": {"tickMinStep": 1},
    }
    sizes = sorted({one["answers"] for one in marks})
    return chart(
        "counts" if single else f"counts_{name}",
        name.replace("_", " ").capitalize(),
        f"band: expected, marks: answers; {rows_shown(len(cells), len(cells), 'broken')}",
        f"{name.replace('_', ' ')} of every answer against the expected range, for {len(cells)} cases",
        width=520,
        height=height(),
        layer=[
            {
                "data": {"values": bands},
                "mark": {"type": "rule", "strokeWidth": 13, "color": PALE_BLUE},
                "encoding": {"y": rows, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "y": rows,
                    "x": {"field": "value", **x},
                    "size": {
                        "field": "answers",
                        "type": "quantitative",
                        "title": "answers",
                        "scale": {"range": [40, 160]},
                        "legend": {"values": sizes, "format": "d"} if len(sizes) > 1 else None,
                    },
                    "shape": {
                        "field": "where",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": ["within", "outside"], "range": ["circle", "cross"]},
                    },
                    "color": {
                        "field": "where",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": ["within", "outside"], "range": [BLUE, VERMILLION]},
                    },
                },
            },
        ],
    )


def _marks(row: str, check: CheckOfCell) -> list[dict[str, Any]]:
    low = check.low if check.low is not None else float("-inf")
    high = check.high if check.high is not None else float("inf")
    return [
        {
            "row": row,
            "value": value,
            "answers": check.values.count(value),
            "where": "within" if low <= value <= high else "outside",
        }
        for value in sorted(set(check.values))
    ]


def _square(cell: CellChecks, column: str) -> dict[str, Any]:
    """One field of the grid: all checks of that declared name together."""
    row = row_name(cell.case_id, cell.variant)
    if column == "all":
        state = _state([cell.holds])
        return {"row": row, "column": column, "state": state, "told": f"{_LETTERS[state]} {cell.clean}/{_runs(cell)}"}
    checks = [check for check in cell.checks if _declared(check.name) == column]
    state = _state([check.holds for check in checks])
    if not checks:
        return {"row": row, "column": column, "state": state, "told": _LETTERS[state]}
    passed, n = sum(check.passed for check in checks), sum(check.n for check in checks)
    return {"row": row, "column": column, "state": state, "told": f"{_LETTERS[state]} {passed}/{n}"}


def _state(holds: Sequence[bool | None]) -> str:
    if not holds:
        return "does not apply"
    if False in holds:
        return "broken"
    return "cannot tell" if None in holds else "holds"


def _runs(cell: CellChecks) -> int:
    return max((check.n for check in cell.checks), default=0)


def _broken_first(cells: Sequence[CellChecks]) -> list[CellChecks]:
    """All of them as they come, or the first that fit with the broken ones before the others."""
    if len(cells) <= MOST_ROWS:
        return list(cells)
    order = {False: 0, None: 1, True: 2}
    return sorted(cells, key=lambda cell: order[cell.holds])[:MOST_ROWS]


def _declared(name: str) -> str:
    return name.partition(":")[0]


def _of(cell: CellChecks, name: str) -> CheckOfCell | None:
    return next((check for check in cell.checks if check.name == name), None)


def _largest(check: CheckOfCell) -> float:
    return max([*check.values, check.high or 0.0, check.low or 0.0])


def _is_open(check: CheckOfCell) -> bool:
    return check.low is None and check.high is None
