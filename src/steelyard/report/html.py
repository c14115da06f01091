"""The report as one HTML file that opens from disk: nothing is fetched, nothing a model wrote is rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from steelyard.analysis.model import Estimate
from steelyard.report import (
    checks_tables,
    confidence_tables,
    criteria_tables,
    error_tables,
    figures,
    judged_tables,
    judged_wording,
    latency_tables,
    said_tables,
    stability_tables,
    tables,
    wording,
)
from steelyard.report.html_charts import drawn_charts
from steelyard.report.html_page import asset, page
from steelyard.report.model import Report, SampleDetail
from steelyard.report.outlines import Palette, box_of, drawings
from steelyard.report.pictures import Picture, load_pictures
from steelyard.report.reliability import drawing
from steelyard.report.safe_text import as_text, laid_out, one_line, shortened
from steelyard.report.signatures import OF_A_RUN, signed
from steelyard.report.taxonomy import code_of, in_order

_ROOM = 2_900_000
_ROOM_PER_SAMPLE = 2_900
_ROOM_PER_PICTURED = 20_000
_MOST_ROOM_FOR_PICTURED = 6_000_000
"""Of samples with a picture every item and outline is shown: they get more room, up to this much in all."""
_LONGEST_TEXTS = (20_000, 5_000, 2_000, 1_000, 500, 250, 120)
_MOST_GRID_ROWS = 200
_MOST_GROUPS = 200
_ROOMY = 5_000
_MOST_FINDINGS = 100
_FEW_FINDINGS = 5
_LEAST_FINDING = 100
"""Bytes that a finding takes in the page, however little it says."""
_MOST_ITEMS = 200
_FEW_ITEMS = 10
_MOST_CODE_GROUPS = 100
_FEW_CODE_GROUPS = 10
_MOST_CELLS = 100


def to_html(report: Report) -> str:
    """The page; long texts are shortened, visibly, until a thousand samples stay below three megabytes.

    Pictures are read from the suite's folder, shrunk, and come on top of that.
    """
    pictured = sum(bool(detail.pictures) for detail in report.details)
    for_pictured = min(_ROOM_PER_PICTURED * pictured, _MOST_ROOM_FOR_PICTURED)
    room = max(_ROOM, _ROOM_PER_SAMPLE * len(report.details), for_pictured)
    gallery = Gallery(report)
    lengths = [[len(as_text(text)) for text in (each.input, each.expected, each.answer)] for each in report.details]
    page = ""
    for longest in _LONGEST_TEXTS:
        at_least = sum(min(length, longest) for texts in lengths for length in texts)
        most = _most_findings(longest)
        at_least += _LEAST_FINDING * sum(min(len(each.findings), most) for each in report.details)
        if at_least > room and longest != _LONGEST_TEXTS[-1]:
            continue
        page = _render(report, gallery, longest).lstrip()
        if len(page.encode()) - len(gallery.defs) - gallery.charts.size <= room:
            break
    return page


def _most_findings(longest: int) -> int:
    return _MOST_FINDINGS if longest >= _ROOMY else _FEW_FINDINGS


class Gallery:
    """The pictures and charts of a page, each in it once, and what is drawn on pictures."""

    def __init__(self, report: Report) -> None:
        self.charts = drawn_charts(report)
        wanted = [picture for detail in report.details for picture in detail.pictures]
        self.pictures = load_pictures(wanted, report.header.suite_path) if wanted else {}
        shown = [place for place, picture in self.pictures.items() if not picture.problem]
        self.anchors = {place: f"picture-{index}" for index, place in enumerate(shown)}
        self.defs = Markup("").join(self._defined(place, self.pictures[place]) for place in shown)
        self.palette = Palette(report)

    def _defined(self, place: str, picture: Picture) -> Markup:
        return Markup('<image id="{}" width="{}" height="{}" href="data:image/jpeg;base64,{}"/>\n').format(
            self.anchors[place], picture.width, picture.height, picture.data
        )


def _render(report: Report, gallery: Gallery, longest: int) -> str:
    roomy = longest >= _ROOMY
    most_findings = _most_findings(longest)
    return page(
        "report.html",
        report=report,
        summary=report.summary,
        header=report.header,
        decision=report.decision,
        figures=figures,
        signed=signed,
        signature=OF_A_RUN,
        tables=tables,
        wording=wording,
        whisker=Whisker.of,
        as_text=as_text,
        cut=lambda value: shortened(laid_out(value), longest),
        cut_line=lambda value: one_line(as_text(value), min(longest, 400)),
        release_mark=_release_mark(report),
        grid=variant_grid(report),
        most_groups=_MOST_GROUPS,
        most_findings=most_findings,
        most_items=_MOST_ITEMS if roomy else _FEW_ITEMS,
        most_code_groups=_MOST_CODE_GROUPS if roomy else _FEW_CODE_GROUPS,
        pictured=any(detail.pictures for detail in report.details),
        errors=error_tables,
        judged=judged_tables,
        further=said_tables.said(report),
        confident=confidence_tables,
        checked=checks_tables,
        stable=stability_tables,
        timed=latency_tables,
        charts=gallery.charts,
        most_cells=_MOST_CELLS,
        reliability=drawing,
        said=judged_wording.said,
        judge_warnings=judged_wording.judge_warnings(report),
        labelled=bool(judged_wording.described_judge(report.header).get("labels")),
        codes=in_order(report.header, (code for detail in report.details for code in _codes(detail))),
        codes_of=lambda detail: " ".join(_codes(detail)),
        computed_scores=_computed_scores(report),
        ballot_name=judged_wording.ballot_name,
        criteria=criteria_tables,
        code_of=code_of,
        box_of=box_of,
        palette=gallery.palette,
        gallery=gallery.defs,
        drawn=lambda detail: drawings(detail, gallery.pictures, gallery.anchors, gallery.palette, most_findings),
        places={
            (detail.line.case_id, detail.line.variant, detail.line.repeat): index
            for index, detail in enumerate(report.details, 1)
        },
        categories=sorted({detail.category for detail in report.details if detail.category}),
        statuses=list(dict.fromkeys(wording.status(detail) for detail in report.details)),
        script=asset("report.js"),
    )


def _computed_scores(report: Report) -> Callable[[SampleDetail], list[dict[str, Any]]]:
    """From a sample to its scores without those of its judge, which stand with the judgement."""
    judged = judged_wording.judged_names(report.header)
    return lambda detail: [
        score for score in detail.scores if detail.judgement is None or score.get("name") not in judged
    ]


def _codes(detail: SampleDetail) -> list[str]:
    """The codes found in a sample, each once, as one word."""
    return list(dict.fromkeys("_".join(as_text(finding.get("code")).split()) for finding in detail.findings))


def _release_mark(report: Report) -> float | None:
    """What the pass rate of the whole run must reach, when a gate says so."""
    marks = [gate.threshold for gate in report.decision.gates if gate.metric == "pass_rate"]
    return max(marks, default=None)


@dataclass(frozen=True, slots=True)
class Whisker:
    """Where a figure and its interval lie on a line of 200 units; None where undefined."""

    at: float | None
    low: float | None
    high: float | None
    mark: float | None
    label: str

    @staticmethod
    def of(estimate: Estimate, threshold: float | None = None, scale: tuple[float, float] = (0.0, 1.0)) -> Whisker:
        """The figure's place on its scale; `threshold` is a mark to compare it with."""

        def place(value: float | None) -> float | None:
            if value is None or scale[1] <= scale[0]:
                return None
            share = (value - scale[0]) / (scale[1] - scale[0])
            return round(6 + 188 * min(max(share, 0.0), 1.0), 1)

        whole = scale == (0.0, 1.0)
        label = figures.with_base(estimate) if whole else figures.on_scale(estimate.value, scale)
        return Whisker(place(estimate.value), place(estimate.low), place(estimate.high), place(threshold), label)


