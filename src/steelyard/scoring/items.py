"""Where a document holds its items: a declared layout, and the items read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.records import Box
from steelyard.scoring.boxes import Corners, Size, Units, raw_box, scale_box, units_of
from steelyard.scoring.item_places import (
    TEXTS,
    Column,
    Place,
    Usual,
    all_written,
    column,
    list_paths,
    missing_list,
    places_of,
    usual_groups,
    written,
)
from steelyard.scoring.regions import Into, group_boxes
from steelyard.suite.paths import EACH, MISSING, Getter, compile_path, split_path

Paths = str | tuple[str, ...] | None
_BARE: Final = frozenset((str, int, float))
_OBJECTS: Final = {dict}
"""What an item may be that is its own text."""


@dataclass(slots=True)
class Items:
    """The items of one document, in its order; a text, a group and a box for each.

    `derived` says that the groups were not written but come from regions or positions, so their names mean nothing.
    `blank` counts what stood there without a text, or without a list of its own; it is in none of the lists here.
    """

    texts: list[str]
    groups: list[str | None]
    boxes: list[Box | None]
    derived: bool
    blank: int


@dataclass(frozen=True, slots=True)
class _Plan:
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
        description="Where in an item its box is: four numbers, four [x, y] points, or an object such as {x, y, width, "
        "height} or {left, top, right, bottom}.",
    )
    units: Units = Field(
        default="auto",
        description="What the numbers of a box count: fractions of the picture, thousandths of it, or pixels; `auto` "
        "tells by all boxes of an answer together.",
    )
    corners: Corners = Field(
        default="xyxy",
        description="What four numbers are: left, top, right, bottom (xyxy); left, top, width, height (xywh); top, "
        "left, bottom, right (yxyx).",
    )
    regions: Into | None = Field(
        default=None, description="What boxes are grouped into when no item has a group: rows, columns or piles."
    )

    @field_validator("items")
    @classmethod
    def _items_are_in_a_list(cls, path: str) -> str:
        if split_path(path)[-1:] != (EACH,):
            raise ValueError(f"{path!r} does not end in a list: write {path}[] if it is one")
        return path

    @field_validator("text", "group", "box")
    @classmethod
    def _lead_to_one_value(cls, paths: Paths) -> Paths:
        if paths == ():
            raise ValueError("an empty list names no place: name one, or leave it out")
        for path in each_path(paths):
            if EACH in split_path(path):
                raise ValueError(f"{path!r} leads to a list, but an item has one of it: leave out the []")
        return paths

    @model_validator(mode="after")
    def _parts_go_together(self) -> Self:
        if self.box is not None and self.text is None:
            raise ValueError("box is given without text: say where in an item its text is")
        if self.regions is not None and self.box is None:
            raise ValueError("regions is given without box: say where in an item its box is")
        return self

    @cached_property
    def plan(self) -> _Plan:
        """The paths compiled; made when first needed."""
        lists = list_paths(self.items)
        return _Plan(
            lists=lists,
            levels=tuple(compile_path(path) for path in lists),
            text=column(each_path(self.text)),
            group=None if self.group is None else column(each_path(self.group)),
            box=None if self.box is None else column(each_path(self.box)),
            group_keys=_first_keys(self.group),
            box_keys=_first_keys(self.box),
            usual=self._usual(lists),
        )

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
            return Items(texts, groups, [None] * len(texts), derived=False, blank=0)
        found = places_of(plan.levels, data)
        if found is None:
            return None
        places, lost = found
        items, as_written = _read_places(plan, places)
        items.blank += lost
        if not items.texts and items.blank and not any(self._fits(item) for place in places for item in place.elements):
            return None
        if not any(as_written):
            items.boxes = [None] * len(items.texts)
            return items
        raw = [raw_box(value, self.corners) for value in as_written]
        known = [box for box in raw if box is not None]
        units = units_of(known, size) if self.units == "auto" else self.units
        items.boxes = [box and scale_box(box, units, size) for box in raw]
        if self.regions is not None and known and not any(items.groups):
            # Grouped as written: boxes in pixels of an unknown picture have no place in it, but still lie in rows.
            numbers = dict(zip(known, group_boxes(known, self.regions), strict=True))
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
                if box is not None and raw_box(box, self.corners) is None:
                    return f"{box!r} is no box"
        return None

    def _fits(self, item: Any) -> bool:
        if isinstance(item, str) or written(item) is not None:
            return True
        if any(compile_path(path)(item) is not MISSING for path in each_path(self.text)):
            return True
        return self.plan.box is not None and raw_box(self.plan.box([item])[0], self.corners) is not None


class SeveralShapes(ValueError):
    """The data holds items in more than one layout at once, so nobody can tell which are meant."""


def read_items(layouts: Sequence[ItemsLayout], data: Any, size: Size | None = None) -> Items | None:
    """The items by the first of the layouts in which the data has any; None when it has none of the layouts.

    Layouts with the same path read the same list. SeveralShapes when two different lists hold items.
    """
    empty: Items | None = None
    found: tuple[str, Items] | None = None
    for layout in layouts:
        if found is not None and layout.items == found[0]:
            continue
        items = layout.read(data, size)
        if items is None:
            continue
        if not items.texts:
            empty = empty or items
        elif found is not None:
            raise SeveralShapes(f"it holds items in several shapes at once: {found[0]} and {layout.items}")
        else:
            found = (layout.items, items)
    return empty if found is None else found[1]


def each_path(paths: Paths) -> tuple[str, ...]:
    """The paths of a parameter that holds none, one or several."""
    return () if paths is None else (paths,) if isinstance(paths, str) else paths


def _read_places(plan: _Plan, places: Sequence[Place]) -> tuple[Items, list[Any]]:
    """The items without their boxes, and what was written where each one's box should be."""
    items = Items([], [], [], derived=False, blank=0)
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
            kept = [at for at, text in enumerate(texts) if text is not None]
            items.blank += len(texts) - len(kept)
            texts, groups, boxes = [texts[at] for at in kept], [groups[at] for at in kept], [boxes[at] for at in kept]
        items.texts += texts  # type: ignore[arg-type]  # those that are None were just left out
        items.groups += groups if shared is None else [name or shared for name in groups]
        items.derived = items.derived or (by_position and None in groups)
        as_written += boxes
    return items, as_written


