"""What the words around a card's name say of it: upright or reversed, on the table or only compared with."""

from __future__ import annotations

import re
from typing import Final, Literal

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


def orientation_at(text: str, start: int, end: int) -> Orientation | None:
    """What is said of the orientation of the card named there; None when nothing is, or only as a possibility."""
    found = _AFTER.match(text, end, min(len(text), end + 60))
    before = _BEFORE.search(text[max(0, start - 24) : start])
    chosen = before or found
    if chosen is None:
        return None
    doubt = text[max(0, start - 40) : start].rpartition(".")[2] + (text[end : found.end()] if found else "")
    if _DOUBT.search(doubt.rpartition("\n")[2]):
        return None
    return "reversed" if chosen["reversed"] else "upright"


def is_aside(text: str, start: int, end: int, *, drawn: bool) -> bool:
    """True when the card named there is not put on the table: compared with, denied, or imagined."""
    before = text[max(0, start - 40) : start]
    if _COMPARING_WORDS.search(before) and _COMPARED.search(before) and not _NOT_ONLY.search(before):
        return True
    if _ABSENT.match(text, end):
        return True
    return not drawn and _IN_ORDER.search(before) is not None and _OF_THE_DECK.match(text, end) is not None
