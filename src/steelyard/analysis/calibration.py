"""Calibration: how far confidences are from the share of claims that is right, overall and bin by bin."""

from __future__ import annotations

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, bounded, clustered_share, settled, share_spreads
from steelyard.stats.resampling import TAILS, blocks, draws, summed

LEAST_CLAIMS = 10
"""Fewer claims give no recommendation and no widest gap: at 10 the 95 % interval of a rate of one half already spans
more than half of the scale (23.7 to 76.3 %), and with fewer it says nothing."""


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
