"""Results of lm-eval: a line for each document and filter; the filters of a document are scorers of the same answer."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.exchange.results import (
    ResultFile,
    ResultSample,
    as_text,
    asked,
    grade,
    key_of,
    moment,
    number,
    records_of,
)
from steelyard.suite.case import Case

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+)")


def read_lm_eval(path: Path) -> ResultFile:
    """The results of a file of samples, with what a file of the whole run beside it says."""
    named = _SAMPLES.fullmatch(path.stem)
    about = _whole_run(path, named[2]) if named else {}
    config = about.get("config") or {}
    given = config.get("model_args")
    arguments = given if isinstance(given, dict) else {}
    model = arguments.get("model") or arguments.get("pretrained") or config.get("model")
    first, later, names, n, empty, several = "", defaultdict[Any, dict[str, float]](dict), dict[str, str](), 0, 0, 0
    for row in records_of(path):
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
        samples=lambda: (
            _document(row, first, later, model) for row in records_of(path) if str(row["filter"]) == first
        ),
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
