"""Statements of one document that cannot both be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .breach import Breach
from .text_parts import Part, paragraphs, sentences, stems

_FORBIDS = re.compile(
    r"\b(?:must not|shall not|may not|should not|cannot|can not|do not|never|no longer|is prohibited|are prohibited"
    r"|is forbidden|are forbidden|not (?:be )?(?:allowed|permitted))\b",
    re.I,
)
_WAIVES = re.compile(
    r"\b(?:optional|not (?:\w+ )?required|not mandatory|need not|not necessary|may be (?:skipped|omitted|left out))\b",
    re.I,
)
_ASKS = re.compile(
    r"\b(?:must|shall|always|is required|are required|mandatory|at all times|has to|have to|required)\b", re.I
)
_ALLOWS = re.compile(r"\b(?:may|is allowed|are allowed|is permitted|are permitted|can)\b", re.I)
_FIGURE = re.compile(
    r"\b(\d+(?:\.\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[\s-]+"
    r"(seconds?|minutes?|hours?|days?|weeks?|months?|years?|knots?|met(?:er|re)s?|miles?|people|persons?|crew|volts?|bars?"
    r"|degrees?|percent|litres?|liters?|kilograms?|times)\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:in|on|at|during|when|if|while|unless|except|under|inside|outside|for|within|below|above|from|by)\s+"
    r"((?:[\w'-]+\s*){1,4})",
    re.I,
)
_NUMBERS = dict(one=1, two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10, twelve=12)  # noqa: C408
_SHARED_SHARE = 0.6
_FEWEST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence as far as contradictions go: what it is about, what it asks for, and under which conditions."""

    part: Part
    about: frozenset[str]
    stance: str
    figures: tuple[tuple[float, str], ...]
    conditions: frozenset[str]


def find(content: str) -> Iterator[Breach]:
    """Every pair of statements that contradict each other, at the place of the second."""
    earlier: dict[str, Statement] = {}
    for second in (_statement(one) for part in paragraphs(content) for one in sentences(part)):
        if not second.stance and not second.figures:
            continue
        # What was said before in the same words is held against it once.
        conflicts = ((first, why) for first in earlier.values() if (why := _conflict(first, second)))
        first, why = next(conflicts, (None, ""))
        earlier.setdefault(second.part.text, second)
        if first is not None:
            quoted = first.part.text if len(first.part.text) <= 80 else first.part.text[:79] + "…"
            yield Breach(
                second.part.span,
                "violation",
                f'Contradicts "{quoted}": {why}.',
                "Keep one of the two statements, or say when each of them holds.",
                0.75,
            )


def _statement(part: Part) -> Statement:
    figures = tuple((_number(found.group(1)), _unit(found.group(2))) for found in _FIGURE.finditer(part.text))
    plain = _FIGURE.sub(" ", part.text)
    conditions = frozenset(word for found in _CONDITION.finditer(plain) for word in stems(found.group(1)))
    return Statement(part, frozenset(stems(plain)), _stance(part.text), figures, conditions)


def _stance(text: str) -> str:
    for name, pattern in (("forbids", _FORBIDS), ("waives", _WAIVES), ("asks", _ASKS), ("allows", _ALLOWS)):
        if pattern.search(text):
            return name
    return ""


_OPPOSED = {
    frozenset(("asks", "forbids")): "one asks for what the other forbids",
    frozenset(("asks", "waives")): "one asks for what the other makes optional",
    frozenset(("allows", "forbids")): "one allows what the other forbids",
}


def _conflict(first: Statement, second: Statement) -> str:
    """Why the two cannot both be followed; "" when they can."""
    shared = first.about & second.about
    least = min(len(first.about), len(second.about))
    if len(shared) < _FEWEST_SHARED or len(shared) < _SHARED_SHARE * least:
        return ""
    if first.conditions and second.conditions and not first.conditions & second.conditions:
        return ""
    if opposed := _OPPOSED.get(frozenset((first.stance, second.stance))):
        return opposed
    for number, unit in first.figures:
        others = {other for other, of in second.figures if of == unit}
        if others and number not in others:
            return f"{number:g} {unit} and {min(others):g} {unit} are both stated"
    return ""


def _number(text: str) -> float:
    return float(_NUMBERS[text.lower()]) if text.lower() in _NUMBERS else float(text)


def _unit(text: str) -> str:
    return text.lower().rstrip("s")
