"""A box in a picture, read in whatever way it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from steelyard.records import Box

Corners = Literal["xyxy", "xywh", "yxyx"]
Scale = Literal["fraction", "thousand", "pixels"]
Units = Literal["auto", "fraction", "thousand", "pixels"]
Size = tuple[int, int]

OUTSIDE: Final = 0.5
"""How far a box may reach out of the picture, in pictures; what reaches further was not seen in it."""

_PIXEL_SLACK: Final = 1.02
"""Answers in pixels overshoot the edge by a few; without the slack they would be taken for thousandths."""

_HUGE: Final = 1e12
"""No coordinate: the comparison also turns away NaN, infinity and integers too large for a float."""

_PLAIN_NUMBERS: Final = frozenset((int, float))
# Keys are compared without their case and without what is neither letter nor digit: x_min, xMin and XMIN are one.
_EDGES: Final = (
    ("left", "top", "right", "bottom"),
    ("x1", "y1", "x2", "y2"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("minx", "miny", "maxx", "maxy"),
    ("x0", "y0", "x1", "y1"),
)
_STARTS: Final = (("x", "y"), ("left", "top"), ("xmin", "ymin"), ("x1", "y1"))
_CENTRES: Final = (("cx", "cy"), ("xcenter", "ycenter"), ("centerx", "centery"))
_SIZES: Final = (("width", "height"), ("w", "h"))
_CORNER_KEYS: Final = frozenset(
    (
        *("topleft", "topright", "bottomleft", "bottomright", "upperleft", "lowerright"),
        *("tl", "tr", "bl", "br", "min", "max", "start", "end", "p1", "p2"),
    )
)
_INNER_KEYS: Final = ("box", "bbox", "boundingbox", "polygon", "points", "vertices", "coordinates")
_FEWEST_FLAT: Final = 6
"""So many numbers in one list are points, x and y in turn: three of them at least."""


def read_box(value: Any, *, corners: Corners = "xyxy", units: Units = "auto", size: Size | None = None) -> Box | None:
    """One written box as fractions of the picture, or None when it is no box or cannot be placed in the picture.

    `auto` goes by this box alone, and a small box in pixels looks like thousandths: name the units if they are known.
    """
    box = raw_box(value, corners)
    if box is None:
        return None
    return scale_box(box, units_of((box,), size) if units == "auto" else units, size)


def raw_box(value: Any, corners: Corners = "xyxy") -> Box | None:
    """(left, top, right, bottom) in the units it was written in, or None when it is no box.

    A list of four numbers is read as `corners` says; an object by its keys, whatever `corners` says; of two or more
    points, [x, y] or {x, y}, it is the box around them. Swapped corners are put in order; a box without area is none.
    """
    if isinstance(value, dict):
        return _from_keys(value, corners)
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if isinstance(value[0], (list, tuple, dict)):
        return _around(value)
    if not _are_numbers(value):
        return None
    if len(value) >= _FEWEST_FLAT and len(value) % 2 == 0:
        return _around(tuple(zip(value[::2], value[1::2], strict=True)))
    if len(value) != 4:
        return None
    if corners == "xywh":
        return _with_extent(*value)
    if corners == "yxyx":
        top, left, bottom, right = value
        return _in_order(left, top, right, bottom)
    return _in_order(*value)


def units_of(boxes: Iterable[Box], size: Size | None) -> Scale:
    """The units that all boxes of one answer are written in, as far as their numbers tell.

    - No number above 1.5: fractions (a pixel box that small holds nothing).
    - The size of the picture is not known: thousandths, as models of the Qwen and Gemini kind write them; with a number
      above 1000, pixels.
    - Otherwise thousandths fit when no number is above 1000, pixels fit when all boxes lie in the picture. When one
      fits, it is that one. When both fit: pixels if no side of the picture is longer than 1000, since thousandths
      would then leave the right and lower part empty; else thousandths, for the like reason. When neither fits, the
      one that sticks out less.

    A large picture with all its items in the upper left cannot be told from thousandths: a suite that knows should
    declare the units.
    """
    furthest_x = furthest_y = 0.0
    for _, _, right, bottom in boxes:
        if right > furthest_x:
            furthest_x = right
        if bottom > furthest_y:
            furthest_y = bottom
    furthest = max(furthest_x, furthest_y)
    if furthest <= 1 + OUTSIDE:
        return "fraction"
    if size is None:
        return "thousand" if furthest <= 1000 else "pixels"
    in_pixels = max(furthest_x / size[0], furthest_y / size[1])
    thousand_fits, pixels_fit = furthest <= 1000, in_pixels <= _PIXEL_SLACK
    if thousand_fits and pixels_fit:
        return "pixels" if max(size) <= 1000 else "thousand"
    if thousand_fits or pixels_fit:
        return "pixels" if pixels_fit else "thousand"
    return "pixels" if in_pixels < furthest / 1000 else "thousand"


def scale_box(box: Box, units: Scale, size: Size | None) -> Box | None:
    """The box as fractions of the picture, cut at its edges; None when it lies outside.

    Pixels of a picture whose size is not known cannot be placed: None. They can still be grouped, since
    `group_boxes` gives the same groups in any units.
    """
    if units == "pixels" and size is None:
        return None
    width, height = _UNIT_SIZES[units] or size or (1, 1)
    left, top, right, bottom = box[0] / width, box[1] / height, box[2] / width, box[3] / height
    if left >= 0 and top >= 0 and right <= 1 and bottom <= 1:
        return left, top, right, bottom
    if min(left, top) < -OUTSIDE or max(right, bottom) > 1 + OUTSIDE:
        return None
    cut = (max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
    return cut if cut[0] < cut[2] and cut[1] < cut[3] else None


def write_box(box: Box, *, corners: Corners, units: Units, size: Size | None) -> list[float]:
    """The box as a list of four numbers that `read_box` reads back; pixels without a size are of 1000 × 1000."""
    width, height = _UNIT_SIZES["fraction" if units == "auto" else units] or size or (1000, 1000)
    left, top, right, bottom = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    if corners == "xywh":
        return [left, top, right - left, bottom - top]
    return [top, left, bottom, right] if corners == "yxyx" else [left, top, right, bottom]


def _are_numbers(values: Sequence[Any]) -> bool:
    if not _PLAIN_NUMBERS.issuperset(map(type, values)) and not all(map(_is_number, values)):
        return False
    for value in values:  # noqa: SIM110 - a generator takes half as long again, for every box of an answer
        if not -_HUGE < value < _HUGE:
            return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _from_keys(value: dict[str, Any], corners: Corners) -> Box | None:
    keyed = {"".join(filter(str.isalnum, str(key))).lower(): part for key, part in value.items()}
    for names, make in _SHAPES:
        if all(name in keyed for name in names):
            numbers = [keyed[name] for name in names]
            return make(*numbers) if _are_numbers(numbers) else None
    if points := [part for key, part in keyed.items() if key in _CORNER_KEYS]:
        return _around(points)
    inner = next((keyed[key] for key in _INNER_KEYS if key in keyed), None)
    # Only a list: an answer may nest objects as deep as it likes.
    return raw_box(inner, corners) if isinstance(inner, (list, tuple)) else None


def _around(points: Sequence[Any]) -> Box | None:
    pairs = [(point.get("x"), point.get("y")) if isinstance(point, dict) else point for point in points]
    if len(pairs) < 2 or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and _are_numbers(pair) for pair in pairs
    ):
        return None
    across, down = zip(*pairs, strict=True)
    return _in_order(min(across), min(down), max(across), max(down))


def _about(x: float, y: float, width: float, height: float) -> Box | None:
    return _with_extent(x - width / 2, y - height / 2, width, height)


def _with_extent(left: float, top: float, width: float, height: float) -> Box | None:
    return _in_order(left, top, left + width, top + height) if width > 0 and height > 0 else None


def _in_order(left: float, top: float, right: float, bottom: float) -> Box | None:
    if left == right or top == bottom:
        return None
    if left > right:
        left, right = right, left
    if top > bottom:
        top, bottom = bottom, top
    return left, top, right, bottom


_UNIT_SIZES: Final[dict[Scale, Size | None]] = {"fraction": (1, 1), "thousand": (1000, 1000), "pixels": None}
_SHAPES: Final[tuple[tuple[tuple[str, ...], Callable[..., Box | None]], ...]] = (
    *((names, _in_order) for names in _EDGES),
    *(((*start, *size), _with_extent) for start in _STARTS for size in _SIZES),
    *(((*centre, *size), _about) for centre in _CENTRES for size in _SIZES),
)
