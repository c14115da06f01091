"""Long narrow columns walked in pieces: numpy widens what it counts or looks up, and a piece at a time is little.

Cases drawn anew, with a fixed seed: how far a figure without a formula for its interval moves by luck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
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
    found = np.zeros(n, dtype=int)
    for piece in pieces(len(codes)):
        present = codes[piece]
        found += np.bincount(present[present >= 0].astype(int), minlength=n)
    return found


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
    return ranked[starts], np.diff(np.append(starts, len(ranked)))


def translated(codes: Array, to: Iterable[int], absent: int = -1) -> Array:
    """Codes of one list of names as codes of another, in the narrowest type; a code below 0 becomes `absent`."""
    # The last entry is the one that -1 points at.
    table = np.array([*to, absent])
    table = table.astype(np.result_type(*(np.min_scalar_type(end) for end in (-1, int(table.max())))))
    found = np.empty(len(codes), dtype=table.dtype)
    for piece in pieces(len(codes)):
        found[piece] = table[codes[piece]]
    return found


RESAMPLES = 1000
MOST_BLOCKS = 400
"""Of more cases, neighbours are drawn together: sums over blocks of independent cases vary as those over cases do."""
LEAST_CLAIMS = 10
"""Fewer claims give no recommendation and no widest gap: at 10 the 95 % interval of a rate of one half already spans
more than half of the scale (23.7 to 76.3 %), and with fewer it says nothing."""
SEED = 20_250_101
TAILS = (0.025, 0.975)


def blocks(cluster: Array) -> tuple[Array, int]:
    """For each row the block that is drawn as a whole, and how many blocks there are; clusters are numbered from 0."""
    n = int(cluster.max()) + 1 if len(cluster) else 0
    if n <= MOST_BLOCKS:
        return cluster, n
    return cluster.astype(np.int64) * MOST_BLOCKS // n, MOST_BLOCKS


@lru_cache(maxsize=4)
def draws(n_blocks: int) -> Array:
    """How often each block is drawn in each resample: a table of resamples by blocks."""
    picked = np.random.default_rng(SEED).integers(0, n_blocks, size=(RESAMPLES, n_blocks))
    flat = (picked + n_blocks * np.arange(RESAMPLES)[:, None]).ravel()
    return np.bincount(flat, minlength=RESAMPLES * n_blocks).reshape(RESAMPLES, n_blocks).astype(float)


def summed(block: Array, n_blocks: int, code: Array, n_codes: int, amounts: Array | None = None) -> Array:
    """A table of blocks by codes: the sum of the amounts, or how many rows there are."""
    key = block.astype(np.int64) * n_codes + code
    return np.bincount(key, amounts, minlength=n_blocks * n_codes).reshape(n_blocks, n_codes).astype(float)
