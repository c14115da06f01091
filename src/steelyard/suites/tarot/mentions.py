"""Every place where a reading names a card."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from .deck import (
    FOREIGN_SUITS,
    MAJOR_NAMES,
    ONE_OF_A_SUIT,
    RANKS,
    SUITS,
    MajorName,
    card_named,
    corrected,
    minor,
    numbers_of,
)
from .folding import Folded, fold
from .labels import Orientation, ReadingLabels, is_compared, is_title, orientation_at, says_order, sentence_around
from .usage import Candidate, in_idiom, is_card, joined


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that names a card.

    `card` is its usual name, or the name as written of a card that is in no tarot deck (`foreign`). `orientation` is
    None when the place does not say. `aside` is True where the card is only compared with or said to be absent:
    "unlike the Tower", "had you drawn the Sun", "no Tower appears".
    """

    card: str
    start: int
    end: int
    as_written: str
    orientation: Orientation | None = None
    compared: bool = False
    foreign: bool = False

    @property
    def reversed(self) -> bool:
        """True when this place says that the card is reversed."""
        return self.orientation == "reversed"


@dataclass(slots=True)
class _Word:
    lower: str
    start: int
    end: int
    capital: bool


class _Words:
    """The words of a text. Most are of no interest, so only those asked for become objects."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _WORD.finditer(text)]
        self.lower = [text[start:end].lower() for start, end in self._spans]

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, at: int) -> _Word:
        start, end = self._spans[at]
        return _Word(self.lower[at], start, end, self.is_capital(at))

    def is_capital(self, at: int) -> bool:
        """True for a word with a capital first, and for a number."""
        sign = self._text[self._spans[at][0]]
        return sign.isupper() or sign.isdigit()


@dataclass(slots=True)
class _CardName:
    """A name in the folded text; `sure` is False for a plain word that nothing has yet shown to be a card."""

    card: str
    start: int
    end: int
    sure: bool = True
    foreign: bool = False


_WORD: Final = re.compile(r"[^\W_]+")
_GAP: Final = re.compile(r"[\s*_-]{1,5}")
_NUMBER_GAP: Final = re.compile(r"[\s*_.):–—-]{1,6}")
_NUMBER_AFTER: Final = re.compile(r"[\s*_]*[(\[–—-]\s*([IVX]{1,5}|\d{1,2})\s*[)\]]?(?![\w])")
_OR: Final = re.compile(r"[\s*_]*,?\s*(?:or|and|nor|&|/)\s*(?:even\s+)?(?:the\s+)?[\s*_]*", re.IGNORECASE)
# "The Lighthouse card": a name that no deck has, unless it is what the place of the card is called.
_CARD_CALLED: Final = re.compile(r"\b[Tt]he[\s*_]+((?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+)[*_]*\s+card\b")
_NO_CARD_TEXT: Final = """
    past present future outcome advice challenge obstacle root foundation crown self situation action environment
    guidance heart mind body spirit goal first second third fourth fifth sixth seventh eighth ninth tenth final last
    next center centre middle base top bottom tarot oracle major minor court arcana trump birth shadow year month day
    clarifier clarifying significator jumper wild story relationship connection you them other partner path hope hopes
    fear fears release lesson theme yes no credit business report key main same celtic near distant recent conscious
    subconscious external internal influence influences blessing gift warning summary cross staff
