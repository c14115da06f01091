"""Charts of counts, cases and confidence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard.analysis.checks import CellChecks, CheckDetails, CheckOfCell
from steelyard.metrics.figures import Slice
from steelyard.report.charts.base import (
    BLUE,
    DARK_VERMILLION,
    FAINT,
    LIGHT_BLUE,
    MOST_ROWS,
    PALE_BLUE,
    RECTANGLE,
    VERMILLION,
    YELLOW,
    Chart,
    chart,
    distinct,
    grid,
    height,
    layer,
    row_names,
    rows_axis,
    rows_shown,
    short_name,
)
from steelyard.report.format import counted

_REACH = 0.35
"""Of a step, what a band reaches beyond its range: marks at its ends, and a range of one number, are seen inside."""
_MOST_TICKS = 12
_ORDER = {False: 0, None: 1, True: 2}
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def counts(details: CheckDetails, overall: Slice) -> list[Chart]:
    """For each check that holds a figure against a range, one chart: the range as a band, each answer as a mark."""
    names = list(
        dict.fromkeys(
            check.name for cell in details.cells for check in cell.checks if check.values and not _is_open(check)
        )
    )
    files = distinct([f"counts_{_NOT_IN_A_FILE_NAME.sub('_', name)}" for name in names])
    files = ["counts"] if len(names) == 1 else [_NOT_IN_A_FILE_NAME.sub("_", file).rstrip("_") for file in files]
    return [_counts(details, overall, name, file) for name, file in zip(names, files, strict=True)]


def _counts(details: CheckDetails, overall: Slice, name: str, file: str) -> Chart:
    held_against = [(cell, check) for cell in details.cells for check in cell.checks if check.name == name]
    n_all = sum(overall.count_of(f"check.<check>.cells.{state}", name) for state in ("passed", "failed", "undecided"))
    n_known = len(held_against)
    if n_known > MOST_ROWS:
        held_against = sorted(held_against, key=lambda pair: _ORDER[pair[1].holds])[:MOST_ROWS]
    cells: list[CellChecks] = [cell for cell, _ in held_against]
    rows, checks = row_names(cells), [check for _, check in held_against]
    low, high, step = _reach(checks)
    bands = [
        {
            "row": row,
            "low": (low if check.low is None else check.low) - _REACH * step,
            "high": (high if check.high is None else check.high) + _REACH * step,
        }
        for row, check in zip(rows, checks, strict=True)
        if not _is_open(check)
    ]
    marks = [mark for row, check in zip(rows, checks, strict=True) for mark in _marks(row, check)]
    title = short_name(name).replace("_", " ")
    which = rows_shown(cells, max(n_all, n_known), "failed", n_known=n_known)
    x: dict[str, Any] = {
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [low - 0.6 * step, high + 0.6 * step], "nice": False, "zero": False},
        "axis": _ticks(low, high, step),
    }
    return chart(
        file,
        title[:1].upper() + title[1:],
        f"band: expected, marks: answers; {which}",
        f"{title} of every answer against the expected range, for {which}",
        width=520,
        height=height(),
        layer=[
            layer(
                bands,
                {"type": "rule", "strokeWidth": 13, "color": PALE_BLUE},
                y=rows_axis(rows),
                x={"field": "low", **x},
                x2={"field": "high"},
            ),
            _answers(marks, rows, x),
            *_missing(rows, checks),
        ],
    )


def _answers(values: list[dict[str, Any]], rows: Sequence[str], x: dict[str, Any]) -> dict[str, Any]:
    sizes = sorted({value["answers"] for value in values})
    places = ["within", "outside"]
    where = {"field": "where", "type": "nominal", "title": None}
    # The smallest, the middle and the largest: enough to read the others by.
    some = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}) if sizes else []
    size = {
        "field": "answers",
        "type": "quantitative",
        "title": "answers",
        "scale": {"domain": [0, max(sizes, default=1)], "range": [20, 150]},
        "legend": {"values": some, "format": "d"} if len(sizes) > 1 else None,
    }
    return layer(
        values,
        {"type": "point", "filled": True, "opacity": 1},
        y=rows_axis(rows),
        x={"field": "value", **x},
        size=size,
        shape={**where, "scale": {"domain": places, "range": ["circle", "cross"]}},
        color={**where, "scale": {"domain": places, "range": [BLUE, VERMILLION]}},
    )


def _missing(rows: Sequence[str], checks: Sequence[CheckOfCell]) -> list[dict[str, Any]]:
    values = [{"row": row} for row, check in zip(rows, checks, strict=True) if not check.values]
    mark = {"type": "text", "align": "left", "text": "no figure", "fontSize": 11}
    return [layer(values, mark, y=rows_axis(rows), x={"value": 4})] if values else []


def _reach(checks: Sequence[CheckOfCell]) -> tuple[float, float, float]:
    """From where to where the axis must reach, and what a step on it is: 1 for whole numbers."""
    numbers = [number for check in checks for number in (*check.values, check.low, check.high) if number is not None]
    whole = all(number.is_integer() for number in numbers)
    low, high = min(numbers), max(numbers)
    step = 1.0 if whole and high - low <= 100 * _MOST_TICKS else (high - low or abs(high) or 1.0) / 40
    # Open ends are drawn as far as there is something to see, and one step beyond.
    open_below, open_above = (any(getattr(check, end) is None for check in checks) for end in ("low", "high"))
    low = low if whole and low >= 0 else low - step * open_below  # nothing is counted below zero
    return (min(low, 0.0) if whole and low >= -1 else low), high + step * open_above, step


def _ticks(low: float, high: float, step: float) -> dict[str, Any]:
    """Ticks at whole numbers where all figures are such; otherwise as the library likes."""
    if step != 1.0:
        return {"tickCount": _MOST_TICKS}
    every = max(1, math.ceil((high - low) / _MOST_TICKS))
    every = next((nice for nice in (1, 2, 5, 10, 20, 25, 50, 100, 200) if nice >= every), every)
    first = math.ceil(low / every) * every
    return {"values": list(range(first, math.floor(high) + 1, every)), "format": ",d"}


def _marks(row: str, check: CheckOfCell) -> list[dict[str, Any]]:
    low = check.low if check.low is not None else -math.inf
    high = check.high if check.high is not None else math.inf
    return [
        {"row": row, "value": value, "answers": answers, "where": "within" if low <= value <= high else "outside"}
        for value, answers in sorted(Counter(check.values).items())
    ]


def _is_open(check: CheckOfCell) -> bool:
    return check.low is None and check.high is None


# What failed is the darkest: it is found first, without colour too.
STATES = {"passed": LIGHT_BLUE, "failed": DARK_VERMILLION, "cannot tell": YELLOW, "does not apply": FAINT}
_LETTERS = {"passed": "P", "failed": "F", "cannot tell": "?", "does not apply": "–"}
_WHOLE = "all checks"
_WIDE, _NARROW = 104, 72


def pass_fail(details: CheckDetails, overall: Slice) -> Chart | None:
    """A grid of cases and checks: P passed, F failed, ? undecided, – does not apply; None without checks."""
    cells = details.cells
    if not cells:
        return None
    if len(cells) > MOST_ROWS:
        # The failed ones before the others.
        cells = tuple(sorted(cells, key=lambda item: _ORDER[item.holds])[:MOST_ROWS])
    declared = list(
        dict.fromkeys(map(_declared, [*details.by_check, *(check.name for cell in cells for check in cell.checks)]))
    )
    names, columns = row_names(cells), distinct([_WHOLE, *declared])
    passed, failed, undecided, total = (
        overall.count(f"cases.count.{state}") for state in ("passed", "failed", "undecided", "all")
    )
    which = rows_shown(cells, total, "failed", n_known=len(details.cells))
    color = {
        "field": "state",
        "type": "nominal",
        "scale": {"domain": list(STATES), "range": list(STATES.values())},
        "legend": {"title": None, "orient": "bottom"},
    }
    return grid(
        "pass_fail",
        "Expectations by case",
        (
            f"{passed:,} of {total:,} passed; P passed, F failed, ? cannot tell, k/n: answers that passed; {which}",
            f"Grid of {which} and {counted(len(declared), 'check')}; {passed:,} of {total:,} passed, "
            f"{failed:,} failed, of {undecided:,} cannot tell",
        ),
        names,
        {
            column: [_square(cell, check) for cell in cells]
            for column, check in zip(columns, [None, *declared], strict=True)
        },
        _WIDE if len(columns) <= 6 else _NARROW,
        [{"mark": RECTANGLE, "encoding": {"color": color}}],
        "datum.state === 'failed'",
    )


def _square(cell: CellChecks, declared: str | None) -> dict[str, Any]:
    """One field of the grid: all checks of that declared name together, or of the whole case."""
    if declared is None:
        state = _state([cell.holds])
        n = max((check.n for check in cell.checks), default=0)
        return {"state": state, "message": f"{_LETTERS[state]} {cell.clean}/{n}" if n else _LETTERS[state]}
    checks = [check for check in cell.checks if _declared(check.name) == declared]
    # Of a cell of which nothing came nobody knows which checks apply.
    state = _state([check.holds for check in checks] if cell.checks else [None])
    counts = f" {sum(check.passed for check in checks)}/{sum(check.n for check in checks)}" if checks else ""
    return {"state": state, "message": f"{_LETTERS[state]}{counts}"}


def _state(holds: Sequence[bool | None]) -> str:
    if not holds:
        return "does not apply"
    if False in holds:
        return "failed"
    return "cannot tell" if None in holds else "passed"


def _declared(name: str) -> str:
    return name.partition(":")[0]
