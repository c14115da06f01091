"""One figure in both arms of an experiment, and the test of its difference: always valid, or read once at the end."""

from __future__ import annotations

import math
from dataclasses import replace

from steelyard.experiments.pairs import ArmPairs
from steelyard.frozen import frozen
from steelyard.records import AtLeast
from steelyard.stats.bounded_mean import METHOD as BOUNDS
from steelyard.stats.bounded_mean import bounded_mean
from steelyard.stats.paired import Paired, paired_mean, paired_rate
from steelyard.stats.sequential import ALPHA, Sequential, asymptotic_mean, carried_by_few, sequential_mean

PASS_RATE, AVERAGE = "pass_rate", "average"
SEQUENTIAL, FIXED = "sequential", "fixed"
"""Tests: one that may be looked at any time, and one that may be looked at once, when all that was planned is there."""


@frozen
class Effect:
    """One figure in both arms and the difference, B less A; None for what is undefined."""

    name: str
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    n: int
    """The number of pairs of cases, or of units in both arms together."""
    n_missing: int
    method: str
    p: float | None = None
    better_when: str = "higher"


BETTING = "always-valid: confidence sequence by betting (Waudby-Smith and Ramdas 2024)"
MIXTURE = "always-valid: normal mixture, asymptotic (Waudby-Smith and others 2024)"
TIMED_OUT = "no difference: calls timed out, so means are lower bounds"
FEW_CARRY = "no interval: too few values carry the difference"
_NAMES = {PASS_RATE: "pass rate", "average": "average score"}
EXTRA = {"s": "latency.mean", "cost": "cost.total"}
"""By unit, the metric of what is to be known beside the quality."""


@frozen
class PlannedTest:
    """Which test may be read now, and how many pairs were planned."""

    test: str
    pairs: int
    same_within: float | None = None


def readable_test(asked: str, *, complete: bool) -> str:
    """A fixed test may be read once, when all that was planned is there; before that the sequential one is shown."""
    return FIXED if asked == FIXED and complete else SEQUENTIAL


def quality(pairs: ArmPairs, metric: str, planned: PlannedTest) -> Effect:
    """The figure that decides."""
    effect = _effect(_NAMES[metric], "share", pairs, better_when(metric))
    if pairs.n < 2:
        return effect
    always = sequential_mean(pairs.differences, planned.same_within)
    if planned.test == SEQUENTIAL:
        return replace(effect, low=always.low, high=always.high, p=always.p, method=BETTING)
    fixed = _fixed(pairs, rate=metric == PASS_RATE and pairs.single)
    if fixed.low is None:
        return _without_spread(replace(effect, p=fixed.p), fixed.test, always)
    result = replace(effect, low=fixed.low, high=fixed.high, p=fixed.p, method=f"fixed: {fixed.test}")
    if not is_same(result, planned.same_within):
        return result
    bounds = bounded_mean(pairs.differences, pairs.differences**0, (-1.0, 1.0))
    low, high = (None, None) if bounds is None else bounds.interval()
    return replace(result, low=low, high=high, method=f"fixed: {fixed.test}; {BOUNDS}")


def _without_spread(effect: Effect, test: str, always: Sequential) -> Effect:
    """Where all cases moved alike a fixed test knows no interval; the always-valid one holds here, too.

    Of few cases it is wide: one that contradicts the exact test, which has shown a difference, is not told.
    """
    if always.low is None or always.high is None or (shown(effect.p) and always.low <= 0 <= always.high):
        return replace(effect, method=f"fixed: {test}")
    return replace(effect, low=always.low, high=always.high, method=f"{test}; {BETTING}")


def extra(name: str, unit: str, pairs: ArmPairs, planned: PlannedTest) -> Effect | None:
    """A figure that is to be known beside the quality; None when no pair has it."""
    if pairs.n == 0:
        return None
    effect = _effect(name, unit, pairs, better_when(EXTRA[unit]))
    if pairs.at_least_a or pairs.at_least_b:
        a = AtLeast(effect.a or 0.0) if pairs.at_least_a else effect.a
        b = AtLeast(effect.b or 0.0) if pairs.at_least_b else effect.b
        return replace(effect, a=a, b=b, difference=None, method=TIMED_OUT)
    if planned.test == FIXED:
        fixed = _fixed(pairs, rate=False, widest=math.inf)
        low, high = (None, None) if carried_by_few(pairs.differences) else (fixed.low, fixed.high)
        return replace(effect, low=low, high=high, p=fixed.p, method=f"fixed: {fixed.test}")
    always = asymptotic_mean(pairs.differences, planned.pairs)
    return replace(effect, low=always.low, high=always.high, method=FEW_CARRY if always.low is None else MIXTURE)


def _fixed(pairs: ArmPairs, *, rate: bool, widest: float = 1.0) -> Paired:
    import numpy as np

    if rate:
        return paired_rate(pairs.a, pairs.b)
    return paired_mean(pairs.differences, np.ones(pairs.n), widest)


def better_when(name: str) -> str:
    """Which way a metric is better."""
    from steelyard.metrics.registry import metric
    from steelyard.suite.models import SuiteModel

    return metric(name).better_in(SuiteModel())


def _effect(name: str, unit: str, pairs: ArmPairs, better: str) -> Effect:
    missing = pairs.n_cases - pairs.n
    if pairs.n == 0:
        return Effect(name, unit, None, None, None, None, None, 0, missing, "", better_when=better)
    a, b = float(pairs.a.mean()), float(pairs.b.mean())
    difference = float(pairs.differences.mean())
    return Effect(name, unit, a, b, difference, None, None, pairs.n, missing, "", better_when=better)


def is_same(effect: Effect, same_within: float | None) -> bool:
    """Whether all of the interval is near enough to 0 to count as the same."""
    if same_within is None or effect.low is None or effect.high is None:
        return False
    return -same_within < effect.low and effect.high < same_within


def side(effect: Effect) -> int:
    """1 when B is shown to be above A, -1 when below, 0 when neither is: test and interval must agree."""
    if effect.p is not None and not shown(effect.p):
        return 0
    if effect.low is not None and effect.high is not None:
        return (effect.low > 0) - (effect.high < 0)
    value = effect.difference or 0.0
    return 0 if effect.p is None else (value > 0) - (value < 0)


def shown(p: float | None) -> bool:
    """Whether a test has shown a difference."""
    return p is not None and p <= ALPHA
