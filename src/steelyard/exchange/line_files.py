"""Results with a record a line: samples of lm-eval, records of OpenAI evals, and plain tables in JSONL or CSV."""

from __future__ import annotations

import json
import re
from collections import defaultdict
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
    about = _whole_run(path, named[2]) if named else {}
    config = about.get("config") or {}
    given = config.get("model_args")
    arguments = given if isinstance(given, dict) else {}
    model = arguments.get("model") or arguments.get("pretrained") or config.get("model")
    first, later, names, n, empty, several = "", defaultdict[Any, dict[str, float]](dict), dict[str, str](), 0, 0, 0
    for row in _records(path):
        name = str(row.get("filter"))
        first = first or name
        names |= {_metric(metric, name, first): str(metric) for metric in row["metrics"]}
        if name != first:
            later[row["doc_id"]].update(_metrics(row, first))
            continue
        n += 1
        empty += row["resps"] == [[""]]
        several += len(row["resps"][0]) > 1
    notes = {
        f"{empty} of {n} answers are empty, which lm-eval counted as wrong: it also writes an empty text where a"
        " response could not be read, and stops at other errors without writing a file": empty,
        f"lm-eval scored several responses together in {several} of {n}: the first that it used is shown": several,
    }
    date = number(about.get("date"))
    return ResultFile(
        tool="lm-eval",
        version=str(about.get("lm_eval_version") or ""),
        name=named[1] if named else path.stem,
        samples=lambda: (_document(row, first, later, model) for row in _records(path) if str(row["filter"]) == first),
        created_at=date if date is not None or named is None else moment(re.sub(r"(?<=T..)-(..)-", r":\1:", named[2])),
        target={"model": model},
        scorers=names,
        counts_alone=next(iter(names), ""),
        prompts=[about.get("configs"), config.get("gen_kwargs")],
        notes=tuple(note for note, applies in notes.items() if applies),
    )


