"""A recording as a file of JSON lines, and its index: where each answer stands in it, in 16 bytes a record."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from steelyard.errors import Problem, SuiteError
from steelyard.frozen import frozen
from steelyard.suite.addresses import fetch, is_address
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.suite.readers import read_parquet, refuse
from steelyard.suite.streams import Damaged, LocalCopy, ending, is_packed, lines_copy, open_bytes

Key = tuple[str, str, int]
"""Case id, variant name, repeat."""

_MOST_PROBLEMS = 20


@frozen
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

    __slots__ = ("_hashes", "_offsets", "_taken", "digest")

    def __init__(self, hashes: array[int], offsets: array[int], digest: str) -> None:
        self._hashes, self._offsets, self.digest = hashes, offsets, digest
        self._taken = bytearray(len(hashes))

    def __len__(self) -> int:
        return len(self._hashes)

    def offsets(self, key: Key) -> Iterator[int]:
        """Where records that may be the key's stand; almost always none or one."""
        wanted = _hash(key)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            self._taken[at] = 1
            yield self._offsets[at]
            at += 1

    def not_taken(self) -> Any:
        """Where records stand that nobody asked for, in the order of the file."""
        return np.sort(np.frombuffer(self._offsets, dtype=np.int64)[np.frombuffer(self._taken, dtype=np.uint8) == 0])

    def with_shared_hash(self) -> Iterator[int]:
        """Where records stand whose hash another record has too, in the order of the file: doubles, or chance."""
        hashes, offsets = np.frombuffer(self._hashes, dtype=np.uint64), np.frombuffer(self._offsets, dtype=np.int64)
        same = hashes[1:] == hashes[:-1]
        shared = np.concatenate([same, [False]]) | np.concatenate([[False], same])
        yield from (int(offset) for offset in np.sort(offsets[shared]))


_ENDINGS = (".jsonl", ".ndjson", ".parquet")


class RecordedLines:
    """A recording as a file of JSON lines that can be read from anywhere: itself, or a copy that is unpacked."""

    def __init__(self, folder: Path, name: str, form: str | None = None) -> None:
        """SuiteError when it cannot be read to its end."""
        self.name, self._form = name, form
        self._fetched, self._copy = None, None
        packed = is_packed(name) or ending(name) not in (".jsonl", ".ndjson")
        try:
            self._fetched = fetch(name) if is_address(name) else None
            self.path = folder / name if self._fetched is None else self._fetched.path
            if form is not None or (ending(name) in _ENDINGS and packed):
                self._copy = self._unpacked()
                self.path = self._copy.path
        except OSError as error:
            raise SuiteError([Problem(f"the recorded answers cannot be read: {error.strerror}", name)]) from None
        except ValueError as error:
            raise SuiteError([Problem(str(error), "" if is_address(name) else name)]) from None

    @property
    def is_parquet(self) -> bool:
        return ending(self.name) == ".parquet"

    def problem(self, message: str, line: int) -> Problem:
        """A mistake in a record, a row or a line of the file that somebody wrote."""
        return Problem(message, f"{self.name} row {line}") if self.is_parquet else Problem(message, self.name, line)

    def _unpacked(self) -> LocalCopy:
        if self._form is not None:
            from steelyard.suite.traces import read_answers  # few suites have them

            spans = read_answers(self.path, self.name, refuse)
            return lines_copy("spans.jsonl", (json.dumps(span).encode() + b"\n" for span in spans))
        if self.is_parquet:
            rows = read_parquet(self.path, self.name, "", refuse)
            return lines_copy("rows.jsonl", (json.dumps(row.data, ensure_ascii=False).encode() + b"\n" for row in rows))
        line = 0

        def lines() -> Iterator[bytes]:
            nonlocal line
            with open_bytes(self.path) as stream:
                for line, text in enumerate(stream, 1):  # noqa: B007 - told when the data ends early
                    yield text

        try:
            return lines_copy("lines.jsonl", lines())
        except Damaged as error:
            raise SuiteError([Problem(f"{error} after line {line:,}", self.name, line or None)]) from None


def scan(lines: RecordedLines, shape: RecordShape) -> Index:
    """Reads the file once; SuiteError with file and line for every line that cannot be used and every double."""
    name = lines.name
    problems: list[Problem] = []
    hashes, offsets = array("Q"), array("q")
    sha = hashlib.sha256()
    try:
        with lines.path.open("rb") as stream:
            offset = 0
            for number, line in enumerate(stream, 1):
                sha.update(line)
                if line.strip():
                    try:
                        hashes.append(_hash(_read(line, shape)))
                        offsets.append(offset)
                    except ValueError as error:
                        problems.append(lines.problem(str(error), number))
                        if len(problems) >= _MOST_PROBLEMS:
                            break
                offset += len(line)
    except OSError as error:
        raise SuiteError([Problem(f"the recorded answers cannot be read: {error.strerror}", name)]) from None
    if not problems and not hashes:
        problems.append(Problem("the file holds no recorded answers", name))
    if problems:
        raise SuiteError(problems)
    index = _sorted_index(hashes, offsets, sha.hexdigest()[:16])
    _refuse_doubles(index, lines, shape)
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


def _refuse_doubles(index: Index, lines: RecordedLines, shape: RecordShape) -> None:
    problems: list[Problem] = []
    first_of: dict[Key, int] = {}
    with lines.path.open("rb") as stream:
        for offset in index.with_shared_hash():
            key = shape.key(record_at(stream, offset))
            if key in first_of:
                problems.append(_double(key, lines, first_of[key], offset))
                if len(problems) >= _MOST_PROBLEMS:
                    break
            else:
                first_of[key] = offset
    if problems:
        raise SuiteError(problems)


def _double(key: Key, lines: RecordedLines, first: int, second: int) -> Problem:
    case, variant, repeat = key
    path, unit = lines.path, "row" if lines.is_parquet else "line"
    text = f"case {case}" + (f", variant {variant}" if variant else "") + f", repeat {repeat}"
    message = f"a second answer for {text} (the first is on {unit} {_line_of(path, first)}): give each its own `repeat`"
    return lines.problem(message, _line_of(path, second))


def record_at(stream: Any, offset: int) -> dict[str, Any]:
    """The record whose line begins there in the file."""
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
