"""Columns of codes: counting, ranking and translating them, a piece at a time where they are long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PIECE = 16_384


def pieces(n: int) -> Iterator[slice]:
    """Slices that together are all of `n`."""
    return (slice(start, min(start + PIECE, n)) for start in range(0, n, PIECE))


def tally(codes: Array, n: int) -> Array:
    """How often each of `n` codes occurs; negative ones are nothing."""
    result = np.zeros(n, dtype=int)
    for piece in pieces(len(codes)):
        present = codes[piece]
        result += np.bincount(present[present >= 0].astype(int), minlength=n)
    return result


def lowest(values: Array, most: int) -> Array:
    """The places of at most so many of the lowest values, lowest first, of equal ones the first; NaN is left out."""
    rows = np.flatnonzero(~np.isnan(values))
    if len(rows) > most:
        rows = rows[values[rows] <= np.partition(values[rows], most - 1)[most - 1]]
    result: Array = rows[np.argsort(values[rows], kind="stable")][:most]
    return result


def add_at(sums: Array, where: Array, amounts: Array | None = None) -> None:
    """Add amounts (1 each unless given) to the sums at the given places, of which some occur several times."""
    if not len(where):
        return
    first, last = int(where.min()), int(where.max())
    if last - first < 4 * len(where):
        # Samples of one case mostly come side by side: a narrow window is four times as fast.
        sums[first : last + 1] += np.bincount(where - first, amounts).astype(sums.dtype)
    else:
        np.add.at(sums, where, 1 if amounts is None else amounts)


def distinct(codes: Array) -> tuple[Array, Array]:
    """The different codes, sorted, and how often each occurs (numpy's own hashes them and takes 30 times as long)."""
    ranked = np.sort(codes)
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(ranked) else np.empty(0, int)
    n = np.empty_like(starts)
    n[:-1], n[-1:] = starts[1:], len(ranked)
    n -= starts
    return ranked if len(starts) == len(ranked) else ranked[starts], n


def translated(codes: Array, to: Iterable[int], absent: int = -1) -> Array:
    """Codes of one list of names as codes of another, in the narrowest type; a code below 0 becomes `absent`."""
    # The last entry is the one that -1 points at.
    table = np.array([*to, absent])
    table = table.astype(np.result_type(*(np.min_scalar_type(end) for end in (-1, int(table.max())))))
    result = np.empty(len(codes), dtype=table.dtype)
    for piece in pieces(len(codes)):
        result[piece] = table[codes[piece]]
    return result
