"""Figures of answers against the range that was expected of them, case by case."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard.analysis.checks_model import CellChecks, CheckOfCell, ChecksFigures
from steelyard.report.charts.base import (
    BLUE,
    MOST_ROWS,
    PALE_BLUE,
    VERMILLION,
    Chart,
    chart,
    distinct,
    height,
    row_names,
    rows_axis,
    rows_shown,
    short_name,
)

_REACH = 0.35
"""Of a step, what a band reaches beyond its range: marks at its ends, and a range of one number, are seen inside."""
_MOST_TICKS = 12
_ORDER = {False: 0, None: 1, True: 2}
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def counts(figures: ChecksFigures) -> list[Chart]:
    """For each check that holds a figure against a range, one chart: the range as a band, each answer as a mark."""
    names = list(
        dict.fromkeys(
            check.name for cell in figures.cells for check in cell.checks if check.values and not _is_open(check)
        )
    )
    files = distinct([f"counts_{_NOT_IN_A_FILE_NAME.sub('_', name)}" for name in names])
    files = ["counts"] if len(names) == 1 else [_NOT_IN_A_FILE_NAME.sub("_", file).rstrip("_") for file in files]
    return [_counts(figures, name, file) for name, file in zip(names, files, strict=True)]


def _counts(figures: ChecksFigures, name: str, file: str) -> Chart:
    held_against = [(cell, check) for cell in figures.cells for check in cell.checks if check.name == name]
    n_all = next((each.held + each.broken + each.undecided for each in figures.by_check if each.name == name), 0)
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
    which = rows_shown(cells, max(n_all, n_known), "broken", n_known=n_known)
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
        layer=[_bands(bands, rows, x), _answers(marks, rows, x), *_missing(rows, checks)],
    )


def _bands(values: list[dict[str, Any]], rows: Sequence[str], x: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "strokeWidth": 13, "color": PALE_BLUE},
        "encoding": {"y": rows_axis(rows), "x": {"field": "low", **x}, "x2": {"field": "high"}},
    }


def _answers(values: list[dict[str, Any]], rows: Sequence[str], x: dict[str, Any]) -> dict[str, Any]:
    sizes = sorted({one["answers"] for one in values})
    places = ["within", "outside"]
    where = {"field": "where", "type": "nominal", "title": None}
    return {
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "y": rows_axis(rows),
            "x": {"field": "value", **x},
            "size": {
                "field": "answers",
                "type": "quantitative",
                "title": "answers",
                "scale": {"domain": [0, max(sizes, default=1)], "range": [20, 150]},
                "legend": {"values": _some(sizes), "format": "d"} if len(sizes) > 1 else None,
            },
            "shape": {**where, "scale": {"domain": places, "range": ["circle", "cross"]}},
            "color": {**where, "scale": {"domain": places, "range": [BLUE, VERMILLION]}},
        },
    }


def _missing(rows: Sequence[str], checks: Sequence[CheckOfCell]) -> list[dict[str, Any]]:
    values = [{"row": row} for row, check in zip(rows, checks, strict=True) if not check.values]
    mark = {"type": "text", "align": "left", "text": "no figure", "fontSize": 11}
    encoding = {"y": rows_axis(rows), "x": {"value": 4}}
    return [{"data": {"values": values}, "mark": mark, "encoding": encoding}] if values else []


def _some(sizes: Sequence[int]) -> list[int]:
    """The smallest, the middle and the largest: enough to read the others by."""
    return sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})


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
