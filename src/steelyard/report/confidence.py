"""What the confidences in a run's answers are worth: by bucket, by bin, by kind, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import Block, Drawing, Facts, Fold, Section, Table, section, table_section
from steelyard.report.model import Report
from steelyard.report.render.json import encode_object, picked
from steelyard.stats.arrays import SEED
from steelyard.stats.intervals import Estimate
from steelyard.store.selection import Selection

if TYPE_CHECKING:
    from steelyard.analysis.calibration import (
        BestThreshold,
        BucketFigure,
        Calibration,
        Claims,
        ConfidenceFigures,
        ReliabilityBin,
        Split,
    )

_SIGNATURE = f"95 %: Wilson; calibration and thresholds: resampled cases | seed {SEED}"
_DIGITS = 3


def sections(report: Report) -> list[Section]:
    """Calibration and thresholds, errors by bucket, the reliability diagram with its figures, and by kind of claim."""
    result = report.summary.confidence
    if result is None:
        return []
    caption = (
        "Dots on the dashed line are well calibrated, dots below it overconfident. The area of a dot is its number"
        " of claims, the bar its 95 % interval."
    )
    calibration = result.overall.calibration
    diagram: list[Block] = []
    if drawn := drawing(calibration):
        diagram += [Drawing(drawn, caption), Fold("The figures of the diagram", [bins(calibration)], bulky=False)]
    return [
        *table_section(buckets(result), main=True),
        *section("Confidence", Facts(confidence(result)), *diagram, labels(result)),
    ]


def confidence_data(confidence_figures: ConfidenceFigures) -> dict[str, Any]:
    """The figures, with the reliability diagram of all claims as a Vega-Lite specification in `chart`."""
    data = encode_object(confidence_figures) | {"chart": specification(confidence_figures.overall.calibration)}
    for claims in (data["overall"], *data["labels"].values()):
        claims["n_bins"] = len(claims["calibration"]["bins"])
    return data


def confidence(result: ConfidenceFigures) -> list[tuple[str, str]]:
    """Calibration, Brier score, both thresholds with what they keep and lose, and what could not be used."""
    claims, calibration = result.overall, result.overall.calibration
    stands_on = f"{_bare_base(claims)}, from {fmt.counted(claims.n_cases, 'case')}"
    error = f"{_number(calibration.ece)}, {len(calibration.bins)} bins"
    if calibration.by_chance is not None:
        error += f"; perfect calibration would show {fmt.plain(calibration.by_chance, _DIGITS)} by chance"
    widest = _number(calibration.mce)
    if calibration.widest is not None:
        item = calibration.bins[calibration.widest]
        widest += f", in the bin {bin_name(item)} ({fmt.base(item.right.n)})"
    raised = claims.raised
    by_rule = f"none: {raised.reason}"
    if raised.threshold is not None:
        left = f" at {raised.threshold:g}: {_split(raised.split)}" if raised.split else " "
        by_rule = f"{raised.threshold:g}: {raised.reason};{left}"
    wrong = f"{stands_on}; {claims.errors:,} wrong ({fmt.with_base(claims.error_rate)})"
    rows: list[tuple[str, str]] = [
        ("Claims", doc.Figures(wrong, Selection(right=False))),
        ("Calibration error", error),
        ("Widest gap", widest),
        ("Brier score", f"{_number(claims.brier)} (0 is perfect, 0.25 is what saying 0.5 always gives)"),
        ("Threshold by rule", by_rule),
        ("Best threshold", _best(claims.best, result.utility)),
    ]
    if result.unusable:
        message = ", ".join(f"{count:,} {name}" for name, count in result.unusable.items())
        rows.append(("Not usable", f"{message}: in no figure, never clamped"))
    if result.n_left_out:
        message = fmt.counted(result.n_left_out, "claim")
        rows.append(("Left out", f"{message} of samples that are inconclusive or excluded"))
    return rows


def buckets(result: ConfidenceFigures) -> Table:
    """Errors by bucket of confidence, the surest first."""
    return doc.table(
        "Errors by confidence",
        result.overall.buckets,
        ("Bucket", lambda bucket: bucket.name),
        ("Confidence", bin_name),
        ("Wrong", lambda bucket: f"{bucket.errors:,} of {bucket.error_rate.n:,}"),
        *doc.estimate(lambda bucket: bucket.error_rate, "Error rate"),
        selection=lambda bucket: _claimed(bucket, right=False),
        note="n is claims, not samples; a boundary belongs to the upper bucket",
        signature=result.method,
    )


def bins(calibration: Calibration) -> Table:
    """The reliability diagram in figures: bins that hold a claim."""
    filled = [item for item in calibration.bins if item.confidence is not None]
    empty = len(calibration.bins) - len(filled)
    return doc.table(
        "Reliability",
        filled,
        ("Bin", bin_name),
        ("Mean confidence", lambda item: fmt.plain(item.confidence, _DIGITS)),
        ("Share right", lambda item: fmt.plain(item.right.value, _DIGITS)),
        ("95 % interval", lambda item: _interval(item.right)),
        doc.base(lambda item: item.right),
        selection=_claimed,
        note=f"{len(calibration.bins)} equally wide bins, {empty} without a claim" if empty else "",
        signature=_SIGNATURE,
    )


def _claimed(item: ReliabilityBin | BucketFigure, right: bool | None = None) -> Selection:
    return Selection(min_confidence=item.low, max_confidence=item.high, right=right)


def labels(result: ConfidenceFigures) -> Table:
    """By kind of claim: errors, calibration, Brier score and thresholds."""
    note = "calibration: expected calibration error; thresholds: by the rule of one half, and best by utility"
    if result.n_labels > len(result.labels):
        note += f"; the {len(result.labels)} most frequent kinds of {result.n_labels:,}"
    return doc.table(
        "Confidence by kind of claim",
        result.labels.items(),
        ("Kind", lambda row: row[0]),
        *doc.estimate(lambda row: row[1].error_rate, "Error rate")[:2],
        ("Calibration", lambda row: fmt.plain(row[1].calibration.ece.value, _DIGITS)),
        ("Brier", lambda row: fmt.plain(row[1].brier.value, _DIGITS)),
        ("By rule", lambda row: _bare(row[1].raised.threshold)),
        ("Best", lambda row: _bare(row[1].best.threshold.value)),
        ("n", lambda row: _bare_base(row[1])),
        selection=lambda row: Selection(claim=row[0]),
        note=note,
        signature=_SIGNATURE,
    )


def _bare_base(claims: Claims) -> str:
    return fmt.base(claims.n, claims.n_missing).removeprefix("n ")


def _best(best_threshold: BestThreshold, utility: dict[str, float]) -> str:
    threshold, gain = best_threshold.threshold, best_threshold.gain
    if best_threshold.split is None:
        return f"none: {best_threshold.reason}"
    worth = f"right {utility['right']:+g}, wrong {utility['wrong']:+g}"
    shown = "none" if threshold.value is None else f"{threshold.value:g}{_ends(threshold)}"
    gained = f"{fmt.signed(gain.value)}{_ends(gain)} a claim against keeping all, {fmt.base(threshold.n)}"
    return f"{shown} ({worth}): {best_threshold.reason}; {gained}; {_split(best_threshold.split)}"


def _split(split: Split) -> str:
    return (
        f"{split.right_kept:,} right kept and {split.right_lost:,} lost,"
        f" {split.wrong_dropped:,} wrong dropped and {split.wrong_kept:,} kept"
    )


def _bare(threshold: float | None) -> str:
    return "none" if threshold is None else f"{threshold:g}"


def _number(estimate: Estimate) -> str:
    """A figure on the scale 0 to 1 that is no share: `0.082 [0.061, 0.110] n 640`."""
    value = fmt.plain(estimate.value, _DIGITS)
    return f"{value} {_interval(estimate)} {fmt.base(estimate.n, estimate.n_missing)}"


def _interval(estimate: Estimate) -> str:
    return _ends(estimate, _DIGITS).strip() or fmt.no_interval(estimate.n)


def _ends(estimate: Estimate, digits: int = 2) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{fmt.plain(estimate.low, digits)}, {fmt.plain(estimate.high, digits)}]"


_SIZE = 240
_MARGIN = 44
_LARGEST_DOT, _SMALLEST_DOT = 9.0, 2.5
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def specification(calibration: Calibration) -> dict[str, Any]:
    """The diagram as Vega-Lite in plain data: bins as points with their intervals, and the line of perfect ones."""
    values = [
        {"confidence": item.confidence, "right": item.right.value, "bin": bin_name(item)}
        | picked(item.right, "low", "high", "n")
        for item in _with_claims(calibration)
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


def bin_name(item: ReliabilityBin | BucketFigure) -> str:
    """The confidences of a bin or bucket: `0.8-0.9`."""
    return f"{item.low:g}-{item.high:g}"


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
