"""What `as:` in a mapping turns a value into, for files whose cells are all text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from steelyard.suite.json_stream import decode
from steelyard.suite.tables import split_list

_TRUE = ("true", "yes", "1", "y")
_FALSE = ("false", "no", "0", "n")


def _as_number(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise ValueError("is not a number") from None


def _as_integer(value: Any) -> int:
    number = _as_number(value)
    if not math.isfinite(number) or number != int(number):
        raise ValueError("is not a whole number")
    return int(number)


def _as_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("is neither true nor false")


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return split_list(value)
    return value if isinstance(value, list) else [value]


def _as_json(value: Any) -> Any:
    return decode(value) if isinstance(value, str) else value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "number": _as_number,
    "integer": _as_integer,
    "list": _as_list,
    "json": _as_json,
    "boolean": _as_boolean,
    "text": _as_text,
}
"""What `as:` can turn a value into."""
