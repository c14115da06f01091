"""Runs of OpenAI's hosted Evals as its API lists them: the output items of a run, with the eval and the run.

A file is JSONL with one object per line, or one JSON document: an object, a page of a list, a list of objects, or a
group of them such as `{"eval": ..., "run": ..., "output_items": [...]}`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import count as count_from
from pathlib import Path
from typing import Any

from steelyard.errors import SnapshotError
from steelyard.exchange.graders import Grader, ItemFields, key_of_grader, suite_scoring
from steelyard.exchange.results import (
    NOTHING,
    ResultFile,
    ResultSample,
    as_text,
    asked,
    case_id,
    count,
    number,
    opening,
)
from steelyard.suite.case import Case, digest
from steelyard.suite.readers import read_records
from steelyard.suite.streams import ending

_OBJECT = re.compile(r'"object"\s*:\s*"eval[."]|"(datasource_item|data_source_config|testing_criteria|eval_id)"\s*:')
"""What one of these objects begins with: their own name may stand behind a long schema."""
_MILLISECONDS = 1e11
"""No second since 1970 is as large as this: some services give milliseconds."""


def read(path: Path) -> ResultFile | None:
    """The results, or None when it is no such file."""
    if not _OBJECT.search(opening(path)):
        return None
    evaluation, runs, n, more = _Evaluation(), dict[str, Any](), 0, False
    for record in _records(path):
        kind = _kind(record)
        if kind == "eval":
            evaluation.take(record, path)
        elif kind == "eval.run":
            runs[str(record["id"])] = record
        elif kind == "eval.run.output_item":
            n += 1
            evaluation.see(record)
            runs.setdefault(str(record.get("run_id")), {})
        elif kind == "list":
            more |= record.get("has_more") is True
    if not n and (evaluation.graders or runs):
        raise SnapshotError(f"{path} holds no output items of a run of OpenAI's Evals. {NOTHING}")
    if not n:
        return None
    if not evaluation.graders:
        _take_beside(path, evaluation, runs)
    first = next(iter(runs.values()))
    several = sum(1 for name in runs if name in evaluation.runs) > 1
    created = number(first.get("created_at")) or evaluation.created_at
    scorers = evaluation.scorers
    return ResultFile(
        tool="OpenAI Evals",
        version="",
        name=evaluation.name or path.stem,
        samples=lambda: (
            _sample(row, evaluation, runs.get(str(row.get("run_id"))) or {}, several=several)
            for row in _records(path)
            if _kind(row) == "eval.run.output_item"
        ),
        created_at=created / 1000 if created and created > _MILLISECONDS else created,
        target={"model": None if several else first.get("model")},
        scorers=scorers,
        counts_alone=next(iter(scorers)) if len(scorers) == 1 else "",
        scales=evaluation.scales,
        prompts=[(run.get("data_source") or {}).get("input_messages") for run in runs.values()],
        notes=tuple(_notes(evaluation, runs, n, more=more, several=several)),
        stated={} if several else _stated(first),
        scoring=suite_scoring(list(evaluation.graders.values()), evaluation.fields),
    )


def _records(path: Path) -> Iterator[Any]:
    """Every object in the file, without the lists and groups around them; a page comes before its objects."""
    if ending(path) in (".jsonl", ".ndjson"):
        for record in read_records(path, str(path), "", _refuse):
            yield from _objects(record.data)
        return
    with path.open(encoding="utf-8-sig") as stream:
        try:
            document = json.load(stream)
        except json.JSONDecodeError as error:
            raise SnapshotError(f"{path}:{error.lineno}: not readable as JSON: {error.msg}. {NOTHING}") from None
    yield from _objects(document)


def _refuse(problem: Any) -> None:
    raise SnapshotError(f"{problem}. {NOTHING}")


def _objects(data: Any) -> Iterator[Any]:
    if isinstance(data, list):
        for item in data:
            yield from _objects(item)
    elif isinstance(data, dict):
        yield data
        inside = () if _kind(data).startswith("eval") else ("eval", "run", "output_items", "data")
        for key in inside:
            yield from _objects(data.get(key))


def _kind(record: Mapping[str, Any]) -> str:
    """The kind of an object; an output item is known by its fields, too."""
    return "eval.run.output_item" if "datasource_item" in record else str(record.get("object") or "")


class _Evaluation:
    """The eval object, and what one pass over the output items shows."""

    def __init__(self) -> None:
        self.name, self._id = "", ""
        self.graders: dict[str, Grader] = {}
        """By the name that results have, or the beginning of it."""
        self.fields = ItemFields({})
        self.runs: dict[str, None] = {}
        self.created_at: float | None = None
        self._seen: dict[str, None] = {}
        """The graders that results name."""
        self._ids: dict[str, set[str]] = defaultdict(set)

    def take(self, record: Mapping[str, Any], path: Path) -> None:
        """Take the eval object; a file holds one."""
        if self._id and self._id != record["id"]:
            raise SnapshotError(
                f"{path} holds two evals, {self._id} and {record['id']}: import one at a time. {NOTHING}"
            )
        self._id, self.name = str(record["id"]), str(record.get("name") or record["id"])
        self.graders = {}
        for data in record.get("testing_criteria") or []:
            grader = Grader(data)
            # Several graders may have one name: the dashboard names them by their kind.
            grader.key = _unused(grader.key, {other.key for other in self.graders.values()})
            name = str(data.get("id") or data.get("name") or data.get("type"))
            self.graders[name if name not in self.graders else f"{name} {grader.key}"] = grader
        self.fields = ItemFields(self.graders)

    def see(self, row: Mapping[str, Any]) -> None:
        """Take note of an output item."""
        item, _ = _item(row)
        self.name = self.name or str(row.get("eval_id") or "")
        self.runs[str(row.get("run_id"))] = None
        self.created_at = self.created_at or number(row.get("created_at"))
        if isinstance(item.get("id"), str | int):
            self._ids[str(item["id"])].add(digest(item))
        for result in row.get("results") or []:
            self._seen.setdefault(str(result.get("name")))

    @property
    def has_ids(self) -> bool:
        """Whether the items have ids of their own that tell them apart."""
        return bool(self._ids) and all(len(items) == 1 for items in self._ids.values())

    @cached_property
    def keys(self) -> dict[str, str]:
        """By the name that results have, the key of the grader; no two graders have one key."""
        keys = {name: grader.key for name, grader in self.graders.items()}
        open_names = [name for name in self.graders if name not in self._seen]
        for name in self._seen:
            if name in keys:
                continue
            same = next((known for known in open_names if key_of_grader(known) == key_of_grader(name)), None)
            if same is not None:
                open_names.remove(same)
            keys[name] = keys[same] if same is not None else _unused(key_of_grader(name), {*keys.values()})
        return keys

    @property
    def scorers(self) -> dict[str, str]:
        """By key, the kind of each grader."""
        kinds = {grader.key: grader.kind for grader in self.graders.values()}
        return kinds | {key: "grader" for key in self.keys.values() if key not in kinds}

    @property
    def scales(self) -> dict[str, tuple[float, float]]:
        """By key, the lowest and highest score of graders that declare them; "" is the score of all."""
        scales = {grader.key: grader.scale for grader in self.graders.values()}
        return scales | ({"": next(iter(scales.values()))} if len(scales) == 1 else {})


def _unused(key: str, used: Collection[str]) -> str:
    """The key, with a number behind it when another grader has it."""
    return next(name for n in count_from(1) if (name := key if n == 1 else f"{key}_{n}") not in used)


def _take_beside(path: Path, evaluation: _Evaluation, runs: dict[str, Any]) -> None:
    """The eval and the run from files in the same folder, where the file has only output items."""
    for name in ("eval.json", "run.json", *(f"{run}.json" for run in runs)):
        file = path.parent / name
        if file == path or not file.is_file():
            continue
        for record in _records(file):
            if _kind(record) == "eval":
                evaluation.take(record, file)
            elif _kind(record) == "eval.run" and str(record.get("id")) in runs:
                runs[str(record["id"])] = record


def _item(row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The item of the data source and the answer that came with it, if any."""
    data = row.get("datasource_item") or {}
    if isinstance(data.get("item"), dict) and data.keys() <= {"item", "sample"}:
        return dict(data["item"]), dict(data.get("sample") or {})
    stored = {key.removeprefix("sample."): value for key, value in data.items() if key.startswith("sample.")}
    return {key: value for key, value in data.items() if not key.startswith("sample.")}, stored