"""
_NO_CARD: Final = frozenset((*_NO_CARD_TEXT.split(), *RANKS, *SUITS, *ONE_OF_A_SUIT))
_SHORT: Final = 7
_BY_FIRST_WORD: Final[dict[str, tuple[MajorName, ...]]] = {}
for _name in sorted(MAJOR_NAMES, key=lambda name: -len(name.words)):
    _BY_FIRST_WORD[_name.words[0]] = (*_BY_FIRST_WORD.get(_name.words[0], ()), _name)


def find_cards(text: str, drawn: Collection[str] = (), positions: Collection[str] = ()) -> list[Mention]:
    """Every mention of a card, in the order of the text; `drawn` are the names of the cards on the table.

    Names that are plain words count only where they are used as a card; a capital is enough for a drawn one. Playing
    cards and made-up ones ("the Lighthouse card") are foreign; the names of `positions` are never taken for cards.
    """
    drawn_names = {card.name for name in drawn if (card := card_named(name)) is not None}
    folded = fold(text)
    words = _Words(folded.text)
    labels = ReadingLabels(folded.text)
    candidates = [*_minors(folded.text, words, labels)]
    taken = {place for candidate in candidates for place in range(candidate.start, candidate.end)}
    candidates += [
        candidate for candidate in _majors(folded.text, words, drawn_names, labels) if candidate.start not in taken
    ]
    taken = {place for candidate in candidates for place in range(candidate.start, candidate.end)}
    candidates += [
        candidate
        for candidate in _made_up(folded.text, positions)
        if taken.isdisjoint(range(candidate.start, candidate.end))
    ]
    candidates.sort(key=lambda candidate: candidate.start)
    return _mentions(text, folded, _shown_by_neighbours(folded.text, candidates), drawn_names)


def _made_up(text: str, positions: Collection[str]) -> Iterator[_CardName]:
    places = {word.lower() for position in positions for word in _WORD.findall(position)}
    for match in _CARD_CALLED.finditer(text):
        if not any(word in _NO_CARD or word in places for word in match[1].lower().split()):
            yield _CardName(f"The {match[1]}", match.start(), match.end(1), foreign=True)


def _minors(text: str, words: _Words, labels: ReadingLabels) -> Iterator[_CardName]:
    for at, word in enumerate(words.lower):
        if word != "of" or not 0 < at < len(words) - 1:
            continue
        rank, of, suit = words[at - 1], words[at], words[at + 1]
        if not (_GAP.fullmatch(text, rank.end, of.start) and _GAP.fullmatch(text, of.end, suit.start)):
            continue
        named = _minor(rank, suit)
        if named is not None and _is_minor(rank, suit, labels):
            yield _CardName(named, rank.start, suit.end)
        elif suit.capital and rank.capital and suit.lower in FOREIGN_SUITS and rank.lower in RANKS:
            yield _CardName(text[rank.start : suit.end], rank.start, suit.end, foreign=True)


def _minor(rank: _Word, suit: _Word) -> str | None:
    number, name = RANKS.get(rank.lower), SUITS.get(suit.lower)
    if number is not None and name is None:
        name = ONE_OF_A_SUIT.get(suit.lower) if rank.capital and suit.capital else None
    slips = (number is None) + (name is None)
    if (slips and not (rank.capital or suit.capital)) or (slips == 2 and not (rank.capital and suit.capital)):
        return None
    if number is None:
        number = RANKS.get(corrected(rank.lower, "rank") or "")
    if name is None:
        name = SUITS.get(corrected(suit.lower, "suit") or "")
    return None if number is None or name is None else minor(number, name).name


def _is_minor(rank: _Word, suit: _Word, labels: ReadingLabels) -> bool:
    """False for "one of swords", said of things."""
    if rank.lower not in ("one", "i", "v", "x") or (rank.capital and suit.capital):
        return True
    return labels.names(rank.start, suit.end, drawn=False, has_article=False)


def _majors(text: str, words: _Words, drawn: set[str], labels: ReadingLabels) -> Iterator[_CardName]:
    at = 0
    while at < len(words):
        candidates = _name_at(text, words, at)
        if candidates is None:
            at += 1
            continue
        name, last = candidates
        yield _major(text, words, at, last, name, drawn, labels)
        at = last + 1


def _name_at(text: str, words: _Words, at: int) -> tuple[MajorName, int] | None:
    """The longest trump's name that begins at this word, and its last word."""
    first = words.lower[at]
    names = _BY_FIRST_WORD.get(first)
    if names is None and words.is_capital(at):
        names = _BY_FIRST_WORD.get(corrected(first, "major") or "")
    for name in names or ():
        last = at + len(name.words) - 1
        if last < len(words) and all(
            _is(words[place], word) and _GAP.fullmatch(text, words[place - 1].end, words[place].start)
            for place, word in zip(range(at + 1, last + 1), name.words[1:], strict=True)
        ):
            return name, last
    return None


