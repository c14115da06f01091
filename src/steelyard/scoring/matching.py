"""Pairing the items of an answer with the items of the truth, one to one, whatever the order of either side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from steelyard.scoring.folding import has_key, key_of
from steelyard.scoring.sides import Side
from steelyard.scoring.similar import FRAGMENT_SHARE, ROUNDING, Allowed, Pair, lowered, similar_pairs, similarities

_NOWHERE = -1


@dataclass(slots=True)
class Matching:
    """Which item was found where, in the order of the expected items, and what is left on each side."""

    expected: Sequence[int]
    got: Sequence[int]
    alike: Mapping[int, float]
    """How alike the two texts are, by the expected item, for those pairs that are not of equal texts."""
    missed: tuple[int, ...]
    extra: tuple[int, ...]
    twice: bool = True
    """False when no text stands twice on either side."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs (expected, got, similarity) in the order of the expected items."""
        return tuple((at, by, self.alike.get(at, 1.0)) for at, by in zip(self.expected, self.got, strict=True))


# The pairs of equal texts, and what may be paired with a similar text: where each expected text was found, the indexes
# of those left and of those offered, and the folded texts of both. A plain tuple, as one is made for every answer.
_Equal = tuple[list[int], Sequence[int], Sequence[int], Sequence[str], Sequence[str]]


def match(
    expected: Sequence[str], got: Sequence[str], *, minimum: float, fragment_share: float = FRAGMENT_SHARE
) -> Matching:
    """The one-to-one pairs of folded texts: equal ones first, then those with the greatest sum of similarities.

    Similarity is rapidfuzz's normalised Indel similarity, and a pair below `minimum` is not allowed. One kind of pair
    is allowed below it: `got` is a true fragment of `expected` (see `is_fragment`) with at least `fragment_share` of
    its characters. Of what is then left, a shorter fragment is paired when no other expected text holds it: half an
    item that was read is a partial reading of it, and so is a phrase of it alone; two letters of it are not.

    An equal pair is never given up for a better sum, and a further copy of a text whose every expected copy has its
    equal pair stays extra: it was read once already, so it is no reading of something else. Empty texts match nothing.

    Which texts are paired does not depend on the order of either side.
    """
    allowed = Allowed(minimum, fragment_share)
    return _and_similar(_equal_texts(expected, got), len(got), allowed, lambda: expected)


def match_sides(truth: Side, got: Side, allowed: Allowed) -> Matching:
    """What `match` gives for the folded texts of both sides; texts that are equal as written need no folding."""
    equal, n_got = _equal_as_written(truth, got), len(got.items.texts)
    if equal is None:
        return _and_similar(_equal_texts(truth.folded, got.folded), n_got, allowed, lambda: truth.folded)
    matching = _and_similar(equal, n_got, allowed, lambda: truth.folded)
    matching.twice = False
    return matching


def _and_similar(equal: _Equal, n_got: int, allowed: Allowed, every: Callable[[], Sequence[str]]) -> Matching:
    """The whole matching, the similar texts among those that are left paired too; `every` gives all expected ones."""
    found, left, offered, wanted, there = equal
    alike: dict[int, float] = {}
    if left and offered:
        for row, column, similarity in similar_pairs(wanted, there, allowed, every):
            at = left[row]
            found[at], alike[at] = offered[column], similarity
    paired: Sequence[int] = range(len(found))
    missed: tuple[int, ...] = ()
    if _NOWHERE in found:
        paired = [index for index, other in enumerate(found) if other != _NOWHERE]
        missed = _others(paired, len(found))
        found = [found[index] for index in paired]
    return Matching(paired, found, alike, missed, _others(found, n_got) if len(found) < n_got else ())


