"""What a run comes to, with the reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.records import Outcome, RunState, Verdict
from steelyard.release.gates import evaluate
from steelyard.release.model import Decision, GateResult

_EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INVALID: 3, Verdict.AMBIGUOUS: 4}


def decide(
    summary: Summary,
    suite: dict[str, Any],
    *,
    state: RunState | str = RunState.ENDED,
    suspect: Sequence[str] = (),
) -> Decision:
    """The verdict of a run: INVALID before anything else, then FAIL, AMBIGUOUS, PASS; None without gates.

    A run that a health check found suspect is never PASS.
    """
    allowed = float(suite.get("max_inconclusive", 0.05))
    gates = tuple(evaluate(suite.get("gates") or (), summary, max_inconclusive=allowed))
    broken = _why_invalid(summary, allowed, RunState(state))
    doubts = tuple(f"suspect: {reason}" for reason in suspect)
    if broken:
        return Decision(Verdict.INVALID, (*broken, *doubts), gates)
    if not gates:
        return Decision(None, ("the suite declares no gates", *doubts), gates)
    failed = _reasons(gates, Verdict.FAIL)
    open_ = _reasons(gates, Verdict.AMBIGUOUS)
    if failed:
        return Decision(Verdict.FAIL, (*failed, *open_, *doubts), gates)
    if open_ or doubts:
        return Decision(Verdict.AMBIGUOUS, (*open_, *doubts), gates)
    held = "the gate holds" if len(gates) == 1 else f"all {len(gates)} gates hold"
    return Decision(Verdict.PASS, (held,), gates)


def exit_code(verdict: Verdict | None) -> int:
    """The code a command ends with; a run without a verdict ends with 0."""
    return 0 if verdict is None else _EXIT_CODES[verdict]


def _why_invalid(summary: Summary, allowed: float, state: RunState) -> tuple[str, ...]:
    overall = summary.overall
    reasons = []
    if state is not RunState.ENDED:
        reasons.append(f"the run has not finished: it is {state.value}")
    planned = overall.n_planned
    absent = planned - sum(overall.outcomes.values())
    failed = sum(n for outcome, n in overall.outcomes.items() if not Outcome(outcome).conclusive)
    if overall.average.n == 0:
        never = f", {absent} that never came" if absent else ""
        reasons.append(f"nothing was weighed: {planned} samples, {failed} of them inconclusive{never}")
    elif failed + absent > allowed * planned + 1e-9:
        found = [f"{failed} of {planned} samples {_are(failed)} inconclusive"] if failed else []
        found += [f"{absent} of {planned} planned samples {_are(absent)} missing"] if absent else []
        share = f"{100 * (failed + absent) / planned:.1f} %"
        reasons.append(f"{' and '.join(found)} ({share}), more than the {100 * allowed:g} % allowed")
    return tuple(reasons)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _reasons(gates: Sequence[GateResult], verdict: Verdict) -> tuple[str, ...]:
    return tuple(
        f"{each.gate}: {each.reason}" if each.metric in each.gate else f"{each.gate} ({each.metric}): {each.reason}"
        for each in gates
        if each.verdict is verdict
    )
