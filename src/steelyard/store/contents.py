"""What a run's samples are about, besides their figures: which case they asked, and what was taken for what.

Texts are read as 64-bit digests, side by side with `Columns`, so that memory grows with numbers; the few that a report
shows are fetched again.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np

from steelyard.frozen import slotted
from steelyard.store.case_rows import case_from
from steelyard.store.columns import PIECE
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.stored_text import from_stored, to_stored
from steelyard.suite.case import Case

_LONGEST = 200
_WHOLE_BELOW = 1e15
_HASHES = "SELECT seq, case_hash FROM samples WHERE run = ? ORDER BY seq"
_CONFUSED = """
SELECT seq, position, code, expected, got FROM findings
WHERE run = ? AND expected IS NOT NULL AND got IS NOT NULL ORDER BY seq, position
"""
_SINGLE = "SELECT code, expected, got FROM findings WHERE run = ? AND seq = ? AND position = ?"
_CASES = """
SELECT DISTINCT c.id, c.content FROM samples s JOIN cases c ON c.id = s.case_id AND c.hash = s.case_hash
WHERE s.run = ? AND s.case_id IN
"""

Confused = tuple[str, str, str]
"""The code of a finding, what was expected and what came."""


@slotted
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
    entry, other = _value(expected), _value(got)
    kinds = [_kind(item) for item in (entry, other)]
    if kinds[0] != kinds[1] or kinds[0] in _NOT_CONFUSED or entry == other:
        return False
    return not (isinstance(entry, str) and isinstance(other, str) and _is_piece(entry, other))


_NOT_CONFUSED = ("bool", "NoneType")


def _kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def _is_piece(item: str, other: str) -> bool:
    words = [set(text.split()) - {"|"} for text in (item, other)]
    return words[0] <= words[1] or words[1] <= words[0]


def _value(message: Any) -> Any:
    """What a finding expected or got; of something with a role, the role."""
    return message.get("role", message) if isinstance(message, dict) else message


def confusion_label(value: Any) -> str:
    """What a finding expected or got, in a few words: a text, the role of something that has one, or its JSON."""
    value = _value(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_BELOW:
        # 1250 and 1250.0 are one number, and written in one way.
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def confusion_digest(code: str, expected: str, got: str) -> int:
    """A number for one thing taken for another; `code` is as stored."""
    message = "\0".join((code, expected, got)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(message, digest_size=8).digest(), "big")


@slotted
class ContentsColumns:
    """What `Contents` holds as numbers, and where its texts are: the findings at these places in the store."""

    case_hash: np.ndarray
    confusion: np.ndarray
    confusion_sample: np.ndarray
    seq: np.ndarray
    """For each confusion, the place of its sample in the plan."""
    position: np.ndarray
    """For each confusion, which finding of its sample it is."""


def read_contents_columns(session: Session, run: int) -> ContentsColumns:
    """The contents of a run as numbers."""
    # Four bytes hold every place of a plan and every finding of a sample.
    places, hashes = array("I"), array("Q")
    digests, seqs, positions = array("Q"), array("I"), array("I")
    for rows in session.stream(_HASHES, (run,), PIECE):
        places.extend([row[0] for row in rows])
        hashes.extend([int(row[1], 16) for row in rows])
    for rows in session.stream(_CONFUSED, (run,), PIECE):
        seq, position, *message = zip(*rows, strict=True)
        results = list(_digests(*message))
        retained = [digest is not None for digest in results]
        seqs.extend(compress(seq, retained))
        positions.extend(compress(position, retained))
        digests.extend([digest for digest in results if digest is not None])
    sample = np.searchsorted(np.asarray(places), np.asarray(seqs)).astype(np.uint32)
    return ContentsColumns(np.asarray(hashes), np.asarray(digests), sample, np.asarray(seqs), np.asarray(positions))


def with_texts(read: Callable[..., Any], run: int, columns: ContentsColumns) -> Contents:
    """The contents of a run, with the ways to the texts behind them; `read` calls a function with a transaction."""

    def confused(chosen: Sequence[int]) -> list[Confused]:
        places = [(int(columns.seq[item]), int(columns.position[item])) for item in chosen]
        return [read(_texts, run, seq, position) for seq, position in places]

    def cases(ids: Sequence[str]) -> dict[str, Case]:
        return dict(read(_cases, run, ids))

    return Contents(columns.case_hash, columns.confusion, columns.confusion_sample, confused, cases)


def _digests(codes: Sequence[str], stored_expected: Sequence[str], stored_got: Sequence[str]) -> Iterator[int | None]:
    """For each finding a number for what was taken for what; None where nothing was."""
    # Parsed together: one by one takes three times as long.
    expected, got = (json.loads("[" + ",".join(stored) + "]") for stored in (stored_expected, stored_got))
    for code, item, other in zip(codes, expected, got, strict=True):
        if type(item) is str and type(other) is str:
            yield _digest_of_texts(code, item, other)
        else:
            yield _digest(code, item, other)


def _digest(code: str, expected: Any, got: Any) -> int | None:
    if not is_confusion(expected, got):
        return None
    return confusion_digest(code, confusion_label(expected), confusion_label(got))


@lru_cache(maxsize=50_000)
def _digest_of_texts(code: str, expected: str, got: str) -> int | None:
    return _digest(code, expected, got)


def _texts(session: Session, run: int, seq: int, position: int) -> Confused:
    code, expected, got = session.execute(_SINGLE, (run, seq, position))[0]
    return from_stored(code), confusion_label(json.loads(expected)), confusion_label(json.loads(got))


def _cases(session: Session, run: int, ids: Sequence[str]) -> dict[str, Case]:
    results = {}
    for piece in in_pieces(map(to_stored, ids)):
        for case_id, content in session.execute(f"{_CASES} ({placeholders(piece)})", (run, *piece)):
            results[from_stored(case_id)] = case_from(content)
    return results
