"""Boxes put into rows, columns or piles by where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from steelyard.records import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Into = Literal["rows", "columns", "piles"]

ROW_GAP: Final = 0.5
"""Centres further apart than this share of the median height (or width) stand in different rows (or columns)."""

PILE_GAP: Final = (0.25, 1.0)
"""The least and the most gap, in median boxes, over which boxes still belong to one pile."""

_LOOSE: Final = 2.0
"""A gap of more than this many usual gaps ends a pile."""

_MANY: Final = 300
"""From this many boxes on, looking at every pair takes longer than importing numpy."""


def group_boxes(boxes: Sequence[Box], into: Into) -> list[int]:
    """The group of each box, numbered from 0 in reading order.

    Rows (columns): centres less than half the median height (width) apart, from one to the next, share a row. Piles:
    boxes that overlap, touch or lie close belong together; close is up to a quarter of a median box, or up to twice the
    usual gap to the nearest box where boxes lie loosely, but never more than a whole box. The groups depend neither on
    the order of the boxes nor on the units of either axis; a box that is there twice counts once.
    """
    distinct = sorted(set(boxes))
    if not distinct:
        return []
    group = dict(zip(distinct, _GROUPINGS[into](distinct), strict=True))
    return [group[box] for box in boxes]


def lay_out(groups: Sequence[int], into: Into) -> list[Box]:
    """Made-up boxes, one an item, that `group_boxes` puts into the given groups (0, 1, ... by first appearance)."""
    lines = max(groups, default=0) + 1
    longest = max((groups.count(group) for group in set(groups)), default=1)
    filled = [0] * lines
    boxes: list[Box] = []
    for line in groups:
        place = filled[line]
        filled[line] += 1
        # A line is a third of its strip thick, so two boxes' thickness parts it from the next.
        along, across = (place / longest, (place + 1) / longest), ((line + 1 / 3) / lines, (line + 2 / 3) / lines)
        x, y = (across, along) if into == "columns" else (along, across)
        boxes.append((x[0], y[0], x[1], y[1]))
    return boxes


def _rows(boxes: Sequence[Box]) -> list[int]:
    return _lines([(top, bottom) for _, top, _, bottom in boxes])


def _columns(boxes: Sequence[Box]) -> list[int]:
    return _lines([(left, right) for left, _, right, _ in boxes])


def _lines(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The line of each span: centres in order, a new line where the step to the next is too long."""
    longest_step = ROW_GAP * median(end - start for start, end in spans)
    centres = [(start + end) / 2 for start, end in spans]
    lines = [0] * len(spans)
    line, last = 0, min(centres)
    for place in sorted(range(len(spans)), key=centres.__getitem__):
        if centres[place] - last > longest_step:
            line += 1
        lines[place], last = line, centres[place]
    return lines


def _piles(boxes: Sequence[Box]) -> list[int]:
    """The pile of each box; the boxes come sorted by their left edge."""
    width = median(right - left for left, _, right, _ in boxes) or 1.0
    height = median(bottom - top for _, top, _, bottom in boxes) or 1.0
    linked = _linked_many if len(boxes) >= _MANY else _linked
    return _in_reading_order(boxes, linked(boxes, width, height))


def _linked(boxes: Sequence[Box], width: float, height: float) -> list[int]:
    """For each box the first of its pile, found by looking at every pair that may be close."""
    pairs = list(_close_pairs(boxes, width, height))
    nearest = [inf] * len(boxes)
    for item, other, gap in pairs:
        if gap < nearest[item]:
            nearest[item] = gap
        if gap < nearest[other]:
            nearest[other] = gap
    reach = _reach(nearest)
    pile_of = list(range(len(boxes)))

    def root(place: int) -> int:
        while pile_of[place] != place:
            pile_of[place] = place = pile_of[pile_of[place]]
        return place

    for item, other, gap in pairs:
        if gap <= reach and (first := root(item)) != (second := root(other)):
            pile_of[max(first, second)] = min(first, second)
    return [root(place) for place in range(len(boxes))]


def _linked_many(boxes: Sequence[Box], width: float, height: float) -> list[int]:
    """The same as `_linked`, for a heap: a box against all others at once, and none that is in its pile already."""
    import numpy as np

    def gaps(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        across = np.maximum(others[0] - box[2], box[0] - others[2]) / width
        down = np.maximum(others[1] - box[3], box[1] - others[3]) / height
        gap: NDArray[np.float64] = np.maximum(np.maximum(across, down), 0.0)
        return gap

    edges = np.array(boxes, dtype=float).T.copy()
    nearest = []
    for place in range(len(boxes)):
        its_gaps = gaps(edges[:, place], edges)
        its_gaps[place] = inf
        nearest.append(float(its_gaps.min()))
    reach = _reach(nearest)
    first_of = list(range(len(boxes)))
    places = np.arange(len(boxes))
    unseen = edges
    while len(places):
        first, to_visit = int(places[0]), [int(places[0])]
        places, unseen = places[1:], unseen[:, 1:]
        while to_visit and len(places):
            close = gaps(edges[:, to_visit.pop()], unseen) <= reach
            if close.any():
                result = places[close].tolist()
                to_visit += result
                for place in result:
                    first_of[place] = first
                places, unseen = places[~close], unseen[:, ~close]
    return first_of


def _reach(nearest: Sequence[float]) -> float:
    """The gap up to which boxes share a pile, from the gap of each to its nearest."""
    least, most = PILE_GAP
    return max(least, min(most, _LOOSE * median(nearest)))


def _close_pairs(boxes: Sequence[Box], width: float, height: float) -> Iterator[tuple[int, int, float]]:
    """Places of two boxes and the gap between them in median boxes, for gaps that a pile may have."""
    most = PILE_GAP[1]
    for item, (_, top, right, bottom) in enumerate(boxes):
        for other in range(item + 1, len(boxes)):
            its_left, its_top, _, its_bottom = boxes[other]
            across = (its_left - right) / width
            if across > most:
                break
            down = (its_top - bottom if its_top > top else top - its_bottom) / height
            if down <= most:
                yield item, other, max(across, down, 0.0)


def _in_reading_order(boxes: Sequence[Box], roots: Sequence[int]) -> list[int]:
    """Piles numbered row by row, from the left in each row.

    Centres alone do not tell the rows: a pile of two boxes and one of eight may well begin side by side.
    """
    piles: dict[int, list[Box]] = {}
    for box, root in zip(boxes, roots, strict=True):
        piles.setdefault(root, []).append(box)
    outlines = [
        (min(box[1] for box in pile), max(box[3] for box in pile), min(box[0] for box in pile), root)
        for root, pile in piles.items()
    ]
    order: list[tuple[int, float, float, int]] = []
    row, row_middle, row_end = 0, 0.0, 0.0
    for top, bottom, left, root in sorted(outlines):
        middle = (top + bottom) / 2
        if not order or (top > row_middle and middle > row_end):
            row, row_middle, row_end = row + 1, middle, bottom
        order.append((row, left, top, root))
    number = {root: place for place, (*_, root) in enumerate(sorted(order))}
    return [number[root] for root in roots]


_GROUPINGS: Final[dict[Into, Callable[[Sequence[Box]], list[int]]]] = {
    "rows": _rows,
    "columns": _columns,
    "piles": _piles,
}
