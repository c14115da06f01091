"""What two values of plain data have in common, summed over all pairs of repeats."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any


def common(counts: Sequence[int], runs: int) -> tuple[int, int]:
    """Summed over all pairs of `runs` repeats, the smaller and the larger of their counts; one not given has 0.

    In ascending order a count is the smaller one beside all that come after it, and the larger one beside all before.
    """
    ranked = sorted(counts)
    zeros = runs - len(ranked)
    smaller = sum(count * (len(ranked) - 1 - at) for at, count in enumerate(ranked))
    larger = sum(count * (zeros + at) for at, count in enumerate(ranked))
    return smaller, larger


def same_in_all_pairs(runs: Sequence[Sequence[Any]]) -> float:
    """How many values of two repeats can be paired as the same, summed over all pairs of repeats."""
    by_value: dict[Hashable, list[int]] = defaultdict(list)
    for run in runs:
        for value, count in Counter(map(identity, run)).items():
            by_value[value].append(count)
    return float(sum(common(counts, len(runs))[0] for counts in by_value.values()))


def identity(value: Any) -> Hashable:
    """What is equal for the same plain data and only for it: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float) and math.isnan(value):
        return ("not a number",)
    if isinstance(value, (list, tuple)):
        return ("list", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("group", frozenset((key, identity(inner)) for key, inner in value.items()))
    return value if isinstance(value, Hashable) else repr(value)
