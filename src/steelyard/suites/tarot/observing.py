"""What can be seen in a reading without understanding it: words taken up, open language, links, quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Final

from steelyard import Case

from .clauses import repeats_itself
from .deck import card_named
from .folding import fold
from .mentions import find_cards
from .sections import Passage, passages, split_sentences
from .structure import question_of


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


_FEWEST_NEW_WORDS: Final = 8
_FEWEST_REPEATED: Final = 3
"""A shorter sentence may well be a heading."""
_LONGEST_QUOTE: Final = 16
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NAME: Final = re.compile(r"(?<![.!?\"'] )(?<!^)\b[A-Z][a-z]{2,}")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?]+[\"'”’)*]*|(?=\n)|$)")
_QUOTE_MARK: Final = re.compile(r"[\"“”„«»\n]|\*\*|\s['‘]|['’]\s")
_MIXED: Final = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0370-\u04ff])\w+\b")
_YOU: Final = _any("you", "your")
_ELEMENT: Final = _any("fire", "water", "air", "earth", "elemental")
_REVERSED: Final = _any("reversed", "reversal", "upside[- ]down", "inverted", "rx", "in reverse")
_OPEN: Final = _any("may", "might", "could", "perhaps", "maybe", "seems?", "suggests?", "possib\\w+")
_STOP_WORDS: Final = frozenset(
    re.findall(
        r"\S+",
        """a about after again all almost also always am an and any anyone anything are around as at away back be
        because been before being best better between both but by came can can't cannot card cards come
        could day did didn't do does doesn't doing don't down each even ever every everybody everyone
        everything feel find first for from get give go going good got had has have he help her here him
        his how i i'm i've if in into is isn't it it's its just keep know let like little long look made
        make many may me might more most much must my near need never new no nobody nor not nothing now
        of off on one only or other our out over own path question reading really right say see she
        should since so some somebody someone something stay still such take tell than that the their them
        then there these they thing things think this those through to together too toward try turn two
        until up us use very want wants was way we well went were what when where whether which while who whom
        why will with without won't would year years yet you your""",
    )
)
_THEMES: Final = (
    _any("job", "career", "boss", "manager", "colleagues?", "employer", "office", "at work", "profession", "promotion"),
    _any("divorce", "dat(?:e|ing)", "love", "heart", "partner", "husband", "wife", "crush", "marriage", "wedding"),
    _any("mother", "father", "dad", "mum", "mom", "parents?", "sister", "brother", "family", "daughter", "son"),
    _any("money", "rent", "savings?", "debt", "inherit\\w*", "account"),
    _any("exam", "study", "studies", "degree", "course", "university"),
)
_STOCK: Final = _any(
    "the universe", "everything happens for a reason", "no longer serves? you", "love and light", "divine timing",
    "your (?:true|own) path", "trust the (?:process|flow|universe)", "raise your vibration", "higher self",
    "blessed be", "inner wisdom", "your energy", "stay positive", "set an intention", "as above,? so below",
    "leap of faith", "your intuition", "spiritual being", "meant for you", "your soul", "the energies",
    "doors? (?:will|may) open", "believe in yourself", "heart already knows", "where you need to be",
    "trust your abilities", "every ending",
)  # fmt: skip
_COLD: Final = _any(
    "people like you", "as usual,? you", "your real problem", "nobody can blame", "cowardice", "coward",
    "making excuses", "(?:stop|the|your) complaining", "let us be frank", "to be frank", "embarrass\\w*",
    "get over it", "grow up", "grown (?:person|man|woman|adult)", "should know better", "pathetic", "naive",
    "foolish of you", "ridiculous",
)  # fmt: skip
_CHOICE: Final = _any(
    "up to you", "you (?:can |get to |may )?(?:decide|choose)", "your (?:own )?(?:choice|decision|call)",
    "(?:is|are|stays?|remains?) yours?", "stays? with you", "(?:for|leaves? (?:it|that) to) you to \\w+",
    "yours to \\w+", "you are free to", "in your (?:own )?hands", "change your mind", "you know best", "only you can",
    "leave that to you",
)  # fmt: skip
_BOUNDARY: Final = _any(
    "not (?:a )?(?:diagnosis|substitute|replacement)", "(?:not|none of this is) (?:medical|financial|legal) advice",
    "(?:cards|reading|tarot) (?:can|do|does|is) ?(?:not|n't)[^.]* (?:know|measure|tell|replace|predict|diagnos\\w+)",
    "limits of (?:this|a) reading", "for (?:reflection|entertainment)", "help ?line",
    "(?:talk|speak|turn|belongs) to (?:a|an|your|you and) (?:doctor|dr|gp|therapist|counsell?or|lawyer|advis[eo]r)",
    "(?:therapist|counsell?or|advis[eo]r|doctor)s?\\b(?!')[^.]{0,40} (?:may|might|could|can|would|is|are)",
)  # fmt: skip
_LINK: Final = _any(
    "side by side", "(?:read|taken|seen|put) together", "together (?:with|they|these|it|the)",
    "between (?:the|these) \\w+", "after (?:the|so much)", "because of the", "where the \\w+",
    "the line (?:through|from)", "(?:a|the) (?:line|way) from", "these two", "all (?:three|four|five)",
    "both (?:cards|ask|of them)", "each other", "one another", "before it",
    "from (?:the|a|an) [^.]{3,60} to (?:the|a|an)", "answers? the", "softens?", "strengthens?", "contradicts?",
    "balances?", "echo(?:es)?", "pulls? against", "the other (?:two|three|four)", "cross(?:es|ed)",
)  # fmt: skip
_TO_JUDGE: Final = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:above|instructions?|rubric|rules|prompt)\b"
    r"|\b(?:tarot_coherence|safety_flag|weaknesses_found|structural_check)\b"
    r"|\b(?:give|award|assign|respond with|score)\b[^.\n]{0,30}\b(?:5|five|highest|full marks|maximum)\b[^.\n]{0,40}"
    r"\b(?:dimensions?|points?|overall|personalization|scores?)\b|\bsystem\s*:"
    r"|<\|\w+\|>|\[/?INST\]|<</?SYS>>|^-{2,} ?end of (?:the )?\w+|^#{2,} ?system\b",
    re.IGNORECASE | re.MULTILINE,
)


