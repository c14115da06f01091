"""What an experiment comes to: the checks that must hold, and the decision that every kind of experiment makes.

A/B on cases, A/B on users and experiments with criteria differ in where their pairs come from, not in this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from steelyard.experiments.effects import FEW_CARRY, Effect, is_same, side
from steelyard.frozen import frozen
from steelyard.stats.ratio_mismatch import MISMATCH, independence_p


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
class ValidityCheck:
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
    checks: tuple[ValidityCheck, ...]
    test: str
    """The test that was read: sequential or fixed."""
    method: str
    signatures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None


TOO_FEW = (
    "too few units carry the difference, the others being alike, to know how far it may lie; wait for more, or say the"
    " least and the most that an outcome can be: outcome: {range: [0, 500]}"
)
NOT_DUE = (
    "not decided yet: a fixed test is read once, when all that was planned is there; until then the always-valid"
    " interval is shown, and decides nothing"
)


def decided_by(effect: Effect, same_within: float | None) -> Decided:
    """What the figure alone comes to: the same when all of the interval is, else the side of 0 on which it lies."""
    if effect.difference is None:
        return Decided.CANNOT_TELL
    if is_same(effect, same_within):
        return Decided.SAME
    shown_side = side(effect)
    if shown_side == 0:
        return Decided.CANNOT_TELL
    return Decided.B if (shown_side > 0) is (effect.better_when == "higher") else Decided.A


def conclude(
    checks: Sequence[ValidityCheck],
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


def missing_alike(name: str, message: str, counts: Sequence[tuple[int, int]]) -> ValidityCheck:
    """Whether as many are missing in both arms; `counts` are those that are there and those that are missing."""
    p = independence_p(counts)
    if p is None or p >= MISMATCH:
        return ValidityCheck(name, message)
    sentence = f"{message} (p = {p:.1g}): samples missing in one arm only are not missing by chance"
    return ValidityCheck(name, sentence, fine=False, invalidates=True)
