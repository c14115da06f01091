"""The 78 cards and every name they usually go by, small slips in their words put right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA


@dataclass(frozen=True, slots=True)
class TarotCard:
    """One card by its usual name; `number` is the trump's (0 to 21) or the rank in its suit (1 to 14)."""

    name: str
    number: int
    suit: str | None = None

    @property
    def is_major(self) -> bool:
        """True for the trumps."""
        return self.suit is None


_NUMERALS: Final = "0 I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI"
NUMERALS: Final = tuple(_NUMERALS.split())

# Left out on purpose: Thoth's Art, Lust, Adjustment, Aeon and Universe. "The Universe invites you" is how readings
# talk, and taking that for a card nobody drew would be worse than not knowing a rare name.
_MAJORS: Final = (
    ("The Fool", "Fool"),
    ("The Magician", "Magician", "Magus", "Juggler"),
    ("The High Priestess", "High Priestess", "Priestess", "Papess", "Popess", "Female Pope"),
    ("The Empress", "Empress"),
    ("The Emperor", "Emperor"),
    ("The Hierophant", "Hierophant", "Pope", "High Priest"),
    ("The Lovers", "Lovers", "Lover"),
    ("The Chariot", "Chariot"),
    ("Strength", "Strength"),
    ("The Hermit", "Hermit"),
    ("Wheel of Fortune", "Wheel of Fortune", "Wheel"),
    ("Justice", "Justice"),
    ("The Hanged Man", "Hanged Man", "Hanging Man", "Hanged One"),
    ("Death", "Death"),
    ("Temperance", "Temperance"),
    ("The Devil", "Devil"),
    ("The Tower", "Tower", "House of God"),
    ("The Star", "Star"),
    ("The Moon", "Moon"),
    ("The Sun", "Sun"),
    ("Judgement", "Judgement", "Judgment", "Last Judgement", "Last Judgment"),
    ("The World", "World"),
)

_DISTINCT: Final = frozenset(
    {"high priestess", "papess", "popess", "female pope", "hierophant", "hanged man", "hanging man", "hanged one"}
)
"""Names that mean the card wherever they stand; every other trump is a plain word first."""

# Page = Knave = Valet = Jack = Princess, and Prince = Knight, as readers match the courts of other decks.
_RANKS: Final = (
    ("Ace", "One", "1", "I"),
    ("Two", "2", "II", "Deuce"),
    ("Three", "3", "III"),
    ("Four", "4", "IV", "IIII"),
    ("Five", "5", "V"),
    ("Six", "6", "VI"),
    ("Seven", "7", "VII"),
    ("Eight", "8", "VIII"),
    ("Nine", "9", "IX", "VIIII"),
    ("Ten", "10", "X"),
    ("Page", "Knave", "Valet", "Jack", "Princess"),
    ("Knight", "Prince"),
    ("Queen",),
    ("King",),
)

_SUITS: Final = (
    ("Wands", "Rods", "Staves", "Staffs", "Batons"),
    ("Cups", "Chalices", "Goblets"),
    ("Swords",),
    ("Pentacles", "Coins", "Disks", "Discs"),
)

_FOREIGN: Final = (
    "hearts spades diamonds clubs acorns bells leaves stars crystals flames feathers roses stones arrows bows"
)
FOREIGN_SUITS: Final = frozenset(_FOREIGN.split())
"""Suits of playing cards and of other decks: a card of theirs is in no reading of this deck."""

MAJORS: Final = tuple(TarotCard(names[0], number) for number, names in enumerate(_MAJORS))
_BY_RANK_AND_SUIT: Final = {
    (number, suit[0]): TarotCard(f"{ranks[0]} of {suit[0]}", number, suit[0])
    for suit in _SUITS
    for number, ranks in enumerate(_RANKS, 1)
}
CARDS: Final = (*MAJORS, *_BY_RANK_AND_SUIT.values())

RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {word.lower(): number for number, words in enumerate(_RANKS, 1) for word in words}
)
SUITS: Final[Mapping[str, str]] = MappingProxyType({word.lower(): suit[0] for suit in _SUITS for word in suit})
ONE_OF_A_SUIT: Final[Mapping[str, str]] = MappingProxyType(
    {"wand": "Wands", "cup": "Cups", "sword": "Swords", "pentacle": "Pentacles", "coin": "Pentacles"}
)
"""Suits in the singular, as slips of the pen."""