def _whole_run(path: Path, stamp: str) -> dict[str, Any]:
    """What lm-eval wrote of the whole run next to its samples, which name neither model nor version; {} without it."""
    try:
        return dict(json.loads((path.parent / f"results_{stamp}.json").read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return {}


def _metric(metric: str, name: str, first: str) -> str:
    return key_of(metric if name == first else f"{metric}-{name}")


def _metrics(row: Mapping[str, Any], first: str) -> dict[str, float]:
    values = {_metric(metric, str(row.get("filter")), first): grade(row.get(metric)) for metric in row["metrics"]}
    return {name: value for name, value in values.items() if value is not None}


def _document(row: Any, first: str, later: Mapping[Any, dict[str, float]], model: Any) -> ResultSample:
    own = _metrics(row, first)
    arguments = list(row["arguments"].values()) if isinstance(row["arguments"], dict) else row["arguments"]
    calls = [list(call.values()) if isinstance(call, dict) else call for call in arguments]
    prompt = calls[0][0]
    prompt = prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt
    if isinstance(prompt, str) and prompt.startswith('[{"role"'):
        prompt = json.loads(prompt)
    answer, expected = _answer(row, calls)
    return ResultSample(
        case=Case(f"doc-{row['doc_id']}", asked(prompt), expected),
        answer=answer,
        failure="" if answer is not None else "lm-eval has no response",
        scores=own | later.get(row["doc_id"], {}),
        score=own.get(_metric(row["metrics"][0], first, first)) if row["metrics"] else None,
        model=model if isinstance(model, str) else None,
    )


def _answer(row: Mapping[str, Any], calls: list[Any]) -> tuple[str | None, Any]:
    """The generated text, or of a multiple choice the likeliest option; and the truth."""
    responses, target = row["resps"], row.get("target")
    if not isinstance(responses[0][0], list):
        text = responses[0][0] if len(responses[0]) == 1 else row["filtered_resps"][0]
        return None if text is None else as_text(text), target
    likelihoods = [float(response[0][0]) for response in responses]
    if len(calls) < 2:
        return f"log likelihood {likelihoods[0]}", target
    options = [str(call[1]).strip() for call in calls]
    right = options[int(str(target))] if str(target).isdigit() and int(str(target)) < len(options) else target
    return options[likelihoods.index(max(likelihoods))], right


# OpenAI evals: events of all samples, mixed; an error is an event, too.


def _openai_evals(path: Path, spec: Mapping[str, Any]) -> ResultFile:
    # Of several events of a kind the first is of the system, later ones of a model that grades it.
    events: dict[str, dict[str, Any]] = {}
    for row in _records(path):
        if row.get("sample_id") is not None:
            events.setdefault(str(row["sample_id"]), {}).setdefault(row["type"], row["data"] or {})
    models, eval_spec = spec.get("completion_fns") or [], spec["run_config"].get("eval_spec") or {}
    scorers = {name: name for kinds in events.values() for name in _graded(kinds)}
    main = _main(scorers)
    if "match" in scorers:
        scorers = {"match": str(eval_spec.get("cls", "")).rpartition(":")[2].lower(), **scorers}
    ids = sorted(events, key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])
    return ResultFile(
        tool="OpenAI evals",
        version="",
        name=str(spec.get("base_eval") or spec.get("eval_name") or path.stem),
        samples=lambda: (_of_events(name, events[name], main) for name in ids),
        created_at=moment(spec.get("created_at")),
        target={"model": str(models[0]) if len(models) == 1 else None},
        scorers=scorers,
        counts_alone=main,
        prompts=eval_spec.get("key"),
    )


def _graded(kinds: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among what was recorded: whether it matched, and metrics."""
    match = {"match": float(kinds["match"]["correct"])} if "match" in kinds else {}
    metrics = {
        key_of(key): grade(value) for key, value in kinds.get("metrics", {}).items() if not isinstance(value, str)
    }
    return match | {name: value for name, value in metrics.items() if value is not None}


def _main(scores: Mapping[str, Any]) -> str:
    return next((name for name in ("match", "score", *scores) if name in scores), "")


def _of_events(name: str, kinds: Mapping[str, Any], main: str) -> ResultSample:
    sampling, match, error = kinds.get("sampling", {}), kinds.get("match", {}), kinds.get("error")
    sampled = sampling.get("sampled", match.get("sampled"))
    if isinstance(sampled, list):
        sampled = sampled[0] if sampled else None
    failure = "" if sampled is not None else "no answer was recorded"
    if error is not None:
        failure = f"{error.get('type')}: {error.get('message')}"
    scores, usage = {} if failure else _graded(kinds), sampling.get("usage") or {}
    return ResultSample(
        case=Case(name, asked(sampling["prompt"]) if "prompt" in sampling else None, match.get("expected")),
        answer=None if failure else as_text(sampled),
        failure=failure,
        scores=scores,
        score=scores.get(main),
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        model=sampling.get("model"),
    )


# A plain table: a row a question with its answer, what was expected, and a score that somebody gave.

_NO_ERROR = ("", "false", "no", "0", "0.0", "none", "null", "nan")
"""What a column of errors holds of an answer that came."""
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
    columns = _by_column(first) if isinstance(first, dict) else {}
    if not columns.keys() & {"answer", "error"} or not columns.keys() & {"id", "question"}:
        return None
    return ResultFile(
        tool="another tool",
        version="",
        name=path.name.partition(".")[0],
        samples=lambda: (_row(_by_column(row)) for row in _records(path)),
        scorers={"score": "score"},
    )


def _by_column(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row holds under the names that its columns stand for."""
    cells = {str(heading).strip().lower(): cell for heading, cell in row.items()}
    return {
        name: cells[heading] for name, headings in _COLUMNS.items() for heading in headings[::-1] if heading in cells
    }


def _row(cells: Mapping[str, Any]) -> ResultSample:
    question, expected, error = cells.get("question"), cells.get("expected"), cells.get("error")
    error = None if str(error).strip().lower() in _NO_ERROR else error
    name = str(cells["id"]) if cells.get("id") not in (None, "") else case_id([question, expected], as_text(question))
    score = None if error else grade(cells.get("score"))
    # An empty cell with a score is an answer that says nothing; without one it is no answer.
    answer = cells.get("answer") if score is None or cells.get("answer") is not None else ""
    amounts = (grade(cells.get(key)) for key in ("latency", "cost", "tokens_in", "tokens_out"))
    latency, cost, *tokens = (None if amount is None or amount < 0 else amount for amount in amounts)
    tokens_in, tokens_out = (int(n) if n is not None and n.is_integer() else None for n in tokens)
    category, model = (None if cells.get(key) is None else str(cells[key]) for key in ("category", "model"))
    return ResultSample(
        case=Case(name, None if question is None else asked(question), expected, category),
        answer=None if error or answer is None else as_text(answer),
        failure=as_text(error) if error else "" if answer is not None else "the row has no answer",
        scores={} if score is None else {"score": score},
        score=score,
        variant=str(cells.get("variant") or ""),
        model=model,
        latency=latency,
        cost=cost,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )
