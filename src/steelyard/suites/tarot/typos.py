"""Small slips in the words of card names, mended without ever turning one name into another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from .deck import FOREIGN_SUITS, MAJOR_NAMES, ONE_OF_A_SUIT, RANKS, SUITS

# English words one slip away from a word of a name and with the same first letter.
_WORDS_TEXT: Final = """
    ages cans caps cons cops corns cubs cues cuts coils coin coining cup cures curs desks dish dishes disk dies disc
    fifth fire fined fives fine find fife flour for foul fours fur goblet gobbles kin kind kings knights nice nile
    none nines pace pages pale pane pare pave paged pages pentagon princes princesses queens queer reds roads rods
    roods rots rows rides sever severn sevens seen sixth swore sword swords stages staff stares starves states stave
    steaves there threes threw thread tree wand wanes wands wants wards wounds eighth eighty eights knave knaves
    valets jacks jacket dearth deaths depth health devils devices deviled emperors empresses tower towers towel
    toward towered hermits hermitage chariots lover lovers loves lovely loner justices justify strengths strengthen
    stretch temper temperate temperances judgements judgments judgemental judgmental magicians magical magic magnet
    world worlds would word words worldly worldwide wheels wheat whee fortunes fortunate highs height hugh hang
    hanger hanged hangs manned priest priests priestly popes poppet hierophants prince princess
    musician musicians losers levers livers towed toner devin express impress magnus hinged females jugglers
"""
_WORDS: Final = frozenset(_WORDS_TEXT.split())

RANK_WORDS: Final = tuple(word for word in RANKS if word.isalpha() and len(word) > 2 and set(word) - set("ivx"))
SUIT_WORDS: Final = tuple(SUITS)
MAJOR_WORDS: Final = tuple(sorted({word for name in MAJOR_NAMES for word in name.words if len(word) > 2}))
_NEVER_ALONE: Final = frozenset({"high"})
"""Short words that are only part of a longer name, which then shows what was meant."""
_KNOWN: Final = frozenset((*RANKS, *SUITS, *MAJOR_WORDS, *ONE_OF_A_SUIT, *FOREIGN_SUITS))


def _index(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    initials: dict[str, tuple[str, ...]] = {}
    for word in words:
        initials[word[0]] = (*initials.get(word[0], ()), word)
    return initials


_BY_INITIAL: Final = {
    "rank": _index(RANK_WORDS),
    "suit": _index(SUIT_WORDS),
    "major": _index(MAJOR_WORDS),
}


@lru_cache(maxsize=8192)
def mended(word: str, kind: str) -> str | None:
    """The word of a name that this lower-case word is a slip of; None for real words and for what is not close.

    A slip keeps the first letter. In names of up to four letters only two letters may change places or one be doubled;
    longer ones may have one wrong letter, from eight letters on two.
    """
    if len(word) < 3 or word in _KNOWN or word in _WORDS:
        return None
    close = [(distance, name) for name in _BY_INITIAL[kind].get(word[0], ()) if (distance := _slips(word, name))]
    close.sort()
    if not close or (len(close) > 1 and close[0][0] == close[1][0]):
        return None
    return close[0][1]


def _slips(word: str, name: str) -> int:
    """How many slips lead from the name to the word; 0 when they are too many."""
    room = 2 if len(name) >= 8 else 1
    if abs(len(word) - len(name)) > room:
        return 0
    distance = OSA.distance(word, name, score_cutoff=room)
    if distance > room:
        return 0
    if len(name) <= 4 and name not in _NEVER_ALONE and sorted(word) != sorted(name) and not _doubled(word, name):
        return 0
    return distance


def _doubled(word: str, name: str) -> bool:
    """True when the word is the name with one letter typed twice."""
    return len(word) == len(name) + 1 and any(word == name[:at] + name[at] + name[at:] for at in range(len(name)))
