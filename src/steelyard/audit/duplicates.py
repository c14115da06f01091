"""Questions that are almost the same: found by the hashes of their shingles (MinHash), never by comparing all pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from rapidfuzz.distance import Levenshtein

_BANDS, _ROWS = 12, 3
"""Questions that share 64 % of their word pairs (one word of ten differs) meet in a band 97 times of 100."""
_NEIGHBOURS = 5
"""Questions of the same band that one is compared with."""
_ALIKE = 0.9
_MOST_ALIKE = 3
"""More than so many that are alike are a pattern filled in with other words, where the truth is one of a few."""
_PRIME = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is compared: the words of its texts by place, and what must be equal beside them."""

    case: str
    texts: dict[str, tuple[str, ...]]
    rest: str


def near_duplicates(asked: Sequence[Asked], *, is_choice: bool) -> list[tuple[str, str]]:
    """Pairs of cases with the same truth and the same numbers that differ in letter case and signs, or in one word of
    ten."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for each in asked:
        if any(each.texts.values()):
            groups[each.rest].append(each)
    found = {pair for group in groups.values() if len(group) > 1 for pair in _pairs(group)}
    n_alike = Counter(case for pair in found for case in pair)
    return sorted(pair for pair in found if not is_choice or max(n_alike[case] for case in pair) < _MOST_ALIKE)


def _pairs(group: Sequence[Asked]) -> Iterator[tuple[str, str]]:
    buckets: dict[object, list[Asked]] = defaultdict(list)
    for each in group:
        words = [word for text in each.texts.values() for word in text]
        for key in (" ".join(words), *_bands(words)):
            for other in buckets[key][-_NEIGHBOURS:]:
                if _are_alike(each, other):
                    yield other.case, each.case
            buckets[key].append(each)


def _bands(words: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    pairs = {crc32(f"{one} {other}".encode()) % _PRIME for one, other in pairwise(words)}
    if pairs:
        hashes = (_FACTORS * np.fromiter(pairs, dtype=np.uint64) + _OFFSETS) % np.uint64(_PRIME)
        least = hashes.min(axis=1).reshape(_BANDS, _ROWS)
        yield from ((at, band.tobytes()) for at, band in enumerate(least))


def _are_alike(one: Asked, other: Asked) -> bool:
    if one.texts.keys() != other.texts.keys():
        return False
    texts = ((text, other.texts[place]) for place, text in one.texts.items())
    return all(text == same or Levenshtein.normalized_similarity(text, same) >= _ALIKE for text, same in texts)


_draw = np.random.default_rng(0)
_FACTORS = _draw.integers(1, _PRIME, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
_OFFSETS = _draw.integers(0, _PRIME, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
