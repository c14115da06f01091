"""What the confidences in a run's answers are worth: by bucket, by bin, by kind, and what to do about it."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from steelyard.analysis.calibration import (
    BestThreshold,
    BucketFigure,
    Calibration,
    Claims,
    ConfidenceFigures,
    RaisedThreshold,
    ReliabilityBin,
    Split,
)
from steelyard.report import format as fmt
from steelyard.report.document import Block, Column, Drawing, Facts, Fold, Kind, Section, Table, section, table_section
from steelyard.report.model import Report
from steelyard.report.render.json import encode_object
from steelyard.stats.arrays import SEED
from steelyard.stats.intervals import Estimate

_NOTHING = Table("", (), [])
_SIGNATURE = f"95 %: Wilson; calibration and thresholds: resampled cases | seed {SEED}"
_DIGITS = 3
_OF_CLAIMS = "n is claims, not samples"


def sections(report: Report) -> list[Section]:
    """Calibration and thresholds, errors by bucket, the reliability diagram with its figures, and by kind of claim."""
    result = report.summary.confidence
    if result is None:
        return []
    caption = (
        "Dots on the dashed line are well calibrated, dots below it overconfident. The area of a dot is its number"
        " of claims, the bar its 95 % interval."
    )
    drawn = drawing(result.overall.calibration)
    diagram: list[Block] = []
    if drawn:
        diagram += [Drawing(drawn, caption), Fold("The figures of the diagram", [bins(report)], bulky=False)]
    return [
        *table_section(buckets(report), main=True),
        *section("Confidence", Facts(confidence(report)), *diagram, labels(report)),
    ]


def confidence_data(confidence_figures: ConfidenceFigures) -> dict[str, Any]:
    """The figures, with the reliability diagram of all claims as a Vega-Lite specification in `chart`."""
    kinds = {name: _claims_data(claims) for name, claims in confidence_figures.labels.items()}
    chart = specification(confidence_figures.overall.calibration)
    return encode_object(confidence_figures) | {
        "overall": _claims_data(confidence_figures.overall),
        "labels": kinds,
        "chart": chart,
    }


def _claims_data(claims: Claims) -> dict[str, Any]:
    return encode_object(claims) | {"n_bins": len(claims.calibration.bins)}


def confidence(report: Report) -> list[tuple[str, str]]:
    """Calibration, Brier score, both thresholds with what they keep and lose, and what could not be used."""
    result = report.summary.confidence
    if result is None:
        return []
    claims = result.overall
    rows = [
        ("Claims", _claims(claims)),
        ("Calibration error", _calibration_error(claims)),
        ("Widest gap", _widest(claims)),
        ("Brier score", f"{_number(claims.brier)} (0 is perfect, 0.25 is what saying 0.5 always gives)"),
        ("Threshold by rule", _raised(claims.raised)),
        ("Best threshold", _best(claims.best, result.utility)),
    ]
    if result.unusable:
        message = ", ".join(f"{count:,} {name}" for name, count in result.unusable.items())
        rows.append(("Not usable", f"{message}: in no figure, never clamped"))
    if result.n_left_out:
        message = fmt.counted(result.n_left_out, "claim")
        rows.append(("Left out", f"{message} of samples that are inconclusive or excluded"))
    return rows


def buckets(report: Report) -> Table:
    """Errors by bucket of confidence, the surest first."""
    result = report.summary.confidence
    if result is None:
        return _NOTHING
    rows = [
        (
            bucket.name,
            bounds(bucket),
            f"{bucket.errors:,} of {bucket.error_rate.n:,}",
            fmt.percent(bucket.error_rate.value),
            fmt.interval(bucket.error_rate),
            fmt.bare_base(bucket.error_rate),
        )
        for bucket in result.overall.buckets
    ]
    titles = ("Confidence", "Wrong", "Error rate", "95 % interval", "n")
    note = f"{_OF_CLAIMS}; a boundary belongs to the upper bucket"
    columns = (Column("Bucket", Kind.TEXT), *map(Column, titles))
    return Table("Errors by confidence", columns, rows, note, signature=result.method)


def bins(report: Report) -> Table:
    """The reliability diagram in figures: bins that hold a claim."""
    result = report.summary.confidence
    if result is None:
        return _NOTHING
    calibration = result.overall.calibration
    rows = [
        (
            bin_name(item),
            fmt.plain(item.confidence, _DIGITS),
            fmt.plain(item.right.value, _DIGITS),
            _interval(item.right),
            fmt.bare_base(item.right),
        )
        for item in calibration.bins
        if item.confidence is not None
    ]
    empty = len(calibration.bins) - len(rows)
    note = f"{len(calibration.bins)} equally wide bins, {empty} without a claim" if empty else ""
    columns = (Column("Bin", Kind.TEXT), *map(Column, ("Mean confidence", "Share right", "95 % interval", "n")))
    return Table("Reliability", columns, rows, note, signature=_SIGNATURE)


def labels(report: Report) -> Table:
    """By kind of claim: errors, calibration, Brier score and thresholds."""
    result = report.summary.confidence
    if result is None:
        return _NOTHING
    rows = [
        (
            name,
            fmt.percent(item.error_rate.value),
            fmt.interval(item.error_rate),
            fmt.plain(item.calibration.ece.value, _DIGITS),
            fmt.plain(item.brier.value, _DIGITS),
            _bare(item.raised.threshold),
            _bare(item.best.threshold.value),
            fmt.base(item.n, item.n_missing).removeprefix("n "),
        )
        for name, item in result.labels.items()
    ]
    left_off = result.n_labels - len(rows)
    note = "calibration: expected calibration error; thresholds: by the rule of one half, and best by utility"
    note += f"; the {len(rows)} most frequent kinds of {result.n_labels:,}" if left_off > 0 else ""
    titles = ("Error rate", "95 % interval", "Calibration", "Brier", "By rule", "Best", "n")
    columns = (Column("Kind", Kind.TEXT), *map(Column, titles))
    return Table("Confidence by kind of claim", columns, rows, note, signature=_SIGNATURE)


def bounds(bucket: BucketFigure) -> str:
    """The confidences of a bucket: `0.8-1`."""
    return f"{bucket.low:g}-{bucket.high:g}"


def _claims(claims: Claims) -> str:
    base = fmt.base(claims.n, claims.n_missing).removeprefix("n ")
    cases = fmt.counted(claims.n_cases, "case")
    return f"{base}, from {cases}; {claims.errors:,} wrong ({fmt.with_base(claims.error_rate)})"


def _calibration_error(claims: Claims) -> str:
    calibration = claims.calibration
    message = f"{_number(calibration.ece)}, {len(calibration.bins)} bins"
    if calibration.by_chance is None:
        return message
    return f"{message}; perfect calibration would show {fmt.plain(calibration.by_chance, _DIGITS)} by chance"


def _widest(claims: Claims) -> str:
    calibration = claims.calibration
    message = _number(calibration.mce)
    if calibration.widest is None:
        return message
    item = calibration.bins[calibration.widest]
    return f"{message}, in the bin {bin_name(item)} ({fmt.base(item.right.n)})"


def _raised(raised_threshold: RaisedThreshold) -> str:
    if raised_threshold.threshold is None:
        return f"none: {raised_threshold.reason}"
    return (
        f"{raised_threshold.threshold:g}: {raised_threshold.reason};"
        f" {_split(raised_threshold.threshold, raised_threshold.split)}"
    )


def _best(best_threshold: BestThreshold, utility: dict[str, float]) -> str:
    threshold = best_threshold.threshold
    if best_threshold.split is None:
        return f"none: {best_threshold.reason}"
    worth = f"right {utility['right']:+g}, wrong {utility['wrong']:+g}"
    shown = "none" if threshold.value is None else f"{threshold.value:g}{_ends(threshold)}"
    gain = f"{fmt.signed(best_threshold.gain.value)}{_ends(best_threshold.gain)} a claim against keeping all"
    return (
        f"{shown} ({worth}): {best_threshold.reason}; {gain}, {fmt.base(threshold.n)};"
        f" {_split(None, best_threshold.split)}"
    )


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
    value = fmt.plain(estimate.value, _DIGITS)
    return f"{value} {_interval(estimate)} {fmt.base(estimate.n, estimate.n_missing)}"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return fmt.no_interval(estimate.n)
    return f"[{fmt.plain(estimate.low, _DIGITS)}, {fmt.plain(estimate.high, _DIGITS)}]"


def _ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{fmt.plain(estimate.low)}, {fmt.plain(estimate.high)}]"


_SIZE = 240
_MARGIN = 44
_LARGEST_DOT, _SMALLEST_DOT = 9.0, 2.5
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def specification(calibration: Calibration) -> dict[str, Any]:
    """The diagram as Vega-Lite in plain data: bins as points with their intervals, and the line of perfect ones."""
    values = [
        {
            "confidence": with_claim.confidence,
            "right": with_claim.right.value,
            "low": with_claim.right.low,
            "high": with_claim.right.high,
            "n": with_claim.right.n,
            "bin": bin_name(with_claim),
        }
        for with_claim in _with_claims(calibration)
    ]
    whole = {"scale": {"domain": [0, 1]}}
    x = {"field": "confidence", "type": "quantitative", "title": "mean confidence of the bin", **whole}
    y = {"field": "right", "type": "quantitative", "title": "share right", **whole}
    size = {"field": "n", "type": "quantitative", "title": "claims"}
    tooltip = [{"field": name} for name in ("bin", "confidence", "right", "low", "high", "n")]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Reliability in {len(calibration.bins)} bins, n {calibration.ece.n}",
        "width": 300,
        "height": 300,
        "data": {"values": values},
        "layer": [
            {
                "data": {"values": [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]},
                "mark": {"type": "line", "strokeDash": [4, 3], "color": "#566069"},
                "encoding": {"x": x, "y": y},
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule"},
                "encoding": {"x": x, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {"x": x, "y": y, "size": size, "tooltip": tooltip},
            },
        ],
    }


def bin_name(reliability_bin: ReliabilityBin) -> str:
    """The confidences of a bin: `0.8-0.9`."""
    return f"{reliability_bin.low:g}-{reliability_bin.high:g}"


def drawing(calibration: Calibration) -> Markup:
    """The diagram as an SVG element that needs nothing but the page's own style; empty without claims."""
    bins = _with_claims(calibration)
    if not bins:
        return Markup("")
    most = max(item.right.n for item in bins)
    side = _SIZE + 2 * _MARGIN
    ticks = Markup("").join(_tick(at) for at in _TICKS)
    points = Markup("").join(_point(item, most) for item in bins)
    label = f"Reliability diagram of {fmt.counted(calibration.ece.n, 'claim')}: share right by confidence"
    return Markup(
        '<svg class="reliability" viewBox="0 0 {side} {side}" role="img" aria-label="{label}">{ticks}'
        '<line class="perfect" x1="{left}" y1="{bottom}" x2="{right}" y2="{top}"/>{points}'
        '<text class="axis" x="{middle}" y="{below}">confidence</text>'
        '<text class="axis" transform="translate(10 {middle}) rotate(-90)">share right</text></svg>'
    ).format(
        side=side,
        label=label,
        ticks=ticks,
        points=points,
        left=_across(0),
        right=_across(1),
        top=_up(1),
        bottom=_up(0),
        middle=side / 2,
        below=side - 4,
    )


