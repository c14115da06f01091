"""The structure of a reading, measured from its text and the cards drawn: coverage, spine, cards nobody drew."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pydantic import Field

from steelyard import Case, Finding, Measure, Reading, Scorer

from .deck import card_named, nearest
from .folding import fold
from .labels import Orientation
from .mentions import Mention, find_cards
from .sections import Passage, passages, split_sentences


@dataclass(frozen=True, slots=True)
class Drawn:
    """One card on the table; `orientation` is None when the case does not say."""

    card: str
    position: str
    orientation: Orientation | None


def drawn_cards(listed: Any) -> list[Drawn]:
    """The cards of a case's list; those that `spread_mistake` would tell of are left out."""
    cards: list[Drawn] = []
    for entry in listed if isinstance(listed, (list, tuple)) else ():
        card = card_named(_plain(entry, "card"))
        if card is not None and all(card.name != other.card for other in cards):
            cards.append(Drawn(card.name, _plain(entry, "position"), _orientation(entry)))
    return cards


def spread_mistake(listed: Any, path: str) -> str | None:
    """What is wrong with a case's list of cards, in words for its author; None when nothing is."""
    if not isinstance(listed, (list, tuple)) or not listed:
        state = "missing" if listed is None else "empty" if listed in ([], ()) else repr(listed)
        return f"{path} is {state}: a list of cards is needed, each with position, card and orientation"
    seen: dict[str, int] = {}
    for number, entry in enumerate(listed, 1):
        problem = _entry_mistake(entry)
        if problem:
            return f"{path}, card {number}: {problem}"
        card = card_named(_plain(entry, "card"))
        name = "" if card is None else card.name
        if name in seen:
            return f"{path}, card {number}: {name} was already drawn as card {seen[name]}, and a deck holds it once"
        seen[name] = number
    return None


