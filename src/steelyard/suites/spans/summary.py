"""The summary of evaluated prompts in the seed's shape: averages, counts and rankings, in camelCase.

A prompt whose judge failed is in no average and no count of diagnostics; it is counted in `errorCount`. Spans and
latencies of such a prompt are measured all the same, as they do not come from the judge.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cross_check import SEVERITIES, on_scale
from .extracted import confidence_analysis
from .prompts import SECTIONS, section_of
from .taxonomy import REASONS, categories

BANDS = {
    "excellent (23-25)": 23,
    "good (18-22)": 18,
    "acceptable (13-17)": 13,
    "poor (8-12)": 8,
    "failing (0-7)": 0,
}
"""Totals by the least that belongs to each."""
KINDS = ("coverage", "precision")
"""What a category is scored for."""
_TOP = 10
_EXAMPLES = 3
_MISSED_EXAMPLES = 5
_FIRST_NAMES = {"falsePositives": "incorrectExtractions"}
"""What lists were called in the first snapshots, where they hold bare texts."""


@dataclass(frozen=True, slots=True)
class PromptResult:
    """One prompt with its spans and, unless the judge failed, what the judge said of them."""

    prompt: str
    spans: Sequence[Mapping[str, Any]]
    response: Mapping[str, Any] | None = None
    """None when the judge failed or the prompt could not be labelled."""
    failed: bool = False
    """True when labelling or judging failed."""
    latency: float | None = None
    """Milliseconds."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Any] = field(default_factory=dict)
    span_count: int | None = None
    """How many spans there were, where they themselves were not kept."""


def summarise(evaluated: Sequence[PromptResult]) -> dict[str, Any]:
    """All fields of the seed's enhanced summary; an average of nothing is null."""
    judged = [evaluation for evaluation in evaluated if evaluation.response is not None]
    responses = [evaluation.response for evaluation in judged if evaluation.response is not None]
    totals = [total for evaluation in judged if (total := total_of(evaluation.response or {})) is not None]
    false_positives = [
        (evaluation, record) for evaluation in judged for record in records(evaluation, "falsePositives")
    ]
    missed = [record for evaluation in judged for record in records(evaluation, "missedElements")]

    def known(name: str, counts: Any) -> Any:
        """The counts; None where judges gave scores and no such list, so that nobody looked."""
        listed = any(name in response or _FIRST_NAMES.get(name) in response for response in responses)
        return counts if listed or not responses else None

    return {
        "avgScore": average(totals),
        "avgSpanCount": average(
            [
                len(evaluation.spans) if evaluation.span_count is None else evaluation.span_count
                for evaluation in evaluated
            ]
        ),
        "scoreDistribution": {band: sum(_band(total) == band for total in totals) for band in BANDS},
        "commonMissedElements": _most_common(record["text"] for record in missed),
        "commonIncorrectExtractions": _most_common(record["text"] for _, record in false_positives),
        "errorCount": sum(evaluation.failed for evaluation in evaluated),
        "pipelineSources": _pipelines(evaluated),
        "spanSources": {
            kind: sum(_number(evaluation.meta.get(kind)) for evaluation in evaluated)
            for kind in ("closedVocab", "openVocab", "llm")
        },
        "avgCategoryScores": _category_averages(judged),
        "falsePositiveReasons": known(
            "falsePositives",
            {reason: sum(record.get("reason") == reason for _, record in false_positives) for reason in REASONS},
        ),
        "topTaxonomyErrors": _confusions(judged),
        "topGranularityErrors": _granularity(judged),
        "errorsBySection": known("falsePositives", errors_by_section(judged)),
        "confidenceAnalysis": known(
            "falsePositives",
            confidence_analysis((evaluation.spans, records(evaluation, "falsePositives")) for evaluation in judged),
        ),
        "falsePositiveExamples": {
            reason: [record["text"] for _, record in false_positives if record.get("reason") == reason][:_EXAMPLES]
            for reason in REASONS
        },
        "missedBySeverity": {
            severity: [
                f"{record['text']} ({record.get('category')})"
                for record in missed
                if record.get("severity") == severity
            ][:_MISSED_EXAMPLES]
            for severity in SEVERITIES
        },
        "latencyStats": _latencies(evaluated),
        "missedCountsByCategory": known(
            "missedElements", dict(Counter(str(record.get("category")) for record in missed))
        ),
    }


