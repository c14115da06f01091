"""A reading split into sections, and the passage of it that treats each drawn card."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .mentions import Mention


@dataclass(frozen=True, slots=True)
class TextSection:
    """A stretch of the reading from `start` to `end`; its title, when it has one, ends at `body`.

    `goes_on`: the untitled sections after it are still under its title, as they are under a heading.
    """

    start: int
    body: int
    end: int
    goes_on: bool = False

    @property
    def has_title(self) -> bool:
        """True when it begins with a heading or a label."""
        return self.body > self.start


@dataclass(frozen=True, slots=True)
class Passage:
    """What the reading says of one card: the stretches that treat it, in order, and the text of them."""

    card: str
    spans: tuple[tuple[int, int], ...]
    text: str


_HEAD: Final = re.compile(
    r"""
      ^(?P<heading>[ \t>]*\#{1,6}[ \t]+[^\n]+)(?:\n|\Z)
    | ^(?P<bold>[ \t>]*(?:(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+)?(?:\*\*|__)[^\n*]{1,90}?(?:\*\*|__)[ \t]*[:–—-]?)
    | ^(?P<label>[ \t>]*(?:(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+)?[^\s:.!?|*#>-][^:.!?\n|]{0,70}:)(?=\s|\*)
    | ^(?P<item>[ \t>]*(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+)
    | (?P<gap>\n[ \t>]*\n)
    """,
    re.VERBOSE | re.MULTILINE,
)
_SENTENCE: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+\s+|\n+")
_ABBREVIATED: Final = re.compile(r"(?:\b(?:vs|e\.g|i\.e|no|mr|mrs|ms|dr|st)|^\s*\(?\d{1,2})\.\s+$", re.IGNORECASE)


def split_sections(text: str) -> list[TextSection]:
    """The sections in order, together the whole text: each begins at a heading, a label, a list item or a paragraph.

    The paragraphs under a heading are sections of their own, the first of them being the heading's body.
    """
    sections: list[TextSection] = []
    start = body = 0
    kind = "gap"
    for head in _HEAD.finditer(text):
        now = head.lastgroup or "gap"
        # A blank line after a title is still the title's; any other begins a paragraph.
        if now == "gap" and kind not in ("gap", "item") and not text[body : head.start()].strip():
            continue
        begins = head.end() if now == "gap" else head.start()
        if text[start:begins].strip():
            sections.append(_section(text, start, body, begins, kind))
            start = begins
        kind, body = now, begins if now in ("gap", "item") else head.end()
    if text[start:].strip():
        sections.append(_section(text, start, body, len(text), kind))
    return sections


def _section(text: str, start: int, body: int, end: int, kind: str) -> TextSection:
    return TextSection(start, body, end, kind == "heading" or (body > start and not text[body:end].strip()))


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Where each sentence of that stretch begins and ends; a line's end is a sentence's end."""
    end = len(text) if end is None else end
    ranges = []
    at = start
    for stop in _SENTENCE.finditer(text, start, end):
        if _ABBREVIATED.search(text, max(at, stop.start() - 6), stop.end()):
            continue
        if text[at : stop.end()].strip():
            ranges.append((at, stop.end()))
        at = stop.end()
    if text[at:end].strip():
        ranges.append((at, end))
    return ranges


def passages(text: str, mentions: Sequence[Mention], drawn: Sequence[str]) -> dict[str, Passage]:
    """The passage of every drawn card that is named, by card; one that is only compared with has none.

    A section whose title names one drawn card belongs to it as a whole, and so do the untitled ones under a heading.
    Elsewhere a card has the sentence that names it and those after it in the paragraph, up to the next card; a sentence
    that names several is divided between them at their names.
    """
    named = [mention for mention in mentions if not mention.compared]
    starts = [mention.start for mention in named]
    spans: dict[str, list[tuple[int, int]]] = {card: [] for card in drawn}
    owner: str | None = None
    for section in split_sections(text):
        inside = named[bisect_right(starts, section.start - 1) : bisect_right(starts, section.end - 1)]
        titled = {other.card for other in inside if other.start < section.body}
        if len(titled) == 1:
            card = titled.pop()
            if card in spans:
                spans[card].append((section.start, section.end))
            _lend(text, section, [other for other in inside if other.card != card], spans)
            owner = card if section.goes_on else None
            continue
        if section.has_title:
            owner = None
        _walk(text, section, inside, spans, owner)
    return {
        card: Passage(card, tuple(ranges), "\n".join(text[start:end] for start, end in ranges))
        for card, ranges in spans.items()
        if ranges
    }


def _lend(text: str, section: TextSection, others: Sequence[Mention], spans: dict[str, list[tuple[int, int]]]) -> None:
    """Give each card that another card's section names the rest of that sentence."""
    if not others:
        return
    ends = [end for _, end in split_sentences(text, section.start, section.end)]
    for other in others:
        if other.card in spans:
            spans[other.card].append((other.start, ends[bisect_right(ends, other.start)]))


def _walk(
    text: str,
    section: TextSection,
    inside: Sequence[Mention],
    spans: dict[str, list[tuple[int, int]]],
    current: str | None,
) -> None:
    """Give the section's sentences to the cards they name, those before the first name to `current`."""
    for start, end in split_sentences(text, section.start, section.end):
        here = [other for other in inside if start <= other.start < end]
        if not here:
            if current in spans:
                spans[current].append((start, end))
            continue
        cuts = [start, *(other.start for other in here[1:]), end]
        for other, begins, ends in zip(here, cuts, cuts[1:], strict=False):
            if other.card in spans:
                spans[other.card].append((begins, ends))
        current = here[-1].card
