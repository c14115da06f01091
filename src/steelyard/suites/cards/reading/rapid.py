"""What both generations of RapidOCR share: how many photos they read at once, and which way up a line is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from PIL import Image

from .lines import Line, Quad

EITHER_WAY = 0.5
"""How sure the engine must be that a line stands on its head. Its own 0.9 is for pages, which seldom do; cards do."""
SURE = 0.9
"""A line read with less confidence is read once more, the other way up, and the better reading kept."""

Reading = tuple[str, float]
Recognise = Callable[[list[Any]], Iterable[Reading]]
"""Takes pictures of single lines; gives for each the text and how sure the engine is of it."""

making = threading.Lock()
"""Held while an engine is made: a process needs one, whichever thread asks first."""

# An engine works in one thread a photo (two threads take a fifth more of the processor, waiting for each other) and
# holds about 300 MB meanwhile: a photo a core at once is as fast as more, and smaller.
turns = threading.BoundedSemaphore(os.cpu_count() or 1)


def pixels(photo: Image.Image) -> Any:
    """The photo as an array of blue, green and red, which is what the engines take."""
    import numpy as np

    return np.ascontiguousarray(np.asarray(photo)[:, :, ::-1])


def on_their_head(facing: Iterable[Sequence[Any]]) -> list[bool]:
    """Which lines the engine has turned before it read them, from its label (`0` or `180`) and confidence for each."""
    return ["180" in label and sure > EITHER_WAY for label, sure in facing]


def read_both_ways(
    readings: Iterable[Reading], turned: Sequence[bool], crops: Sequence[Any], recognise: Recognise
) -> list[tuple[str, float, bool]]:
    """The text, confidence and whether it stands on its head of every line, the unsure ones read the other way too."""
    import numpy as np

    settled = [(text, float(sure), head) for (text, sure), head in zip(readings, turned, strict=True)]
    unsure = [place for place, (_, sure, _) in enumerate(settled) if sure < SURE]
    if not unsure:
        return settled
    # A crop shows the line as it lies in the photo: one that was turned to be read is now read as it lies.
    others = [np.ascontiguousarray(crops[place] if turned[place] else np.rot90(crops[place], 2)) for place in unsure]
    for place, (text, sure) in zip(unsure, recognise(others), strict=True):
        if sure > settled[place][1]:
            settled[place] = (text, float(sure), not turned[place])
    return settled


def lines_from(
    boxes: Iterable[Any],
    settled: Iterable[tuple[str, float, bool]],
    done: Mapping[str, Mapping[str, float]],
    least_sure: float,
) -> list[Line]:
    """The lines in the photo's own pixels, their corners in the order in which the text is read.

    `done` is the engine's record of how it scaled and padded the photo before it looked at it.
    """
    ratio, padding = done["preprocess"], done["padding_1"]
    lines = []
    for corners, (text, sure, head) in zip(boxes, settled, strict=True):
        if not text.strip() or sure < least_sure:
            continue
        a, b, c, d = (
            ((float(x) - padding["left"]) * ratio["ratio_w"], (float(y) - padding["top"]) * ratio["ratio_h"])
            for x, y in corners
        )
        quad: Quad = (c, d, a, b) if head else (a, b, c, d)
        lines.append(Line(text.strip(), quad))
    return lines
