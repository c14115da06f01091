"""Offsets into a text, converted exactly between code points, UTF-8 bytes and UTF-16 units."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Final, Literal

OffsetUnit = Literal["code_points", "bytes", "utf16"]
"""What an offset counts: code points (Python), UTF-8 bytes (Go, Rust) or UTF-16 units (JavaScript, Java, C#)."""

_IN_WORDS: Final = {"code_points": "code points", "bytes": "bytes", "utf16": "UTF-16 units"}
_LAST_OF_ONE_UNIT: Final = "\uffff"


class OffsetError(ValueError):
    """An offset that is no boundary between two characters of the text."""


class TextOffsets:
    """The boundaries of one text in one unit; made once, it converts any number of offsets."""

    def __init__(self, text: str, unit: OffsetUnit) -> None:
        self._text, self._unit = text, unit
        self._starts = None if _counts_alike(text, unit) else _starts(text, unit)
        self._end = len(text) if self._starts is None else self._starts[-1]

    def to_code_points(self, offset: int) -> int:
        """The offset in code points; OffsetError when it is outside of the text or inside a character."""
        if not 0 <= offset <= self._end:
            raise OffsetError(f"offset {_short(offset)} is outside of the text, which has {self._end} {self._units}")
        if self._starts is None:
            return offset
        at = bisect_left(self._starts, offset)
        if self._starts[at] != offset:
            inside = self._text[at - 1]
            raise OffsetError(
                f"offset {offset} is inside the character {inside!r}, which takes {self._units} "
                f"{self._starts[at - 1]} to {self._starts[at]}"
            )
        return at

    def from_code_points(self, at: int) -> int:
        """The offset in this unit of a boundary given in code points; OffsetError when it is outside of the text."""
        if not 0 <= at <= len(self._text):
            raise OffsetError(f"offset {_short(at)} is outside of the text, which has {len(self._text)} code points")
        return at if self._starts is None else self._starts[at]

    @property
    def _units(self) -> str:
        return _IN_WORDS[self._unit]


def convert_offset(text: str, offset: int, *, of: OffsetUnit, to: OffsetUnit) -> int:
    """The same place in the text, counted in another unit; OffsetError when there is no such place."""
    return TextOffsets(text, to).from_code_points(TextOffsets(text, of).to_code_points(offset))


def _counts_alike(text: str, unit: OffsetUnit) -> bool:
    """True when every character takes one unit."""
    if unit == "code_points" or text.isascii():
        return True
    return unit == "utf16" and max(text) <= _LAST_OF_ONE_UNIT


def _starts(text: str, unit: OffsetUnit) -> list[int]:
    """Where each character begins, and where the last one ends."""
    width: Callable[[str], int] = _bytes_of if unit == "bytes" else _units_of
    return list(accumulate(map(width, text), initial=0))


def _bytes_of(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _units_of(character: str) -> int:
    return 1 if character <= _LAST_OF_ONE_UNIT else 2


def _short(offset: int) -> str:
    # A number of thousands of digits has no place in a sentence, and Python refuses to write it.
    return str(offset) if abs(offset) < 10**15 else "of more than 15 digits"