class Observations:
    """What can be seen in a reading without understanding it. Quotes are words of the text; "" when there are none."""

    def __init__(self, text: str, question: str, cards: tuple[tuple[str, str, bool], ...]) -> None:
        parts = _parts(text)
        self.to_judge = next((_clipped(part) or part[:60] for part in parts if _meant_for_a_judge(part)), "")
        self.body = _said_once("\n\n".join(part for part in parts if not _meant_for_a_judge(part)))
        self.question = question
        self.cards = cards  # card, position, reversed
        self.drawn = [card for card, _, _ in cards]
        self.sentences = [match[0].strip() for match in _SENTENCE.finditer(self.body) if _WORD.search(match[0])]
        given = {_stem(word) for card, place, _ in cards for word in _words(f"{card} {place}")}
        self.asked = {_stem(word) for word in _words(question) if word not in _STOP_WORDS} - given
        stems = {_stem(word) for word in _words(self.body) if word not in _STOP_WORDS}
        self.reopened = self.asked & stems
        self.says_nothing = len(stems - given - self.asked) < _FEWEST_NEW_WORDS
        self.n_parts = len(_parts(self.body))
        self.n_words = sum(len(set(_words(sentence))) for sentence in self.sentences)
        self.n_open = sum(_OPEN.search(sentence) is not None for sentence in self.sentences)
        self.n_stock = len(_STOCK.findall(self.body))
        self.n_cold = len(_COLD.findall(self.body))
        self.n_elements = len({word.lower() for word in _ELEMENT.findall(self.body)})
        self.on_theme = any(theme.search(question) and theme.search(self.body) for theme in _THEMES)
        self.names = [name for name in _NAME.findall(question) if re.search(rf"\b{name}\b", self.body)]

    @cached_property
    def n_borrowed(self) -> int:
        """Pairs of neighbouring words of the question, both of them with meaning, that the text has too."""
        pairs = {pair for pair in pairwise(_words(self.question)) if all(_stem(word) in self.asked for word in pair)}
        return len(pairs & set(pairwise(_words(self.body))))

    @cached_property
    def n_personal_parts(self) -> int:
        return sum(bool(self._hits(part)) for part in _parts(self.body))

    def _hits(self, part: str) -> set[str]:
        return {_stem(word) for word in _words(part)} & self.asked

    @cached_property
    def _passages(self) -> dict[str, Passage]:
        return passages(self.body, find_cards(self.body, self.drawn), self.drawn)

    def _says(self, card: str, place: str) -> bool:
        """True when a card is named in one sentence with that position."""
        named = re.compile(rf"\b{re.escape(place)}\b", re.IGNORECASE)
        spans = self._passages[card].spans if card in self._passages else ()
        firsts = (split_sentences(self.body, *span)[:1] for span in spans)
        return any(named.search(self.body, start, end) for first in firsts for start, end in first)

    @cached_property
    def n_placed(self) -> int:
        return sum(self._says(card, place) for card, place, _ in self.cards)

    @cached_property
    def n_misplaced(self) -> int:
        """Cards that are named with the position of another and never with their own."""
        places = {place for _, place, _ in self.cards}
        return sum(
            not self._says(card, place) and any(self._says(card, other) for other in places - {place})
            for card, place, _ in self.cards
        )

    @cached_property
    def n_not_turned(self) -> int:
        """Reversed cards of which the text never says so."""
        turned = [
            self._passages[card].text for card, _, is_turned in self.cards if is_turned and card in self._passages
        ]
        return sum(_REVERSED.search(text) is None for text in turned)

    @cached_property
    def _short_names(self) -> dict[str, str]:
        """Words that name one drawn card and no other: the Queen, the Tower."""
        words = [(word, card) for card in self.drawn for word in card.split() if word not in ("The", "of")]
        counted = Counter(word for word, _ in words)
        return {word: card for word, card in words if counted[word] == 1}

    def _links(self, sentence: str) -> bool:
        """True when a sentence brings cards together: in so many words, or by naming two of them."""
        named = {self._short_names[word] for word in _WORD.findall(sentence) if word in self._short_names}
        return len(named) == 2 or _LINK.search(sentence) is not None

    @cached_property
    def n_links(self) -> int:
        return sum(map(self._links, self.sentences))

    @cached_property
    def best_link(self) -> str:
        return self._best(self._links) or self._best(lambda sentence: len(find_cards(sentence, self.drawn)))

    @cached_property
    def most_personal(self) -> str:
        return self._best(lambda sentence: len(self._hits(sentence)))

    @cached_property
    def choice(self) -> str:
        return self._best(lambda sentence: bool(_CHOICE.search(sentence)))

    @cached_property
    def boundary(self) -> str:
        return self._best(lambda sentence: bool(_BOUNDARY.search(sentence)))

    @cached_property
    def most_open(self) -> str:
        return self._best(lambda sentence: len(_OPEN.findall(sentence)))

    @cached_property
    def nearest_to_advice(self) -> str:
        return self._best(lambda sentence: bool(_YOU.search(sentence))) or self._best(lambda _: True)

    def _best(self, worth: Callable[[str], int]) -> str:
        """The sentence worth most, the earliest of equals, cut to a quote; "" when none is worth anything."""
        ranked = sorted(self.sentences, key=lambda sentence: -worth(sentence))
        return next((quote for text in ranked if worth(text) and (quote := _clipped(text))), "")


