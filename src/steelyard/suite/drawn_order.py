"""An order of cases that is random, and the same again for the same seed: drawn by hash, so that nothing need be kept.

The place of a case depends on its id and the seed alone, not on which other cases there are or where they stand.
"""

from __future__ import annotations

from hashlib import sha256


def drawn_place(seed: int, case_id: str) -> int:
    """Where a case comes: the smaller, the earlier; 64 bits of a hash."""
    return int.from_bytes(sha256(f"{seed}\n{case_id}".encode()).digest()[:8])


def drawn_first(seed: int, case_id: str, turn: int) -> int:
    """Which of two arms (0 or 1) is asked first for the how-manieth call of a case: a coin thrown by hash."""
    return sha256(f"{seed}\n{turn}\n{case_id}".encode()).digest()[0] & 1
