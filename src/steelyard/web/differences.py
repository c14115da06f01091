"""Two texts word by word: what both have, what only the first has, and what only the second has.

Texts are foreign and may be long, and a diff may take the square of their lengths: what both begin and end with is
taken off first, what is left is cut, and words that come too often are no place to begin at.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from steelyard.frozen import frozen

_WORD = re.compile(r"\s+|[^\W_]{1,64}|[\W_]")
_LAST_WORD = re.compile(r"\w*\Z")
_LONGEST_WORD = 64
_LONGEST = 200_000
_TOO_OFTEN = 8

Part = tuple[Literal["both", "first", "second", "cut"], str]
"""A piece of the texts, and which of them has it; of one that is cut, the words that say so."""


@frozen
class Reach:
    """How much is looked at and shown, in characters."""

    most: int = 6_000
    """Of either text, after what both begin with."""
    context: int = 4_000
    """Of a stretch that both have."""


WIDE = Reach()


def differences(first: str, second: str, reach: Reach = WIDE) -> list[Part]:
    """The parts in order: "both" and "first" are the first text, "both" and "second" the second."""
    left_off = sum(max(0, len(text) - _LONGEST) for text in (first, second))
    first, second = first[:_LONGEST], second[:_LONGEST]
    start = _shared(first, second)
    end = _shared(first[start:][::-1], second[start:][::-1])
    if first != second:
        # A word is not cut in two.
        start -= _word_at_end(first[:start])
        end -= _word_at_end(first[len(first) - end :][:_LONGEST_WORD][::-1])
    middle = [text[start : len(text) - end] for text in (first, second)]
    left_off += sum(max(0, len(text) - reach.most) for text in middle)
    parts: list[Part] = [
        *_shown(first[:start], 0 if any(middle) else reach.context, reach.context if any(middle) else 0),
        *_words(middle[0][: reach.most], middle[1][: reach.most], reach.context // 2),
        *_shown(first[len(first) - end :], reach.context, 0),
        ("cut", f"[{left_off:,} characters not shown]" if left_off else ""),
    ]
    return [part for part in parts if part[1]]


def _shared(first: str, second: str) -> int:
    """How many characters both begin with."""
    return bisect_left(range(min(len(first), len(second))), True, key=lambda n: first[: n + 1] != second[: n + 1])


def _word_at_end(text: str) -> int:
    word = _LAST_WORD.search(text[-_LONGEST_WORD:])
    return len(word[0]) if word and len(word[0]) < _LONGEST_WORD else 0


def _words(first: str, second: str, context: int) -> Iterator[Part]:
    a, b = _WORD.findall(first), _WORD.findall(second)
    often = {word for word, n in Counter(b).items() if n > _TOO_OFTEN}
    steps = SequenceMatcher(often.__contains__, a, b, autojunk=False).get_opcodes()
    pieces = [(way == "equal", "".join(a[a0:a1]), "".join(b[b0:b1])) for way, a0, a1, b0, b1 in steps]
    gone, new = "", ""
    for at, (same, before, after) in enumerate(pieces):
        following = max(map(len, pieces[at + 1][1:])) if at + 1 < len(pieces) else 0
        # A word or two between two changes: one change is easier to read than two.
        if same and not (before.isspace() or 2 * len(before) <= min(max(len(gone), len(new)), following)):
            yield "first", gone
            yield "second", new
            yield from _shown(before, context, context)
            gone, new = "", ""
        else:
            gone, new = gone + before, new + after
    yield "first", gone
    yield "second", new


def _shown(text: str, head: int, tail: int) -> Iterator[Part]:
    """A stretch that both have: its beginning, how much is not shown, and its end."""
    if len(text) <= head + tail:
        yield "both", text
        return
    yield "both", text[:head]
    yield "cut", f"[{len(text) - head - tail:,} characters the same]"
    yield "both", text[len(text) - tail :]
