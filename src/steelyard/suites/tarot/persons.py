"""Who is called by name in a reading: the names in the question first, then capitalized subjects of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .deck import MAJOR_NAMES, RANKS, SUITS

_TITLE: Final = r"(?:Dr|Mr|Mrs|Ms|Miss|Prof|Aunt|Auntie|Uncle|Grandma|Grandpa|Granny|Father|Sister|Brother)\.?"
TITLE_DOT: Final = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof|St)\.(?= [A-Z])")
"""The dot after a title ends no sentence."""
_WORD: Final = r"[A-Z][a-z]+(?:[-'][A-Z][a-z]+)?"
_TITLED: Final = re.compile(rf"\b{_TITLE} ({_WORD})")
_CAPITAL: Final = re.compile(rf"\b{_WORD}\b")
_VERB: Final = (
    r"(?:will|won't|is|isn't|has|hasn't|had|was|may|might|could|can|can't|cannot|should|would|shall|does|doesn't|dies|"
    r"suffers|intends|plans|wants|means|tries|needs|carries|keeps|cheats|lies|never|and [A-Z][a-z]+ (?:will|are|have))"
)
_SUBJECT: Final = re.compile(
    rf"\b({_WORD})(?: {_WORD})? (?={_VERB}\b)|\b({_WORD})'s (?=going|about|dying|not|heart|days)"
)
_INSIDE: Final = re.compile(rf"(?<=[a-z] )({_WORD})\b(?!['’]?s? [A-Z])")
"""A capital in the middle of a sentence is a name's, outside titles."""
_STARTS_SENTENCE: Final = re.compile(r"(?:^|[.!?:;…\n][\"')\]*_]*\s*|[\"“(*#>]\s*)$")
_NOMINAL: Final = re.compile(
    r"(?:ing|ness|ity|tion|sion|ment|ship|ance|ence|ly|ism|hood|dom|ture|sure|ory|ess|ful|ive)$"
)
_NO_NAMES: Final = frozenset(
    re.findall(
        r"\S+",
        """
        a about after again all also although american an and another any anyone anything april aquarius
        arcana are aries as ask at august autumn balance be because before being berlin both british but by
        calm can cancer capricorn card cards care caution celebration celtic change chaos christmas clarity
        closure comfort communication compassion conflict could courage creativity cross dear december deep
        depression desire did do does doubt each earth easter eight eighth either element energy english
        europe every everyone everything faith fall family far fear february few fifth fire first five focus
        follow for forgiveness four fourth freedom french friday friends friendship from fun future gemini
        german give god goddess grief growth guilt had happiness harmony has have he healing health heart help
        her here his home honesty hope how however i if in instead intuition is it italian its january
        jealousy joy july june jupiter just karma keep kindness last later leave leo let libra life light like
        listen literally london loneliness look loss love luck major make many march marriage mars may maybe
        memory mercury might mind minor monday money moon more most movement much music my nature neither
        neptune never new next night nine ninth no nobody none nor not nothing november now october of often
        on once one only openness or other our out outcome over page pain paris past patience peace people
        perhaps persistence pisces place play please pluto position power present pressure pride progress
        promise question quiet read reading regret rest reversed romance routine sagittarius saturday saturn
        scorpio second secrets see september seven seventh shame she should silence since six sixth sleep so
        some somebody someone something sometimes soon sorrow space spanish speak spirit spread spring
        stability start stay still stop stress structure struggle success summer sunday support take tarot
        taurus temptation ten tension tenth that the their them then there these they thing things think third
        this those three through thursday time to today together tomorrow tonight too tradition travel trouble
        trust truth tuesday turn two under universe unless until up upright uranus us use venus victory virgo
        wait walk was we wealth wednesday week well what whatever when where wherever whether which while who
        whoever why will winter wisdom with without work would year yes yet york you your yours
        """,
    )
)
_OF_CARDS: Final = frozenset((*RANKS, *SUITS, *(word for name in MAJOR_NAMES for word in name.words)))


def persons(text: str, question: str) -> re.Pattern[str] | None:
    """A pattern for every person that the question or the text names; None when there is none."""
    names = {*_named(question), *(name for name in _subjects(text))}
    if not names:
        return None
    listed = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"(?:{_TITLE} )?\b(?:{listed})\b(?: (?!{_VERB}){_WORD}(?= {_VERB}\b))?")


def _may_be_name(word: str) -> bool:
    lower = word.lower()
    return lower not in _NO_NAMES and lower not in _OF_CARDS and lower.removesuffix("s") not in _OF_CARDS


def _named(question: str) -> Iterator[str]:
    yield from (match[1] for match in _TITLED.finditer(question))
    for match in _CAPITAL.finditer(question):
        starts = _STARTS_SENTENCE.search(question, 0, match.start()) is not None
        if _may_be_name(match[0]) and not (starts and _is_plain(match[0], question)):
            yield match[0]


def _subjects(text: str) -> Iterator[str]:
    yield from (match[1] for match in _TITLED.finditer(text))
    for match in _INSIDE.finditer(text):
        if _may_be_name(match[1]):
            yield match[1]
    for match in _SUBJECT.finditer(text):
        name = match[1] or match[2]
        if not _may_be_name(name):
            continue
        starts = _STARTS_SENTENCE.search(text[max(0, match.start() - 6) : match.start()]) is not None
        if not (starts and _is_plain(name, text)):
            yield name


def _is_plain(word: str, text: str) -> bool:
    """True for a word with a capital from the sentence alone: it ends as a noun does, or stands small elsewhere."""
    return bool(_NOMINAL.search(word)) or re.search(rf"\b{word.lower()}\b", text) is not None


_IS: Final = re.compile(r"'s (?=going|about|dying|dead|not|never|in|already|seriously|very|sick|ill)")
_ACTS: Final = re.compile(rf" {_VERB}\b")


def as_pronouns(clause: str, named: re.Pattern[str] | None) -> str:
    """The clause with "he", "him" or "his" in the place of each named person: the rules know those."""
    if named is None:
        return clause

    def pronoun(match: re.Match[str]) -> str:
        if _IS.match(clause, match.end()):
            return "he"
        if clause.startswith("'s", match.end()):
            return "his*"
        return "he" if not clause[: match.start()].strip() or _ACTS.match(clause, match.end()) else "him"

    return named.sub(pronoun, clause).replace("his*'s", "his")
