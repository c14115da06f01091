"""What confidences are worth: the figures of claims that came with one. `n` is always a number of claims."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.stats.intervals import Estimate


@dataclass(frozen=True, slots=True)
class BucketFigure:
    """One bucket of confidences: from `low` up to `high`, which belongs to the next one (1.0 to the surest)."""

    name: str
    low: float
    high: float
    errors: int
    """Claims in it that are wrong."""
    error_rate: Estimate


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One point of the reliability diagram."""

    low: float
    high: float
    confidence: float | None
    """The mean confidence of its claims; None when it has none."""
    right: Estimate
    """The share of its claims that are right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far confidences are from the share that is right, in equally wide bins."""

    ece: Estimate
    """Expected calibration error: the gaps between confidence and share right, weighted by the claims of the bins."""
    by_chance: float | None
    """What the expected calibration error would be on average, at this n, if the confidences were perfect."""
    mce: Estimate
    """Maximum calibration error: the widest gap of the bins with at least ten claims; all other claims are missing."""
    widest: int | None
    """The place in `bins` of the bin with that gap."""
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """What a threshold does: claims of at least that confidence are kept, all others dropped."""

    right_kept: int
    wrong_kept: int
    right_lost: int
    wrong_dropped: int


@dataclass(frozen=True, slots=True)
class RaisedThreshold:
    """The rule: where more than half of a bucket's claims are wrong, raise the threshold above its lower bound."""

    threshold: float | None
    """The bucket's upper bound, the lowest threshold that leaves it out; None when no bucket asks for one."""
    above: float | None
    """The bucket's lower bound, which the threshold must be above."""
    bucket: str | None
    """The surest bucket that asks for it."""
    n: int
    """Claims in that bucket; all claims when there is none."""
    sure: bool
    """Whether the whole interval of the bucket's error rate lies above one half."""
    split: Split | None
    """What the threshold would keep and lose."""
    reason: str


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold that makes the most of the claims, each that is kept being worth what the suite says."""

    threshold: Estimate
    """With the interval of thresholds that were best when samples were drawn anew; no value without enough data."""
    gain: Estimate
    """What it is worth more, a claim, than keeping all; its interval is of claims it was not chosen on."""
    split: Split | None
    reason: str


@dataclass(frozen=True, slots=True)
class Claims:
    """All figures of some claims: of a run, or of one kind of claim."""

    n: int
    n_missing: int
    """Claims without a confidence from 0 to 1: they are in no figure."""
    n_cases: int
    """Cases that the claims come from, which is how many independent things there are."""
    errors: int
    error_rate: Estimate
    buckets: tuple[BucketFigure, ...]
    """The surest first."""
    calibration: Calibration
    brier: Estimate
    """Mean squared distance between confidence and outcome: 0 is perfect, 0.25 is what always saying 0.5 gives."""
    raised: RaisedThreshold
    best: BestThreshold


@dataclass(frozen=True, slots=True)
class ConfidenceFigures:
    """What the confidences in a run's answers are worth."""

    overall: Claims
    labels: dict[str, Claims] = field(default_factory=dict)
    """By kind of claim, the most frequent first; empty when the suite tells no kinds apart."""
    n_labels: int = 0
    """How many kinds there are; `labels` holds the most frequent ones when there are very many."""
    unusable: dict[str, int] = field(default_factory=dict)
    """Claims whose confidence is none, or none from 0 to 1, by what is wrong with it. Nothing is clamped."""
    n_left_out: int = 0
    """Claims of samples that are inconclusive or set aside."""
    utility: dict[str, float] = field(default_factory=dict)
    """What a right and a wrong claim are worth."""
    method: str = ""
    """How intervals and thresholds were computed, in one line."""
