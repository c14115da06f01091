"""From lines of text to the cards they are printed on, by nothing but where the lines lie.

The lines of a card run the same way, one close under the other, centred or flush. The next card's lines are further
off, turned another way or beside them. How close is close depends on the engine (some draw tight boxes around a line,
some generous ones), so it is learnt from each photo.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import quantiles

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]

FARTHEST = 2.2
"""In heights of a line: centres further apart never belong to neighbouring lines of a card."""
LOOSEST = 1.4
"""Neighbouring lines of a card are at most this many times as far apart as is usual on the photo."""
MOST_TURNED = 9.0
"""Degrees between two lines of a card; twice as much when one is too short to tell well which way it runs."""
SHORT = 3.0
"""A line less than this many times as long as high is short."""
MOST_ASIDE = 0.75
"""In heights of a line: how far the centres, left ends or right ends of two lines of a card may be apart."""
MOST_UNEVEN = 1.6
"""How many times as high as another a line of the same card may be."""


@dataclass(frozen=True)
class Line:
    """A line of text in pixels, its corners in reading order: the text's own top left first, then clockwise."""

    text: str
    quad: Quad

    @cached_property
    def centre(self) -> Point:
        return sum(x for x, _ in self.quad) / 4, sum(y for _, y in self.quad) / 4

    @cached_property
    def along(self) -> Point:
        """The way from its first letter to its last."""
        a, b, c, d = self.quad
        return (b[0] - a[0] + c[0] - d[0]) / 2, (b[1] - a[1] + c[1] - d[1]) / 2

    @cached_property
    def length(self) -> float:
        return max(math.hypot(*self.along), 1.0)

    @cached_property
    def height(self) -> float:
        a, b, c, d = self.quad
        return max((math.dist(a, d) + math.dist(b, c)) / 2, 1.0)

    @cached_property
    def on_its_head(self) -> bool:
        return self.along[0] < 0

    @cached_property
    def rightward(self) -> Point:
        """`along`, but from left to right in the photo, also when the text stands on its head."""
        x, y = self.along
        return (-x, -y) if self.on_its_head else (x, y)

    @property
    def is_short(self) -> bool:
        return self.length < SHORT * self.height


@dataclass(frozen=True)
class Card:
    """A card as it was read: its text, where the middle of its print is, and how long its longest line."""

    text: str
    centre: Point
    width: float


@dataclass(frozen=True, slots=True)
class _Step:
    """Two lines of which one may follow under the other (places in the list), and how far apart, in heights."""

    upper: int
    lower: int
    apart: float
    strain: float
    """How unlike two lines of one card they are, apart from the distance; 0 is just like."""


def cards_from(lines: Sequence[Line]) -> list[Card]:
    """The cards, from the top of the photo to its bottom."""
    steps = list(_steps(lines))
    chosen = _chosen(steps, _usual(steps, len(lines)))
    cards = [_card([lines[place] for place in chain]) for chain in _chains(chosen, len(lines))]
    return sorted(cards, key=lambda card: (card.centre[1], card.centre[0]))


def _steps(lines: Sequence[Line]) -> Iterator[_Step]:
    for place in range(len(lines)):
        for other in range(place + 1, len(lines)):
            first, second = lines[place], lines[other]
            height = (first.height + second.height) / 2
            if math.dist(first.centre, second.centre) > FARTHEST * height * 2:
                continue
            if max(first.height, second.height) > MOST_UNEVEN * min(first.height, second.height):
                continue
            step = _step(first, second, height)
            if step is not None:
                offset, apart, turned = step
                upper, lower = (place, other) if apart > 0 else (other, place)
                yield _Step(upper, lower, abs(apart), offset + turned)


def _step(first: Line, second: Line, height: float) -> tuple[float, float, float] | None:
    """How far the second lies aside of the first and below it, in heights, and is turned; None when too far."""
    a, b = first.rightward, second.rightward
    turned = abs(math.degrees(math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])))
    allowed = MOST_TURNED * (2 if first.is_short or second.is_short else 1)
    if turned > allowed:
        return None
    x, y = a[0] + b[0], a[1] + b[1]  # the longer line has the greater say
    size = math.hypot(x, y)
    x, y = x / size, y / size
    off = second.centre[0] - first.centre[0], second.centre[1] - first.centre[1]
    across, below = off[0] * x + off[1] * y, -off[0] * y + off[1] * x
    if abs(below) > FARTHEST * height:
        return None
    longer = (second.length - first.length) / 2
    offset = min(abs(across), abs(across - longer), abs(across + longer)) / height
    side_by_side = abs(across) > (first.length + second.length) / 2
    if side_by_side or offset > MOST_ASIDE or abs(below) < 0.3 * height:
        return None
    return offset, below / height, turned / allowed


def _usual(steps: Sequence[_Step], n_lines: int) -> float:
    """How far apart, in heights, neighbouring lines of a card usually are on this photo."""
    nearest = [math.inf] * n_lines
    for step in steps:
        for place in (step.upper, step.lower):
            nearest[place] = min(nearest[place], step.apart)
    distances = [apart for apart in nearest if apart < math.inf]
    # The lower quartile: where many cards have a single line, the nearest line is often another card's.
    return quantiles(distances, n=4, method="inclusive")[0] if distances else FARTHEST


def _chosen(steps: Sequence[_Step], usual: float) -> list[_Step]:
    """The steps to take: the likeliest first, and from each line at most one up and one down."""
    close = [step for step in steps if step.apart <= LOOSEST * usual]
    has_below: set[int] = set()
    has_above: set[int] = set()
    chosen = []
    for step in sorted(close, key=lambda step: (step.apart / usual + step.strain, step.upper, step.lower)):
        if step.upper not in has_below and step.lower not in has_above:
            has_below.add(step.upper)
            has_above.add(step.lower)
            chosen.append(step)
    return chosen


def _chains(chosen: Sequence[_Step], n_lines: int) -> Iterator[list[int]]:
    """The places of the lines of each card, from top to bottom in the photo."""
    next_of = {step.upper: step.lower for step in chosen}
    for start in sorted(set(range(n_lines)) - set(next_of.values())):
        chain = [start]
        while chain[-1] in next_of:
            chain.append(next_of[chain[-1]])
        yield chain


def _card(lines: list[Line]) -> Card:
    # An engine may err on which way up a short line is; the lines of a card settle it by their lengths.
    on_its_head = sum(line.length if line.on_its_head else -line.length for line in lines) > 0
    if on_its_head:
        lines = lines[::-1]
    x, y = (sum(line.rightward[axis] for line in lines) for axis in (0, 1))
    first, last = lines[0].centre, lines[-1].centre
    longest = max(lines, key=lambda line: line.length)
    size = math.hypot(x, y) or 1.0
    # Halfway down the print, and in line with its longest line: a short one may be hidden in part.
    middle = (first[0] + last[0]) / 2, (first[1] + last[1]) / 2
    over = ((longest.centre[0] - middle[0]) * x + (longest.centre[1] - middle[1]) * y) / size
    centre = middle[0] + over * x / size, middle[1] + over * y / size
    return Card(" ".join(line.text for line in lines), centre, longest.length)
