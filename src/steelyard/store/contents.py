"""What a run's samples are about, beside their figures: which case they asked, what was taken for what.

Texts are read as 64-bit digests, side by side with `Columns`, so that memory grows with numbers; the few that a report
shows are fetched again.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
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
    """For each finding that says what was taken for what (see `is_confusion`), a digest of both and its code."""
    confusion_sample: np.ndarray
    """The position of its sample in `Columns`."""
    confused: Callable[[Sequence[int]], list[Confused]]
    """The texts behind the confusions at some places of these columns."""
    cases: Callable[[Sequence[str]], dict[str, Case]]
    """Some cases of the run, by id."""


def is_confusion(expected: Any, got: Any) -> bool:
    """Whether one value was taken for another of its kind: a role for a role, a number for a number.

    A score below the one asked for is no such thing, nor is a flag; nor a piece of what was expected, or that with
    something around it, which is too little or too much of the same.
    """
    one, other = _value(expected), _value(got)
    kinds = [_kind(each) for each in (one, other)]
    if kinds[0] != kinds[1] or kinds[0] in _NOT_CONFUSED or one == other:
        return False
    return not (isinstance(one, str) and isinstance(other, str) and _is_piece(one, other))


_NOT_CONFUSED = ("bool", "NoneType")


def _kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def _is_piece(one: str, other: str) -> bool:
    words = [set(text.split()) - {"|"} for text in (one, other)]
    return words[0] <= words[1] or words[1] <= words[0]


def _value(told: Any) -> Any:
    """What a finding expected or got; of something with a role, the role."""
    return told.get("role", told) if isinstance(told, dict) else told


def confusion_label(value: Any) -> str:
    """What a finding expected or got, in a few words: a text, the role of something that has one, or its JSON."""
    value = _value(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


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
            seq, position, *told = zip(*rows, strict=True)
            found = list(_digests(*told))
            kept = [digest is not None for digest in found]
            seqs.extend(compress(seq, kept))
            positions.extend(compress(position, kept))
            digests.extend([digest for digest in found if digest is not None])

    def confused(chosen: Sequence[int]) -> list[Confused]:
        with reading() as session:
            return [_texts(session, run, seqs[one], positions[one]) for one in chosen]

    def cases(ids: Sequence[str]) -> dict[str, Case]:
        with reading() as session:
            return _cases(session, run, ids)

    sample = np.searchsorted(np.asarray(places), np.asarray(seqs))
    return Contents(np.asarray(hashes), np.asarray(digests), sample, confused, cases)


def _digests(codes: Sequence[str], stored_expected: Sequence[str], stored_got: Sequence[str]) -> Iterator[int | None]:
    """For each finding a number for what was taken for what; None where nothing was."""
    # Parsed together: one by one takes three times as long.
    expected, got = (json.loads("[" + ",".join(stored) + "]") for stored in (stored_expected, stored_got))
    for code, one, other in zip(codes, expected, got, strict=True):
        if type(one) is str and type(other) is str:
            yield _digest_of_texts(code, one, other)
        else:
            yield _digest(code, one, other)


def _digest(code: str, expected: Any, got: Any) -> int | None:
    if not is_confusion(expected, got):
        return None
    return confusion_digest(code, confusion_label(expected), confusion_label(got))


@lru_cache(maxsize=50_000)
def _digest_of_texts(code: str, expected: str, got: str) -> int | None:
    return _digest(code, expected, got)


def _texts(session: Session, run: int, seq: int, position: int) -> Confused:
    code, expected, got = session.execute(_ONE, (run, seq, position))[0]
    return from_stored(code), confusion_label(json.loads(expected)), confusion_label(json.loads(got))


def _cases(session: Session, run: int, ids: Sequence[str]) -> dict[str, Case]:
    found = {}
    for piece in in_pieces(map(to_stored, ids)):
        for case_id, content in session.execute(f"{_CASES} ({placeholders(piece)})", (run, *piece)):
            found[from_stored(case_id)] = case_from(content)
    return found
