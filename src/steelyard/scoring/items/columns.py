"""Lists of items found by path, and what each of their elements holds: the quick half of reading a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from steelyard.scoring.items.boxes import Corners, raw_box
from steelyard.suite.paths import EVERY, MISSING, Getter, compile_path, split_path

Column = Callable[[Sequence[Any]], list[Any]]
"""From elements to a value of each; None where there is none."""
Usual = Callable[[Any], tuple[list[str], list[str | None]] | None]
"""From a usual document to its texts and the group of each; None when it is not a usual one."""
TEXTS: Final = {str}
_NULLS: Final = {type(None)}
_OBJECTS: Final = {dict}
_WHOLE_NUMBERS: Final = {int}


class ItemPlace(NamedTuple):
    """One list of items, the elements around it from the inside out, and which of its kind it is, from 1."""

    around: tuple[Any, ...]
    number: int
    elements: Sequence[Any]


def list_paths(path: str) -> tuple[str, ...]:
    """The paths from list to list: `a.b[].c[]` gives `a.b` and `c`, their steps in quotation marks."""
    paths: list[str] = []
    steps: list[str] = []
    for step in split_path(path):
        if step == EVERY:
            paths.append(".".join(steps))
            steps = []
        else:
            steps.append('"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return tuple(paths)


def places_of(levels: Sequence[Getter], data: Any) -> tuple[list[ItemPlace], int] | None:
    """The lists that hold the items, and how many elements on the way have none.

    None when the path leads to no list at all, though there was something to look into.
    """
    outermost = levels[0](data)
    if not isinstance(outermost, (list, tuple)):
        return None
    places, lost = [ItemPlace((), 0, outermost)], 0
    for get in levels[1:]:
        deeper: list[ItemPlace] = []
        number = 0
        for place in places:
            for element in place.elements:
                number += 1
                inner = get(element)
                if isinstance(inner, (list, tuple)):
                    deeper.append(ItemPlace((element, *place.around), number, inner))
        if number and not deeper:
            return None
        places, lost = deeper, lost + number - len(deeper)
    return places, lost


def missing_list(levels: Sequence[Getter], names: Sequence[str], data: Any) -> str | None:
    """Where a list should be and is none, in words; None when all are there."""
    elements = [data]
    for get, name in zip(levels, names, strict=True):
        deeper: list[Any] = []
        for element in elements:
            result = get(element)
            if not isinstance(result, (list, tuple)):
                message = repr(element)
                return (
                    f"there is no list {name or 'of items'} in {message if len(message) <= 80 else message[:79] + '…'}"
                )
            deeper.extend(result)
        elements = deeper
    return None


def column(paths: Sequence[str]) -> Column:
    """A function from elements to the value of each at the first of the paths that is there and not null."""
    return first_of([column_at(path) for path in paths])


def first_of(columns: Sequence[Column]) -> Column:
    """A function from elements to the first value of each, by the order of the columns, that is not null."""

    def values(elements: Sequence[Any]) -> list[Any]:
        results: list[Any] = columns[0](elements) if columns else [None] * len(elements)
        for other in columns[1:]:
            if None in results:
                pairs = zip(results, other(elements), strict=True)
                results = [value if value is not None else instead for value, instead in pairs]
        return results

    return columns[0] if len(columns) == 1 else values


def in_order(boxes: Column, corners: Corners) -> Column:
    """The same column with boxes of four numbers as left, top, right, bottom."""
    if corners == "xyxy":
        return boxes

    def values(elements: Sequence[Any]) -> list[Any]:
        return [raw_box(box, corners) or box if isinstance(box, (list, tuple)) else box for box in boxes(elements)]

    return values


def column_at(path: str) -> Column:
    """The column that a path leads to in each element."""
    steps, get = split_path(path), compile_path(path)

    def find(element: Any) -> Any:
        value = get(element)
        return None if value is MISSING else value

    if len(steps) != 1:
        return lambda elements: [find(element) for element in elements]
    key = steps[0]
    # One key of a plain dict is what nearly every item needs, and a third of the time of the general way.
    return lambda elements: [element.get(key) if type(element) is dict else find(element) for element in elements]


def all_written(values: Sequence[Any]) -> list[str | None]:
    """Each value as `written` gives it; where all are of one kind, in one go."""
    kinds = set(map(type, values))
    if kinds == TEXTS and all(map(str.strip, values)):
        return list(values)
    if kinds == _NULLS:
        return [None] * len(values)
    return list(map(str, values)) if kinds == _WHOLE_NUMBERS else list(map(written, values))


def _all_texts(values: Sequence[Any]) -> bool:
    """True when each is a text that is not blank."""
    try:
        return all(map(str.strip, values))
    except TypeError:
        return False


def written(value: Any) -> str | None:
    """A text or number as text, 2.0 like 2; None when it is blank or neither."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float):
        return repr(value).removesuffix(".0") if isfinite(value) else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def usual_groups(outer: Getter, inner: str, group: str, text: str | None, elsewhere: frozenset[str]) -> Usual:
    """A quick reader of the usual document: named groups, each with a list of texts or of objects with a text.

    It gives the texts and their groups, or None for anything out of the usual (a blank, a number, an item with one of
    the keys `elsewhere`), which is then read the general way.
    """

    def read(data: Any) -> tuple[list[str], list[str | None]] | None:
        result = outer(data)
        if type(result) is not list:
            return None
        texts: list[str] = []
        groups: list[str | None] = []
        for element in result:
            if type(element) is not dict:
                return None
            items, name = element.get(inner), element.get(group)
            if type(items) is not list or type(name) is not str or not name.strip():
                return None
            if text is not None and set(map(type, items)) == _OBJECTS:
                if not elsewhere.isdisjoint(set().union(*items)):
                    return None
                items = [item.get(text) for item in items]
            texts += items
            groups += [name] * len(items)
        return (texts, groups) if _all_texts(texts) else None

    return read
