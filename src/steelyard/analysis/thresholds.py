"""From which confidence on claims should be kept: by the rule of one half, and by what claims are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.confidence_model import BestThreshold, BucketFigure, RaisedThreshold, Split
from steelyard.analysis.number_text import percent
from steelyard.stats.arrays import LEAST_CLAIMS, TAILS, Array, blocks, draws, summed
from steelyard.stats.intervals import ANYWHERE, SHARES, Estimate, bounded, settled

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
        reason += "; no bucket is surer, so no threshold mends this"
    split = split_at(confidence, right, bucket.high)
    return RaisedThreshold(bucket.high, bucket.low, bucket.name, rate.n, sure, split, reason)


def _nothing_to_raise(buckets: Sequence[BucketFigure], full: Sequence[BucketFigure]) -> str:
    thin = [f"{bucket.name} ({bucket.error_rate.n:,})" for bucket in buckets if bucket not in full]
    too_few = f"fewer than {LEAST_CLAIMS} claims in {', '.join(thin)}"
    if not full:
        return f"not enough data: {too_few}"
    told = "in no bucket are more than half of the claims wrong"
    return f"{told}; not enough data to tell: {too_few}" if thin else told


def split_at(confidence: Array, right: Array, threshold: float) -> Split:
    """What keeping the claims of at least that confidence keeps and loses."""
    kept = confidence >= threshold
    return Split(
        right_kept=int((kept & right).sum()),
        wrong_kept=int((kept & ~right).sum()),
        right_lost=int((~kept & right).sum()),
        wrong_dropped=int((~kept & ~right).sum()),
    )


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
    found = _threshold_estimate(threshold, moved, n, missing)
    gain = _gain_estimate(float(gains[chosen]) / n, moved, n, missing)
    split = split_at(confidence, right, np.inf if threshold is None else threshold)
    return BestThreshold(found, gain, split, _reason(threshold, chosen, gain, moved is not None))


def _reason(threshold: float | None, chosen: int, gain: Estimate, has_interval: bool) -> str:
    if chosen == 0:
        return "keeping every claim is worth the most"
    told = (
        "no claim is worth keeping"
        if threshold is None
        else f"keeping claims of {threshold:g} and above is worth the most"
    )
    if not has_interval:
        return f"{told}; all claims come from one case, so nobody can tell for others"
    if (gain.low or 0.0) <= 0:
        return f"{told} here, but not enough data: for other claims it may be worth no more than keeping all"
    return told


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
