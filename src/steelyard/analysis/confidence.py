"""What the confidences in a run's answers are worth: errors by bucket, calibration, thresholds, overall and by kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from steelyard.analysis.calibration import LEAST_CLAIMS, BucketFigure, ReliabilityBin, bin_of, calibrate, shares_by
from steelyard.analysis.confidence_model import Claims, ConfidenceFigures
from steelyard.analysis.confidence_thresholds import SIDES, Split, best, raised, side_of
from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate, Mean, OfFigure
from steelyard.metrics.registry import Better, Contributions, Level, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array, tally
from steelyard.stats.intervals import SHARES, Estimate, Spread, clustered_mean, settled
from steelyard.stats.resampling import RESAMPLES, SEED
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

    def of(self, part: _Part) -> Array:
        """The claims that count, of all kinds or of one."""
        if part.label is None:
            return self.believed
        names = [name or NONE for name in self.all.labels]
        return np.asarray(self.believed & (self.all.label == names.index(part.label)))

    def usable(self, part: _Part) -> Array:
        """Those of them with a confidence from 0 to 1."""
        return np.asarray(self.of(part) & (self.wrong < 0))

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
            sample=claims.sample[rows].astype(int),
        )


@frozen
class _Part:
    """The claims that a figure is of: all, or those of one kind; and the rest of its name."""

    figures: Claims
    rules: ConfidenceRules
    label: str | None
    names: Names


def run_confidence(data: RunData) -> ConfidenceFigures | None:
    """The figures of a run's claims; None for a run whose answers claim nothing."""
    claims = data.claims() if data.claims is not None else None
    return None if claims is None else confidence_figures(claims, data.table, data.suite)


def _run_claims(data: RunData) -> _Claims:
    if data.claims is None:
        raise ValueError("the claims of the run are not stored")
    return _Claims(data.claims(), data.table)


def _part(data: RunData, names: Names, *, of_label: bool) -> _Part:
    result = data.once(run_confidence)
    if result is None:
        raise ValueError("the answers of the run claim nothing")
    rules = data.suite.confidence or ConfidenceRules()
    if of_label:
        return _Part(result.labels[names[0]], rules, names[0], names[1:])
    return _Part(result.overall, rules, None, names)


_Values = Callable[[_Claims, _Part], Array]


def _is_wrong(claims: _Claims, _: _Part) -> Array:
    return ~claims.all.right


def _is_right(claims: _Claims, _: _Part) -> Array:
    return claims.all.right


def _ones(claims: _Claims, _: _Part) -> Array:
    return np.ones(len(claims.believed))


def _with_confidence(claims: _Claims, _: _Part) -> Array:
    return np.where(claims.wrong < 0, 1.0, np.nan)


def _stated(claims: _Claims, _: _Part) -> Array:
    return claims.all.confidence


def _gap(claims: _Claims, _: _Part) -> Array:
    return np.asarray(claims.all.confidence - claims.all.right)


def _squared_gap(claims: _Claims, part: _Part) -> Array:
    return np.asarray(_gap(claims, part) ** 2)


def _gap_of_wide_bins(claims: _Claims, part: _Part) -> Array:
    place = bin_of(claims.confidence, part.rules.bins)
    wide = np.bincount(place[claims.usable(part)], minlength=part.rules.bins) >= LEAST_CLAIMS
    return np.where(wide[place], _gap(claims, part), np.nan)


def _without(claims: _Claims, part: _Part) -> Array:
    return np.asarray(claims.of(part) & (claims.wrong >= 0))


def _first_of_cases(claims: _Claims, part: _Part) -> Array:
    return claims.first_of(claims.usable(part), claims.unit[claims.all.sample])


def _in_bucket(claims: _Claims, part: _Part) -> Array:
    buckets = part.rules.buckets
    place = [bucket.name for bucket in buckets].index(part.names[0])
    mine = _bucket_of(claims.confidence, [bucket.at_least for bucket in buckets]) == place
    return np.asarray(claims.usable(part) & mine)


def _in_bin(claims: _Claims, part: _Part) -> Array:
    place = bin_of(claims.confidence, part.rules.bins)
    return np.asarray(claims.usable(part) & (place == int(part.names[0]) - 1))


def _on_side(claims: _Claims, part: _Part, threshold: float | None) -> Array:
    """Without a threshold nothing is kept."""
    limit = math.inf if threshold is None else threshold
    return np.asarray(side_of(claims.confidence, claims.all.right, limit) == SIDES.index(part.names[0]))


def _side_of_raised(claims: _Claims, part: _Part) -> Array:
    return _on_side(claims, part, part.figures.raised.threshold)


def _side_of_best(claims: _Claims, part: _Part) -> Array:
    return _on_side(claims, part, part.figures.best.threshold.value)