def _sample(row: Mapping[str, Any], evaluation: _Evaluation, run: Mapping[str, Any], *, several: bool) -> ResultSample:
    item, stored = _item(row)
    sample = row.get("sample") or {}
    fields = evaluation.fields
    answer = _answer(sample, stored, item, fields.answer)
    failure = _error(sample.get("error")) or ("" if answer is not None else _no_answer(row, sample))
    asks, expected = fields.parted(item)
    shown = next((value for value in asks.values() if isinstance(value, str)), "")
    name = str(item["id"]) if evaluation.has_ids and "id" in item else case_id([asks, expected], shown)
    scores, notes, passes, missing = {}, {}, [], False
    for result in row.get("results") or []:
        key = evaluation.keys[str(result.get("name"))]
        score = number(result.get("score"))
        passed = result.get("passed")
        missing |= bool(_error((result.get("sample") or {}).get("error"))) or (score is None and passed is None)
        passes.append(passed)
        if score is not None or passed is not None:
            scores[key] = float(bool(passed)) if score is None else score
        notes[key] = _reason(result)
    usage = sample.get("usage") or {}
    scored = not failure and not missing and bool(scores)
    whole = next(iter(scores.values())) if len(evaluation.scorers) == 1 and scores else _share(passes)
    return ResultSample(
        case=Case(name, asks or asked(sample.get("input") or []), expected),
        answer=None if failure else answer,
        messages=sample["output"] if _has_tools(sample) else (),
        failure=failure,
        scores=scores if scored else {},
        notes={key: text for key, text in notes.items() if text},
        score=whole if scored else None,
        passed=all(passes) if scored and None not in passes else None,
        subject=f"{run.get('name') or run.get('model') or 'run'} {row.get('run_id')}" if several else "",
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        model=sample.get("model") or run.get("model") or None,
    )


