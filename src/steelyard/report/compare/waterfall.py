"""The change of the headline number as a drawing: from A's figure to B's, a step for each cause.

Every step begins where the one before it ends; a thin line is its 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from markupsafe import Markup

from steelyard.analysis.compare.attribution_model import Attribution, Portion, mark_of, name_of, points
from steelyard.frozen import frozen
from steelyard.report import format as fmt
from steelyard.report.document import Drawing

_ROW = 30
"""Pixels; as `.waterfall` in page.css."""
_WIDE = 1_000
_ROOM = 0.06
"""Of the width, left free on both sides."""


@frozen
class _Step:
    """One row: where its bar begins and ends, and its interval."""

    name: str
    figure: str
    start: float
    end: float
    low: float | None = None
    high: float | None = None
    style: str = "whole"

    @property
    def places(self) -> list[float]:
        return [place for place in (self.start, self.end, self.low, self.high) if place is not None]


def waterfall(attribution: Attribution) -> Drawing | None:
    """The drawing; None where a run has no scored sample."""
    if attribution.a.value is None or attribution.b.value is None:
        return None
    steps = [*_steps(attribution, attribution.a.value, attribution.b.value)]
    height = _ROW * len(steps)
    places = [place for step in steps for place in step.places]
    low, high = min(places), max(places)
    room = (high - low) * _ROOM or 0.01

    def across(value: float) -> float:
        return round(_WIDE * (value - low + room) / (high - low + 2 * room), 1)

    drawn = Markup("").join(_bar(step, row, across) for row, step in enumerate(steps))
    links = [
        Markup('<line class="link" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
            across(step.end), _ROW * row + 24, _ROW * (row + 1) + 6
        )
        for row, step in enumerate(steps[:-1])
    ]
    names, figures = (
        Markup("").join(Markup("<li>{}</li>").format(getattr(step, name)) for step in steps)
        for name in ("name", "figure")
    )
    svg = Markup(
        '<div class="waterfall" role="img" aria-label="{label}"><ol>{names}</ol><svg width="100%"'
        ' height="{height}" viewBox="0 0 {wide} {height}" preserveAspectRatio="none">{links}{drawn}</svg>'
        "<ol>{figures}</ol></div>"
    ).format(
        label=attribution.sentence,
        names=names,
        figures=figures,
        height=height,
        wide=_WIDE,
        links=Markup("").join(links),
        drawn=drawn,
    )
    return Drawing(svg, "each step begins where the one before it ends, in percentage points; thin: its 95 % interval")


def _steps(attribution: Attribution, before: float, after: float) -> Iterator[_Step]:
    yield _Step("A", fmt.percent(before), before, before)
    at = before
    for portion in attribution.portions:
        value = portion.change.value or 0.0
        low, high = (None if end is None else at + end for end in (portion.change.low, portion.change.high))
        yield _Step(
            f"{name_of(portion)}{mark_of(portion)}", points(value), at, at + value, low, high, _style(portion, value)
        )
        at += value
    yield _Step("B", fmt.percent(after), after, after)


def _style(portion: Portion, value: float) -> str:
    return "unsure" if portion.cannot_tell else "rise" if value > 0 else "fall"


def _bar(step: _Step, row: int, across: Callable[[float], float]) -> Markup:
    top = _ROW * row
    if step.style == "whole":
        # A mark and no bar: the axis does not begin at 0.
        return Markup('<line class="whole" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
            across(step.end), top + 4, top + _ROW - 4
        )
    left, right = sorted((across(step.start), across(step.end)))
    bar = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        step.style, left, top + 6, max(round(right - left, 1), 2), _ROW - 12
    )
    if step.low is None or step.high is None:
        return bar
    return bar + Markup('<path class="range" d="M{0} {1}H{2}M{0} {3}v8M{2} {3}v8"/>').format(
        across(step.low), top + _ROW / 2, across(step.high), top + _ROW / 2 - 4
    )
