"""What a person is asked of an item to label: by buttons with a key, or by a field to fill in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.frozen import frozen
from steelyard.people.labels import PREFERENCE, LabelTerms
from steelyard.report.format import as_text
from steelyard.store.people import ANSWER, SCORES, VERDICT

if TYPE_CHECKING:
    from steelyard.suite.judge import Rubric

_MOST_BUTTONS = 11
"""A wider scale is a number to type."""
_PLACED = ("text", "start", "end", "box")
"""What a page can fill in of a span or a box by itself."""


@frozen
class Choice:
    """A button: its text, the value that it stands for, its key, and what it means."""

    text: str
    value: Any
    key: str
    about: str = ""


@frozen
class Option:
    """A value of a field that has a few: its text, and the value as JSON."""

    text: str
    json: str


@frozen
class Question:
    """One thing that is asked of an item."""

    name: str
    about: str
    choices: tuple[Choice, ...] = ()
    field: str = ""
    """text, number, choice or json; "" where there are choices."""
    options: tuple[Option, ...] = ()
    """Of a field that is a choice."""
    members: tuple[str, ...] = ()
    """Of a list, the keys of its items that a page can fill in."""
    start: str = ""
    """What the field holds at the beginning."""
    notes: tuple[str, ...] = ()
    required: bool = True
    whole: bool = False
    """Whether the field is all of the answer."""


def questions_of(terms: LabelTerms, kind: str) -> Iterator[Question]:
    """What is asked of an item for a label of this kind."""
    if kind == SCORES and terms.suite.judge is not None:
        yield from _of_rubric(terms.suite.judge.rubric)
    elif kind == VERDICT:
        yield Question(kind, "Does the answer pass?", (Choice("pass", True, "p"), Choice("fail", False, "f")))
    elif kind == PREFERENCE:
        sides = Choice("first", "first", "1"), Choice("second", "second", "2"), Choice("tie", "tie", "t")
        yield Question(kind, "Which answer is better?", sides)
    else:
        yield from _of_schema(terms.suite.answer.schema_data)


def _of_rubric(rubric: Rubric) -> Iterator[Question]:
    low, high = rubric.scale
    by_digit = low >= 0 and high - low < _MOST_BUTTONS and high <= (10 if low else 9)
    for item in rubric.dimensions:
        if by_digit:
            levels = (Choice(str(n), n, str(n % 10), item.scores.get(str(n), "")) for n in range(low, high + 1))
            yield Question(item.name, item.about, tuple(levels))
        else:
            notes = tuple(f"{score}: {text}" for score, text in item.scores.items())
            yield Question(item.name, f"{item.about} ({low} to {high})", field="number", notes=notes)
    for flag in rubric.flags:
        ways = Choice("yes", True, "y"), Choice("no", False, "n")
        yield Question(flag.name, flag.about, ways, notes=tuple(flag.triggers))


def _of_schema(schema: Mapping[str, Any] | None) -> Iterator[Question]:
    """A field for each property of the answer's schema; one for all of it where it is a text or has no properties."""
    if schema is None or not schema.get("properties"):
        about = "Your own answer" + ("" if schema is None else " as JSON")
        yield Question(ANSWER, about, field="text" if schema is None else "json", whole=True)
        return
    for name, part in schema["properties"].items():
        part = part if isinstance(part, Mapping) else {}
        kinds, items = part.get("type", ""), part.get("items")
        kind = next((item for item in kinds if item != "null"), "") if isinstance(kinds, list) else kinds
        values: Sequence[Any] = [True, False] if kind == "boolean" else part.get("enum") or ()
        items = items if isinstance(items, Mapping) else {}
        field = {"string": "text", "integer": "number", "number": "number"}.get(kind, "json")
        yield Question(
            name,
            str(part.get("description", "")),
            field="choice" if values else field,
            options=tuple(Option(as_text(value), json.dumps(value)) for value in values),
            members=tuple(key for key in items.get("properties", {}) if key in (*_PLACED, *items.get("required", ()))),
            start="[]" if kind == "array" else "",
            required=name in schema.get("required", ()),
        )
