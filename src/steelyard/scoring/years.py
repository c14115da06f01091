"""From the way people date things to a first and a last year, and the scorer of years."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Final

from pydantic import Field, model_validator

from steelyard.frozen import slotted
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.numbers import LONGEST_TEXT, as_number, with_cut
from steelyard.scoring.periods import PERIODS
from steelyard.scoring.ranges import strict_years, years_overlap
from steelyard.suite.case import Case

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


@slotted
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
        for item, other in ((before, after), (after, before)):
            if item.is_decade and other.rank == 0 and other.end - other.start == _HUNDRED_YEARS:
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


DEFAULT_PRESENT: Final = 2026
"""What "present" means unless a suite says otherwise: fixed, so that a reading never depends on the clock."""


class YearRange(Scorer):
    """How much of the true range of years the answer covers; reads dates in words ("late 19th century", "c. 1920s")."""

    has_strict: ClassVar[bool] = True
    answer_paths: ClassVar[tuple[str, ...]] = ("answer", "answer_start", "answer_end")
    case_paths: ClassVar[tuple[str, ...]] = ("start", "end", "expected")

    start: str | None = Field(default=None, description="Path to the first true year in the case.")
    end: str | None = Field(default=None, description="Path to the last true year in the case.")
    expected: str | None = Field(
        default=None, description="Path to the true range instead: a text, a year, [start, end] or {start, end}."
    )
    answer_start: str | None = Field(
        default=None, description="Path to the first year, when the answer has two fields."
    )
    answer_end: str | None = Field(default=None, description="Path to the last year, when the answer has two fields.")
    present: int = Field(default=DEFAULT_PRESENT, description='The year that "present" stands for.')
    strict: bool = Field(default=False, description="Score by the strict rule.")
    max_ratio: float = Field(
        default=3.0, ge=1, allow_inf_nan=False, description="Strict rule: how many times wider than the truth is free."
    )
    min_width: float = Field(
        default=10.0, gt=0, allow_inf_nan=False, description="Strict rule: years that a narrower truth counts as wide."
    )

    @model_validator(mode="after")
    def _one_truth(self) -> YearRange:
        if (self.start is None) != (self.end is None) or (self.start is None) == (self.expected is None):
            raise ValueError("give `start` and `end`, or `expected`")
        if (self.answer_start is None) != (self.answer_end is None):
            raise ValueError("give `answer_start` and `answer_end` together, or neither")
        return self

    def read(self, answer: Any, case: Case) -> Reading:
        truth = self._truth(case)
        if truth is None:
            return UNKNOWN
        raw, years = self._estimate(answer)
        expected = f"{truth[0]} to {truth[1]}"
        if years is None:
            return Reading(0.0, expected, raw, with_cut("no years can be read", raw))
        value = self.compare(years, truth)
        note = "" if value == 1 else f"read as {years[0]} to {years[1]}"
        return Reading(value, expected, raw, with_cut(note, raw))

    def stated(self, answer: Any) -> Mapping[str, Any]:
        years = self._estimate(answer)[1] if self.start and self.end else None
        return {} if years is None else {"start": years[0], "end": years[1]}

    def compare(self, years: Years, truth: Years) -> float:
        """The value of an estimate against the true years, by the rule that is on."""
        if self.strict:
            return strict_years(*years, *truth, max_ratio=self.max_ratio, min_width=self.min_width)
        return years_overlap(*years, *truth)

    def truth(self, case: Case) -> Any:
        truth = self._truth(case)
        return None if truth is None else _written(*truth)

    def truth_at(self, case: Case) -> dict[str, Any]:
        truth = self._truth(case)
        if truth is None or self.answer_start is None or self.answer_end is None:
            return super().truth_at(case)
        return {self.answer_start: truth[0], self.answer_end: truth[1]}

    def widest(self) -> Any:
        return _written(EARLIEST, LATEST)

    def widest_at(self) -> dict[str, Any]:
        if self.answer_start is None or self.answer_end is None:
            return super().widest_at()
        return {self.answer_start: EARLIEST, self.answer_end: LATEST}

    def check(self, case: Case) -> str | None:
        if self.expected is not None:
            raw = self.expected_value(case)
            if raw is None or read_years(raw, present=self.present) is not None:
                return None
            return f"{self.expected} is {raw!r}: no range of years from an earlier to a later one can be read"
        start, end = self.expected_value(case, "start"), self.expected_value(case, "end")
        for path, other, raw, rest in ((self.start, self.end, start, end), (self.end, self.start, end, start)):
            if raw is None and rest is not None:
                return f"{path} is missing, while {other} is {rest!r}"
            if raw is not None and as_number(raw) is None:
                return f"{path} is {raw!r}: a year as a number is needed"
        if self._truth(case) is None and start is not None:
            return f"{self.start} {start} is above {self.end} {end}"
        return None

    def _truth(self, case: Case) -> Years | None:
        if self.expected is not None:
            return read_years(self.expected_value(case), present=self.present)
        start, end = as_number(self.expected_value(case, "start")), as_number(self.expected_value(case, "end"))
        return None if start is None or end is None or start > end else (int(start), int(end))

    def _estimate(self, answer: Any) -> tuple[Any, Years | None]:
        if self.answer_start is None:
            raw = self.answer_value(answer)
            return raw, read_years(raw, present=self.present)
        pair = [self.answer_value(answer, "answer_start"), self.answer_value(answer, "answer_end")]
        return pair, join_years(*pair, present=self.present)


def _written(start: int, end: int) -> str:
    if start < 0:
        return f"{-start} BC to {f'{-end} BC' if end < 0 else f'AD {end}'}"
    return f"{start}-{end}"
