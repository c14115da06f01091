"""Calibration of stated confidence, and the thresholds that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import ANYWHERE, SHARES, Estimate, bounded, clustered_share, settled, share_spreads
from steelyard.stats.resampling import TAILS, blocks, draws, summed
from steelyard.wording import percent

LEAST_CLAIMS = 10
"""Fewer claims give no recommendation and no widest gap: at 10 the 95 % interval of a rate of one half already spans
more than half of the scale (23.7 to 76.3 %), and with fewer it says nothing."""

# What confidences are worth: the figures of claims that came with one. `n` is always a number of claims.


@frozen
class BucketFigure:
    """One bucket of confidences: from `low` up to `high`, which belongs to the next one (1.0 to the surest)."""

    name: str
    low: float
    high: float
    errors: int
    """Claims in it that are wrong."""
    error_rate: Estimate


@frozen
class ReliabilityBin:
    """One point of the reliability diagram."""

    low: float
    high: float
    confidence: float | None
    """The mean confidence of its claims; None when it has none."""
    right: Estimate
    """The share of its claims that are right."""


@frozen
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


@frozen
class Split:
    """What a threshold does: claims of at least that confidence are kept, all others dropped."""

    right_kept: int
    wrong_kept: int
    right_lost: int
    wrong_dropped: int


SIDES = tuple(item.name for item in fields(Split))


@frozen
class RaisedThreshold:
    """The rule: where more than half of a bucket's claims are wrong, raise the threshold above its lower bound."""

    threshold: float | None
    """The bucket's upper bound, the lowest threshold that leaves it out; None when no bucket asks for one."""
    above: float | None
    """The bucket's lower bound, which the threshold must be above."""
    bucket: str | None
    """The bucket of highest confidence that asks for it."""
    n: int
    """Claims in that bucket; all claims when there is none."""
    sure: bool
    """Whether the whole interval of the bucket's error rate lies above one half."""
    split: Split | None
    """What the threshold would keep and lose."""
    reason: str


@frozen
class BestThreshold:
    """The threshold that makes the most of the claims, each that is kept being worth what the suite says."""

    threshold: Estimate
    """With the interval of the best thresholds over resamples; no value without enough data."""
    gain: Estimate
    """What it is worth more, a claim, than keeping all; its interval is of claims it was not chosen on."""
    split: Split | None
    reason: str


@frozen
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


def calibrate(confidence: Array, right: Array, cluster: Array, n_bins: int, missing: int = 0) -> Calibration:
    """The calibration of claims with confidences from 0 to 1; `cluster` numbers the cases they come from."""
    n = len(confidence)
    place = bin_of(confidence, n_bins)
    count = np.bincount(place, minlength=n_bins)
    gap = np.bincount(place, confidence - right, minlength=n_bins)
    text = np.bincount(place, confidence, minlength=n_bins)
    shares = shares_by(place, n_bins, right, cluster)
    bins = tuple(
        ReliabilityBin(
            b / n_bins, (b + 1) / n_bins, settled(float(text[b] / count[b])) if count[b] else None, shares[b]
        )
        for b in range(n_bins)
    )
    if not n:
        return Calibration(Estimate(None, 0, missing), None, Estimate(None, 0, missing), None, bins)
    luck = _luck(place, confidence - right, cluster, n_bins)
    widest, mce = _maximum(gap, count, luck, missing)
    ece, again, chance = float(np.abs(gap).sum() / n), None, None
    if luck is not None:
        again, chance = (np.abs(item).sum(axis=1) / luck.count.sum(axis=1) for item in (luck.gap, luck.noise))
    by_chance = None if chance is None else settled(float(chance.mean()))
    return Calibration(_estimate(ece, again, chance, n, missing), by_chance, mce, widest, bins)


def bin_of(confidence: Array, n_bins: int) -> Array:
    """The bin of each confidence; a boundary belongs to the upper bin, 1.0 to the last."""
    return np.searchsorted(np.arange(1, n_bins) / n_bins, confidence, side="right")


def shares_by(code: Array, n_codes: int, hit: Array, cluster: Array) -> list[Estimate]:
    """For each code the share of hits among its rows, with an interval over the clusters they come from."""
    n_clusters = int(cluster.max()) + 1 if len(cluster) else 0
    size = summed(cluster, n_clusters, code, n_codes)
    hits = summed(cluster[hit], n_clusters, code[hit], n_codes)
    n, result = size.sum(axis=0), hits.sum(axis=0)
    spreads = share_spreads(hits.ravel(), size.ravel(), np.tile(np.arange(n_codes), n_clusters), n_codes)
    return [clustered_share(int(result[i]), int(n[i]), 0, spreads[i]) for i in range(n_codes)]


