"""What a run's samples are about, beside their figures: which case they asked, what was taken for what.

Texts are read as 64-bit digests, side by side with `Columns`, so that memory grows with numbers; the few that a report
shows are fetched again.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from steelyard.store.database import Session, in_pieces, placeholders
from steelyard.store.rows import case_from
from steelyard.store.text import from_stored, to_stored
from steelyard.suite.case import Case

if TYPE_CHECKING:
    import numpy as np

PIECE = 1_000
_LONGEST = 200
_HASHES = "SELECT seq, case_hash FROM samples WHERE run = ? ORDER BY seq"
_CONFUSED = """
SELECT seq, position, code, expected, got FROM findings
WHERE run = ? AND expected IS NOT NULL AND got IS NOT NULL ORDER BY seq, position
"""
_ONE = "SELECT code, expected, got FROM findings WHERE run = ? AND seq = ? AND position = ?"
_CASES = """
SELECT DISTINCT c.id, c.content FROM samples s JOIN cases c ON c.id = s.case_id AND c.hash = s.case_hash
WHERE s.run = ? AND s.case_id IN
"""

Confused = tuple[str, str, str]
"""The code of a finding, what was expected and what came."""


@dataclass(slots=True)
class Contents:
    """Digests of what a run's samples are about, and the ways to the texts behind a few of them."""

    case_hash: np.ndarray
    """For each sample of `Columns`, the hash of its case with its truth."""
    confusion: np.ndarray
    """For each finding that says both what was expected and what came, a digest of these and its code."""
    confusion_sample: np.ndarray
    """The position of its sample in `Columns`."""
    confused: Callable[[Sequence[int]], list[Confused]]
    """The texts behind the confusions at some places of these columns."""
    cases: Callable[[Sequence[str]], dict[str, Case]]
    """Some cases of the run, by id."""


def confusion_label(value: Any) -> str:
    """What a finding expected or got, in a few words: a text, the role of something that has one, or its JSON."""
    if isinstance(value, dict):
        value = value.get("role", value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@lru_cache(maxsize=50_000)
def confusion_digest(code: str, expected: str, got: str) -> int:
    """A number for one thing taken for another; `code` is as stored."""
    told = "\0".join((code, expected, got)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big")


def read_contents(reading: Callable[[], Any], run: int) -> Contents:
    """The contents of a run; `reading` opens a transaction, now and whenever texts are asked for."""
    import numpy as np

    places, hashes = array("q"), array("Q")
    digests, seqs, positions = array("Q"), array("q"), array("i")
    with reading() as session:
        for rows in session.stream(_HASHES, (run,), PIECE):
            places.extend([row[0] for row in rows])
            hashes.extend([int(row[1], 16) for row in rows])
        for rows in session.stream(_CONFUSED, (run,), PIECE):
            seq, position, code, expected, got = zip(*rows, strict=True)
            seqs.extend(seq)
            positions.extend(position)
            digests.extend(map(confusion_digest, code, _labels(expected), _labels(got)))

    def confused(chosen: Sequence[int]) -> list[Confused]:
        with reading() as session:
            return [_texts(session, run, seqs[one], positions[one]) for one in chosen]

    def cases(ids: Sequence[str]) -> dict[str, Case]:
        with reading() as session:
            return _cases(session, run, ids)

    sample = np.searchsorted(np.asarray(places), np.asarray(seqs))
    return Contents(np.asarray(hashes), np.asarray(digests), sample, confused, cases)


def _labels(stored: Sequence[str]) -> list[str]:
    # Parsed together: one by one takes three times as long.
    values = json.loads("[" + ",".join(stored) + "]")
    return [value if type(value) is str and len(value) <= _LONGEST else confusion_label(value) for value in values]


def _texts(session: Session, run: int, seq: int, position: int) -> Confused:
    code, expected, got = session.execute(_ONE, (run, seq, position))[0]
    return from_stored(code), confusion_label(json.loads(expected)), confusion_label(json.loads(got))


def _cases(session: Session, run: int, ids: Sequence[str]) -> dict[str, Case]:
    found = {}
    for piece in in_pieces(map(to_stored, ids)):
        for case_id, content in session.execute(f"{_CASES} ({placeholders(piece)})", (run, *piece)):
            found[from_stored(case_id)] = case_from(content)
    return found
