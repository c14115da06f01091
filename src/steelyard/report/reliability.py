"""The reliability diagram: share right against confidence, as a Vega-Lite specification and as a drawing for a page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from steelyard.analysis.confidence_model import Calibration, ReliabilityBin
from steelyard.report import figures

_SIZE = 240
_MARGIN = 44
_LARGEST_DOT, _SMALLEST_DOT = 9.0, 2.5
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def specification(calibration: Calibration) -> dict[str, Any]:
    """The diagram as Vega-Lite in plain data: bins as points with their intervals, and the line of perfect ones."""
    values = [
        {
            "confidence": each.confidence,
            "right": each.right.value,
            "low": each.right.low,
            "high": each.right.high,
            "n": each.right.n,
            "bin": bin_name(each),
        }
        for each in _with_claims(calibration)
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


def bin_name(each: ReliabilityBin) -> str:
    """The confidences of a bin: `0.8-0.9`."""
    return f"{each.low:g}-{each.high:g}"


def drawing(calibration: Calibration) -> Markup:
    """The diagram as an SVG element that needs nothing but the page's own style; empty without claims."""
    bins = _with_claims(calibration)
    if not bins:
        return Markup("")
    most = max(each.right.n for each in bins)
    side = _SIZE + 2 * _MARGIN
    ticks = Markup("").join(_tick(at) for at in _TICKS)
    points = Markup("").join(_point(each, most) for each in bins)
    label = f"Reliability diagram of {figures.counted(calibration.ece.n, 'claim')}: share right by confidence"
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
    return [each for each in calibration.bins if each.confidence is not None and each.right.value is not None]


def _tick(at: float) -> Markup:
    grid = Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    text = Markup('<text class="tick {}" x="{}" y="{}">{}</text>')
    return (
        grid.format(_across(at), _up(0), _across(at), _up(1))
        + grid.format(_across(0), _up(at), _across(1), _up(at))
        + text.format("below", _across(at), _up(0) + 13, f"{at:g}")
        + text.format("beside", _across(0) - 5, _up(at) + 4, f"{at:g}")
    )


def _point(each: ReliabilityBin, most: int) -> Markup:
    right = each.right
    across = _across(each.confidence or 0.0)
    title = f"{bin_name(each)}: mean confidence {each.confidence:.2f}, right {figures.with_base(right)}"
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
