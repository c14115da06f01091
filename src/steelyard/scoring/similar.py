"""Pairing texts that are not equal but alike: the best one-to-one assignment, and what a fragment of a text is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rapidfuzz.distance.Indel import normalized_similarity
from rapidfuzz.process import cdist

from steelyard.assignment import best_assignment
from steelyard.scoring.normalise import has_phrase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pair = tuple[int, int, float]

# Similarities are ratios of lengths: a difference this small is rounding, never a better match.
ROUNDING = 1e-9
FRAGMENT_SHARE = 0.5
"""How much of an item a fragment of it holds at least, so that it is taken for a reading of it."""
LEAST_FRAGMENT = 3
"""Characters of a fragment with less than that share, which counts when no other item holds it."""
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

    Of what is left, those of a fragment that one text alone of `every` expected one holds.
    """
    few = len(wanted) * len(there) <= _FEW
    cells = _lone_cells_of_few(wanted, there, allowed) if few else None
    if cells is None:
        matrix = similarities(wanted, there, allowed.cutoff)
        _forbid(matrix, wanted, there, allowed)
        cells = _lone_cells(matrix)
    pairs = _best_cells(matrix, wanted, there) if cells is None else cells
    return pairs + (_lone_fragments(wanted, there, pairs, every()) if len(pairs) < min(len(wanted), len(there)) else [])


def _lone_fragments(
    wanted: Sequence[str], there: Sequence[str], paired: Sequence[Pair], every: Sequence[str]
) -> list[Pair]:
    """Of what is not paired, the fragments of one text alone, the longest first."""
    rows, columns = {row for row, _, _ in paired}, {column for _, column, _ in paired}
    free = {row: text for row, text in enumerate(wanted) if row not in rows}
    whole = "\n".join(every)
    short = [place for place in range(len(there)) if place not in columns and len(there[place]) >= LEAST_FRAGMENT]
    pairs: list[Pair] = []
    for column in sorted(short, key=lambda place: (-len(there[place]), there[place])):
        got = there[column]
        if got not in whole:  # nearly always, and quickly seen
            continue
        holders = {text for text in every if got == text or is_fragment(got, text)}
        row = next((row for row, text in free.items() if text in holders), None)
        if len(holders) == 1 and row is not None:
            pairs.append((row, column, normalized_similarity(free.pop(row), got)))
    return pairs


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
    found = places.tolist()
    rows, columns = [place // width for place in found], [place % width for place in found]
    if len(set(rows)) < len(found) or len(set(columns)) < len(found):
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
