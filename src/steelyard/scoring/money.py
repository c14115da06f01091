"""Ranges of money: sums read as people write them, and the scorer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from steelyard.frozen import frozen, slotted
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.numbers import LONGEST_TEXT, MULTIPLIER, NUMERAL, as_number, factor_of, read_numeral, with_cut
from steelyard.scoring.ranges import money_overlap, strict_money
from steelyard.suite.case import Case

Amounts = tuple[float, float]

_DASHES = re.compile(r"[‐‑‒–—―−~〜]|--+")

_SIGNS: Final[dict[str, tuple[str, ...]]] = {
    "us$": ("USD",), "u$s": ("USD",), "ca$": ("CAD",), "c$": ("CAD",), "a$": ("AUD",), "au$": ("AUD",),
    "nz$": ("NZD",), "hk$": ("HKD",), "s$": ("SGD",), "mx$": ("MXN",), "r$": ("BRL",), "nt$": ("TWD",),
    "$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN", "TWD", "ARS", "CLP", "COP"),
    "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "￥": ("JPY", "CNY"), "元": ("CNY",), "円": ("JPY",),
    "₹": ("INR",), "₽": ("RUB",), "₩": ("KRW",), "₺": ("TRY",), "₴": ("UAH",), "₪": ("ILS",), "zł": ("PLN",),
    "kr": ("SEK", "NOK", "DKK", "ISK"), "kč": ("CZK",), "ft": ("HUF",), "fr.": ("CHF",), "rs": ("INR", "PKR"),
    "dollar": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD"), "euro": ("EUR",), "pound": ("GBP",), "quid": ("GBP",),
    "yen": ("JPY",), "yuan": ("CNY",), "franc": ("CHF",), "rupee": ("INR",), "krona": ("SEK",),
    "kroner": ("NOK", "DKK"),
}  # fmt: skip
"""How a currency is written, to the ISO codes that may be meant."""

_CODES: Final = (
    "usd|eur|gbp|jpy|cny|rmb|inr|aud|cad|nzd|hkd|sgd|chf|sek|nok|dkk|isk|pln|czk|huf|rub|uah|try|krw|twd|thb|brl|"
    "mxn|ars|clp|cop|zar|ils|aed|sar|egp|php|idr|myr|vnd|pkr"
)
_CURRENCY = (
    "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True) if not sign.isalpha())
    + rf"|(?<![a-z])(?:{_CODES})(?![a-z])|(?<![a-z])(?:dollars?|euros?|pounds?|quid|yen|yuan|francs?|"
    r"rupees?|krona|kroner|kr|ft|rs)(?![a-z])\.?|zł|kč"
)
_JOINED = re.compile(r"\s*(?:-|to|and|through|up\s+to)\s*", re.IGNORECASE)
_ORDERED = re.compile(r"\s*(?:-|to\b|through\b|up\s+to\b)", re.IGNORECASE)
_NEGATIVE = re.compile(r"\s*-\s*[$€£¥]?\s*[\d.]")
_UPPER_LIMITS: Final = ("under", "below", "less", "up", "at most", "no more", "max", "<", "≤")


@cache
def _amount() -> re.Pattern[str]:
    """A sum of money; compiled for the first answer that is read as one, since no other pattern takes as long."""
    return re.compile(
        rf"(?P<limit>\b(?:under|below|less\s+than|up\s+to|at\s+most|no\s+more\s+than|maximum|max\.?|over|above|more\s+than|"
        rf"at\s+least|starting\s+(?:at|from)|minimum|min\.?|upwards\s+of)\b\s*(?:of\s+)?|[<>]=?\s*|[≤≥]\s*)?"
        rf"(?:(?P<before>{_CURRENCY})\s*|(?<![\w.,]))(?P<numeral>{NUMERAL})"
        rf"(?:\s?(?P<multiplier>(?:{MULTIPLIER}))(?![^\W\d]))?(?P<after>\s*(?:{_CURRENCY}))?(?P<more>\s*(?:\+|or\s+more\b|"
        rf"and\s+(?:up|above|more)\b))?(?![%\w]|\s*(?:percent|years?|inches|cm|mm|kg)\b)",
        re.IGNORECASE,
    )


@slotted
class _Sum:
    """One amount found in a text."""

    number: float
    multiplier: str | None
    codes: tuple[str, ...]
    limit: str
    more: bool
    place: tuple[int, int]

    @property
    def amount(self) -> float:
        return self.number * factor_of(self.multiplier)

    @property
    def reach(self) -> Amounts:
        if self.limit.startswith(_UPPER_LIMITS):
            return 0.0, self.amount
        if self.limit or self.more:
            return self.amount, math.inf
        return self.amount, self.amount


@frozen
class PriceReading:
    """What a text says in money: `amounts` is None when it cannot be read, and `problem` says why."""

    amounts: Amounts | None
    problem: str = ""


@lru_cache(maxsize=8192)
def read_price(text: str, currency: str | None = None) -> PriceReading:
    """Lowest and highest amount of a text; several amounts give their span, an open end is infinite.

    With a `currency`, amounts in another one do not count; nothing is ever converted.
    """
    cleaned = _DASHES.sub("-", text[:LONGEST_TEXT])
    if _NEGATIVE.match(cleaned):
        return PriceReading(None, "the amount is below zero")
    sums = [_sum(match) for match in _amount().finditer(cleaned)]
    joined = [(item, two) for item, two in pairwise(sums) if _JOINED.fullmatch(cleaned, item.place[1], two.place[0])]
    for item, two in joined:
        _share_what_is_said_once(item, two)
    if any(_ORDERED.match(cleaned, item.place[1]) and item.amount > two.amount for item, two in joined):
        return PriceReading(None, "the range runs backwards")
    priced = [result for result in sums if result.codes] or [result for result in sums if result.multiplier] or sums
    if not priced:
        return PriceReading(None, "no amount can be read")
    return _in_one_currency(priced, currency)


def _in_one_currency(sums: list[_Sum], currency: str | None) -> PriceReading:
    if currency is not None:
        stated = sums
        sums = [result for result in sums if not result.codes or currency.upper() in result.codes]
        if not sums:
            return PriceReading(None, f"the amount is in {stated[0].codes[0]}, not in {currency.upper()}")
    elif not _agree(sums):
        return PriceReading(None, "the amounts are in different currencies")
    low = min(result.reach[0] for result in sums)
    high = max(result.reach[1] for result in sums)
    return PriceReading((low, high)) if math.isfinite(low) else PriceReading(None, "the amount is too large")


def _agree(sums: list[_Sum]) -> bool:
    stated = [set(result.codes) for result in sums if result.codes]
    return not stated or bool(set.intersection(*stated))


def _sum(match: re.Match[str]) -> _Sum:
    multiplier = match["multiplier"]
    sign = (match["before"] or match["after"] or "").strip().lower()
    number = read_numeral(match["numeral"], decimal="." if multiplier and "," not in match["numeral"] else None)
    limit = (match["limit"] or "").strip().lower()
    return _Sum(number, multiplier, _codes(sign), limit, match["more"] is not None, match.span())


def _codes(sign: str) -> tuple[str, ...]:
    if not sign:
        return ()
    if sign == "rmb":
        return ("CNY",)
    if re.fullmatch(_CODES, sign):
        return (sign.upper(),)
    return _SIGNS.get(sign) or _SIGNS.get(sign.rstrip("s.")) or (sign.upper(),)


def _share_what_is_said_once(item: _Sum, two: _Sum) -> None:
    """In "$3-8k" both are thousands and both are dollars; in "$500-1k" only the second is thousands."""
    if two.multiplier and not item.multiplier and item.number < two.number:
        item.multiplier = two.multiplier
    item.codes = item.codes or two.codes
    two.codes = two.codes or item.codes


_WIDEST: Final = 10**15
_LOW_KEYS: Final = ("low", "min", "minimum", "from")
_HIGH_KEYS: Final = ("high", "max", "maximum", "to")


def read_money(value: Any, *, per_unit: float, currency: str | None) -> PriceReading:
    """The amounts of a number, a text, [low, high] or {low, high}; `per_unit` are what texts' main units come to."""
    if isinstance(value, str):
        price = read_price(value, currency)
        if price.amounts is None:
            return price
        # Rounded, because 70.99 * 100 is 7098.999999999999.
        return PriceReading((round(price.amounts[0] * per_unit, 6), round(price.amounts[1] * per_unit, 6)))
    if isinstance(value, dict):
        value = [_first(value, _LOW_KEYS), _first(value, _HIGH_KEYS)]
    if isinstance(value, (list, tuple)):
        if len(value) != 2 or any(isinstance(end, (list, tuple, dict)) for end in value):
            return PriceReading(None, "a lowest and a highest amount are needed")
        return join_money(value[0], value[1], per_unit=per_unit, currency=currency)
    number = as_number(value)
    if number is None or number < 0:
        return PriceReading(None, "no amount can be read")
    return PriceReading((number, number))


