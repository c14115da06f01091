"""Slices by a field of the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.errors import UsageError
from steelyard.suite.case import NONE, Case
from steelyard.suite.paths import MISSING, compile_path
from steelyard.suite.values import slice_tag

MOST_SLICES = 50
"""Slices of one field; of more, each would have too few cases to say anything."""
_LONGEST_SLICE = 100


def slice_names(case: Case, path: str) -> tuple[str, ...]:
    """The slices that a case is in by a field: several where it holds a list, `(none)` where it holds nothing.

    UsageError when what it holds names no slice: a group of keys, or a long text.
    """
    value = compile_path(path)(case)
    values = value if isinstance(value, list | tuple) else [value]
    try:
        return tuple(dict.fromkeys(map(_slice_name, values))) or (NONE,)
    except ValueError as error:
        raise UsageError(f"case {case.id} is in no slice by {path}: it holds {error}") from None


def _slice_name(value: Any) -> str:
    if value is None or value is MISSING or value == "":
        return NONE
    if isinstance(value, str) and (len(value) > _LONGEST_SLICE or not value.isprintable()):
        raise ValueError(f"a text that is longer than {_LONGEST_SLICE} characters, or has several lines")
    if isinstance(value, dict | list | tuple):
        raise ValueError("a group of keys or a list of lists: name a field in it")
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def sample_tags(case: Case, paths: Sequence[str]) -> tuple[str, ...]:
    """The tags of a sample: those of its case, and the slices that it is in by these fields."""
    if not paths:
        return case.tags
    fields = [slice_tag(path, name) for path in paths for name in slice_names(case, path)]
    return tuple(dict.fromkeys((*case.tags, *fields)))


class SliceTally:
    """How many cases are in each slice by some fields."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.counts: dict[str, Counter[str]] = {path: Counter() for path in paths}

    def add(self, case: Case) -> None:
        """Count a case; UsageError when it holds what names no slice."""
        for path, names in self.counts.items():
            # What is too much already need not be held in memory.
            names.update(slice_names(case, path) if len(names) <= MOST_SLICES else ())

    def problems(self) -> Iterator[tuple[str, int]]:
        """Why the values of a field make no slices, and which of the fields it is."""
        for at, (path, names) in enumerate(self.counts.items()):
            if len(names) > MOST_SLICES:
                yield (
                    (
                        f"slices: {path} has more than {MOST_SLICES} different values in the cases, and slices are few"
                        " groups: choose a field with fewer, or give the cases one that says the group (short, long)"
                    ),
                    at,
                )
            elif names and not names.keys() - {NONE}:
                yield f"slices: {path} is in none of the cases", at
