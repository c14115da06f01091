"""Two texts word by word: what is the same in both, what only the first has, and what only the second has.

Texts may be foreign and long, and a diff may take the square of their lengths: what both begin and end with is
taken off first, what is left is cut, and words that come too often are no place to begin at.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import StrEnum

from steelyard.frozen import frozen

_WORD = re.compile(r"\s+|[^\W_]{1,64}|[\W_]")
_TOO_OFTEN = 8
_LONGEST_WORD = 64
_PIECE = 65_536


class Side(StrEnum):
    """Which of the two texts has a part."""

    BOTH = "both"
    FIRST = "first"
    SECOND = "second"
    CUT = "cut"
    """Not shown: the text says how much."""


@frozen
class Part:
    """A piece of the texts."""

    side: Side
    text: str


@frozen
class Reach:
    """How much is looked at and shown."""

    most: int = 6_000
    """Characters of either text that are compared, after what both begin with."""
    context: int = 4_000
    """Characters of a stretch that both have, where more is not shown."""


WIDE = Reach()


def differences(first: str, second: str, reach: Reach = WIDE) -> list[Part]:
    """The parts of both texts in order: those of `BOTH` and `FIRST` are the first text, with `SECOND` the second."""
    if first == second:
        return [*_shown(first, reach.context, last=True)]
    start = _shared(first, second)
    start -= _inside_word(first[max(0, start - _LONGEST_WORD) : start][::-1])
    rest = min(len(first), len(second)) - start
    end = _shared(first, second, from_end=True, most=rest)
    end -= _inside_word(first[len(first) - end :][:_LONGEST_WORD])
    texts = [first[start : len(first) - end], second[start : len(second) - end]]
    parts = [Part(Side.BOTH, first[:start])]
    parts += _words(*(text[: reach.most] for text in texts))
    if left_off := sum(max(0, len(text) - reach.most) for text in texts):
        parts.append(_cut(left_off, "not compared"))
    parts.append(Part(Side.BOTH, first[len(first) - end :]))
    parts = [part for part in parts if part.text]
    last = len(parts) - 1
    return [
        shown
        for at, part in enumerate(parts)
        for shown in (
            _shown(part.text, reach.context, ends=at in (0, last), last=at == last)
            if part.side is Side.BOTH
            else [part]
        )
    ]


def _shared(first: str, second: str, *, from_end: bool = False, most: int | None = None) -> int:
    """How many characters both begin with, or end with."""

    def same(low: int, high: int) -> bool:
        if from_end:
            return first[len(first) - high : len(first) - low] == second[len(second) - high : len(second) - low]
        return first[low:high] == second[low:high]

    whole = min(len(first), len(second)) if most is None else most
    low = next((at for at in range(0, whole, _PIECE) if not same(at, min(at + _PIECE, whole))), whole)
    # Where a piece differs, its longest beginning that does not.
    return low + bisect_left(range(1, min(_PIECE, whole - low) + 1), True, key=lambda n: not same(low, low + n))


def _inside_word(text: str) -> int:
    """How many characters of a word are cut off here; 0 for a word that is too long to matter."""
    n = next((at for at, sign in enumerate(text) if not sign.isalnum()), len(text))
    return 0 if n == _LONGEST_WORD else n


def _words(first: str, second: str) -> Iterator[Part]:
    a, b = _WORD.findall(first), _WORD.findall(second)
    often = {word for word, n in Counter(b).items() if n > _TOO_OFTEN}
    steps = SequenceMatcher(often.__contains__, a, b, autojunk=False).get_opcodes()
    pieces = [(way == "equal", "".join(a[a0:a1]), "".join(b[b0:b1])) for way, a0, a1, b0, b1 in steps]
    gone, new = "", ""
    for at, (same, before, after) in enumerate(pieces):
        following = max(map(len, pieces[at + 1][1:])) if at + 1 < len(pieces) else 0
        # A word or two between two changes: one change is easier to read than two.
        if same and not (before.isspace() or 2 * len(before) <= min(max(len(gone), len(new)), following)):
            yield from (Part(Side.FIRST, gone), Part(Side.SECOND, new), Part(Side.BOTH, before))
            gone, new = "", ""
        else:
            gone, new = gone + before, new + after
    yield from (Part(Side.FIRST, gone), Part(Side.SECOND, new))


def _shown(text: str, most: int, *, ends: bool = False, last: bool = False) -> Iterator[Part]:
    """A stretch that both have: the words near a change, and how much lies between."""
    if len(text) <= most:
        yield Part(Side.BOTH, text)
        return
    head, tail = (most, 0) if last else (0, most) if ends else (most // 2, most // 2)
    if head:
        yield Part(Side.BOTH, text[:head])
    yield _cut(len(text) - head - tail, "the same")
    if tail:
        yield Part(Side.BOTH, text[-tail:])


def _cut(n: int, why: str) -> Part:
    return Part(Side.CUT, f"[{n:,} characters {why}]")
