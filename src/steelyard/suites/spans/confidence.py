"""How often spans of high, medium and low confidence are false positives, in the seed's shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

RANGES = {"high": (0.8, 1.0), "medium": (0.6, 0.8), "low": (0.0, 0.6)}
"""Each bucket owns its lower bound; the upper one belongs to the next, 1 to the highest."""
_TOO_OFTEN = 0.5
_EXAMPLES = 3

Judged = tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""The spans of a prompt, and its false positives, which point to spans by their index."""


def confidence_analysis(judged: Iterable[Judged]) -> dict[str, Any]:
    """Spans and false positives by bucket, with the seed's recommendation of a threshold."""
    total = dict.fromkeys(RANGES, 0)
    wrong: dict[str, list[str]] = {name: [] for name in RANGES}
    for spans, false_positives in judged:
        for span in spans:
            if (name := bucket(span.get("confidence"))) is not None:
                total[name] += 1
        for record in false_positives:
            index = record.get("spanIndex")
            pointed = spans[index] if isinstance(index, int) and 0 <= index < len(spans) else {}
            if (name := bucket(pointed.get("confidence"))) is not None:
                wrong[name].append(f'"{pointed.get("text")}" ({pointed.get("role")})')
    buckets = {
        name: {
            "range": list(RANGES[name]),
            "total": total[name],
            "errors": len(wrong[name]),
            "errorRate": len(wrong[name]) / total[name] if total[name] else 0,
            "examples": wrong[name][:_EXAMPLES],
        }
        for name in RANGES
    }
    threshold, notes = _recommended(buckets)
    return {"buckets": buckets, "recommendedThreshold": threshold, "notes": notes}


def bucket(confidence: Any) -> str | None:
    """The bucket that a confidence is in; None when it is none."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        return None
    return next(name for name, (low, _) in RANGES.items() if confidence >= low)


def _recommended(buckets: Mapping[str, Any]) -> tuple[float | None, str]:
    """The upper end of the highest bucket that is wrong more often than right: above it such spans are gone."""
    for name, (low, high) in RANGES.items():
        rate, n = buckets[name]["errorRate"], buckets[name]["total"]
        if rate > _TOO_OFTEN:
            told = f"{rate:.0%} of {n} spans with a confidence from {low:g} to {high:g} are false positives"
            return high, f"{told}: raise the threshold above {low:g}, to {high:g}."
    return None, "No clear confidence threshold recommendation."