def _entry_mistake(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return f"{entry!r} is no card: an object with position, card and orientation is needed"
    name = _plain(entry, "card")
    if not name:
        return "it has no card name"
    if card_named(name) is None:
        close = nearest(name)
        return f"{name!r} is no card of the deck" + (f": did you mean {close}?" if close else "")
    turned = entry.get("orientation")
    if turned is not None and _orientation(entry) is None:
        return f"orientation is {turned!r}: upright or reversed is needed"
    return None


def _plain(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return fold(value).text.strip() if isinstance(value, str) else ""


def _orientation(entry: Any) -> Orientation | None:
    turned = _plain(entry, "orientation").lower()
    if turned == "upright":
        return "upright"
    return "reversed" if turned == "reversed" else None


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
    r"|time)|excluded",
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
    names = [(mention.start, mention.end) for mention in mentions]
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


_NOTHING = Substance(what=False, why=False, next=False)


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What was found in one reading; `strange` are the mentions of cards nobody drew, one for each card."""

    drawn: tuple[Drawn, ...]
    mentions: tuple[Mention, ...]
    held: Mapping[str, Substance]
    """What is said of each drawn card that is named, by card."""
    strange: tuple[Mention, ...]

    @property
    def coverage(self) -> float:
        """The share of the drawn cards that the reading names."""
        return len(self.held) / len(self.drawn)


def anatomy(text: str, drawn: Sequence[Drawn], question: str = "") -> Anatomy:
    """The parts of the reading: which drawn cards it names, what it says of each, and which cards nobody drew.

    A card that is only compared with ("unlike the Tower") is neither covered nor made up, and one that the asker's
    own question names is not made up.
    """
    names = [card.card for card in drawn]
    positions = [card.position for card in drawn]
    mentions = find_cards(text, names, positions)
    by_card = passages(text, mentions, names)
    held = {card: substance(text, passage, mentions, positions) for card, passage in by_card.items()}
    strange: dict[str, Mention] = {}
    expected = {*names, *(mention.card for mention in find_cards(question))}
    for mention in mentions:
        if mention.card not in expected and not mention.compared:
            strange.setdefault(mention.card, mention)
    return Anatomy(tuple(drawn), tuple(mentions), held, tuple(strange.values()))


class Structure(Scorer):
    """The share of the drawn cards that a reading names, and 0 as soon as it names one that nobody drew.

    It is a measure for the judge's binding rules, so the suite gives it no weight.
    """

    needs_truth: ClassVar[bool] = False
    case_paths: ClassVar[tuple[str, ...]] = ("cards",)
    measures: ClassVar[Mapping[str, Measure]] = {
        "coverage": Measure("covered", "drawn", "of the drawn cards are named"),
        "spine": Measure("complete_sections", "drawn", "of the drawn cards have a section that says what they are"),
        "why": Measure("with_why", "drawn", "of the drawn cards have a section that says why"),
        "next": Measure("with_next", "drawn", "of the drawn cards have a section that says what next"),
    }
    metrics: ClassVar[Mapping[str, str]] = {
        "coverage": "share of the drawn cards that the reading names, 0 to 1",
        "hallucinated": "how many cards it presents that nobody drew",
        "hallucinated_cards": "their names",
        "missing_cards": "drawn cards that it does not name",
        "spine_complete": "every drawn card has a section that says what it is",
        "spine_sections": "how many drawn cards have one",
        "why_sections": "how many drawn cards have a section that says why",
        "next_sections": "how many drawn cards have a section that says what next",
        "drawn": "how many cards were drawn",
        "issues": "a drawn card is missing, or nothing is said of it",
    }

    cards: str = Field(default="input.cardsInfo", description="Path to the list of drawn cards in the case.")

    def read(self, answer: Any, case: Case) -> Reading:
        drawn = drawn_cards(self.expected_value(case, "cards"))
        if not drawn:
            return Reading(None, note="the case lists no cards")
        text = self.answer_value(answer)
        text = text if isinstance(text, str) else ""
        result = anatomy(text, drawn, question_of(case))
        value = 0.0 if result.strange else result.coverage
        return Reading(
            value,
            expected=[card.card for card in drawn],
            got=sorted({mention.card for mention in result.mentions if not mention.compared}),
            note=_note(result),
            findings=_findings(text, result),
            counts=_counts(result),
            metrics=_metrics(result),
        )

    def nothing(self, case: Case) -> Mapping[str, int]:
        drawn = len(drawn_cards(self.expected_value(case, "cards")))
        return {"covered": 0, "complete_sections": 0, "with_why": 0, "with_next": 0, "drawn": drawn} if drawn else {}

    def finding_codes(self) -> Mapping[str, str]:
        return {
            "HALLUCINATED_CARD": "The reading presents a card that nobody drew.",
            "MISSING_CARD": "A drawn card is not in the reading.",
            "THIN_SECTION": "A drawn card is named, and nothing is said of it.",
            "WRONG_ORIENTATION": "The reading says reversed of a card drawn upright, or the other way round.",
        }

    def check(self, case: Case) -> str | None:
        return spread_mistake(self.expected_value(case, "cards"), self.cards)


def _counts(result: Anatomy) -> dict[str, int]:
    held = result.held.values()
    return {
        "covered": len(result.held),
        "complete_sections": sum(part.what for part in held),
        "with_why": sum(part.why for part in held),
        "with_next": sum(part.next for part in held),
        "drawn": len(result.drawn),
    }


def _metrics(result: Anatomy) -> dict[str, Any]:
    counts = _counts(result)
    complete = counts["complete_sections"] == counts["drawn"]
    return {
        "coverage": result.coverage,
        "hallucinated": len(result.strange),
        "hallucinated_cards": [mention.card for mention in result.strange],
        "missing_cards": [card.card for card in result.drawn if card.card not in result.held],
        "spine_complete": complete,
        "spine_sections": counts["complete_sections"],
        "why_sections": counts["with_why"],
        "next_sections": counts["with_next"],
        "drawn": counts["drawn"],
        "issues": not complete,  # a card that is not named has no section either
    }


def _note(result: Anatomy) -> str:
    note = f"{len(result.held)} of {len(result.drawn)} cards"
    made_up = ", ".join(mention.card for mention in result.strange)
    return f"{note}; not drawn: {made_up}" if made_up else note


def _findings(text: str, result: Anatomy) -> tuple[Finding, ...]:
    """The errors, cards nobody drew first.

    As long as one of those is there the value is 0 whatever else is fixed; together they take all of the coverage.
    """
    findings = [
        Finding(
            "HALLUCINATED_CARD",
            expected="only cards that were drawn",
            got=mention.card,
            evidence=sentence_at(text, mention.start),
            gain=result.coverage / len(result.strange),
        )
        for mention in result.strange
    ]
    gain = 0.0 if result.strange else 1.0 / len(result.drawn)
    for card in result.drawn:
        part = result.held.get(card.card)
        if part is None:
            findings.append(Finding("MISSING_CARD", card.position, card.card, gain=gain))
        elif not part.what:
            first = next(mention for mention in result.mentions if mention.card == card.card and not mention.compared)
            evidence = sentence_at(text, first.start)
            wanted = f"what {card.card} is"
            findings.append(Finding("THIN_SECTION", card.position, wanted, first.as_written, evidence))
        if (turned := _turned(card, result.mentions)) is not None:
            evidence = sentence_at(text, turned.start)
            wanted = f"{card.card}, {card.orientation}"
            got = f"{turned.as_written}, {turned.orientation}"
            findings.append(Finding("WRONG_ORIENTATION", card.position, wanted, got, evidence))
    return tuple(findings)


def _turned(card: Drawn, mentions: Sequence[Mention]) -> Mention | None:
    """The first mention that says the other orientation; None unless every one that says any says that."""
    if card.orientation is None:
        return None
    stated = [
        mention
        for mention in mentions
        if mention.card == card.card and not mention.compared and mention.orientation is not None
    ]
    return stated[0] if stated and all(mention.orientation != card.orientation for mention in stated) else None


def question_of(case: Case) -> str:
    """The asker's question; "" when there is none."""
    question = case.input.get("userQuestion") if isinstance(case.input, Mapping) else None
    return question.strip() if isinstance(question, str) else ""


def sentence_at(text: str, place: int) -> str:
    """The sentence that holds this place, in one line."""
    for start, end in split_sentences(text):
        if start <= place < end:
            return " ".join(text[start:end].split())
    return ""
