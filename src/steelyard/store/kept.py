"""The columns of a large run, kept as whole arrays when it ends: reading them again takes no walk over its samples.

They are derived from the samples and say nothing else: a run without them (a small one, or one that an older version
wrote) is read sample by sample, and so is one whose columns are not all there, or in a form that this version does not
know. A run that has ended never changes, so they cannot become stale; whoever changes how samples are read into columns
raises `_VERSION`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from steelyard.store.base import Checks, Columns
from steelyard.store.contents import Contents, ContentsColumns, read_contents_columns, with_texts
from steelyard.store.database import Session
from steelyard.store.narrow import PackedTexts

LEAST = 20_000
"""Samples from which on it is worth the room; below, all are read in less than half a second."""
CHECKS, COLUMNS, CONTENTS, DIGESTS = "checks", "columns", "contents", "digests"
"""The parts that are kept, each by itself."""
_VERSION = 1
_INSERT = ("run", "name", "content")
_ALL = "SELECT name, content FROM kept_columns WHERE run = ? AND name >= ? AND name < ? ORDER BY name"
_COUNT = "SELECT count(*) FROM samples JOIN runs ON runs.number = samples.run WHERE run = ? AND state = 'ended'"


@dataclass(frozen=True, slots=True)
class Digests:
    """Digests of a run's answers, in the form that is kept."""

    digest: np.ndarray


_Kept = TypeVar("_Kept", Columns, Checks, ContentsColumns, Digests)


def keep(session: Session, run: int, part: str, value: Columns | Checks | ContentsColumns | Digests) -> None:
    """Keep one part of what was read of a run that has ended."""
    for name, content in _packed(part, value):
        # One by one, so that no more than one array is held twice.
        session.insert("kept_columns", _INSERT, [(run, name, content)], unless_there=True)


def is_large(session: Session, run: int) -> bool:
    """Whether a run has ended and is large enough for its columns to be kept."""
    return bool(session.execute(_COUNT, (run,))[0][0] >= LEAST)


def kept_columns(session: Session, run: int) -> Columns | None:
    """The columns of a run; None when none are kept."""
    return _unpacked(session, run, COLUMNS, Columns)


def kept_checks(session: Session, run: int) -> Checks | None:
    """What became of its expectations; None when that is not kept."""
    return _unpacked(session, run, CHECKS, Checks)


def kept_contents(reading: Callable[[], Any], run: int) -> Contents | None:
    """What its samples are about; None when that is not kept."""
    with reading() as session:
        found = _unpacked(session, run, CONTENTS, ContentsColumns)
    return None if found is None else with_texts(reading, run, found)


def kept_digests(session: Session, run: int) -> np.ndarray | None:
    """Digests of its answers; None when they are not kept."""
    found = _unpacked(session, run, DIGESTS, Digests)
    return None if found is None else found.digest


def read_to_keep(reading: Callable[[], Any], run: int) -> ContentsColumns:
    """What the samples of a run are about, in the form that is kept."""
    with reading() as session:
        return read_contents_columns(session, run)


def _packed(part: str, value: Any) -> Iterator[tuple[str, bytes]]:
    """One row for what is text or a number, and one for each array."""
    told: dict[str, Any] = {"version": _VERSION}
    arrays: dict[str, np.ndarray] = {}
    for each in fields(value):
        _take(each.name, getattr(value, each.name), told, arrays)
    yield part, json.dumps(told).encode("ascii")
    for name, array in arrays.items():
        yield f"{part}.{name}", _bytes(array)


def _take(name: str, value: Any, told: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
        told[name] = {"array": name}
    elif isinstance(value, PackedTexts):
        packs, loose = value.packs()
        arrays[f"{name}.sizes"] = np.array([len(pack) for pack in packs], dtype=np.int64)
        arrays[f"{name}.packs"] = np.frombuffer(b"".join(packs), dtype=np.uint8)
        told[name] = {"texts": name, "loose": loose}
    elif isinstance(value, Mapping):
        # Numbered, because names of components may be anything.
        inner: dict[str, Any] = {}
        for at, (key, each) in enumerate(value.items()):
            one: dict[str, Any] = {}
            _take(f"{name}.{at}", each, one, arrays)
            inner[key] = one[f"{name}.{at}"]
        told[name] = {"group": inner}
    else:
        told[name] = {"plain": list(value) if isinstance(value, (list, tuple)) else value}


def _unpacked(session: Session, run: int, part: str, kind: type[_Kept]) -> _Kept | None:
    # "/" comes after "." in both databases: everything that begins with the part and a dot.
    rows: dict[str, bytes] = dict(session.execute(_ALL, (run, part, f"{part}/")))
    if part not in rows:
        return None
    told = json.loads(bytes(rows.pop(part)))
    arrays = {name.removeprefix(f"{part}."): content for name, content in rows.items()}
    if told.pop("version") != _VERSION or set(told) != {each.name for each in fields(kind)}:
        return None
    try:
        return kind(**{name: _given(each, arrays) for name, each in told.items()})
    except KeyError:
        # Somebody deleted some of the rows, which may be done.
        return None


def _given(told: dict[str, Any], arrays: dict[str, bytes]) -> Any:
    if "array" in told:
        return _array(arrays.pop(told["array"]))
    if "texts" in told:
        sizes, packs = (_array(arrays.pop(f"{told['texts']}.{what}")) for what in ("sizes", "packs"))
        ends = np.cumsum(sizes).tolist()
        whole = packs.tobytes()
        return PackedTexts.of(
            [whole[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)], told["loose"]
        )
    if "group" in told:
        return {name: _given(each, arrays) for name, each in told["group"].items()}
    return told["plain"]


def _bytes(array: np.ndarray) -> bytes:
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def _array(content: bytes) -> np.ndarray:
    found: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
    return found
