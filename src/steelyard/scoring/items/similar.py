"""Pairing the items of an answer with the items of the truth, one to one, whatever the order of either side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat

from steelyard.frozen import slotted
from steelyard.scoring.items.groups import folded_label
from steelyard.scoring.items.places import Items
from steelyard.scoring.items.text_pairs import (
    FRAGMENT_SHARE,
    MIN_FRAGMENT,
    ROUNDING,
    Allowed,
    Pair,
    is_fragment,
    lowered,
    similar_pairs,
    similarities,
)
from steelyard.scoring.spelling import has_phrase
from steelyard.scoring.text import Folder, has_key, key_of


class Side:
    """The items of one side. Their texts are folded when first asked for: most are equal as they are written."""

    __slots__ = ("_folded", "_keys", "folder", "items")

    def __init__(self, items: Items, folder: Folder) -> None:
        self.items, self.folder = items, folder
        self._folded: list[str] | None = None
        self._keys: str | None = None

    @property
    def folded(self) -> list[str]:
        """Each item's text as it is compared."""
        if self._folded is None:
            self._folded = self.folder.fold(self.items.texts)
        return self._folded

    @property
    def keys(self) -> str:
        """The keys of all texts: see `Folder.keys`."""
        if self._keys is None:
            self._keys = self.folder.keys(self.items.texts)
        return self._keys

    def labels(self) -> list[str]:
        """Each item's group as it is compared; "" where none was given."""
        return [folded_label(group) if group else "" for group in self.items.groups]


_NOWHERE = -1


@slotted
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
    its characters. Of what is then left, a shorter fragment of three characters and more is paired with a text that
    holds it: half an item that was read is a partial reading of it, and so is a phrase of it; two letters are not.

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
    results, left, offered, wanted, there = equal
    alike: dict[int, float] = {}
    if left and offered:
        for row, column, similarity in similar_pairs(wanted, there, allowed, every):
            at = left[row]
            results[at], alike[at] = offered[column], similarity
    paired: Sequence[int] = range(len(results))
    missed: tuple[int, ...] = ()
    if _NOWHERE in results:
        paired = [index for index, other in enumerate(results) if other != _NOWHERE]
        missed = _others(paired, len(results))
        results = [results[index] for index in paired]
    return Matching(paired, results, alike, missed, _others(results, n_got) if len(results) < n_got else ())


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


def leftovers(expected: Sequence[str], got: Mapping[int, str], matching: Matching, read: Side) -> dict[int, int]:
    """For each extra item that is a true fragment of an expected one, the index of that one; `read` are all items got.

    Such a text is there, and was read in more than one part, or as a whole and in part. Of several texts that hold it,
    the one is named of which it is the largest share, then the first by text. A word or three characters are a
    fragment, single letters are not; and a fragment that was got more often than it is there is a copy.
    """
    result: dict[int, int] = {}
    whole = "\n".join(expected)
    by_length = sorted(range(len(expected)), key=lambda at: (len(expected[at]), expected[at], at))
    holders: dict[str, list[int]] = {}
    for index in matching.extra:
        text = got[index]
        if text not in whole:  # nearly always, and quickly seen
            continue
        if text not in holders:
            places = [
                at for at in by_length if _is_leftover(text, expected[at]) for _ in range(expected[at].count(text))
            ]
            used = sum(read.folded[by] == text != expected[at] for at, by, _ in matching.pairs)
            holders[text] = places[: max(0, len(places) - used)]
        if holders[text]:
            result[index] = holders[text].pop(0)
    return result


def _is_leftover(got: str, expected: str) -> bool:
    return is_fragment(got, expected) and (len(got) >= MIN_FRAGMENT or has_phrase(expected, got))


def _others(indexes: Collection[int], count: int) -> tuple[int, ...]:
    """The indexes below the count that are not among these."""
    available = set(indexes)
    return tuple([index for index in range(count) if index not in available])


def _equal_as_written(truth: Side, got: Side) -> _Equal | None:
    """What `_equal_texts` finds, most of it without folding; None when a text may stand twice on one side."""
    true, texts = truth.items.texts, got.items.texts
    offered = dict(zip(texts, range(len(texts)), strict=True))
    if len(offered) < len(texts):
        return None
    results = list(map(offered.pop, true, repeat(_NOWHERE)))
    # Where most texts are written in another way, all have to be folded anyhow.
    keys = truth.keys if 2 * len(offered) <= len(texts) else ""
    if not keys:
        return None
    if not offered:
        return results, (), (), (), ()
    left = _unfound(results, len(true) - len(texts) + len(offered))
    folded = truth.folder.fold([*[true[at] for at in left], *offered])
    wanted, there = folded[: len(left)], folded[len(left) :]
    rest = list(offered.values())
    new = set(map(key_of, there))
    if len(new) < len(there) or "" in new:
        return None
    if available := [key for key in new if has_key(keys, key)]:
        # The key of an item that was found already shows what is most likely a second copy of it.
        if not set(map(key_of, wanted)).issuperset(available):
            return None
        if not set(there).isdisjoint(wanted):
            return _equal_when_folded(
                results, dict(zip(wanted, left, strict=True)), dict(zip(there, rest, strict=True))
            )
    return results, left, rest, wanted, there


def _equal_when_folded(result: list[int], left: dict[str, int], rest: dict[str, int]) -> _Equal:
    """The same where of the folded texts left on both sides some are equal."""
    for text in left.keys() & rest.keys():
        result[left.pop(text)] = rest.pop(text)
    return result, list(left.values()), list(rest.values()), list(left), list(rest)


def _equal_texts(expected: Sequence[str], got: Sequence[str]) -> _Equal:
    """The pairs of equal folded texts, and what is left."""
    offered = dict(zip(got, range(len(got)), strict=True))
    if len(offered) < len(got) or "" in offered:
        return _equal_texts_with_copies(expected, got)
    results = list(map(offered.pop, expected, repeat(_NOWHERE)))
    left = [at for at in _unfound(results, results.count(_NOWHERE)) if expected[at]] if offered else ()
    return results, left, list(offered.values()), [expected[at] for at in left], list(offered)


def _equal_texts_with_copies(expected: Sequence[str], got: Sequence[str]) -> _Equal:
    """The same when a text may be answered more than once, or be empty."""
    wanted, offered = _places(expected), _places(got)
    result = [_NOWHERE] * len(expected)
    for text in wanted.keys() & offered.keys():
        for index, other in zip(wanted[text], offered.pop(text), strict=False):
            result[index] = other
    left = [at for at in _unfound(result, result.count(_NOWHERE)) if expected[at]]
    rest = sorted(index for places in offered.values() for index in places)
    return result, left, rest, [expected[at] for at in left], [got[by] for by in rest]


def _unfound(result: list[int], count: int) -> list[int]:
    """The places where so many were not found: to search for a few takes less than to look at every place."""
    places: list[int] = []
    place = -1
    for _ in range(count):
        place = result.index(_NOWHERE, place + 1)
        places.append(place)
    return places


def _places(texts: Sequence[str]) -> dict[str, list[int]]:
    """Where each text stands; empty ones stand nowhere."""
    places: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text:
            places.setdefault(text, []).append(index)
    return places
