"""A stored summary held against the one recomputed from the same records, number by number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .summary import Evaluated, records, rounded, total_of

_COUNTED = re.compile(r"(?P<text>.*) \((?P<count>\d+)x\)", re.DOTALL)
_LISTS = {"commonMissedElements": "missedElements", "commonIncorrectExtractions": "falsePositives"}
_RANKINGS = {
    "topTaxonomyErrors": ("assignedRole", "expectedRole"),
    "topGranularityErrors": ("reason",),
}
_ROUNDED_FREELY = frozenset({"avgSpanCount"})
_NEAR = 1e-9


def differences(stored: Mapping[str, Any], found: Mapping[str, Any], evaluated: Sequence[Evaluated]) -> Iterator[str]:
    """Every number of the stored summary that the records do not bear out, a sentence each.

    Examples are a choice, not figures, and are left alone.
    """
    for name, value in stored.items():
        if name in _LISTS:
            yield from _listed(name, value, evaluated)
        elif name in _RANKINGS:
            yield from _ranked(name, value, found[name])
        elif name in found:
            yield from _numbers(name, value, found[name])


def wrong_totals(named: Iterable[tuple[str, Evaluated]]) -> Iterator[str]:
    """Every record whose total is not what its scores add up to."""
    for name, one in named:
        reply = one.reply or {}
        stored, total = reply.get("totalScore"), total_of(reply)
        if stored is not None and not _same("totalScore", stored, total):
            yield f"{name}: totalScore {stored}, its scores add up to {_told(total)}"


def _numbers(path: str, stored: Any, found: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and (found is None or isinstance(found, Mapping)):
        # What is not in a group that is there was not counted; of a group that is not there nothing is known.
        nothing = None if found is None else 0
        found = found or {}
        for key in stored:
            otherwise = nothing if _is_count(stored[key]) else None
            yield from _numbers(f"{path}.{key}", stored[key], found.get(key, otherwise))
        for key in found.keys() - stored.keys():
            if _is_count(found[key]) and found[key] and path == "missedCountsByCategory":
                yield f"{path}.{key}: not there, the records give {found[key]}"
    elif (_is_number(stored) or _is_number(found)) and not _same(path, stored, found):
        yield f"{path}: {_told(stored)}, the records give {_told(found)}"


def _same(path: str, stored: Any, found: Any) -> bool:
    if not (_is_number(stored) and _is_number(found)):
        # A tool that knows no "nothing" writes 0 for the average of nothing.
        return stored is None and found is None
    if path in _ROUNDED_FREELY:
        digits = len(str(stored).partition(".")[2])
        found = rounded(found, min(digits, 2))
    return bool(abs(stored - found) <= _NEAR * max(1.0, abs(found)))


def _listed(name: str, stored: Any, evaluated: Sequence[Evaluated]) -> Iterator[str]:
    counts = Counter(str(record["text"]) for one in evaluated for record in records(one, _LISTS[name]))
    for entry in stored if isinstance(stored, list) else ():
        match = _COUNTED.fullmatch(entry) if isinstance(entry, str) else None
        if match and int(match["count"]) != counts[match["text"]]:
            yield f"{name}: {match['text']!r} {match['count']} times, the records give {counts[match['text']]}"


def _ranked(name: str, stored: Any, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    keys = _RANKINGS[name]
    listed = [entry for entry in stored if isinstance(entry, Mapping)] if isinstance(stored, list) else []
    before = {tuple(entry.get(key) for key in keys): entry.get("count") for entry in listed}
    now = {tuple(entry[key] for key in keys): entry["count"] for entry in found}
    for key in dict.fromkeys([*before, *now]):
        # Beyond the tenth place either list may have cut another of the same count.
        cut = len(before) >= 10 or len(now) >= 10
        if before.get(key) != now.get(key) and not (cut and None in (before.get(key), now.get(key))):
            told = " as ".join(str(part) for part in reversed(key))
            yield f"{name}: {told} {before.get(key, 0)} times, the records give {now.get(key, 0)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _told(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
