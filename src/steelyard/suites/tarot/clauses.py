"""Sentences taken apart into clauses: who says each, of whom, and whether it is denied, asked, imagined or quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .persons import as_pronouns
from .sections import split_sentences

_LONGEST: Final = 300
"""A clause is cut here, so that a text without full stops is read in time."""

_FEWEST_STRUNG: Final = 8

_CONTRACTED: Final = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\bwon't\b", "will not"),
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bain't\b", "is not"),
        (r"n't\b", " not"),
        (r"'ll\b", " will"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"\bi'm\b", "i am"),
        (r"'d\b", " would"),
        (r"\b(he|she|it|that|there|what|who|here)'s\b", r"\1 is"),
        (r"\bgonna\b", "going to"),
        (r"\bno matter (?:what|how|who)\b", "whatever"),
        # A denial in form only, and the name of a card, which may hold a person: neither says anything by itself.
        (
            r"\b(?:not (?:only|just|merely)|(?:there is |leaves? )?no (?:doubt|question|wonder|less)(?: that| but)?)\b",
            "",
        ),
        (r"\bnothing but\b", "only"),
        (r"\b(?:the )?(?:ace|\w+) of (?:cups|wands|swords|pentacles|coins|fortune)\b", "card"),
        (r"[^\w' -]", " "),
    )
)
# The card, with its capital, unless it comes for somebody.
_DEATH_CARD: Final = re.compile(
    r"\b(?:[Tt]he )?Death\b(?! (?:is (?:coming|near|close|on|waiting|at)"
    r"|will (?:come|take|claim|visit|find|strike|knock)|awaits|waits for|comes for|would be|may be|might be)\b)"
)
_SPEECH: Final = re.compile(r"\"([^\"]*)\"|(?<![\w'])'((?:[^']|(?<=\w)'(?=\w)){2,}?)'(?!\w)")
_BREAK: Final = re.compile(
    r"(?P<colon>:)|(?P<stop>[;()–—]|\s-\s"
    r"|,?\s(?=(?:but(?! (?:through|forward|up)\b)|yet|however|although|(?<!as )though|while|because|so) ))"
    r"|(?P<and>,?\s(?=(?:and|or|nor) ))|(?P<comma>,)",
    re.IGNORECASE,
)
_OWN_SUBJECT: Final = re.compile(
    r"(?:and|or|nor) (?:then |soon |perhaps |also )?(?:i|you|he|she|it|they|we|there|this|these|those|the|your|his|her"
    r"|my|their|our|an?|someone|somebody|no|nobody|nothing|none|everyone|everything|one|card|what|who|if|when)\b"
)
_ASKS: Final = re.compile(
    r"(?:and |or |but )?(?:am|are|is|do|does|did|was|were|will|would|could|should|can|have|has|might|may|what|why|how"
    r"|who|whom|whose|when|where|which)\b"
)
_SUPPOSED: Final = re.compile(r"(?:and |or |but |even )?(?:if|whether|unless|in case|should you|suppose|imagine)\b")

# Whose words or thoughts they are. The cards and the one who reads them ("I fear") speak for the reading itself.
_OTHERS: Final = (
    r"(?:you|he|she|they|people|someone|somebody|everyone|nobody|critic|voice|thoughts?|mind|sentence|story|part of you"
    r"|mother|father|friend|KIN|CARER)"
)
_REPORTED: Final = re.compile(
    rf"\b{_OTHERS}(?:'s)?(?: (?!will\b|card)[\w'-]+){{0,3}}? (?:says?|said|saying|tells?|told|telling|wrote|writes?"
    r"|written|thinks?|thought|believ\w+|fear\w*|worr\w+|wonder\w*|ask(?:s|ed|ing)?|mention\w*|describ\w+|call(?:s|ed)?"
    r"|predict\w*|insist\w*|imagin\w*|suspect\w*|shared?|admit\w*|claim\w*|dread\w*|afraid|scared|worried)\b"
    r"|\b(?:father|mother|critic|KIN|other people)'s (?:voice|words|sentence)\b"
    r"|\byour (?:question|worry|fear|concern|anxiety|inner critic|own words)\b"
    r"|(?<!\bi )\b(?:feels?|felt|feeling|seems?|seemed|seeming)\b|\bas (?:if|though)\b|\bused to\b"
    r"|\btell(?:s|ing)? yourself\b|\bwhether\b"
    r"|\b(?:thoughts?|story|belief|idea|fear|worry|voice|sense|sentence) (?:of|that)\b"
)
_OF_THE_READING: Final = re.compile(
    r"\b(?:cards?|spread|reading|message|i|universe|spirits?|tower|death|devil|moon|star|sun|hermit|lovers?)\b"
    r"(?:'s)?(?: [\w'-]+){0,2} (?:says?|tells?|whispers?|warns?|answers?|announces?|shouts?|is|reads?|means?)\b"
    r"|\b(?:says?|warns?|whispers?|answers?) (?:the )?(?:card|spread|tower|death|devil|moon|star|sun|hermit|lovers?)\b"
)
_NO: Final = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|nor|hardly|rarely|seldom|barely|scarcely)\b")
_TURNS_DOWN: Final = re.compile(
    r"\bstop(?:s|ped|ping)?(?= (?:\w+ing|the|that|this|your)\b| *$)|\bfar from\b|\bfree (?:of|from)\b"
    r"|\b(?:avoid|refus|refrain|resist|doubt|deny|denies|quit)(?:s|e|es|ed|ing|ting)?\b"
    r"|\bleave .{0,24}\bon the shelf\b"
)
_PAST: Final = re.compile(
    r"(?<!if you )\b(?:was|were|had|did|tried|wanted|brought|came|went|took|died|ago|back then|as a (?:child|girl|boy)"
    r"|left(?= (?:you|him|her|them|the|your)\b)|last (?:week|month|year|spring|summer|autumn|winter|night))\b"
)
_FUTURE: Final = re.compile(r"\b(?:will|shall|(?<!in )may|might|could|can|should|must|going to|about to|soon|would)\b")
_SHORT_DENIAL: Final = re.compile(r"\b(?:without|rather than|instead of|before you|not)(?: [\w'-]+){0,3} $")


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: `words` in small letters with contractions written out, `scope` what governs it from before.

    `stated` is False for what the reading does not say itself: a question, a supposition, or somebody else's words.
    """

    words: str
    scope: str
    as_written: str
    stated: bool = True
    asked: bool = False

    def is_past(self, end: int) -> bool:
        """True when it is in the past tense up to that place, and nowhere in the future."""
        return _PAST.search(self.words, 0, end) is not None and _FUTURE.search(self.words) is None

    def denials(self, start: int, end: int, *, inside: bool) -> int:
        """How many words deny what stands between these places; with `inside`, verbs such as "stop" there count too."""
        whole, before = f"{self.scope} {self.words}", len(self.scope) + 1 + start
        until = before + end - start
        # A "not" goes on to the next verb ("do not stop or skip it"), a verb of refusal does not ("stop and skip it").
        turned_down = sum(
            match.start() < start or (inside and match.end() < end)
            for match in _TURNS_DOWN.finditer(self.words, 0, end)
        )
        said_no = len(_NO.findall(whole, 0, until))
        short = _SHORT_DENIAL.search(whole[:before]) is not None and not _NO.search(whole, max(0, before - 24), before)
        return said_no + turned_down + short

    def is_reported(self, start: int) -> bool:
        """True when what begins there is another's words or feeling."""
        return _REPORTED.search(f"{self.scope} {self.words[:start]}") is not None


