"""One experiment: two arms, a plan, checks and a decision.

Offline A/B, online A/B and experiments with criteria differ in where their pairs come from; plan, effects, checks and
decision are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from steelyard.analysis.compare.against import ArmPairs
from steelyard.analysis.compare.model import Comparison
from steelyard.analysis.model import Summary
from steelyard.decide.arms import Changed
from steelyard.decide.experiment_file import comparison_word, word_holds
from steelyard.decide.gates import GateResult, Scope, measure, results
from steelyard.decide.verdict import decide
from steelyard.frozen import frozen
from steelyard.metrics.expressions import parse_gate
from steelyard.records import AtLeast, RunHeader, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import Paired, paired_mean, paired_rate
from steelyard.stats.sequential import (
    ALPHA,
    MISMATCH,
    Sequential,
    asymptotic_mean,
    bounded_mean,
    carried_by_few,
    independence_p,
    sequential_mean,
)
from steelyard.stats.sequential import METHOD as BOUNDS

PASS_RATE, AVERAGE = "pass_rate", "average"
SEQUENTIAL, FIXED = "sequential", "fixed"
"""Tests: one that may be looked at any time, and one that may be looked at once, when all that was planned is there."""


class Decided(StrEnum):
    """What an experiment comes to: an A/B says which arm is better, one with criteria what becomes of the candidate."""

    B = "B"
    SAME = "same"
    A = "A"
    ADOPT = "ADOPT"
    REJECT = "REJECT"
    CANNOT_TELL = "CANNOT TELL"
    INVALID = "INVALID"


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


@frozen
class AbCheck:
    """One thing that must be so for the figures to mean anything, and whether it is."""

    name: str
    message: str
    fine: bool = True
    invalidates: bool = False
    """What happens when the check fails: the experiment is INVALID, the decision is blocked, or it is only reported."""
    confounds: bool = False


@frozen
class ArmFacts:
    """One arm: the letter it has in the decision, its name, and what is to be known of it."""

    letter: str
    name: str
    facts: tuple[tuple[str, str], ...]


@frozen
class AbReport:
    """Everything that every view of an A/B shows."""

    title: str
    kind: str
    """offline or online."""
    arms: tuple[ArmFacts, ArmFacts]
    decided: Decided
    why: tuple[str, ...]
    """Reasons of the decision; the first one states it."""
    quality: Effect
    extra: tuple[Effect, ...]
    checks: tuple[AbCheck, ...]
    test: str
    """The test that was read: sequential or fixed."""
    method: str
    signatures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None


BETTING = "always-valid: confidence sequence by betting (Waudby-Smith and Ramdas 2024)"
MIXTURE = "always-valid: normal mixture, asymptotic (Waudby-Smith and others 2024)"
TIMED_OUT = "no difference: calls timed out, so means are lower bounds"
FEW_CARRY = "no interval: too few values carry the difference"
TOO_FEW = (
    "too few units carry the difference, the others being alike, to know how far it may lie; wait for more, or say the"
    " least and the most that an outcome can be: outcome: {range: [0, 500]}"
)
NOT_DUE = (
    "not decided yet: a fixed test is read once, when all that was planned is there; until then the always-valid"
    " interval is shown, and decides nothing"
)
_NAMES = {PASS_RATE: "pass rate", "average": "average score"}
EXTRA = {"s": "latency.mean", "cost": "cost.total"}
"""By unit, the metric of what is to be known beside the quality."""


@frozen
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
    effect = _effect(_NAMES[metric], "share", pairs, better_when(metric))
    if pairs.n < 2:
        return effect
    always = sequential_mean(pairs.differences, reading.same_within)
    if reading.test == SEQUENTIAL:
        return replace(effect, low=always.low, high=always.high, p=always.p, method=BETTING)
    fixed = _fixed(pairs, rate=metric == PASS_RATE and pairs.single)
    if fixed.low is None:
        return _without_spread(replace(effect, p=fixed.p), fixed.test, always)
    result = replace(effect, low=fixed.low, high=fixed.high, p=fixed.p, method=f"fixed: {fixed.test}")
    if not is_same(result, reading.same_within):
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


def extra(name: str, unit: str, pairs: ArmPairs, reading: Reading) -> Effect | None:
    """A figure that is to be known beside the quality; None when no pair has it."""
    if pairs.n == 0:
        return None
    effect = _effect(name, unit, pairs, better_when(EXTRA[unit]))
    if pairs.at_least_a or pairs.at_least_b:
        a = AtLeast(effect.a or 0.0) if pairs.at_least_a else effect.a
        b = AtLeast(effect.b or 0.0) if pairs.at_least_b else effect.b
        return replace(effect, a=a, b=b, difference=None, method=TIMED_OUT)
    if reading.test == FIXED:
        fixed = _fixed(pairs, rate=False, widest=math.inf)
        low, high = (None, None) if carried_by_few(pairs.differences) else (fixed.low, fixed.high)
        return replace(effect, low=low, high=high, p=fixed.p, method=f"fixed: {fixed.test}")
    always = asymptotic_mean(pairs.differences, reading.planned)
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


def decided_by(effect: Effect, same_within: float | None) -> Decided:
    """What the figure alone comes to: the same when all of the interval is, else the side of 0 on which it lies."""
    if effect.difference is None:
        return Decided.CANNOT_TELL
    if is_same(effect, same_within):
        return Decided.SAME
    side = _side(effect)
    if side == 0:
        return Decided.CANNOT_TELL
    return Decided.B if (side > 0) is (effect.better_when == "higher") else Decided.A


def conclude(
    checks: Sequence[AbCheck],
    quality: Effect,
    same_within: float | None,
    *,
    due: bool,
    allow_mismatch: bool = False,
    broken: str = "an arm is INVALID: no decision",
) -> tuple[Decided, tuple[str, ...]]:
    """The decision, with the sentences it stands on: what a check forbids first, then what the figure comes to.

    `due` says whether the test may decide now, `allow_mismatch` that it decides in spite of what blocks.
    """
    if invalid := tuple(f"{check.name}: {check.message}" for check in checks if check.invalidates):
        return Decided.INVALID, (broken, *invalid)
    if not due:
        return Decided.CANNOT_TELL, (NOT_DUE,)
    decided = decided_by(quality, same_within)
    confounded = tuple(check.message for check in checks if check.confounds)
    if confounded and not allow_mismatch and decided is not Decided.CANNOT_TELL:
        return Decided.CANNOT_TELL, ("a decision would not be about the systems alone", *confounded)
    return decided, (TOO_FEW,) if quality.method == FEW_CARRY else ()


def missing_alike(name: str, message: str, counts: Sequence[tuple[int, int]]) -> AbCheck:
    """Whether as many are missing in both arms; `counts` are those that are there and those that are missing."""
    p = independence_p(counts)
    if p is None or p >= MISMATCH:
        return AbCheck(name, message)
    sentence = f"{message} (p = {p:.1g}): samples missing in one arm only are not missing by chance"
    return AbCheck(name, sentence, fine=False, invalidates=True)


def is_same(effect: Effect, same_within: float | None) -> bool:
    """Whether all of the interval is near enough to 0 to count as the same."""
    if same_within is None or effect.low is None or effect.high is None:
        return False
    return -same_within < effect.low and effect.high < same_within


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


@frozen
class Held:
    """One criterion, and what came of it."""

    text: str
    asks: str
    """adopt or reject."""
    holds: bool | None
    """None when it cannot be decided."""
    reason: str
    baseline: Estimate | None = None
    """The figure of a gate on the baseline, to see beside the candidate's; None for words and gates on many slices."""
    candidate: Estimate | None = None
    unit: str = ""


