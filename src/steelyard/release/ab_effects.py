"""The figures of two arms on the same cases: by the test that may be read now, fixed or sequential."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from steelyard.analysis.arm_pairs import ArmPairs
from steelyard.analysis.paired_tests import Paired, paired_mean, paired_rate
from steelyard.analysis.sequential import ALPHA, Sequential, asymptotic_mean, sequential_mean
from steelyard.release.ab_model import FIXED, PASS_RATE, SEQUENTIAL, Decided, Effect

BETTING = "always-valid: confidence sequence by betting (Waudby-Smith and Ramdas 2024)"
MIXTURE = "always-valid: normal mixture, asymptotic (Waudby-Smith and others 2024)"
NOT_DUE = (
    "not decided yet: a fixed test is read once, when all that was planned is there; until then the always-valid"
    " interval is shown, and decides nothing"
)
_NAMES = {PASS_RATE: "pass rate", "average": "average score"}


@dataclass(frozen=True, slots=True)
class Reading:
    """Which test is read: `planned` pairs were meant to be there, and `test` is what may be said now."""

    test: str
    planned: int
    same_within: float | None = None


def readable_test(asked: str, *, complete: bool) -> str:
    """A fixed test may be read once, when all that was planned is there; before that the sequential one is shown."""
    return FIXED if asked == FIXED and complete else SEQUENTIAL


def quality(pairs: ArmPairs, metric: str, reading: Reading) -> Effect:
    """The figure that decides."""
    effect = _effect(_NAMES[metric], "share", pairs, "higher")
    if pairs.n < 2:
        return effect
    always = sequential_mean(pairs.differences, reading.same_within)
    if reading.test == SEQUENTIAL:
        return replace(effect, low=always.low, high=always.high, p=always.p, method=BETTING)
    fixed = _fixed(pairs, rate=metric == PASS_RATE and pairs.single)
    if fixed.low is None:
        return _without_spread(replace(effect, p=fixed.p), fixed.test, always)
    return replace(effect, low=fixed.low, high=fixed.high, p=fixed.p, method=f"fixed: {fixed.test}")


def _without_spread(effect: Effect, test: str, always: Sequential) -> Effect:
    """Where all cases moved alike a fixed test knows no interval; the always-valid one holds here, too.

    Of few cases it is wide: one that contradicts the exact test, which has shown a difference, is not told.
    """
    if always.low is None or always.high is None or (shown(effect.p) and always.low <= 0 <= always.high):
        return replace(effect, method=f"fixed: {test}")
    return replace(effect, low=always.low, high=always.high, method=f"{test}; {BETTING}")


def beside(name: str, unit: str, pairs: ArmPairs, reading: Reading) -> Effect | None:
    """A figure that is to be known beside the quality; None when no pair has it."""
    if pairs.n == 0:
        return None
    effect = _effect(name, unit, pairs, "lower")
    if reading.test == FIXED:
        fixed = _fixed(pairs, rate=False, widest=math.inf)
        return replace(effect, low=fixed.low, high=fixed.high, p=fixed.p, method=f"fixed: {fixed.test}")
    always = asymptotic_mean(pairs.differences, reading.planned)
    return replace(effect, low=always.low, high=always.high, method=MIXTURE)


def _fixed(pairs: ArmPairs, *, rate: bool, widest: float = 1.0) -> Paired:
    import numpy as np

    if rate:
        return paired_rate(pairs.a, pairs.b)
    return paired_mean(pairs.differences, np.ones(pairs.n), widest)


def _effect(name: str, unit: str, pairs: ArmPairs, better_when: str) -> Effect:
    missing = pairs.n_cases - pairs.n
    if pairs.n == 0:
        return Effect(name, unit, None, None, None, None, None, 0, missing, "", better_when=better_when)
    a, b = float(pairs.a.mean()), float(pairs.b.mean())
    difference = float(pairs.differences.mean())
    return Effect(name, unit, a, b, difference, None, None, pairs.n, missing, "", better_when=better_when)


def decided_by(effect: Effect, same_within: float | None) -> Decided:
    """What the figure alone comes to: the same when all of the interval is, else the side of 0 on which it lies."""
    if effect.difference is None:
        return Decided.CANNOT_TELL
    low, high = effect.low, effect.high
    if same_within is not None and low is not None and high is not None and -same_within < low and high < same_within:
        return Decided.SAME
    side = _side(effect)
    if side == 0:
        return Decided.CANNOT_TELL
    return Decided.B if (side > 0) is (effect.better_when == "higher") else Decided.A


def _side(effect: Effect) -> int:
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
