"""Where samples stand in their plan, and codes for texts that many of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.store.database import Session

if TYPE_CHECKING:
    import numpy as np

_RANGE = "SELECT count(*), min(seq), max(seq) FROM samples WHERE run = ?"
_PLACES = "SELECT seq FROM samples WHERE run = ? ORDER BY seq"


def places_of(session: Session, run: int) -> np.ndarray:
    """The place in the plan of every sample, in order: its index here is its position in `Columns`."""
    import numpy as np

    n, first, last = session.execute(_RANGE, (run,))[0]
    if last - first + 1 == n:
        # Nothing was left out of the plan: no need to read what can be counted.
        return np.arange(first, last + 1)
    pieces = [np.array(rows, dtype=np.int64).ravel() for rows in session.stream(_PLACES, (run,), 20_000)]
    return np.concatenate(pieces)


def codes_of(texts: Sequence[str], known: dict[str, int]) -> np.ndarray:
    """Codes of the texts, each new one taking the next."""
    import numpy as np

    for text in dict.fromkeys(texts):
        known.setdefault(text, len(known))
    return np.fromiter(map(known.__getitem__, texts), np.uint32, len(texts))
