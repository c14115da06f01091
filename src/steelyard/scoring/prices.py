"""From the way people write sums of money to a lowest and a highest amount, in main units (dollars, not cents)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from steelyard.scoring.amounts import LONGEST_TEXT, MULTIPLIER, NUMERAL, factor_of, read_numeral

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
_AMOUNT = re.compile(
    rf"(?P<limit>\b(?:under|below|less\s+than|up\s+to|at\s+most|no\s+more\s+than|maximum|max\.?|over|above|more\s+than|"
    rf"at\s+least|starting\s+(?:at|from)|minimum|min\.?|upwards\s+of)\b\s*(?:of\s+)?|[<>]=?\s*|[≤≥]\s*)?"
    rf"(?:(?P<before>{_CURRENCY})\s*|(?<![\w.,]))(?P<numeral>{NUMERAL})"
    rf"(?:\s?(?P<multiplier>(?:{MULTIPLIER}))(?![^\W\d]))?(?P<after>\s*(?:{_CURRENCY}))?(?P<more>\s*(?:\+|or\s+more\b|"
    rf"and\s+(?:up|above|more)\b))?(?![%\w]|\s*(?:percent|years?|inches|cm|mm|kg)\b)",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(?:-|to|and|through|up\s+to)\s*", re.IGNORECASE)
_ORDERED = re.compile(r"\s*(?:-|to\b|through\b|up\s+to\b)", re.IGNORECASE)
_NEGATIVE = re.compile(r"\s*-\s*[$€£¥]?\s*[\d.]")
_UPPER_LIMITS: Final = ("under", "below", "less", "up", "at most", "no more", "max", "<", "≤")


@dataclass(slots=True)
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


@dataclass(frozen=True, slots=True)
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
    sums = [_sum(match) for match in _AMOUNT.finditer(cleaned)]
    joined = [(one, two) for one, two in pairwise(sums) if _JOINED.fullmatch(cleaned, one.place[1], two.place[0])]
    for one, two in joined:
        _share_what_is_said_once(one, two)
    if any(_ORDERED.match(cleaned, one.place[1]) and one.amount > two.amount for one, two in joined):
        return Price(None, "the range runs backwards")
    priced = [found for found in sums if found.codes] or [found for found in sums if found.multiplier] or sums
    if not priced:
        return Price(None, "no amount can be read")
    return _in_one_currency(priced, currency)


def _in_one_currency(sums: list[_Sum], currency: str | None) -> Price:
    if currency is not None:
        stated = sums
        sums = [found for found in sums if not found.codes or currency.upper() in found.codes]
        if not sums:
            return Price(None, f"the amount is in {stated[0].codes[0]}, not in {currency.upper()}")
    elif not _agree(sums):
        return Price(None, "the amounts are in different currencies")
    low = min(found.reach[0] for found in sums)
    high = max(found.reach[1] for found in sums)
    return Price((low, high)) if math.isfinite(low) else Price(None, "the amount is too large")


def _agree(sums: list[_Sum]) -> bool:
    stated = [set(found.codes) for found in sums if found.codes]
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


def _share_what_is_said_once(one: _Sum, two: _Sum) -> None:
    """In "$3-8k" both are thousands and both are dollars; in "$500-1k" only the second is thousands."""
    if two.multiplier and not one.multiplier and one.number < two.number:
        one.multiplier = two.multiplier
    one.codes = one.codes or two.codes
    two.codes = two.codes or one.codes
