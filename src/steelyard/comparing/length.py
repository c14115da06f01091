"""How much of a difference between judged runs is associated with the length of their answers.

A judge may favor long answers. The score difference of each case is regressed on its log length ratio (ordinary least
squares, standard errors HC3 with Student's t): the intercept is the difference at equal length, and the rest of the
mean difference, the slope times the mean log ratio, is associated with length. Association is not cause: longer
answers may be better.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steelyard.comparing.model import LengthEffect
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, student
from steelyard.stats.paired import case_starts
from steelyard.wording import percentage

MIN_CASES = 10
"""Fewer cases do not separate a difference from length."""
_MIN_SPREAD = 1e-9


def length_effect(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> LengthEffect | None:
    """How far scores and lengths moved together over the pairs of two judged runs; None where lengths do not differ
    beyond noise, or no judge is involved."""
    if a.mode is None or b.mode is None or a.lengths is None or b.lengths is None or not len(pairing):
        return None
    first, second = (
        _logs(lengths, rows) for lengths, rows in ((a.lengths, pairing.first), (b.lengths, pairing.second))
    )
    ratio = second - first
    score = b.table.score()[pairing.second] - a.table.score()[pairing.first]
    known = ~(np.isnan(ratio) | np.isnan(score))
    if not known.any():
        return None
    starts = case_starts(pairing.unit[known])
    sizes = np.diff(np.append(starts, int(known.sum())))
    ratio, score = (np.add.reduceat(column[known], starts) / sizes for column in (ratio, score))
    n, mean = len(ratio), float(ratio.mean())
    bounds = student(mean, float(ratio.std(ddof=1)) / math.sqrt(n), n - 1) if n > 1 else None
    # All answers longer by the same factor have no interval, and differ all the same.
    if abs(mean) < _MIN_SPREAD or (bounds is not None and bounds[0] <= 0 <= bounds[1]):
        return None
    total = float(score.mean())
    lengths = Estimate(math.exp(mean), n, 0, *(None, None) if bounds is None else map(math.exp, bounds))
    effect = LengthEffect(lengths, Estimate(total, n), Estimate(None, n), Estimate(None, n))
    if n < MIN_CASES or bounds is None or float(np.ptp(ratio)) < _MIN_SPREAD:
        return effect
    (at_equal, slope), (error, slope_error) = least_squares(ratio, score)
    equal, by_length = student(at_equal, error, n - 2), student(slope * mean, slope_error * abs(mean), n - 2)
    return LengthEffect(
        lengths,
        effect.difference,
        Estimate(at_equal, n, 0, *(equal or (None, None))),
        Estimate(slope * mean, n, 0, *(by_length or (None, None))),
    )


def _logs(lengths: Callable[[], Array], rows: Array) -> Array:
    """The log lengths of some answers; of an empty one as of one character."""
    return np.asarray(np.log(np.maximum(lengths()[rows], 1.0)))


def least_squares(x: Array, y: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """Intercept and slope of y on x, and their standard errors (HC3, MacKinnon and White 1985)."""
    design = np.column_stack((np.ones(len(x)), x))
    inverse = np.linalg.inv(design.T @ design)
    fit = inverse @ design.T @ y
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    residual = (y - design @ fit) / np.maximum(1 - leverage, _MIN_SPREAD)
    covariance = inverse @ (design.T * residual**2) @ design @ inverse
    errors = np.sqrt(np.diag(covariance))
    return (float(fit[0]), float(fit[1])), (float(errors[0]), float(errors[1]))


def length_in_words(effect: LengthEffect) -> str:
    """What a reader of the verdict must know about the lengths of the answers."""
    ratio = effect.ratio.value or 1.0
    how = f"{ratio:.2f} times as long as A's (geometric mean, {effect.ratio.n} cases)"
    equal, by_length = effect.at_equal_length, effect.with_length
    if equal.value is None or by_length.value is None:
        why = (
            f"fewer than {MIN_CASES} cases do not show"
            if effect.ratio.n < MIN_CASES
            else "all by the same factor, so nothing shows"
        )
        return f"B's answers are {how}; {why} how much of the difference is associated with length"
    share = f" ({100 * effect.share:.0f} %)" if effect.share is not None else ""
    total = percentage(effect.difference.value or 0.0)
    return (
        f"B's answers are {how}: {_points(by_length)} of {total:+.1f} points of the average score{share} are associated"
        f" with length; at equal length {_points(equal)}"
    )


def _points(estimate: Estimate) -> str:
    bounds = (
        ""
        if estimate.low is None or estimate.high is None
        else (f" [{percentage(estimate.low):+.1f}, {percentage(estimate.high):+.1f}]")
    )
    return f"{percentage(estimate.value or 0.0):+.1f}{bounds}"
