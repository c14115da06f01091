"""Scorers of numbers and price ranges, and amounts read from text."""

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
from steelyard.suite.case import Case

# How two ranges agree: the published formulas as written, and the strict rule beside them.

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


# Numbers as people write them: 1,200 · 1.200,50 · 1 200 · 3k · 1.5 million.

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


# The scorer for a number, with a tolerance.

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


# From the way people write sums of money to a lowest and a highest amount, in main units (dollars, not cents).

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
class Price:
    """What a text says in money: `amounts` is None when it cannot be read, and `problem` says why."""

    amounts: Amounts | None
    problem: str = ""


@lru_cache(maxsize=8192)
def read_price(text: str, currency: str | None = None) -> Price:
    """Lowest and highest amount of a text; several amounts give their span, an open end is infinite.

    With a `currency`, amounts in another one do not count; nothing is ever converted.
    """
    cleaned = _DASHES.sub("-", text[:LONGEST_TEXT])
    if _NEGATIVE.match(cleaned):
        return Price(None, "the amount is below zero")
    sums = [_sum(match) for match in _amount().finditer(cleaned)]
    joined = [(item, two) for item, two in pairwise(sums) if _JOINED.fullmatch(cleaned, item.place[1], two.place[0])]
    for item, two in joined:
        _share_what_is_said_once(item, two)
    if any(_ORDERED.match(cleaned, item.place[1]) and item.amount > two.amount for item, two in joined):
        return Price(None, "the range runs backwards")
    priced = [result for result in sums if result.codes] or [result for result in sums if result.multiplier] or sums
    if not priced:
        return Price(None, "no amount can be read")
    return _in_one_currency(priced, currency)


def _in_one_currency(sums: list[_Sum], currency: str | None) -> Price:
    if currency is not None:
        stated = sums
        sums = [result for result in sums if not result.codes or currency.upper() in result.codes]
        if not sums:
            return Price(None, f"the amount is in {stated[0].codes[0]}, not in {currency.upper()}")
    elif not _agree(sums):
        return Price(None, "the amounts are in different currencies")
    low = min(result.reach[0] for result in sums)
    high = max(result.reach[1] for result in sums)
    return Price((low, high)) if math.isfinite(low) else Price(None, "the amount is too large")


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


# The scorer for a range of money.

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

    def _estimate(self, answer: Any) -> tuple[Any, Price]:
        if self.answer_low is None:
            raw = self.answer_value(answer)
            return raw, read_money(raw, per_unit=self._per_unit, currency=self.currency)
        low, high = self.answer_value(answer, "answer_low"), self.answer_value(answer, "answer_high")
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
