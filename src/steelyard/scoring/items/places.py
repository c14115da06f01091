"""The items out of the lists that a layout's paths lead to: a text, a group and what was written as a box for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from steelyard.frozen import frozen, slotted
from steelyard.records import Box
from steelyard.scoring.items.columns import TEXTS, Column, ItemPlace, Usual, all_written, written
from steelyard.suite.paths import Getter

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
