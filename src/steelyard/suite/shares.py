"""Shares and thresholds: fractions 0..1 however they are written."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from steelyard.suite.spelling import found, shown

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SHARE = re.compile(rf"({_NUMBER})\s*(%?)")
_PASSING = re.compile(r"score\s*>=\s*(.+)")


def share(value: Any) -> float:
    """The fraction meant by `0.75` or `75 %`; ValueError with a sentence when it is neither."""
    if isinstance(value, str) and (written := _SHARE.fullmatch(value.strip())):
        number, percent = written.groups()
        fraction = float(Decimal(number) / 100) if percent else float(number)
        return _bounded(fraction, value.strip(), bool(percent))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Numbers too large for a float are above 1 all the same.
        return _bounded(float(min(value, 10**300)), shown(value), False)
    raise ValueError(f"a share is written 0.75 or 75 %; {found(value)}")


def passing(text: Any) -> float:
    """The fraction in `score >= 75 %` (or a bare share); ValueError with a sentence when it is neither."""
    if isinstance(text, str) and (rule := _PASSING.fullmatch(text.strip())):
        return _can_fail(share(rule.group(1)))
    try:
        return _can_fail(share(text))
    except ValueError as error:
        if isinstance(text, str) and not _SHARE.fullmatch(text.strip()):
            raise ValueError(f"{shown(text)} is not a pass rule: write score >= 0.75 or score >= 75 %") from None
        raise error


def _can_fail(fraction: float) -> float:
    if fraction <= 0:
        raise ValueError("every answer, the empty one too, would pass: write a share above 0")
    return fraction


def _bounded(fraction: float, text: str, percent: bool) -> float:
    if not math.isfinite(fraction) or fraction < 0:
        raise ValueError(f"{text} is not between 0 and 1")
    if fraction > 1:
        raise ValueError(
            f"{text} is above 100 %" if percent else f"{text} is above 1: write {text} % or {_as_share(text)}"
        )
    return fraction


def _as_share(text: str) -> str:
    fraction = Decimal(text) / 100 if text[:1].isdigit() and not text.endswith(".") else Decimal(2)
    return f"{fraction.normalize():f}" if fraction <= 1 else "a fraction such as 0.75"
