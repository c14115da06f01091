"""Recorded answers as a target."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from pydantic import Field

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.frozen import frozen
from steelyard.suite.case import MISSING, Getter, compile_path
from steelyard.suite.readers import read_parquet, refuse
from steelyard.suite.streams import Damaged, LocalCopy, ending, fetch, is_address, is_packed, lines_copy, open_bytes
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.settings import CasePath, TargetSettings

# A recording's index: where each answer stands in its file, in 16 bytes a record.

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
            key = shape.key(_record_at(stream, offset))
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


class RecordedSettings(TargetSettings):
    """Which file holds the answers, and under which names."""

    shorthand: ClassVar[str | None] = "file"

    file: str = Field(
        description="File with one recorded answer a line or row: .jsonl (also .gz, .zst) or .parquet, relative to the"
        " suite's folder; or an address."
    )
    format: Literal["otlp"] | None = Field(
        default=None, description="`otlp`: the file holds OpenTelemetry traces, as `cases: {otlp: ...}` reads them."
    )
    case: CasePath = Field(default="case", description="Path in a record to the id of its case.")
    answer: CasePath = Field(default="answer", description="Path to the answer: a text, or JSON data.")
    variant: CasePath = Field(
        default="variant", description="Path to the variant's name; a record without one has no variant."
    )
    repeat: CasePath = Field(
        default="repeat", description="Path to the repeat, counted from 0; a record without one is repeat 0."
    )
    latency: CasePath = Field(default="latency", description="Path to the seconds the answer took.")
    tokens_in: CasePath = Field(default="tokens_in", description="Path to the number of tokens sent.")
    tokens_out: CasePath = Field(default="tokens_out", description="Path to the number of tokens received.")
    cost: CasePath = Field(default="cost", description="Path to what the answer cost.")
    model: CasePath = Field(default="model", description="Path to the name of the model that answered.")
    response_id: CasePath = Field(
        default="response_id", description="Path to the service's own id of the answer; repeats with one id are one."
    )
    cached: CasePath = Field(
        default="cached", description="Path to whether the answer is an earlier one from a cache of the service."
    )
    failed: CasePath = Field(
        default="failed",
        description="Path to why there is no answer: a word such as `timeout`, or an object with kind and message.",
    )


class RecordedTarget:
    """Gives each case the answer recorded for it; keeps 16 bytes a record in memory, whatever the answers' size."""

    Settings = RecordedSettings
    sends_attachments: ClassVar[bool] = False
    makes_no_calls: ClassVar[bool] = True

    def __init__(self, settings: RecordedSettings, target_context: TargetContext) -> None:
        self._settings = settings
        self._folder = target_context.folder
        self._shape = RecordShape.from_paths(
            settings.case, settings.variant, settings.repeat, settings.answer, settings.failed
        )
        self._extras = {name: (compile_path(getattr(settings, name)), check) for name, check in _EXTRAS.items()}
        self._result: tuple[RecordedLines, Index] | None = None
        self._stream: BufferedReader | None = None

    async def __aenter__(self) -> Self:
        self._stream = self._indexed()[0].path.open("rb")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    async def ask(self, ask: Request) -> Response:
        """The recorded answer; TargetFailure `not_recorded` when there is none, or the failure that was recorded."""
        key = (ask.case.id, ask.variant.name, ask.repeat)
        record = self._record(key)
        if record is None:
            raise TargetFailure(
                "not_recorded", f"{self._settings.file} holds no answer for {_message(key)}", retry=False
            )
        extras = {name: check(get(record)) for name, (get, check) in self._extras.items()}
        _raise_recorded_failure(self._shape.failed(record), extras["latency"])
        answer = self._shape.answer(record)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return Response(text=text, **extras)

    def identity(self) -> dict[str, Any]:
        """Kind, file and a hash over all answers in it; where a file at an address is does not count."""
        _, index = self._indexed()
        # Where a file outside the suite's folder is, is this machine's affair; the hash says what it holds.
        name = Path(self._settings.file).name if Path(self._settings.file).is_absolute() else self._settings.file
        file = {} if is_address(self._settings.file) else {"file": name}
        return {"kind": "recorded", **file, "answers": index.digest, "n": len(index)}

    def not_used(self) -> str:
        """How many recorded answers no sample took, and the first; empty when there are none."""
        lines, index = self._indexed()
        rest = index.not_taken()
        if not len(rest):
            return ""
        with lines.path.open("rb") as stream:
            first = _message(self._shape.key(_record_at(stream, int(rest[0]))))
        return (
            f"{len(rest):,} of {len(index):,} recorded answers not used: the run has no such case, variant or repeat;"
            f" the first: {first}"
        )

    def request_key(self, ask: Request) -> Any:  # noqa: ARG002 - part of the protocol
        """None: reading a file again is cheaper than a cache."""
        return None

    def secrets(self) -> list[str]:
        """None are needed."""
        return []

    def _indexed(self) -> tuple[RecordedLines, Index]:
        if self._result is None:
            lines = RecordedLines(self._folder, self._settings.file, self._settings.format)
            self._result = lines, scan(lines, self._shape)
        return self._result

    def _record(self, key: Key) -> dict[str, Any] | None:
        if self._stream is None:
            raise RuntimeError("a target is used inside `async with`")
        for offset in self._indexed()[1].offsets(key):
            self._stream.seek(offset)
            record: dict[str, Any] = json.loads(self._stream.readline())
            if self._shape.key(record) == key:
                return record
        return None


def _message(key: Key) -> str:
    case, variant, repeat = key
    parts = [f"case {case}", f"variant {variant}" if variant else "", f"repeat {repeat}" if repeat else ""]
    return ", ".join(part for part in parts if part)


def _raise_recorded_failure(failed: Any, latency: float) -> None:
    if failed is MISSING or not failed:
        return
    if isinstance(failed, dict):
        kind, message = str(failed.get("kind") or "failed"), str(failed.get("message") or "")
    else:
        kind, message = (failed if isinstance(failed, str) else "failed"), ""
    message = message or f"the recording says that this call failed: {kind}"
    raise TargetFailure(kind, message, retry=False, latency=latency)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: Any) -> float:
    """Seconds; 0 where none are recorded, because what it takes to read the file is not how long the system took."""
    number = _number(value)
    return number if number is not None and 0 < number < math.inf else 0.0


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: Any) -> bool:
    return value is True


_EXTRAS: Final[dict[str, Callable[[Any], Any]]] = {
    "latency": _time, "tokens_in": _count, "tokens_out": _count, "cost": _number, "model": _text,
    "response_id": _text, "cached": _flag,
}  # fmt: skip
"""What is known of an answer beside its text, by the name of the setting and of the reply's field."""
