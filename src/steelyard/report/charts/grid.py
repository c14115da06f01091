"""A grid of cases and checks: which hold, which are broken, of which nobody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.checks_model import CellChecks, ChecksFigures
from steelyard.report.charts.base import (
    BLACK,
    DARK_VERMILLION,
    FAINT,
    LIGHT_BLUE,
    MOST_ROWS,
    WHITE,
    YELLOW,
    Chart,
    chart,
    columns_axis,
    distinct,
    height,
    row_names,
    rows_axis,
    rows_shown,
)
from steelyard.report.format import counted

# What is broken is the darkest: it is found first, without colour too.
STATES = {"holds": LIGHT_BLUE, "broken": DARK_VERMILLION, "cannot tell": YELLOW, "does not apply": FAINT}
_LETTERS = {"holds": "P", "broken": "F", "cannot tell": "?", "does not apply": "–"}
_WHOLE = "all checks"
_WIDE, _NARROW = 104, 72
_ORDER = {False: 0, None: 1, True: 2}


def pass_fail(figures: ChecksFigures) -> Chart | None:
    """A grid of cases and checks: P holds, F is broken, ? cannot be told, – does not apply; None without checks."""
    cells = _shown(figures.cells)
    if not cells:
        return None
    in_order = [each.name for each in figures.by_check]
    declared = list(dict.fromkeys(map(_declared, [*in_order, *(one.name for cell in cells for one in cell.checks)])))
    names, columns = row_names(cells), distinct([_WHOLE, *declared])
    values = [
        {"row": row, "column": column, **_square(cell, check)}
        for row, cell in zip(names, cells, strict=True)
        for column, check in zip(columns, [None, *declared], strict=True)
    ]
    held, total = figures.cells_held, figures.n_cells
    which = rows_shown(cells, total, "broken", n_known=len(figures.cells))
    return chart(
        "pass_fail",
        "Expectations by case",
        f"{held:,} of {total:,} hold; P holds, F broken, ? cannot tell, k/n: answers that passed; {which}",
        f"Grid of {which} and {counted(len(declared), 'check')}; {held:,} of {total:,} hold, "
        f"{figures.cells_broken:,} are broken, of {figures.cells_undecided:,} nobody can tell",
        data={"values": values},
        width={"step": _WIDE if len(columns) <= 6 else _NARROW},
        height=height(),
        encoding={"y": rows_axis(names), "x": columns_axis(columns)},
        layer=[
            {
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "field": "state",
                        "type": "nominal",
                        "scale": {"domain": list(STATES), "range": list(STATES.values())},
                        "legend": {"title": None, "orient": "bottom"},
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "told"},
                    "color": {"condition": {"test": "datum.state === 'broken'", "value": WHITE}, "value": BLACK},
                },
            },
        ],
    )


def _square(cell: CellChecks, declared: str | None) -> dict[str, Any]:
    """One field of the grid: all checks of that declared name together, or of the whole case."""
    if declared is None:
        state = _state([cell.holds])
        n = max((check.n for check in cell.checks), default=0)
        return {"state": state, "told": f"{_LETTERS[state]} {cell.clean}/{n}" if n else _LETTERS[state]}
    checks = [check for check in cell.checks if _declared(check.name) == declared]
    # Of a cell of which nothing came nobody knows which checks apply.
    state = _state([check.holds for check in checks] if cell.checks else [None])
    if not checks:
        return {"state": state, "told": _LETTERS[state]}
    passed, n = sum(check.passed for check in checks), sum(check.n for check in checks)
    return {"state": state, "told": f"{_LETTERS[state]} {passed}/{n}"}


def _state(holds: Sequence[bool | None]) -> str:
    if not holds:
        return "does not apply"
    if False in holds:
        return "broken"
    return "cannot tell" if None in holds else "holds"


def _shown(cells: Sequence[CellChecks]) -> list[CellChecks]:
    """All of them as they come, or the first that fit with the broken ones before the others."""
    return list(cells) if len(cells) <= MOST_ROWS else sorted(cells, key=lambda each: _ORDER[each.holds])[:MOST_ROWS]


def _declared(name: str) -> str:
    return name.partition(":")[0]
