"""Results of OpenAI evals: events of all samples, mixed; an error is an event, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.exchange.results import (
    ResultFile,
    ResultSample,
    as_text,
    asked,
    count,
    grade,
    key_of,
    moment,
    records_of,
)
from steelyard.suite.case import Case


def read_events(path: Path, spec: Mapping[str, Any]) -> ResultFile:
    """The results of a log, whose first event is the `spec`."""
    # Of several events of a kind the first is of the system, later ones of a model that grades it.
    events: dict[str, dict[str, Any]] = {}
    for row in records_of(path):
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
