"""How two ranges agree: the published formulas as written, and the strict rule."""

from __future__ import annotations

import math
from typing import Final

TOUCHING: Final = 0.25
"""Strict rule: what an estimate earns that just touches the truth; misses fade out below it, overlap counts above."""


def years_overlap(start: float, end: float, true_start: float, true_end: float) -> float:
    """The published era formula: the part of the true range that the answer covers.

    Defined beyond it: a truth of a single year is met by containing it.
    """
    if true_start == true_end:
        return float(start <= true_start <= end)
    overlap = min(end, true_end) - max(start, true_start)
    return min(1.0, max(0.0, overlap / (true_end - true_start)))


def money_overlap(low: float, high: float, true_low: float, true_high: float) -> float:
    """The published value formula, its oddities kept: ranges that touch earn 0, and a cent apart almost 1.

    Defined beyond it: when the truth is 0, only containing it earns anything.
    """
    if low <= true_low and high >= true_high:
        return 1.0
    overlap_low, overlap_high = max(low, true_low), min(high, true_high)
    if overlap_low <= overlap_high:
        return min(1.0, max(0.0, (overlap_high - overlap_low) / (true_high - true_low)))
    if true_high <= 0:
        return 0.0
    distance = overlap_low - true_high if overlap_low > true_high else true_low - overlap_high
    return min(1.0, max(0.0, 1.0 - distance / true_high))


def width_share(width: float, true_width: float, *, max_ratio: float) -> float:
    """1 for an estimate up to `max_ratio` times as wide as the truth; beyond, it shrinks in proportion to the width."""
    allowed = max_ratio * true_width
    return 1.0 if width <= allowed else allowed / width


def strict_years(
    start: float, end: float, true_start: float, true_end: float, *, max_ratio: float, min_width: float
) -> float:
    """The strict rule for years: it rises without a jump as a gap closes and the overlap grows; over-wide loses.

    `min_width` is the width that a narrower truth is taken to have, for the width allowed and the reach of misses.
    """
    scale = max(true_end - true_start, min_width)
    gap = max(0.0, start - true_end, true_start - end)
    nearness = max(0.0, 1.0 - gap / scale)
    base = _joined(nearness, start, end, true_start, true_end)
    return base * width_share(end - start, scale, max_ratio=max_ratio)


def strict_money(
    low: float, high: float, true_low: float, true_high: float, *, max_ratio: float, min_share: float, reach: float
) -> float:
    """The strict rule for amounts: as for years, but a miss is measured as a ratio and fades out at `reach` times off.

    `min_share` of the true upper end is the width that a narrower truth is taken to have.
    """
    scale = max(true_high - true_low, min_share * true_high)
    if low > true_high:
        ratio = low / true_high if true_high > 0 else math.inf
    elif high < true_low:
        ratio = true_low / high if high > 0 else math.inf
    else:
        ratio = 1.0
    nearness = max(0.0, 1.0 - math.log(ratio) / math.log(reach))
    base = _joined(nearness, low, high, true_low, true_high)
    return base * width_share(high - low, scale, max_ratio=max_ratio)


def _joined(nearness: float, low: float, high: float, true_low: float, true_high: float) -> float:
    """Up to TOUCHING for a miss, by nearness; from there to 1 by the part of the truth covered."""
    if nearness < 1.0:
        return TOUCHING * nearness
    if true_low == true_high:
        return 1.0
    covered = (min(high, true_high) - max(low, true_low)) / (true_high - true_low)
    return TOUCHING + (1.0 - TOUCHING) * min(1.0, max(0.0, covered))
