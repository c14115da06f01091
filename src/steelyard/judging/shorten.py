"""Long texts by head and tail, with a line between them that says what is missing."""

from __future__ import annotations

import unicodedata
from typing import Final

_LONGEST_CLUSTER: Final = 32
"""Characters that are looked at to find the edge of one sign; more than this is decoration, and is cut."""
_JOINER: Final = "\u200d"


def shorten(text: str, most: int) -> tuple[str, bool]:
    """The text and False when it has at most `most` characters; else its head and tail and True.

    Head and tail together have at most `most` characters, and the line between them counts those that are left out.
    No sign is cut in two: an accent stays with its letter, the parts of an emoji stay together.
    """
    if len(text) <= most:
        return text, False
    head = _edge(text, (most + 1) // 2, -1)
    tail = _edge(text, len(text) - most // 2, 1)
    return f"{text[:head]}\n[... {tail - head:,} characters left out ...]\n{text[tail:]}", True


def _edge(text: str, at: int, step: int) -> int:
    """The nearest place in that direction where the text may be cut; `at` itself when none is near."""
    place = at
    for _ in range(_LONGEST_CLUSTER):
        if not 0 < place < len(text) or not _belong_together(text, place):
            return place
        place += step
    return at


def _belong_together(text: str, at: int) -> bool:
    """True when the characters before and after that place are parts of one sign."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if _JOINER in (before, after) or unicodedata.category(after).startswith("M"):
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True  # a skin tone, or the letters of a flag
    return _is_flag_letter(before) and _is_flag_letter(after) and _flag_letters_before(text, at) % 2 == 1


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < _LONGEST_CLUSTER and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start


def _is_flag_letter(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"
