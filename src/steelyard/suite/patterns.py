"""Regular expressions that a suite's author wrote and that run on what a system answered."""

from __future__ import annotations

import re
from typing import Final

MOST_SEARCHED: Final = 10_000
"""Characters of one text in an answer that a pattern of an expectation looks at; the rest is cut off."""

MOST_SEARCHED_IN_ALL: Final = 100_000
"""Characters of all texts together that one check looks at: a pattern's time may grow with the square of a text."""

# A group that repeats without limit and whose last part repeats without limit too, such as (a+)+ or (\w*\s?)*:
# on text that almost fits, Python's matcher then tries a number of ways that doubles with each character.
_REPEATED_REPEAT = re.compile(r"(?:[^\\]|^)(?:\\\\)*[+*}]\??(?:[^()\\|]\?|\\.\?)?\)(?:[+*]|\{\d*,\})")


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


def refuse_runaway(text: str) -> None:
    """ValueError with a sentence for a pattern, or a query with one in it, that can take forever."""
    if _REPEATED_REPEAT.search(text):
        raise ValueError(f"{text!r} repeats a group that ends in a repeat: it can take forever; write it without")
