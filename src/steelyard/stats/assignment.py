"""The one-to-one assignment of rows to columns with the greatest sum.

Own code, since scipy is 143 MB and takes half a second to import; why no other library: docs/design/0002. Shortest
augmenting paths (Crouse 2016) in the very steps of scipy's `linear_sum_assignment`, so that of several assignments with
the same sum it is also the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import sub
from typing import Any

_WIDE = 400
"""Columns from which on numpy, which takes some 20 microseconds a step, is faster than a loop."""


def best_assignment(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs of row and column with the greatest sum, by row: as many as there are rows or columns, if fewer."""
    if not weights or not weights[0]:
        return []
    if len(weights) > len(weights[0]):
        return sorted((row, column) for column, row in best_assignment(list(zip(*weights, strict=True))))
    search = _Search([[-weight for weight in row] for row in weights])
    for row in range(len(weights)):
        search.assign(row)
    return list(enumerate(search.column_of))


class _Search:
    """The cheapest assignment of the first rows, with the dual variables that prove it; no more rows than columns."""

    def __init__(self, costs: list[list[float]]) -> None:
        self.costs = costs
        self.row_prices, self.column_prices = [0.0] * len(costs), [0.0] * len(costs[0])
        self.column_of, self.row_of = [-1] * len(costs), [-1] * len(costs[0])
        self._matrix: Any = None

    def assign(self, row: int) -> None:
        """Add a row, moving earlier ones to other columns along the shortest path to a free one."""
        distances = list(map(sub, self.costs[row], self.column_prices))
        lowest = min(distances)
        nearest = [column for column, distance in enumerate(distances) if distance == lowest]
        for column in nearest:
            if self.row_of[column] < 0:
                self.row_prices[row] = lowest
                self.row_of[column], self.column_of[row] = row, column
                return
        augment = self._augment_wide if len(distances) > _WIDE else self._augment
        augment(row, distances, nearest[-1])

    def _augment(self, row: int, distances: list[float], column: int) -> None:
        """As `assign`, when the nearest column is another row's."""
        before = [row] * len(distances)
        # In this order, and with the last in the place of one that is taken out, ties are broken as scipy does.
        remaining = list(range(len(distances) - 1, -1, -1))
        place, passed = remaining.index(column), list[int]()
        while True:
            length = distances[column]
            passed.append(column)
            remaining[place] = remaining[-1]
            remaining.pop()
            if self.row_of[column] < 0:
                break
            place = self._nearest(self.row_of[column], length, distances, before, remaining)
            column = remaining[place]
        self._take_path(row, column, length, distances, before, passed)

    def _augment_wide(self, row: int, distances: list[float], column: int) -> None:
        """As `_augment`, in the same steps, each over all columns at once."""
        import numpy as np

        if self._matrix is None:
            self._matrix = np.array(self.costs)
        far, before = np.array(distances), np.full(len(distances), row)
        column_prices, row_of = np.array(self.column_prices), np.array(self.row_of)
        remaining = np.arange(len(distances) - 1, -1, -1)
        place, passed = len(distances) - 1 - column, list[int]()
        while True:
            length = float(far[column])
            passed.append(column)
            remaining[place] = remaining[-1]
            remaining = remaining[:-1]
            at = self.row_of[column]
            if at < 0:
                break
            reached = length + self._matrix[at][remaining] - self.row_prices[at] - column_prices[remaining]
            nearer = reached < far[remaining]
            far[remaining[nearer]], before[remaining[nearer]] = reached[nearer], at
            now = far[remaining]
            equal = np.flatnonzero(now == now.min())
            free = equal[row_of[remaining[equal]] < 0]
            place = int(free[-1] if len(free) else equal[0])
            column = int(remaining[place])
        self._take_path(row, column, length, far.tolist(), before.tolist(), passed)

    def _take_path(
        self, row: int, column: int, length: float, distances: list[float], before: list[int], passed: list[int]
    ) -> None:
        self.row_prices[row] += length
        for item in passed[:-1]:
            self.row_prices[self.row_of[item]] += length - distances[item]
            self.column_prices[item] -= length - distances[item]
        while (at := before[column]) != row:
            self.row_of[column] = at
            self.column_of[at], column = column, self.column_of[at]
        self.row_of[column], self.column_of[row] = row, column

    def _nearest(self, row: int, length: float, distances: list[float], before: list[int], remaining: list[int]) -> int:
        """The place of the nearest of the remaining columns, now that a path of this length has come to a row."""
        costs, column_prices, row_of, price = self.costs[row], self.column_prices, self.row_of, self.row_prices[row]
        lowest, nearest = math.inf, -1
        for place, column in enumerate(remaining):
            distance = length + costs[column] - price - column_prices[column]
            if distance < distances[column]:
                distances[column], before[column] = distance, row
            else:
                distance = distances[column]
            if distance < lowest or (distance == lowest and row_of[column] < 0):
                lowest, nearest = distance, place
        return nearest
