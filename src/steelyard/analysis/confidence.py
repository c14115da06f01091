"""What the confidences in a run's answers are worth: errors by bucket, calibration, thresholds, overall and by kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.calibration import (
    SIDES,
    BucketFigure,
    Claims,
    ConfidenceFigures,
    best,
    bin_of,
    calibrate,
    raised,
    shares_by,
    side_of,
)
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import OF_MEAN, At, Contributions, Level, Reported
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.stats.arrays import LEAST_CLAIMS, RESAMPLES, SEED, Array, tally
from steelyard.stats.intervals import SHARES, Estimate, Spread, clustered_mean, settled
from steelyard.store.base import ClaimColumns
from steelyard.suite.case import NONE
from steelyard.suite.models import ConfidenceRules, SuiteModel

MOST_LABELS = 50
"""So many kinds of claims get figures of their own, the most frequent ones."""


def confidence_figures(claims: ClaimColumns, table: Table, suite: SuiteModel) -> ConfidenceFigures | None:
    """The figures, by the rules that the suite declares or by the usual ones; None when no answer claimed anything.

    Claims of samples that are inconclusive or excluded are left out, as all their readings are.
    """
    if not claims.n:
        return None
    rules, rows = suite.confidence or ConfidenceRules(), _Claims(claims, table)
    believed, usable = rows.believed, rows.believed & (rows.wrong < 0)
    counts = tally(rows.wrong[believed], len(UNUSABLE))
    n_labels = int(rows.kinds().sum())
    return ConfidenceFigures(
        overall=_figures(claims, usable, int(counts.sum()), table.unit, rules),
        labels=_by_label(claims, believed, usable, table.unit, rules) if n_labels else {},
        n_labels=n_labels,
        unusable={name: int(n) for name, n in zip(UNUSABLE, counts, strict=True) if n},
        n_left_out=int((~believed).sum()),
        utility={"right": rules.right, "wrong": rules.wrong},
        method=_METHOD,
    )


UNUSABLE = ("no confidence", "not a number", "below 0", "above 1")
"""What can be wrong with a confidence."""


def unusable(confidence: Array, stated: Array) -> Array:
    """For each claim what is wrong with its confidence, as a code into `UNUSABLE`; -1 when nothing is."""
    result = np.full(len(confidence), -1, dtype=np.int8)
    result[confidence < 0] = 2
    result[confidence > 1] = 3
    result[np.isnan(confidence)] = 1
    result[~stated] = 0
    return result


def _by_label(
    claims: ClaimColumns, believed: Array, usable: Array, case: Array, rules: ConfidenceRules
) -> dict[str, Claims]:
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


def _figures(claims: ClaimColumns, rows: Array, missing: int, case: Array, rules: ConfidenceRules) -> Claims:
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
    result: Array = (np.cumsum(present) - 1)[case]
    return result


def _buckets(confidence: Array, right: Array, cluster: Array, rules: ConfidenceRules) -> tuple[BucketFigure, ...]:
    """The surest first. A boundary belongs to the upper bucket alone."""
    code, size = _bucket_of(confidence, [bucket.at_least for bucket in rules.buckets]), len(rules.buckets)
    rates = shares_by(code, size, ~right, cluster)
    errors = np.bincount(code[~right], minlength=size).tolist()
    ends = [1.0, *(bucket.at_least for bucket in rules.buckets)]
    return tuple(
        BucketFigure(bucket.name, bucket.at_least, ends[at], errors[at], rates[at])
        for at, bucket in enumerate(rules.buckets)
    )


def _bucket_of(confidence: Array, starts: Sequence[float]) -> Array:
    """Of each claim, the place of its bucket among those that begin there, the surest first."""
    return len(starts) - np.searchsorted(starts[::-1], confidence, side="right")


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


class _Claims:
    """The claims of a run, those that count (`believed`), and what is wrong with their confidences."""

    def __init__(self, claims: ClaimColumns, table: Table) -> None:
        self.all, self.unit = claims, table.unit
        self.believed: Array = table.conclusive[claims.sample]
        self.wrong = unusable(self.all.confidence, self.all.stated)
        self.confidence = np.nan_to_num(self.all.confidence)

    def of(self, at: At) -> Array:
        """The claims that count, of all kinds or of one."""
        if "<label>" not in at.names:
            return self.believed
        names = [name or NONE for name in self.all.labels]
        return np.asarray(self.believed & (self.all.label == names.index(at.name("label"))))

    def usable(self, at: At) -> Array:
        """Those of them with a confidence from 0 to 1."""
        return np.asarray(self.of(at) & (self.wrong < 0))

    def first_of(self, mask: Array, codes: Array) -> Array:
        """The first marked claim of every code."""
        first, marked = np.zeros(len(mask), dtype=bool), np.flatnonzero(mask)[::-1]
        place = np.full(int(codes.max(initial=0)) + 1, -1)
        # Of several that are put into one place, the last one stays there.
        place[codes[marked]] = marked
        first[place[place >= 0]] = True
        return first

    def kinds(self) -> Array:
        """The first claim of every kind; none where no claim says its kind."""
        first = self.first_of(self.believed, self.all.label)
        named = any(self.all.labels[code] for code in self.all.label[first].tolist())
        return first if named else np.zeros_like(first)

    def rows(self, values: Array, mask: Array, data: RunData) -> Contributions:
        """Some claims with their values; NaN of those without a confidence."""
        rows, claims = np.flatnonzero(mask), self.all

        def detail(row: int) -> str:
            claim = int(rows[row])
            label = claims.labels[int(claims.label[claim])]
            stated = f"{claims.confidence[claim]:g}" if claims.stated[claim] else "none"
            return f"{label + ': ' if label else ''}{stated}, {'right' if claims.right[claim] else 'wrong'}"

        return Contributions(
            values[rows].astype(float),
            excluded=tuple((why, self.wrong[rows] == code) for code, why in enumerate(UNUSABLE)),
            detail=detail,
            key=lambda row: data.key(int(claims.sample[rows[row]])),
        )


def _of_run(data: RunData) -> _Claims:
    if data.claims is None:
        raise ValueError("the claims of the run are not stored")
    return _Claims(data.claims(), data.table)


def _marked(mask: Callable[[_Claims, At], Array]) -> Callable[[RunData, At], Contributions]:
    """The claims that a mask marks, each counting 1."""

    def contributions(data: RunData, at: At) -> Contributions:
        claims = data.once(_of_run)
        return claims.rows(np.ones(len(claims.believed)), mask(claims, at), data)

    return contributions


def _valued(
    values: Callable[[_Claims, At], Array], mask: Callable[[_Claims, At], Array] = _Claims.of
) -> Callable[[RunData, At], Contributions]:
    """What the claims that a mask marks bring; those without a confidence are missing."""

    def contributions(data: RunData, at: At) -> Contributions:
        claims = data.once(_of_run)
        return claims.rows(np.where(claims.wrong < 0, values(claims, at), np.nan), mask(claims, at), data)

    return contributions


def _is_wrong(claims: _Claims, _: At) -> Array:
    return ~claims.all.right


def _gap(claims: _Claims, _: At) -> Array:
    return np.asarray(claims.all.confidence - claims.all.right)


def _gap_of_wide_bins(claims: _Claims, at: At) -> Array:
    n_bins = len(at.item["bins"])
    place = bin_of(claims.confidence, n_bins)
    wide = np.bincount(place[claims.usable(at)], minlength=n_bins) >= LEAST_CLAIMS
    return np.where(wide[place], _gap(claims, at), np.nan)


def _in_bucket(claims: _Claims, at: At) -> Array:
    buckets = at.path[-2]["buckets"]
    starts = [bucket["low"] for bucket in buckets]
    return np.asarray(claims.usable(at) & (_bucket_of(claims.confidence, starts) == buckets.index(at.item)))


def _in_bin(claims: _Claims, at: At) -> Array:
    place = bin_of(claims.confidence, len(at.path[-2]["bins"]))
    return np.asarray(claims.usable(at) & (place == int(at.name("n")) - 1))


def _limit(at: At) -> float:
    """The threshold of a split; without one nothing is kept."""
    threshold = at.path[-2]["threshold"]
    threshold = threshold["value"] if isinstance(threshold, dict) else threshold
    return math.inf if threshold is None else float(threshold)


def _on_side(claims: _Claims, at: At) -> Array:
    return np.asarray(side_of(claims.confidence, claims.all.right, _limit(at)) == SIDES.index(at.name("side")))


def _side_in_words(at: At) -> str:
    """Right or wrong claims, of the threshold and more (kept), or below it."""
    side, limit = at.name("side"), _limit(at)
    where = f"of {limit:g} and more" if side.endswith("kept") else f"below {limit:g}"
    return f"{'right' if side.startswith('right') else 'wrong'} claims {where}"


_CLAIMED = (
    "a claim is one thing that an answer says with a confidence; claims without a confidence from 0 to 1 are missing,"
    " those of samples that are inconclusive or excluded are left out"
)
_LUCK = f"from {RESAMPLES:,} resamples of cases (seed {SEED})"
_RULE = (
    f"where more than half of a bucket's claims are wrong, of {LEAST_CLAIMS} and more; the one of highest confidence"
)
_confidences = _valued(lambda claims, _: claims.all.confidence)


def _claim_metrics(head: str, place: str) -> Iterator[Reported]:
    """The metrics of all claims, or of one kind."""

    def metric(name: str, where: str, formula: str | Callable[[At], str], contributions: Any, **more: Any) -> Reported:
        return Reported(f"{head}.{name}", f"{place}.{where}", formula, _CLAIMED, contributions, Level.CLAIM, **more)

    share: dict[str, Any] = {"unit": "share", "aggregate": Aggregate.MEAN}
    drawn: dict[str, Any] = {"unit": "number", "aggregate": None, "interval": _LUCK}
    listed: dict[str, Any] = {"unit": "number", "aggregate": None}
    wrong = _valued(_is_wrong, _Claims.usable)
    yield metric("claims", "n", "claims with a confidence from 0 to 1", _marked(_Claims.usable))
    missing = _marked(lambda claims, at: claims.of(at) & (claims.wrong >= 0))
    yield metric("missing", "n_missing", "claims without one", missing)
    cases = _marked(lambda claims, at: claims.first_of(claims.usable(at), claims.unit[claims.all.sample]))
    yield metric("cases", "n_cases", "cases with a claim", cases)
    yield metric("errors", "errors", "claims that are wrong", wrong)
    yield metric("error_rate", "error_rate", "wrong / n", _valued(_is_wrong), **share)
    yield metric(
        "brier",
        "brier",
        "mean of (confidence - 1 if right, else 0) squared",
        _valued(lambda claims, at: _gap(claims, at) ** 2),
        unit="number",
        aggregate=Aggregate.MEAN,
        interval=OF_MEAN,
    )
    formula = "wrong claims with a confidence from {low:g}, below {high:g} unless surest"
    mine = _valued(_is_wrong, _in_bucket)
    bucket = "buckets[<name>]"
    some = _has_claims
    yield metric("bucket.<name>.errors", f"{bucket}.errors", formula, mine, when=some)
    yield metric("bucket.<name>.error_rate", f"{bucket}.error_rate", "wrong / claims in the bucket", mine, **share)
    formula = "sum over bins of |sum of confidences - number right| / n"
    yield metric("ece", "calibration.ece", formula, _valued(_gap), **drawn)
    formula = f"the mean error of {RESAMPLES:,} resamples of cases if confidences were perfect"
    yield metric("by_chance", "calibration.by_chance", formula, _valued(_gap), **drawn)
    formula = f"the widest gap of mean confidence and share right of bins with {LEAST_CLAIMS} claims and more"
    yield metric("mce", "calibration.mce", formula, _valued(_gap_of_wide_bins), **drawn)
    right = _valued(lambda claims, _: claims.all.right, _in_bin)
    stated = _valued(lambda claims, _: claims.all.confidence, _in_bin)
    bins, average = "calibration.bins[<n>]", "sum of confidences / claims in the bin"
    yield metric("bin.<n>.right", f"{bins}.right", "right / claims in the bin", right, **share)
    yield metric("bin.<n>.confidence", f"{bins}.confidence", average, stated, unit="number", aggregate=Aggregate.MEAN)
    for name, what in {
        "threshold": "the bucket's upper bound",
        "above": "its lower bound",
        "n": "its claims, or all of them",
    }.items():
        yield metric(f"raised.{name}", f"raised.{name}", f"{what}: {_RULE}", _confidences, when=some, **listed)
    split = _valued(_on_side, _Claims.usable)
    yield metric("raised.<side>", "raised.split.<side>", _side_in_words, split)
    formula = "utility a claim of the kept claims minus that of all"
    yield metric("best.gain", "best.gain", formula, _confidences, **drawn)
    formula = "the threshold with the highest utility of kept claims; of several the lowest"
    yield metric("best.threshold", "best.threshold", formula, _confidences, **drawn)
    yield metric("best.<side>", "best.split.<side>", _side_in_words, split)


def _has_claims(_: RunData, at: At) -> bool:
    return any(item.get("buckets") and item["n"] for item in at.path)


def _unusable_in_words(at: At) -> str:
    """Claims whose confidence is wrong in that way."""
    return f"claims whose confidence is wrong in that way: {at.name('why')}"


_UNUSABLE = Reported(
    "confidence.unusable.<why>",
    "confidence.unusable.<why>",
    _unusable_in_words,
    _CLAIMED,
    _marked(lambda claims, at: claims.believed & (claims.wrong == UNUSABLE.index(at.name("why")))),
    Level.CLAIM,
)
REPORTED = (
    *_claim_metrics("confidence", "confidence.overall"),
    *_claim_metrics("confidence.label.<label>", "confidence.labels.<label>"),
    _UNUSABLE,
    replace(
        _UNUSABLE,
        name="confidence.left_out",
        place="confidence.n_left_out",
        formula="claims of samples that are inconclusive or excluded",
        counts="all their votes are left out",
        contributions=_marked(lambda claims, _: ~claims.believed),
    ),
    replace(
        _UNUSABLE,
        name="confidence.kinds",
        place="confidence.n_labels",
        formula="different kinds of claims",
        contributions=_marked(lambda claims, _: claims.kinds()),
        when=lambda _, at: at.value > 0,
    ),
)
