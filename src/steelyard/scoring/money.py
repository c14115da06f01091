"""The scorer for a range of money."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from steelyard.scoring.amounts import as_number, with_cut
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.prices import Amounts, Price, read_price
from steelyard.scoring.ranges import money_overlap, strict_money
from steelyard.suite.case import Case

_WIDEST: Final = 10**15
_LOW_KEYS: Final = ("low", "min", "minimum", "from")
_HIGH_KEYS: Final = ("high", "max", "maximum", "to")


def read_money(value: Any, *, per_unit: float, currency: str | None) -> Price:
    """The amounts of a number, a text, [low, high] or {low, high}; `per_unit` are what texts' main units come to."""
    if isinstance(value, str):
        price = read_price(value, currency)
        if price.amounts is None:
            return price
        # Rounded, because 70.99 * 100 is 7098.999999999999.
        return Price((round(price.amounts[0] * per_unit, 6), round(price.amounts[1] * per_unit, 6)))
    if isinstance(value, dict):
        value = [_first(value, _LOW_KEYS), _first(value, _HIGH_KEYS)]
    if isinstance(value, (list, tuple)):
        if len(value) != 2 or any(isinstance(end, (list, tuple, dict)) for end in value):
            return Price(None, "a lowest and a highest amount are needed")
        return join_money(value[0], value[1], per_unit=per_unit, currency=currency)
    number = as_number(value)
    if number is None or number < 0:
        return Price(None, "no amount can be read")
    return Price((number, number))


def join_money(low: Any, high: Any, *, per_unit: float, currency: str | None) -> Price:
    """The amounts from the lower end of `low` to the upper end of `high`; unreadable when they run backwards."""
    first = read_money(low, per_unit=per_unit, currency=currency)
    last = read_money(high, per_unit=per_unit, currency=currency)
    if first.amounts is None or last.amounts is None:
        return first if first.amounts is None else last
    if first.amounts[0] > last.amounts[1]:
        return Price(None, "the range runs backwards")
    return Price((first.amounts[0], last.amounts[1]))


class MoneyRange(Scorer):
    """How an estimate of value agrees with the true range; reads sums in words ("$3k–8k", "about 1.5 million")."""

    has_strict: ClassVar[bool] = True
    answer_paths: ClassVar[tuple[str, ...]] = ("answer", "answer_low", "answer_high")
    case_paths: ClassVar[tuple[str, ...]] = ("low", "high")

    low: str = Field(description="Path to the lowest true amount in the case.")
    high: str = Field(description="Path to the highest true amount in the case.")
    unit: Literal["units", "cents"] = Field(
        default="units",
        description="What numbers are in, in the case and in the answer. Amounts in texts are in main units always.",
    )
    answer_low: str | None = Field(
        default=None, description="Path to the lowest amount, when the answer has two fields."
    )
    answer_high: str | None = Field(
        default=None, description="Path to the highest amount, when the answer has two fields."
    )
    currency: str | None = Field(
        default=None,
        pattern="^[A-Z]{3}$",
        description="ISO code of the truth's currency: an answer that states another one is unreadable. "
        "Nothing is converted.",
    )
    strict: bool = Field(default=False, description="Weigh by the strict rule.")
    max_ratio: float = Field(
        default=3.0, ge=1, allow_inf_nan=False, description="Strict rule: how many times wider than the truth is free."
    )
    min_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="Strict rule: share of the highest amount that a narrow truth counts as wide.",
    )
    reach: float = Field(
        default=2.0, gt=1, allow_inf_nan=False, description="Strict rule: how many times off earns nothing any more."
    )

    @model_validator(mode="after")
    def _both_ends(self) -> MoneyRange:
        if (self.answer_low is None) != (self.answer_high is None):
            raise ValueError("give `answer_low` and `answer_high` together, or neither")
        return self

    def read(self, answer: Any, case: Case) -> Reading:
        truth = self._truth(case)
        if truth is None:
            return UNKNOWN
        raw, price = self._estimate(answer)
        expected = _range_shown(truth, self._unit_shown)
        if price.amounts is None:
            return Reading(0.0, expected, raw, with_cut(price.problem, raw))
        value = self.compare(price.amounts, truth)
        note = "" if value == 1 else f"read as {_range_shown(price.amounts, self._unit_shown)}"
        return Reading(value, expected, raw, with_cut(note, raw))

    def compare(self, amounts: Amounts, truth: Amounts) -> float:
        """The value of an estimate against the true amounts, by the rule that is on."""
        if self.strict:
            return strict_money(*amounts, *truth, max_ratio=self.max_ratio, min_share=self.min_share, reach=self.reach)
        return money_overlap(*amounts, *truth)

    def truth(self, case: Case) -> Any:
        truth = self._truth(case)
        if truth is None:
            return None
        low, high = (amount / self._per_unit for amount in truth)
        return f"{self.currency + ' ' if self.currency else ''}{low:.2f} - {high:.2f}"

    def truth_at(self, case: Case) -> dict[str, Any]:
        truth = self._truth(case)
        if truth is None or self.answer_low is None or self.answer_high is None:
            return super().truth_at(case)
        return {self.answer_low: _plain(truth[0]), self.answer_high: _plain(truth[1])}

    def widest(self) -> Any:
        return f"0 - {_WIDEST}"

    def widest_at(self) -> dict[str, Any]:
        if self.answer_low is None or self.answer_high is None:
            return super().widest_at()
        return {self.answer_low: 0, self.answer_high: _WIDEST}

    def check(self, case: Case) -> str | None:
        low, high = self.known(case, "low"), self.known(case, "high")
        for path, other, raw, rest in ((self.low, self.high, low, high), (self.high, self.low, high, low)):
            if raw is None and rest is not None:
                return f"{path} is missing, while {other} is {rest!r}"
            if raw is not None and ((number := as_number(raw)) is None or number < 0):
                return f"{path} is {raw!r}: an amount as a number of 0 or more is needed"
        if low is not None and self._truth(case) is None:
            return f"{self.low} {low} is above {self.high} {high}"
        return None

    @property
    def _per_unit(self) -> float:
        return 100.0 if self.unit == "cents" else 1.0

    @property
    def _unit_shown(self) -> str:
        return " cents" if self.unit == "cents" else ""

    def _truth(self, case: Case) -> Amounts | None:
        low, high = as_number(self.known(case, "low")), as_number(self.known(case, "high"))
        return None if low is None or high is None or not 0 <= low <= high else (low, high)

    def _estimate(self, answer: Any) -> tuple[Any, Price]:
        if self.answer_low is None:
            raw = self.seen(answer)
            return raw, read_money(raw, per_unit=self._per_unit, currency=self.currency)
        low, high = self.seen(answer, "answer_low"), self.seen(answer, "answer_high")
        pair = [low, high]
        if type(low) is int and type(high) is int and 0 <= low <= high <= _WIDEST:
            return pair, Price((low, high))  # what most answers are, without the way through words
        return pair, join_money(*pair, per_unit=self._per_unit, currency=self.currency)


def _first(data: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((data[key] for key in keys if key in data), None)


def _plain(amount: float) -> float:
    return int(amount) if amount.is_integer() else amount


def _range_shown(amounts: Amounts, unit: str) -> str:
    low, high = amounts
    if math.isinf(high):
        return f"{low:,.0f}{unit} and above"
    decimals = 0 if low == int(low) and high == int(high) else 2
    return f"{low:,.{decimals}f} to {high:,.{decimals}f}{unit}"
