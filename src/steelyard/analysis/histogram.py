"""Numbers from 0 up as a histogram with edges at round places."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array


@frozen
class Bar:
    """One bar of a histogram: calls that took `low` and more, and less than `high`."""

    low: float
    high: float
    count: int


MOST_BARS = 20
_WIDE = 100.0
"""Where the largest is more than this times the smallest, bars grow by a ratio: of equal widths, the first would hold
nearly everything."""
_STEPS = (1, 2, 5)
_NARROWEST = 1e-15
_TOO_MANY = 1_000
_IN_A_DECADE = (10, 5, 4, 3, 2, 1)
"""Into how many bars a decade may be cut, the finest first."""


def histogram(ranked: Array) -> tuple[tuple[Bar, ...], bool]:
    """Sorted numbers in bars, each in exactly one; and whether the bars grow by a ratio.

    There are at most twenty (beyond twenty decades, one a decade); the first and the last hold something.
    """
    if not len(ranked):
        return (), False
    low, high = float(ranked[0]), float(ranked[-1])
    by_ratio = low > 0 and high / low > _WIDE
    edges = _edges_by_ratio(low, high) if by_ratio else _equal_edges(low, high)
    counts = np.diff(np.searchsorted(ranked, edges, side="left")).tolist()
    bars = [Bar(start, end, count) for (start, end), count in zip(pairwise(edges), counts, strict=True)]
    return tuple(bars), by_ratio


def _equal_edges(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, of the smallest such step that takes few enough."""
    # Numbers that differ by rounding alone are one bar, as those that do not differ at all.
    span = high - low if high - low > 1e-9 * high else high
    power = math.floor(math.log10(max((span or 1.0) / MOST_BARS, _NARROWEST)))
    while True:
        for step in _STEPS:
            width = step * 10.0**power
            edges = _around(low, high, math.floor(low / width), partial(_multiple, width))
            if len(edges) <= MOST_BARS + 1:
                return edges
        power += 1


def _edges_by_ratio(low: float, high: float) -> list[float]:
    """Powers of ten, and places of equal ratio between them."""
    for parts in _IN_A_DECADE:
        first = math.floor(parts * math.log10(low))
        edges = _around(low, high, first, partial(_power, parts))
        if len(edges) <= MOST_BARS + 1:
            break
    return edges


def _multiple(width: float, place: int) -> float:
    return place * width


def _power(parts: int, place: int) -> float:
    return float(10.0 ** (place / parts))


def _around(low: float, high: float, first: int, at: Callable[[int], float]) -> list[float]:
    """Edges at successive places, from the last that is not above `low` to the first that is above `high`."""

    def edge(place: int) -> float:
        # Rounded, because 3 * 0.1 is not 0.3.
        return float(f"{at(place):.12g}")

    while edge(first) > low:
        first -= 1
    while edge(first + 1) <= low:
        first += 1
    edges = [edge(first)]
    while edges[-1] <= high and len(edges) <= _TOO_MANY:
        first += 1
        edges.append(edge(first))
    return edges
