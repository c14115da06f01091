"""An answer built from values by path: the inverse of looking them up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.suite.paths import EVERY, split_path


def build_answer(parts: Mapping[str, Any]) -> Any:
    """One document that holds each value at its path; the value at the path "" is the whole, if nothing else is given.

    Steps that are numbers make lists, filled up with nulls; `[]` makes a list with an element for each of a list of
    values, or for the one value.
    """
    root: Any = None
    for path, value in parts.items():
        root = _put(root, split_path(path), value)
    return root


def merged(entry: Any, other: Any, *, join: bool = False) -> Any:
    """Both documents as one: fields of objects side by side, and so those of lists that have as many objects.

    Where both hold something else, `other` does; or, to `join`, a text and what else there is follow each other.
    """
    if isinstance(entry, dict) and isinstance(other, dict):
        return entry | {
            key: merged(entry[key], value, join=join) if key in entry else value for key, value in other.items()
        }
    if isinstance(entry, list) and isinstance(other, list) and len(entry) == len(other):
        if all(isinstance(item, dict) for item in (*entry, *other)):
            return [merged(item, its_other, join=join) for item, its_other in zip(entry, other, strict=True)]
    elif join and entry is not None and entry != other and any(isinstance(item, str) for item in (entry, other)):
        return f"{entry}\n{other}"
    return other


def _put(place: Any, steps: tuple[str, ...], value: Any) -> Any:
    if not steps:
        return merged(place, value)
    step, rest = steps[0], steps[1:]
    if step == EVERY and isinstance(value, list):
        return merged(place, [_put(None, rest, item) for item in value])
    if step == EVERY or step.isdigit():
        items = list(place) if isinstance(place, list) else []
        index = 0 if step == EVERY else int(step)
        items.extend([None] * (index + 1 - len(items)))
        items[index] = _put(items[index], rest, value)
        return items
    fields = dict(place) if isinstance(place, dict) else {}
    fields[step] = _put(fields.get(step), rest, value)
    return fields
