"""The pictures of the samples a report shows: shrunk, drawn anew, and only when they are the ones that were weighed."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.suite.case import Attachment
from steelyard.suite.discover import find_suite
from steelyard.suite.inside import inside
from steelyard.suite.pictures import picture_problem

_SIDES = ((40, 1000), (120, 640), (300, 400))
"""Up to so many pictures, the longest side of each: a page with many pictures stays small enough to open."""
_QUALITY = 72
_MOST_PIXELS = 80_000_000
"""Pillow takes more for an attack."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture as a page shows it, or why it cannot be shown."""

    name: str
    width: int = 0
    height: int = 0
    data: str = ""
    """A JPEG in base64; "" when there is a problem."""
    problem: str = ""


def load_pictures(attachments: Iterable[Attachment], suite_path: str) -> dict[str, Picture]:
    """The pictures by their place, each once; beyond the first few hundred they are only named."""
    folder = (find_suite(suite_path) or Path(suite_path)).parent
    wanted = list({one.place: one for one in attachments if one.media_type.startswith("image/")}.values())
    side = next((side for most, side in _SIDES if len(wanted) <= most), _SIDES[-1][1])
    most = _SIDES[-1][0]
    shown = {one.place: _picture(one, folder, side) for one in wanted[:most]}
    left_off = f"not shown: a page holds at most {most} pictures"
    return shown | {one.place: Picture(one.place, problem=left_off) for one in wanted[most:]}


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
        return Picture(place, problem=f"{place} has changed since it was weighed")
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
