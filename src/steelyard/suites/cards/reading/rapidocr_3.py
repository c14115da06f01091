"""Target: reads a photo of cards with RapidOCR 3 (PP-OCRv6; the weights are in the package)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from PIL import Image

from steelyard import Case, MissingExtra

from .answers import Variant, open_photo, read_with
from .lines import Line
from .rapid import EITHER_WAY, Reading, lines_from, making, on_their_head, pixels, read_both_ways, turns

try:
    # Not where it is used: a missing engine is told once, when the target is opened, and not for every photo.
    from rapidocr import RapidOCR
except ImportError as error:
    raise MissingExtra(f"the card reader ({error})", "ocr") from error

MODEL = f"rapidocr {version('rapidocr')}"
"""What reads, for the run's signature."""


def read(case: Case, variant: Variant, folder: Path) -> dict[str, Any]:
    """The cards on the case's photo, in the shape that the variant's prompt asks for."""
    return read_with(read_lines, open_photo(case, folder), variant.name)


def read_lines(photo: Image.Image) -> list[Line]:
    """The lines of text that the engine sees."""
    engine = _engine()
    with turns:
        picture, done = engine.preprocess_img(pixels(photo))
        # Not `engine(picture)`, whose result does not tell which lines stand on their head.
        detected, facing, read, crops = engine.run_ocr_steps(picture, done)
        if detected.boxes is None or read.txts is None:
            return []
        readings = zip(read.txts, read.scores, strict=True)
        settled = read_both_ways(readings, on_their_head(facing.cls_res), crops, _recognise)
    return lines_from(detected.boxes, settled, done, engine.text_score)


def _recognise(crops: list[Any]) -> list[Reading]:
    read = _engine().recognize_txt(crops)
    return list(zip(read.txts, read.scores, strict=True))


def _engine() -> Any:
    with making:
        return _made()


@cache
def _made() -> Any:
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "Cls.cls_thresh": EITHER_WAY,
        }
    )
