"""Results with a record a line: samples of lm-eval, records of OpenAI evals, and plain tables in JSONL or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import Problem, SnapshotError
from steelyard.exchange.results import (
    NOTHING,
    ResultFile,
    ResultSample,
    as_text,
    asked,
    case_id,
    count,
    grade,
    key_of,
    moment,
    number,
    opening,
)
from steelyard.suite.case import Case
from steelyard.suite.readers import read_records
from steelyard.suite.streams import ending

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+)")


def read(path: Path) -> ResultFile | None:
    """The results, or None when the file is of none of these forms."""
    if ending(path) == ".csv":
        return _plain(path)
    if not opening(path).startswith("{"):
        return None
    first = next(_records(path), None) if ending(path) in (".jsonl", ".ndjson") else None
    if not isinstance(first, dict):
        return None
    if "spec" in first and "run_config" in first["spec"]:
        return _openai_evals(path, first["spec"])
    return _lm_eval(path) if {"doc_id", "resps"} <= first.keys() else _plain(path)


def _records(path: Path) -> Iterator[Any]:
    for record in read_records(path, str(path), "", _refuse):
        yield record.data


def _refuse(problem: Problem) -> None:
    raise SnapshotError(f"{problem}. {NOTHING}")


# lm-eval: a line for each document and filter; the filters of a document are scorers of the same answer.


def _lm_eval(path: Path) -> ResultFile:
    named = _SAMPLES.fullmatch(path.stem)
    about = _results_beside(path, named[2]) if named else {}
    config = about.get("config") or {}
    arguments = config.get("model_args") or {}
    model = arguments.get("model") or arguments.get("pretrained") if isinstance(arguments, dict) else None
    first, later, names, empty, n = "", {}, {}, 0, 0
    for row in _records(path):
        name = str(row.get("filter"))
        first = first or name
        names |= {_metric(metric, name, first): str(metric) for metric in row["metrics"]}
        if name != first:
            later.setdefault(row["doc_id"], {}).update(_metrics(row, first))
        else:
            n, empty = n + 1, empty + (row["resps"] == [[""]])
    note = (
        f"{empty} of {n} answers are empty, which lm-eval counted as wrong: it also writes an empty text where a"
        " response could not be read, and stops at other errors without writing a file"
    )
    date = number(about.get("date"))
    return ResultFile(
        tool="lm-eval",
        version=str(about.get("lm_eval_version") or ""),
        name=named[1] if named else path.stem,
        samples=lambda: _documents(path, first, later, model),
        created_at=date if date is not None or named is None else moment(_as_time(named[2])),
        target={"model": model or config.get("model")},
        scorers=names,
        counts_alone=next(iter(names), ""),
        prompts=[about.get("configs"), config.get("gen_kwargs")],
        notes=(note,) if empty else (),
    )


def _results_beside(path: Path, stamp: str) -> dict[str, Any]:
    """What lm-eval wrote of the whole run next to its samples; the samples name neither model nor version."""
    try:
        document = json.loads((path.parent / f"results_{stamp}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _as_time(stamp: str) -> str:
    day, _, time = stamp.partition("T")
    return f"{day}T{time.replace('-', ':')}"


def _metric(metric: str, name: str, first: str) -> str:
    return key_of(metric if name == first else f"{metric}-{name}")


def _metrics(row: Mapping[str, Any], first: str) -> dict[str, float]:
    values = {_metric(metric, str(row.get("filter")), first): grade(row.get(metric)) for metric in row["metrics"]}
    return {name: value for name, value in values.items() if value is not None}


def _documents(path: Path, first: str, later: Mapping[Any, Mapping[str, float]], model: Any) -> Iterator[ResultSample]:
    for row in _records(path):
        if str(row.get("filter")) != first:
            continue
        own = _metrics(row, first)
        arguments = list(row["arguments"].values()) if isinstance(row["arguments"], dict) else row["arguments"]
        prompt, *_ = arguments[0].values() if isinstance(arguments[0], dict) else arguments[0]
        prompt = prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt
        if isinstance(prompt, str) and prompt.startswith('[{"role"'):
            prompt = json.loads(prompt)
        answers, expected = _answers(row, arguments)
        for answer in answers:
            yield ResultSample(
                case=Case(f"doc-{row['doc_id']}", asked(prompt), expected),
                answer=answer,
                failure="" if answer is not None else "lm-eval has no response",
                scores=own | later.get(row["doc_id"], {}),
                score=next(iter(own.values()), None),
                model=model if isinstance(model, str) else None,
            )


def _answers(row: Mapping[str, Any], arguments: list[Any]) -> tuple[list[str | None], Any]:
    """Every generated text, or of a multiple choice the likeliest one; and the truth."""
    responses, target = row["resps"], row.get("target")
    likelihoods = [response[0][0] if isinstance(response[0], list) else None for response in responses]
    if None in likelihoods:
        return [None if text is None else as_text(text) for text in responses[0]], target
    if len(arguments) < 2:
        return [f"log likelihood {likelihoods[0]}"], target
    options = [list(argument.values())[1] if isinstance(argument, dict) else argument[1] for argument in arguments]
    best = max(range(len(options)), key=lambda place: float(likelihoods[place]))
    place = int(target) if str(target).isdigit() and int(target) < len(options) else None
    return [str(options[best]).strip()], target if place is None else str(options[place]).strip()


# OpenAI evals: events of all samples, mixed; an error is an event, too.


def _openai_evals(path: Path, spec: Mapping[str, Any]) -> ResultFile:
    events: dict[str, list[Mapping[str, Any]]] = {}
    for row in _records(path):
        if row.get("sample_id") is not None:
            events.setdefault(str(row["sample_id"]), []).append(row)
    models = [str(name) for name in spec.get("completion_fns") or []]
    kinds = (spec["run_config"].get("eval_spec") or {}).get("cls", "")
    metrics = {
        key_of(name) for rows in events.values() for row in rows if row["type"] == "metrics" for name in row["data"]
    }
    ids = sorted(events, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
    return ResultFile(
        tool="OpenAI evals",
        version="",
        name=str(spec.get("base_eval") or spec.get("eval_name") or path.stem),
        samples=lambda: (_of_events(name, events[name]) for name in ids),
        created_at=moment(spec.get("created_at")),
        target={"model": models[0] if len(models) == 1 else None},
        scorers={"match": str(kinds).rpartition(":")[2].lower()} | {name: name for name in sorted(metrics)},
        counts_alone="match",
        prompts=spec["run_config"].get("eval_spec", {}).get("key"),
    )


def _of_events(name: str, rows: list[Mapping[str, Any]]) -> ResultSample:
    by_kind: dict[str, Mapping[str, Any]] = {row["type"]: row["data"] or {} for row in rows}
    sampling, match = by_kind.get("sampling", {}), by_kind.get("match", {})
    metrics = {key_of(key): grade(value) for key, value in by_kind.get("metrics", {}).items()}
    scores = {key: value for key, value in metrics.items() if value is not None}
    if match:
        scores = {"match": float(match["correct"]), **scores}
    sampled = sampling.get("sampled", match.get("sampled"))
    if isinstance(sampled, list):
        sampled = sampled[0] if sampled else None
    error, usage = by_kind.get("error"), sampling.get("usage") or {}
    failure = (
        f"{error.get('type')}: {error.get('message')}"
        if error
        else ""
        if rows and sampled is not None
        else "no answer was recorded"
    )
    return ResultSample(
        case=Case(name, asked(sampling["prompt"]) if "prompt" in sampling else None, match.get("expected")),
        answer=None if failure else as_text(sampled),
        failure=failure,
        scores={} if failure else scores,
        score=None if failure else next(iter(scores.values()), None),
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        model=sampling.get("model"),
    )


# A plain table: a row a question with its answer, what was expected, and a score that somebody gave.

_COLUMNS = {
    "id": ("id", "case", "case_id"),
    "question": ("question", "input", "prompt", "query"),
    "answer": ("answer", "output", "response", "completion", "prediction"),
    "expected": ("expected", "expected_output", "reference", "target", "ideal", "truth", "ground_truth", "label"),
    "score": ("score", "grade", "correct", "passed"),
    "error": ("error", "failure", "failed"),
    **{name: (name,) for name in ("category", "variant", "model", "latency", "tokens_in", "tokens_out", "cost")},
}


def _plain(path: Path) -> ResultFile | None:
    first = next(_records(path), None)
    if not isinstance(first, dict):
        return None
    columns = {
        name: column for name, options in _COLUMNS.items() for column in first if column.strip().lower() in options
    }
    if "answer" not in columns or not columns.keys() & {"id", "question"}:
        return None
    return ResultFile(
        tool="a table",
        version="",
        name=path.name.partition(".")[0],
        samples=lambda: (_row(columns, row) for row in _records(path)),
        scorers={"score": columns["score"]} if "score" in columns else {},
    )


def _row(columns: Mapping[str, str], row: Mapping[str, Any]) -> ResultSample:
    value = {name: row.get(column) for name, column in columns.items()}
    question, answer, error = value.get("question"), value.get("answer"), value.get("error")
    expected = value.get("expected")
    name = str(value["id"]) if value.get("id") not in (None, "") else case_id([question, expected], as_text(question))
    score = grade(value.get("score"))
    figures = {key: grade(value.get(key)) for key in ("latency", "cost", "tokens_in", "tokens_out")}
    category, model = value.get("category"), value.get("model")
    return ResultSample(
        case=Case(
            name,
            asked(question) if question is not None else None,
            expected,
            None if category is None else str(category),
        ),
        answer=None if error or answer is None else as_text(answer),
        failure=as_text(error) if error else "" if answer is not None else "the row has no answer",
        scores={} if error or score is None else {"score": score},
        score=None if error else score,
        variant=str(value.get("variant") or ""),
        latency=figures["latency"],
        cost=figures["cost"],
        tokens_in=None if figures["tokens_in"] is None else int(figures["tokens_in"]),
        tokens_out=None if figures["tokens_out"] is None else int(figures["tokens_out"]),
        model=None if model is None else str(model),
    )
