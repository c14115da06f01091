"""Which answers of a run are the same to the byte, without holding any: a 64-bit digest of each."""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING

from steelyard.store.database import Session

if TYPE_CHECKING:
    import numpy as np

_PIECE = 1_000
_ANSWERS = """
SELECT s.seq, a.status, t.text FROM samples s
JOIN attempts a ON a.run = s.attempt_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.attempt_run AND t.seq = s.seq
WHERE s.run = ? ORDER BY s.seq
"""


def read_answer_digests(session: Session, run: int) -> np.ndarray:
    """A number for each sample's answer and its status, in the order of `Columns`; 0 where no answer is kept."""
    import numpy as np

    found = array("Q")
    for rows in session.stream(_ANSWERS, (run,), _PIECE):
        found.extend([0 if text is None else _digest(status, text) for _seq, status, text in rows])
    return np.frombuffer(found, dtype=np.uint64) if found else np.empty(0, dtype=np.uint64)


def _digest(status: int | None, text: str) -> int:
    told = hashlib.blake2b(f"{status}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 0 stands for none.
    return int.from_bytes(told, "big") or 1
