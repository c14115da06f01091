"""Text that came from a model or a file, made harmless to look at: nothing in it can move a cursor or hide."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Controls, lone surrogates, non-characters, and format characters that reorder or hide text. The joiners of emoji
# and of Persian or Indic words (U+200C, U+200D) stay: without them honest text would be broken.
_NONCHARACTERS = "".join(chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_NOT_FOR_EYES = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    f"\ufeff\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef\U000e0000-\U000e007f{_NONCHARACTERS}]"
)

_NOT_IN_A_LOG = re.compile(f"[\r\x0b\x0c\x85\u2028\u2029]|{_NOT_FOR_EYES.pattern}")

# A line end stands in no JSON string, so this finds lists and never a text that looks like one.
_NUMBERS = re.compile(r"\[\n\s+-?\d[\d.eE+-]*(?:,\n\s+-?\d[\d.eE+-]*)*\n\s*\]")


def visible(text: str) -> str:
    """The text with every control, bidi and invisible character spelled out (`\\x1b`, `\\u202e`).

    Every kind of line end becomes \\n.
    """
    text = _LINE_ENDS.sub("\n", text)
    if text.isascii() and text.isprintable():
        return text
    return _NOT_FOR_EYES.sub(lambda found: _spelled(found.group()), text)


def spelled_out(text: str, keep: str = "\n\t") -> str:
    """The text with every control, bidi and invisible character spelled out, line ends too, but for those to keep."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_IN_A_LOG.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def escaped_json(text: str) -> str:
    """The same JSON with everything escaped that a terminal obeys, reorders or hides."""
    return _NOT_IN_A_LOG.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _spelled(sign: str) -> str:
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, limit: int | None = None) -> str:
    """The text made visible and set on one line, every run of spaces one space, shortened to `limit` characters."""
    line = " ".join(visible(text).split())
    return line if limit is None else shortened(line, limit)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning with `... (+1,234 characters)` that says how much was left off."""
    if len(text) <= limit:
        return text
    left_off = len(text) - limit
    head = text[:limit]
    # Never part a letter from its accents or an emoji from its modifiers: what is left would be another letter.
    while head and left_off and unicodedata.combining(text[len(head)]):
        head, left_off = head[:-1], left_off + 1
    return f"{head}... (+{left_off:,} characters)"


def clipped(text: str, limit: int) -> str:
    """One line for a narrow place: at most `limit` characters, the cut shown by `...`."""
    line = one_line(text)
    return line if len(line) <= limit else line[: max(limit - 3, 1)].rstrip() + "..."


_WHOLE_BELOW = 1e15
"""Whole numbers below this are written without a decimal."""


def as_text(value: Any, *, indent: int | None = None) -> str:
    """Any stored value as text a person reads: strings as they are, nothing as an empty string, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_BELOW:
        return f"{value:.0f}"
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def laid_out(value: Any) -> str:
    """A stored value as text that is easy to read: JSON indented, every list of numbers on one line."""
    if isinstance(value, str):
        return value
    return _NUMBERS.sub(
        lambda found: re.sub(r"(?<=,)\n\s+", " ", re.sub(r"(?<!,)\n\s*", "", found.group())), as_text(value, indent=2)
    )


def ascii_only(text: str) -> str:
    """The text for a terminal that knows ASCII alone; every other sign spelled out (`\\xe9`)."""
    return text.encode("ascii", "backslashreplace").decode("ascii")