def copies(
    expected: Sequence[str], got: Sequence[str] | Mapping[int, str], matching: Matching, *, minimum: float
) -> dict[int, int]:
    """For each extra item that is a further copy of a matched expected one, the index of that one.

    Of `got` only the folded texts of the extra items are needed.
    A copy has at least the minimum similarity to it; the most similar is named, then the first by text.
    """
    extras = [index for index in matching.extra if got[index]]
    if not extras or not matching.expected:
        return {}
    matched = sorted(matching.expected, key=lambda index: (expected[index], index))
    matrix = similarities([got[index] for index in extras], [expected[index] for index in matched], lowered(minimum))
    best = zip(extras, matrix.argmax(axis=1).tolist(), matrix.max(axis=1).tolist(), strict=True)
    return {extra: matched[place] for extra, place, similarity in best if 0 < similarity >= minimum - ROUNDING}


def _others(indexes: Collection[int], count: int) -> tuple[int, ...]:
    """The indexes below the count that are not among these."""
    known = set(indexes)
    return tuple([index for index in range(count) if index not in known])


def _equal_as_written(truth: Side, got: Side) -> _Equal | None:
    """What `_equal_texts` finds, most of it without folding; None when a text may stand twice on one side."""
    true, texts = truth.items.texts, got.items.texts
    offered = dict(zip(texts, range(len(texts)), strict=True))
    if len(offered) < len(texts):
        return None
    found = list(map(offered.pop, true, repeat(_NOWHERE)))
    # Where most texts are written in another way, all have to be folded anyhow.
    keys = truth.keys if 2 * len(offered) <= len(texts) else ""
    if not keys:
        return None
    if not offered:
        return found, (), (), (), ()
    left = _unfound(found, len(true) - len(texts) + len(offered))
    folded = truth.folder.fold([*[true[at] for at in left], *offered])
    wanted, there = folded[: len(left)], folded[len(left) :]
    rest = list(offered.values())
    new = set(map(key_of, there))
    if len(new) < len(there) or "" in new:
        return None
    if known := [key for key in new if has_key(keys, key)]:
        # The key of an item that was found already shows what is most likely a second copy of it.
        if not set(map(key_of, wanted)).issuperset(known):
            return None
        if not set(there).isdisjoint(wanted):
            return _equal_when_folded(found, dict(zip(wanted, left, strict=True)), dict(zip(there, rest, strict=True)))
    return found, left, rest, wanted, there


def _equal_when_folded(found: list[int], left: dict[str, int], rest: dict[str, int]) -> _Equal:
    """The same where of the folded texts left on both sides some are equal."""
    for text in left.keys() & rest.keys():
        found[left.pop(text)] = rest.pop(text)
    return found, list(left.values()), list(rest.values()), list(left), list(rest)


def _equal_texts(expected: Sequence[str], got: Sequence[str]) -> _Equal:
    """The pairs of equal folded texts, and what is left."""
    offered = dict(zip(got, range(len(got)), strict=True))
    if len(offered) < len(got) or "" in offered:
        return _equal_texts_with_copies(expected, got)
    found = list(map(offered.pop, expected, repeat(_NOWHERE)))
    left = [at for at in _unfound(found, found.count(_NOWHERE)) if expected[at]] if offered else ()
    return found, left, list(offered.values()), [expected[at] for at in left], list(offered)


def _equal_texts_with_copies(expected: Sequence[str], got: Sequence[str]) -> _Equal:
    """The same when a text may be answered more than once, or be empty."""
    wanted, offered = _places(expected), _places(got)
    found = [_NOWHERE] * len(expected)
    for text in wanted.keys() & offered.keys():
        for index, other in zip(wanted[text], offered.pop(text), strict=False):
            found[index] = other
    left = [at for at in _unfound(found, found.count(_NOWHERE)) if expected[at]]
    rest = sorted(index for places in offered.values() for index in places)
    return found, left, rest, [expected[at] for at in left], [got[by] for by in rest]


def _unfound(found: list[int], count: int) -> list[int]:
    """The places where so many were not found: to search for a few takes less than to look at every place."""
    places: list[int] = []
    place = -1
    for _ in range(count):
        place = found.index(_NOWHERE, place + 1)
        places.append(place)
    return places


def _places(texts: Sequence[str]) -> dict[str, list[int]]:
    """Where each text stands; empty ones stand nowhere."""
    places: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text:
            places.setdefault(text, []).append(index)
    return places
