"""What a gate says and what a run comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.analysis.model import Estimate
from steelyard.records import Verdict


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate on one metric (a `*` gate gives one result a slice), or one criterion.

    Of a criterion, metric, value, operator and threshold are those of its `pass` expression; of one over repeats the
    value is the share of cases and variants in which it holds, and `value.n` is how many of them could be decided.
    """

    gate: str
    """As written in the suite; of a criterion, when it passes."""
    metric: str
    """The metric it was evaluated on, with `*` filled in."""
    value: Estimate
    threshold: float
    operator: str
    verdict: Verdict
    reason: str
    name: str = ""
    """What a criterion is called; "" for a plain gate."""
    secondary: bool = False
    """Shown, but the verdict does not depend on it."""
    about: str = ""
    unit: str = ""
    """"share", "score", "points", "count", "s", "cost", "tokens": how to print value and threshold; with ± before it
    for differences."""
    fails: str = ""
    """When a criterion fails, as written; "" when whatever does not pass fails."""
    left_out: bool = False
    """True when the run has nothing that it could stand on by its nature, as a truth: it is shown, and secondary."""
    baseline: str = ""
    """Of a gate on a baseline, the run behind it: value is the paired difference from it, `value.n` counts cases, and
    the threshold is what it may be."""
    skipped: str = ""
    """Of a gate that skips small slices: those that it skipped, each with its n."""

    @property
    def word(self) -> str:
        """Its verdict as tables have it."""
        return "left out" if self.left_out else self.verdict.value


@dataclass(frozen=True, slots=True)
class VariantDecision:
    """What the criteria come to on the samples of one variant."""

    variant: str
    verdict: Verdict
    criteria: tuple[GateResult, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The run's verdict with every reason for it; `verdict` is None when the suite declares no gates."""

    verdict: Verdict | None
    reasons: tuple[str, ...] = ()
    gates: tuple[GateResult, ...] = field(default=())
    """Gates and criteria."""
    by_variant: tuple[VariantDecision, ...] = field(default=())
    """What the criteria come to for each variant alone; empty without criteria or with a single variant."""
