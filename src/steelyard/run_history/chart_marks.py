"""What lies and stands in the picture of a trend: gates as lines, changes as marks, with words where there is room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.report.charts.base import DARK_VERMILLION, GREEN, INK, MUTED, VERMILLION, layer
from steelyard.run_history.history import History, Trend
from steelyard.wording import in_unit

_LINE = 13
"""From one line of words to the next."""
_ROWS = 4
"""Lines of words above the picture, the lowest first: inside it they would stand on the figures."""
_CHARACTER = 6.2
"""What a character of such words takes at most, on average."""
_EXTRA = 5
_WORDS = {"type": "text", "fontSize": 11}


@frozen
class MarkPlaces:
    """Where marks may stand: the width of the picture, the runs on its axis, and those of the trend."""

    width: float
    names: Sequence[str]
    trended: Sequence[str]
    x: dict[str, Any]

    def place(self, run: str) -> float:
        """How far from the left a run is."""
        return self.width * (self.names.index(run) + 0.5) / len(self.names)


def gate_lines(trend: Trend, y: dict[str, Any], size: tuple[float, float] | None) -> Iterator[dict[str, Any]]:
    """The gates on the figure, named to the right of a picture of that width and height; not named without one."""
    # The highest first, as their names stand.
    by_height = sorted(trend.gates, key=lambda gate: -gate[1])
    gates: list[dict[str, Any]] = [
        {"value": limit, "message": f"gate {sign} {in_unit(limit, trend.unit)}"} for sign, limit in by_height
    ]
    rule = {"type": "rule", "color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}
    yield layer(gates, rule, y=y | {"field": "value"})
    if size is None:
        return
    words = _WORDS | {"align": "left", "dx": _EXTRA, "color": GREEN}
    low, high = y["scale"]["domain"]
    below = -math.inf
    for gate in gates:
        below = max(below + _LINE, size[1] * (high - gate["value"]) / (high - low))
        messages = {"field": "message", "type": "nominal"}
        yield layer([gate], words, x={"value": size[0]}, y={"value": round(below, 1)}, text=messages)


def standing_lines(history: History, trend: Trend, standing: MarkPlaces, *, labels: bool) -> Iterator[dict[str, Any]]:
    """Where the level changed, and what changed in how the runs were made."""
    signature_part, subject = (
        [
            {"run": standing.trended[mark.at], "message": f"{', '.join(mark.parts)} changed"}
            for mark in history.marks
            if mark.signature_part is item
        ]
        for item in (True, False)
    )
    changes = [
        {"run": standing.trended[change.at], "message": f"level {'rose' if change.after > change.before else 'fell'}"}
        for change in trend.changes
    ]
    rule = {"type": "rule", "strokeWidth": 1.5}
    yield layer(changes, rule | {"color": VERMILLION, "strokeWidth": 4, "opacity": 0.55}, x=standing.x)
    yield layer(subject, rule | {"color": MUTED, "strokeWidth": 0.75}, x=standing.x)
    yield layer(signature_part, rule | {"color": INK, "strokeDash": [2, 3]}, x=standing.x)
    if labels:
        others = [(item, INK) for item in signature_part] + [(item, MUTED) for item in subject]
        # From right to left, the words of a mark can stand above those that they would cross.
        others.sort(key=lambda item: -standing.place(item[0]["run"]))
        yield from _words([*((change, DARK_VERMILLION) for change in changes), *others], standing)


def _words(message: Sequence[tuple[dict[str, Any], str]], standing: MarkPlaces) -> Iterator[dict[str, Any]]:
    """What is said above each mark, with a line down to it; what finds no room is left to the text beside the picture,
    which says all of it."""
    taken: list[_Words] = []
    for item, color in message:
        at, long = standing.place(item["run"]), len(item["message"]) * _CHARACTER
        places = (
            _Words(at, start, start + long, row)
            for start in (at + _EXTRA, at - _EXTRA - long)
            for row in range(_ROWS)
            if start >= 0 and start + long <= standing.width
        )
        words = next((place for place in places if not place.hits(taken)), None)
        if words is None:
            continue
        taken.append(words)
        height = {"value": -_LINE * (words.row + 0.5)}
        rightwards = words.start > at
        extra = {"align": "left" if rightwards else "right", "dx": _EXTRA if rightwards else -_EXTRA}
        text = {"field": "message", "type": "nominal"}
        yield layer([item], {"type": "rule", "color": color}, x=standing.x, y=height, y2={"value": 0})
        yield layer([item], _WORDS | extra | {"color": color}, x=standing.x, y=height, text=text)


@frozen
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