def _is(word: _Word, wanted: str) -> bool:
    return word.lower == wanted or (word.capital and corrected(word.lower, "major") == wanted)


def _major(
    text: str, words: _Words, first: int, last: int, name: MajorName, drawn: set[str], labels: ReadingLabels
) -> _CardName:
    core, end = words[first].start, words[last].end
    before = first - 1
    has_article = before >= 0 and words[before].lower == "the" and bool(_GAP.fullmatch(text, words[before].end, core))
    start = words[before].start if has_article else core
    before -= has_article
    numbered = False
    numbers = numbers_of(name.card)
    if before >= 0 and words[before].lower in numbers and words[before].capital:
        numbered = bool(_NUMBER_GAP.fullmatch(text, words[before].end, start))
    elif after := _NUMBER_AFTER.match(text, end):
        numbered = after[1].lower() in numbers
    if numbered and before >= 0 and words[before].lower == "i":
        numbered = False  # "I, the Magician": a person speaks
    is_drawn = name.card.name in drawn
    candidate = Candidate(start, core, end, name.words[0], numbered, is_drawn, has_article)
    labelled = labels.names(core, end, drawn=is_drawn, has_article=has_article)
    # "Papers" is no slip of the Papess: one short word has to be written as the name is.
    distinct = name.distinct and (
        len(name.words) > 1 or len(name.words[0]) > _SHORT or words.lower[first] in name.words
    )
    sure = distinct or is_card(text, candidate, labelled=labelled, title=is_title(text, core))
    return _CardName(name.card.name, start, end, sure)


def _shown_by_neighbours(text: str, candidates: list[_CardName]) -> list[_CardName]:
    """Those that are cards: sure ones, and capitalised plain words in one enumeration with a sure one."""
    for order in (1, -1):
        row = candidates[::order]
        for candidate, other in itertools.pairwise(row):
            left, right = (candidate, other) if order == 1 else (other, candidate)
            if (
                candidate.sure
                and not other.sure
                and _is_capital(text, other)
                and joined(text, left.end, right.start)
                and not in_idiom(text, _first_word(text, other), other.start, other.end)
            ):
                other.sure = True
    return [candidate for candidate in candidates if candidate.sure]


def _first_word(text: str, candidate: _CardName) -> str:
    """The first word of the name without its article, in small letters."""
    return text[candidate.start : candidate.end].lower().removeprefix("the ").split()[0]


def _is_capital(text: str, candidate: _CardName) -> bool:
    last = text[candidate.start : candidate.end].split()[-1]
    return last[0].isupper()


def _mentions(text: str, folded: Folded, candidates: list[_CardName], drawn: set[str]) -> list[Mention]:
    mentions: list[Mention] = []
    for candidate in candidates:
        start, end = folded.place(candidate.start), folded.place(candidate.end - 1) + 1
        mention = Mention(
            candidate.card,
            start,
            end,
            text[start:end],
            orientation_at(folded.text, candidate.start, candidate.end),
            foreign=candidate.foreign,
        )
        previous = mentions[-1] if mentions else None
        after_compared = previous is not None and previous.compared and _OR.fullmatch(text, previous.end, start)
        if (
            after_compared
            or is_compared(folded.text, candidate.start, candidate.end, drawn=candidate.card in drawn)
            or (candidate.card not in drawn and _in_deck_order(folded.text, candidate, candidates, drawn))
        ):
            mention = replace(mention, compared=True)
        mentions.append(mention)
    return mentions


def _in_deck_order(text: str, candidate: _CardName, candidates: list[_CardName], drawn: set[str]) -> bool:
    """True for a trump that stands next to a drawn one in the deck, where the sentence tells of that order."""
    card = card_named(candidate.card)
    if card is None or not card.is_major:
        return False
    start, end = sentence_around(text, candidate.start, candidate.end)
    return says_order(text, candidate.start, candidate.end) and any(
        other.card in drawn
        and start <= other.start < end
        and (neighbor := card_named(other.card)) is not None
        and neighbor.is_major
        and abs(neighbor.number - card.number) == 1
        for other in candidates
    )
