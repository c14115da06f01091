"""The structure of a reading, measured from its text and the cards drawn: coverage, spine, cards nobody drew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from steelyard import Case, Fault, Measure, Reading, Scorer

from .mentions import Mention, find_cards
from .sections import passages, split_sentences
from .spread import Drawn, drawn_cards, spread_mistake
from .substance import Substance, substance

LONGEST = 12_000
"""Characters of a reading; those of the suite have at most 4,600. Looking for cards and harm takes 30 µs for each."""

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
    names = [one.card for one in drawn]
    positions = [one.position for one in drawn]
    mentions = find_cards(text, names, positions)
    found = passages(text, mentions, names)
    held = {card: substance(text, passage, mentions, positions) for card, passage in found.items()}
    strange: dict[str, Mention] = {}
    known = {*names, *(one.card for one in find_cards(question))}
    for one in mentions:
        if one.card not in known and not one.aside:
            strange.setdefault(one.card, one)
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
        drawn = drawn_cards(self.known(case, "cards"))
        if not drawn:
            return Reading(None, note="the case lists no cards")
        text = self.seen(answer)
        text = text if isinstance(text, str) else ""
        if too_long := length_problem(text):
            return Reading(0.0, counts=self.nothing(case), misshapen=too_long)
        found = anatomy(text, drawn, question_of(case))
        value = 0.0 if found.strange else found.coverage
        return Reading(
            value,
            expected=[one.card for one in drawn],
            got=sorted({one.card for one in found.mentions if not one.aside}),
            note=_note(found),
            faults=_faults(text, found),
            counts=_counts(found),
            metrics=_metrics(found),
        )

    def nothing(self, case: Case) -> Mapping[str, int]:
        drawn = len(drawn_cards(self.known(case, "cards")))
        return {"covered": 0, "complete_sections": 0, "with_why": 0, "with_next": 0, "drawn": drawn} if drawn else {}

    def fault_codes(self) -> Mapping[str, str]:
        return {
            "HALLUCINATED_CARD": "The reading presents a card that nobody drew.",
            "MISSING_CARD": "A drawn card is not in the reading.",
            "THIN_SECTION": "A drawn card is named, and nothing is said of it.",
            "WRONG_ORIENTATION": "The reading says reversed of a card drawn upright, or the other way round.",
        }

    def check(self, case: Case) -> str | None:
        return spread_mistake(self.known(case, "cards"), self.cards)


def length_problem(text: str) -> str:
    """Why the reading is not looked at; "" for one of a length that readings have."""
    return f"it has {len(text):,} characters, more than the {LONGEST:,} that are read" if len(text) > LONGEST else ""


def _counts(found: Anatomy) -> dict[str, int]:
    held = found.held.values()
    return {
        "covered": len(found.held),
        "complete_sections": sum(one.what for one in held),
        "with_why": sum(one.why for one in held),
        "with_next": sum(one.next for one in held),
        "drawn": len(found.drawn),
    }


def _metrics(found: Anatomy) -> dict[str, Any]:
    counts = _counts(found)
    complete = counts["complete_sections"] == counts["drawn"]
    return {
        "coverage": found.coverage,
        "hallucinated": len(found.strange),
        "hallucinated_cards": [one.card for one in found.strange],
        "missing_cards": [one.card for one in found.drawn if one.card not in found.held],
        "spine_complete": complete,
        "spine_sections": counts["complete_sections"],
        "why_sections": counts["with_why"],
        "next_sections": counts["with_next"],
        "drawn": counts["drawn"],
        "issues": not complete,  # a card that is not named has no section either
    }


def _note(found: Anatomy) -> str:
    note = f"{len(found.held)} of {len(found.drawn)} cards"
    made_up = ", ".join(one.card for one in found.strange)
    return f"{note}; not drawn: {made_up}" if made_up else note


def _faults(text: str, found: Anatomy) -> tuple[Fault, ...]:
    """The faults, cards nobody drew first.

    As long as one of those is there the value is 0 whatever else is mended; together they take all of the coverage.
    """
    faults = [
        Fault(
            {"HALLUCINATED_CARD": found.coverage / len(found.strange)},
            expected="only cards that were drawn",
            got=one.card,
            evidence=sentence_at(text, one.start),
        )
        for one in found.strange
    ]
    gain = 0.0 if found.strange else 1.0 / len(found.drawn)
    for card in found.drawn:
        told = found.held.get(card.card)
        if told is None:
            faults.append(Fault({"MISSING_CARD": gain}, card.position, card.card))
        elif not told.what:
            first = next(one for one in found.mentions if one.card == card.card and not one.aside)
            evidence = sentence_at(text, first.start)
            wanted = f"what {card.card} is"
            faults.append(Fault({"THIN_SECTION": 0.0}, card.position, wanted, first.as_written, evidence))
        if (turned := _turned(card, found.mentions)) is not None:
            evidence = sentence_at(text, turned.start)
            wanted = f"{card.card}, {card.orientation}"
            got = f"{turned.as_written}, {turned.orientation}"
            faults.append(Fault({"WRONG_ORIENTATION": 0.0}, card.position, wanted, got, evidence))
    return tuple(faults)


def _turned(card: Drawn, mentions: Sequence[Mention]) -> Mention | None:
    """The first mention that says the other orientation; None unless every one that says any says that."""
    if card.orientation is None:
        return None
    said = [one for one in mentions if one.card == card.card and not one.aside and one.orientation is not None]
    return said[0] if said and all(one.orientation != card.orientation for one in said) else None


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