@dataclass(frozen=True, slots=True)
class MajorName:
    """A trump's name without its article, as lower-case words; `distinct` when it needs no context to mean the card."""

    words: tuple[str, ...]
    card: TarotCard
    distinct: bool


MAJOR_NAMES: Final = tuple(
    MajorName(tuple(name.lower().split()), card, name.lower() in _DISTINCT)
    for card, names in zip(MAJORS, _MAJORS, strict=True)
    for name in names[1:]
)


def minor(rank: int, suit: str) -> TarotCard:
    """The card of that rank (1 to 14) in the suit with that usual name."""
    return _BY_RANK_AND_SUIT[rank, suit]


def numbers_of(card: TarotCard) -> frozenset[str]:
    """How a trump's number is written; Strength and Justice change places between decks, so both go by both."""
    numbers = (8, 11) if card.number in (8, 11) else (card.number,)
    return frozenset(form for number in numbers for form in (str(number), NUMERALS[number].lower()))


def aliases(card: TarotCard) -> tuple[str, ...]:
    """Every name of the card, the usual one first; orientation is no part of a name."""
    if card.suit is not None:
        suit = next(words for words in _SUITS if words[0] == card.suit)
        return tuple(f"{rank} of {word}" for word in suit for rank in _RANKS[card.number - 1])
    bare = _MAJORS[card.number][1:]
    plain = [card.name, *bare, *(f"The {name}" for name in bare)]
    numbers = [NUMERALS[card.number], str(card.number)]
    numbered = [f"{number}{stop} {card.name}" for number in numbers for stop in ("", ".")]
    return tuple(dict.fromkeys([*plain, *numbered, f"{card.name} ({NUMERALS[card.number]})"]))


_SPACES = re.compile(r"[\s_-]+")
_ORIENTED = re.compile(r"\s*[(,\[-]*\s*\b(?:reversed|upright|rx|r)\b\s*[)\]]*\s*$", re.IGNORECASE)
_BY_ALIAS: Final = {_SPACES.sub(" ", alias.lower()): card for card in CARDS for alias in aliases(card)}


def card_named(name: str) -> TarotCard | None:
    """The card that goes by this name, letter case and a trailing orientation left aside; None when there is none."""
    folded = _SPACES.sub(" ", _ORIENTED.sub("", name).strip().lower())
    return _BY_ALIAS.get(folded)


def nearest(name: str) -> str | None:
    """The usual name of the card that was probably meant; None when nothing is close."""
    match = process.extractOne(name.lower(), list(_BY_ALIAS), scorer=OSA.normalized_similarity, score_cutoff=0.65)
    return None if match is None else _BY_ALIAS[match[0]].name


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
    good handed handing horse loser love lower lowers mann papers
    musician musicians losers levers livers towed toner devin express impress magnus hinged females jugglers
"""
_WORDS: Final = frozenset(_WORDS_TEXT.split())

RANK_WORDS: Final = tuple(word for word in RANKS if word.isalpha() and len(word) > 2 and set(word) - set("ivx"))
SUIT_WORDS: Final = tuple(SUITS)
MAJOR_WORDS: Final = tuple(sorted({word for name in MAJOR_NAMES for word in name.words if len(word) > 2}))
_NEVER_ALONE: Final = frozenset({"high"})
"""Short words that are only part of a longer name, which then shows what was meant."""
_NAME_WORDS: Final = frozenset((*RANKS, *SUITS, *MAJOR_WORDS, *ONE_OF_A_SUIT, *FOREIGN_SUITS))


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
def corrected(word: str, kind: str) -> str | None:
    """The word of a name that this lower-case word is a slip of; None for real words and for what is not close.

    A slip keeps the first letter. In names of up to four letters only two letters may change places or one be doubled;
    longer ones may have one wrong letter, from eight letters on two.
    """
    if len(word) < 3 or word in _NAME_WORDS or word in _WORDS:
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
