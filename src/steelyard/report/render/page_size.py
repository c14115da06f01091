"""How much of the texts of a document a page can hold and stay small enough to open."""

from __future__ import annotations

import re

from steelyard.report.document import Bullets, Document, Facts, Quote, SampleList, Table, every_block

LONGEST_CELL = 400
MOST_ROWS, FEW_ROWS = 200, 10
"""Rows of a table; the fewer of one that stands in a fold, where the page has little room."""
MOST_FINDINGS, FEW_FINDINGS = 100, 5
_ROOM = 2_900_000
_ROOM_PER_SAMPLE = 2_900
_ROOM_PER_PICTURED = 20_000
_MOST_ROOM_FOR_PICTURED = 6_000_000
"""Of samples with a picture every item and outline is shown: they get more room, up to this much in all."""
_LONGEST_TEXTS = (20_000, 5_000, 2_000, 1_000, 500, 250, 120)
ROOMY = 5_000
"""Where texts may be so long, tables are shown with all their rows too."""
_SIGNS = re.compile(r"[&<>\"']")
_AROUND_SAMPLE, _AROUND_BLOCK, _AROUND_CELL = 900, 130, 60
"""Bytes of markup that each takes."""


def longest_text(document: Document) -> int:
    """How many characters of each quoted text may be shown so that the page stays small enough to open."""
    samples = [item for block in every_block(document.blocks) if isinstance(block, SampleList) for item in block.items]
    n = sum(sample.n for sample in samples)
    pictured = sum(sample.n for sample in samples if sample.pictured)
    room = max(_ROOM, _ROOM_PER_SAMPLE * n, min(_ROOM_PER_PICTURED * pictured, _MOST_ROOM_FOR_PICTURED))
    fixed = _AROUND_SAMPLE * sum(1 + len(sample.repeats) for sample in samples)
    quotes: list[tuple[int, int]] = []
    lines: list[tuple[int, int]] = []
    late_lines: list[tuple[int, int]] = []
    for block in every_block(document.blocks):
        fixed += _AROUND_BLOCK
        if isinstance(block, Quote):
            quotes.append(_size(block.text))
        elif isinstance(block, Table):
            for number, row in enumerate(block.rows[:MOST_ROWS]):
                listed = lines if number < FEW_FINDINGS else late_lines
                listed += [_size(str(cell)) for cell in row]
        elif isinstance(block, Bullets):
            lines += [_size(item.text) for item in block.items]
        elif isinstance(block, Facts):
            lines += [_size(value) for _, value in block.rows]
    for longest in _LONGEST_TEXTS[:-1]:
        at_once = [*lines, *(late_lines if longest >= ROOMY else ())]
        cells = len(at_once) * _AROUND_CELL + sum(_cut(size, min(longest, LONGEST_CELL)) for size in at_once)
        if fixed + cells + sum(_cut(size, longest) for size in quotes) <= room:
            return longest
    return _LONGEST_TEXTS[-1]


def _size(text: str) -> tuple[int, int]:
    """Characters of a text, and the bytes that it takes in a page."""
    return len(text), len(text.encode("utf-8", "backslashreplace")) + 4 * len(_SIGNS.findall(text))


def _cut(size: tuple[int, int], longest: int) -> int:
    n, taken = size
    return taken if n <= longest else taken * longest // n + 25