@dataclass(frozen=True, slots=True)
class Grid:
    """Cases by variants; each cell is the average score over the repeats, with its n."""

    variants: list[str]
    rows: list[tuple[str, list[str]]]
    n_left_off: int


def variant_grid(report: Report) -> Grid | None:
    """The grid, or None when the run has no variants or not all of its samples are at hand."""
    cells: dict[str, dict[str, list[float | None]]] = {}
    variants: dict[str, None] = {}
    for detail in report.details:
        line = detail.line
        variants[line.variant] = None
        cells.setdefault(line.case_id, {}).setdefault(line.variant, []).append(
            None if wording.is_aside(detail) else line.score
        )
    if len(variants) < 2 or len(report.details) < report.n_samples:
        return None
    order = [group.name for group in report.summary.slices.get("variant", []) if group.name in variants]
    names = order if len(order) == len(variants) else sorted(variants)
    rows = [(case, [_cell(found.get(name, [])) for name in names]) for case, found in sorted(cells.items())]
    return Grid(names, rows[:_MOST_GRID_ROWS], max(len(rows) - _MOST_GRID_ROWS, 0))


def _cell(scores: list[float | None]) -> str:
    if not scores:
        return "not weighed"
    read = [score for score in scores if score is not None]
    average = sum(read) / len(read) if read else None
    return figures.with_base(Estimate(average, len(read), len(scores) - len(read)))