@frozen
class _Luck:
    """Every bin over resamples of cases: tables of resamples by bins."""

    gap: Array
    noise: Array
    """How far the gap moved, which is what the gap itself would be if the confidences were perfect."""
    count: Array


def _luck(place: Array, apart: Array, cluster: Array, n_bins: int) -> _Luck | None:
    """None when all claims come from a single case."""
    block, n_blocks = blocks(cluster)
    if n_blocks < 2:
        return None
    drawn = draws(n_blocks)
    gap = drawn @ summed(block, n_blocks, place, n_bins, apart)
    noise = gap - np.bincount(place, apart, minlength=n_bins)
    return _Luck(gap, noise, drawn @ summed(block, n_blocks, place, n_bins))


def _maximum(gap: Array, count: Array, luck: _Luck | None, missing: int) -> tuple[int | None, Estimate]:
    """The widest gap of the bins that hold enough claims, and its bin; the claims of the other bins are missing."""
    full = np.flatnonzero(count >= LEAST_CLAIMS)
    n = int(count[full].sum())
    missing += int(count.sum()) - n
    if not len(full):
        return None, Estimate(None, 0, missing)
    gaps = np.abs(gap[full]) / count[full]
    widest = int(full[np.argmax(gaps)])
    if luck is None:
        return widest, _estimate(float(gaps.max()), None, None, n, missing)
    again, chance = (_widest(item[:, full], luck.count[:, full]) for item in (luck.gap, luck.noise))
    return widest, _estimate(float(gaps.max()), again, chance, n, missing)


def _widest(gap: Array, count: Array) -> Array:
    result: Array = np.divide(np.abs(gap), count, out=np.zeros_like(gap), where=count > 0).max(axis=1)
    return result


def _estimate(error: float, again: Array | None, chance: Array | None, n: int, missing: int) -> Estimate:
    error = settled(error)
    if again is None or chance is None:
        return Estimate(error, n, missing)
    low, high = (float(end) for end in np.quantile(again, TAILS))
    least = 0.0 if error <= np.quantile(chance, TAILS[1]) else min(low, 2 * error - high)
    return bounded(error, n, missing, (settled(least), settled(max(high, 2 * error - low))), SHARES)


# From which confidence on claims should be kept: by the rule of one half, and by what claims are worth.

_HALF = 0.5
_MOST_CANDIDATES = 200
_STEPS = 100


def raised(buckets: Sequence[BucketFigure], confidence: Array, right: Array) -> RaisedThreshold:
    """The recommendation of the rule: above the surest bucket in which more than half of the claims are wrong."""
    full = [bucket for bucket in buckets if bucket.error_rate.n >= LEAST_CLAIMS]
    bad = [bucket for bucket in full if (bucket.error_rate.value or 0.0) > _HALF]
    if not bad:
        return RaisedThreshold(None, None, None, len(confidence), False, None, _nothing_to_raise(buckets, full))
    bucket = bad[0]
    # Of several the surest: a threshold above it is above the others too.
    rate, sure = bucket.error_rate, (bucket.error_rate.low or 0.0) > _HALF
    reason = (
        f"{bucket.errors:,} of {rate.n:,} claims with {bucket.name} confidence are wrong "
        f"({percent(rate.value)}): raise the threshold above {bucket.low:g}"
    )
    if bucket is not buckets[0]:
        reason += f" ({bucket.high:g} leaves them out)"
    if not sure:
        reason += "; the interval reaches down to one half or is undefined, so this may be luck"
    if bucket is buckets[0]:
        reason += "; no bucket has a higher confidence, so no threshold fixes this"
    split = split_at(confidence, right, bucket.high)
    return RaisedThreshold(bucket.high, bucket.low, bucket.name, rate.n, sure, split, reason)


def _nothing_to_raise(buckets: Sequence[BucketFigure], full: Sequence[BucketFigure]) -> str:
    thin = [f"{bucket.name} ({bucket.error_rate.n:,})" for bucket in buckets if bucket not in full]
    too_few = f"fewer than {LEAST_CLAIMS} claims in {', '.join(thin)}"
    if not full:
        return f"not enough data: {too_few}"
    message = "in no bucket are more than half of the claims wrong"
    return f"{message}; not enough data to tell: {too_few}" if thin else message


def side_of(confidence: Array, right: Array, threshold: float) -> Array:
    """Of each claim, which of `SIDES` a threshold puts it on; one without a confidence is not kept."""
    return np.where(confidence >= threshold, 0, 2) + np.where(right, 0, 1)


