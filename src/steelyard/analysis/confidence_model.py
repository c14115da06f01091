"""What confidences are worth: all figures of some claims, and what a summary has of them beside its figures."""

from __future__ import annotations

from dataclasses import field

from steelyard.analysis.calibration import BucketFigure, Calibration
from steelyard.analysis.confidence_thresholds import BestThreshold, RaisedThreshold
from steelyard.frozen import frozen
from steelyard.stats.intervals import Estimate


@frozen
class Claims:
    """All figures of some claims: of a run, or of one kind of claim. `n` is always a number of claims."""

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


@frozen
class ConfidenceFigures:
    """What the confidences in a run's answers are worth."""

    overall: Claims
    labels: dict[str, Claims] = field(default_factory=dict)
    """By kind of claim, the most frequent first; empty when the suite distinguishes no kinds."""
    n_labels: int = 0
    """How many kinds there are; `labels` holds the most frequent ones when there are very many."""
    unusable: dict[str, int] = field(default_factory=dict)
    """Claims whose confidence is none, or none from 0 to 1, by what is wrong with it. Nothing is clamped."""
    n_left_out: int = 0
    """Claims of samples that are inconclusive or excluded."""
    utility: dict[str, float] = field(default_factory=dict)
    """What a right and a wrong claim are worth."""
    method: str = ""
    """How intervals and thresholds were computed, in one line."""


@frozen
class Bucket:
    """One bucket of confidences: from `low` up to `high`, which belongs to the next one (1.0 to the surest)."""

    name: str
    low: float
    high: float


@frozen
class ClaimTexts:
    """What the figures of some claims do not say: why their thresholds are what they are."""

    raised: str
    """Why the rule raises the threshold, or does not."""
    bucket: str | None
    """The bucket of highest confidence that asks for it."""
    sure: bool
    """Whether the whole interval of the bucket's error rate lies above one half."""
    best: str
    """Why the best threshold is the best, or why there is none."""
    widest: int | None
    """The bin with the widest gap, from 1."""


@frozen
class ConfidenceTexts:
    """What a summary has of confidences beside their figures (`confidence.*`)."""

    buckets: tuple[Bucket, ...]
    """The surest first."""
    n_bins: int
    overall: ClaimTexts
    labels: dict[str, ClaimTexts] = field(default_factory=dict)
    """By kind of claim, the most frequent first, at most `MOST_LABELS`; empty when the suite distinguishes no kinds."""
    utility: dict[str, float] = field(default_factory=dict)
    """What a right and a wrong claim are worth."""
    method: str = ""
    """How intervals and thresholds were computed, in one line."""


def texts_of(figures: ConfidenceFigures) -> ConfidenceTexts:
    """What a summary has of confidences beside their figures."""
    return ConfidenceTexts(
        buckets=tuple(Bucket(item.name, item.low, item.high) for item in figures.overall.buckets),
        n_bins=len(figures.overall.calibration.bins),
        overall=_texts(figures.overall),
        labels={name: _texts(claims) for name, claims in figures.labels.items()},
        utility=figures.utility,
        method=figures.method,
    )


def _texts(claims: Claims) -> ClaimTexts:
    raised, widest = claims.raised, claims.calibration.widest
    number = None if widest is None else widest + 1
    return ClaimTexts(raised.reason, raised.bucket, raised.sure, claims.best.reason, number)
