"""The cards that were read, in the shape that a prompt asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from PIL import Image, ImageOps

from steelyard import Case, TargetFailure, group_boxes

from .lines import Card, Line, cards_from


def open_photo(case: Case, folder: Path) -> Image.Image:
    """The case's first attachment in RGB, turned the way its EXIF tag asks."""
    if not case.attachments:
        raise TargetFailure("bad_attachment", f"case {case.id} has no photo", retry=False)
    with Image.open(folder / case.attachments[0].place) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


PROPORTION = 5 / 7
"""Height to width of playing cards that lie on their side, and so of the room for print on them."""
ROOM = 1.2
"""A card has room for this many times the widest text on the photo."""

DOWN = {1: ("",), 2: ("top", "bottom"), 3: ("top", "middle", "bottom")}
ACROSS = {1: ("",), 2: ("left", "right"), 3: ("left", "center", "right")}

Box = tuple[float, float, float, float]


class Variant(Protocol):
    """What the readers need to know of a variant: the name of its prompt."""

    @property
    def name(self) -> str: ...


def read_with(read_lines: Callable[[Image.Image], list[Line]], photo: Image.Image, prompt: str) -> dict[str, Any]:
    """What an engine reads on the photo, as the prompt asks."""
    return answer(read_lines(photo), photo.size, prompt)


def answer(lines: Sequence[Line], size: tuple[int, int], prompt: str) -> dict[str, Any]:
    """The cards of a photo of that size as the prompt asks: `boxes`, `rows`, or piles for any other."""
    cards = cards_from(lines)
    boxes = print_areas(cards, size)
    if prompt == "boxes":
        return {"cards": [_with_box(card, box) for card, box in zip(cards, boxes, strict=True)]}
    groups = group_boxes(boxes, "piles")
    if prompt == "rows":
        in_order = sorted(zip(groups, boxes, cards, strict=True), key=lambda entry: (entry[0], entry[1]))
        return {"cards": [{"text": card.text, "row": group + 1} for group, _, card in in_order]}
    piles: dict[int, list[tuple[Card, Box]]] = {}
    for pile, card, box in zip(groups, cards, boxes, strict=True):
        piles.setdefault(pile, []).append((card, box))
    ordered = [piles[number] for number in sorted(piles)]
    labels = pile_labels([around([box for _, box in pile]) for pile in ordered])
    return {
        "piles": [
            {"label": label, "cards": [_with_box(card, box) for card, box in pile]}
            for label, pile in zip(labels, ordered, strict=True)
        ]
    }


def print_areas(cards: Sequence[Card], size: tuple[int, int]) -> list[Box]:
    """Where each card's print may reach, as fractions of the photo.

    Cards of a deck are alike and their texts are not, so every card is given the room of the widest text: with boxes
    drawn tightly around each text, a pile of short texts would be taken for several piles.
    """
    width = ROOM * max((card.width for card in cards), default=0.0)
    height = width * PROPORTION
    boxes = []
    for card in cards:
        x, y = card.centre
        left, right = _share(x - width / 2, size[0]), _share(x + width / 2, size[0])
        top, bottom = _share(y - height / 2, size[1]), _share(y + height / 2, size[1])
        boxes.append((left, top, right, bottom))
    return boxes


def _share(edge: float, side: int) -> float:
    return round(min(max(edge / side, 0.0), 1.0), 4)


def around(boxes: Sequence[Box]) -> Box:
    """The box around all boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def pile_labels(outlines: Sequence[Box]) -> list[str]:
    """A label for each pile by its place: `left`, `top right`; `pile 1`, `pile 2` when the places have no names."""
    lines = _lines_of_piles(outlines)
    numbered = [f"pile {number}" for number in range(1, len(outlines) + 1)]
    if len(lines) not in DOWN or any(len(line) not in ACROSS for line in lines):
        return numbered
    labels = dict(enumerate(numbered))
    for row, line in zip(DOWN[len(lines)], lines, strict=True):
        for column, place in zip(ACROSS[len(line)], line, strict=True):
            labels[place] = f"{row} {column}".strip() or "center"
    return list(labels.values())


def _lines_of_piles(outlines: Sequence[Box]) -> list[list[int]]:
    """The places of the piles, line under line and from left to right: piles mostly beside each other share a line."""
    lines: list[list[int]] = []
    for place in sorted(range(len(outlines)), key=lambda place: outlines[place][1] + outlines[place][3]):
        if lines and _side_by_side(outlines[lines[-1][-1]], outlines[place]):
            lines[-1].append(place)
        else:
            lines.append([place])
    return [sorted(line, key=lambda place: outlines[place][0] + outlines[place][2]) for line in lines]


def _side_by_side(box: Box, other: Box) -> bool:
    shared = min(box[3], other[3]) - max(box[1], other[1])
    return shared > min(box[3] - box[1], other[3] - other[1]) / 2


def _with_box(card: Card, box: Box) -> dict[str, Any]:
    return {"text": card.text, "box": list(box)}
