"""Which answers of a run are the same, and how long each is: a number for each, never the texts."""

from __future__ import annotations

import hashlib
import math
from array import array

import numpy as np

from steelyard.store.columns import PIECE
from steelyard.store.databases import Session
from steelyard.store.packing import unpack_text
from steelyard.store.stored_text import from_stored

_ANSWERS = """
SELECT a.status, t.text, t.packed FROM samples s
JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.run = ? ORDER BY s.seq
"""


def read_answer_digests(session: Session, run: int) -> np.ndarray:
    """A number for each sample's answer and its status, in the order of `Columns`; 0 where no answer is kept."""
    digests = array("Q")
    for rows in session.stream(_ANSWERS, (run,), PIECE):
        texts = [(status, unpack_text(text, packed)) for status, text, packed in rows]
        digests.extend([0 if text is None else _answer_digest(status, text) for status, text in texts])
    return np.frombuffer(digests, dtype=np.uint64) if digests else np.empty(0, dtype=np.uint64)


def read_answer_lengths(session: Session, run: int) -> np.ndarray:
    """The number of characters of each sample's answer, in the order of `Columns`; NaN where no answer is kept."""
    lengths = array("d")
    for rows in session.stream(_ANSWERS, (run,), PIECE):
        texts = (unpack_text(text, packed) for _, text, packed in rows)
        lengths.extend([math.nan if text is None else len(from_stored(text)) for text in texts])
    return np.frombuffer(lengths, dtype=float) if lengths else np.empty(0)


def _answer_digest(status: int | None, text: str) -> int:
    digest = hashlib.blake2b(f"{status}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 0 stands for none.
    return int.from_bytes(digest, "big") or 1