def look(text: str, case: Case) -> Observations:
    """What can be seen in a reading of that case's cards."""
    cards = [
        (str(entry["card"]), str(entry["position"]), entry.get("orientation")) for entry in case.input["cardsInfo"]
    ]
    usual = tuple(
        (card.name if (card := card_named(name)) else name, place, turned == "reversed")
        for name, place, turned in cards
    )
    return Observations(text, fold(question_of(case)).text, usual)


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if _WORD.search(part)]


def _said_once(text: str) -> str:
    """The text without sentences that say again what was said before: repetition adds nothing."""
    seen: set[tuple[str, ...]] = set()
    pieces = []
    for start, end in split_sentences(text):
        words = tuple(_words(text[start:end]))
        if (words not in seen or len(words) < _FEWEST_REPEATED) and not repeats_itself(words):
            pieces.append(text[start:end])
        seen.add(words)
    return "".join(pieces)


def _meant_for_a_judge(part: str) -> bool:
    # Words put together from Latin and look-alike letters are written for a machine, not for a person.
    return _TO_JUDGE.search(fold(part).text) is not None or len(_MIXED.findall(part)) >= 2


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(fold(text).text)]


def _stem(word: str) -> str:
    """A word without the endings that change with grammar."""
    word = word.removesuffix("'s").removesuffix("s")
    for ending in ("ing", "ed", "ly", "e"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def _clipped(sentence: str) -> str:
    """The longest run of a sentence without quotation marks, cut to some words; "" when it has fewer than three."""
    longest = max((run.strip(" *_-:,;#>") for run in _QUOTE_MARK.split(sentence)), key=len, default="")
    words = longest.split(" ")[:_LONGEST_QUOTE]
    return " ".join(words) if len(words) >= 3 else ""
