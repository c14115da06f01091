"""Numbers as people write them, and the scorer of a number."""

from __future__ import annotations

import math
import re
from typing import Any, Final, Literal

from pydantic import Field

from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.suite.case import Case

NUMERAL: Final = r"\d{1,3}(?:[ ,.'’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?|[.,]\d+"
"""A numeral without sign: digits with separators of thousands and a decimal mark."""

LONGEST_TEXT: Final = 400
"""Characters of a text in which dates or prices are looked for: the patterns are slow, and more is an essay."""

MULTIPLIER: Final = r"thousand|grand|million|billion|trillion|mill?|mln|mio|mrd|bln|mn|bn|mm|[kmb]"
_FACTOR: Final = {
    "k": 1e3, "thousand": 1e3, "grand": 1e3,
    "m": 1e6, "mm": 1e6, "mn": 1e6, "mil": 1e6, "mill": 1e6, "mln": 1e6, "mio": 1e6, "million": 1e6,
    "b": 1e9, "bn": 1e9, "bln": 1e9, "mrd": 1e9, "billion": 1e9,
    "trillion": 1e12,
}  # fmt: skip

_THOUSANDS_MARK = re.compile(r"[ '’\u00a0\u2009\u202f]")
_PLAIN = re.compile(r"[+\-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?")
_IN_TEXT = re.compile(
    rf"(?<![\w.,])(?P<sign>[-−+](?=[\d.,]))?(?P<numeral>\d+(?:\.\d+)?[eE][+\-]?\d+|{NUMERAL})"
    rf"(?:\s?(?P<multiplier>(?:{MULTIPLIER})))?(?![\w])(?!\.\d)",
    re.IGNORECASE,
)


def as_number(value: Any) -> float | None:
    """A finite number out of a JSON number or a plain numeral ("-12.5"); None for anything else, booleans included."""
    kind = type(value)
    if kind is str:
        if not _PLAIN.fullmatch(value.strip()):
            return None
        value = value.strip().replace("−", "-")
    elif kind is not int and kind is not float:
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def with_cut(note: str, raw: Any) -> str:
    """The note on what was read, and that it is not the whole text where it is not."""
    ends = raw if isinstance(raw, list) else [raw]
    if all(not isinstance(end, str) or len(end) <= LONGEST_TEXT for end in ends):
        return note
    return f"{note}{'; ' if note else ''}only the first {LONGEST_TEXT} characters were looked at"


def read_numeral(numeral: str, *, decimal: str | None) -> float:
    """The number that digits with separators mean.

    `decimal` is the mark of decimals where one alone is ambiguous ("1.200"); None decides as prices are written: a
    single mark before exactly three digits separates thousands, unless nothing but a zero stands before it.
    """
    digits = _THOUSANDS_MARK.sub("", numeral)
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma < 0 and point < 0:
        return float(digits)
    if comma >= 0 and point >= 0:
        mark = "," if comma > point else "."
    else:
        mark = "," if comma >= 0 else "."
        if digits.count(mark) > 1 or _separates_thousands(digits, mark, decimal):
            return float(digits.replace(mark, ""))
    whole, _, part = digits.rpartition(mark)
    return float(f"{whole.replace(',', '').replace('.', '')}.{part}")


def factor_of(multiplier: str | None) -> float:
    """What a word or letter such as "k" or "million" multiplies by; 1 for none."""
    return _FACTOR[multiplier.lower()] if multiplier else 1.0


def numbers_in(text: str, *, decimal: str = ".") -> list[float]:
    """All numbers that stand in the text, in order."""
    results: list[float] = []
    for match in _IN_TEXT.finditer(text):
        numeral = match["numeral"]
        number = float(numeral) if "e" in numeral.lower() else read_numeral(numeral, decimal=decimal)
        number *= factor_of(match["multiplier"])
        if math.isfinite(number):
            results.append(-number if match["sign"] in ("-", "−") else number)
    return results


def _separates_thousands(digits: str, mark: str, decimal: str | None) -> bool:
    before, _, after = digits.partition(mark)
    if len(after) != 3 or not before or not before.strip("0"):
        return False
    return mark != decimal


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
        expected = as_number(self.expected_value(case))
        if expected is None:
            return UNKNOWN
        raw = self.answer_value(answer)
        got = the_number(raw, pick=self.pick, decimal=self.decimal)
        note = "no single number can be read" if got is None else ""
        return Reading(near(got, expected, absolute=self.absolute, relative=self.relative), expected, raw, note)

    def truth(self, case: Case) -> Any:
        expected = as_number(self.expected_value(case))
        if expected is None:
            return None
        return int(expected) if expected.is_integer() else expected

    def check(self, case: Case) -> str | None:
        expected = self.expected_value(case)
        if expected is None or as_number(expected) is not None:
            return None
        return f"{self.expected} is {expected!r}: a number is needed"
