"""From which confidence on claims should be kept: by the rule of one half, and by what claims are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from steelyard.analysis.calibration import LEAST_CLAIMS, BucketFigure
from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import ANYWHERE, SHARES, Estimate, bounded, settled
from steelyard.stats.resampling import TAILS, blocks, draws, summed
from steelyard.wording import percent


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
