"""The columns of a large run, stored as whole arrays when it ends.

They are derived from the samples and say nothing else: a run without them (a small one) is read sample by sample, and
so is one whose columns are not all there. A run that has ended never changes, so they cannot become stale; whoever
changes how samples are read into columns raises `_VERSION`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from steelyard.frozen import frozen
from steelyard.store.base import Checks, Columns
from steelyard.store.columns import PackedTexts
from steelyard.store.contents import ContentsColumns
from steelyard.store.databases import Session
from steelyard.store.packing import pack_bytes, unpack_bytes

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
