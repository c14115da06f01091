"""The interval of a mean on a scale with two ends, found by search instead of by formula."""

from __future__ import annotations

import math

from scipy import stats
from scipy.optimize import brentq


def score_ends(mean: float, error: float, df: float, scale: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """The two means from which `mean` would lie just Student's 97.5 % point away, were the standard error in proportion
    to sqrt((mean - low) * (high - mean)) and `error` at the mean that was seen."""
    low, high = scale
    point = float(stats.t.ppf(0.975, df))

    def beyond(at: float) -> float:
        apart = error * math.sqrt((at - low) * (high - at) / ((mean - low) * (high - mean)))
        return abs(mean - at) - point * apart

    return brentq(beyond, low, mean, xtol=1e-14), brentq(beyond, mean, high, xtol=1e-14)
