"""Items of an answer: how they are written, and where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from math import isfinite
from typing import Any, Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.frozen import frozen, slotted
from steelyard.records import Box
from steelyard.scoring.building import build_answer
from steelyard.scoring.items.box_groups import Into, group_boxes, lay_out
from steelyard.scoring.items.boxes import Corners, Size, Units, raw_box, scale_box, units_of, write_box
from steelyard.suite.case import EVERY, MISSING, Getter, compile_path, split_path

# Lists of items found by path, and what each of their elements holds: the quick half of reading a layout.

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
    return first_of([_column_at(path) for path in paths])


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


def _in_order(boxes: Column, corners: Corners) -> Column:
    """The same column with boxes of four numbers as left, top, right, bottom."""
    if corners == "xyxy":
        return boxes

    def values(elements: Sequence[Any]) -> list[Any]:
        return [raw_box(box, corners) or box if isinstance(box, (list, tuple)) else box for box in boxes(elements)]

    return values


def _column_at(path: str) -> Column:
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


# The items out of the lists that a layout's paths lead to: a text, a group and what was written as a box for each.

_BARE: Final = frozenset((str, int, float))
"""What an item may be that is its own text."""
_OBJECT_KEYS: Final = {dict}


@slotted
class Items:
    """The items of one document, in its order; a text, a group and a box for each.

    `derived` says that the groups were not written but come from regions or positions, so their names mean nothing.
    `blank` counts what stood there without a text, or without a list of its own; it is in none of the lists here.
    `n_boxes` counts the boxes that were written, and `unread` holds, by item, those that are no boxes.
    """

    texts: list[str]
    groups: list[str | None]
    boxes: list[Box | None]
    derived: bool = False
    blank: int = 0
    n_boxes: int = 0
    unread: dict[int, Any] = field(default_factory=dict)


@frozen
class LayoutPlan:
    """A layout's paths, taken apart and compiled."""

    lists: tuple[str, ...]
    levels: tuple[Getter, ...]
    text: Column
    group: Column | None
    box: Column | None
    group_keys: frozenset[str] | None
    """The keys of which an item must have one to hold a group; None when any may."""
    box_keys: frozenset[str] | None
    usual: Usual | None
    """The quick way to read the usual document; None when the layout is not a usual one."""


def read_places(plan: LayoutPlan, places: Sequence[ItemPlace]) -> tuple[Items, list[Any]]:
    """The items without their boxes, and what was written where each one's box should be."""
    items = Items([], [], [])
    as_written: list[Any] = []
    for place in places:
        elements = place.elements
        shared, by_position = _group_around(plan, place)
        kinds = set(map(type, elements))
        if kinds == TEXTS and all(map(str.strip, elements)):  # the usual list, by the shortest way
            items.texts += elements
            items.groups += [shared] * len(elements)
            as_written += [None] * len(elements)
            items.derived = items.derived or by_position
            continue
        texts, groups, boxes = _columns(plan, elements, kinds)
        if None in texts:
            retained = [at for at, text in enumerate(texts) if text is not None]
            items.blank += len(texts) - len(retained)
            texts, groups, boxes = (
                [texts[at] for at in retained],
                [groups[at] for at in retained],
                [boxes[at] for at in retained],
            )
        items.texts += texts  # type: ignore[arg-type]  # those that are None were just left out
        items.groups += groups if shared is None else [name or shared for name in groups]
        items.derived = items.derived or (by_position and None in groups)
        as_written += boxes
    return items, as_written


def _columns(
    plan: LayoutPlan, elements: Sequence[Any], kinds: set[type]
) -> tuple[list[str | None], list[str | None], list[Any]]:
    """Text, own group and box of each element."""
    nothing: list[Any] = [None] * len(elements)
    if kinds <= _BARE:
        return all_written(elements), nothing, nothing
    values = plan.text(elements)
    if not _BARE.isdisjoint(kinds):
        values = [item if type(item) in _BARE else value for item, value in zip(elements, values, strict=True)]
    # What no element has need not be looked for in each.
    keys: set[str] | None = set().union(*elements) if kinds == _OBJECT_KEYS else None
    groups = nothing
    if plan.group is not None and _some(plan.group_keys, keys):
        groups = all_written(plan.group(elements))
    boxes = plan.box(elements) if plan.box is not None and _some(plan.box_keys, keys) else nothing
    return all_written(values), groups, boxes


def _some(wanted: frozenset[str] | None, keys: set[str] | None) -> bool:
    return wanted is None or keys is None or not wanted.isdisjoint(keys)


def _group_around(plan: LayoutPlan, place: ItemPlace) -> tuple[str | None, bool]:
    """The group that the elements around a list give it, and whether that is only the list's position."""
    if not place.around:
        return None, False
    if plan.group is not None:
        for value in plan.group(place.around):
            name = written(value)
            if name is not None:
                return name, False
    return f"group {place.number}", True


# Where a document holds its items: a declared layout, and the items read from it.

Paths = str | tuple[str, ...] | None


