"""What the confidences in a run's answers are worth: by bucket, by bin, by kind, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from steelyard.analysis.confidence_model import Bucket, ConfidenceTexts
from steelyard.analysis.confidence_thresholds import SIDES
from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import Block, Drawing, Facts, Fold, Section, Table, section, table_section
from steelyard.report.figures import base, estimate, figures_table, interval, value
from steelyard.report.model import Report
from steelyard.report.render.json import encode_object, picked
from steelyard.stats.intervals import Estimate
from steelyard.stats.resampling import SEED
from steelyard.store.selection import Selection

_SIGNATURE = f"95 %: Wilson; calibration and thresholds: resampled cases | seed {SEED}"
_RIGHT = "confidence.bin.<n>.right"
_DIGITS = 3


@frozen
class DiagramBin:
    """One point of the reliability diagram: a bin that holds a claim."""

    low: float
    high: float
    confidence: float
    """The mean confidence of its claims."""
    right: Estimate
    """The share of its claims that are right."""


def diagram(result: ConfidenceTexts, overall: Slice) -> list[DiagramBin]:
    """The bins that hold a claim, in their order."""
    stated = overall.each("confidence.bin.<n>.confidence")
    return [
        DiagramBin((int(n) - 1) / result.n_bins, int(n) / result.n_bins, stated[n].value or 0.0, right)
        for n, right in overall.each(_RIGHT).items()
    ]


def sections(report: Report) -> list[Section]:
    """Calibration and thresholds, errors by bucket, the reliability diagram with its figures, and by kind of claim."""
    result, overall = report.summary.confidence, report.summary.overall
    if result is None:
        return []
    caption = (
        "Dots on the dashed line are well calibrated, dots below it overconfident. The area of a dot is its number"
        " of claims, the bar its 95 % interval."
    )
    filled = diagram(result, overall)
    blocks: list[Block] = []
    if drawn := drawing(filled):
        blocks += [Drawing(drawn, caption), Fold("The figures of the diagram", [bins(report, result)], bulky=False)]
    return [
        *table_section(buckets(report, result), main=True),
        *section("Confidence", Facts(confidence(result, overall)), *blocks, labels(report, result)),
    ]


def confidence_data(result: ConfidenceTexts, overall: Slice) -> dict[str, Any]:
    """What stands beside the figures, with the reliability diagram as a Vega-Lite specification in `chart`."""
    return encode_object(result) | {"chart": specification(diagram(result, overall), result.n_bins)}


def confidence(result: ConfidenceTexts, overall: Slice) -> list[tuple[str, str]]:
    """Calibration, Brier score, both thresholds with what they keep and lose, and what could not be used."""
    cases = overall.count("confidence.cases")
    stands_on = f"{fmt.bare_base(overall['confidence.claims'])}, from {fmt.counted(cases, 'case')}"
    error = f"{_number(overall['confidence.ece'])}, {result.n_bins} bins"
    if "confidence.by_chance" in overall:
        by_chance = fmt.plain(overall["confidence.by_chance"].value, _DIGITS)
        error += f"; perfect calibration would show {by_chance} by chance"
    widest = _number(overall["confidence.mce"])
    if (number := result.overall.widest) is not None:
        low, high = (number - 1) / result.n_bins, number / result.n_bins
        widest += f", in the bin {low:g}-{high:g} ({fmt.base(overall[f'confidence.bin.{number}.right'].n)})"
    by_rule = f"none: {result.overall.raised}"
    if (threshold := overall["confidence.raised.threshold"].value) is not None:
        by_rule = f"{threshold:g}: {result.overall.raised}; at {threshold:g}: {_split(overall, 'raised')}"
    wrong = f"{overall.count('confidence.errors'):,} wrong ({fmt.with_base(overall['confidence.error_rate'])})"
    brier = f"{_number(overall['confidence.brier'])} (0 is perfect, 0.25 is what saying 0.5 always gives)"
    rows: list[tuple[str, str]] = [
        ("Claims", doc.LinkedText(f"{stands_on}; {wrong}", Selection(right=False))),
        ("Calibration error", error),
        ("Widest gap", widest),
        ("Brier score", brier),
        ("Threshold by rule", by_rule),
        ("Best threshold", _best(result, overall)),
    ]
    if unusable := overall.counts("confidence.unusable.<why>"):
        message = ", ".join(f"{count:,} {name}" for name, count in unusable.items())
        rows.append(("Not usable", f"{message}: in no figure, never clamped"))
    if n_left_out := overall.count("confidence.left_out"):
        message = fmt.counted(n_left_out, "claim")
        rows.append(("Left out", f"{message} of samples that are inconclusive or excluded"))
    return rows


def buckets(report: Report, result: ConfidenceTexts) -> Table:
    """Errors by bucket of confidence, the surest first."""
    by_name = {bucket.name: bucket for bucket in result.buckets}
    return figures_table(
        "Errors by confidence",
        report.header.description,
        report.summary.overall,
        "confidence.bucket.<name>.error_rate",
        ("Confidence", lambda row: bin_name(by_name[row.label])),
        ("Wrong", lambda row: f"{row.count('confidence.bucket.<name>.errors')} of {row[''].n:,}"),
        *estimate("Error rate"),
        head="Bucket",
        each=by_name,
        selection=lambda row: _claimed(by_name[row.label], right=False),
        note="n is claims, not samples; a boundary belongs to the upper bucket",
        signature=result.method,
    )


def bins(report: Report, result: ConfidenceTexts) -> Table:
    """The reliability diagram in figures: bins that hold a claim."""
    filled = dict(zip(report.summary.overall.each(_RIGHT), diagram(result, report.summary.overall), strict=True))
    empty = result.n_bins - len(filled)
    return figures_table(
        "Reliability",
        report.header.description,
        report.summary.overall,
        _RIGHT,
        ("Mean confidence", lambda row: fmt.plain(filled[row.label].confidence, _DIGITS)),
        ("Share right", lambda row: fmt.plain(row[""].value, _DIGITS)),
        ("95 % interval", lambda row: _interval(row[""])),
        base(),
        head="Bin",
        label=lambda row: bin_name(filled[row.label]),
        selection=lambda row: _claimed(filled[row.label]),
        note=f"{result.n_bins} equally wide bins, {empty} without a claim" if empty else "",
        signature=_SIGNATURE,
    )


def _claimed(item: DiagramBin | Bucket, right: bool | None = None) -> Selection:
    return Selection(min_confidence=item.low, max_confidence=item.high, right=right)


def labels(report: Report, result: ConfidenceTexts) -> Table:
    """By kind of claim: errors, calibration, Brier score and thresholds."""
    note = "calibration: expected calibration error; thresholds: by the rule of one half, and best by utility"
    n_kinds = report.summary.overall.count("confidence.kinds")
    if n_kinds > len(result.labels):
        note += f"; the {len(result.labels)} most frequent kinds of {n_kinds:,}"
    of_kind = "confidence.label.<label>"
    return figures_table(
        "Confidence by kind of claim",
        report.header.description,
        report.summary.overall,
        f"{of_kind}.error_rate",
        *(value("Error rate"), interval()),
        ("Calibration", lambda row: fmt.plain(row[f"{of_kind}.ece"].value, _DIGITS)),
        ("Brier", lambda row: fmt.plain(row[f"{of_kind}.brier"].value, _DIGITS)),
        ("By rule", lambda row: _bare(row[f"{of_kind}.raised.threshold"].value)),
        ("Best", lambda row: _bare(row[f"{of_kind}.best.threshold"].value)),
        base(f"{of_kind}.claims"),
        head="Kind",
        each=result.labels,
        selection=lambda row: Selection(claim=row.label),
        note=note,
        signature=_SIGNATURE,
    )


def _best(result: ConfidenceTexts, overall: Slice) -> str:
    threshold, gain = overall["confidence.best.threshold"], overall["confidence.best.gain"]
    if not overall.each("confidence.best.<side>"):
        return f"none: {result.overall.best}"
    worth = f"right {result.utility['right']:+g}, wrong {result.utility['wrong']:+g}"
    shown = "none" if threshold.value is None else f"{threshold.value:g}{_ends(threshold)}"
    gained = f"{fmt.signed(gain.value)}{_ends(gain)} a claim against keeping all, {fmt.base(threshold.n)}"
    return f"{shown} ({worth}): {result.overall.best}; {gained}; {_split(overall, 'best')}"


def _split(overall: Slice, which: str) -> str:
    n = {side: overall.count(f"confidence.{which}.{side}") for side in SIDES}
    return (
        f"{n['right_kept']:,} right kept and {n['right_lost']:,} lost,"
        f" {n['wrong_dropped']:,} wrong dropped and {n['wrong_kept']:,} kept"
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


def specification(filled: Sequence[DiagramBin], n_bins: int) -> dict[str, Any]:
    """The diagram as Vega-Lite in plain data: bins as points with their intervals, and the line of perfect ones."""
    values = [
        {"confidence": item.confidence, "right": item.right.value, "bin": bin_name(item)}
        | picked(item.right, "low", "high", "n")
        for item in filled
    ]
    whole = {"scale": {"domain": [0, 1]}}
    x = {"field": "confidence", "type": "quantitative", "title": "mean confidence of the bin", **whole}
    y = {"field": "right", "type": "quantitative", "title": "share right", **whole}
    size = {"field": "n", "type": "quantitative", "title": "claims"}
    tooltip = [{"field": name} for name in ("bin", "confidence", "right", "low", "high", "n")]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Reliability in {n_bins} bins, n {sum(item.right.n for item in filled)}",
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


def bin_name(item: DiagramBin | Bucket) -> str:
    """The confidences of a bin or bucket: `0.8-0.9`."""
    return f"{item.low:g}-{item.high:g}"


def drawing(filled: Sequence[DiagramBin]) -> Markup:
    """The diagram as an SVG element that needs nothing but the page's own style; empty without claims."""
    if not filled:
        return Markup("")
    most = max(item.right.n for item in filled)
    side = _SIZE + 2 * _MARGIN
    ticks = Markup("").join(_tick(at) for at in _TICKS)
    points = Markup("").join(_point(item, most) for item in filled)
    claims = fmt.counted(sum(item.right.n for item in filled), "claim")
    label = f"Reliability diagram of {claims}: share right by confidence"
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


def _tick(at: float) -> Markup:
    grid = Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    text = Markup('<text class="tick {}" x="{}" y="{}">{}</text>')
    return (
        grid.format(_across(at), _up(0), _across(at), _up(1))
        + grid.format(_across(0), _up(at), _across(1), _up(at))
        + text.format("below", _across(at), _up(0) + 13, f"{at:g}")
        + text.format("left", _across(0) - 5, _up(at) + 4, f"{at:g}")
    )


def _point(item: DiagramBin, most: int) -> Markup:
    right = item.right
    across = _across(item.confidence)
    title = f"{bin_name(item)}: mean confidence {item.confidence:.2f}, right {fmt.with_base(right)}"
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
