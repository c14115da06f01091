"""What a gate says and what a run comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.analysis.model import Estimate
from steelyard.records import Verdict


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate on one metric (a `*` gate gives one result a slice)."""

    gate: str
    """As written in the suite."""
    metric: str
    """The metric it was evaluated on, with `*` filled in."""
    value: Estimate
    threshold: float
    operator: str
    verdict: Verdict
    reason: str
    unit: str = ""
    """"share", "score", "count", "s", "cost", "tokens": how to print value and threshold."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The run's verdict with every reason for it; `verdict` is None when the suite declares no gates."""

    verdict: Verdict | None
    reasons: tuple[str, ...] = ()
    gates: tuple[GateResult, ...] = field(default=())
