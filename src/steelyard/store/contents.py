"""What a run's samples are about, beside their figures: which case they asked, what was taken for what, which answers
are the same; and the columns of a large run, stored as whole arrays when it ends.

Texts are read as 64-bit digests, side by side with `Columns`, so that memory grows with numbers; the few that a report
shows are fetched again.

Stored columns are derived from the samples and say nothing else: a run without them (a small one) is read sample by
sample, and so is one whose columns are not all there. A run that has ended never changes, so they cannot become stale;
whoever changes how samples are read into columns raises `_VERSION`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from steelyard.frozen import frozen, slotted
from steelyard.store.base import Checks, Columns
from steelyard.store.codec import from_stored, to_stored
from steelyard.store.columns import PackedTexts
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.packing import pack_bytes, unpack_bytes, unpack_text
from steelyard.store.samples import case_from
from steelyard.suite.case import Case

PIECE = 1_000
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


# ---- which answers are the same


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


# ---- columns as whole arrays


LEAST = 20_000
"""Samples from which on it is worth the room; below, all are read in less than half a second."""
CHECKS, COLUMNS, CONTENTS, DIGESTS = "checks", "columns", "contents", "digests"
"""The parts that are kept, each by itself."""
_VERSION = 2
"""1: no time of calls that timed out."""
_INSERT = ("run", "name", "content")
_SINGLE_PART = "SELECT content FROM stored_columns WHERE run = ? AND name = ?"
_STORED = "SELECT name, content FROM stored_columns WHERE run = ? AND name >= ? AND name < ? ORDER BY name"
_COUNT = "SELECT count(*) FROM samples JOIN runs ON runs.number = samples.run WHERE run = ? AND state = 'ended'"


@frozen
class Digests:
    """Digests of a run's answers, in the form that is kept."""

    digest: np.ndarray


_Stored = TypeVar("_Stored", Columns, Checks, ContentsColumns, Digests)


def keep(session: Session, run: int, part: str, value: Columns | Checks | ContentsColumns | Digests) -> None:
    """Keep one part of what was read of a run that has ended."""
    for name, content in _packed(part, value):
        # One by one, so that no more than one array is held twice.
        session.insert("stored_columns", _INSERT, [(run, name, content)], unless_there=True)


def is_large(session: Session, run: int) -> bool:
    """Whether a run has ended and is large enough for its columns to be kept."""
    return bool(session.execute(_COUNT, (run,))[0][0] >= LEAST)


def stored_columns(session: Session, run: int) -> Columns | None:
    """The columns of a run; None when none are kept."""
    return _unpacked(session, run, COLUMNS, Columns)


def stored_checks(session: Session, run: int) -> Checks | None:
    """What became of its expectations; None when that is not kept."""
    return _unpacked(session, run, CHECKS, Checks)


def stored_contents(session: Session, run: int) -> ContentsColumns | None:
    """What its samples are about; None when that is not kept."""
    return _unpacked(session, run, CONTENTS, ContentsColumns)


def stored_digests(session: Session, run: int) -> np.ndarray | None:
    """Digests of its answers; None when they are not kept."""
    result = _unpacked(session, run, DIGESTS, Digests)
    return None if result is None else result.digest


def stored_texts(session: Session, run: int, part: str) -> dict[str, Any]:
    """What is text or a number in a stored part, by field; of an array the name. KeyError when it is not kept."""
    rows = session.execute(_SINGLE_PART, (run, part))
    message = json.loads(bytes(rows[0][0])) if rows else {}
    if message.pop("version", None) != _VERSION:
        raise KeyError(part)
    return {name: _named(item) for name, item in message.items()}


def _named(message: dict[str, Any]) -> Any:
    if "group" in message:
        return {name: _named(item) for name, item in message["group"].items()}
    return message["plain"] if "plain" in message else message.get("array")


def stored_array(session: Session, run: int, part: str, name: str) -> np.ndarray:
    """One array of a stored part, without the others; KeyError when somebody deleted it."""
    rows = session.execute(_SINGLE_PART, (run, f"{part}.{name}"))
    if not rows:
        raise KeyError(name)
    return _array(rows[0][0])


def _packed(part: str, value: Any) -> Iterator[tuple[str, bytes]]:
    """One row for what is text or a number, and one for each array."""
    messages: dict[str, Any] = {"version": _VERSION}
    arrays: dict[str, np.ndarray] = {}
    for field in fields(value):
        _take(field.name, getattr(value, field.name), messages, arrays)
    yield part, json.dumps(messages).encode("ascii")
    for name, values in arrays.items():
        yield f"{part}.{name}", _bytes(values)


def _take(name: str, value: Any, message: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
        message[name] = {"array": name}
    elif isinstance(value, PackedTexts):
        packs, loose = value.packs()
        arrays[f"{name}.sizes"] = np.array([len(pack) for pack in packs], dtype=np.int64)
        arrays[f"{name}.packs"] = np.frombuffer(b"".join(packs), dtype=np.uint8)
        message[name] = {"texts": name, "loose": loose}
    elif isinstance(value, Mapping):
        # Numbered, because names of components may be anything.
        inner: dict[str, Any] = {}
        for at, (key, item) in enumerate(value.items()):
            entry: dict[str, Any] = {}
            _take(f"{name}.{at}", item, entry, arrays)
            inner[key] = entry[f"{name}.{at}"]
        message[name] = {"group": inner}
    else:
        message[name] = {"plain": list(value) if isinstance(value, (list, tuple)) else value}


def _unpacked(session: Session, run: int, part: str, kind: type[_Stored]) -> _Stored | None:
    # "/" comes after "." in both databases: everything that begins with the part and a dot.
    rows: dict[str, bytes] = dict(session.execute(_STORED, (run, part, f"{part}/")))
    if part not in rows:
        return None
    message = json.loads(bytes(rows.pop(part)))
    # Taken out of the rows, so that what is unpacked is not held packed, too.
    arrays = {name.removeprefix(f"{part}."): rows.pop(name) for name in list(rows)}
    if message.pop("version") != _VERSION or set(message) != {column.name for column in fields(kind)}:
        return None
    try:
        return kind(**{name: _given(item, arrays) for name, item in message.items()})
    except KeyError:
        # Somebody deleted some of the rows, which may be done.
        return None


def _given(message: dict[str, Any], arrays: dict[str, bytes]) -> Any:
    if "array" in message:
        return _array(arrays.pop(message["array"]))
    if "texts" in message:
        sizes, packs = (_array(arrays.pop(f"{message['texts']}.{what}")) for what in ("sizes", "packs"))
        ends = np.cumsum(sizes).tolist()
        whole = packs.tobytes()
        return PackedTexts.of(
            [whole[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)], message["loose"]
        )
    if "group" in message:
        return {name: _given(item, arrays) for name, item in message["group"].items()}
    return message["plain"]


def _bytes(values: np.ndarray) -> bytes:
    written = io.BytesIO()
    np.save(written, values, allow_pickle=False)
    return pack_bytes(written.getvalue())


def _array(content: bytes) -> np.ndarray:
    result: np.ndarray = np.load(io.BytesIO(unpack_bytes(bytes(content))), allow_pickle=False)
    return result


def positions_of(session: Session, run: int, n: int) -> np.ndarray:
    """The places in the plan of a run's n samples, in order; a run without gaps is not read for them."""
    last = session.execute("SELECT max(seq) FROM samples WHERE run = ?", (run,))[0][0]
    if last is None or last == n - 1:
        return np.arange(n)
    return np.array([row[0] for row in session.execute("SELECT seq FROM samples WHERE run = ? ORDER BY seq", (run,))])
