"""Logs of inspect: `.eval` files, which are archives with a file a sample, and JSON. An epoch is a repeat."""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import zstandard

from steelyard.errors import SnapshotError
from steelyard.exchange.results import (
    NOTHING,
    ResultFile,
    ResultSample,
    as_text,
    asked,
    count,
    elements,
    grade,
    head,
    key_of,
    moment,
    number,
    opening,
)
from steelyard.suite.case import Case
from steelyard.suite.streams import MAX_UNPACKED

_OPENING = re.compile(r'{\s*"version"\s*:\s*\d+\s*,\s*"status"')
_ZSTANDARD, _LOCAL_HEADER = 93, 30
_GRADES = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Correct, incorrect, partly, no answer; as inspect itself counts them."""
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d+)\.json")


def read_json(path: Path) -> ResultFile | None:
    """The log, or None when the file is no JSON log of inspect."""
    if not _OPENING.match(opening(path)):
        return None
    document = head(path, "samples")
    if "samples" not in document:
        raise SnapshotError(f"{path} is a log of inspect without samples. {NOTHING}")
    return _results(document, lambda: elements(path, "samples"), path)


def read_zip(path: Path) -> ResultFile | None:
    """The log, or None when the file is no `.eval` of inspect."""
    if not zipfile.is_zipfile(path):
        if opening(path).startswith("PK"):
            raise SnapshotError(f"{path} is an archive that is damaged or cut off. {NOTHING}")
        return None
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        start = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if start is None:
            return None
        document = _member(archive, archive.getinfo(start), path)

    def samples() -> Iterator[Any]:
        with zipfile.ZipFile(path) as archive:
            # By epoch and as asked for, not as they ended.
            order = {str(name): n for n, name in enumerate(document["eval"]["dataset"].get("sample_ids") or [])}
            rows = [(match, info) for info in archive.infolist() if (match := _SAMPLE.fullmatch(info.filename))]
            rows.sort(key=lambda row: (int(row[0][2]), order.get(row[0][1], len(order))))
            for _, info in rows:
                yield _member(archive, info, path)

    return _results(document, samples, path)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Any:
    """The data of one file in the archive; Python's own reader knows no Zstandard before 3.14."""
    try:
        if info.compress_type != _ZSTANDARD:
            with archive.open(info) as packed:
                return json.loads(_limited(packed.read(MAX_UNPACKED + 1)))
        with path.open("rb") as stream:
            stream.seek(info.header_offset + _LOCAL_HEADER - 4)
            stream.seek(sum(struct.unpack("<HH", stream.read(4))), os.SEEK_CUR)
            reader = zstandard.ZstdDecompressor().stream_reader(stream.read(info.compress_size))
            raw = _limited(reader.read(MAX_UNPACKED + 1))
        if zlib.crc32(raw) != info.CRC:
            raise zipfile.BadZipFile("its checksum does not fit")
        return json.loads(raw)
    except (
        zipfile.BadZipFile,
        zlib.error,
        zstandard.ZstdError,
        ValueError,
        struct.error,
        NotImplementedError,
    ) as error:
        raise SnapshotError(f"{path}: {info.filename} in it is damaged: {error}. {NOTHING}") from None


def _limited(raw: bytes) -> bytes:
    if len(raw) > MAX_UNPACKED:
        raise ValueError(f"it is larger than {MAX_UNPACKED:,} bytes unpacked, which no log is")
    return raw


def _results(document: Mapping[str, Any], rows: Callable[[], Iterator[Any]], path: Path) -> ResultFile:
    about = document["eval"]
    model = str(about["model"])
    scorers = {key_of(scorer["name"]): str(scorer["name"]) for scorer in about.get("scorers") or []}
    main = ((document.get("results") or {}).get("headline") or {}).get("scorer")
    counts_alone = key_of(main) if main else next(iter(scorers), "")
    status = document.get("status", "started")
    notes = () if status == "success" else (f"inspect says that its run ended with the status {status}",)
    return ResultFile(
        tool="inspect",
        version=str((about.get("packages") or {}).get("inspect_ai") or ""),
        name=str(about.get("task") or path.stem).rpartition("/")[2],
        samples=lambda: (_sample(row, model, counts_alone) for row in rows()),
        created_at=moment(about.get("created")),
        target={"model": model},
        scorers=scorers,
        counts_alone=counts_alone,
        prompts=[document.get("plan"), about.get("task_args"), about.get("model_generate_config")],
        notes=notes,
    )


def _sample(row: Mapping[str, Any], model: str, main: str) -> ResultSample:
    output, error = row.get("output") or {}, row.get("error")
    usage = (row.get("model_usage") or {}).get(model) or output.get("usage") or {}
    scores, notes = {}, {}
    for name, score in (row.get("scores") or {}).items():
        for key, value in _values(key_of(name), score.get("value")):
            scores[key] = value
            notes[key] = str(score.get("explanation") or "")
    metadata = row.get("metadata") or {}
    category = metadata.get("category", metadata.get("topic"))
    target = row.get("target")
    # Another scorer's value would be of another kind in the same mean.
    of_main = (value for key, value in scores.items() if not main or key == main or key.startswith(f"{main}-"))
    total = next(of_main, None)
    return ResultSample(
        case=Case(
            id=str(row["id"]),
            input=asked(_without_ids(row["input"])),
            expected=target if target not in ("", []) else None,
            category=None if category is None else str(category),
        ),
        answer=None if error else _completion(output),
        messages=_conversation(row.get("messages") or []),
        failure=str(error.get("message") or "inspect says: error") if error else "",
        scores={} if error else scores,
        notes={} if error else notes,
        score=None if error else total,
        latency=number(output.get("time")),
        tokens_in=count(usage.get("input_tokens")),
        tokens_out=count(usage.get("output_tokens")),
        cost=number(usage.get("total_cost")),
        model=str(output.get("model") or model),
    )


def _values(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a score: one, or one by each name or place in it."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _values(f"{name}-{key_of(key)}", inner)
    elif (result := grade(value, _GRADES)) is not None:
        yield name, result


def _completion(output: Mapping[str, Any]) -> str:
    completion = output.get("completion")
    if completion is None:
        completion = ((output.get("choices") or [{}])[0].get("message") or {}).get("content") or ""
    return as_text(completion)


def _conversation(messages: list[Mapping[str, Any]]) -> list[Any]:
    """All messages where tools were called or the model spoke more than once; else none beyond input and answer."""
    turns = sum(message.get("role") == "assistant" for message in messages)
    tools = any(message.get("tool_calls") or message.get("role") == "tool" for message in messages)
    return _without_ids(messages) if tools or turns > 1 else []


def _without_ids(prompt: Any) -> Any:
    """Messages without what inspect adds to them in each run: by their ids no two questions would be the same."""
    if not isinstance(prompt, list):
        return prompt
    return [{key: value for key, value in message.items() if key not in ("id", "source")} for message in prompt]
