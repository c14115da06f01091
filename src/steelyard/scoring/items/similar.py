"""Similarity of items, their assignment, and copies."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Literal

from rapidfuzz.distance.Indel import normalized_similarity
from rapidfuzz.process import cdist

from steelyard.frozen import slotted
from steelyard.scoring.items.groups import best_mapping, folded_label
from steelyard.scoring.items.layout import Items
from steelyard.scoring.spelling import has_phrase
from steelyard.scoring.text import Folder, has_key, key_of
from steelyard.stats.assignment import best_assignment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The items of an answer or of the truth as they are compared: their texts folded, as far as that is needed.


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


# Pairing texts that are not equal but alike: the best one-to-one assignment, and what a fragment of a text is.

Pair = tuple[int, int, float]

# Similarities are ratios of lengths: a difference this small is rounding, never a better match.
ROUNDING = 1e-9
FRAGMENT_SHARE = 0.5
"""How much of an item a fragment of it holds at least, so that it is taken for a reading of it."""
MIN_FRAGMENT = 3
"""Characters of a fragment with less than that share that is taken for a reading of an item."""
_FEW = 25


def is_fragment(got: str, expected: str) -> bool:
    """True when the folded `got` is a true fragment of the folded `expected`: one piece of it, but not the whole.

    The piece begins or ends where a word of `expected` does, so a text cut off inside a word is a fragment ("to have my
    finan" of "to have my financial affairs") and letters from the middle of one are not ("ai" of "pain"). Scripts
    written without spaces have no such places: any piece is a fragment.
    """
    if len(got) >= len(expected) or got not in expected or not got.strip():
        return False
    if has_phrase(expected, got):
        return True
    start = expected.find(got)
    while start >= 0:
        if _between_words(expected, start) or _between_words(expected, start + len(got)):
            return True
        start = expected.find(got, start + 1)
    return False


class Allowed:
    """Which pairs may be made of texts that are not equal: from the minimum up, and fragments of that share."""

    __slots__ = ("cutoff", "floor", "fragment_share")

    def __init__(self, minimum: float, fragment_share: float = FRAGMENT_SHARE) -> None:
        self.floor, self.fragment_share = minimum - ROUNDING, fragment_share
        # A piece with the share s of the whole's characters has the Indel similarity 2s / (1 + s).
        self.cutoff = lowered(min(self.floor, 2 * fragment_share / (1 + fragment_share)))

    def fragment(self, expected: str, got: str) -> bool:
        """True when the pair is allowed below the floor."""
        if got not in expected:  # nearly always, and quickly seen
            return False
        return len(got) >= self.fragment_share * len(expected) - ROUNDING and is_fragment(got, expected)


def similar_pairs(
    wanted: Sequence[str], there: Sequence[str], allowed: Allowed, every: Callable[[], Sequence[str]]
) -> list[Pair]:
    """The pairs with the greatest sum of similarities among the allowed ones: both indexes and the similarity.

    Of what is left, a shorter fragment is paired with a text that holds it.
    """
    few = len(wanted) * len(there) <= _FEW
    cells = _lone_cells_of_few(wanted, there, allowed) if few else None
    if cells is None:
        matrix = similarities(wanted, there, allowed.cutoff)
        _forbid(matrix, wanted, there, allowed)
        cells = _lone_cells(matrix)
    pairs = _best_cells(matrix, wanted, there) if cells is None else cells
    return pairs + (_short_fragments(wanted, there, pairs, every) if len(pairs) < min(len(wanted), len(there)) else [])


def _short_fragments(
    wanted: Sequence[str], there: Sequence[str], paired: Sequence[Pair], every: Callable[[], Sequence[str]]
) -> list[Pair]:
    """Of what is not paired, the best assignment of fragments to texts that hold them, however small their share.

    A fragment that several texts hold was read from one that was not read otherwise. A further copy of a whole text of
    `every` is no fragment.
    """
    rows, columns = {row for row, _, _ in paired}, {column for _, column, _ in paired}
    free = [row for row in range(len(wanted)) if row not in rows]
    whole = "\n".join(wanted[row] for row in free)
    short = [
        column
        for column, text in enumerate(there)
        if column not in columns and len(text) >= MIN_FRAGMENT and text in whole  # quickly seen, and nearly never
    ]
    if not short:
        return []
    import numpy as np

    texts, fragments, copied = [wanted[row] for row in free], [there[column] for column in short], {*every()}
    matrix = np.zeros((len(texts), len(fragments)))
    for column, got in enumerate(fragments):
        for row, text in enumerate(texts):
            if got not in copied and is_fragment(got, text):
                matrix[row, column] = normalized_similarity(text, got)
    return [(free[row], short[column], alike) for row, column, alike in _best_cells(matrix, texts, fragments)]


def _lone_cells_of_few(wanted: Sequence[str], there: Sequence[str], allowed: Allowed) -> list[Pair] | None:
    """What `_lone_cells` finds, without a matrix: for a handful of texts that takes less than making one."""
    cutoff, floor = allowed.cutoff, allowed.floor
    cells: list[Pair] = []
    columns: set[int] = set()
    for row, text in enumerate(wanted):
        for column, other in enumerate(there):
            similarity = normalized_similarity(text, other, score_cutoff=cutoff)
            if similarity and (similarity >= floor or allowed.fragment(text, other)):
                if column in columns or (cells and cells[-1][0] == row):
                    return None
                columns.add(column)
                cells.append((row, column, similarity))
    return cells


def lowered(cutoff: float) -> float:
    """The cutoff for rapidfuzz, which loses pairs whose similarity is the cutoff itself."""
    return max(0.0, cutoff - 0.001)


def similarities(texts: Sequence[str], others: Sequence[str], cutoff: float) -> NDArray[np.float64]:
    """The similarity of every text to every other, 0 where it is below the cutoff, for which see `lowered`."""
    import numpy as np

    return cdist(texts, others, scorer=normalized_similarity, score_cutoff=cutoff, dtype=np.float64)


def _lone_cells(matrix: NDArray[np.float64]) -> list[Pair] | None:
    """The filled cells when no two share a row or a column, so that there is nothing to choose; else None."""
    # A flat search takes half the time of one by rows and columns.
    flat, width = matrix.ravel(), matrix.shape[1]
    places = flat.nonzero()[0]
    if len(places) > len(matrix):
        return None
    result = places.tolist()
    rows, columns = [place // width for place in result], [place % width for place in result]
    if len(set(rows)) < len(result) or len(set(columns)) < len(result):
        return None
    return list(zip(rows, columns, flat[places].tolist(), strict=True))


def _forbid(matrix: NDArray[np.float64], wanted: Sequence[str], there: Sequence[str], allowed: Allowed) -> None:
    """Empty the cells that are below the floor and no fragment."""
    rows, columns = ((matrix > 0) & (matrix < allowed.floor)).nonzero()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if not allowed.fragment(wanted[row], there[column]):
            matrix[row, column] = 0


def _best_cells(matrix: NDArray[np.float64], wanted: Sequence[str], there: Sequence[str]) -> list[Pair]:
    """The cells of the one-to-one assignment with the greatest sum; of several such, always the same texts."""
    by_row = sorted(range(len(wanted)), key=wanted.__getitem__)
    by_column = sorted(range(len(there)), key=there.__getitem__)
    weights = matrix[by_row][:, by_column]
    if 1 in weights.shape:
        best = [divmod(int(weights.argmax()), weights.shape[1])]
    else:
        best = best_assignment(weights.tolist())
    cells = [(by_row[row], by_column[column]) for row, column in best]
    return [(row, column, similarity) for row, column in cells if (similarity := float(matrix[row, column])) > 0]


def _between_words(text: str, place: int) -> bool:
    """True when no word of the text goes on from the character before the place to the one after it."""
    return place in (0, len(text)) or not (_of_word(text[place - 1]) and _of_word(text[place]))


def _of_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN"


# Pairing the items of an answer with the items of the truth, one to one, whatever the order of either side.

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


# Of an item that was answered more than once, which copy counts: the one that makes most items right.

How = Literal["label", "mapping"]
Contents = tuple[tuple[str, str], ...]


@slotted
class _Text:
    """One answered text with copies to spare: the pairs it stands in, and all the places where it was answered."""

    pairs: list[int]
    places: list[int]


def choose_copies(truth: Side, got: Side, matching: Matching, how: How | None) -> Matching:
    """The same matching with the best copy of every text in it; `how` groups are compared, None without groups.

    Under one mapping of groups an item is right when any copy of it is in the group that stands for its own. So the
    mapping with the most such items is sought, and then each item takes a copy there. Where that leaves a choice, the
    contents of the groups decide, never their order or their names.
    """
    texts = _with_copies(got, matching) if matching.extra else None
    if not texts:
        return matching
    true, labels = truth.labels(), got.labels()
    contents = _contents(got, labels)
    stated = labels if how == "label" else _named_by(contents, labels)
    home = {} if how is None else _homes(texts, matching, true, stated, how)
    chosen = list(matching.got)
    used = set(chosen) - {place for text in texts for place in text.places}
    for text in texts:
        free = sorted(text.places, key=lambda place: (contents[place], got.items.texts[place], labels[place]))
        waiting = sorted(text.pairs, key=lambda pair: (true[matching.expected[pair]], pair))
        # Those whose copy lies at home first; the others take what is left.
        for wanted in (True, False):
            for pair in list(waiting):
                its_group = true[matching.expected[pair]]
                place = next(
                    (item for item in free if not wanted or (stated[item] and home.get(stated[item]) == its_group)),
                    None,
                )
                if place is not None:
                    chosen[pair] = place
                    free.remove(place)
                    waiting.remove(pair)
                    used.add(place)
    extra = tuple(place for place in range(len(got.folded)) if place not in used)
    return replace(matching, got=chosen, extra=extra)


def named_by_contents(got: Side) -> list[str | None]:
    """Each item's group under a name that does not depend on the order of the groups; None where none was given."""
    labels = got.labels()
    return [name or None for name in _named_by(_contents(got, labels), labels)]


def _with_copies(got: Side, matching: Matching) -> list[_Text]:
    """The texts that stand in a pair and were answered once more."""
    folded = got.folded
    spare: dict[str, list[int]] = {}
    for place in matching.extra:
        spare.setdefault(folded[place], []).append(place)
    texts: dict[str, _Text] = {}
    for number, by in enumerate(matching.got):
        text = folded[by]
        if text in spare:
            available = texts.setdefault(text, _Text([], list(spare[text])))
            available.pairs.append(number)
            available.places.append(by)
    return list(texts.values())


def _homes(
    texts: Sequence[_Text], matching: Matching, true: Sequence[str], stated: Sequence[str], how: How
) -> dict[str, str]:
    """The true group that each answered group stands for."""
    if how == "label":
        return {label: label for label in stated if label}
    choosing = {number for text in texts for number in text.pairs}
    places = enumerate(zip(matching.expected, matching.got, strict=True))
    cells = Counter((true[at], stated[by]) for number, (at, by) in places if number not in choosing)
    for text in texts:
        wanted = Counter(true[matching.expected[number]] for number in text.pairs)
        there = Counter(stated[place] for place in text.places)
        for label, n in wanted.items():
            for group, n_there in there.items():
                cells[label, group] += min(n, n_there)
    return best_mapping(cells)


def _contents(got: Side, stated: Sequence[str]) -> list[Contents]:
    """For each item, all the texts of its group, as compared and as written."""
    members: dict[str, list[tuple[str, str]]] = {}
    for label, folded, text in zip(stated, got.folded, got.items.texts, strict=True):
        members.setdefault(label, []).append((folded, text))
    whole = {label: tuple(sorted(texts)) for label, texts in members.items()}
    return [whole[label] for label in stated]


def _named_by(contents: Sequence[Contents], text: Sequence[str]) -> list[str]:
    """New labels for the groups, in the order of their contents: what they are called must not break a tie."""
    first = {label: place for place, label in reversed(list(enumerate(text)))}
    ordered = sorted((label for label in first if label), key=lambda label: (contents[first[label]], label))
    names = {label: f"{number:06d}" for number, label in enumerate(ordered)}
    return [names.get(label, "") for label in text]
