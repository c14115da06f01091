"""What repeats of the same question are compared by: the items of an answer with their keys and declared fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from steelyard.records import Item
from steelyard.suite.models import StabilityRules
from steelyard.suite.paths import MISSING, compile_path, compile_place


def items_of(rules: StabilityRules, answer: Any) -> tuple[Item, ...]:
    """The items of one answer in their order; none when the answer has no list there.

    An item without the key has the key "": it is kept, and compared with others without one.
    """
    return _stability_reader(rules.items, rules.key, tuple(rules.fields))(answer)


@lru_cache(maxsize=64)
def _stability_reader(items: str, key: str, fields: tuple[str, ...]) -> Callable[[Any], tuple[Item, ...]]:
    place, key_of = compile_place(items), compile_path(key)
    getters = [compile_path(field) for field in fields]

    def read(answer: Any) -> tuple[Item, ...]:
        result = place.values(answer) or []
        if place.single and len(result) == 1:
            # The list itself may be named, with or without [] behind it.
            result = result[0] if isinstance(result[0], list) else []
        return tuple([Item(key_text(key_of(item)), tuple([_plain(get(item)) for get in getters])) for item in result])

    return read


def key_text(value: Any) -> str:
    """A key as text, the same for the same plain data: 3 and 3.0 are "3", true is "true"; "" when there is none."""
    if value is None or value is MISSING:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _whole(value: Any) -> Any:
    """The data with every number that is whole written as such."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_whole(inner) for inner in value]
    if isinstance(value, dict):
        return {str(name): _whole(inner) for name, inner in value.items()}
    return value


def _plain(value: Any) -> Any:
    return None if value is MISSING else value
