"""Pairing texts that are not equal but alike: the best one-to-one assignment, and what a fragment of a text is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rapidfuzz.distance.Indel import normalized_similarity
from rapidfuzz.process import cdist

from steelyard.scoring.spelling import has_phrase
from steelyard.stats.assignment import best_assignment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