def plain_words(text: str) -> str:
    """The text in small letters without punctuation, contractions written out and cards' names taken out."""
    words = _DEATH_CARD.sub("card", text).lower()
    for pattern, full in _CONTRACTED:
        words = pattern.sub(full, words)
    return " ".join(words.split())


def split_clauses(sentence: str, named: re.Pattern[str] | None = None) -> list[Clause]:
    """The clauses of one sentence, quoted speech left out unless the reading itself speaks it; `named` are persons."""
    spoken = " ".join(_SPEECH.sub(" ", sentence).split())
    outside = plain_words(spoken)
    if outside and not _OF_THE_READING.search(outside):
        sentence = _SPEECH.sub(lambda match: " … " if len(match[0].split()) > 1 else match[0], sentence)
    is_question = sentence.rstrip("\"')*_ ").endswith("?")
    pieces = _pieces(sentence)
    clauses: list[Clause] = []
    scope = ""
    for place, (kind, written) in enumerate(pieces):
        words = plain_words(as_pronouns(written.strip(), named))
        if not words:
            continue
        goes_on = (kind == "and" and not _OWN_SUBJECT.match(words)) or words.startswith("that ")
        before = clauses[-1] if clauses else None
        reported = kind == "colon" and before is not None and before.is_reported(len(before.words))
        scope = f"{scope} {before.words}"[-_LONGEST:] if before and (goes_on or reported) else ""
        asked = is_question and (place == len(pieces) - 1 or bool(_ASKS.match(words)) or bool(_ASKS.match(outside)))
        supposed = bool(_SUPPOSED.match(words)) or (bool(scope) and goes_on and bool(_SUPPOSED.match(scope.strip())))
        clauses.append(Clause(words, scope, written.strip(), stated=not (asked or supposed), asked=asked))
    return clauses


def _pieces(sentence: str) -> list[tuple[str, str]]:
    """The sentence cut at its punctuation and conjunctions, each piece with the kind of cut before it."""
    pieces = []
    at, kind = 0, "stop"
    for cut in _BREAK.finditer(sentence):
        pieces.append((kind, sentence[at : cut.start()]))
        at, kind = cut.end(), cut.lastgroup or "stop"
    pieces.append((kind, sentence[at:]))
    return [(kind, text[start : start + _LONGEST]) for kind, text in pieces for start in range(0, len(text), _LONGEST)]


def repeats_itself(words: Sequence[str]) -> bool:
    """True for words strung together again and again, which is no sentence."""
    return len(words) > _FEWEST_STRUNG and 2 * len(set(words)) < len(words)


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, each in one line."""
    return [" ".join(text[start:end].split()) for start, end in split_sentences(text)]
