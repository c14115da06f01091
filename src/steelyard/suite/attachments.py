"""Files that go with a case: which they are, what kind, and what their bytes hash to."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from steelyard.suite.case import Attachment
from steelyard.suite.inside import inside
from steelyard.suite.spelling import found, shown

_CHUNK = 1 << 20
_REMOTE = ("http://", "https://")

# Python's own table only: what a machine has installed must not change what a suite means.
_TYPES = mimetypes.MimeTypes(filenames=())
for _type, _ending in (
    ("image/webp", ".webp"), ("image/avif", ".avif"), ("image/heic", ".heic"), ("image/jxl", ".jxl"),
    ("text/markdown", ".md"), ("application/x-ndjson", ".jsonl"), ("application/yaml", ".yaml"),
):  # fmt: skip
    _TYPES.add_type(_type, _ending)


def read_attachments(value: Any, folder: Path) -> tuple[Attachment, ...]:
    """The attachments a record names; ValueError with a sentence when one cannot be used."""
    if value is None or value == "" or value == []:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(_attachment(item, folder) for item in items)


def _attachment(item: Any, folder: Path) -> Attachment:
    if isinstance(item, dict) and isinstance(item.get("place"), str) and set(item) <= {"place", "media_type", "digest"}:
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
            inside(folder, place)
        except ValueError as error:
            raise ValueError(f"attachment {error}") from None
    if media_type is None:
        media_type = _TYPES.guess_type(urlsplit(place).path if remote else place)[0]
    if not isinstance(media_type, str) or "/" not in media_type:
        raise ValueError(
            f"attachment {place} is of no known media type: write {{place: {place}, media_type: image/jpeg}}"
        )
    return Attachment(place, media_type, "" if remote else _digest_of(place, folder))


def _digest_of(place: str, folder: Path) -> str:
    path = inside(folder, place)
    try:
        about = path.stat()
        return _file_digest(str(path), about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise ValueError(f"attachment {place} cannot be read: {error.strerror or error}") from None


@lru_cache(maxsize=4096)
def _file_digest(path: str, _changed: int, _size: int) -> str:
    hashing = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            hashing.update(chunk)
    return hashing.hexdigest()[:16]
