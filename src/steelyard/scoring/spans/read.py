"""Spans read from a document and put in their place in a text: where the offsets say, or where the words are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.frozen import frozen
from steelyard.records import Span
from steelyard.scoring.building import build_answer
from steelyard.scoring.spans.offsets import OffsetError, OffsetUnit, TextOffsets
from steelyard.scoring.spans.sections import section_at
from steelyard.suite.paths import EVERY, MISSING, Getter, compile_path, split_path

_LONGEST_QUOTE = 60
_PARTS = ("text", "start", "end", "role", "confidence")


@frozen
class TextSpan:
    """A piece of a text with its role. Offsets are in code points; `index` is its position in the list it came from."""

    text: str
    start: int
    end: int
    role: str = ""
    confidence: float | None = None
    section: str = ""
    index: int = 0
    misplaced: str = ""
    """Why the offsets it came with are not its own, in words; it was then put where its text is."""


@frozen
class LostSpan:
    """What stood in a list of spans and has no place in the text."""

    index: int
    why: str
    text: str = ""
    role: str = ""
    confidence: float | None = None
    misplaced: str = ""
    """What is wrong with the offsets it came with, in words; "" when it came without."""


@frozen
class Spans:
    """All spans of one list: those that have a place in the text, and those that have none."""

    placed: tuple[TextSpan, ...] = ()
    lost: tuple[LostSpan, ...] = ()

    def __len__(self) -> int:
        return len(self.placed) + len(self.lost)

    @property
    def all(self) -> tuple[TextSpan | LostSpan, ...]:
        """Those with a place, then those without."""
        return (*self.placed, *self.lost)


class _Written(NamedTuple):
    text: str | None
    start: int | None
    end: int | None
    role: str
    confidence: float | None
    unreadable: str


class SpansLayout(BaseModel):
    """How a document holds its spans: the path to their list, and where in a span its parts are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spans: str = Field(default="spans[]", description="Path to the list of spans, with [] at its end.")
    text: str | None = Field(default="text", description="Where in a span its text is; null when it has none.")
    start: str | None = Field(default="start", description="Where its first offset is; null when it has none.")
    end: str | None = Field(default="end", description="Where the offset after its last character is.")
    role: str | None = Field(default="role", description="Where its role is; null when spans have no roles.")
    confidence: str | None = Field(default="confidence", description="Where its confidence is, a number from 0 to 1.")
    offsets: OffsetUnit | None = Field(
        default=None, description="What these offsets count, if not the same as the scorer's `offsets`."
    )

    @field_validator("spans")
    @classmethod
    def _spans_are_one_list(cls, path: str) -> str:
        steps = split_path(path)
        if steps[-1:] != (EVERY,) or steps.count(EVERY) != 1:
            raise ValueError(f"{path!r} is not the path of one list: write it with a single [] at its end, as spans[]")
        return path

    @model_validator(mode="after")
    def _spans_can_be_placed(self) -> Self:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end go together: give both or neither")
        if self.text is None and self.start is None:
            raise ValueError("a span without text and offsets has no place: say where one of them is")
        for path in self._parts.values():
            if EVERY in split_path(path):
                raise ValueError(f"{path!r} leads to a list, but a span has one of it: leave out the []")
        return self

    @cached_property
    def list_path(self) -> str:
        """The path to the list itself."""
        return self.spans.removesuffix(EVERY)

    @cached_property
    def _parts(self) -> dict[str, str]:
        parts = {name: getattr(self, name) for name in _PARTS}
        return {name: path for name, path in parts.items() if path is not None}

    @cached_property
    def _keys(self) -> tuple[str, ...] | None:
        """The keys of a plain object that hold the parts, the shortest way to read them; None when it takes paths."""
        steps = [split_path(self._parts.get(name, "")) for name in _PARTS]
        return tuple(path[0] for path in steps) if all(len(path) == 1 for path in steps) else None

    @cached_property
    def _getters(self) -> list[Getter | None]:
        return [compile_path(self._parts[name]) if name in self._parts else None for name in _PARTS]

    def _looked_up(self, item: Any) -> Iterator[Any]:
        for get in self._getters:
            value = MISSING if get is None else get(item)
            yield None if value is MISSING else value

    def result(self, data: Any) -> Sequence[Any] | None:
        """The list of spans as the data (or case) holds it; None when there is no list."""
        value = compile_path(self.list_path)(data)
        return value if isinstance(value, (list, tuple)) else None

    def place_of(self, index: int) -> str:
        """How a finding names the span at that position: `spans[3]`."""
        return f"{self.list_path}[{index}]"

    def written(self, item: Any) -> _Written:
        """The parts of one span as far as they can be read."""
        text, given_start, given_end, role, confidence = (
            map(item.get, self._keys) if self._keys and type(item) is dict else self._looked_up(item)
        )
        start, end = _whole(given_start), _whole(given_end)
        unreadable = ""
        if (start is None or end is None) and (given_start is not None or given_end is not None):
            unreadable = f"its offsets are {_quoted(given_start)} and {_quoted(given_end)}, not two whole numbers"
            start = end = None
        return _Written(
            text if isinstance(text, str) and text else None,
            start,
            end,
            role.strip() if isinstance(role, str) else "",
            _claim(confidence),
            unreadable,
        )

    def build(self, spans: Sequence[TextSpan], text: str, unit: OffsetUnit) -> Any:
        """A document in this layout that reads back to the spans; of spans that have none, the confidence is 1."""
        ruler = TextOffsets(text, self.offsets or unit)
        return self.document([self.element(span, ruler) for span in spans])

    def element(self, span: TextSpan, ruler: TextOffsets) -> Any:
        """One span as this layout writes it."""
        values = {
            "text": span.text,
            "start": ruler.from_code_points(span.start),
            "end": ruler.from_code_points(span.end),
            "role": span.role,
            "confidence": 1.0 if span.confidence is None else span.confidence,
        }
        return build_answer({path: values[name] for name, path in self._parts.items()})

    def document(self, elements: Sequence[Any]) -> Any:
        """A document that holds these elements as its list."""
        return build_answer({self.list_path: list(elements)})