def split_at(confidence: Array, right: Array, threshold: float) -> Split:
    """What keeping the claims of at least that confidence keeps and loses."""
    return Split(*np.bincount(side_of(confidence, right, threshold), minlength=len(SIDES)).tolist())


def best(
    confidence: Array, right: Array, cluster: Array, utility: tuple[float, float], missing: int = 0
) -> BestThreshold:
    """The threshold of the highest utility; of several the lowest, which keeps the most claims."""
    n, n_right = len(confidence), int(right.sum())
    if min(n_right, n - n_right) < LEAST_CLAIMS:
        reason = (
            f"not enough data: {n_right:,} right and {n - n_right:,} wrong claims, and a threshold between them needs "
            f"{LEAST_CLAIMS} of each"
        )
        return BestThreshold(Estimate(None, n, missing), Estimate(None, n, missing), None, reason)
    steps = _candidates(confidence)
    step = np.searchsorted(steps, confidence, side="right") - 1
    worth = np.where(right, *utility)
    # What is lost by dropping all claims below each candidate; the last one drops everything.
    gains = 0.0 - _below(np.bincount(step, worth, minlength=len(steps))[None, :])[0]
    chosen = int(np.argmax(np.round(gains, 9)))
    keeps_nothing = chosen == len(steps)
    threshold = None if keeps_nothing else float(steps[chosen])
    moved = _drawn_anew(step, worth, cluster, steps)
    result = _threshold_estimate(threshold, moved, n, missing)
    gain = _gain_estimate(float(gains[chosen]) / n, moved, n, missing)
    split = split_at(confidence, right, np.inf if threshold is None else threshold)
    return BestThreshold(result, gain, split, _reason(threshold, chosen, gain, moved is not None))


def _reason(threshold: float | None, chosen: int, gain: Estimate, has_interval: bool) -> str:
    if chosen == 0:
        return "keeping every claim is worth the most"
    message = (
        "no claim is worth keeping"
        if threshold is None
        else f"keeping claims with confidence {threshold:g} and above has the highest utility"
    )
    if not has_interval:
        return f"{message}; all claims come from one case, which does not generalise"
    if (gain.low or 0.0) <= 0:
        return f"{message} here, but not enough data: for other claims it may be worth no more than keeping all"
    return message


def _candidates(confidence: Array) -> Array:
    """Thresholds to try, from one that keeps everything upwards: the confidences there are, or, of many, hundredths."""
    # Sorted by hand: numpy's own hashes first and takes far longer.
    ranked = np.sort(confidence)
    there = ranked[np.concatenate(([True], ranked[1:] != ranked[:-1]))]
    if len(there) > _MOST_CANDIDATES:
        there = np.arange(_STEPS + 1) / _STEPS
    return there if there[0] <= 0 else np.concatenate(([0.0], there[1:] if len(there) > 1 else there))


def _below(worth: Array) -> Array:
    """For each candidate, and for dropping everything, the worth of all claims below it, row by row."""
    return np.concatenate([np.zeros((len(worth), 1)), np.cumsum(worth, axis=1)], axis=1)


def _drawn_anew(step: Array, worth: Array, cluster: Array, steps: Array) -> tuple[Array, Array] | None:
    """For each resample the best threshold (above 1 for none) and what it gains, a claim, on the cases not drawn."""
    block, n_blocks = blocks(cluster)
    if n_blocks < 2:
        return None
    drawn = draws(n_blocks)
    table = summed(block, n_blocks, step, len(steps), worth)
    size = np.bincount(block, minlength=n_blocks)
    chosen = np.argmax(np.round(-_below(drawn @ table), 9), axis=1)
    left = (drawn == 0).astype(float)
    n_left = left @ size
    gained = 0.0 - _below(left @ table)[np.arange(len(drawn)), chosen]
    some = n_left > 0
    if not some.any():
        return None
    thresholds = np.append(steps, np.inf)[chosen]
    return thresholds, gained[some] / n_left[some]


def _threshold_estimate(threshold: float | None, moved: tuple[Array, Array] | None, n: int, missing: int) -> Estimate:
    if threshold is None or moved is None:
        return Estimate(threshold, n, missing)
    # One that was drawn, not a point between two; where nothing was worth keeping it ends at 1.
    low, high = np.quantile(np.minimum(moved[0], 1.0), TAILS, method="nearest")
    return bounded(threshold, n, missing, (float(low), float(high)), SHARES)


def _gain_estimate(gain: float, moved: tuple[Array, Array] | None, n: int, missing: int) -> Estimate:
    gain = settled(gain)
    if moved is None:
        return Estimate(gain, n, missing)
    low, high = (settled(float(end)) for end in np.quantile(moved[1], TAILS))
    return bounded(gain, n, missing, (low, high), ANYWHERE)
