"""What came of comparing two runs, A (before) and B (after): plain data that every report is a view of."""

from __future__ import annotations

from dataclasses import field

from steelyard.comparing.attribution_model import Attribution
from steelyard.frozen import frozen
from steelyard.pairing.model import (
    ChecksChange,
    CodeChange,
    Confusions,
    MetricChange,
    Moved,
    NotCompared,
    Pairs,
    SectionChange,
    SignaturePair,
)
from steelyard.records import RunHeader
from steelyard.stats.intervals import Estimate


@frozen
class SliceChange:
    """One group of comparable pairs: a category, a difficulty, a variant, a tag."""

    factor: str
    name: str
    n: int
    """Comparable pairs."""
    n_cases: int
    fixed: int
    broken: int
    metrics: tuple[MetricChange, ...] = ()
    """Pass rate (with a pass rule), average and the components."""


@frozen
class Headline:
    """The answer: better, worse, the same, or cannot tell; and how sure that is."""

    verdict: Moved
    sentence: str
    significance: str
    metric: str
    """The primary metric: pass_rate with a pass rule, else average."""
    smallest: str = ""
    """What difference this many cases could have shown, in words; "" when unknown."""
    confounded_by: tuple[str, ...] = ()
    """Why there is no verdict although there may be a difference; empty when nothing blocks."""
    in_spite_of: tuple[str, ...] = ()
    """What would have blocked the verdict, had it not been asked for anyway."""
    sides: tuple[str, ...] = ()
    """What is wrong with a run itself: it is SUSPECT, INVALID, unfinished or partial. The sentence ends with it."""


@frozen
class LengthEffect:
    """How much of the difference between two judged runs is associated with the length of their answers; see
    `comparing/length.py`. Differences are of the average score (0 to 1), and `n` is cases."""

    ratio: Estimate
    """How many times as long B's answers are, as a geometric mean."""
    difference: Estimate
    """B minus A."""
    at_equal_length: Estimate
    """What a regression on the log ratio of lengths leaves at equal length; n/a when it cannot be separated."""
    with_length: Estimate
    """The rest: what is associated with length."""

    @property
    def share(self) -> float | None:
        """The part of the difference that is associated with length; None where the difference rounds to 0, or the two
        have other signs."""
        total, part = self.difference.value, self.with_length.value
        if total is None or part is None or abs(total) < 0.0005 or part * total < 0:
            return None
        return part / total


@frozen
class Unpaired:
    """The figures of two runs that have no pair, side by side, each over all samples of its own run."""

    sentence: str
    """What that can show, and what it cannot."""
    figures: tuple[MetricChange, ...] = ()
    """By group: headline, components, failures, category, difficulty, variant, tag, findings, sections, confusions.
    `difference` has the interval of two independent figures; nothing is better or worse."""


@frozen
class Comparison:
    """Everything that changed from run A to run B."""

    a: RunHeader
    b: RunHeader
    signatures: SignaturePair
    headline: Headline
    pairs: Pairs
    metrics: tuple[MetricChange, ...] = ()
    """Of all comparable pairs, the primary one first."""
    slices: dict[str, tuple[SliceChange, ...]] = field(default_factory=dict)
    """By factor: category, difficulty, variant, tag."""
    codes: tuple[CodeChange, ...] = ()
    """Every code found on either side, what moved most first."""
    confusions: Confusions = field(default_factory=Confusions)
    sections: tuple[SectionChange, ...] = ()
    checks: ChecksChange | None = None
    """None when a run has no expectations."""
    not_compared: tuple[NotCompared, ...] = ()
    """Everything that only one run has, or that is not the same thing in both."""
    method: str = ""
    """How intervals and p-values were computed, in one line."""
    attribution: Attribution | None = None
    """Why the headline number moved; None when nobody asked."""
    unpaired: Unpaired | None = None
    """None when there is a comparable pair."""
    length: LengthEffect | None = None
    """Of judged runs whose answers differ in length; None else."""
