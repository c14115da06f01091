"""Results of promptfoo: `promptfoo eval -o results.json`. A provider is a run, a prompt is a variant of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.exchange.results import (
    ResultFile,
    ResultSample,
    as_text,
    case_id,
    count,
    elements,
    head,
    key_of,
    moment,
    number,
    opening,
)
from steelyard.suite.case import Case, digest

_ERROR = 2
"""The `failureReason` of a row whose provider gave no answer; 1 is a failed assertion."""
_HOLE = re.compile(r"{{-?\s*([\w.]+)[^}]*}}")
_OPENING = re.compile(r'{\s*"evalId"')
_LONGEST_LABEL = 40
_TRUTHS = re.compile(r"(equals|i?contains(-all|-any)?|starts-with|levenshtein|similar|rouge-n|bleu|factuality)$")
"""Kinds of assertions whose value is the truth, and not code or a rubric."""


def read(path: Path) -> ResultFile | None:
    """The results, or None when it is no such file."""
    if not _OPENING.match(opening(path)):
        return None
    scorers: dict[str, str] = {}
    document = head(path, "results", "results", see=lambda row: scorers.update(_scorers(row)))
    results, about, config = document["results"], document.get("metadata") or {}, document.get("config") or {}
    prompts = results.get("prompts") or []
    raws = list(dict.fromkeys(str(prompt.get("raw")) for prompt in prompts))
    labels = {str(prompt.get("raw")): str(prompt.get("label") or "") for prompt in prompts}
    shape = _Rows([raws.index(str(prompt.get("raw"))) for prompt in prompts], raws, labels)
    stats = results.get("stats") or {}
    stated = {"passed": "successes", "failed": "failures", "errors": "errors"}
    return ResultFile(
        tool="promptfoo",
        version=str(about.get("promptfooVersion") or ""),
        name=str(config.get("description") or path.stem),
        samples=lambda: map(shape.sample, elements(path, "results", "results")),
        created_at=moment(about.get("evaluationCreatedAt") or results.get("timestamp")),
        scorers=scorers,
        prompts=sorted(raws),
        texts=shape.texts,
        errors_are_wrong=True,
        stated={name: int(stats[key]) for name, key in stated.items() if count(stats.get(key)) is not None},
    )


def _scorers(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, part in _parts(row):
        yield name, str((part.get("assertion") or {}).get("type") or "assertion")


def _parts(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each assertion's result under a name of its own: its metric or its kind, numbered where that comes again."""
    seen: dict[str, int] = {}
    for part in (row.get("gradingResult") or {}).get("componentResults") or []:
        assertion = part.get("assertion") or {}
        name = key_of(assertion.get("metric") or assertion.get("type") or "assertion")
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}", part


def _variant_names(raws: list[str], labels: Mapping[str, str]) -> Iterator[str]:
    """A name for each prompt by its label or its text: its position may be another's in the next file."""
    # promptfoo labels a prompt from a file with its path and its text.
    given = {raw: " ".join(labels[raw].removesuffix(raw).rstrip(": ").split()) for raw in raws}
    counts = Counter(given.values())
    for raw, label in given.items():
        hashed = digest(raw)[:6]
        short = label if len(label) <= _LONGEST_LABEL else f"{label[:_LONGEST_LABEL].rstrip()}..."
        same = counts[label] > 1 or short != label
        yield f"prompt-{hashed}" if not label else f"{short}-{hashed}" if same else label


class _Rows:
    """Turns rows into samples, with what the head says of prompts."""

    def __init__(self, places: list[int], raws: list[str], labels: Mapping[str, str]) -> None:
        self._places, self._n = places, len(raws)
        self._asked = {name for raw in raws for name in _HOLE.findall(raw)}
        self._names = list(_variant_names(raws, labels))
        self.texts = {
            name if len(raws) > 1 else "": (labels[raw], raw) for name, raw in zip(self._names, raws, strict=True)
        }

    def sample(self, row: Mapping[str, Any]) -> ResultSample:
        """One row: an answer, or why there is none."""
        response, provider = row.get("response") or {}, row.get("provider") or {}
        graded, usage = row.get("gradingResult") or {}, response.get("tokenUsage") or {}
        reason = row.get("failureReason")
        failed = reason == _ERROR or (reason is None and not graded and row.get("error"))
        output = response.get("output")
        parts = list(_parts(row))
        latency = number(row.get("latencyMs"))
        name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return ResultSample(
            case=self._case(row),
            answer=None if failed else "" if output is None else as_text(output),
            failure=str(row.get("error") or response.get("error") or "promptfoo says: error") if failed else "",
            scores={name: value for name, part in parts if (value := number(part.get("score"))) is not None},
            notes={name: str(part["reason"]) for name, part in parts if part.get("reason") and not part.get("pass")},
            score=None if failed else number(row.get("score")),
            passed=None if failed else row.get("success"),
            variant=self._names[self._places[row["promptIdx"]]] if self._n > 1 else "",
            subject=str(name or ""),
            # A cached answer was not waited for.
            latency=latency / 1000 if latency and not failed and not response.get("cached") else None,
            tokens_in=count(usage.get("prompt")),
            tokens_out=count(usage.get("completion")),
            # Without a price promptfoo writes 0 into the row, and nothing into the response.
            cost=number(response.get("cost")),
            cached=response.get("cached") is True,
            model=str(provider.get("id") or "") if isinstance(provider, dict) else str(provider),
        )

    def _case(self, row: Mapping[str, Any]) -> Case:
        test, values = row.get("testCase") or {}, row.get("vars") or {}
        expected = _expected(test.get("assert") or [], values)
        asked = {name: value for name, value in values.items() if name in self._asked} or values
        shown = str(test.get("description") or next(iter(asked.values()), ""))
        topic = (test.get("metadata") or {}).get("category")
        return Case(case_id([asked, expected], shown), asked, expected, category=None if topic is None else str(topic))


def _expected(assertions: list[Mapping[str, Any]], values: Mapping[str, Any]) -> Any:
    """What the assertions look for, with the test's values in it: one text, or a list where they differ."""
    results: list[Any] = []
    for assertion in assertions:
        value = assertion.get("value") if _TRUTHS.match(str(assertion.get("type"))) else None
        if isinstance(value, str):
            value = _HOLE.sub(lambda hole: str(values.get(hole[1], hole[0])), value)
        # A list is one truth to `equals`, and several to others.
        for item in value if isinstance(value, list) and assertion.get("type") != "equals" else [value]:
            if item is not None and item not in results:
                results.append(item)
    return (results[0] if len(results) == 1 else results) if results else None
