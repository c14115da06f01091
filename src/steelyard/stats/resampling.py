"""Resampling with one seed: which blocks of cases are drawn in each resample, and sums over them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from steelyard.stats.arrays import Array

RESAMPLES = 1000
MOST_BLOCKS = 400
"""Of more cases, neighbours are drawn together: sums over blocks of independent cases vary as those over cases do."""
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
