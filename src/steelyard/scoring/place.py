"""An answer built from values by path: the inverse of looking them up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.suite.paths import EACH, split_path


def build_answer(parts: Mapping[str, Any]) -> Any:
    """One document that holds each value at its path; the value at the path "" is the whole, if nothing else is given.

    Steps that are numbers make lists, filled up with nulls; `[]` makes a list of one.
    """
    root: Any = None
    for path, value in parts.items():
        root = _put(root, split_path(path), value)
    return root


def _put(place: Any, steps: tuple[str, ...], value: Any) -> Any:
    if not steps:
        return {**place, **value} if isinstance(place, dict) and isinstance(value, dict) else value
    step, rest = steps[0], steps[1:]
    if step == EACH or step.isdigit():
        items = list(place) if isinstance(place, list) else []
        index = 0 if step == EACH else int(step)
        items.extend([None] * (index + 1 - len(items)))
        items[index] = _put(items[index], rest, value)
        return items
    fields = dict(place) if isinstance(place, dict) else {}
    fields[step] = _put(fields.get(step), rest, value)
    return fields
