"""What the confidences in a run's answers are worth, as tables: by bucket, by bin, by kind, and what to do about it."""

from __future__ import annotations

from steelyard.analysis.confidence_model import BestThreshold, BucketFigure, Claims, RaisedThreshold, Split
from steelyard.analysis.model import Estimate
from steelyard.analysis.resampling import SEED
from steelyard.report import figures
from steelyard.report.model import Report
from steelyard.report.reliability import bin_name
from steelyard.report.tables import Column, Kind, Table

_NOTHING = Table("", (), [])
_SIGNATURE = f"95 %: Wilson; calibration and thresholds: resampled cases | seed {SEED}"
_DIGITS = 3
_OF_CLAIMS = "n is claims, not samples"


def confidence(report: Report) -> list[tuple[str, str]]:
    """Calibration, Brier score, both thresholds with what they keep and lose, and what could not be used."""
    found = report.summary.confidence
    if found is None:
        return []
    claims = found.overall
    rows = [
        ("Claims", _claims(claims)),
        ("Calibration error", _calibration_error(claims)),
        ("Widest gap", _widest(claims)),
        ("Brier score", f"{_number(claims.brier)} (0 is perfect, 0.25 is what saying 0.5 always gives)"),
        ("Threshold by rule", _raised(claims.raised)),
        ("Best threshold", _best(claims.best, found.utility)),
    ]
    if found.unusable:
        told = ", ".join(f"{count:,} {name}" for name, count in found.unusable.items())
        rows.append(("Not usable", f"{told}: in no figure, never clamped"))
    if found.n_left_out:
        told = figures.counted(found.n_left_out, "claim")
        rows.append(("Left out", f"{told} of samples that are inconclusive or set aside"))
    return rows


def buckets(report: Report) -> Table:
    """Errors by bucket of confidence, the surest first."""
    found = report.summary.confidence
    if found is None:
        return _NOTHING
    rows = [
        (
            each.name,
            bounds(each),
            f"{each.errors:,} of {each.error_rate.n:,}",
            figures.percent(each.error_rate.value),
            figures.interval(each.error_rate),
            figures.bare_base(each.error_rate),
        )
        for each in found.overall.buckets
    ]
    titles = ("Confidence", "Wrong", "Error rate", "95 % interval", "n")
    note = f"{_OF_CLAIMS}; a boundary belongs to the upper bucket"
    columns = (Column("Bucket", Kind.TEXT), *map(Column, titles))
    return Table("Errors by confidence", columns, rows, note, signature=found.method)


def bins(report: Report) -> Table:
    """The reliability diagram in figures: bins that hold a claim."""
    found = report.summary.confidence
    if found is None:
        return _NOTHING
    calibration = found.overall.calibration
    rows = [
        (
            bin_name(each),
            figures.plain(each.confidence, _DIGITS),
            figures.plain(each.right.value, _DIGITS),
            _interval(each.right),
            figures.bare_base(each.right),
        )
        for each in calibration.bins
        if each.confidence is not None
    ]
    empty = len(calibration.bins) - len(rows)
    note = f"{len(calibration.bins)} equally wide bins, {empty} without a claim" if empty else ""
    columns = (Column("Bin", Kind.TEXT), *map(Column, ("Mean confidence", "Share right", "95 % interval", "n")))
    return Table("Reliability", columns, rows, note, signature=_SIGNATURE)


def labels(report: Report) -> Table:
    """By kind of claim: errors, calibration, Brier score and thresholds."""
    found = report.summary.confidence
    if found is None:
        return _NOTHING
    rows = [
        (
            name,
            figures.percent(each.error_rate.value),
            figures.interval(each.error_rate),
            figures.plain(each.calibration.ece.value, _DIGITS),
            figures.plain(each.brier.value, _DIGITS),
            _bare(each.raised.threshold),
            _bare(each.best.threshold.value),
            figures.base(each.n, each.n_missing).removeprefix("n "),
        )
        for name, each in found.labels.items()
    ]
    left_off = found.n_labels - len(rows)
    note = "calibration: expected calibration error; thresholds: by the rule of one half, and best by utility"
    note += f"; the {len(rows)} most frequent kinds of {found.n_labels:,}" if left_off > 0 else ""
    titles = ("Error rate", "95 % interval", "Calibration", "Brier", "By rule", "Best", "n")
    columns = (Column("Kind", Kind.TEXT), *map(Column, titles))
    return Table("Confidence by kind of claim", columns, rows, note, signature=_SIGNATURE)


def bounds(bucket: BucketFigure) -> str:
    """The confidences of a bucket: `0.8-1`."""
    return f"{bucket.low:g}-{bucket.high:g}"


def _claims(claims: Claims) -> str:
    base = figures.base(claims.n, claims.n_missing).removeprefix("n ")
    cases = figures.counted(claims.n_cases, "case")
    return f"{base}, from {cases}; {claims.errors:,} wrong ({figures.with_base(claims.error_rate)})"


def _calibration_error(claims: Claims) -> str:
    calibration = claims.calibration
    told = f"{_number(calibration.ece)}, {len(calibration.bins)} bins"
    if calibration.by_chance is None:
        return told
    return f"{told}; perfect confidences would show {figures.plain(calibration.by_chance, _DIGITS)} by chance"


def _widest(claims: Claims) -> str:
    calibration = claims.calibration
    told = _number(calibration.mce)
    if calibration.widest is None:
        return told
    each = calibration.bins[calibration.widest]
    return f"{told}, in the bin {bin_name(each)} ({figures.base(each.right.n)})"


def _raised(found: RaisedThreshold) -> str:
    if found.threshold is None:
        return f"none: {found.reason}"
    return f"{found.threshold:g}: {found.reason}; {_split(found.threshold, found.split)}"


def _best(found: BestThreshold, utility: dict[str, float]) -> str:
    threshold = found.threshold
    if found.split is None:
        return f"none: {found.reason}"
    worth = f"right {utility['right']:+g}, wrong {utility['wrong']:+g}"
    shown = "none" if threshold.value is None else f"{threshold.value:g}{_ends(threshold)}"
    gain = f"{figures.signed(found.gain.value)}{_ends(found.gain)} a claim against keeping all"
    return f"{shown} ({worth}): {found.reason}; {gain}, {figures.base(threshold.n)}; {_split(None, found.split)}"


def _split(threshold: float | None, split: Split | None) -> str:
    if split is None:
        return ""
    at = "" if threshold is None else f"at {threshold:g}: "
    return (
        f"{at}{split.right_kept:,} right kept and {split.right_lost:,} lost,"
        f" {split.wrong_dropped:,} wrong dropped and {split.wrong_kept:,} kept"
    )


def _bare(threshold: float | None) -> str:
    return "none" if threshold is None else f"{threshold:g}"


def _number(estimate: Estimate) -> str:
    """A figure on the scale 0 to 1 that is no share: `0.082 [0.061, 0.110] n 640`."""
    value = figures.plain(estimate.value, _DIGITS)
    return f"{value} {_interval(estimate)} {figures.base(estimate.n, estimate.n_missing)}"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return figures.no_interval(estimate.n)
    return f"[{figures.plain(estimate.low, _DIGITS)}, {figures.plain(estimate.high, _DIGITS)}]"


def _ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{figures.plain(estimate.low)}, {figures.plain(estimate.high)}]"
