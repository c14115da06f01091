"""What an experiment comes to: its criteria held against both arms, after what was wrong with the experiment itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from steelyard.analysis.compare_model import Comparison
from steelyard.analysis.model import Estimate, Summary
from steelyard.records import RunHeader, Verdict
from steelyard.release.changed_factors import Changed
from steelyard.release.gates import Scope, measure, results
from steelyard.release.model import GateResult
from steelyard.release.verdict import decide
from steelyard.suite.experiment_criteria import holds_for, word_of
from steelyard.suite.gates import parse_gate


class Decided(StrEnum):
    """What becomes of the candidate."""

    ADOPT = "ADOPT"
    REJECT = "REJECT"
    CANNOT_TELL = "CANNOT TELL"
    INVALID = "INVALID"


EXIT_CODES = {Decided.ADOPT: 0, Decided.REJECT: 1, Decided.INVALID: 3, Decided.CANNOT_TELL: 4}


@dataclass(frozen=True, slots=True)
class Held:
    """One criterion, and what came of it."""

    text: str
    asks: str
    """adopt or reject."""
    holds: bool | None
    """None when nobody can tell."""
    reason: str
    baseline: Estimate | None = None
    """The figure of a gate on the baseline, to see beside the candidate's; None for words and gates on many slices."""
    candidate: Estimate | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of an experiment."""

    header: RunHeader
    summary: Summary

    @property
    def why_invalid(self) -> str:
        """Why it is no reading; "" when it is one."""
        header = self.header
        decision = decide(
            self.summary,
            header.suite,
            state=header.state,
            suspect=header.suspect,
            gone=header.options.get("broken"),
        )
        return "; ".join(decision.reasons) if decision.verdict is Verdict.INVALID else ""


@dataclass(frozen=True, slots=True)
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
    anyway: bool = False,
) -> Ruling:
    """What the experiment comes to: INVALID before anything else, then CANNOT TELL when the arms differ in more than
    the factor, then the criteria.

    `anyway` lets the criteria decide although other things changed, too; what it is in spite of is said.
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
    if spoilt and not anyway:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return Ruling(Decided.CANNOT_TELL, (*spoilt, *doubts, alone), held, changed, decided)
    if doubts and decided is Decided.ADOPT:
        alone = f"by the criteria alone: {decided.value} ({reasons[0]})"
        return Ruling(Decided.CANNOT_TELL, (*doubts, alone), held, changed, decided)
    in_spite = tuple(f"in spite of this: {why}" for why in (*spoilt, *doubts))
    return Ruling(decided, (*reasons, *in_spite), held, changed, decided)


def _why_invalid(baseline: Arm, candidate: Arm | None, comparison: Comparison | None) -> tuple[str, ...]:
    arms = (("the baseline", baseline), ("the candidate", candidate))
    found = [f"{name} is INVALID: {arm.why_invalid}" for name, arm in arms if arm is not None and arm.why_invalid]
    if candidate is None:
        found.append("the candidate was not asked: there is nothing to compare it with")
    elif comparison is not None and not comparison.pairs.comparable and not found:
        found.append("no sample of the baseline can be compared with one of the candidate")
    return tuple(found)


def _spoilt(changed: Changed) -> tuple[str, ...]:
    """Why a difference could not be put down to the factor."""
    told = changed.sentences
    if not told:
        return ()
    return (f"{'; '.join(told)}: whatever came of it cannot be put down to the {changed.declared}",)


def _held(text: str, asks: str, baseline: Arm, candidate: Arm, comparison: Comparison) -> Held:
    word = word_of(text)
    if word is None:
        return _gate(text, asks, baseline, candidate)
    headline = comparison.headline
    if baseline.header.suspect:
        # What is better than a reading that nobody believes, nobody knows.
        return Held(text, asks, None, f"the baseline is suspect: {baseline.header.suspect[0]}")
    return Held(text, asks, holds_for(word, headline.verdict.value), headline.sentence)


def _gate(text: str, asks: str, baseline: Arm, candidate: Arm) -> Held:
    """A gate on the candidate; to adopt it must hold in every slice it speaks of, to reject one is enough."""
    gate = parse_gate(text)
    scopes = [
        Scope(arm.summary, arm.summary.overall, float(arm.header.suite.get("max_inconclusive", 0.05)))
        for arm in (baseline, candidate)
    ]
    found = results(gate, scopes[1])
    decisive = Verdict.FAIL if asks == "adopt" else Verdict.PASS
    order = {decisive: 0, Verdict.AMBIGUOUS: 1}
    one: GateResult = min(found, key=lambda each: order.get(each.verdict, 2))
    holds = {Verdict.PASS: True, Verdict.FAIL: False}.get(one.verdict)
    told = one.reason if gate.factor is None else f"{one.metric}: {one.reason}"
    before = next((each.value for each in results(gate, scopes[0]) if each.metric == one.metric), None)
    if before is None and gate.factor is None:
        before = measure(gate, scopes[0].part, scopes[0].summary)
    return Held(text, asks, holds, told, before, one.value, gate.unit)


def _by_criteria(held: Sequence[Held]) -> tuple[Decided, tuple[str, ...]]:
    """Rejected when one criterion to reject holds, adopted when all to adopt hold and none to reject could."""
    adopt = [each for each in held if each.asks == "adopt"]
    reject = [each for each in held if each.asks == "reject"]
    if fatal := [each for each in reject if each.holds]:
        return Decided.REJECT, tuple(_said(each) for each in fatal)
    failed = [each for each in adopt if each.holds is False]
    if failed and not reject:
        return Decided.REJECT, tuple(f"does not hold: {_said(each)}" for each in failed)
    still_open = [each for each in held if each.holds is None]
    if not failed and not still_open:
        return Decided.ADOPT, (_all_hold(len(adopt), len(reject)),)
    told = [f"does not hold: {_said(each)}" for each in failed]
    told += [f"cannot be told: {_said(each)}" for each in still_open]
    if failed:
        told.insert(0, "neither what it takes to adopt nor what it takes to reject is met")
    return Decided.CANNOT_TELL, tuple(told)


def _all_hold(adopt: int, reject: int) -> str:
    told = "the criterion to adopt holds" if adopt == 1 else f"all {adopt} criteria to adopt hold"
    if not reject:
        return told
    return f"{told}, and {'the one to reject does not' if reject == 1 else 'none to reject does'}"


def _said(each: Held) -> str:
    return f"{each.text}: {each.reason}"
