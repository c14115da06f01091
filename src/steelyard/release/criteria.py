"""Every criterion held against a run or one variant of it: passes, fails, or lies between, with the reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.model import Estimate, Repeated
from steelyard.analysis.number_text import in_unit, told_apart
from steelyard.records import Verdict
from steelyard.release.gates import Scope, results, within_noise
from steelyard.release.model import GateResult
from steelyard.suite.criteria import Expression, parse_expression
from steelyard.suite.gates import EVERY, Gate
from steelyard.suite.model import Criterion
from steelyard.suite.repeats import RepeatsRule

HOLDS, DOES_NOT, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
"""What an expression alone comes to; for a criterion's `fail`, holding is bad."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one expression comes to, with the figure it stands on."""

    state: Verdict
    reason: str
    metric: str
    value: Estimate
    operator: str
    threshold: float
    unit: str


def declared_criteria(suite: dict[str, Any]) -> tuple[Criterion, ...]:
    """The criteria of a suite as a run's header describes it; a run stored before there were any has none."""
    return tuple(
        Criterion(each["name"], each["pass"], each["fail"], each["secondary"], each["about"])
        for each in suite.get("criteria") or ()
    )


def evaluate_criteria(criteria: Sequence[Criterion], scope: Scope) -> list[GateResult]:
    """The results of all criteria, in order; for one variant, only of those that speak of nothing but its samples."""
    return [_evaluate(criterion, scope) for criterion in criteria if _applies(criterion, scope)]


def _applies(criterion: Criterion, scope: Scope) -> bool:
    parts = [parse_expression(text) for text in (criterion.passes, criterion.fails) if text]
    return not scope.is_variant or all(scope.slices(part) for part in parts if isinstance(part, Gate))


def _evaluate(criterion: Criterion, scope: Scope) -> GateResult:
    passes = parse_expression(criterion.passes)
    fails = parse_expression(criterion.fails) if criterion.fails else None
    passed = _everywhere(passes, scope)
    if fails is None:
        verdict, reason = passed.state, passed.reason
    else:
        failed = _anywhere(fails, scope)
        verdict = _verdict(passed.state, failed.state)
        neither = (passed.state, failed.state) == (DOES_NOT, DOES_NOT)
        between = _between(passes, fails, passed.value) if neither else None
        reason = between or _reason(verdict, passed, failed)
    return GateResult(
        gate=criterion.passes,
        metric=passed.metric,
        value=passed.value,
        threshold=passed.threshold,
        operator=passed.operator,
        verdict=verdict,
        reason=reason,
        name=criterion.name,
        secondary=criterion.secondary,
        about=criterion.about,
        unit=passed.unit,
        fails=criterion.fails or "",
    )


def _verdict(passed: Verdict, failed: Verdict) -> Verdict:
    """What holds for certain decides; where both hold, on figures of different kinds, failing does."""
    if failed is HOLDS:
        return Verdict.FAIL
    return Verdict.PASS if (passed, failed) == (HOLDS, DOES_NOT) else Verdict.AMBIGUOUS


def _reason(verdict: Verdict, passed: _Answer, failed: _Answer) -> str:
    if verdict is not Verdict.AMBIGUOUS:
        return failed.reason if verdict is Verdict.FAIL else passed.reason
    if (passed.state, failed.state) == (DOES_NOT, DOES_NOT):
        return f"neither passes nor fails: {passed.reason}; {failed.reason}"
    if failed.state is DOES_NOT or failed.reason == passed.reason:
        return passed.reason
    return f"{passed.reason}; whether it fails is open: {failed.reason}"


def _between(passes: Expression, fails: Expression, value: Estimate) -> str | None:
    """The words for the one figure that both compare; None when there is no such one."""
    if not isinstance(passes, Gate) or not isinstance(fails, Gate):
        return None
    if passes.stands_on != fails.stands_on or passes.slice == EVERY:
        return None
    figure = told_apart(value.value or 0.0, passes.unit, passes.threshold, fails.threshold)
    high, low = (f"{each.operator} {in_unit(each.threshold, each.unit)}" for each in (passes, fails))
    absent = f"; {value.n_missing} missing" if value.n_missing else ""
    noise = any(within_noise(each, value, holds=False) for each in (passes, fails))
    across = "; the 95 % interval reaches across a threshold" if noise else ""
    return f"{figure} lies between: passes at {high}, fails at {low}{absent}{across}"


def _everywhere(expression: Expression, scope: Scope) -> _Answer:
    """An expression that holds when it holds in every slice, case and variant that it speaks of."""
    if isinstance(expression, RepeatsRule):
        return _over_repeats(expression, scope, enough_once=False)
    return _of_slices(expression, scope, decisive=DOES_NOT)


def _anywhere(expression: Expression, scope: Scope) -> _Answer:
    """An expression that holds as soon as it holds in one slice, or in one case under one variant."""
    if isinstance(expression, RepeatsRule):
        return _over_repeats(expression, scope, enough_once=True)
    return _of_slices(expression, scope, decisive=HOLDS)


def _of_slices(gate: Gate, scope: Scope, *, decisive: Verdict) -> _Answer:
    """The first slice that decides; without one, the first that is open; else they all agree."""
    found = results(gate, scope)
    order = {decisive: 0, OPEN: 1}
    one = min(found, key=lambda each: order.get(each.verdict, 2))
    alike = sum(each.verdict is one.verdict for each in found)
    reason = one.reason if gate.factor is None else f"{one.metric}: {one.reason}"
    more = f"; {alike - 1} more alike" if alike > 1 else ""
    more += f"; skipped as small: {one.skipped}" if one.skipped else ""
    return _Answer(one.verdict, reason + more, one.metric, one.value, gate.operator, gate.threshold, gate.unit)


def _over_repeats(rule: RepeatsRule, scope: Scope, *, enough_once: bool) -> _Answer:
    found = scope.part.repeated.get(rule.text, Repeated(0, 0, 0))
    decided = found.held + found.failed
    share = Estimate(found.held / decided if decided else None, decided, found.undecided)
    if not decided and not found.undecided:
        state, reason = OPEN, "n/a: nothing to stand on"
    elif enough_once and found.held:
        state, reason = HOLDS, f"{rule.text} holds in {found.held} of {decided}"
    elif found.failed and not enough_once:
        state, reason = DOES_NOT, _failing(found, decided)
    elif found.undecided:
        state, reason = OPEN, _undecided(rule, found, scope.summary.repeats)
    else:
        state = DOES_NOT if enough_once else HOLDS
        reason = f"{rule.text} holds in none of {decided}" if enough_once else f"all {decided} hold"
    return _Answer(state, reason, rule.text, share, ">=", 1.0, "share")


def _failing(found: Repeated, decided: int) -> str:
    named = ", ".join(found.failing)
    left_off = found.failed - len(found.failing)
    named += f" and {left_off} more" if named and left_off else ""
    open_ = f"; {found.undecided} undecided" if found.undecided else ""
    verb = "does" if found.failed == 1 else "do"
    return f"{found.held} of {decided} hold; {found.failed} {verb} not" + (f": {named}" if named else "") + open_


def _undecided(rule: RepeatsRule, found: Repeated, repeats: int) -> str:
    if repeats < rule.of:
        return f"undecided: it asks for {rule.of} repeats and this run has {repeats}; run with -n {rule.of}"
    cells = found.held + found.failed + found.undecided
    verb = "has" if found.undecided == 1 else "have"
    return f"undecided: {found.undecided} of {cells} {verb} fewer than {rule.of} conclusive repeats"
