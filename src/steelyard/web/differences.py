"""Two texts word by word: what both have, what only the first has, and what only the second has.

Texts are foreign and may be long, and a diff may take the square of their lengths: what both begin and end with is
taken off first, lines and sentences that either has once divide the rest, and words are compared between them. Every
change is shown, with some of the text around it, until a page is full.
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
_SENTENCE = re.compile(r"[^\n.,;:!?。、]{0,200}[\n.,;:!?。、]*")
_LAST_WORD = re.compile(r"\w*\Z")
_LONGEST_WORD = 64
LONGEST = 2_000_000
"""Characters of either text that are compared."""
_LONGEST_BY_WORD = 6_000
"""Longer stretches without a common sentence are not compared word by word."""
_TOO_OFTEN = 8
_SHORT = 40
"""Characters that are not worth leaving out."""

Part = tuple[Literal["both", "first", "second", "cut"], str]
"""A piece of the texts, and which of them has it; of one that is cut, the words that say so."""


@frozen
class ShownLength:
    """How much is shown, in characters."""

    most: int = 6_000
    """Of what either text alone has."""
    context: int = 600
    """Of a stretch that both have, before and after a change each."""


WIDE = ShownLength()


def differences(first: str, second: str, reach: ShownLength = WIDE) -> list[Part]:
    """The parts in order: "both" and "first" are the first text, "both" and "second" the second."""
    left_off = sum(max(0, len(text) - LONGEST) for text in (first, second))
    first, second = first[:LONGEST], second[:LONGEST]
    start = _shared(first, second)
    end = _shared(first[start:][::-1], second[start:][::-1])
    if first != second:
        # A word is not cut in two.
        start -= _word_at_end(first[:start])
        end -= _word_at_end(first[len(first) - end :][:_LONGEST_WORD][::-1])
    middle = [text[start : len(text) - end] for text in (first, second)]
    parts: list[Part] = [("both", first[:start]), *_changes(*middle), ("both", first[len(first) - end :])]
    shown = list(_shown(_joined(parts), reach))
    return [*shown, ("cut", f"[not compared: {left_off:,} characters]")] if left_off else shown


def _changes(first: str, second: str) -> Iterator[Part]:
    """The parts of two texts that begin and end differently: by word between the sentences that both have once."""
    a, b = _SENTENCE.findall(first), _SENTENCE.findall(second)
    i = j = 0
    for x, y in [*_common_once(a, b), (len(a), len(b))]:
        yield from _words("".join(a[i:x]), "".join(b[j:y]))
        yield "both", a[x] if x < len(a) else ""
        i, j = x + 1, y + 1


def _common_once(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Where sentences are that either text has once, in an order that both texts have: as many as there can be."""
    counts, places = Counter(a), {text: at for at, text in enumerate(b)}
    once = {text for text, n in Counter(b).items() if n == 1 and counts[text] == 1 and not text.isspace()}
    pairs = [(at, places[text]) for at, text in enumerate(a) if text in once]
    # The longest increasing sequence: the best end of each length, and from whom each came.
    ends: list[int] = []
    last: list[int] = []
    before: dict[int, int] = {}
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [at]
        before[at] = last[length - 1] if length else -1
    chain, at = [], last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _shared(first: str, second: str) -> int:
    """How many characters both begin with."""
    return bisect_left(range(min(len(first), len(second))), True, key=lambda n: first[: n + 1] != second[: n + 1])


def _word_at_end(text: str) -> int:
    word = _LAST_WORD.search(text[-_LONGEST_WORD:])
    return len(word[0]) if word and len(word[0]) < _LONGEST_WORD else 0


def _words(first: str, second: str) -> Iterator[Part]:
    if max(len(first), len(second)) > _LONGEST_BY_WORD:
        yield "first", first
        yield "second", second
        return
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
            yield "both", before
            gone, new = "", ""
        else:
            gone, new = gone + before, new + after
    yield "first", gone
    yield "second", new


def _joined(parts: list[Part]) -> list[Part]:
    """Parts without empty ones; what both have is one part up to the next change."""
    joined: list[Part] = []
    for kind, text in parts:
        if text and kind == "both" and joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        elif text:
            joined.append((kind, text))
    return joined


def _shown(parts: list[Part], reach: ShownLength) -> Iterator[Part]:
    """Every change in turn, with some of what is around it; when enough is shown, how much more there is."""
    room, left_off = {"first": reach.most, "second": reach.most}, 0
    for at, (kind, text) in enumerate(parts):
        if kind != "both":
            if room[kind] > 0:
                yield kind, text[: room[kind]]
            left_off += max(0, len(text) - max(room[kind], 0))
            room[kind] -= len(text)
        elif min(room.values()) > 0:
            yield from _around(text, 0 if at == 0 else reach.context, 0 if at == len(parts) - 1 else reach.context)
    if left_off:
        yield "cut", f"[{left_off:,} more characters differ]"


def _around(text: str, head: int, tail: int) -> Iterator[Part]:
    """A stretch that both have: its beginning, how much is not shown, and its end."""
    if not head + tail:
        # Nothing differs at all.
        head = WIDE.most
    if len(text) <= head + tail + _SHORT:
        yield "both", text
        return
    if head:
        yield "both", text[:head]
    yield "cut", f"[{len(text) - head - tail:,} characters the same]"
    if tail:
        yield "both", text[len(text) - tail :]