def records(evaluation: PromptResult, name: str) -> list[Mapping[str, Any]]:
    """The records of one list of the judge's answer; a text alone, as the first snapshots have it, is its text.

    A span that several records of the list point to counts once.
    """
    response = evaluation.response or {}
    entries = response.get(name, response.get(_FIRST_NAMES.get(name, "")))
    listed = entries if isinstance(entries, list) else []
    written = [{"text": record} if isinstance(record, str) else record for record in listed]
    named = [{"text": "", **record} for record in written if isinstance(record, Mapping)]
    first: dict[Any, Mapping[str, Any]] = {}
    for at, record in enumerate(named):
        index = record.get("spanIndex")
        # Those that point to no span are each on their own.
        first.setdefault(index if type(index) is int else (at,), record)
    return list(first.values())


def total_of(response: Mapping[str, Any]) -> float | None:
    """The sum of a judge's scores; the total it says itself when there are none, and None without either."""
    total, scores = response.get("totalScore"), response.get("scores")
    values = scores.values() if isinstance(scores, dict) else ()
    numbers = [value for value in values if isinstance(value, (int, float))]
    if numbers:
        return sum(numbers)
    return total if isinstance(total, (int, float)) and not isinstance(total, bool) else None


def average(values: Sequence[float], digits: int = 2) -> float | None:
    """The mean, rounded half up as the seed's tool rounds; None of nothing."""
    return rounded(sum(values) / len(values), digits) if values else None


def rounded(value: float, digits: int = 2) -> float:
    """The value with so many digits, halves up, a whole number as such."""
    scale = 10**digits
    result = math.floor(value * scale + 0.5) / scale
    return int(result) if result == int(result) else result


def errors_by_section(judged: Iterable[PromptResult]) -> dict[str, dict[str, int]]:
    """False positives and missed elements by section; what is in no place of the prompt counts as main."""
    counts = {name: {"falsePositives": 0, "missed": 0} for name in SECTIONS}
    for evaluation in judged:
        for record in records(evaluation, "falsePositives"):
            span = _pointed(evaluation, record)
            counts[section_of(span or {}, evaluation.sections)]["falsePositives"] += 1
        for record in records(evaluation, "missedElements"):
            # As the seed's tool: the first place in whatever case, in its own units.
            before = evaluation.prompt.lower().find(str(record["text"]).lower())
            start = None if before < 0 else len(evaluation.prompt[:before].encode("utf-16-le")) // 2
            counts[section_of({"start": start}, evaluation.sections)]["missed"] += 1
    return counts


def _pointed(evaluation: PromptResult, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    index = record.get("spanIndex")
    return evaluation.spans[index] if isinstance(index, int) and 0 <= index < len(evaluation.spans) else None


def _band(total: float) -> str:
    return next(band for band, least in BANDS.items() if total >= least or least == 0)


def _most_common(texts: Iterable[str]) -> list[str]:
    return [f"{text} ({count}x)" for text, count in Counter(texts).most_common(_TOP)]


def _pipelines(evaluated: Sequence[PromptResult]) -> dict[str, int]:
    counts = {"nlp": 0, "llm": 0, "unknown": 0}
    for evaluation in evaluated:
        source = str(evaluation.meta.get("source") or "").lower()
        counts["llm" if "llm" in source else "nlp" if source else "unknown"] += 1
    return counts


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def _category_averages(judged: Sequence[PromptResult]) -> dict[str, dict[str, float | None]]:
    """The averages of all categories over what was scored on the scale, and how many prompts they stand on."""
    given: dict[tuple[str, str], list[float]] = defaultdict(list)
    for evaluation in judged:
        scores = (evaluation.response or {}).get("categoryScores")
        for name, marks in scores.items() if isinstance(scores, dict) else ():
            for kind, value in marks.items() if isinstance(marks, dict) else ():
                if on_scale(value):
                    given[name, kind].append(value)
    return {
        name: {kind: average(given[name, kind]) for kind in KINDS}
        | {"n": max(len(given[name, kind]) for kind in KINDS)}
        for name in categories()
    }


def _confusions(judged: Sequence[PromptResult]) -> list[dict[str, Any]]:
    named = (
        ((str(record.get("assignedRole")), str(record.get("expectedRole"))), record["text"])
        for evaluation in judged
        for record in records(evaluation, "taxonomyErrors")
    )
    return [
        {"assignedRole": assigned, "expectedRole": expected, "count": count, "examples": examples}
        for (assigned, expected), count, examples in _ranked(named)
    ]


def _granularity(judged: Sequence[PromptResult]) -> list[dict[str, Any]]:
    named = (
        (str(record.get("issue", record.get("reason"))), record["text"])
        for evaluation in judged
        for record in records(evaluation, "granularityErrors")
    )
    return [{"reason": issue, "count": count, "examples": examples} for issue, count, examples in _ranked(named)]


def _ranked(named: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, int, list[str]]]:
    """The ten most frequent names, each with its count and a few texts."""
    texts: dict[Any, list[str]] = defaultdict(list)
    for name, text in named:
        texts[name].append(text)
    for name in sorted(texts, key=lambda text: -len(texts[text]))[:_TOP]:
        yield name, len(texts[name]), texts[name][:_EXAMPLES]


