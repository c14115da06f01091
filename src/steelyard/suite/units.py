"""Changes of unit that a mapping can ask for, such as dollars to cents."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from steelyard.suite.yaml import listed, meant

_QUANTITIES: tuple[dict[str, str], ...] = (
    {"dollars": "1", "cents": "0.01"},
    {"euros": "1", "cents": "0.01"},
    {"pounds": "1", "pence": "0.01"},
    {
        "seconds": "1",
        "s": "1",
        "milliseconds": "0.001",
        "ms": "0.001",
        "minutes": "60",
        "hours": "3600",
        "days": "86400",
    },
    {"fraction": "1", "percent": "0.01"},
    {"units": "1", "thousands": "1000", "millions": "1000000", "billions": "1000000000"},
    {"m": "1", "cm": "0.01", "mm": "0.001", "km": "1000", "inches": "0.0254", "feet": "0.3048"},
    {"kg": "1", "g": "0.001", "mg": "0.000001"},
    {"bytes": "1", "kb": "1000", "mb": "1000000", "gb": "1000000000"},
)
"""Units that can be changed into one another, with their size."""
UNITS = tuple(dict.fromkeys(unit for sizes in _QUANTITIES for unit in sizes))
_MOST_DIGITS = 400


def unit_factor(text: str) -> tuple[Decimal, Decimal]:
    """What `dollars to cents` multiplies and divides by; ValueError with a sentence when it is no change of unit."""
    parts = text.lower().split()
    if len(parts) != 3 or parts[1] != "to":
        raise ValueError(f"{text!r} is not a change of unit: write it like dollars to cents")
    have, want = parts[0], parts[2]
    for sizes in _QUANTITIES:
        if have in sizes and want in sizes:
            return Decimal(sizes[have]), Decimal(sizes[want])
    for unit in (have, want):
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}{meant(unit, UNITS) or '; there are: ' + listed(UNITS)}")
    raise ValueError(f"{have} cannot be changed to {want}")


def convert(value: Any, factor: tuple[Decimal, Decimal]) -> int | float:
    """The number in the other unit, an int when it is whole; ValueError when it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("is not a number")
    try:
        number = Decimal(str(value).strip())
        if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
            raise ValueError("is not a number")
        result = number * factor[0] / factor[1]
    except (InvalidOperation, ValueError):
        raise ValueError("is not a number") from None
    return int(result) if result == result.to_integral_value() else float(result)