def _share(passes: list[Any]) -> float | None:
    known = [bool(passed) for passed in passes if passed is not None]
    return sum(known) / len(known) if known else None


def _answer(sample: Mapping[str, Any], stored: Mapping[str, Any], item: Mapping[str, Any], field: str) -> str | None:
    """What the model said, or what was graded in its place: an answer that the data source already had."""
    output = sample.get("output") or []
    texts = [_content(message) for message in output if message.get("role") in (None, "assistant")]
    if any(text for text in texts) or (output and sample.get("finish_reason") in ("stop", "length")):
        return "\n".join(text for text in texts if text)
    if _has_tools(sample):
        return ""
    for value in (sample.get("output_text"), stored.get("output_text"), item.get(field) if field else None):
        if value is not None:
            return as_text(value)
    return None


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in content)
    return "" if content is None else as_text(content)


def _has_tools(sample: Mapping[str, Any]) -> bool:
    return any(message.get("tool_calls") for message in sample.get("output") or [])


def _error(error: Any) -> str:
    """An error in words; "" for none, which services also write as an object without a message."""
    if not isinstance(error, dict):
        return str(error or "")
    return ": ".join(str(error[key]) for key in ("code", "message") if error.get(key))


def _no_answer(row: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    why = sample.get("finish_reason") or row.get("status")
    return f"no answer was recorded{f' ({why})' if why else ''}"


def _reason(result: Mapping[str, Any]) -> str:
    """Why a grader that is a model gave what it gave."""
    sample = result.get("sample") or {}
    said = " ".join(_content(message) for message in sample.get("output") or [] if isinstance(message, dict))
    return str(result.get("reason") or _error(sample.get("error")) or said)


def _stated(run: Mapping[str, Any]) -> dict[str, int]:
    counts = run.get("result_counts") or {}
    named = {"passed": "passed", "failed": "failed", "errors": "errored"}
    return {name: counts[key] for name, key in named.items() if count(counts.get(key)) is not None}


def _notes(evaluation: _Evaluation, runs: Mapping[str, Any], n: int, *, more: bool, several: bool) -> Iterator[str]:
    if not evaluation.graders:
        yield "its eval object is not in the file: what the graders compare is not known"
    for name, run in runs.items():
        if run.get("status") not in (None, "completed"):
            yield f"{name} ended with the status {run['status']}"
    counts = next(iter(runs.values())).get("result_counts") or {}
    total = 0 if several else count(counts.get("total")) or 0
    if total > n:
        yield f"its run has {total:,} items, and the file {n:,}: the others are missing"
    elif more:
        yield f"it is one page of several (has_more), with {n:,} items: the others are missing"