def _number(value: float | None, n: int, missing: int = 0) -> dict[Names, Estimate]:
    """A figure without an interval; nothing where there is none."""
    return {} if value is None else {(): Estimate(float(value), n, missing)}


def _split(split: Split | None, n: int) -> dict[Names, Estimate]:
    return {} if split is None else {(side,): Estimate(float(getattr(split, side)), n) for side in SIDES}


def _bins(claims: Claims, of: Callable[[ReliabilityBin], Estimate]) -> dict[Names, Estimate]:
    """The bins with a claim, by number from 1."""
    filled = enumerate(claims.calibration.bins, 1)
    return {(str(number),): of(item) for number, item in filled if item.confidence is not None}


_CLAIMED = (
    "a claim is one thing that an answer says with a confidence; claims without a confidence from 0 to 1 are missing,"
    " those of samples that are inconclusive or excluded are left out"
)
_RESAMPLED = OfFigure(f"from {RESAMPLES:,} resamples of cases (seed {SEED})")
_RULE = (
    f"where more than half of a bucket's claims are wrong, of {LEAST_CLAIMS} and more; the one of highest confidence"
)


@frozen
class _ClaimFigure:
    """One figure of claims: what it comes to, by the rest of its name, and what every claim brings."""

    name: str
    unit: str
    formula: str
    of: Callable[[Claims], Mapping[Names, Estimate]]
    values: _Values
    mask: _Values = _Claims.of
    how: Aggregate = Aggregate.SUM
    better: Better = "lower"


_BY_RULE = (
    ("threshold", "the bucket's upper bound", lambda claims: claims.raised.threshold),
    ("above", "its lower bound", lambda claims: claims.raised.above),
    ("n", "its claims, or all of them", lambda claims: claims.raised.n or None),
)
_FIGURES = (
    _ClaimFigure(
        "claims",
        "count",
        "claims with a confidence from 0 to 1",
        lambda claims: {(): Estimate(float(claims.n), claims.n, claims.n_missing)},
        _with_confidence,
        better="",
    ),
    _ClaimFigure(
        "missing", "count", "claims without one", lambda c: _number(c.n_missing, c.n_missing), _ones, _without
    ),
    _ClaimFigure(
        "cases",
        "count",
        "cases with a claim",
        lambda c: _number(c.n_cases, c.n_cases),
        _ones,
        _first_of_cases,
        better="",
    ),
    _ClaimFigure(
        "errors", "count", "claims that are wrong", lambda c: _number(c.errors, c.n), _is_wrong, _Claims.usable
    ),
    _ClaimFigure("error_rate", "share", "wrong / n", lambda c: {(): c.error_rate}, _is_wrong, how=Aggregate.MEAN),
    _ClaimFigure(
        "brier",
        "number",
        "mean of (confidence - 1 if right, else 0) squared",
        lambda claims: {(): claims.brier},
        _squared_gap,
        how=Mean(Aggregate.MEAN.interval_text("share")),
    ),
    _ClaimFigure(
        "bucket.<name>.errors",
        "count",
        "wrong claims with a confidence in the bucket",
        lambda claims: {(item.name,): Estimate(float(item.errors), item.error_rate.n) for item in claims.buckets},
        _is_wrong,
        _in_bucket,
    ),
    _ClaimFigure(
        "bucket.<name>.error_rate",
        "share",
        "wrong / claims in the bucket",
        lambda claims: {(item.name,): item.error_rate for item in claims.buckets},
        _is_wrong,
        _in_bucket,
        Aggregate.MEAN,
    ),
    _ClaimFigure(
        "ece",
        "number",
        "sum over bins of |sum of confidences - number right| / n",
        lambda claims: {(): claims.calibration.ece},
        _gap,
        how=_RESAMPLED,
    ),
    _ClaimFigure(
        "by_chance",
        "number",
        f"the mean error of {RESAMPLES:,} resamples of cases if confidences were perfect",
        lambda claims: _number(claims.calibration.by_chance, claims.n, claims.n_missing),
        _gap,
        how=OfFigure(),
    ),
    _ClaimFigure(
        "mce",
        "number",
        f"the widest gap of mean confidence and share right of bins with {LEAST_CLAIMS} claims and more",
        lambda claims: {(): claims.calibration.mce},
        _gap_of_wide_bins,
        how=_RESAMPLED,
    ),
    _ClaimFigure(
        "bin.<n>.right",
        "share",
        "right / claims in the bin",
        lambda claims: _bins(claims, lambda item: item.right),
        _is_right,
        _in_bin,
        Aggregate.MEAN,
        "higher",
    ),
    _ClaimFigure(
        "bin.<n>.confidence",
        "number",
        "sum of confidences / claims in the bin",
        lambda claims: _bins(claims, lambda item: Estimate(item.confidence, item.right.n)),
        _stated,
        _in_bin,
        Aggregate.MEAN,
        "",
    ),
    *(
        _ClaimFigure(
            f"raised.{name}",
            "number",
            f"{what}: {_RULE}",
            lambda claims, of=of: _number(of(claims), claims.n, claims.n_missing),  # type: ignore[misc]
            _stated,
            how=OfFigure(),
            better="",
        )
        for name, what, of in _BY_RULE
    ),
    _ClaimFigure(
        "raised.<side>",
        "count",
        "right or wrong claims, of the threshold and more (kept), or below it",
        lambda claims: _split(claims.raised.split, claims.n),
        _side_of_raised,
        _Claims.usable,
        better="",
    ),
    _ClaimFigure(
        "best.gain",
        "number",
        "utility a claim of the kept claims minus that of all",
        lambda claims: {(): claims.best.gain},
        _stated,
        how=_RESAMPLED,
        better="higher",
    ),
    _ClaimFigure(
        "best.threshold",
        "number",
        "the threshold with the highest utility of kept claims; of several the lowest",
        lambda claims: {(): claims.best.threshold},
        _stated,
        how=_RESAMPLED,
        better="",
    ),
    _ClaimFigure(
        "best.<side>",
        "count",
        "right or wrong claims, of the threshold and more (kept), or below it",
        lambda claims: _split(claims.best.split, claims.n),
        _side_of_best,
        _Claims.usable,
        better="",
    ),
)