def _columns(
    plan: _Plan, elements: Sequence[Any], kinds: set[type]
) -> tuple[list[str | None], list[str | None], list[Any]]:
    """Text, own group and box of each element."""
    nothing: list[Any] = [None] * len(elements)
    if kinds <= _BARE:
        return all_written(elements), nothing, nothing
    values = plan.text(elements)
    if not _BARE.isdisjoint(kinds):
        values = [item if type(item) in _BARE else value for item, value in zip(elements, values, strict=True)]
    # What no element has need not be looked for in each.
    keys: set[str] | None = set().union(*elements) if kinds == _OBJECTS else None
    groups = nothing
    if plan.group is not None and _some(plan.group_keys, keys):
        groups = all_written(plan.group(elements))
    boxes = plan.box(elements) if plan.box is not None and _some(plan.box_keys, keys) else nothing
    return all_written(values), groups, boxes


def _some(wanted: frozenset[str] | None, keys: set[str] | None) -> bool:
    return wanted is None or keys is None or not wanted.isdisjoint(keys)


def _first_keys(paths: Paths) -> frozenset[str] | None:
    steps = [split_path(path) for path in each_path(paths)]
    return frozenset(path[0] for path in steps) if all(steps) else None


def _group_around(plan: _Plan, place: Place) -> tuple[str | None, bool]:
    """The group that the elements around a list give it, and whether that is only the list's position."""
    if not place.around:
        return None, False
    if plan.group is not None:
        for value in plan.group(place.around):
            name = written(value)
            if name is not None:
                return name, False
    return f"group {place.number}", True