def _latencies(evaluated: Sequence[PromptResult]) -> dict[str, float | None]:
    latencies = sorted(evaluation.latency for evaluation in evaluated if evaluation.latency is not None)
    at = {
        f"p{share}": latencies[min(len(latencies) * share // 100, len(latencies) - 1)] if latencies else None
        for share in (50, 95, 99)
    }
    return {"avg": average(latencies, 0), **at}


_COUNTED = re.compile(r"(?P<text>.*) \((?P<count>\d+)x\)", re.DOTALL)
_LISTS = {"commonMissedElements": "missedElements", "commonIncorrectExtractions": "falsePositives"}
_RANKINGS = {
    "topTaxonomyErrors": ("assignedRole", "expectedRole"),
    "topGranularityErrors": ("reason",),
}
_BAND = re.compile(r"\s*(?P<name>\w+)\s*(?:\(\s*(?P<low>\d+)\s*[-–]\s*(?P<high>\d+)\s*\))?\s*")
_BOUNDS = {band.partition(" ")[0]: (least, int(band.rstrip(")").rpartition("-")[2])) for band, least in BANDS.items()}
"""Lowest and highest total by the name of a band."""
_AVERAGE = re.compile(r"^avg(?!.*\.n$)|\.avg$|\.errorRate$")
_DIAGNOSTICS = frozenset({"falsePositiveReasons", "errorsBySection", "confidenceAnalysis", "missedCountsByCategory"})
"""Counts of what a judge lists: nothing is known of them where every reply gave no more than its scores."""
_NEAR = 1e-9


def differences(
    stored: Mapping[str, Any], recomputed: Mapping[str, Any], evaluated: Sequence[PromptResult]
) -> Iterator[str]:
    """Every number of the stored summary that the records do not bear out, a sentence each.

    Examples are a choice, not figures, and are left alone. How a number is rounded and how a band is called is the
    tool's choice, too. A total that is not the sum of its scores is listed with its record, not again in a figure that
    follows from it.
    """
    totals = _totals(evaluated)
    for name, value in stored.items():
        if name == "scoreDistribution":
            yield from _band_differences(value, totals)
        elif name == "avgScore" and any(_same(name, value, average(each, 12), value) for each in totals):
            continue
        elif name in _LISTS:
            yield from _list_differences(name, value, evaluated)
        elif name in _RANKINGS:
            yield from _ranking_differences(name, value, recomputed[name])
        elif name in recomputed:
            yield from _number_differences(name, value, recomputed[name], value)


def _totals(evaluated: Sequence[PromptResult]) -> tuple[list[float], list[float]]:
    """The totals of all judged records: as their scores add up, and as the judge states them."""
    responses = [evaluation.response for evaluation in evaluated if evaluation.response is not None]
    sums = [(response, total) for response in responses if (total := total_of(response)) is not None]
    stated = [response["totalScore"] if _is_number(response.get("totalScore")) else total for response, total in sums]
    return [total for _, total in sums], stated


def _band_differences(stored: Any, totals: Iterable[Sequence[float]]) -> Iterator[str]:
    """Counts of bands that fit neither way to get the totals; a band is known by its range or else by its name."""
    for label, n in stored.items() if isinstance(stored, Mapping) else ():
        band = _BAND.fullmatch(label)
        bounds = next((ends for name, ends in _BOUNDS.items() if band and name == band["name"].lower()), None)
        if band and band["low"]:
            bounds = int(band["low"]), int(band["high"])
        counts = [sum(bounds[0] <= total < bounds[1] + 1 for total in each) for each in totals] if bounds else [n]
        if _is_number(n) and n not in counts:
            yield f"scoreDistribution.{label}: {_shown(n)}, the records give {counts[0]}"


def wrong_totals(named: Iterable[tuple[str, PromptResult]]) -> Iterator[str]:
    """Every record whose total is not what its scores add up to."""
    for name, evaluation in named:
        response = evaluation.response or {}
        stored, total = response.get("totalScore"), total_of(response)
        if stored is not None and not _same("totalScore", stored, total, stored):
            yield f"{name}: totalScore {stored}, its scores add up to {_shown(total)}"


def _number_differences(path: str, stored: Any, recomputed: Any, group: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and (recomputed is None or isinstance(recomputed, Mapping)):
        # What is not in a group that is there was not counted; of a group that is not there nothing is known.
        nothing = None if recomputed is None else 0
        recomputed = recomputed or {}
        for key in stored:
            otherwise = nothing if _is_count(stored[key]) else None
            yield from _number_differences(f"{path}.{key}", stored[key], recomputed.get(key, otherwise), group)
        for key in recomputed.keys() - stored.keys():
            if _is_count(recomputed[key]) and recomputed[key] and path == "missedCountsByCategory":
                yield f"{path}.{key}: not there, the records give {recomputed[key]}"
    elif (_is_number(stored) or _is_number(recomputed)) and not _same(path, stored, recomputed, group):
        yield f"{path}: {_shown(stored)}, the records give {_shown(recomputed)}"


def _same(path: str, stored: Any, recomputed: Any, group: Any) -> bool:
    """Whether a number is the recomputed one, rounded to as many digits as the figures of its group have."""
    if not (_is_number(stored) and _is_number(recomputed)):
        # A tool that knows no "nothing" counts 0; an average of nothing is not 0.
        counted = stored == 0 and path.partition(".")[0] in _DIAGNOSTICS
        return recomputed is None and (stored is None or counted)
    rounding = 0.0
    if _AVERAGE.search(path):
        # What is recomputed is rounded itself: latencies to milliseconds, all else to two digits.
        rounding = 0.5 / 10 ** (0 if path.startswith("latency") else min(_digits(group), 2))
    return bool(abs(stored - recomputed) <= rounding + _NEAR * max(1.0, abs(recomputed)))


def _digits(value: Any) -> int:
    """The most digits after the point that a number of a group is written with."""
    if isinstance(value, Mapping):
        return max(map(_digits, value.values()), default=0)
    return len(str(value).partition(".")[2]) if isinstance(value, float) else 0


def _list_differences(name: str, stored: Any, evaluated: Sequence[PromptResult]) -> Iterator[str]:
    counts = Counter(str(record["text"]) for evaluation in evaluated for record in records(evaluation, _LISTS[name]))
    for entry in stored if isinstance(stored, list) else ():
        match = _COUNTED.fullmatch(entry) if isinstance(entry, str) else None
        if match and int(match["count"]) != counts[match["text"]]:
            yield f"{name}: {match['text']!r} {match['count']} times, the records give {counts[match['text']]}"


def _ranking_differences(name: str, stored: Any, recomputed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    keys = _RANKINGS[name]
    listed = [entry for entry in stored if isinstance(entry, Mapping)] if isinstance(stored, list) else []
    before = {tuple(entry.get(key) for key in keys): entry.get("count") for entry in listed}
    now = {tuple(entry[key] for key in keys): entry["count"] for entry in recomputed}
    for key in dict.fromkeys([*before, *now]):
        # Beyond the tenth place either list may have cut another of the same count.
        cut = len(before) >= 10 or len(now) >= 10
        if before.get(key) != now.get(key) and not (cut and None in (before.get(key), now.get(key))):
            label = " as ".join(str(part) for part in reversed(key))
            yield f"{name}: {label} {before.get(key, 0)} times, the records give {now.get(key, 0)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
