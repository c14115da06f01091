"""Charts of counts, cases and confidence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.latency import CellLatency, LatencyFigures, Spread, latency_metrics, no_calls
from steelyard.analysis.repeats import CellChecks, CheckOfCell, ChecksFigures
from steelyard.analysis.stability import CellStability, StabilityFigures
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
from steelyard.stats.intervals import Estimate

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
    n_all = next(
        (item.cells_passed + item.cells_failed + item.undecided for item in figures.by_check if item.name == name), 0
    )
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


# A grid of cases and checks: which passed, which failed, which are undecided.

# What failed is the darkest: it is found first, without colour too.
STATES = {"passed": LIGHT_BLUE, "failed": DARK_VERMILLION, "cannot tell": YELLOW, "does not apply": FAINT}
_LETTERS = {"passed": "P", "failed": "F", "cannot tell": "?", "does not apply": "–"}
_WHOLE = "all checks"
_WIDE, _NARROW = 104, 72


def pass_fail(figures: ChecksFigures) -> Chart | None:
    """A grid of cases and checks: P passed, F failed, ? undecided, – does not apply; None without checks."""
    cells = figures.cells
    if not cells:
        return None
    if len(cells) > MOST_ROWS:
        # The failed ones before the others.
        cells = tuple(sorted(cells, key=lambda item: _ORDER[item.holds])[:MOST_ROWS])
    in_order = [item.name for item in figures.by_check]
    declared = list(
        dict.fromkeys(map(_declared, [*in_order, *(check.name for cell in cells for check in cell.checks)]))
    )
    names, columns = row_names(cells), distinct([_WHOLE, *declared])
    passed, total = figures.cells_passed, figures.n_cells
    which = rows_shown(cells, total, "failed", n_known=len(figures.cells))
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
            f"{figures.cells_failed:,} failed, of {figures.cells_undecided:,} cannot tell",
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


# Figures that a file of another tool states, for charts: it holds no calls or answers to compute them by.

_PRESENCE = "presence"
_CHECK = "check."


def stated_latency(stated: Mapping[str, Any]) -> LatencyFigures | None:
    """What is stated of the times of each case; an `n` of 0 where it is not said. None when nothing is."""
    results = {case: parts.get("latency") or {} for case, parts in stated.items()}
    if not any("mean" in times for times in results.values()):
        return None
    cells = tuple(
        CellLatency(
            case,
            "",
            Spread({"n": int(times.get("n", 0))} | {name: times.get(name) for name in latency_metrics()}),
            int(times.get("timeouts", 0)),
            int(times.get("failures", 0)),
        )
        for case, times in results.items()
    )
    timeouts, failures = sum(cell.timeouts for cell in cells), sum(cell.failures for cell in cells)
    return LatencyFigures(no_calls(), timeouts, failures, cells=cells, n_cells=len(cells))


def stated_stability(stated: Mapping[str, Any]) -> StabilityFigures | None:
    """What is stated of how alike the repeats of each case are; None when nothing is."""
    results = {case: parts.get("stability") or {} for case, parts in stated.items()}
    names = list(dict.fromkeys(name for shares in results.values() for name in shares if name != _PRESENCE))
    if not any(results.values()):
        return None
    cells = tuple(
        CellStability(
            case, "", 0, 0, Estimate(shares.get(_PRESENCE), 0), {name: Estimate(shares.get(name), 0) for name in names}
        )
        for case, shares in results.items()
    )
    return StabilityFigures("", dict.fromkeys(names, ""), cells)


def with_stated_values(figures: ChecksFigures, stated: Mapping[str, Any]) -> ChecksFigures:
    """The same, checks with the figures of all repeats that are stated of them; what has none is there without."""
    cells = []
    for cell in figures.cells:
        checks = {check.name: check for check in cell.checks}
        for part, values in (stated.get(cell.case_id) or {}).items():
            if part.startswith(_CHECK):
                name = part.removeprefix(_CHECK)
                available = checks.get(name, CheckOfCell(name, 0, 0, 1, "", None))
                checks[name] = replace(available, values=tuple(values.values()))
        cells.append(replace(cell, checks=tuple(checks.values())))
    return replace(figures, cells=tuple(cells))