def join_money(low: Any, high: Any, *, per_unit: float, currency: str | None) -> PriceReading:
    """The amounts from the lower end of `low` to the upper end of `high`; unreadable when they run backwards."""
    first = read_money(low, per_unit=per_unit, currency=currency)
    last = read_money(high, per_unit=per_unit, currency=currency)
    if first.amounts is None or last.amounts is None:
        return first if first.amounts is None else last
    if first.amounts[0] > last.amounts[1]:
        return PriceReading(None, "the range runs backwards")
    return PriceReading((first.amounts[0], last.amounts[1]))


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
    strict: bool = Field(default=False, description="Score by the strict rule.")
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

    def stated(self, answer: Any) -> Mapping[str, Any]:
        amounts = self._estimate(answer)[1].amounts
        finite = amounts is not None and all(map(math.isfinite, amounts))
        return {"low": amounts[0], "high": amounts[1]} if finite and amounts is not None else {}

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
        low, high = self.expected_value(case, "low"), self.expected_value(case, "high")
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
        low, high = as_number(self.expected_value(case, "low")), as_number(self.expected_value(case, "high"))
        return None if low is None or high is None or not 0 <= low <= high else (low, high)

    def _estimate(self, answer: Any) -> tuple[Any, PriceReading]:
        if self.answer_low is None:
            raw = self.answer_value(answer)
            return raw, read_money(raw, per_unit=self._per_unit, currency=self.currency)
        low, high = self.answer_value(answer, "answer_low"), self.answer_value(answer, "answer_high")
        pair = [low, high]
        if type(low) is int and type(high) is int and 0 <= low <= high <= _WIDEST:
            return pair, PriceReading((low, high))  # what most answers are, without the way through words
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
