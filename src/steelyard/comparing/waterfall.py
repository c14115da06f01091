"""The change of the headline number as a drawing: from A's figure to B's, a step for each cause."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.comparing.attribution_model import Attribution
from steelyard.comparing.attribution_sentences import mark_of, name_of
from steelyard.report import format as fmt
from steelyard.report.document import Drawing
from steelyard.wording import HEADLINE_METRICS, signed_points

_ROW = 40
"""Pixels; as `.waterfall` in web.css."""
_WIDE = 1_000
_ROOM = 0.06
"""Of the width, left free on both sides."""


def waterfall(attribution: Attribution) -> Drawing | None:
    """The drawing; None where a run has no scored sample."""
    before, after = attribution.a.value, attribution.b.value
    if before is None or after is None:
        return None
    texts = [("A", fmt.percent(before))]
    rows = [("whole", [before] * 4)]
    at = before
    for portion in attribution.portions:
        value, low, high = (end or 0.0 for end in (portion.change.value, portion.change.low, portion.change.high))
        style = "unsure" if portion.cannot_tell or not value else "rise" if value > 0 else "fall"
        texts.append((f"{name_of(portion)}{mark_of(portion)}", signed_points(value)))
        rows.append((style, [at, at + value, at + low, at + high]))
        at += value
    texts.append(("B", fmt.percent(after)))
    rows.append(("whole", [after] * 4))
    least, most = (end(place for _, places in rows for place in places) for end in (min, max))
    room = (most - least) * _ROOM or 0.01
    scaled = [
        [round(_WIDE * (place - least + room) / (most - least + 2 * room), 1) for place in places] for _, places in rows
    ]
    drawn = Markup("").join(
        _drawn(number, style, *places, last=number == len(rows) - 1)
        for number, ((style, _), places) in enumerate(zip(rows, scaled, strict=True))
    )
    names, figures = (
        Markup("").join(Markup("<li>{}</li>").format(text) for text in column) for column in zip(*texts, strict=True)
    )
    svg = Markup(
        '<div class="waterfall" role="img" aria-label="{}"><ol>{}</ol><svg width="100%" height="{height}"'
        ' viewBox="0 0 {} {height}" preserveAspectRatio="none">{}</svg><ol>{}</ol></div>'
    ).format(attribution.sentence, names, _WIDE, drawn, figures, height=_ROW * len(rows))
    caption = (
        f"{HEADLINE_METRICS[attribution.metric]} of all scored samples; a step begins where the one before it ends"
    )
    return Drawing(svg, f"{caption}, in percentage points; the thin line is its 95 % interval")


def _drawn(number: int, style: str, start: float, end: float, low: float, high: float, *, last: bool) -> Markup:
    """A bar with its interval, and the line to the next; of a whole a mark and no bar, since no axis begins at 0."""
    top, middle, bottom = _ROW * number + 10, _ROW * number + _ROW // 2, _ROW * (number + 1) - 10
    line = Markup('<path class="{}" d="M{} {}V{}"/>')
    link = Markup("") if last else line.format("link", end, bottom, bottom + 20)
    if style == "whole":
        return link + line.format(style, end, top, bottom)
    left, width = min(start, end), max(round(abs(end - start), 1), 2)
    bar = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        style, left, top, width, bottom - top
    )
    ends = Markup('<path d="M{0} {1}H{2}M{0} {3}v8M{2} {3}v8"/>').format(low, middle, high, middle - 4)
    return link + bar + (ends if low != high else Markup(""))
