"""Charts as drawings inside an HTML page: each rendered once, rebuilt from known elements alone, with its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

from steelyard.errors import MissingExtra
from steelyard.report.charts.base import Chart
from steelyard.report.charts.build import charts_of
from steelyard.report.charts.render import can_draw, to_svg
from steelyard.report.model import Report
from steelyard.report.wording import times_have_a_part

_KNOWN = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "linearGradient", "stop", "clipPath"}
_TALL = 900.0
"""Pixels; what is taller is folded."""


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """A chart as it stands in the page."""

    name: str
    title: str
    drawing: Markup
    tall: bool


@dataclass(frozen=True, slots=True)
class DrawnCharts:
    """All charts of a page; `hint` says how to get them when they could not be drawn."""

    drawn: tuple[DrawnChart, ...] = ()
    hint: str = ""

    @property
    def size(self) -> int:
        """Bytes that they take in the page."""
        return sum(len(each.drawing.encode()) for each in self.drawn)

    def of(self, *beginnings: str) -> list[DrawnChart]:
        """Those whose name begins so."""
        return [each for each in self.drawn if each.name.startswith(beginnings)]


def drawn_charts(report: Report) -> DrawnCharts:
    """The charts of a run that looks at repeats or at times; none for others, whose few figures need no picture."""
    summary = report.summary
    if summary.checks is None and summary.stability is None and not times_have_a_part(report):
        return DrawnCharts()
    return draw(charts_of(summary, report.header))


def draw(charts: Sequence[Chart]) -> DrawnCharts:
    """The charts as they stand in a page; how to get them where nothing can draw."""
    if not charts:
        return DrawnCharts()
    if not can_draw():
        return DrawnCharts(hint=str(MissingExtra("drawing charts", "charts")))
    return DrawnCharts(tuple(_drawn(chart) for chart in charts))


def _drawn(chart: Chart) -> DrawnChart:
    root = ElementTree.fromstring(to_svg(chart))  # noqa: S314 - what a library of ours has just drawn
    ids = [found for element in root.iter() if (found := element.get("id"))]
    own_ids = {found: f"{chart.name}-{number}" for number, found in enumerate(ids, 1)}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        _keep_plain(element, own_ids)
    for element in root.iter():
        for child in [child for child in element if child.tag not in _KNOWN]:
            element.remove(child)
    root.set("role", "img")
    root.set("aria-label", chart.about)
    drawing = ElementTree.tostring(root, encoding="unicode")
    # Rebuilt from elements, so that every text in it is escaped.
    return DrawnChart(chart.name, chart.title, Markup(drawing), float(root.get("height", "0")) > _TALL)  # noqa: S704


def _keep_plain(element: ElementTree.Element, own_ids: dict[str, str]) -> None:
    """Leave out whatever could lead out of the page, and make ids the chart's own.

    The library counts ids over all that it ever drew: the same chart would be another page every time.
    """
    for name, value in list(element.attrib.items()):
        if name.startswith(("{", "on", "aria", "role")) or name in ("href", "style", "class"):
            del element.attrib[name]
        elif name == "id":
            element.set(name, own_ids[value])
        elif value.startswith("url(#") and value[5:-1] in own_ids:
            element.set(name, f"url(#{own_ids[value[5:-1]]})")
