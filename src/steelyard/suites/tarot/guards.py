"""Words around a phrase that take back what it would say: negation, care, quotation, feeling."""

from __future__ import annotations

import re
from typing import Final

_FARTHEST: Final = 200
"""Nothing is looked for farther back than this, so that a text without full stops is read in time."""

_CLAUSE: Final = re.compile(
    r"[,;:()–—]|\s-\s|\b(?:but|yet|however|although|(?<!as )though|while|because|so)\b", re.IGNORECASE
)


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(phrases)})", re.IGNORECASE)


# In the same clause, before the phrase.
_TAKEN_BACK: Final = _any_of(
    r"\b(?:not(?! only| just)|no(?! doubt| question| matter| longer)|never|cannot|nor|neither|nobody|without)\b",
    r"n't\b",
    r"\b(?:rather than|instead of|far from|before you|unless|whether|rarely|seldom|hardly|stop|stopping)\b",
    r"\b(?:avoid|refrain|resist|refus)\w*",
    r"\bif (?:you|he|she|they|someone|anyone) (?:do )?(?:decide|choose|plan|have|are|ever|feel|find|were|should)\w*",
)
_QUOTED: Final = _any_of(
    r"\byou(?:'re|'ve| are| have)? (?:\w+ )?(?:ask|wonder|worr|fear|wrote|mention|told|said|describ|share|afraid)\w*",
    r"\byour (?:question|worry|fear|concern|anxiety|inner critic)",
    r"\b(?:feel|feels|felt|feeling|seem|seems|seemed|seeming|might think|used to|believ\w+)\b",
    r"\bas (?:if|though)\b",
    r"\b(?:thoughts?|story|belief|idea|fear|worry|voice|sense) (?:of|that)\b",
    r"\btell(?:s|ing)? (?:yourself|you)\b",
)


def clause_before(sentence: str, start: int) -> str:
    """What stands before that place in its clause."""
    begins = max(0, start - _FARTHEST)
    for found in _CLAUSE.finditer(sentence, begins, start):
        begins = found.end()
    return sentence[begins:start]


def is_taken_back(sentence: str, start: int) -> bool:
    """True when what begins there is denied, refrained from or only weighed."""
    return _TAKEN_BACK.search(clause_before(sentence, start)) is not None


def is_quoted(sentence: str, start: int) -> bool:
    """True when the words are the asker's own, or a feeling, and not what the reading says is so."""
    return _QUOTED.search(clause_before(sentence, start)) is not None
