"""How metrics are measured, and how a number with its unit, or a difference, is read as text."""

from __future__ import annotations

import math
import re
from dataclasses import field
from decimal import Decimal

from steelyard.frozen import frozen
from steelyard.metrics.registry import Metric


@frozen
class Unit:
    """How a metric is measured: its bounds, and what each unit written behind a number, or a difference, is worth."""

    low: float
    high: float
    numbers: dict[str, str] = field(default_factory=lambda: {"": "1"})
    differences: dict[str, str] = field(default_factory=lambda: {"": "1"})
    whole: bool = False


_POINTS = {"points": "0.01", "point": "0.01"}
_SECONDS = {"s": "1", "ms": "0.001", "": "1"}
_SHARE = Unit(0.0, 1.0, {"%": "0.01", "": "1"}, _POINTS)
UNITS = {
    "share": _SHARE,
    "score": _SHARE,
    "points": Unit(-math.inf, math.inf, differences={"points": "1", "point": "1", "": "1"}),
    "count": Unit(0.0, math.inf, whole=True),
    "tokens": Unit(0.0, math.inf, whole=True),
    "cost": Unit(0.0, math.inf),
    "s": Unit(0.0, math.inf, _SECONDS, _SECONDS),
    "kappa": Unit(-1.0, 1.0),
    "alpha": Unit(-math.inf, 1.0),
    "size": Unit(0.0, 1.0),
    "number": Unit(-math.inf, math.inf),
}
NUMBER_PATTERN = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?"
UNIT_PATTERN = r"%|points?\b|ms\b|s\b"
_AMOUNT = re.compile(rf"\s*\+?(?P<number>{NUMBER_PATTERN})\s*(?P<unit>{UNIT_PATTERN})?\s*")


def read_number(number: str, written: str, metric: Metric) -> float:
    """The threshold that a number with its unit says, in the measure of the metric: `90` `%` is 0.9."""
    unit, amount = UNITS[metric.unit], _finite(number)
    if written not in unit.numbers:
        units = ", ".join(sorted(filter(None, unit.numbers)))
        fit = f"allowed: {units}" if units else "it takes a plain number"
        raise ValueError(f"{metric.name} is not measured in {written}; {fit}")
    if amount < 0 and unit.low == 0:
        raise ValueError(f"{amount} is below 0, which {metric.name} never is")
    if written == "%" and amount > 100:
        raise ValueError(f"{amount} % is above 100 %, which {metric.name} never is")
    if "%" in unit.numbers and not written and amount > 1:
        raise ValueError(f"{amount} is above 1: write {amount} % or {amount / 100}")
    return float(amount * Decimal(unit.numbers[written]))


def read_difference(text: str, unit: str, what: str) -> float:
    """The difference that a text says, in that unit: `3 points` of a share are 0.03, `200 ms` are 0.2."""
    allowed = UNITS[unit].differences
    amount = _AMOUNT.fullmatch(text)
    if amount is None or (amount["unit"] or "") not in allowed:
        number = "3" if amount is None else amount["number"]
        write = " or ".join(f"{number} {word}".strip() for word in allowed if word != "point")
        raise ValueError(f"{text.strip()} is unclear for {what}: write {write}")
    return float(_finite(amount["number"]) * Decimal(allowed[amount["unit"] or ""]))


def _finite(number: str) -> Decimal:
    if not math.isfinite(float(number)):
        raise ValueError(f"{number} is beyond every number that can be measured")
    return Decimal(number)
