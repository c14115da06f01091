"""Target: reads a photo of cards with Tesseract, the program (Debian's `tesseract-ocr`)."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from PIL import Image

from steelyard import Case, TargetFailure, UsageError

from .answers import Variant, open_photo, read_with
from .lines import Line

PROGRAM = shutil.which("tesseract")
if PROGRAM is None:
    raise UsageError("tesseract is not on the PATH: apt install tesseract-ocr, or brew install tesseract")

MODEL = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]  # noqa: S603 - a fixed command
"""What reads, for the run's signature."""

LEAST_SURE = 50.0
"""Of 100; below it are the grain of the table and the edges of cards."""
WIDEST_SPACE = 1.2
"""In heights of a line: what lies further apart are the lines of two cards side by side."""

X_HEIGHT, RISE, FALL = 0.56, 0.22, 0.22
"""Of the height of a line: the small letters, what tall ones rise above them and hanging ones fall below."""
TALL, HANGING = set("bdfhklt"), set("gjpqy")


class Word(NamedTuple):
    """A word with its box in pixels, which is drawn tightly around its letters."""

    text: str
    left: float
    top: float
    width: float
    height: float

    @property
    def line_height(self) -> float:
        """How high the box would be if the word had both tall and hanging letters, as a line nearly always has."""
        tall = any(letter in TALL or letter.isupper() or letter.isdigit() for letter in self.text)
        hanging = any(letter in HANGING for letter in self.text)
        return self.height / (X_HEIGHT + (RISE if tall else 0) + (FALL if hanging else 0))

    @property
    def middle(self) -> float:
        """Where the middle of its small letters is, from the top of the photo."""
        hanging = any(letter in HANGING for letter in self.text)
        return self.top + self.height - self.line_height * ((FALL if hanging else 0) + X_HEIGHT / 2)


def read(case: Case, variant: Variant, folder: Path) -> dict[str, Any]:
    """The cards on the case's photo, in the shape that the variant's prompt asks for."""
    return read_with(read_lines, open_photo(case, folder), variant.name)


def read_lines(photo: Image.Image) -> list[Line]:
    """The lines of text that the program sees."""
    picture = io.BytesIO()
    photo.save(picture, "PPM")
    done = subprocess.run(  # noqa: S603 - a fixed command
        [str(PROGRAM), "stdin", "stdout", "-l", "eng", "--dpi", "150", "--psm", "11", "tsv"],
        input=picture.getvalue(),
        capture_output=True,
        check=False,
        # More threads a photo take more of the processor and hardly less time.
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip()
        raise TargetFailure("tesseract", f"tesseract ended with {done.returncode}: {message}", retry=False)
    return lines_from(done.stdout.decode())


def lines_from(table: str) -> list[Line]:
    """The lines in Tesseract's table of words."""
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = [row for row in rows if float(row["conf"]) >= LEAST_SURE and any(map(str.isalnum, row["text"] or ""))]
    return [
        _line(part)
        for _, row in groupby(words, key=lambda word: (word["block_num"], word["par_num"], word["line_num"]))
        for part in _parts([_word(word) for word in row])
    ]


def _word(row: dict[str, str]) -> Word:
    return Word(row["text"].strip(), *(float(row[side]) for side in ("left", "top", "width", "height")))


def _parts(words: list[Word]) -> Iterator[list[Word]]:
    """The line, cut where the space between two words is too wide for one."""
    height = median(word.line_height for word in words)
    start = 0
    for place in range(1, len(words)):
        if words[place].left - words[place - 1].left - words[place - 1].width > WIDEST_SPACE * height:
            yield words[start:place]
            start = place
    yield words[start:]


def _line(words: list[Word]) -> Line:
    """The words as a line that is as slanted as they are."""
    left, right = words[0].left, words[-1].left + words[-1].width
    height = median(word.line_height for word in words)
    apart = words[-1].left + words[-1].width / 2 - words[0].left - words[0].width / 2
    slope = (words[-1].middle - words[0].middle) / apart if apart > 0 else 0.0
    top_left = words[0].middle - height / 2 - slope * words[0].width / 2
    top_right = top_left + slope * (right - left)
    quad = ((left, top_left), (right, top_right), (right, top_right + height), (left, top_left + height))
    return Line(" ".join(word.text for word in words), quad)
