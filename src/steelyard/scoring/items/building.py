"""A document built from items: the inverse of reading a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.records import Box
from steelyard.scoring.building import build_answer
from steelyard.scoring.items.box_groups import lay_out
from steelyard.scoring.items.boxes import Size, write_box
from steelyard.scoring.items.layout import ItemsLayout, Paths, each_path


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
