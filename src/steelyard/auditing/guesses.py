"""Guesses, and the best answers that are the same for every case: what the truths of all cases have in common."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from steelyard.frozen import frozen

_N_GUESSES = 12
"""Every choice of two, three, four, six or twelve is drawn evenly."""
_MOST_TRIED = 200
"""Cases that guesses are tried on."""
MOST_JOINED = 5


@frozen
class Chance:
    """What guessing earns where there is a choice of few: the share of full marks, and of cases that it passes."""

    average: float = 0.0
    passes: float = 0.0
    weight: float = 0.0
    """The share of the weight that is a choice of few."""


def even(n: int, most: int = _MOST_TRIED) -> list[int]:
    """Positions of `most` of n cases drawn at random, always the same; all when there are no more."""
    return list(range(n)) if n <= most else sorted(_draw(range(n), most))


def most_frequent(values: Sequence[Any]) -> Any:
    """The value that occurs most often, the first of several."""
    ((spelled, _),) = Counter(map(_spelled, values)).most_common(1)
    return json.loads(spelled)


def mixture(values: Sequence[Any]) -> Any:
    """One value made of many: the median of numbers, frequent texts joined, what stands in half of the lists."""
    if all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: mixture([value[name] for value in values if name in value]) for name in names}
    if all(isinstance(value, list) for value in values):
        return _frequent_elements(values)
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return median(values)
    if all(isinstance(value, str) for value in values):
        return ", ".join(text for text, _ in Counter(values).most_common(MOST_JOINED))
    return most_frequent(values)


def is_repeated(values: Sequence[Any]) -> bool:
    """Whether values are few: each occurs twice or more on average."""
    return 2 * len(set(map(_spelled, values))) <= len(values)


def guessed(parts: Sequence[Sequence[dict[str, Any]]], other: str) -> Iterator[list[dict[str, Any]]]:
    """Guesses, each with one truth of every component; the different truths of a component come equally often.

    Where all are one, the other label is not known: it is `other`.
    """
    columns = []
    for at, values in enumerate(parts):
        labels = [json.loads(fromkey) for fromkey in dict.fromkeys(map(_spelled, values))]
        labels += [dict.fromkeys(labels[0], other)] if len(labels) == 1 else []
        some = _draw(labels, min(len(labels), _N_GUESSES))
        columns.append(_draw([some[k % len(some)] for k in range(_N_GUESSES)], _N_GUESSES, at))
    yield from map(list, zip(*columns, strict=True))


def _draw(values: Sequence[Any], n: int, seed: int = 0) -> list[Any]:
    return random.Random(seed).sample(values, n)  # noqa: S311 - a sample that is the same in every audit


def _frequent_elements(lists: Sequence[list[Any]]) -> Any:
    counts = Counter(spelled for item in lists for spelled in {_spelled(element): None for element in item})
    often = [json.loads(spelled) for spelled, n in counts.most_common() if 2 * n >= len(lists)]
    return often or [json.loads(spelled) for spelled, _ in counts.most_common(1)]


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
