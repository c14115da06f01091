"""Strict JSON out of text that may be hostile: no crash, no infinities, bounded depth and bounded work."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

MAX_DEPTH: Final = 200
"""Deeper documents are refused: everything downstream may then walk them without care."""

_RECURSION_WORK: Final = 1_000
_WINDOW: Final = 4_096
OPENER = re.compile(r'\{(?=\s*["}])|\[(?=\s*["\[{\]\d\-tfn])')
_BRACKET = re.compile(r"[\[\]{}]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def finite(digits: str) -> float | None:
    """The number; None when it is too large for one."""
    number = float(digits)
    return number if math.isfinite(number) else None


# Not a number, infinity and 1e999 are no values: they read as null, which a schema then judges.
_DECODER = json.JSONDecoder(parse_float=finite, parse_constant=lambda _: None)


class NotJson(ValueError):
    """The text is not one JSON document; the message says where it breaks."""


def read_json(text: str) -> Any:
    """The value of a text that is exactly one JSON document; NotJson otherwise. Of a repeated key the last counts."""
    stripped = text.strip()
    try:
        value, end = _DECODER.raw_decode(stripped)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError:
        raise NotJson(f"a number in it has more than {sys.get_int_max_str_digits():,} digits") from None
    if end != len(stripped):
        raise NotJson(f"there is more text after the JSON, from character {end + 1} on")
    if not shallow(value, stripped):
        raise NotJson(f"it is nested more than {MAX_DEPTH} deep")
    return without_surrogates(value, stripped)


def embedded_values(text: str) -> Iterator[Any]:
    """Each outermost object or array that stands in the text and is not nested too deeply, in order."""
    for _, source, value in embedded_json(text, _DECODER):
        if shallow(value, source):
            yield without_surrogates(value, source)


def embedded_json(text: str, decoder: json.JSONDecoder, *, past_deep: bool = False) -> Iterator[tuple[int, str, Any]]:
    """Place, source and value of each outermost object or array that stands in the text, in order.

    Every bracket that could open a document is tried from there with the JSON parser itself, so braces of templates
    or stray quotes before it do no harm. What lies inside a document, even one that breaks off later, is part of that
    document and not given; so every character is read once, and only nesting bombs need a budget. Where one that is
    too deep for the parser ends cannot tell: it is the last, unless `past_deep` says to look inside it.
    """
    budget = len(text) + 100_000
    rest, offset, place = text, 0, 0
    while budget > 0 and (opener := OPENER.search(rest, place)):
        start = opener.start()
        if start > _WINDOW:
            # A parse error counts the lines before it: without a fresh start, many errors cost the text squared.
            rest, offset, start = rest[start:], offset + start, 0
        try:
            value, place = decoder.raw_decode(rest, start)
        except json.JSONDecodeError as error:
            place = max(start + 1, error.pos)
            continue
        except (ValueError, RecursionError) as error:
            if isinstance(error, RecursionError) and not past_deep:
                return
            place = start + 1
            budget -= _RECURSION_WORK
            continue
        yield offset + start, rest[start:place], value


def shallow(value: Any, source: str) -> bool:
    """True when the value is nested at most MAX_DEPTH deep; `source` is the text it came from."""
    if source.count("{") + source.count("[") <= MAX_DEPTH:
        return True
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        layer = [item for item in inner if isinstance(item, (dict, list))]
        if not layer:
            return True
    return False


def bracket_depth(text: str) -> int:
    """How deep brackets are opened in the text, strings not regarded; a cheap upper guess."""
    deepest = depth = 0
    for bracket in _BRACKET.finditer(text):
        if bracket.group() in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(0, depth - 1)
    return deepest


def without_surrogates(value: Any, source: str) -> Any:
    """The value with half characters replaced by U+FFFD: they cannot be stored, sent or shown."""
    if not _ESCAPED_SURROGATE.search(source) and not _SURROGATE.search(source):
        return value
    return _fixed(value)


def _fixed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_fixed(item) for item in value]
    if isinstance(value, dict):
        return {_fixed(key): _fixed(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