@frozen
class Arm:
    """One side of an experiment."""

    header: RunHeader
    summary: Summary

    @property
    def why_invalid(self) -> str:
        """Why it is INVALID; "" when it is not."""
        header = self.header
        decision = decide(
            self.summary,
            header.description,
            state=header.state,
            suspect=header.suspect,
            gone=header.options.broken,
        )
        return "; ".join(decision.reasons) if decision.verdict is Verdict.INVALID else ""


@frozen
class Ruling:
    """The decision with every reason for it, what spoils it first."""

    decided: Decided
    reasons: tuple[str, ...]
    criteria: tuple[Held, ...] = ()
    changed: Changed | None = None
    """None when there is nothing to compare."""
    by_criteria: Decided | None = None
    """What the criteria alone would say; None when an arm is INVALID."""


def rule(
    adopt: Sequence[str],
    reject: Sequence[str],
    baseline: Arm,
    candidate: Arm | None,
    comparison: Comparison | None,
    changed: Changed | None,
    *,
    allow_mismatch: bool = False,
) -> Ruling:
    """What the experiment comes to: INVALID before anything else, then CANNOT TELL when the arms differ in more than
    the factor, then the criteria.

    `allow_mismatch` lets the criteria decide although other things changed, too; what it is in spite of is said.
    """
    broken = _why_invalid(baseline, candidate, comparison)
    if broken or candidate is None or comparison is None or changed is None:
        return Ruling(Decided.INVALID, broken, changed=changed)
    held = tuple(
        _held(text, asks, baseline, candidate, comparison)
        for asks, texts in (("adopt", adopt), ("reject", reject))
        for text in texts
    )
    decided, reasons = _by_criteria(held)
    doubts = tuple(
        f"{name} is suspect: {why}"
        for name, arm in (("the baseline", baseline), ("the candidate", candidate))
        for why in arm.header.suspect
    )
    spoilt = _spoilt(changed)
    if spoilt and not allow_mismatch:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return Ruling(Decided.CANNOT_TELL, (*spoilt, *doubts, alone), held, changed, decided)
    if doubts and decided is Decided.ADOPT:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return Ruling(Decided.CANNOT_TELL, (*doubts, alone), held, changed, decided)
    in_spite = tuple(f"overridden: {why}" for why in (*spoilt, *doubts))
    return Ruling(decided, (*reasons, *in_spite), held, changed, decided)


