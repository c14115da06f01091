"""Documents whose shape hides what is to be done: walls of text, procedures in running text, lists with holes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .breach import Breach
from .text_parts import Part, is_heading, is_list_item, paragraphs, sentences, words

_MOST_WORDS = 120
_MOST_WORDS_OF_A_SENTENCE = 40
_WITHOUT_HEADING = 200
_FEWEST_STEPS = 3
_STEP = re.compile(
    r"(?:^|[.;,]\s+|\band\s+)"
    r"(first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|afterwards|finally|lastly)\b",
    re.I,
)
_NUMBERED = re.compile(r"\s*(\d+)[.)]\s")


def find(content: str) -> Iterator[Breach]:
    """Every paragraph that is too long or hides a procedure, every list with a hole, and a text without headings."""
    parts = paragraphs(content)
    for part in parts:
        yield from _paragraph(part)
    yield from _holes(parts)
    total = len(words(content))
    if total > _WITHOUT_HEADING and not any(is_heading(part) for part in parts):
        yield Breach(None, "info", f"{total} words without a heading.", "Give each subject a heading of its own.", 0.7)


def _paragraph(part: Part) -> Iterator[Breach]:
    if is_list_item(part) or is_heading(part):
        return
    n = len(words(part.text))
    if n > _MOST_WORDS:
        fix = "Break it where the thought changes."
        yield Breach(_trimmed(part), "warning", f"A paragraph of {n} words.", fix, 0.9)
    steps = [found.group(1).lower() for found in _STEP.finditer(part.text)]
    if len(steps) >= _FEWEST_STEPS:
        told = f"A procedure of several steps ({', '.join(steps[:4])}) in running text."
        yield Breach(_trimmed(part), "warning", told, "Write the steps as a numbered list.", 0.8)
    for sentence in sentences(part):
        long = len(words(sentence.text))
        if long > _MOST_WORDS_OF_A_SENTENCE:
            yield Breach(sentence.span, "info", f"A sentence of {long} words.", "Make two of it.", 0.7)


def _holes(parts: list[Part]) -> Iterator[Breach]:
    before: int | None = None
    for part in parts:
        numbered = _NUMBERED.match(part.text)
        number = int(numbered.group(1)) if numbered else None
        if number is not None and before is not None and number > before + 1:
            told = f"Step {number} follows step {before}."
            yield Breach(_trimmed(part), "warning", told, "Number the steps without a gap.", 0.9)
        before = number if number is not None else before if not is_heading(part) else None


def _trimmed(part: Part) -> tuple[int, int]:
    stripped = part.text.rstrip()
    lead = len(stripped) - len(stripped.lstrip())
    return part.start + lead, part.start + len(stripped)
