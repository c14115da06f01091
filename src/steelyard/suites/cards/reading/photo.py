"""The photo of a case as pixels, upright; what is no photo has been turned away before a reader is asked."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps

from steelyard import Case, TargetFailure


def open_photo(case: Case, folder: Path) -> Image.Image:
    """The case's first attachment in RGB, turned the way its EXIF tag asks."""
    if not case.attachments:
        raise TargetFailure("bad_attachment", f"case {case.id} has no photo", retry=False)
    with Image.open(folder / case.attachments[0].place) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")
