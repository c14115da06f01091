"""What lies and stands in the picture of a trend: gates as lines, changes as marks, with words where there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.release.gates import shown
from steelyard.release.history_model import History, Trend
from steelyard.report.charts.base import DARK_VERMILLION, GREEN, INK, MUTED, VERMILLION

_ROWS = (8, 21, 34, 47)
"""Heights at which words may stand."""
_CHARACTER = 6.2
"""What a character of such words takes at most, on average."""
_BESIDE = 5
_WORDS = {"type": "text", "fontSize": 11}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where marks may stand: the width of the picture, the runs on its axis, and those of the trend."""

    width: float
    names: Sequence[str]
    trended: Sequence[str]
    x: dict[str, Any]

    def place(self, run: str) -> float:
        """How far from the left a run is."""
        return self.width * (self.names.index(run) + 0.5) / len(self.names)


def layer(
    values: list[dict[str, Any]],
    mark: dict[str, Any],
    x: dict[str, Any] | None,
    y: dict[str, Any] | None,
    y2: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One layer of a picture."""
    places = {"x": x, "y": y, "y2": y2, **more}
    return {
        "data": {"values": values},
        "mark": mark,
        "encoding": {name: one for name, one in places.items() if one is not None},
    }


def gate_lines(trend: Trend, y: dict[str, Any], *, labels: bool) -> Iterator[dict[str, Any]]:
    """The gates on the figure."""
    gates = [{"value": limit, "told": f"gate {sign} {shown(limit, trend.unit)}"} for sign, limit in trend.gates]
    place = y | {"field": "value"}
    yield layer(gates, {"type": "rule", "color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}, None, place)
    if labels:
        words = _WORDS | {"align": "left", "dx": _BESIDE, "dy": -7, "color": GREEN}
        yield layer(gates, words, {"value": 0}, place, text={"field": "told", "type": "nominal"})


def standing_lines(history: History, trend: Trend, standing: Standing, *, labels: bool) -> Iterator[dict[str, Any]]:
    """Where the level changed, and what changed in how the runs were made."""
    instrument, subject = (
        [
            {"run": standing.trended[mark.at], "told": f"{', '.join(mark.parts)} changed"}
            for mark in history.marks
            if mark.instrument is one
        ]
        for one in (True, False)
    )
    changes = [
        {"run": standing.trended[each.at], "told": f"level {'rose' if each.after > each.before else 'fell'}"}
        for each in trend.changes
    ]
    rule = {"type": "rule", "strokeWidth": 1.5}
    yield layer(changes, rule | {"color": VERMILLION, "strokeWidth": 4, "opacity": 0.55}, standing.x, None)
    yield layer(subject, rule | {"color": MUTED, "strokeWidth": 0.75}, standing.x, None)
    yield layer(instrument, rule | {"color": INK, "strokeDash": [2, 3]}, standing.x, None)
    if labels:
        told = ((changes, DARK_VERMILLION), (instrument, INK), (subject, MUTED))
        yield from _words([(one, color) for ones, color in told for one in ones], standing)


def _words(told: Sequence[tuple[dict[str, Any], str]], standing: Standing) -> Iterator[dict[str, Any]]:
    """What is said beside each mark, one below the other where marks are close; what finds no room is left to the
    text beside the picture, which says all of it."""
    taken: list[list[tuple[float, float]]] = [[] for _ in _ROWS]
    for one, color in told:
        at, long = standing.place(one["run"]), len(one["told"]) * _CHARACTER
        rightwards = at + _BESIDE + long <= standing.width
        start = at + _BESIDE if rightwards else at - _BESIDE - long
        end = start + long
        free = (row for row, spans in enumerate(taken) if all(end < low or high < start for low, high in spans))
        row = next(free, None)
        if row is None or start < 0:
            continue
        taken[row].append((start, end))
        words = _WORDS | {"align": "left" if rightwards else "right", "dx": _BESIDE if rightwards else -_BESIDE}
        told_at = {"field": "told", "type": "nominal"}
        yield layer([one], words | {"color": color}, standing.x, {"value": _ROWS[row]}, text=told_at)
