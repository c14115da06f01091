"""What can be said of a comparison before anything is measured, from the values that its figure can have."""

from __future__ import annotations

import math

Bounds = tuple[float, float]
"""The lowest and the highest value that a figure can have."""

ANYTHING: Bounds = (-math.inf, math.inf)


def settled_within(sign: str, limit: float, bounds: Bounds, *, whole: bool = False) -> bool | None:
    """True when every value within the bounds compares so, False when none does, None when it depends.

    `whole` when only whole numbers occur.
    """
    low, top = bounds
    reachable = low <= limit <= top and (not whole or limit.is_integer())
    always = {
        ">=": limit <= low,
        ">": limit < low,
        "<=": limit >= top,
        "<": limit > top,
        "!=": not reachable,
        "==": False,
    }
    never = {
        ">=": limit > top,
        ">": limit >= top,
        "<=": limit < low,
        "<": limit <= low,
        "!=": False,
        "==": not reachable,
    }
    return True if always[sign] else False if never[sign] else None


def in_words(bounds: Bounds) -> str:
    """The values within the bounds: between 1 and 5, 0 or more."""
    low, top = bounds
    if math.isfinite(low) and math.isfinite(top):
        return f"between {low:g} and {top:g}"
    return f"{low:g} or more" if math.isfinite(low) else f"{top:g} or less" if math.isfinite(top) else "a number"
