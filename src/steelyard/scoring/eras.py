"""From the way people date things to a first and a last year.

Years before Christ are negative and there is no year 0: 1 BC is -1. The finest expression in a text counts: years and
decades before centuries, centuries before named periods ("Victorian, c. 1880s" is 1880 to 1889). Several of the same
kind give the span from the earliest to the latest. A range that runs backwards is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from steelyard.scoring.amounts import LONGEST_TEXT, as_number
from steelyard.scoring.periods import PERIODS

EARLIEST: Final = -9999
"""Where "before 1900" begins."""

LATEST: Final = 9999
_HUNDRED_YEARS: Final = 99

Years = tuple[int, int]

_DASHES = re.compile(r"[‐‑‒–—―−~〜]|--+")
_ORDINALS: Final = {
    "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th",
    "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th", "eleventh": "11th", "twelfth": "12th",
    "thirteenth": "13th", "fourteenth": "14th", "fifteenth": "15th", "sixteenth": "16th", "seventeenth": "17th",
    "eighteenth": "18th", "nineteenth": "19th", "twentieth": "20th", "twenty-first": "21st", "twenty first": "21st",
}  # fmt: skip
_REWRITES: Final = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\bb\.\s?c\.(?:\s?e\.?)?", "bc"),
        (r"\bbce\b", "bc"),
        (r"\s*&\s*", " and "),
        (r"^up\s+to\s+", "until "),
        (r"(?<=\d)(s?)\s+(?:until|till)\s+", r"\1-"),
        (r"\b(\d\d)(\d0)['’]?s(\s*(?:-|/|to|or|and)\s*)['’]?(\d0)['’]?s\b", r"\1\2s\3\1\4s"),
        (r"\b([ivx]{1,5})(?:th)?(?=[\s\-]+(?:century|cent\b|c\.))", lambda match: _roman(match[1])),
        (r"\ba\.\s?d\.|\bc\.\s?e\.", "ad"),
        (r"\bce\b", "ad"),
        (r"\b(twenty[- ]first|[a-z]+th|first|second|third)"
         r"(?=[\s-]+(?:century|centuries|cent|c\.|c\b|quarter|half|third|or\b|and\b|to\b|/|-))",
         lambda match: _ORDINALS.get(match[1], match[1])),
        (r"\b(?:circa|ca\.?|c\.?|about|around|approximately|approx\.?|roughly|probably|possibly|likely|perhaps|est\.?)"
         r"\s*(?=[\d'])", ""),
        (r"\b(?:the\s+)?(?:end|close)\s+of\s+(?:the\s+)?(?=\d)", "late "),
        (r"\b(?:the\s+)?(?:beginning|start|dawn)\s+of\s+(?:the\s+)?(?=\d)", "early "),
        (r"\b(?:the\s+)?middle\s+of\s+(?:the\s+)?(?=\d)", "mid "),
        (r"\bmid(?:dle)?[\s-]+(?=\d)", "mid "),
    )
)  # fmt: skip

_PART = r"(?:(?:(?:early|mid|late)\b[\s\-/]*(?:(?:to|or|and)\b[\s\-]*)?)+)"
_FRACTION = r"(?:(?P<nth>1st|2nd|3rd|4th|last|final)\s+(?P<of>half|quarter|third)(?:\s+of)?\s+(?:the\s+)?)"
_MARK = r"(?:\s*(?P<mark>bc|ad)\b)?"
_NAMES = "|".join(re.escape(name).replace(r"\ ", r"[\s\-]+") for name in sorted(PERIODS, key=len, reverse=True))
_TOKEN = re.compile(
    rf"""
      (?P<turn>\bturn\s+of\s+(?:the\s+)?(?:(?P<turned>\d{{1,2}})(?:st|nd|rd|th)\s+)?century)
    | (?P<limit>\b(?:before|pre|prior\s+to|until|earlier\s+than|after|post|later\s+than|since|from)\b
            [\s\-]*(?:the\s+)?)?
      (?:
        (?P<part>{_PART})?{_FRACTION}?(?:the\s+)?(?P<century>\d{{1,2}})(?:st|nd|rd|th)\b
            (?!\s+(?:half|quarter|third|dynasty)\b)(?P<word>[\s\-]*(?:century|centuries|cent\.?|c\.|c\b))?{_MARK}
      | (?P<dpart>{_PART})?(?:the\s+)?(?<![\d$€£,.])(?P<decade>\d{{2,3}}0)['’]?s\b(?:\s*(?P<dmark>bc|ad)\b)?
      | (?P<admark>\bad\s*)?(?<![\d$€£,.#])(?P<year>\d{{1,5}})(?![\d%]|[,.]\d|(?:st|nd|rd|th|s|cm|mm|in|kg)\b)
            (?:\s*(?P<ymark>bc|ad)\b)?(?P<onwards>\s*(?:\+|onwards?\b|or\s+later\b|and\s+later\b))?
      | (?P<present>\b(?:present|now|today|current|date)\b)
      | (?P<npart>{_PART})?\b(?P<name>{_NAMES})\b
      )
    """,
    re.VERBOSE,
)
_JOINED = re.compile(
    r"\s*(?:-|/|to(?:\s+the)?|through|thru|until|till|or|and|up\s+to)\s*(?:the\s+)?(?:c\.\s*|ca\.\s*)?", re.VERBOSE
)
_ORDERED = re.compile(r"\s*(?:-|to\b|through\b|thru\b|until\b|till\b|up\s+to\b)")
_BACKWARD_LIMITS = ("before", "pre", "prior", "until", "earlier")


def _roman(numeral: str) -> str:
    worth = {"i": 1, "v": 5, "x": 10}
    values = [worth[letter] for letter in numeral]
    return f"{sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))}th"


@dataclass(slots=True)
class _Date:
    """One dated expression found in a text; `rank` is 0 for years and decades, 1 for centuries, 2 for named periods."""

    start: int
    end: int
    rank: int
    place: tuple[int, int]
    marked: bool = True
    digits: str = ""
    is_decade: bool = False
    stray: bool = False
    """A number of one or two digits: a year only as the short end of a range."""


def read_years(value: Any, *, present: int) -> Years | None:
    """First and last year of a text, a number, a pair or an object with start and end; None when unreadable."""
    if isinstance(value, str):
        return _read_text(value, present)
    if isinstance(value, dict):
        value = (value.get("start"), value.get("end"))
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            return None
        return join_years(value[0], value[1], present=present)
    year = as_number(value)
    return (int(year), int(year)) if year is not None and EARLIEST <= year <= LATEST else None


def join_years(start: Any, end: Any, *, present: int) -> Years | None:
    """The years from the beginning of `start` to the end of `end`; None when unreadable or running backwards."""
    if isinstance(end, str) and end.strip().lower() in ("present", "now", "today", "current"):
        end = present
    if isinstance(start, (dict, list, tuple)) or isinstance(end, (dict, list, tuple)):
        return None
    first, last = read_years(start, present=present), read_years(end, present=present)
    if first is None or last is None or first[0] > last[1]:
        return None
    return first[0], last[1]


@lru_cache(maxsize=8192)
def _read_text(text: str, present: int) -> Years | None:
    cleaned = _DASHES.sub("-", text[:LONGEST_TEXT].lower()).strip()
    for pattern, to in _REWRITES:
        cleaned = pattern.sub(to, cleaned)
    dates = _settled(list(_dates(cleaned, present)), cleaned)
    if not dates:
        return None
    groups = _groups(dates, cleaned)
    finest = min(min(date.rank for date in group) for group in groups)
    chosen = [date for group in groups if min(d.rank for d in group) == finest for date in group]
    start, end = min(date.start for date in chosen), max(date.end for date in chosen)
    return (start, end) if start <= end <= LATEST else None


def _dates(text: str, present: int) -> Iterator[_Date]:
    lone_numbers = re.fullmatch(
        r"[\d\s\-/'s]*(?:\b(?:to|and|bc|ad|present|between|from|early|mid|late)\b[\d\s\-/'s]*)*", text
    )
    centuries = re.search(r"(?:st|nd|rd|th)[\s\-]*(?:century|centuries|cent\b|c\.|c\b)", text) is not None
    for match in _TOKEN.finditer(text):
        date = _date(match, present, any_number=lone_numbers is not None, centuries=centuries)
        if date is not None:
            limit = (match["limit"] or "").split("-")[0].strip()
            yield _limited(date, limit, match["onwards"] is not None, present)


def _date(match: re.Match[str], present: int, *, any_number: bool, centuries: bool) -> _Date | None:
    if match["turn"]:
        year = 100 * (int(match["turned"]) - 1) if match["turned"] else 1900
        return _Date(year - 10, year + 10, 1, match.span())
    if match["century"]:
        return _century(match) if centuries else None
    if match["decade"]:
        return _decade(match)
    if match["year"]:
        return _year(match, any_number=any_number)
    if match["present"]:
        return _Date(present, present, 0, match.span())
    start, end = PERIODS[re.sub(r"[\s\-]+", " ", match["name"])]
    return _Date(*_share(start, end, match["npart"], None, None), 2, match.span())


def _century(match: re.Match[str]) -> _Date | None:
    number = int(match["century"])
    if not 1 <= number <= 30:
        return None
    start, end = 100 * number - 99, 100 * number
    if match["mark"] == "bc":
        start, end = -end, -start
    start, end = _share(start, end, match["part"], match["nth"], match["of"])
    return _Date(start, end, 1, match.span(), marked=match["mark"] is not None)


def _decade(match: re.Match[str]) -> _Date:
    first = int(match["decade"])
    # 1800s are the century, 1810s the decade; of 2000s most people mean the decade.
    length = 100 if first % 100 == 0 and first < 2000 else 10
    start, end = first, first + length - 1
    if match["dmark"] == "bc":
        start, end = -end, -start
    start, end = _share(start, end, match["dpart"], None, None)
    return _Date(start, end, 0, match.span(), marked=match["dmark"] is not None, is_decade=length == 10)


def _year(match: re.Match[str], *, any_number: bool) -> _Date | None:
    digits, mark = match["year"], match["ymark"] or match["admark"]
    year = -int(digits) if match["ymark"] == "bc" else int(digits)
    short = len(digits) <= 2 and not mark
    if not (mark or any_number or short or 1000 <= year <= 2999):
        return None
    stray = short and not any_number
    return _Date(year, year, 0, match.span(), marked=mark is not None, digits=digits, stray=stray)


def _share(start: int, end: int, part: str | None, nth: str | None, of: str | None) -> Years:
    """The named thirds, half or quarter of a span of years; the last one takes the rest of the division."""
    if nth and of:
        count = {"half": 2, "third": 3, "quarter": 4}[of]
        index = count - 1 if nth in ("last", "final") else min(int(nth[0]), count) - 1
        return _slice(start, end, index, index, count)
    named = [index for index, name in enumerate(("early", "mid", "late")) if part and name in part]
    return _slice(start, end, named[0], named[-1], 3) if named else (start, end)


def _slice(start: int, end: int, first: int, last: int, count: int) -> Years:
    length = end - start + 1
    return start + length * first // count, start + length * (last + 1) // count - 1


def _limited(date: _Date, limit: str, onwards: bool, present: int) -> _Date:
    if limit.startswith(_BACKWARD_LIMITS):
        date.start, date.end = EARLIEST, date.start - 1
    elif limit.startswith(("after", "post", "later")):
        date.start, date.end = date.end + 1, max(present, date.end + 1)
    elif limit == "since" or onwards:
        date.end = max(present, date.end)
    return date


def _settled(dates: list[_Date], text: str) -> list[_Date] | None:
    """The dates with shortened ends and shared BC marks given their meaning; None when a range runs backwards."""
    joined = [
        (before, after) for before, after in pairwise(dates) if _JOINED.fullmatch(text, before.place[1], after.place[0])
    ]
    for before, after in reversed(joined):
        if after.end < 0 < before.start and not before.marked and before.rank == after.rank:
            before.start, before.end = -before.end, -before.start
    for before, after in joined:
        if 0 < len(after.digits) <= 2 and not after.marked and len(before.digits) >= 3 and before.start > 0:
            power = 10 ** len(after.digits)
            after.start = after.end = before.start - before.start % power + after.start
            after.stray = False
        for one, other in ((before, after), (after, before)):
            if one.is_decade and other.rank == 0 and other.end - other.start == _HUNDRED_YEARS:
                other.end = other.start + 9  # beside another decade, 1900s is one too
        if _ORDERED.match(text, before.place[1]) and after.end < before.start:
            return None
    return [date for date in dates if not date.stray]


def _groups(dates: list[_Date], text: str) -> list[list[_Date]]:
    """Dates joined by a dash, "to" or the like belong together, whatever their kind."""
    groups = [[dates[0]]]
    for before, after in pairwise(dates):
        if _JOINED.fullmatch(text, before.place[1], after.place[0]):
            groups[-1].append(after)
        else:
            groups.append([after])
    return groups
