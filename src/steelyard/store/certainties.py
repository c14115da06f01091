"""What answers claimed with a confidence: one row a sample, so that a run without claims has nothing to read.

A row holds `[[0.9,null],"10",["a","b"]]`: of each claim how sure, whether right, of what kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from steelyard.records import Certainty
from steelyard.store.base import Certainties
from steelyard.store.database import Row, Session
from steelyard.store.places import codes_of, places_of
from steelyard.store.text import to_json

if TYPE_CHECKING:
    import numpy as np

PIECE = 500
"""Samples read at a time."""

_CLAIMS = "SELECT seq, content FROM certainties WHERE run = ? ORDER BY seq"


def certainties_text(certainties: Sequence[Certainty]) -> str:
    """The claims of one answer as they are stored."""
    return to_json(
        [
            [None if each.confidence is None else float(each.confidence) for each in certainties],
            "".join(["1" if each.right else "0" for each in certainties]),
            [each.label for each in certainties],
        ]
    )


def certainties_from(text: str) -> tuple[Certainty, ...]:
    """The claims back from `certainties_text`."""
    return tuple(
        # A confidence that is not finite was written as its name.
        Certainty(None if confidence is None else float(confidence), right == "1", label)
        for confidence, right, label in zip(*json.loads(text), strict=True)
    )


def read_certainties(session: Session, run: int) -> Certainties:
    """All claims of a run as columns, in the order of its plan."""
    import numpy as np

    samples: list[np.ndarray] = []
    confidences: list[np.ndarray] = []
    rights: list[np.ndarray] = []
    kinds: list[np.ndarray] = []
    unstated: list[np.ndarray] = []
    known: dict[str, int] = {}
    places: np.ndarray | None = None
    for rows in session.stream(_CLAIMS, (run,), PIECE):
        if places is None:
            places = places_of(session, run)
        seqs, confidence, right, labels = _piece(rows)
        samples.append(np.searchsorted(places, seqs).astype(np.uint32))
        # Not known is NaN; a confidence that came as no number is NaN too, and told apart by `stated`.
        confidences.append(np.array(confidence, dtype=float))
        unstated.append(_unstated(confidence, confidences[-1]))
        rights.append(np.frombuffer(right.encode(), dtype=np.uint8) == ord("1"))
        kinds.append(codes_of(labels, known))
    n_absent = np.zeros(0, dtype=bool)
    return Certainties(
        sample=np.concatenate([np.zeros(0, dtype=np.uint32), *samples]),
        confidence=np.concatenate([np.zeros(0), *confidences]),
        right=np.concatenate([n_absent, *rights]),
        stated=~np.concatenate([n_absent, *unstated]),
        label=np.concatenate([np.zeros(0, dtype=np.uint32), *kinds]),
        labels=list(known),
    )


def _piece(rows: Sequence[Row]) -> tuple[np.ndarray, list[Any], str, list[str]]:
    """Of some rows: the place of each claim in the plan, and what was claimed."""
    import numpy as np

    seqs, texts = zip(*rows, strict=True)
    confidences, rights, labels = zip(*json.loads(f"[{','.join(texts)}]"), strict=True)
    lengths = np.fromiter(map(len, rights), np.int64, len(rights))
    return (
        np.repeat(np.array(seqs), lengths),
        list(chain.from_iterable(confidences)),
        "".join(rights),
        list(chain.from_iterable(labels)),
    )


def _unstated(given: list[Any], numbers: np.ndarray) -> np.ndarray:
    import numpy as np

    unstated: np.ndarray = np.isnan(numbers)
    for place in np.flatnonzero(unstated):
        unstated[place] = given[place] is None
    return unstated
