"""Dotted paths into plain data and cases: `expected.name`, `items.0.price`, `piles[].cards`, `"odd.key".x`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from steelyard.suite.case import Attachment, Case


class _Missing:
    """The type of MISSING: false, and says so when printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a path gives when there is nothing at that place; a null that is there is None."""

EACH: Final = "[]"
"""The step that goes on with every element of a list."""

_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^.\[\]"]+)')
_FIELDS = frozenset(Case.__slots__) | frozenset(Attachment.__slots__)

Getter = Callable[[Any], Any]


def split_path(text: str) -> tuple[str, ...]:
    """The steps of a path, `[]` being a step of its own; ValueError with a sentence when it is not a path."""
    steps: list[str] = []
    place = 0
    while place < len(text):
        if steps and text.startswith(EACH, place):
            steps.append(EACH)
            place += len(EACH)
            continue
        if steps:
            if text[place] != ".":
                raise ValueError(_broken(text, place))
            place += 1
        found = _STEP.match(text, place)
        if found is None:
            if not steps and text.startswith(EACH, place):
                steps.append(EACH)
                place += len(EACH)
                continue
            raise ValueError(_broken(text, place))
        quoted, plain = found.groups()
        steps.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain.strip())
        if not steps[-1] and quoted is None:
            raise ValueError(_broken(text, place))
        place = found.end()
    return tuple(steps)


@lru_cache(maxsize=4096)
def compile_path(text: str) -> Getter:
    """A function from data (or a Case) to the value at the path, or MISSING; it never raises.

    `""` is the whole. A step into a list is a number from 0; `[]` goes on with each element and gives a list without
    the elements that lack the rest of the path. ValueError with a sentence when the text is not a path.
    """
    return _getter(split_path(text))


def _getter(steps: Sequence[str]) -> Getter:
    if EACH in steps:
        at = list(steps).index(EACH)
        return _each(_getter(steps[:at]), _getter(steps[at + 1 :]))
    walk = tuple((step, int(step) if step.isascii() and step.isdigit() else None) for step in steps)

    def get(data: Any) -> Any:
        for key, index in walk:
            if isinstance(data, dict):
                data = data.get(key, MISSING)
            elif isinstance(data, (list, tuple)):
                if index is None or index >= len(data):
                    return MISSING
                data = data[index]
            elif isinstance(data, (Case, Attachment)) and key in _FIELDS:
                data = getattr(data, key, MISSING)
            else:
                return MISSING
        return data

    return get


def _each(before: Getter, after: Getter) -> Getter:
    def get(data: Any) -> Any:
        items = before(data)
        if not isinstance(items, (list, tuple)):
            return MISSING
        return [value for value in map(after, items) if value is not MISSING]

    return get


def _broken(text: str, place: int) -> str:
    return f"{text!r} is not a path: it breaks at character {place + 1}; write steps joined by dots, like expected.name"
