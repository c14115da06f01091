"""A prompt in its sections, the spans of a case in their places, and an evaluation's metadata in the seed's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard import Case
from steelyard.spans import MAIN, OffsetUnit, Spans, TextOffsets, read_spans, sections_of

HEADERS = {
    "technicalSpecs": r"\s*(?:\*\*|(?m:^)#+)\s*(?i:technical\s+spec(?:s|ifications))\b",
    "alternatives": r"\s*(?:\*\*|(?m:^)#+)\s*(?i:alternative|variations\s*:?\s*(?:\*\*|(?m:$)))",
}
"""The header that begins each section, with the blank lines before it; `suite.yaml` says the same."""
SECTIONS = (MAIN, *HEADERS)


def sections_in(text: str) -> dict[str, tuple[int, int] | None]:
    """Where each section is, in code points; None for one that the prompt does not have."""
    return sections_of(text, HEADERS)


def metadata(text: str, spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How long the prompt is, where its sections are and how many spans begin in each, counted in UTF-16 units."""
    ruler = TextOffsets(text, "utf16")
    sections = {name: _as_utf16(place, ruler) for name, place in sections_in(text).items()}
    return {
        "promptLength": ruler.from_code_points(len(text)),
        "sections": sections,
        "spansBySection": {name: sum(section_of(span, sections) == name for span in spans) for name in SECTIONS},
    }


def section_of(span: Mapping[str, Any], sections: Mapping[str, Any]) -> str:
    """The section that a span says it is in, or that its start is in; the main one when neither tells."""
    section, start = span.get("section"), span.get("start")
    if section in SECTIONS:
        return str(section)
    for name, place in sections.items():
        if isinstance(start, int) and place and place["start"] <= start < place["end"]:
            return name
    return MAIN


def _as_utf16(place: tuple[int, int] | None, ruler: TextOffsets) -> dict[str, int] | None:
    if place is None:
        return None
    return {"start": ruler.from_code_points(place[0]), "end": ruler.from_code_points(place[1])}


OFFSETS: Final[OffsetUnit] = "utf16"
"""What the offsets of gold and answers count; `suite.yaml` says the same."""


def gold_spans(case: Case) -> Spans | None:
    """The gold spans of a case; None when nobody labelled it. An empty list says that there is nothing to label."""
    given = case.expected.get("spans") if isinstance(case.expected, dict) else None
    return None if given is None else placed(given, case)


def answer_spans(text: str, case: Case) -> Spans:
    """The spans of an answer from what its judge is given: their list as JSON."""
    items = json.loads(text)
    if not isinstance(items, list):
        raise ValueError("what is judged is no list of spans")
    return placed(items, case)


def placed(items: Sequence[Any], case: Case) -> Spans:
    """Spans of a list in their places in the prompt, each with its section."""
    prompt: str = case.input["text"]
    return read_spans(items, prompt, offsets=OFFSETS, sections=sections_in(prompt))
