"""Text and JSON as both databases hold them and give them back unchanged.

PostgreSQL cannot hold U+0000, and neither database holds a lone surrogate; model output may contain both. Such
characters, and the mark itself, are stored as the mark U+0010 followed by four hexadecimal digits. Two surrogates that
form a pair are the character they spell: JSON knows no difference, so none is kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from steelyard.suite.case import json_writer

MARK = "\x10"
_UNSAFE = re.compile("[\x00\x10\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MARKED = re.compile("\x10([0-9a-f]{4})")


def to_stored(text: str) -> str:
    """The text as a database can hold it; `from_stored` gives the original back."""
    if text.isascii() and "\x00" not in text and MARK not in text:
        return text
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _UNSAFE.sub(lambda match: f"{MARK}{ord(match[0]):04x}", joined)


def from_stored(text: str) -> str:
    """The original of a text that `to_stored` made."""
    return text if MARK not in text else _MARKED.sub(lambda match: chr(int(match[1], 16)), text)


def from_stored_or_none(text: str | None) -> str | None:
    """`from_stored` that lets an absent text stay absent."""
    return None if text is None else from_stored(text)


def _plain(value: Any) -> Any:
    """What JSON has no word for, in a word it has: any mapping, a set in one order, numpy's numbers; else its text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    tolist = getattr(value, "tolist", None)
    data = value if tolist is None else tolist()
    return str(value) if type(data) is type(value) else data


_write = json_writer((",", ":"), _plain, allow_nan=False)
_compact_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain)


def to_json(data: Any) -> str:
    """Plain data as compact JSON that any database, file and JSON reader can hold.

    JSON has no word for a number that is not finite: it becomes the text "NaN", "Infinity" or "-Infinity".
    """
    try:
        written = _write(data)
    except ValueError:
        data = _in_words(data)
        written = _write(data)
    if written.isascii() or _is_unicode(written):
        return written
    return _compact_ascii.encode(data)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_words(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return number_word(data)
    if isinstance(data, Mapping):
        return {key: _in_words(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_in_words(value) for value in data]
    return data if data is None or isinstance(data, str | int | float) else _in_words(_plain(data))


def number_word(number: float) -> str:
    """The text that a number which is not finite is stored as."""
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
