"""Where a document holds its items: a declared layout, and the items read from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.scoring.items.box_groups import Into, group_boxes
from steelyard.scoring.items.boxes import Corners, Size, Units, raw_box, scale_box, units_of
from steelyard.scoring.items.columns import (
    Column,
    Usual,
    column,
    column_at,
    first_of,
    in_order,
    list_paths,
    missing_list,
    places_of,
    usual_groups,
    written,
)
from steelyard.scoring.items.places import Items, LayoutPlan, read_places
from steelyard.suite.paths import EVERY, MISSING, compile_path, split_path

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
        return first_of([in_order(column_at(path), self.corners.get(path, "xyxy")) for path in paths])

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
