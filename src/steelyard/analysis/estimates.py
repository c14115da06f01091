"""Estimates from sums: means and shares with their intervals, over clusters of values that are alike."""

from __future__ import annotations

import math

from steelyard.analysis.intervals import effective_n, score_bounds, student, wilson
from steelyard.analysis.model import Estimate

Scale = tuple[float, float]
Spread = tuple[int, float, float]
"""The number of clusters, the sum of their squared deviations, the sum of their squared sizes."""
SHARES: Scale = (0.0, 1.0)
NOT_NEGATIVE: Scale = (0.0, math.inf)
ANYWHERE: Scale = (-math.inf, math.inf)
FEW_AWAY = 4
NO_SPREAD = 1e-24
"""Mean squared deviation that is only rounding: values that differ by less than 1e-12."""


def clustered_mean(
    mean: float, n: int, missing: int, spread: Spread, scale: Scale, away: int | None = None
) -> Estimate:
    """A mean over `n` values of a scale, with an interval over their clusters: Wilson's way where the scale has two
    ends, Student's where it has not.

    `away` tells how many clusters are not all at the end of the scale where most are; None when nobody counted.
    """
    if n == 0:
        return Estimate(None, 0, missing)
    mean = settled(mean)
    clusters, squares, sizes = spread
    if squares > n * NO_SPREAD and clusters > 1:
        error = (clusters / (clusters - 1) * squares) ** 0.5 / n
        bounds = mean_bounds(mean, error, clusters, scale, (away, n * n / sizes))
    else:
        return constant_mean(mean, n, missing, n * n / sizes if clusters > 1 else 0.0, scale)
    return bounded(mean, n, missing, bounds, scale)


def constant_mean(value: float, n: int, missing: int, worth: float, scale: Scale) -> Estimate:
    """The mean of values that are all the same, and worth so many trials; without interval on a scale without ends.

    No spread is not certainty. No trial gave another value, so Wilson's interval of 0 hits says how many of all may,
    and those may lie anywhere on the scale: at one of its ends this is the interval of a rate of 0 or 1.
    """
    low, high = scale
    others = wilson(0.0, worth)
    if others is None or math.isinf(high - low) or not low <= value <= high:
        return Estimate(value, n, missing)
    bounds = value - others[1] * (value - low), value + others[1] * (high - value)
    return Estimate(value, n, missing, *bounds, constant=low < value < high)


def mean_bounds(
    mean: float, error: float, clusters: int, scale: Scale, ends: tuple[int | None, float] = (None, 0.0)
) -> tuple[float, float] | None:
    """The interval of a mean with that standard error; `ends` are how many clusters are away from the end of the scale
    where most are, and how many trials all are worth."""
    low, high = scale
    if math.isinf(high - low) or not low < mean < high:
        return student(mean, error, clusters - 1)
    away, worth = ends
    if away is not None and 0 < away <= FEW_AWAY and 2 * away < clusters:
        # How far the few that are away lie from the end says little of how far the next will: one more counts as a
        # cluster that lies at the other end, as all do where none is away.
        widest = (mean - low) * (high - mean) / worth
        error = math.sqrt((away * error * error + widest) / (away + 1))
    bounds = score_bounds(mean, error, clusters - 1, scale)
    return None if bounds is None else (settled(bounds[0]), settled(bounds[1]))


def clustered_share(hits: int, n: int, missing: int, spread: Spread) -> Estimate:
    """A share of `n` trials, with Wilson's interval over what their clusters are worth."""
    if n == 0:
        return Estimate(None, 0, missing)
    share = hits / n
    return bounded(share, n, missing, wilson(share, worth_of(share, n, *spread)), SHARES)


def settled(figure: float) -> float:
    """The figure without its last digits, which depend on what was added up first: 28.75 must not print two ways."""
    return figure if figure.is_integer() else float(f"{figure:.12g}")


def worth_of(share: float, n: int, clusters: int, squares: float, sizes: float) -> float:
    """How many independent trials a share over clusters is worth; none when they are all of one cluster."""
    return effective_n(share, n, clusters, squares, sizes) if clusters > 1 else 0.0


def bounded(
    value: float,
    n: int,
    missing: int,
    bounds: tuple[float, float] | None,
    scale: Scale,
) -> Estimate:
    """The estimate with its interval cut at the ends of the scale; the value itself always lies inside."""
    if bounds is None:
        return Estimate(value, n, missing)
    low, high = bounds
    low, high = max(scale[0], low), min(scale[1], high)
    return Estimate(value, n, missing, min(low, value), max(high, value))
