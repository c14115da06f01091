"""What the confidences in a run's answers are worth: errors by bucket, calibration, thresholds, overall and by kind."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.calibration import calibrate, shares_by
from steelyard.analysis.confidence_model import BucketFigure, Claims, ConfidenceFigures
from steelyard.analysis.thresholds import best, raised
from steelyard.metrics.registry import NONE
from steelyard.metrics.table import Table
from steelyard.stats.arrays import LEAST_CLAIMS, RESAMPLES, SEED, Array, tally
from steelyard.stats.intervals import SHARES, Estimate, Spread, clustered_mean, settled
from steelyard.store.base import Certainties
from steelyard.suite.models import ConfidenceRules, SuiteDescription

MOST_LABELS = 50
"""So many kinds of claims get figures of their own, the most frequent ones."""


def confidence_figures(claims: Certainties, table: Table, suite: SuiteDescription) -> ConfidenceFigures | None:
    """The figures, by the rules that the suite declares or by the usual ones; None when no answer claimed anything.

    Claims of samples that are inconclusive or set aside are left out, as all their readings are.
    """
    if not claims.n:
        return None
    rules = suite.confidence or ConfidenceRules()
    believed = table.conclusive[claims.sample]
    wrong = unusable(claims.confidence, claims.stated)
    usable = believed & (wrong < 0)
    counts = tally(wrong[believed], len(UNUSABLE))
    return ConfidenceFigures(
        overall=_figures(claims, usable, int(counts.sum()), table.unit, rules),
        labels=_by_label(claims, believed, usable, table.unit, rules),
        n_labels=_n_labels(claims, believed),
        unusable={name: int(n) for name, n in zip(UNUSABLE, counts, strict=True) if n},
        n_left_out=int((~believed).sum()),
        utility={"right": rules.right, "wrong": rules.wrong},
        method=_METHOD,
    )


UNUSABLE = ("no confidence", "not a number", "below 0", "above 1")
"""What can be wrong with a confidence."""


def unusable(confidence: Array, stated: Array) -> Array:
    """For each claim what is wrong with its confidence, as a code into `UNUSABLE`; -1 when nothing is."""
    found = np.full(len(confidence), -1, dtype=np.int8)
    found[confidence < 0] = 2
    found[confidence > 1] = 3
    found[np.isnan(confidence)] = 1
    found[~stated] = 0
    return found


def _n_labels(claims: Certainties, believed: Array) -> int:
    names = [claims.labels[code] for code in np.flatnonzero(tally(claims.label[believed], len(claims.labels)))]
    return len(names) if any(names) else 0


def _by_label(
    claims: Certainties, believed: Array, usable: Array, case: Array, rules: ConfidenceRules
) -> dict[str, Claims]:
    if not _n_labels(claims, believed):
        return {}
    n_labels = len(claims.labels)
    all_of, usable_of = tally(claims.label[believed], n_labels), tally(claims.label[usable], n_labels)
    order = sorted(np.flatnonzero(all_of).tolist(), key=lambda code: (-all_of[code], claims.labels[code]))
    # Sorted once, so that no kind has to look through the claims of all others.
    rows = np.flatnonzero(usable)
    rows = rows[np.argsort(claims.label[rows], kind="stable")]
    ends = np.cumsum(usable_of)
    return {
        claims.labels[code] or NONE: _figures(
            claims, rows[ends[code] - usable_of[code] : ends[code]], int(all_of[code] - usable_of[code]), case, rules
        )
        for code in order[:MOST_LABELS]
    }


def _figures(claims: Certainties, rows: Array, missing: int, case: Array, rules: ConfidenceRules) -> Claims:
    """The figures of some claims, all with a confidence from 0 to 1; `missing` are those without."""
    confidence, right = claims.confidence[rows], claims.right[rows]
    cluster = _numbered(case[claims.sample[rows]], len(case))
    n = len(confidence)
    buckets = _buckets(confidence, right, cluster, rules)
    everything = np.zeros(n, dtype=np.int64)
    rate = shares_by(everything, 1, ~right, cluster)[0]
    return Claims(
        n=n,
        n_missing=missing,
        n_cases=int(cluster.max()) + 1 if n else 0,
        errors=int((~right).sum()),
        error_rate=Estimate(rate.value, rate.n, missing, rate.low, rate.high),
        buckets=buckets,
        calibration=calibrate(confidence, right, cluster, rules.bins, missing),
        brier=_brier(confidence, right, cluster, missing),
        raised=raised(buckets, confidence, right),
        best=best(confidence, right, cluster, (rules.right, rules.wrong), missing),
    )


def _numbered(case: Array, n_cases: int) -> Array:
    """The cases of the claims, numbered from 0 without gaps, in their order."""
    present = np.zeros(n_cases, dtype=bool)
    present[case] = True
    found: Array = (np.cumsum(present) - 1)[case]
    return found


def _buckets(confidence: Array, right: Array, cluster: Array, rules: ConfidenceRules) -> tuple[BucketFigure, ...]:
    """The surest first. A boundary belongs to the upper bucket alone."""
    ascending = rules.buckets[::-1]
    starts = np.array([bucket.at_least for bucket in ascending])
    code = np.searchsorted(starts, confidence, side="right") - 1
    rates = shares_by(code, len(starts), ~right, cluster)
    errors = np.bincount(code[~right], minlength=len(starts))
    ends = [*starts[1:].tolist(), 1.0]
    found = [
        BucketFigure(bucket.name, bucket.at_least, end, int(wrong), rate)
        for bucket, end, wrong, rate in zip(ascending, ends, errors, rates, strict=True)
    ]
    return tuple(found[::-1])


def _brier(confidence: Array, right: Array, cluster: Array, missing: int) -> Estimate:
    n = len(confidence)
    if not n:
        return Estimate(None, 0, missing)
    squares = (confidence - right) ** 2
    mean = float(squares.mean())
    size = np.bincount(cluster)
    apart = np.bincount(cluster, squares - mean)
    spread = Spread(len(size), float((apart * apart).sum()), float((size * size).sum()))
    return clustered_mean(settled(mean), n, missing, spread, SHARES)


_METHOD = (
    "95 % intervals: error rates Wilson, Brier score Wilson by its standard error, the claims of a case being one "
    f"cluster; calibration errors and thresholds from {RESAMPLES:,} resamples of cases (seed {SEED}); no "
    f"recommendation and no widest gap on fewer than {LEAST_CLAIMS} claims"
)
