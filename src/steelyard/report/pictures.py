"""The pictures of samples: shrunk, only if they are the ones that were scored, an outline around each finding."""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.records import Box, RunHeader
from steelyard.report.document import LegendLine, Outline, Picture
from steelyard.report.findings import in_order, taxonomy
from steelyard.report.format import as_text, one_line
from steelyard.report.model import Report, SampleDetail
from steelyard.suite.case import Attachment
from steelyard.suite.files import inside, picture_problem

RIGHT = "right"
_COLOURS, _DASHES = 6, 7
_LONGEST_TITLE = 200
_SIDES = ((40, 1000), (120, 640), (300, 400))
"""Up to so many pictures, the longest side of each: a page with many pictures stays small enough to open."""
_QUALITY = 72
_MOST_PIXELS = 80_000_000
"""Pillow takes more for an attack."""


def load_pictures(attachments: Iterable[Attachment], suite_path: str) -> dict[str, Picture]:
    """The pictures by their place, each once; beyond the first few hundred they are only named."""
    wanted = list(
        {
            attachment.place: attachment for attachment in attachments if attachment.media_type.startswith("image/")
        }.values()
    )
    if not wanted:
        return {}
    from steelyard.loading.load import find_suite  # most reports show numbers alone

    folder = (find_suite(suite_path) or Path(suite_path)).parent
    side = next((side for most, side in _SIDES if len(wanted) <= most), _SIDES[-1][1])
    most = _SIDES[-1][0]
    shown = {item.place: _picture(item, folder, side) for item in wanted[:most]}
    left_off = f"not shown: a page holds at most {most} pictures"
    return shown | {item.place: Picture(item.place, problem=left_off) for item in wanted[most:]}


def _picture(attachment: Attachment, folder: Path, side: int) -> Picture:
    place = attachment.place
    if attachment.is_url:
        return Picture(place, problem=f"at {place}: a report fetches nothing")
    try:
        path = inside(folder, place)
        data = path.read_bytes()
    except ValueError as error:
        return Picture(place, problem=f"not on this machine: {error}")
    except OSError as error:
        return Picture(place, problem=f"{place} cannot be read: {error.strerror or error}")
    if hashlib.sha256(data).hexdigest()[:16] != attachment.digest:
        return Picture(place, problem=f"{place} has changed since it was scored")
    problem = picture_problem(path, max_pixels=_MOST_PIXELS)
    if problem:
        return Picture(place, problem=f"{place} {problem}")
    try:
        return _shrunk(place, data, side)
    except (OSError, ValueError, SyntaxError) as error:  # what Pillow raises for files that it cannot decode
        return Picture(place, problem=f"{place} cannot be shown: {error}")


def _shrunk(place: str, data: bytes, side: int) -> Picture:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data)) as image:
        image.draft("RGB", (side, side))
        upright = ImageOps.exif_transpose(image)
        upright.thumbnail((side, side))
        if upright.has_transparency_data:
            paper = Image.new("RGBA", upright.size, "white")
            upright = Image.alpha_composite(paper, upright.convert("RGBA"))
        upright = upright.convert("RGB")
        out = io.BytesIO()
        upright.save(out, "JPEG", quality=_QUALITY)
    return Picture(place, *upright.size, base64.b64encode(out.getvalue()).decode("ascii"))


class Palette:
    """A look for every code, the same all over the page: no two of the first 42 share colour and dashes."""

    def __init__(self, header: RunHeader, codes: Iterable[str], details: Iterable[SampleDetail]) -> None:
        seen = [str(finding.get("code")) for detail in details for finding in detail.findings]
        self._names = {code: available.name for code, available in taxonomy(header).items()}
        # Every declared code has its own look, found or not, so that two reports of one suite look alike.
        self._styles = {
            code: _style(index) for index, code in enumerate(in_order(header, [*self._names, *codes, *seen]))
        }

    @classmethod
    def of(cls, report: Report) -> Palette:
        """That of a report."""
        return cls(report.header, [figure.code for figure in report.summary.codes], report.details)

    def style(self, code: str) -> str:
        """The classes of the code's outlines."""
        return self._styles.get(code, _style(0))

    def name(self, code: str) -> str:
        """What the suite calls the code; "" when it does not say."""
        return self._names.get(code, "")

    def legend(self, detail: SampleDetail) -> list[LegendLine]:
        """The kinds of outline of a sample, what is right first."""
        right = [LegendLine(RIGHT, RIGHT, "", len(detail.marks))] if detail.marks else []
        listed = detail.findings
        codes = [code for code in self._styles if any(finding.get("code") == code for finding in listed)]
        return [*right, *(self._line(code, listed) for code in codes)]

    def _line(self, code: str, findings: Sequence[Mapping[str, Any]]) -> LegendLine:
        mine = [finding for finding in findings if finding.get("code") == code]
        elsewhere = sum(box_of(finding) is None for finding in mine)
        return LegendLine(self.style(code), code, self.name(code), len(mine), elsewhere)


def _style(index: int) -> str:
    return f"c{index % _COLOURS} d{(index % _COLOURS + index // _COLOURS) % _DASHES}"


def drawings(detail: SampleDetail, pictures: Mapping[str, Picture], palette: Palette) -> list[Picture]:
    """Every picture of the sample; the outlines of its findings are on the first, where boxes belong."""
    results = []
    for index, attachment in enumerate(detail.pictures):
        picture = pictures.get(attachment.place) or Picture(attachment.place, problem="not loaded")
        outlines = _outlines(detail, picture, palette) if index == 0 and not picture.problem else []
        legend = palette.legend(detail) if index == len(detail.pictures) - 1 else []
        results.append(replace(picture, outlines=outlines, legend=legend))
    return results


def _outlines(detail: SampleDetail, picture: Picture, palette: Palette) -> list[Outline]:
    results = []
    for mark in detail.marks:
        box = _sound(mark.box)
        if box is not None:
            results.append(Outline(_path(box, picture), RIGHT, _title(RIGHT, mark.text)))
    for number, finding in enumerate(detail.findings, 1):
        box = box_of(finding)
        if box is None:
            continue
        code = as_text(finding.get("code"))
        expected, got = (as_text(finding.get(key)) for key in ("expected", "got"))
        message = f"expected {expected or 'nothing'}, got {got or 'nothing'}"
        x, y = _rounded(box[0] * picture.width), _rounded(box[1] * picture.height)
        results.append(
            Outline(_path(box, picture), palette.style(code), _title(f"{number} {code}", message), number, x, y)
        )
    return results


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
