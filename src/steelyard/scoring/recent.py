"""Results of the last few dozen answers: a repeat with the same text is not scored again."""

from __future__ import annotations

from typing import Generic, TypeVar

from steelyard.suite.case import Case

_MOST = 64
"""Repeats of a case follow one another: the one before is among the last few dozen."""
_LONGEST = 50_000
"""Characters of an answer that is worth keeping; so many of the longest answers take 3 MB."""

T = TypeVar("T")
Statement = tuple[str, int | None, bool]
"""The answer's text, its status, and whether it was cut off: with the case all that a scorer, being pure, looks at."""


class Recent(Generic[T]):
    """The last few dozen results by what they were made of. Another case object may have another truth."""

    def __init__(self) -> None:
        self._stored: dict[tuple[int, Statement], tuple[Case, T]] = {}

    def get(self, case: Case, text: Statement) -> T | None:
        """What this came to before; None when it was not scored of late."""
        retained = self._stored.get((id(case), text))
        return None if retained is None else retained[1]

    def keep(self, case: Case, text: Statement, result: T) -> T:
        """The result, which is kept until as many others have followed."""
        if len(text[0]) <= _LONGEST:
            if len(self._stored) >= _MOST:
                del self._stored[next(iter(self._stored))]
            # With the case, so that no other can come to have its id.
            self._stored[id(case), text] = (case, result)
        return result
