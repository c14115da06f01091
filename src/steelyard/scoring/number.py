"""The scorer for a number, with a tolerance."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from steelyard.scoring.amounts import as_number, numbers_in
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.suite.case import Case

_ROUNDING = 1e-9
"""Share of the tolerance forgiven, so that 1.1 is within 0.1 of 1."""


def near(got: float | None, expected: float, *, absolute: float, relative: float) -> float:
    """1 when the number lies within the larger of both tolerances of the truth, its edge included; else 0."""
    if got is None:
        return 0.0
    allowed = max(absolute, relative * abs(expected))
    return float(abs(got - expected) <= allowed + _ROUNDING * max(allowed, abs(expected) * 1e-3))


def the_number(value: Any, *, pick: Literal["only", "first", "last"], decimal: str) -> float | None:
    """The number a value gives; None when there is none, or several different ones and `pick` is `only`."""
    if not isinstance(value, str):
        return as_number(value)
    numbers = numbers_in(value, decimal=decimal)
    if not numbers or (pick == "only" and len(set(numbers)) > 1):
        return None
    return numbers[-1 if pick == "last" else 0]


class Number(Scorer):
    """1 when the answer's number lies within a tolerance of the truth; otherwise 0. True and false are no numbers."""

    expected: str = Field(description="Path to the true number in the case.")
    absolute: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Tolerance in the number's own unit.")
    relative: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="Tolerance as a fraction of the truth; the larger one holds.",
    )
    pick: Literal["only", "first", "last"] = Field(
        default="only",
        description="Which number of a text counts; `only` reads a text with several different numbers as unreadable.",
    )
    decimal: Literal[".", ","] = Field(
        default=".", description="The mark of decimals in texts; the other is thousands."
    )

    def read(self, answer: Any, case: Case) -> Reading:
        expected = as_number(self.known(case))
        if expected is None:
            return UNKNOWN
        raw = self.seen(answer)
        got = the_number(raw, pick=self.pick, decimal=self.decimal)
        note = "no single number can be read" if got is None else ""
        return Reading(near(got, expected, absolute=self.absolute, relative=self.relative), expected, raw, note)

    def truth(self, case: Case) -> Any:
        expected = as_number(self.known(case))
        if expected is None:
            return None
        return int(expected) if expected.is_integer() else expected

    def check(self, case: Case) -> str | None:
        expected = self.known(case)
        if expected is None or as_number(expected) is not None:
            return None
        return f"{self.expected} is {expected!r}: a number is needed"
