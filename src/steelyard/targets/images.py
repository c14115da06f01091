"""Turns a case's attachments into the image parts of a chat message."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.suite.case import Attachment, Case
from steelyard.suite.files import inside, media_type_of


def image_part(attachment: Attachment, folder: Path, detail: str | None) -> dict[str, Any]:
    """One `image_url` part: a URL as it is, a file as a data URL.

    Its media type is that of the bytes where they tell it: servers refuse a PNG that says it is a JPEG.
    """
    url = attachment.place
    if not attachment.is_url:
        data = _read(attachment, folder)
        media_type = media_type_of(data) or attachment.media_type
        url = f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"
    image = {"url": url} if detail is None else {"url": url, "detail": detail}
    return {"type": "image_url", "image_url": image}


def image_names(case: Case, folder: Path) -> list[str]:
    """What stands for the images in a cache key: URLs, and hashes of files."""
    return [one.place if one.is_url else hashlib.sha256(_read(one, folder)).hexdigest() for one in case.attachments]


def _read(attachment: Attachment, folder: Path) -> bytes:
    if not attachment.media_type.startswith("image/"):
        message = f"{attachment.place} is {attachment.media_type}: a chat target sends images only"
        raise TargetFailure("bad_attachment", message, retry=False)
    try:
        return inside(folder, attachment.place).read_bytes()
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"the attachment {attachment.place} cannot be read: {reason}"
        raise TargetFailure("bad_attachment", message, retry=False) from None
