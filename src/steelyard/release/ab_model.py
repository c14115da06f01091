"""An A/B, offline or online, as plain data: the plan, the figures of both arms, the checks and the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

PASS_RATE, AVERAGE = "pass_rate", "average"
SEQUENTIAL, FIXED = "sequential", "fixed"
"""Tests: one that may be looked at any time, and one that may be looked at once, when all that was planned is there."""


class Decided(StrEnum):
    """What an A/B comes to."""

    B = "B"
    A = "A"
    SAME = "same"
    CANNOT_TELL = "cannot tell"
    INVALID = "INVALID"


EXIT_CODES: Mapping[Decided, int] = {
    Decided.B: 0,
    Decided.SAME: 0,
    Decided.A: 1,
    Decided.INVALID: 3,
    Decided.CANNOT_TELL: 4,
}


@dataclass(frozen=True, slots=True)
class AbPlan:
    """How an offline A/B is done and decided: stored with both runs before the first call."""

    seed: int = 0
    metric: str = AVERAGE
    max_cases: int | None = None
    stop_early: bool = False
    same_within: float | None = None
    """How far apart, as a share, the arms may be and count as the same; None when nothing does."""

    @classmethod
    def stored(cls, told: Mapping[str, Any]) -> AbPlan:
        """The plan in the options of a run."""
        return cls(**{name: told[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
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
    """Pairs of cases, or units in both arms together, that it stands on."""
    n_missing: int
    method: str
    p: float | None = None
    better_when: str = "higher"


@dataclass(frozen=True, slots=True)
class AbCheck:
    """One thing that must be so for the figures to mean anything, and whether it is."""

    name: str
    told: str
    fine: bool = True
    invalidates: bool = False
    """What is not fine makes the whole thing INVALID; otherwise it hinders a decision, or is only to be known."""
    hinders: bool = False


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """One arm: the letter it has in the decision, its name, and what is to be known of it."""

    letter: str
    name: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AbReport:
    """Everything that every view of an A/B shows."""

    title: str
    kind: str
    """offline or online."""
    arms: tuple[ArmFacts, ArmFacts]
    decided: Decided
    why: tuple[str, ...]
    """Sentences that the decision stands on; the first one says it."""
    quality: Effect
    beside: tuple[Effect, ...]
    checks: tuple[AbCheck, ...]
    test: str
    """The test that was read: sequential or fixed."""
    method: str
    signatures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None
