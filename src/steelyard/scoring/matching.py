"""Pairing the items of an answer with the items of the truth, one to one, whatever the order of either side."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from rapidfuzz.distance.Indel import normalized_similarity
from rapidfuzz.process import cdist

from steelyard.scoring.normalise import fold, has_phrase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steelyard.scoring.text import Difference

Pair = tuple[int, int, float]

# Similarities are ratios of lengths: a difference this small is rounding, never a better match.
_ROUNDING = 1e-9
_FEW = 25
_NOWHERE = -1
# Stands between texts that are folded together: neither a space, nor punctuation, nor a letter with two cases.
_BETWEEN = "\0"


@dataclass(slots=True)
class Matching:
    """Which item was found where: of each pair both indexes and the similarity, and what is left on each side."""

    expected: Sequence[int]
    got: Sequence[int]
    alike: Sequence[float]
    missed: tuple[int, ...]
    extra: tuple[int, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs (expected, got, similarity) in the order of the expected items."""
        return tuple(zip(self.expected, self.got, self.alike, strict=True))


def folder(ignore: Sequence[Difference]) -> Callable[[Sequence[str]], list[str]]:
    """A function that folds many texts at once, each as `fold` would; plain ASCII texts go through in one piece."""
    alone = partial(
        fold,
        case="case" in ignore,
        space="space" in ignore,
        punctuation="punctuation" in ignore,
        accents="accents" in ignore,
    )
    collapses = "space" in ignore or "punctuation" in ignore
    # Folding one ASCII character depends on nothing beside it, save for runs of spaces.
    table = bytes(ord(alone(f"x{chr(code)}x")[1]) for code in range(128)) + bytes(range(128, 256))

    def at_once(joined: str) -> list[str]:
        joined = joined.encode("ascii").translate(table).decode("ascii")
        if not collapses:
            return joined.split(_BETWEEN)
        while "  " in joined:
            joined = joined.replace("  ", " ")
        return list(map(str.strip, joined.split(_BETWEEN)))

    def together(texts: Sequence[str]) -> list[str]:
        joined = _BETWEEN.join(texts)
        if joined.isascii():
            folded = at_once(joined)
            if len(folded) == len(texts):
                return folded
        plain = [text.isascii() and _BETWEEN not in text for text in texts]
        at_a_time = iter(at_once(_BETWEEN.join(compress(texts, plain))))
        return [next(at_a_time) if simple else alone(text) for text, simple in zip(texts, plain, strict=True)]

    return together


def match(
    expected: Sequence[str],
    got: Sequence[str],
    *,
    minimum: float,
    fragment_share: float = 0.5,
) -> Matching:
    """The one-to-one pairs of folded texts: equal ones first, then those with the greatest sum of similarities.

    Similarity is rapidfuzz's normalised Indel similarity, and a pair below `minimum` is not allowed. One kind of pair
    is allowed below it: `got` is a true fragment of `expected` (see `is_fragment`) with at least `fragment_share` of
    its characters. Half an item that was read is a partial reading of it; two letters of it are not.

    An equal pair is never given up for a better sum, and a further copy of a text whose every expected copy has its
    equal pair stays extra: it was read once already, so it is no reading of something else. Empty texts match nothing.

    Which texts are paired does not depend on the order of either side.
    """
    found, left, offered = _equal_texts(expected, got)
    alike = [1.0] * len(expected)
    if left and offered:
        allowed = _Allowed(minimum - _ROUNDING, fragment_share)
        for index, other, similarity in _similar_pairs(expected, got, left, offered, allowed):
            found[index], alike[index] = other, similarity
    paired: Sequence[int] = range(len(expected))
    missed: tuple[int, ...] = ()
    if _NOWHERE in found:
        paired = [index for index, other in enumerate(found) if other != _NOWHERE]
        missed = _others(paired, len(expected))
        found, alike = [found[index] for index in paired], [alike[index] for index in paired]
    return Matching(paired, found, alike, missed, _others(found, len(got)) if len(found) < len(got) else ())


def copies(expected: Sequence[str], got: Sequence[str], matching: Matching, *, minimum: float) -> dict[int, int]:
    """For each extra item that is a further copy of a matched expected one, the index of that one.

    A copy has at least the minimum similarity to it; the most similar is named, then the first by text.
    """
    extras = [index for index in matching.extra if got[index]]
    if not extras or not matching.expected:
        return {}
    matched = sorted(matching.expected, key=lambda index: (expected[index], index))
    matrix = _similarities([got[index] for index in extras], [expected[index] for index in matched], minimum)
    best = zip(extras, matrix.argmax(axis=1).tolist(), matrix.max(axis=1).tolist(), strict=True)
    return {extra: matched[place] for extra, place, similarity in best if 0 < similarity >= minimum - _ROUNDING}


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


class _Allowed(NamedTuple):
    """Which pairs may be made of texts that are not equal: from the floor up, and fragments from the cutoff up."""

    floor: float
    fragment_share: float

    @property
    def cutoff(self) -> float:
        # A piece with the share s of the whole's characters has the Indel similarity 2s / (1 + s).
        return min(self.floor, 2 * self.fragment_share / (1 + self.fragment_share))

    def fragment(self, expected: str, got: str) -> bool:
        return len(got) >= self.fragment_share * len(expected) - _ROUNDING and is_fragment(got, expected)


def _others(indexes: Collection[int], count: int) -> tuple[int, ...]:
    """The indexes below the count that are not among these."""
    known = set(indexes)
    return tuple([index for index in range(count) if index not in known])