USUAL = SpansLayout()
"""`spans[]`, each with text, start, end, role and confidence."""


def read_spans(
    items: Sequence[Any],
    text: str,
    *,
    layout: SpansLayout = USUAL,
    offsets: OffsetUnit = "code_points",
    sections: Mapping[str, Span | None] | None = None,
) -> Spans:
    """The spans of a list with their places in the text.

    A span whose offsets do not give its text, or that has none, is put where its text occurs: when that is only one
    place, or when one place is nearer to its offsets than all others and overlaps them. If neither, it is lost.
    """
    ruler = TextOffsets(text, layout.offsets or offsets)
    placed: list[TextSpan] = []
    lost: list[LostSpan] = []
    for index, item in enumerate(items):
        written = layout.written(item)
        place, stated, why = _place(written, text, ruler)
        if place is None:
            lost.append(LostSpan(index, why, written.text or "", written.role, written.confidence, stated))
            continue
        start, end = place
        section = "" if sections is None else section_at(sections, start)
        placed.append(
            TextSpan(text[start:end], start, end, written.role, written.confidence, section, index, misplaced=stated)
        )
    return Spans(tuple(placed), tuple(lost))


def _place(written: _Written, text: str, ruler: TextOffsets) -> tuple[Span | None, str, str]:
    """Where the span is, what is wrong with its offsets, and why it has no place when it has none."""
    given, stated = _by_offsets(written, ruler)
    if given is not None and (written.text is None or text[given[0] : given[1]] == written.text):
        return given, "", ""
    if written.text is None:
        return None, stated, stated or "it has neither a text nor offsets"
    if given is not None:
        stated = (
            f"offsets {written.start} to {written.end} give {_quoted(text[given[0] : given[1]])}, "
            f"not {_quoted(written.text)}"
        )
    place, why = _by_text(written.text, text, given)
    return place, stated, f"{stated}; {why}" if stated and why else why


def _by_offsets(written: _Written, ruler: TextOffsets) -> tuple[Span | None, str]:
    if written.start is None or written.end is None:
        return None, written.unreadable
    try:
        start, end = ruler.to_code_points(written.start), ruler.to_code_points(written.end)
    except OffsetError as error:
        return None, str(error)
    if start >= end:
        return None, f"offsets {written.start} to {written.end} hold nothing"
    return (start, end), ""


def _by_text(wanted: str, text: str, near: Span | None) -> tuple[Span | None, str]:
    size = len(wanted)
    starts = _occurrences(wanted, text)
    if not starts:
        return None, f"{_quoted(wanted)} is not in the text"
    if len(starts) > 1 and near is not None:
        # The first two by distance: with an equal distance nothing says which is meant.
        nearest, next_one = sorted(starts, key=lambda start: abs(start - near[0]))[:2]
        overlaps = nearest < near[1] and near[0] < nearest + size
        if overlaps and abs(nearest - near[0]) < abs(next_one - near[0]):
            starts = [nearest]
    if len(starts) > 1:
        return None, f"{_quoted(wanted)} is in the text {len(starts)} times"
    return (starts[0], starts[0] + size), ""


def _occurrences(wanted: str, text: str) -> list[int]:
    results: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        results.append(at)
        at = text.find(wanted, at + 1)
    return results


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return value
    return int(value) if value.is_integer() else None


def _claim(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= 1 and math.isfinite(value) else None


def _quoted(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**15:
        return "a number of more than 15 digits"
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_QUOTE else shown[: _LONGEST_QUOTE - 1] + "…"
