"""What was weighed of late: a repeat that says the same once more is worth the same, and is not weighed again."""

from __future__ import annotations

from typing import Generic, TypeVar

from steelyard.suite.case import Case

_MOST = 64
"""Repeats of a case follow one another: the one before is among the last few dozen."""
_LONGEST = 50_000
"""Characters of an answer that is worth keeping; so many of the longest answers take 3 MB."""

T = TypeVar("T")
Said = tuple[str, int | None, bool]
"""The answer's text, its status, and whether it was cut off: with the case all that a scorer, being pure, looks at."""


class Recent(Generic[T]):
    """The last few dozen results by what they were made of. Another case object may have another truth."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, Said], tuple[Case, T]] = {}

    def get(self, case: Case, said: Said) -> T | None:
        """What this came to before; None when it was not weighed of late."""
        kept = self._kept.get((id(case), said))
        return None if kept is None else kept[1]

    def keep(self, case: Case, said: Said, result: T) -> T:
        """The result, which is kept until as many others have followed."""
        if len(said[0]) <= _LONGEST:
            if len(self._kept) >= _MOST:
                del self._kept[next(iter(self._kept))]
            # With the case, so that no other can come to have its id.
            self._kept[id(case), said] = (case, result)
        return result
