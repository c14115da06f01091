"""How far stretches of text lie over each other, summed over all pairs of repeats.

Two stretches `[start, end)` are as alike as what they share is large beside what either covers. Anything else (null, a
stretch of no length, what is no stretch at all) is like its own kind alone: the same is 1, different is 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.analysis.pieces import Array
from steelyard.analysis.sameness import identity
from steelyard.assignment import best_assignment

_MOST_AT_ONCE = 1_000_000
"""Numbers that are worked on at a time."""
_MOST_BY_SUBSETS = 8
"""More items of one key than this are paired one pair of repeats at a time."""


def overlap_of_all_pairs(runs: Sequence[Sequence[Any]]) -> float:
    """How alike the values of two repeats are when paired in the best way, summed over all pairs of repeats."""
    stretches, codes = _coded(runs)
    by_size: dict[int, Counter[tuple[int, ...]]] = {}
    for run in codes:
        by_size.setdefault(len(run), Counter())[tuple(sorted(run))] += 1
    # Repeats with the very same values agree in all of them.
    total = float(sum(size * n * (n - 1) // 2 for size, times in by_size.items() for n in times.values()))
    alike = _Alike(stretches)
    tables = [_Table(times) for _, times in sorted(by_size.items())]
    for at, few in enumerate(tables):
        for many in tables[at:]:
            total += _between(few, many, alike)
    return total


class _Table:
    """The different repeats with so many values, as codes, and how often each came."""

    def __init__(self, times: Counter[tuple[int, ...]]) -> None:
        groups = sorted(times)
        self.codes = np.array(groups).T
        """Values x repeats, so that the same value of all repeats lies side by side."""
        self.times = np.array([times[group] for group in groups], dtype=float)


def _between(few: _Table, many: _Table, alike: _Alike) -> float:
    """Every repeat of one table with every one of another whose repeats have more values, or with all of its own."""
    width = len(many.codes)
    at_once = _MOST_AT_ONCE // max(len(few.codes) * width, 2 ** min(width, _MOST_BY_SUBSETS))
    total = 0.0
    for left, right in _pairs(len(few.times), None if many is few else len(many.times), at_once):
        best = _best(alike(few.codes[:, left][:, None], many.codes[:, right][None]))
        total += float((best * few.times[left] * many.times[right]).sum())
    return total


def _coded(runs: Sequence[Sequence[Any]]) -> tuple[list[tuple[float, float] | None], list[list[int]]]:
    """The different values (a stretch, or None for anything else), and every repeat as codes into them."""
    known: dict[Any, tuple[tuple[float, float] | None, str]] = {}
    named = [[_noted(value, known) for value in run] for run in runs]
    # In an order of their own, so that the sums come out the same whatever came first.
    order = sorted(known, key=lambda name: (known[name][0] is None, known[name][0] or (), known[name][1]))
    code = {name: at for at, name in enumerate(order)}
    return [known[name][0] for name in order], [[code[name] for name in run] for run in named]


def _noted(value: Any, known: dict[Any, tuple[tuple[float, float] | None, str]]) -> Any:
    stretch = stretch_of(value)
    name = stretch or ("other", identity(value))
    if name not in known:
        known[name] = stretch, "" if stretch else repr(name)
    return name


def stretch_of(value: Any) -> tuple[float, float] | None:
    """The start and the end of a stretch, given as a list of two numbers or as `start` and `end`; None of all else."""
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end")]
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    if any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in value):
        return None
    try:
        start, end = float(value[0]), float(value[1])
    except OverflowError:
        return None
    return (start, end) if start < end and math.isfinite(end - start) else None


class _Alike:
    """How alike any two of the different values are."""

    def __init__(self, stretches: Sequence[tuple[float, float] | None]) -> None:
        n = len(stretches)
        self._start, self._end = np.array([stretch or (0.0, 0.0) for stretch in stretches]).reshape(n, 2).T
        self._stretch = np.array([stretch is not None for stretch in stretches], dtype=bool)
        every = np.arange(n)
        self._table = self._of(every[:, None], every) if n * n <= _MOST_AT_ONCE else None

    def __call__(self, one: Array, other: Array) -> Array:
        """For values given by their codes."""
        return self._of(one, other) if self._table is None else self._table[one, other]

    def _of(self, one: Array, other: Array) -> Array:
        shared = np.minimum(self._end[one], self._end[other]) - np.maximum(self._start[one], self._start[other])
        shared = np.maximum(shared, 0.0)
        either = self._end[one] - self._start[one] + self._end[other] - self._start[other] - shared
        stretches = self._stretch[one] & self._stretch[other]
        found: Array = np.where(stretches, shared / np.where(stretches, either, 1.0), one == other)
        return found


def _pairs(n: int, others: int | None, at_once: int) -> Iterator[tuple[Array, Array]]:
    """Every pair of `n` groups with each other (`others` None) or with other groups, so many at a time."""
    rows = max(1, at_once // max(1, n if others is None else others))
    for first in range(0, n, rows):
        one = np.arange(first, min(first + rows, n))
        other = np.arange(n if others is None else others)
        left, right = (each.ravel() for each in np.meshgrid(one, other, indexing="ij"))
        kept = left < right if others is None else slice(None)
        yield left[kept], right[kept]


def _best(alike: Array) -> Array:
    """Of tables of rows x columns, the largest sum of each with one value from every row, none from the same column."""
    rows, columns, _ = alike.shape
    if rows == 1:
        only: Array = alike[0].max(axis=0)
        return only
    if columns <= _MOST_BY_SUBSETS:
        return _by_subsets(alike)
    tables = np.moveaxis(alike, 2, 0).tolist()
    return np.array([sum(each[row][column] for row, column in best_assignment(each)) for each in tables])


def _by_subsets(alike: Array) -> Array:
    """The best sums of many small tables at once: the first rows with every set of so many columns, row by row."""
    rows, columns, n = alike.shape
    best = {0: np.zeros(n)}
    spare = np.empty(n)
    for row in range(rows):
        longer: dict[int, Array] = {}
        for chosen in combinations(range(columns), row + 1):
            taken = sum(1 << column for column in chosen)
            sums = best[taken ^ (1 << chosen[0])] + alike[row, chosen[0]]
            for column in chosen[1:]:
                np.add(best[taken ^ (1 << column)], alike[row, column], out=spare)
                np.maximum(sums, spare, out=sums)
            longer[taken] = sums
        best = longer
    last: Array = np.maximum.reduce(list(best.values()))
    return last
