"""Files that go with a case: which they are, what kind, what their bytes hash to, and whether they can be sent."""

from __future__ import annotations

import hashlib
import mimetypes
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from steelyard.suite.case import Attachment, Case
from steelyard.suite.inside import inside, place_inside
from steelyard.suite.pictures import CHECKED, picture_problem, picture_size
from steelyard.suite.spelling import found, shown

_CHUNK = 1 << 20
_REMOTE = ("http://", "https://")
_MISSING = "missing"
"""The digest of a file that cannot be read: no hash looks like it."""

# Python's own table only: what a machine has installed must not change what a suite means.
_TYPES = mimetypes.MimeTypes(filenames=())
for _type, _ending in (
    ("image/webp", ".webp"), ("image/avif", ".avif"), ("image/heic", ".heic"), ("image/heif", ".heif"),
    ("image/jxl", ".jxl"), ("text/markdown", ".md"), ("application/x-ndjson", ".jsonl"), ("application/yaml", ".yaml"),
):  # fmt: skip
    _TYPES.add_type(_type, _ending)


def read_attachments(value: Any, folder: Path) -> tuple[Attachment, ...]:
    """The attachments a record names; ValueError with a sentence when one is written wrongly.

    A file that is not there, or cannot be read, is the business of the run: it fails the case, not the suite.
    """
    if value is None or value == "" or value == []:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(_attachment(item, folder) for item in items)


def _attachment(item: Any, folder: Path) -> Attachment:
    if (
        isinstance(item, dict)
        and isinstance(item.get("place"), str)
        and set(item) <= {"place", "media_type", "digest", "size"}
    ):
        place, media_type = item["place"], item.get("media_type")
    elif isinstance(item, str):
        place, media_type = item, None
    else:
        raise ValueError(f"an attachment is a path, a URL or {{place: ..., media_type: ...}}; {found(item)}")
    remote = place.startswith(_REMOTE)
    if not remote:
        if "://" in place or place.startswith("data:"):
            raise ValueError(f"attachment {shown(place)}: only http and https addresses can be sent")
        try:
            place_inside(folder, place)
        except ValueError as error:
            raise ValueError(f"attachment {error}") from None
    if media_type is None:
        media_type = _TYPES.guess_type(urlsplit(place).path if remote else place)[0]
    if not isinstance(media_type, str) or "/" not in media_type:
        raise ValueError(
            f"attachment {place} is of no known media type: write {{place: {place}, media_type: image/jpeg}}"
        )
    if remote:
        return Attachment(place, media_type)
    digest = _digest_of(place, folder)
    is_picture = digest != _MISSING and _kind(media_type) in CHECKED
    return Attachment(place, media_type, digest, picture_size(place_inside(folder, place)) if is_picture else None)


def unsendable(case: Case, folder: Path, *, max_pixels: int) -> str | None:
    """Why the case's files cannot be sent, in a sentence; None when they can. Addresses are not looked at."""
    problems = [_problem(one, folder, max_pixels) for one in case.attachments if not one.is_url]
    told = "; ".join(problem for problem in problems if problem)
    return f"an attachment cannot be sent: {told}" if told else None


def _problem(attachment: Attachment, folder: Path, max_pixels: int) -> str | None:
    place = attachment.place
    media_type = _kind(attachment.media_type)
    try:
        path = inside(folder, place)
        with path.open("rb") as stream:
            is_empty = not stream.read(1)
    except ValueError as error:
        return str(error)
    except OSError as error:
        return f"{place} cannot be read: {error.strerror or error}"
    if media_type in CHECKED:
        problem = picture_problem(path, max_pixels=max_pixels, media_type=media_type)
        return None if problem is None else f"{place} {problem}"
    return f"{place} is empty" if is_empty and media_type.startswith("image/") else None


def _kind(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _digest_of(place: str, folder: Path) -> str:
    try:
        path = place_inside(folder, place)
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return _MISSING
        return _file_digest(str(path), about.st_mtime_ns, about.st_size)
    except OSError:
        return _MISSING


@lru_cache(maxsize=4096)
def _file_digest(path: str, _changed: int, _size: int) -> str:
    hashing = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            hashing.update(chunk)
    return hashing.hexdigest()[:16]
