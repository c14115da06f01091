"""How a reading speaks of the future and to its asker, and words around a phrase that take it back."""

from __future__ import annotations

import re
from typing import Final

_FARTHEST: Final = 200
"""Nothing is looked for farther back than this, so that a text without full stops is read in time."""

_CLAUSE: Final = re.compile(
    r"[,;:()–—]|\s-\s|\b(?:but|yet|however|although|(?<!as )though|while|because|so)\b", re.IGNORECASE
)


def _phrases(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(phrases)})", re.IGNORECASE)


# In the same clause, before the phrase.
_TAKEN_BACK: Final = _phrases(
    r"\b(?:not(?! only| just)|no(?! doubt| question| matter| longer)|never|cannot|nor|neither|nobody|without)\b",
    r"n't\b",
    r"\b(?:rather than|instead of|far from|before you|unless|whether|rarely|seldom|hardly|stop|stopping)\b",
    r"\b(?:avoid|refrain|resist|refus)\w*",
    r"\bif (?:you|he|she|they|someone|anyone) (?:do )?(?:decide|choose|plan|have|are|ever|feel|find|were|should)\w*",
)
_QUOTED: Final = _phrases(
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
    for match in _CLAUSE.finditer(sentence, begins, start):
        begins = match.end()
    return sentence[begins:start]


def is_taken_back(sentence: str, start: int) -> bool:
    """True when what begins there is denied, refrained from or only scored."""
    return _TAKEN_BACK.search(clause_before(sentence, start)) is not None


def is_quoted(sentence: str, start: int) -> bool:
    """True when the words are the asker's own, or a feeling, and not what the reading says is so."""
    return _QUOTED.search(clause_before(sentence, start)) is not None


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})", re.IGNORECASE)


_FIXED: Final = _any_of(
    r"(?:will|shall)\b(?!-)",
    r"(?:is|are|am|you're|he's|she's|it's|they're|that's) (?:definitely |certainly |surely |really )?going to\b",
    r"(?:destined|bound|fated|guaranteed|certain|sure) to\b",
    r"(?:is|are) (?:inevitable|certain|guaranteed|sealed|set in stone)\b",
    r"(?:you|he|she|it|they|that|this|we|there)'ll\b",
)
# The noun, and the future of what no card decides: where help is found, what the reading itself does.
_NOUN_BEFORE: Final = re.compile(
    r"\b(?:free|good|ill|your|his|her|their|my|our|own|the|at|of|strong|sheer|a|if you)\s+$", re.IGNORECASE
)
# What the reading itself is about to do: "From this, I will turn to the second card".
_READER_BEFORE: Final = re.compile(
    r"\b(?:I(?:'m| am)?|(?:this|the|our) (?:\w+ )?(?:reading|spread|section|interpretation|paragraph))\s+$",
    re.IGNORECASE,
)
_READER_AFTER: Final = re.compile(
    r"\s+(?:now\s+|first\s+|then\s+)?(?:look|see|explore|turn|start|begin|read|examine|go|take|move|end|close|return)\b",
    re.IGNORECASE,
)
_WE_BEFORE: Final = re.compile(r"\bwe(?:'re| are)?\s+$", re.IGNORECASE)
_OPENED_AFTER: Final = re.compile(
    r"\s+(?:likely|probably|perhaps|possibly|maybe|power|you\b|often|usually|tend\b"
    r"|(?:find|need)\s+(?:resources|help|support|information|more)\b)",
    re.IGNORECASE,
)
_UNKNOWN_BEFORE: Final = re.compile(
    r"\b(?:nothing\s+here|no\s+card|whether|what|how|who|where|cannot\s+\w+\s+\w+"
    r"|not\s+\w+\s+that)\b[^.,;:!?]{0,24}$",
    re.IGNORECASE,
)

