"""Text and JSON in the form that both databases hold and give back unchanged.

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

MARK = "\x10"
_UNSAFE = re.compile("[\x00\x10\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MARKED = re.compile("\x10([0-9a-f]{4})")


def _plain(value: Any) -> Any:
    """What JSON has no word for, in a word it has: any mapping, a set in one order, numpy's numbers; else its text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    tolist = getattr(value, "tolist", None)
    found = value if tolist is None else tolist()
    return str(value) if type(found) is type(value) else found


_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
_compact_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain)


def to_stored(text: str) -> str:
    """The text as a database can hold it; `from_stored` gives the original back."""
    if text.isascii() and "\x00" not in text and MARK not in text:
        return text
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _UNSAFE.sub(lambda found: f"{MARK}{ord(found[0]):04x}", joined)


def from_stored(text: str) -> str:
    """The original of a text that `to_stored` made."""
    if MARK not in text:
        return text
    return _MARKED.sub(lambda found: chr(int(found[1], 16)), text)


def to_json(data: Any) -> str:
    """Plain data as compact JSON that any database, file and JSON reader can hold.

    JSON has no word for a number that is not finite: it becomes the text "NaN", "Infinity" or "-Infinity".
    """
    try:
        written = _compact.encode(data)
    except ValueError:
        data = _finite(data)
        written = _compact.encode(data)
    if written.isascii() or _is_unicode(written):
        return written
    return _compact_ascii.encode(data)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data if data is None or isinstance(data, str | int | float) else _finite(_plain(data))
