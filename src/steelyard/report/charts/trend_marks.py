"""What lies and stands in the picture of a trend: gates as lines, changes as marks, with words where there is room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.number_text import in_unit
from steelyard.decide.history import History, Trend
from steelyard.report.charts.base import DARK_VERMILLION, GREEN, INK, MUTED, VERMILLION

_LINE = 13
"""From one line of words to the next."""
_ROWS = 4
"""Lines of words above the picture, the lowest first: inside it they would stand on the figures."""
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


def gate_lines(trend: Trend, y: dict[str, Any], size: tuple[float, float] | None) -> Iterator[dict[str, Any]]:
    """The gates on the figure, named to the right of a picture of that width and height; not named without one."""
    # The highest first, as their names stand.
    by_height = sorted(trend.gates, key=lambda gate: -gate[1])
    gates: list[dict[str, Any]] = [
        {"value": limit, "told": f"gate {sign} {in_unit(limit, trend.unit)}"} for sign, limit in by_height
    ]
    rule = {"type": "rule", "color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}
    yield layer(gates, rule, None, y | {"field": "value"})
    if size is None:
        return
    words = _WORDS | {"align": "left", "dx": _BESIDE, "color": GREEN}
    low, high = y["scale"]["domain"]
    below = -math.inf
    for gate in gates:
        below = max(below + _LINE, size[1] * (high - gate["value"]) / (high - low))
        told = {"field": "told", "type": "nominal"}
        yield layer([gate], words, {"value": size[0]}, {"value": round(below, 1)}, text=told)


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
        others = [(one, INK) for one in instrument] + [(one, MUTED) for one in subject]
        # From right to left, the words of a mark can stand above those that they would cross.
        others.sort(key=lambda each: -standing.place(each[0]["run"]))
        yield from _words([*((one, DARK_VERMILLION) for one in changes), *others], standing)


def _words(told: Sequence[tuple[dict[str, Any], str]], standing: Standing) -> Iterator[dict[str, Any]]:
    """What is said above each mark, with a line down to it; what finds no room is left to the text beside the picture,
    which says all of it."""
    taken: list[_Words] = []
    for one, color in told:
        at, long = standing.place(one["run"]), len(one["told"]) * _CHARACTER
        places = (
            _Words(at, start, start + long, row)
            for start in (at + _BESIDE, at - _BESIDE - long)
            for row in range(_ROWS)
            if start >= 0 and start + long <= standing.width
        )
        words = next((each for each in places if not each.hits(taken)), None)
        if words is None:
            continue
        taken.append(words)
        height = {"value": -_LINE * (words.row + 0.5)}
        rightwards = words.start > at
        beside = {"align": "left" if rightwards else "right", "dx": _BESIDE if rightwards else -_BESIDE}
        text = {"field": "told", "type": "nominal"}
        yield layer([one], {"type": "rule", "color": color}, standing.x, height, {"value": 0})
        yield layer([one], _WORDS | beside | {"color": color}, standing.x, height, text=text)


@dataclass(frozen=True, slots=True)
class _Words:
    """Words in a row above the picture, from `start` to `end`, with a line from them down to the mark `at`."""

    at: float
    start: float
    end: float
    row: int

    def hits(self, others: Sequence[_Words]) -> bool:
        """Whether they stand on other words, or the line of one crosses the other."""
        return any(
            (self.row == other.row and self.start <= other.end and other.start <= self.end)
            or (self.row <= other.row and self.start <= other.at <= self.end)
            or (other.row <= self.row and other.start <= self.at <= other.end)
            for other in others
        )