def _with_claims(calibration: Calibration) -> list[ReliabilityBin]:
    return [item for item in calibration.bins if item.confidence is not None and item.right.value is not None]


def _tick(at: float) -> Markup:
    grid = Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    text = Markup('<text class="tick {}" x="{}" y="{}">{}</text>')
    return (
        grid.format(_across(at), _up(0), _across(at), _up(1))
        + grid.format(_across(0), _up(at), _across(1), _up(at))
        + text.format("below", _across(at), _up(0) + 13, f"{at:g}")
        + text.format("left", _across(0) - 5, _up(at) + 4, f"{at:g}")
    )


def _point(reliability_bin: ReliabilityBin, most: int) -> Markup:
    right = reliability_bin.right
    across = _across(reliability_bin.confidence or 0.0)
    title = (
        f"{bin_name(reliability_bin)}: mean confidence {reliability_bin.confidence:.2f}, right {fmt.with_base(right)}"
    )
    rule = Markup("")
    if right.low is not None and right.high is not None:
        rule = Markup('<line class="range" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            across, _up(right.low), across, _up(right.high)
        )
    # The area, not the radius, stands for the claims.
    radius = max(_SMALLEST_DOT, _LARGEST_DOT * (right.n / most) ** 0.5)
    dot = Markup('<circle class="dot" cx="{}" cy="{}" r="{}"><title>{}</title></circle>')
    return rule + dot.format(across, _up(right.value or 0.0), round(radius, 1), title)


def _across(share: float) -> float:
    return round(_MARGIN + _SIZE * share, 1)


def _up(share: float) -> float:
    return round(_MARGIN + _SIZE * (1 - share), 1)