class ItemsLayout(BaseModel):
    """How a document holds its items: `groups[].items[]` with a `label` on each group, or `items[]` with a box.

    One layout serves all answers that have its list: items without a group get theirs from the elements around them,
    and where there are none, from `regions`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: str = Field(description="Path to the items, `[]` after each list: `groups[].items[]`, `items[]`, `[]`.")
    text: Paths = Field(
        default=None,
        description="Where in an item its text is; of several places the first that is there. An item that is itself "
        "a text or a number needs none.",
    )
    group: Paths = Field(
        default=None,
        description="Where its group is: looked for in the item, then in the elements around it from the inside out. "
        "An element without it is named by its position: group 1, group 2.",
    )
    box: Paths = Field(
        default=None,
        description="Where in an item its box is: four numbers, two or more points, or an object such as {x, y, width, "
        "height}, {left, top, right, bottom} or {x_min, y_min, x_max, y_max}.",
    )
    units: Units = Field(
        default="auto",
        description="What the numbers of a box count: fractions of the picture, thousandths of it, or pixels; `auto` "
        "tells by all boxes of an answer together.",
    )
    corners: Corners | dict[str, Corners] = Field(
        default="xyxy",
        description="What four numbers are: left, top, right, bottom (xyxy); left, top, width, height (xywh); top, "
        "left, bottom, right (yxyx). Or this by the path of the box, where they differ: {box_2d: yxyx}.",
    )
    regions: Into | None = Field(
        default=None, description="What boxes are grouped into when no item has a group: rows, columns or piles."
    )

    @field_validator("items")
    @classmethod
    def _items_are_in_a_list(cls, path: str) -> str:
        if split_path(path)[-1:] != (EVERY,):
            raise ValueError(f"{path!r} does not end in a list: write {path}[] if it is one")
        return path

    @field_validator("text", "group", "box")
    @classmethod
    def _lead_to_one_value(cls, paths: Paths) -> Paths:
        if paths == ():
            raise ValueError("an empty list names no place: name one, or leave it out")
        for path in each_path(paths):
            if EVERY in split_path(path):
                raise ValueError(f"{path!r} leads to a list, but an item has one of it: leave out the []")
        return paths

    @model_validator(mode="after")
    def _parts_go_together(self) -> Self:
        if self.box is not None and self.text is None:
            raise ValueError("box is given without text: say where in an item its text is")
        if self.regions is not None and self.box is None:
            raise ValueError("regions is given without box: say where in an item its box is")
        if isinstance(self.corners, dict) and (strange := [*self.corners.keys() - {*each_path(self.box)}]):
            raise ValueError(f"corners names {strange[0]!r}, which is not among the paths of box")
        return self

    @cached_property
    def plan(self) -> LayoutPlan:
        """The paths compiled; made when first needed."""
        lists = list_paths(self.items)
        return LayoutPlan(
            lists=lists,
            levels=tuple(compile_path(path) for path in lists),
            text=column(each_path(self.text)),
            group=None if self.group is None else column(each_path(self.group)),
            box=None if self.box is None else self._boxes(),
            group_keys=_first_keys(self.group),
            box_keys=_first_keys(self.box),
            usual=self._usual(lists),
        )

    @property
    def order(self) -> Corners:
        """What four numbers are where `corners` does not say it of their path."""
        return self.corners if isinstance(self.corners, str) else "xyxy"

    def _boxes(self) -> Column:
        paths = each_path(self.box)
        if isinstance(self.corners, str):
            return column(paths)
        return first_of([_in_order(_column_at(path), self.corners.get(path, "xyxy")) for path in paths])

    def _usual(self, lists: tuple[str, ...]) -> Usual | None:
        texts, groups, boxes = each_path(self.text), each_path(self.group), _first_keys(self.box)
        if len(lists) != 2 or len(groups) != 1 or len(texts) > 1 or boxes is None:
            return None
        steps = [split_path(path) for path in (lists[1], *groups, *texts)]
        if any(len(path) != 1 for path in steps):
            return None
        inner, group, *text = (path[0] for path in steps)
        return usual_groups(compile_path(lists[0]), inner, group, text[0] if text else None, boxes | {group})

    def read(self, data: Any, size: Size | None = None) -> Items | None:
        """The items in the data (or case), or None when it does not have this layout.

        It has it when the path leads to a list that is empty or holds something with a text or a box; a text may be
        blank. `size` is the picture's width and height, if known.
        """
        plan = self.plan
        if plan.usual is not None and (usual := plan.usual(data)) is not None:
            texts, groups = usual
            return Items(texts, groups, [None] * len(texts))
        result = places_of(plan.levels, data)
        if result is None:
            return None
        places, lost = result
        items, as_written = read_places(plan, places)
        items.blank += lost
        if not items.texts and items.blank and not any(self._fits(item) for place in places for item in place.elements):
            return None
        if not any(as_written):
            items.boxes = [None] * len(items.texts)
            return items
        raw = [raw_box(value, self.order) for value in as_written]
        available = [box for box in raw if box is not None]
        items.unread = {at: value for at, value in enumerate(as_written) if value and raw[at] is None}
        items.n_boxes = len(available) + len(items.unread)
        units = units_of(available, size) if self.units == "auto" else self.units
        items.boxes = [box and scale_box(box, units, size) for box in raw]
        if self.regions is not None and available and not any(items.groups):
            # Grouped as written: boxes in pixels of an unknown picture have no place in it, but still lie in rows.
            numbers = dict(zip(available, group_boxes(available, self.regions), strict=True))
            items.groups = [None if box is None else f"{self.regions[:-1]} {numbers[box] + 1}" for box in raw]
            items.derived = True
        return items

    def complaint(self, data: Any) -> str | None:
        """What is written in the data and cannot be read, in words, for a truth that must be read as a whole."""
        plan = self.plan
        if (lost := missing_list(plan.levels, plan.lists, data)) is not None:
            return lost
        places, _ = places_of(plan.levels, data) or ([], 0)
        for place in places:
            boxes = [] if plan.box is None else plan.box(place.elements)
            for box in boxes:
                if box is not None and raw_box(box, self.order) is None:
                    return f"{box!r} is no box"
        return None

    def _fits(self, item: Any) -> bool:
        if isinstance(item, str) or written(item) is not None:
            return True
        if any(compile_path(path)(item) is not MISSING for path in each_path(self.text)):
            return True
        return self.plan.box is not None and raw_box(self.plan.box([item])[0], self.order) is not None


class SeveralShapes(ValueError):
    """The data holds items in more than one layout at once, so which are meant is not known."""


def read_items(layouts: Sequence[ItemsLayout], data: Any, size: Size | None = None) -> Items | None:
    """The items by the first of the layouts in which the data has any; None when it has none of the layouts.

    Layouts with the same path read the same list. SeveralShapes when two different lists hold items.
    """
    empty: Items | None = None
    results: tuple[str, Items] | None = None
    for layout in layouts:
        if results is not None and layout.items == results[0]:
            continue
        items = layout.read(data, size)
        if items is None:
            continue
        if not items.texts:
            empty = empty or items
        elif results is not None:
            raise SeveralShapes(f"it holds items in several shapes at once: {results[0]} and {layout.items}")
        else:
            results = (layout.items, items)
    return empty if results is None else results[1]


def each_path(paths: Paths) -> tuple[str, ...]:
    """The paths of a parameter that holds none, one or several."""
    return () if paths is None else (paths,) if isinstance(paths, str) else paths


def _first_keys(paths: Paths) -> frozenset[str] | None:
    steps = [split_path(path) for path in each_path(paths)]
    return frozenset(path[0] for path in steps) if all(steps) else None


# A document built from items: the inverse of reading a layout.


def build(
    layout: ItemsLayout, items: Sequence[tuple[str, str | None, Box | None]], size: Size | None = None
) -> dict[str, Any] | list[Any]:
    """A document in that layout which reads back to the items (text, group, box), those of a group side by side.

    What the layout has no place for is left out. A layout whose only groups are regions gets made-up boxes when an item
    has a group but no box.
    """
    texts, groups = [text for text, _, _ in items], [group for _, group, _ in items]
    boxes = [box for _, _, box in items]
    *outer, inner = layout.plan.lists
    order = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    if not outer and layout.group is None and layout.regions and None in boxes and None not in groups:
        boxes = list(lay_out([order[group] for group in groups], layout.regions))
    own_group = None if outer else layout.group
    elements = [
        _element(layout, text, own_group, group, box, size)
        for text, group, box in zip(texts, groups, boxes, strict=True)
    ]
    if outer:
        members: dict[str | None, list[Any]] = {group: [] for group in order}
        for group, element in zip(groups, elements, strict=True):
            members[group].append(element)
        elements = [_group_element(layout, inner, group, its_items) for group, its_items in members.items()]
    for path in reversed(outer[1:]):
        elements = [build_answer({path: elements})]
    built: dict[str, Any] | list[Any] = build_answer({(outer or [inner])[0]: elements})
    return built


def _element(
    layout: ItemsLayout, text: str, group_path: Paths, group: str | None, box: Box | None, size: Size | None
) -> Any:
    if layout.text is None:
        return text
    parts: dict[str, Any] = {each_path(layout.text)[0]: text}
    if group_path is not None and group is not None:
        parts[each_path(group_path)[0]] = group
    if layout.box is not None and box is not None:
        path = each_path(layout.box)[0]
        if path:
            corners = layout.corners if isinstance(layout.corners, str) else layout.corners.get(path, layout.order)
            parts[path] = write_box(box, corners=corners, units=layout.units, size=size)
        else:  # the item itself is the box: its edges stand beside the text
            edges = write_box(box, corners="xyxy", units=layout.units, size=size)
            parts[path] = dict(zip(("left", "top", "right", "bottom"), edges, strict=True))
    return build_answer(parts)


def _group_element(layout: ItemsLayout, path: str, group: str | None, items: list[Any]) -> Any:
    if layout.group is None or group is None:
        return build_answer({path: items})
    return build_answer({each_path(layout.group)[0]: group, path: items})
