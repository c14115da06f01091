"""What repeats of a question are compared by: one row for each answer that could be read.

A row holds `[["A-1",[3,9],"major"],["B-2",null,"minor"]]`: of each item its key and the values of its fields. An answer
without items has the row `[]`; an answer that could not be read has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from steelyard.records import Item
from steelyard.store.database import Database, Row
from steelyard.store.places import places_of
from steelyard.store.text import to_json

if TYPE_CHECKING:
    import numpy as np

PAGE = 500
"""How many answers are in memory at a time."""

_NEXT = "SELECT seq, content FROM items WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"

Placed = tuple[int, tuple[Item, ...]]
"""The position of a sample in `Columns` and what is in its answer."""


def items_text(items: Sequence[Item]) -> str:
    """The items of one answer as they are stored."""
    return to_json([[item.key, *item.values] for item in items])


def items_from(text: str) -> tuple[Item, ...]:
    """The items back from `items_text`."""
    return tuple([Item(key, tuple(values)) for key, *values in json.loads(text)])


def items_of(database: Database, run: int) -> Iterator[Placed]:
    """The items of a run's answers, in the order of its plan, a transaction a page.

    The positions are those at the first page: what a run adds after that is not told.
    """
    places: np.ndarray | None = None
    seq = -1
    while True:
        with database.reading() as session:
            rows = session.execute(_NEXT, (run, seq, PAGE))
            if rows and places is None:
                places = places_of(session, run)
        if not rows or places is None:
            return
        yield from _placed(places, rows)
        seq = rows[-1][0]


def _placed(places: np.ndarray, rows: Sequence[Row]) -> Iterator[Placed]:
    import numpy as np

    seqs = np.array([seq for seq, _text in rows])
    where = np.searchsorted(places, seqs)
    there = places[np.minimum(where, len(places) - 1)] == seqs
    for position, known, (_seq, text) in zip(where.tolist(), there.tolist(), rows, strict=True):
        if known:
            yield position, items_from(text)
