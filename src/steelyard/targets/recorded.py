"""Recorded answers as a target."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field

from steelyard.errors import TargetFailure
from steelyard.suite.addresses import is_address
from steelyard.suite.paths import MISSING, compile_path
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.recorded_index import Index, Key, RecordedLines, RecordShape, record_at, scan
from steelyard.targets.settings import CasePath, TargetSettings


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
            first = _message(self._shape.key(record_at(stream, int(rest[0]))))
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