def _equal_texts(expected: Sequence[str], got: Sequence[str]) -> tuple[list[int], Sequence[int], Sequence[int]]:
    """Where each expected text was found, and the indexes on either side that may be paired with a similar text."""
    offered = dict(zip(got, range(len(got)), strict=True))
    if len(offered) < len(got) or "" in offered:
        return _equal_texts_with_copies(expected, got)
    found = list(map(offered.pop, expected, repeat(_NOWHERE)))
    if not offered:
        return found, (), ()
    left = [index for index, other in enumerate(found) if other == _NOWHERE and expected[index]]
    return found, left, list(offered.values())


def _equal_texts_with_copies(
    expected: Sequence[str], got: Sequence[str]
) -> tuple[list[int], Sequence[int], Sequence[int]]:
    """The same when a text may be answered more than once, or be empty."""
    wanted, offered = _places(expected), _places(got)
    found = [_NOWHERE] * len(expected)
    for text in wanted.keys() & offered.keys():
        for index, other in zip(wanted[text], offered.pop(text), strict=False):
            found[index] = other
    return (
        found,
        [index for index, text in enumerate(expected) if text and found[index] == _NOWHERE],
        sorted(index for places in offered.values() for index in places),
    )


def _places(texts: Sequence[str]) -> dict[str, list[int]]:
    """Where each text stands; empty ones stand nowhere."""
    places: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text:
            places.setdefault(text, []).append(index)
    return places


def _similar_pairs(
    expected: Sequence[str], got: Sequence[str], left: Sequence[int], offered: Sequence[int], allowed: _Allowed
) -> list[Pair]:
    """The pairs with the greatest sum of similarities among the allowed ones."""
    wanted, there = list(map(expected.__getitem__, left)), list(map(got.__getitem__, offered))
    few = len(wanted) * len(there) <= _FEW
    cells = _lone_cells_of_few(wanted, there, allowed.cutoff) if few else None
    if cells is None:
        matrix = _similarities(wanted, there, allowed.cutoff)
        cells = _lone_cells(matrix)
    if cells is None:
        _forbid(matrix, wanted, there, allowed)
        cells = _best_cells(matrix, wanted, there)
    floor = allowed.floor
    return [
        (left[row], offered[column], similarity)
        for row, column, similarity in cells
        if similarity >= floor or allowed.fragment(wanted[row], there[column])
    ]


def _lone_cells_of_few(wanted: Sequence[str], there: Sequence[str], cutoff: float) -> list[Pair] | None:
    """What `_lone_cells` finds, without a matrix: for a handful of texts that takes less than making one."""
    cutoff = max(0.0, cutoff - 0.001)
    cells: list[Pair] = []
    columns: set[int] = set()
    for row, text in enumerate(wanted):
        for column, other in enumerate(there):
            if similarity := normalized_similarity(text, other, score_cutoff=cutoff):
                if column in columns or (cells and cells[-1][0] == row):
                    return None
                columns.add(column)
                cells.append((row, column, similarity))
    return cells


def _similarities(texts: Sequence[str], others: Sequence[str], cutoff: float) -> NDArray[np.float64]:
    """The similarity of every text to every other, 0 where it is well below the cutoff."""
    import numpy as np

    # rapidfuzz loses pairs whose similarity is the cutoff itself, so it gets a lower one.
    cutoff = max(0.0, cutoff - 0.001)
    return cdist(texts, others, scorer=normalized_similarity, score_cutoff=cutoff, dtype=np.float64)


def _lone_cells(matrix: NDArray[np.float64]) -> list[Pair] | None:
    """The filled cells when no two share a row or a column, so that there is nothing to choose; else None."""
    # A flat search takes half the time of one by rows and columns.
    flat, width = matrix.ravel(), matrix.shape[1]
    places = flat.nonzero()[0]
    if len(places) > len(matrix):
        return None
    found = places.tolist()
    rows, columns = [place // width for place in found], [place % width for place in found]
    if len(set(rows)) < len(found) or len(set(columns)) < len(found):
        return None
    return list(zip(rows, columns, flat[places].tolist(), strict=True))


def _forbid(matrix: NDArray[np.float64], wanted: Sequence[str], there: Sequence[str], allowed: _Allowed) -> None:
    """Empty the cells that are below the floor and no fragment."""
    rows, columns = ((matrix > 0) & (matrix < allowed.floor)).nonzero()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if there[column] not in wanted[row] or not allowed.fragment(wanted[row], there[column]):
            matrix[row, column] = 0


def _best_cells(matrix: NDArray[np.float64], wanted: Sequence[str], there: Sequence[str]) -> list[Pair]:
    """The cells of the one-to-one assignment with the greatest sum; of several such, always the same texts."""
    by_row = sorted(range(len(wanted)), key=wanted.__getitem__)
    by_column = sorted(range(len(there)), key=there.__getitem__)
    weights = matrix[by_row][:, by_column]
    if 1 in weights.shape:
        best = [divmod(int(weights.argmax()), weights.shape[1])]
    else:
        rows, columns = assignment()(weights, True)
        best = list(zip(rows.tolist(), columns.tolist(), strict=True))
    cells = [(by_row[row], by_column[column]) for row, column in best]
    return [(row, column, similarity) for row, column in cells if (similarity := float(matrix[row, column])) > 0]


@cache
def assignment() -> Callable[..., Any]:
    """scipy's `linear_sum_assignment`, imported on the first call: half a second that most answers never need."""
    from scipy.optimize import linear_sum_assignment

    solve: Callable[..., Any] = linear_sum_assignment
    return solve


def _between_words(text: str, place: int) -> bool:
    """True when no word of the text goes on from the character before the place to the one after it."""
    return place in (0, len(text)) or not (_of_word(text[place - 1]) and _of_word(text[place]))


def _of_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN"
