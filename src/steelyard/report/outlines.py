"""What is drawn on a sample's picture: an outline for all that is right and for every finding that has a place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.records import Box
from steelyard.report.model import Report, SampleDetail
from steelyard.report.pictures import Picture
from steelyard.report.safe_text import as_text, one_line
from steelyard.report.taxonomy import in_order, taxonomy

RIGHT = "right"
_COLOURS, _DASHES = 6, 7
_LONGEST_TITLE = 200
_LABELS_A_SIDE = 36
"""A label is so many times smaller than the longest side of its picture."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One box on a picture, in the picture's pixels; `number` is the finding's place in the list below."""

    path: str
    style: str
    title: str
    number: int | None = None
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Legend:
    """One kind of outline on a picture, and how many of them there are; `n_elsewhere` have no place on it."""

    style: str
    code: str
    name: str
    count: int
    n_elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture of a sample with its outlines, or the problem that keeps it away."""

    name: str
    anchor: str
    """The picture's id in the page."""
    width: int
    height: int
    problem: str
    label_size: int
    halo: str
    outlines: Sequence[Outline]


class Palette:
    """A look for every code, the same all over the page: no two of the first 42 share colour and dashes."""

    def __init__(self, report: Report) -> None:
        seen = [str(finding.get("code")) for detail in report.details for finding in detail.findings]
        self._names = {code: known.name for code, known in taxonomy(report.header).items()}
        # Every declared code has its own look, found or not, so that two reports of one suite look alike.
        codes = in_order(report.header, [*self._names, *(figure.code for figure in report.summary.codes), *seen])
        self._styles = {code: _style(index) for index, code in enumerate(codes)}

    def style(self, code: str) -> str:
        """The classes of the code's outlines."""
        return self._styles.get(code, _style(0))

    def name(self, code: str) -> str:
        """What the suite calls the code; "" when it does not say."""
        return self._names.get(code, "")

    def legend(self, detail: SampleDetail, most: int) -> list[Legend]:
        """The kinds of outline among the first `most` findings of a sample, what is right first."""
        right = [Legend(RIGHT, RIGHT, "", len(detail.marks))] if detail.marks else []
        listed = detail.findings[:most]
        codes = [code for code in self._styles if any(finding.get("code") == code for finding in listed)]
        return [*right, *(self._line(code, listed) for code in codes)]

    def _line(self, code: str, findings: Sequence[Mapping[str, Any]]) -> Legend:
        mine = [finding for finding in findings if finding.get("code") == code]
        elsewhere = sum(box_of(finding) is None for finding in mine)
        return Legend(self.style(code), code, self.name(code), len(mine), elsewhere)


def _style(index: int) -> str:
    return f"c{index % _COLOURS} d{(index % _COLOURS + index // _COLOURS) % _DASHES}"


def drawings(
    detail: SampleDetail, pictures: Mapping[str, Picture], anchors: Mapping[str, str], palette: Palette, most: int
) -> list[Drawing]:
    """Every picture of the sample; the outlines of the first `most` findings are on the first, where boxes belong."""
    found = []
    for index, attachment in enumerate(detail.pictures):
        picture = pictures.get(attachment.place) or Picture(attachment.place, problem="not loaded")
        outlines = _outlines(detail, picture, palette, most) if index == 0 and not picture.problem else []
        found.append(
            Drawing(
                name=attachment.place,
                anchor=anchors.get(attachment.place, ""),
                width=picture.width,
                height=picture.height,
                problem=picture.problem,
                label_size=max(max(picture.width, picture.height) // _LABELS_A_SIDE, 1),
                halo="".join(outline.path for outline in outlines),
                outlines=outlines,
            )
        )
    return found


def _outlines(detail: SampleDetail, picture: Picture, palette: Palette, most: int) -> list[Outline]:
    found = []
    for mark in detail.marks:
        box = _sound(mark.box)
        if box is not None:
            found.append(Outline(_path(box, picture), RIGHT, _title(RIGHT, mark.text)))
    for number, finding in enumerate(detail.findings[:most], 1):
        box = box_of(finding)
        if box is None:
            continue
        code = as_text(finding.get("code"))
        expected, got = (as_text(finding.get(key)) for key in ("expected", "got"))
        told = f"expected {expected or 'nothing'}, got {got or 'nothing'}"
        x, y = _rounded(box[0] * picture.width), _rounded(box[1] * picture.height)
        found.append(Outline(_path(box, picture), palette.style(code), _title(f"{number} {code}", told), number, x, y))
    return found


def box_of(finding: Mapping[str, Any]) -> Box | None:
    """Where a finding is on the picture; None when it has no place there."""
    return _sound(finding.get("box"))


def _sound(box: Any) -> Box | None:
    """The box inside the picture; None when it is none at all."""
    if not isinstance(box, list | tuple) or len(box) != 4:
        return None
    if not all(isinstance(side, int | float) and math.isfinite(side) for side in box):
        return None
    left, top, right, bottom = (min(max(float(side), 0.0), 1.0) for side in box)
    return (min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _path(box: Box, picture: Picture) -> str:
    left, right = (_rounded(box[side] * picture.width) for side in (0, 2))
    top, bottom = (_rounded(box[side] * picture.height) for side in (1, 3))
    return f"M{left:g} {top:g}H{right:g}V{bottom:g}H{left:g}Z"


def _rounded(value: float) -> float:
    return round(value, 1)


def _title(what: str, text: str) -> str:
    return one_line(f"{what}: {text}" if text else what, _LONGEST_TITLE)