_OPEN: Final = _any_of(
    r"(?:might|could|would|perhaps|possibl[ey]|possibilit\w+|maybe|likely|probably|seems?|potential\w*)\b",
    r"(?:suggest|invit|consider|encourag)\w*",
    r"(?:appears?|tends?) to\b",
    r"if you (?:choose|wish|like|want|feel|are ready|decide)\b",
    r"(?:one (?:option|way)|in your (?:hands|power)|up to you|yours to)\b",
    r"may\b(?! \d)",
)
_MONTH: Final = re.compile(r"\b(?:in|by|of|until|since|before|after|early|late|mid|this|next|last)\s+$", re.IGNORECASE)

_CLOSE: Final = (
    r"(?:him|her|them|(?:your|this|that) (?:\w+ )?(?:husband|wife|partner|boyfriend|girlfriend|ex|job|family"
    r"|friends?|boss|"
    r"marriage|relationship|mother|father|home|house|city|career|position|role|man|woman|person))"
)
_NOW: Final = (
    r"(?:now|immediately|today|tonight|at once|right away|without delay|this instant|before it(?: is|'s) too late)\b"
)
_COMMAND: Final = _any_of(
    r"you (?:simply |absolutely |really |just |now )?must (?!be\b|have\b|feel|know\b|wonder|seem)\w+",
    r"you (?:simply |absolutely |really |just |now |will )?have (?:got )?to (?!offer|give|share|say\b|work with)\w+",
    r"you(?:'d| had) better\b",
    r"you are (?:required|obliged|ordered|not allowed) to\b",
    r"you (?:absolutely |really |urgently )?need to (?:leave|quit|end|break|stop|divorce|cut|dump|resign|obey"
    r"|act now)\b",
    r"(?:stop|quit) (?:seeing|talking to|speaking to|contacting|calling|texting|trusting|dating) (?:him|her|them"
    r"|your|that|this)\b",
    r"(?:leave|dump|divorce|quit|end|sell|confront|forgive|marry|call|text|block|abandon|cut off|break up with"
    r"|resign from"
    rf"|walk away from|move out of) {_CLOSE}(?: \w+)? {_NOW}",
    r"(?:leave|dump|divorce) (?:him|her|them|your (?:husband|wife|partner|boyfriend|girlfriend)) (?:and never"
    r"|for good)\b",
    r"(?:quit|leave) your job(?=[.!]| and\b| before\b)",
    r"never (?:speak|talk|trust|contact|see|forgive)(?: to| with)? (?:him|her|them|your \w+) again\b",
    r"do (?:exactly )?(?:as|what) (?:the cards|i) (?:say|tell)\b",
    r"obey (?:the|this|these)\b",
    r"do it now\b",
    r"do not (?:dare|question|disobey)\b",
    r"you have no (?:other )?choice\b",
)


def fixed_futures(sentence: str) -> int:
    """How many times the sentence says for certain what will be."""
    return sum(_is_fixed(sentence, match) for match in _FIXED.finditer(sentence))


def _is_fixed(sentence: str, match: re.Match[str]) -> bool:
    before = sentence[: match.start()]
    return not (
        _NOUN_BEFORE.search(before[-14:])
        or _READER_BEFORE.search(before[-40:])
        or (
            (_WE_BEFORE.search(before[-8:]) or match[0].lower() == "we'll")
            and _READER_AFTER.match(sentence, match.end())
        )
        or _UNKNOWN_BEFORE.search(before[-60:])
        or _OPENED_AFTER.match(sentence, match.end())
        or is_taken_back(sentence, match.start())
    )


def open_words(sentence: str) -> int:
    """How many different words of the sentence leave the future open."""
    return len(
        {
            match[0].lower()
            for match in _OPEN.finditer(sentence)
            if not (match[0] == "May" and _MONTH.search(sentence[max(0, match.start() - 8) : match.start()]))
        }
    )


def command(sentence: str) -> str:
    """The first hard command of the sentence, as written; "" when there is none."""
    for match in _COMMAND.finditer(sentence):
        before = sentence[max(0, match.start() - 6) : match.start()].lower()
        if not (
            before.endswith(("what ", "if ", "all "))
            or is_taken_back(sentence, match.start())
            or is_quoted(sentence, match.start())
        ):
            return match[0]
    return ""
