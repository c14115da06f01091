"""Patterns that cannot run away: how much of an answer they look at, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

MOST_SEARCHED: Final = 10_000
"""Characters of one text in an answer that a pattern of an expectation looks at; the rest is cut off."""

MOST_SEARCHED_IN_ALL: Final = 100_000
"""Characters of all texts together that one check looks at: a pattern's time may grow with the square of a text."""

LONGEST_SEARCH: Final = 0.5
"""Seconds of CPU that one search may take. Some patterns take a time that doubles with each character of the text."""


class Unsearchable(ValueError):
    """An answer that is too large or nested too deeply to be searched."""


class Searched:
    """What one check may still look at."""

    def __init__(self) -> None:
        self._left = MOST_SEARCHED_IN_ALL

    def head(self, text: str) -> str:
        """The part of the text that is searched; Unsearchable when too much was searched before it."""
        head = text[:MOST_SEARCHED]
        self._left -= len(head)
        if self._left < 0:
            raise Unsearchable(f"the answer holds more than {MOST_SEARCHED_IN_ALL} characters to search")
        return head


def fits(pattern: regex.Pattern[str], text: str, *, whole: bool = False) -> bool:
    """True when the pattern is found in the text, or, `whole`, is all of it.

    ValueError with a sentence when that takes too long: what the text is worth is then not known.
    """
    try:
        return (pattern.fullmatch if whole else pattern.search)(text, timeout=LONGEST_SEARCH) is not None
    except TimeoutError:
        raise ValueError(
            f"the pattern {pattern.pattern!r} gave no result within {LONGEST_SEARCH:g} s on a text of {len(text):,}"
            " characters: write it without a repeat inside a repeat"
        ) from None
