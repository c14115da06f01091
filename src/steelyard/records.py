"""The nouns that every room speaks: what was asked, what came back, what it weighed.

Light frozen objects for the hot path; no behaviour beyond turning into plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Box = tuple[float, float, float, float]
"""A place on a picture: left, top, right and bottom as fractions of its width and height."""


class Outcome(StrEnum):
    """How one sample ended; a closed set."""

    SCORED = "scored"
    MALFORMED = "malformed"
    TARGET_FAILED = "target_failed"
    JUDGE_FAILED = "judge_failed"

    @property
    def conclusive(self) -> bool:
        """True when the sample says something about the system: a reading, not a broken scale."""
        return self in (Outcome.SCORED, Outcome.MALFORMED)


class Verdict(StrEnum):
    """What a run, or one gate of it, comes to."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    AMBIGUOUS = "AMBIGUOUS"
    INVALID = "INVALID"


class RunState(StrEnum):
    """Where a run stands in its life."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Finding:
    """One typed error: exactly one code of the suite's taxonomy, where it is, what was expected and what came."""

    code: str
    place: str = ""
    expected: Any = None
    got: Any = None
    evidence: str = ""
    severity: str = "error"
    component: str = ""
    """The component that found it; "" for an answer that could not be read."""
    gain: float = 0.0
    """What the component, as a share of its scale, would rise by if this error alone were mended."""
    box: Box | None = None
    """Where it is on the case's picture."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was found right, and where it is on the case's picture."""

    box: Box
    text: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """One component's value on its declared scale; `value` is None when there was nothing to weigh it against.

    `raw` is the value before a rule bound it, `bound_by` names that rule.
    """

    name: str
    value: float | None
    weight: float = 1.0
    raw: float | None = None
    bound_by: str | None = None
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What was counted on the way: the scorer's measures are ratios of these, summed over samples."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a target or judge gave nothing."""

    kind: str
    message: str


@dataclass(slots=True)
class Attempt:
    """One answered (or finally failed) call of the target for a case, variant and repeat."""

    text: str | None = None
    status: int | None = None
    latency: float = 0.0
    started_at: float = 0.0
    tries: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str | None = None
    cached: bool = False
    failure: Failure | None = None


@dataclass(slots=True)
class Sample:
    """An attempt with what it weighed. `score` is a fraction 0..1; None when inconclusive."""

    case_id: str
    variant: str
    repeat: int
    attempt: Attempt
    outcome: Outcome
    score: float | None = None
    passed: bool | None = None
    band: str | None = None
    scores: tuple[Score, ...] = ()
    findings: tuple[Finding, ...] = ()
    marks: tuple[Mark, ...] = ()
    rung: str | None = None
    category: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    case_hash: str = ""
    position: int | None = None
    """Its place in the plan (cases x variants x repeats); None lets the store take the next free place."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies a sample inside its run."""
        return (self.case_id, self.variant, self.repeat)


@dataclass(slots=True)
class RunHeader:
    """Everything about a run except its samples. `suite` is the suite as plain data (see Suite.describe)."""

    id: str
    suite_name: str
    suite_path: str
    created_at: float
    signature: dict[str, Any]
    target: dict[str, Any]
    suite: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    n_planned: int = 0
    state: RunState = RunState.RUNNING
    ended_at: float | None = None
    verdict: Verdict | None = None
    suspect: tuple[str, ...] = ()
    rescored_from: str | None = None
    summary: dict[str, Any] | None = None
    version: str = ""