def _why_invalid(baseline: Arm, candidate: Arm | None, comparison: Comparison | None) -> tuple[str, ...]:
    arms = (("the baseline", baseline), ("the candidate", candidate))
    matches = [f"{name} is INVALID: {arm.why_invalid}" for name, arm in arms if arm is not None and arm.why_invalid]
    if candidate is None:
        matches.append("the candidate was not asked: there is nothing to compare it with")
    elif comparison is not None and not comparison.pairs.comparable and not matches:
        matches.append("no sample of the baseline can be compared with one of the candidate")
    return tuple(matches)


def _spoilt(changed: Changed) -> tuple[str, ...]:
    """Why a difference could not be put down to the factor."""
    message = changed.sentences
    if not message:
        return ()
    return (f"{'; '.join(message)}: the difference cannot be attributed to the {changed.declared}",)


def _held(text: str, asks: str, baseline: Arm, candidate: Arm, comparison: Comparison) -> Held:
    word = comparison_word(text)
    if word is None:
        return _gate(text, asks, baseline, candidate)
    headline = comparison.headline
    if baseline.header.suspect:
        # What is better than a reading that nobody believes, nobody knows.
        return Held(text, asks, None, f"the baseline is suspect: {baseline.header.suspect[0]}")
    return Held(text, asks, word_holds(word, headline.verdict.value), headline.sentence)


def _gate(text: str, asks: str, baseline: Arm, candidate: Arm) -> Held:
    """A gate on the candidate; to adopt it must hold in every slice it speaks of, to reject one is enough."""
    gate = parse_gate(text)
    scopes = [Scope(arm.summary, arm.summary.overall) for arm in (baseline, candidate)]
    outcome = results(gate, scopes[1])
    decisive = Verdict.FAIL if asks == "adopt" else Verdict.PASS
    order = {decisive: 0, Verdict.AMBIGUOUS: 1}
    gate_result: GateResult = min(outcome, key=lambda item: order.get(item.verdict, 2))
    holds = {Verdict.PASS: True, Verdict.FAIL: False}.get(gate_result.verdict)
    message = gate_result.reason if gate.factor is None else f"{gate_result.metric}: {gate_result.reason}"
    before = next((result.value for result in results(gate, scopes[0]) if result.metric == gate_result.metric), None)
    if before is None and gate.factor is None:
        before = measure(gate, scopes[0].part, scopes[0].summary)
    return Held(text, asks, holds, message, before, gate_result.value, gate.unit)


def _by_criteria(held: Sequence[Held]) -> tuple[Decided, tuple[str, ...]]:
    """Rejected when one criterion to reject holds, adopted when all to adopt hold and none to reject could."""
    adopt = [item for item in held if item.asks == "adopt"]
    reject = [item for item in held if item.asks == "reject"]
    if fatal := [item for item in reject if item.holds]:
        return Decided.REJECT, tuple(_stated(item) for item in fatal)
    failed = [item for item in adopt if item.holds is False]
    if failed and not reject:
        return Decided.REJECT, tuple(f"is not met: {_stated(item)}" for item in failed)
    still_open = [item for item in held if item.holds is None]
    if not failed and not still_open:
        return Decided.ADOPT, (_all_hold(len(adopt), len(reject)),)
    messages = [f"is not met: {_stated(item)}" for item in failed]
    messages += [f"cannot be decided: {_stated(item)}" for item in still_open]
    if failed:
        messages.insert(0, "neither what it takes to adopt nor what it takes to reject is met")
    return Decided.CANNOT_TELL, tuple(messages)


def _all_hold(adopt: int, reject: int) -> str:
    message = "the criterion to adopt is met" if adopt == 1 else f"all {adopt} criteria to adopt are met"
    if not reject:
        return message
    return f"{message}, and {'the one to reject is not' if reject == 1 else 'none to reject is'}"


def _stated(held: Held) -> str:
    return f"{held.text}: {held.reason}"
