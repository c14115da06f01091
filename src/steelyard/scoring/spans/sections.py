"""Sections: named regions of a text, each begun by what a pattern finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from steelyard.records import Span

MAIN = "main"
"""The section before all others."""

Patterns = Mapping[str, str | Sequence[str]]
"""By the name of a section, the pattern that begins it, or several of which the first that is found counts."""


def sections_of(text: str, patterns: Patterns, *, first: str = MAIN) -> dict[str, Span | None]:
    """Where each section begins and ends, in code points; None for one that the text does not have.

    A section begins where its pattern is first found and ends where the next one begins. What stands before them all
    is `first`, which is always there, if only from 0 to 0. A place begins one section: it goes to the one declared
    first, and another with a pattern that is found there, too, is looked for further on.
    """
    begins: dict[int, str] = {}
    for name, given in patterns.items():
        at = next((at for at in _places(text, given) if at not in begins), None)
        if at is not None:
            begins[at] = name
    ends = [*sorted(begins), len(text)]
    spans: dict[str, Span | None] = {first: (0, ends[0]), **dict.fromkeys(patterns)}
    for start, end in pairwise(ends):
        spans[begins[start]] = (start, end)
    return spans


def section_at(sections: Mapping[str, Span | None], offset: int) -> str:
    """The section that an offset is in, the boundary belonging to the one that begins there; "" outside of them all."""
    last = ""
    for name, place in sections.items():
        if place is None or place[0] == place[1]:
            continue
        if place[0] <= offset < place[1]:
            return name
        if offset == place[1]:
            last = name
    return last


def complaint_about(patterns: Patterns, *, first: str = MAIN) -> str | None:
    """What is wrong with the patterns, in words; None when nothing is."""
    for name, given in patterns.items():
        if not name.strip() or name == first:
            return f"a section cannot be called {name!r}: that is what stands before the first of them"
        item = [given] if isinstance(given, str) else given
        if not item:
            return f"section {name}: give it a pattern"
        for pattern in item:
            try:
                empty = _compiled(pattern).search("") is not None
            except re.error as error:
                return f"section {name}: {pattern!r} is not a regular expression: {error}"
            if empty:
                return f"section {name}: {pattern!r} is found in an empty text, and so everywhere"
    return None


def _places(text: str, given: str | Sequence[str]) -> Iterator[int]:
    for pattern in [given] if isinstance(given, str) else given:
        for match in _compiled(pattern).finditer(text):
            yield match.start()


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
