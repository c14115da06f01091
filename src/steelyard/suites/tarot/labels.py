"""Headings, bold spans and labels of a text, and what stands around a name: upright, reversed, compared with."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

_LABEL: Final = re.compile(
    r"""
      ^[ \t>]*\#{1,6}[ \t]+(?P<heading>[^\n]+)$
    | ^\|(?P<row>[^\n]+)\|[ \t]*$
    | ^(?P<lead>[ \t>]*(?:(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+)?)(?P<bold>(?:\*\*|__)(?!\s)[^\n*]{1,90}?(?:\*\*|__):?)
    | ^[ \t>]*(?:(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+)?(?P<before>[^\s:.!?|*][^:.!?\n|]{0,70}):(?=[\s*_])
    | ^[ \t>]*(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+(?P<item>[^\n]{1,60})$
    | <(?:b|strong|h[1-6])>(?P<html>[^<\n]{1,90})<
    """,
    re.VERBOSE | re.MULTILINE,
)
_BOLD_INSIDE: Final = re.compile(r"(?:\*\*|__)([^\n*]{1,90}?)(?:\*\*|__)")
_AFTER_COLON: Final = re.compile(r"[\s*_]*([^\n]{1,60})$", re.MULTILINE)

_SEPARATOR: Final = r"[:|()\[\]/→>•·*_#]|[–—]|\s-\s|\.\s|\n"
_NOISE: Final = (
    r"(?:the|your|card|cards|no|number|position|tarot|reversed|upright|inverted|rx|r|first|second|third|fourth|fifth|"
    r"sixth|seventh|eighth|ninth|tenth|\d{1,2}|[ivx]{1,5})\b[.)]?"
)
_PLACE: Final = (
    r"(?:in|as|for|at)\s+(?:the\s+|your\s+)?(?:[\w-]+\s+){0,3}(?:position|place|past|present|future|outcome|card)\b"
)
_CLEAN_BEFORE: Final = re.compile(rf"(?:^|{_SEPARATOR}|(?<=\s)and\s)[\s\"',]*(?:{_NOISE}[\s\"',]*)*$", re.IGNORECASE)
_CLEAN_AFTER: Final = re.compile(
    rf"[\s\"']*,?[\s\"']*(?:{_NOISE}[\s\"']*,?[\s\"']*)*(?:{_PLACE}\s*)?(?:$|{_SEPARATOR})", re.IGNORECASE
)
_WEAKNESS: Final = re.compile(r"^[\s#>*_\d.)-]*(?:\W*)weakness(?:es)?\b", re.IGNORECASE | re.MULTILINE)


_TITLE_WORD: Final = re.compile(r"[A-Za-z']+")
_LONGEST_TITLE: Final = 160


@dataclass(frozen=True, slots=True)
class ReadingLabel:
    """A stretch of text that is a heading or a label.

    In a `strong` one small letters may be a name too; in a `weak` one, an item of a list, only a name that is drawn or
    has its article: lists of good qualities are common.
    """

    start: int
    end: int
    strength: Literal["strong", "fair", "weak"]


class ReadingLabels:
    """All labels of a text, found when they are first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _labels(self) -> list[ReadingLabel]:
        return sorted([*self._at_line_starts(), *self._inside_lines()], key=lambda label: label.start)

    @cached_property
    def _starts(self) -> list[int]:
        return [label.start for label in self._labels]

    @cached_property
    def _has_weaknesses(self) -> bool:
        return _WEAKNESS.search(self._text) is not None

    def _at_line_starts(self) -> list[ReadingLabel]:
        labels = []
        for match in _LABEL.finditer(self._text):
            kind = match.lastgroup or "item"
            start, end = match.span(kind)
            labels.append(ReadingLabel(start, end, "weak" if kind in ("item", "row") else "strong"))
            if kind in ("before", "bold") and (rest := _AFTER_COLON.match(self._text, match.end())):
                labels.append(ReadingLabel(rest.start(1), rest.end(1), "fair"))
        return labels

    def _inside_lines(self) -> list[ReadingLabel]:
        return [ReadingLabel(*match.span(1), "fair") for match in _BOLD_INSIDE.finditer(self._text)]

    def names(self, start: int, end: int, *, drawn: bool, has_article: bool) -> bool:
        """True when a label says this name and, besides it, only numbers, places and orientations."""
        text = self._text
        for at in range(bisect_right(self._starts, start) - 1, -1, -1):
            label = self._labels[at]
            if start - label.start > 120:
                return False
            if label.end < end or not (label.strength == "strong" or text[start].isupper()):
                continue
            if label.strength == "weak" and not (drawn or has_article):
                continue
            if _CLEAN_BEFORE.search(text[label.start : start]) and _CLEAN_AFTER.match(text[end : label.end]):
                return drawn or not self._lists_strengths(start, end)
        return False

    def _lists_strengths(self, start: int, end: int) -> bool:
        """True for "Strength" beside "Weakness": a label of every list of pros and cons."""
        return self._text[start:end].lower() == "strength" and self._has_weaknesses


def is_title(text: str, at: int) -> bool:
    """True when the line at that place is written with capitals throughout, as titles are."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    if len(line) >= _LONGEST_TITLE:
        return False
    words = [word for word in _TITLE_WORD.findall(line) if len(word) > 3]
    capital = sum(word[0].isupper() for word in words)
    return len(words) >= 3 and capital >= 0.8 * len(words)


Orientation = Literal["upright", "reversed"]

_REVERSED: Final = (
    r"(?:reversed|inverted|upside[\s-]down|ill-dignified|Rx|in\s+(?:its\s+)?revers(?:e|al)|in\s+its\s+reversed)\b"
)
_UPRIGHT: Final = r"(?:upright|in\s+its\s+upright)\b"
_LINK: Final = (
    r"[*_]*(?:'s)?(?:[\s*_,:–—|(\[-]|\b(?:card|is|was|here|now|appears|appearing|arrives|lands|landed|sits|falls"
    r"|comes|came|"
    r"drawn|shows|turned|turns|up|in|the|your|\w+\s+position)\b)*?"
)
_AFTER: Final = re.compile(rf"{_LINK}(?:(?P<reversed>{_REVERSED}|\(R\))|(?P<upright>{_UPRIGHT}))", re.IGNORECASE)
_BEFORE: Final = re.compile(
    r"\b(?:(?P<reversed>reversed|inverted|upside[\s-]down)|(?P<upright>upright))[\s*_]+(?:the\s+)?$", re.IGNORECASE
)
_DOUBT: Final = re.compile(
    r"\b(?:if|when|were|had|would|whether|unless|not|isn't|never|rather\s+than|instead|than)\b", re.IGNORECASE
)

_COMPARING: Final = (
    r"unlike|rather than|instead of|compared (?:to|with)|in contrast (?:to|with)|(?:as )?opposed to",
    r"(?:if|had) (?:you|this|it|we) (?:(?:had|have) )?(?:been|drawn|pulled|drew)(?: (?:been|instead))?",
    r"(?:if|were|was) (?:this|it|that)(?: (?:were|was))?|(?:would|could) have been",
    r"not|no|nor|neither|without|isn't|wasn't|aren't|didn't draw|did not draw|absence of|lack of",
    r"akin to|similar to|reminiscent of|(?<!cards )(?<!card )like|versus|vs\.?|(?:different|differs|far"
    r"|distinct) from",
    r"confused with|confuse (?:it|this) with|more than|\w+er than|(?:less|more) \w+ than",
    r"kin to|cousin (?:of|to)|sister (?:card )?(?:of|to)|counterpart (?:of|to)|opposite of",
)
_COMPARED: Final = re.compile(
    rf"\b(?:{'|'.join(_COMPARING)})[\s*_\"'(]+(?:(?:a|an|the|any|other|cards?|with|say|perhaps"
    rf"|in)[\s*_\"']+){{0,3}}$",
    re.IGNORECASE,
)
# One of these stands before the name whenever the pattern above can match: the cheap question first.
_COMPARING_WORDS: Final = re.compile(
    r"like|than|instead|compared|contrast|opposed|\b(?:had|if|were|was|been|not|no|nor|of|to|from|with)\b|neither"
    r"|without|n't|vs|versus",
    re.IGNORECASE,
)
_NOT_ONLY: Final = re.compile(r"\bnot\s+only\s+(?:the\s+)?$", re.IGNORECASE)
_IN_ORDER: Final = re.compile(
    r"\b(?:follows|following|precedes|preceding|succeeds|comes\s+(?:right\s+)?(?:after|before))[\s*_]+(?:the\s+)?$",
    re.IGNORECASE,
)
_OF_THE_DECK: Final = re.compile(
    r"[^.!?\n]{0,40}\b(?:in|of)\s+the\s+(?:tarot|deck|major|sequence|arcana|fool's)\b", re.IGNORECASE
)
_ABSENT: Final = re.compile(
    r"[\s*_]*(?:card\s+)?(?:,\s*)?(?:(?:is|was|are|were)(?:\s+not|n't)\s+(?:here|present|in|among|part|drawn|on)"
    r"|(?:does|do|did)(?:\s+not|n't)\s+"
    r"(?:appear|show|come)|(?:is|was)\s+(?:absent|missing|nowhere)|would\s+have\b)",
    re.IGNORECASE,
)


# A card of another reading: "the Tower from your last reading", "last time you drew the Tower".
_EARLIER: Final = r"(?:last|previous|earlier|prior|former|first|other|older|past)"
_DRAW: Final = r"(?:readings?|spreads?|draws?|sessions?|pulls?|consultations?|visits?)"
_FROM_EARLIER: Final = re.compile(
    rf"[\s*_\"']*(?:card\s+)?,?\s*(?:(?:which|that)\s+)?(?:(?:you\s+)?(?:drew|pulled|had|got|appeared|came(?:\s+up)?|turned\s+up|was\s+drawn)"
    rf"\s+)?(?:from|in|of|at|during)\s+(?:your|the|our|a|an|that)\s+{_EARLIER}\s+{_DRAW}\b"
    rf"|[\s*_\"']*,?\s*(?:(?:which|that)\s+)?(?:you\s+)?(?:drew|pulled|had|got|appeared|came\s+up)\s+{_EARLIER}\s+(?:time|week|month|year|spring|summer|autumn|winter)\b",
    re.IGNORECASE,
)
_EARLIER_BEFORE: Final = re.compile(
    rf"(?<!unlike )(?<!unlike your )(?<!unlike the )\b{_EARLIER}\s+(?:time|week|month|year|{_DRAW})\b[^.!?\n]{{0,40}}$",
    re.IGNORECASE,
)
_MENTIONED: Final = re.compile(
    r"\b(?:you\s+(?:mention|ask|wrote|told|spoke|speak|referr)\w*|your\s+mention\s+of)\b[^.!?\n]{0,40}$", re.IGNORECASE
)
_TODAY: Final = re.compile(r"[\s*_,]*(?:now|here|today|this\s+time|again)\b", re.IGNORECASE)
_NOT_ON_TABLE: Final = re.compile(
    r"[^.!?\n]{0,90}?\b(?:it|which|that|this|card|they)\b[^.!?\n]{0,12}\b(?:(?:is|was|are|were|does|do|did)(?:\s+not|n't)\s+"
    r"(?:on\s+the\s+table|here|present|in\s+(?:this|the|your|today)|among|part\s+of|drawn|appear|show|come\s+up|one\s+of)"
    r"|(?:is|was)\s+(?:absent|missing|nowhere))",
    re.IGNORECASE,
)


def _is_of_another_reading(text: str, start: int, end: int) -> bool:
    if _FROM_EARLIER.match(text, end):
        return True
    before = text[max(0, start - 90) : start]
    if _NOT_ON_TABLE.match(text, end) and _MENTIONED.search(before):
        return True
    return _EARLIER_BEFORE.search(before) is not None and not _TODAY.match(text, end)


def orientation_at(text: str, start: int, end: int) -> Orientation | None:
    """What is said of the orientation of the card named there; None when nothing is, or only as a possibility."""
    after = _AFTER.match(text, end, min(len(text), end + 60))
    before = _BEFORE.search(text[max(0, start - 24) : start])
    chosen = before or after
    if chosen is None:
        return None
    doubt = text[max(0, start - 40) : start].rpartition(".")[2] + (text[end : after.end()] if after else "")
    if _DOUBT.search(doubt.rpartition("\n")[2]):
        return None
    return "reversed" if chosen["reversed"] else "upright"


_ORDER_BEFORE: Final = re.compile(
    r"\b(?:after|before|beyond|behind|following|follows?|precedes?|preceding|succeeds?|between|followed\s+by|preceded\s+by"
    r"|next\s+to|beside)[\s*_\"']+(?:the\s+)?$",
    re.IGNORECASE,
)
_ORDER_AFTER: Final = re.compile(
    r"[\s*_\"']*,?\s*(?:(?:which|that|who)\s+)?(?:(?:comes?|stands?|is|sits?|arrives?|appears?)\s+)?"
    r"(?:(?:right|just|directly|always|immediately|one\s+\w+)\s+){0,2}"
    r"(?:before|after|next\s+to|behind|follows|precedes|followed\s+by|preceded\s+by)\b",
    re.IGNORECASE,
)
_END: Final = re.compile(r"[.!?\n]")


def says_order(text: str, start: int, end: int) -> bool:
    """True when the card named there is said to come before or after another."""
    return (
        _ORDER_BEFORE.search(text[max(0, start - 40) : start]) is not None or _ORDER_AFTER.match(text, end) is not None
    )


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence that holds this place begins and ends."""
    before = max((text.rfind(sign, 0, start) for sign in ".!?\n"), default=-1) + 1
    after = _END.search(text, end)
    return before, len(text) if after is None else after.start()


def is_compared(text: str, start: int, end: int, *, drawn: bool) -> bool:
    """True when the card named there is not put on the table: compared with, denied, or imagined."""
    before = text[max(0, start - 40) : start]
    if _COMPARING_WORDS.search(before) and _COMPARED.search(before) and not _NOT_ONLY.search(before):
        return True
    if _ABSENT.match(text, end):
        return True
    if not drawn and _is_of_another_reading(text, start, end):
        return True
    return not drawn and _IN_ORDER.search(before) is not None and _OF_THE_DECK.match(text, end) is not None