def _register(item: _ClaimFigure, head: str, *, of_label: bool) -> None:
    """Register one figure of all claims, or of each kind."""

    def figure(data: RunData, names: Names) -> Estimate:
        part = _part(data, names, of_label=of_label)
        return item.of(part.figures)[part.names]

    def all_names(data: RunData) -> Iterator[Names]:
        result = data.once(run_confidence)
        if result is None:
            return
        parts = [((name,), claims) for name, claims in result.labels.items()] if of_label else [((), result.overall)]
        for begin, claims in parts:
            yield from ((*begin, *names) for names in item.of(claims))

    def contributions(data: RunData, names: Names) -> Contributions:
        claims, part = data.once(_run_claims), _part(data, names, of_label=of_label)
        values = item.values(claims, part)
        if item.values is not _ones:
            # What has no confidence from 0 to 1 is missing.
            values = np.where(claims.wrong < 0, values, np.nan)
        return claims.rows(values, item.mask(claims, part), data)

    register(
        Metric(
            f"{head}.{item.name}",
            item.unit,
            f"{'of one kind of claims: ' if of_label else ''}{item.formula}",
            item.formula,
            _CLAIMED,
            item.how,
            contributions,
            item.better,
            Level.CLAIM,
            gate=False,
            sliced=False,
            figure=figure,
            all_names=all_names,
            stands_on="claims",
        )
    )


for _item in _FIGURES:
    _register(_item, "confidence", of_label=False)
for _item in _FIGURES:
    _register(_item, "confidence.label.<label>", of_label=True)


def _unusable(data: RunData, names: Names) -> Contributions:
    claims = data.once(_run_claims)
    return _marked(data, claims.believed & (claims.wrong == UNUSABLE.index(names[0])))


def _marked(data: RunData, mask: Array) -> Contributions:
    """The claims that a mask marks, each counting 1."""
    claims = data.once(_run_claims)
    return claims.rows(np.ones(len(mask)), mask, data)


def _if_any(value: Callable[[ConfidenceFigures], float]) -> Callable[[RunData], list[Names]]:
    """A name where the value is above 0."""

    def all_names(data: RunData) -> list[Names]:
        result = data.once(run_confidence)
        return [()] if result is not None and value(result) else []

    return all_names


def _why_unusable(data: RunData) -> list[Names]:
    result = data.once(run_confidence)
    return [] if result is None else [(why,) for why in result.unusable]


_UNUSABLE = register(
    Metric(
        "confidence.unusable.<why>",
        "count",
        "claims whose confidence is wrong in one way",
        "claims whose confidence is wrong in that way",
        _CLAIMED,
        Aggregate.SUM,
        _unusable,
        "lower",
        Level.CLAIM,
        gate=False,
        sliced=False,
        all_names=_why_unusable,
        stands_on="claims",
    )
)
register(
    same_but(
        _UNUSABLE,
        name="confidence.left_out",
        about="claims of samples that are inconclusive or excluded",
        formula="claims of samples that are inconclusive or excluded",
        counts="all their votes are left out",
        contributions=lambda data, _: _marked(data, ~data.once(_run_claims).believed),
        all_names=_if_any(lambda result: result.n_left_out),
    )
)
register(
    same_but(
        _UNUSABLE,
        name="confidence.kinds",
        about="different kinds of claims",
        formula="different kinds of claims",
        contributions=lambda data, _: _marked(data, data.once(_run_claims).kinds()),
        better="",
        all_names=_if_any(lambda result: result.n_labels),
    )
)
