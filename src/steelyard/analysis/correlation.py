"""Correlations with their intervals; undefined where one side does not vary or fewer than three rows say anything."""

from __future__ import annotations

import math

import numpy as np

from steelyard.analysis.estimates import settled
from steelyard.analysis.intervals import Z
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array

FEWEST = 3
"""Two points always lie on a line."""


def pearson(first: Array, second: Array, case: Array) -> Estimate:
    """Pearson's correlation of the rows in which both are known, with Fisher's interval over cases."""
    return _correlation(first, second, case, ranked=False)


def spearman(first: Array, second: Array, case: Array) -> Estimate:
    """Spearman's rank correlation, with the interval of Bonett and Wright (2000) over cases."""
    return _correlation(first, second, case, ranked=True)


def _correlation(first: Array, second: Array, case: Array, *, ranked: bool) -> Estimate:
    known = ~(np.isnan(first) | np.isnan(second))
    n, missing = int(known.sum()), int((~known).sum())
    first, second = first[known], second[known]
    if ranked:
        first, second = ranks(first), ranks(second)
    value = _coefficient(first, second)
    if value is None:
        return Estimate(None, n, missing)
    bounds = _fisher(value, len(np.unique(case[known])), ranked=ranked)
    return Estimate(value, n, missing, *(bounds or (None, None)))


def ranks(values: Array) -> Array:
    """Ranks from 1; equal values share the middle of theirs."""
    _, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[code])


def _coefficient(first: Array, second: Array) -> float | None:
    if len(first) < FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    one, other = first - first.mean(), second - second.mean()
    value = float((one * other).sum() / math.sqrt(float((one * one).sum()) * float((other * other).sum())))
    return settled(max(-1.0, min(1.0, round(value, 12))))


def _fisher(value: float, n: int, *, ranked: bool) -> tuple[float, float] | None:
    if n <= FEWEST or abs(value) >= 1:
        return None
    half = Z * math.sqrt((1 + value * value / 2 if ranked else 1.0) / (n - 3))
    centre = math.atanh(value)
    return math.tanh(centre - half), math.tanh(centre + half)
