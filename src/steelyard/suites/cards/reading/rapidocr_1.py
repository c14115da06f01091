"""Target: reads a photo of cards with RapidOCR 1.4.4 (PP-OCRv4), the generation before."""

from __future__ import annotations

import logging
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
    from rapidocr_onnxruntime import RapidOCR
except ImportError as error:
    raise MissingExtra(f"the older card reader ({error})", "ocr-old") from error

MODEL = f"rapidocr-onnxruntime {version('rapidocr-onnxruntime')}"
"""What reads, for the run's signature."""


def read(case: Case, variant: Variant, folder: Path) -> dict[str, Any]:
    """The cards on the case's photo, in the shape that the variant's prompt asks for."""
    return read_with(read_lines, open_photo(case, folder), variant.name)


def read_lines(photo: Image.Image) -> list[Line]:
    """The lines of text that the engine sees."""
    engine = _engine()
    with turns:
        picture, ratio_h, ratio_w = engine.preprocess(pixels(photo))
        picture, done = engine.maybe_add_letterbox(picture, {"preprocess": {"ratio_h": ratio_h, "ratio_w": ratio_w}})
        boxes, _ = engine.auto_text_det(picture)
        if boxes is None:
            return []
        # Step by step, since the engine's own result does not tell which lines stand on their head.
        crops = engine.get_crop_img_list(picture, boxes)
        upright, facing, _ = engine.text_cls(crops)
        settled = read_both_ways(_recognise(upright), on_their_head(facing), crops, _recognise)
    return lines_from(boxes, settled, done, engine.text_score)


def _recognise(crops: list[Any]) -> list[Reading]:
    read, _ = _engine().text_rec(crops)
    return [(text, sure) for text, sure, *_ in read]


def _engine() -> Any:
    with making:
        return _made()


@cache
def _made() -> Any:
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    return RapidOCR(intra_op_num_threads=1, cls_thresh=EITHER_WAY)
