"""A recording's index: where each answer stands in its file, in 16 bytes a record."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from steelyard.errors import Mistake, SuiteError
from steelyard.suite.paths import MISSING, Getter, compile_path

Key = tuple[str, str, int]
"""Case id, variant name, repeat."""

_MOST_MISTAKES = 20


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Where in a record the parts stand that every recording needs."""

    case: Getter
    variant: Getter
    repeat: Getter
    answer: Getter
    failed: Getter

    @classmethod
    def from_paths(cls, case: str, variant: str, repeat: str, answer: str, failed: str) -> Self:
        """The shape from dotted paths."""
        return cls(*map(compile_path, (case, variant, repeat, answer, failed)))

    def key(self, record: dict[str, Any]) -> Key:
        """What the record is the answer to; ValueError with a sentence when it does not say."""
        case, variant, repeat = self.case(record), self.variant(record), self.repeat(record)
        if not isinstance(case, str | int) or isinstance(case, bool) or case == "":
            raise ValueError("the record does not name its case")
        if variant is MISSING or variant is None:
            variant = ""
        if not isinstance(variant, str):
            raise ValueError(f"the variant is {variant!r}: it must be the variant's name")
        if repeat is MISSING or repeat is None:
            repeat = 0
        if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
            raise ValueError(f"the repeat is {repeat!r}: it must be a whole number from 0")
        return (str(case), variant, repeat)

    def check(self, record: dict[str, Any]) -> None:
        """ValueError with a sentence when the record holds neither an answer nor a failure."""
        answer = self.answer(record)
        if (answer is MISSING or answer is None) and not self.failed(record):
            raise ValueError("the record has no answer; write `failed` with the reason when there was none")


class Index:
    """Sorted hashes of keys beside the places of their records: found by bisection, checked by reading."""

    __slots__ = ("_hashes", "_offsets", "digest")

    def __init__(self, hashes: array[int], offsets: array[int], digest: str) -> None:
        self._hashes, self._offsets, self.digest = hashes, offsets, digest

    def __len__(self) -> int:
        return len(self._hashes)

    def offsets(self, key: Key) -> Iterator[int]:
        """Where records that may be the key's stand; almost always none or one."""
        wanted = _hash(key)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            yield self._offsets[at]
            at += 1

    def with_shared_hash(self) -> Iterator[int]:
        """Where records stand whose hash another record has too, in the order of the file: doubles, or chance."""
        hashes, offsets = np.frombuffer(self._hashes, dtype=np.uint64), np.frombuffer(self._offsets, dtype=np.int64)
        same = hashes[1:] == hashes[:-1]
        shared = np.concatenate([same, [False]]) | np.concatenate([[False], same])
        yield from (int(offset) for offset in np.sort(offsets[shared]))


def scan(path: Path, name: str, shape: RecordShape) -> Index:
    """Reads the file once; SuiteError with file and line for every line that cannot be used and every double."""
    mistakes: list[Mistake] = []
    hashes, offsets = array("Q"), array("q")
    sha = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            offset = 0
            for number, line in enumerate(stream, 1):
                sha.update(line)
                if line.strip():
                    try:
                        hashes.append(_hash(_read(line, shape)))
                        offsets.append(offset)
                    except ValueError as error:
                        mistakes.append(Mistake(str(error), name, number))
                        if len(mistakes) >= _MOST_MISTAKES:
                            break
                offset += len(line)
    except OSError as error:
        raise SuiteError([Mistake(f"the recorded answers cannot be read: {error.strerror}", name)]) from None
    if not mistakes and not hashes:
        mistakes.append(Mistake("the file holds no recorded answers", name))
    if mistakes:
        raise SuiteError(mistakes)
    index = _sorted_index(hashes, offsets, sha.hexdigest()[:16])
    _refuse_doubles(index, path, name, shape)
    return index


def _read(line: bytes, shape: RecordShape) -> Key:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8 text, or nested too deep"
        raise ValueError(f"the line is not JSON: {reason}") from None
    if not isinstance(record, dict):
        raise ValueError("the line is JSON, but not an object with case and answer")
    key = shape.key(record)
    shape.check(record)
    return key


def _hash(key: Key) -> int:
    spelled = f"{key[0]}\x00{key[1]}\x00{key[2]}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(spelled, digest_size=8).digest(), "little")


def _sorted_index(hashes: array[int], offsets: array[int], digest: str) -> Index:
    keys, places = np.frombuffer(hashes, dtype=np.uint64), np.frombuffer(offsets, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    return Index(array("Q", keys[order].tobytes()), array("q", places[order].tobytes()), digest)


def _refuse_doubles(index: Index, path: Path, name: str, shape: RecordShape) -> None:
    mistakes: list[Mistake] = []
    first_of: dict[Key, int] = {}
    with path.open("rb") as stream:
        for offset in index.with_shared_hash():
            key = shape.key(_record_at(stream, offset))
            if key in first_of:
                mistakes.append(_double(key, path, name, first_of[key], offset))
                if len(mistakes) >= _MOST_MISTAKES:
                    break
            else:
                first_of[key] = offset
    if mistakes:
        raise SuiteError(mistakes)


def _double(key: Key, path: Path, name: str, first: int, second: int) -> Mistake:
    case, variant, repeat = key
    told = f"case {case}" + (f", variant {variant}" if variant else "") + f", repeat {repeat}"
    message = f"a second answer for {told} (the first is on line {_line_of(path, first)}): give each its own `repeat`"
    return Mistake(message, name, _line_of(path, second))


def _record_at(stream: Any, offset: int) -> dict[str, Any]:
    stream.seek(offset)
    record: dict[str, Any] = json.loads(stream.readline())
    return record


def _line_of(path: Path, offset: int) -> int:
    line = 1
    with path.open("rb") as stream:
        while offset > 0 and (block := stream.read(min(offset, 1 << 20))):
            line += block.count(b"\n")
            offset -= len(block)
    return line
