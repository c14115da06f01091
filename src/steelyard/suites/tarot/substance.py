"""Whether a passage says what a card is, why it is there, and what one might do next."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .mentions import Mention
from .sections import Passage

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

# Words without which English hardly makes a clause, and which say nothing by themselves.
_SMALL_TEXT: Final = """
    a an and are as at be been but by can did do does for from has have he her here his i if in into is it it's its
    may might my not of on or our over she so than that the their them then there these they this to under up us was
    we were what when where which who will with would you you're your yours
"""
_SMALL: Final = frozenset(_SMALL_TEXT.split())
_TABLE_TEXT: Final = """
    card cards position place spread reading tarot drawn drew draw pulled upright reversed rx r first second third
    fourth fifth next final last number one two three four five six seven eight nine ten appear appears appeared
    came comes come shows show today tonight
"""
_OF_THE_TABLE: Final = frozenset(_TABLE_TEXT.split())

_NAME: Final = "\0"
_SUBJECT: Final = re.compile(
    rf"{_NAME}[*_]*(?:'s|’s)?(?:\s+(?:in|at|as|on|of)\s+(?:the|your)\s+(?:[\w'-]+\s+){{0,3}}?[\w'-]+)?,?\s+"
    r"(?!and\b|or\b|in\b|as\b|at\b|on\b|of\b|with\b|upright|reversed)[a-z]"
)
_THREE_IN_A_ROW: Final = re.compile(r"[^\W\d_]+ [^\W\d_]+ [^\W\d_]+")


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b".replace(" ", r"\s+"), re.IGNORECASE)


_WHY: Final = _any_of(
    r"because|since|therefore|due to|so that|as a result|(?:which|that) is why|stem\w* from|rooted in",
    r"reflect\w*|suggest\w*|indicat\w+|represent\w*|signif\w+|symboli\w+|mirror\w*|echo\w*|mean(?:s|t|ing)",
    r"highlight\w*|reveal\w*|connect\w*|explain\w*|show(?:s|ing|ed)|signal\w*|remind\w*|embod\w+|relat\w+ to|tied to",
    r"point\w* (?:to|towards?)|speak\w* (?:to|of|about)|tells? (?:us|you) (?:that|why|about|of)",
    r"(?:in|as) (?:the|your) (?:[\w'-]+ ){0,3}?(?:position|past|present|future|outcome|place)",
    r"your question|you ask(?:ed)?|you mention\w*",
)
_NEXT: Final = _any_of(
    r"consider\w*|try\w*|invit\w+|encourag\w+|explor\w+|notice|practi[cs]\w+|begin\w*|start\w*|journal\w*",
    r"perhaps|urge\w*|choos(?:e|ing)|(?:you|one|we) (?:might|may|could|can)|(?:might|may|could) (?:want|help|try)",
    r"ask(?:s|ing)? (?:yourself|you)|take (?:a|some|time|the|one|small|stock)|let go",
    r"(?:allow|give|let)(?:ing)? yourself|reflect on|look (?:for|at|into)|focus\w* on|next step|make (?:room|space"
    r"|time)|set aside",
    r"be (?:open|gentle|patient|willing|honest|kind)|remember to|a good (?:time|moment) to|what would it|how might",
    r"reach out|worth \w+ing|where could|step (?:back|forward|toward|into)|trust (?:your|that|the)|(?:talk"
    r"|speak) (?:to|with)",
)


@dataclass(frozen=True, slots=True)
class Substance:
    """What a passage holds of the three things a reading owes each card."""

    what: bool
    why: bool
    next: bool


def substance(text: str, passage: Passage, mentions: Iterable[Mention], positions: Iterable[str]) -> Substance:
    """What the passage says besides the names of cards and positions.

    It says what the card is with at least a clause. One telling word is enough where the card is the subject ("The Star
    brings hope"); otherwise small words, or three words in a row, must show that it is a clause and no list of keywords
    ("a time of hope and healing", "new information arrives").
    """
    left_out = {word.lower() for position in positions for word in _WORD.findall(position)} | _OF_THE_TABLE
    names = [(one.start, one.end) for one in mentions]
    rest = "\n".join(_without_names(text, start, end, names) for start, end in passage.spans)
    words = {word.lower() for word in _WORD.findall(rest)}
    small = sum(word in _SMALL for word in words)
    telling = sum(word not in _SMALL and word not in left_out and not word.isdigit() for word in words)
    is_clause = small >= 1 or _THREE_IN_A_ROW.search(rest) is not None
    enough = (telling >= 3 and is_clause) or (telling >= 2 and small >= 2)
    says_what = enough or (telling >= 1 and _SUBJECT.search(rest) is not None)
    return Substance(
        says_what, says_what and _WHY.search(rest) is not None, says_what and _NEXT.search(rest) is not None
    )


def _without_names(text: str, start: int, end: int, names: list[tuple[int, int]]) -> str:
    """That stretch of the text with a sign where a card's name was."""
    pieces = []
    at = start
    for first, last in names[bisect_left(names, (start, 0)) : bisect_left(names, (end, 0))]:
        pieces.append(text[at:first])
        at = last
    return _NAME.join([*pieces, text[at:end]])
