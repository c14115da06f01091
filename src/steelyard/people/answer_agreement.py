"""How far people who answered the same cases agree: field by field, and by the items of lists."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.groups import share
from steelyard.stats.intervals import Estimate
from steelyard.store.people import ANSWER

if TYPE_CHECKING:
    from steelyard.stats.arrays import Array
    from steelyard.store.people import Key, LabelRecord


@frozen
class AnswerAgreement:
    """Two people who answered the same cases."""

    first: str
    second: str
    n: int
    fields: dict[str, Estimate]
    """By field, the share of cases in which both give the same value."""
    lists: dict[str, Estimate]
    """By list (of items or spans), the F1 of what one gives against what the other gives."""


def answers_agreement(labels: Iterable[LabelRecord]) -> Iterator[AnswerAgreement]:
    """Every two people who answered the same cases."""
    by_person: dict[str, dict[Key, Any]] = {}
    for label in labels:
        if label.kind == ANSWER and label.round == 0:
            by_person.setdefault(label.person, {})[label.key] = label.value
    for a, b in combinations(sorted(by_person), 2):
        if both := sorted(by_person[a].keys() & by_person[b].keys()):
            yield _answers(a, b, [(by_person[a][key], by_person[b][key]) for key in both], both)


def _answers(a: str, b: str, answers: Sequence[tuple[Any, Any]], keys: Sequence[Key]) -> AnswerAgreement:
    case = np.unique([key[0] for key in keys], return_inverse=True)[1]
    flat = [(flatten(first), flatten(second)) for first, second in answers]
    names = dict.fromkeys(name for sides in flat for side in sides for name in side)
    fields, lists = {}, {}
    for name in names:
        sides = [(first.get(name), second.get(name)) for first, second in flat]
        if any(isinstance(side, list) for pair_ in sides for side in pair_):
            lists[name] = f1([(x or [], y or []) for x, y in sides], case)
        else:
            given = np.array([x is not None and y is not None for x, y in sides])
            fields[name] = share(np.array([same(x, y) for x, y in sides]), given, case)
    return AnswerAgreement(a, b, len(keys), fields, lists)


def flatten(answer: Any, before: str = "") -> dict[str, Any]:
    """The fields of an answer by dotted name; lists stay whole. A plain text is the field "text"."""
    if not isinstance(answer, dict):
        return {before or "text": answer}
    return {
        name: value
        for key, inner in answer.items()
        for name, value in flatten(inner, f"{before}.{key}".strip(".")).items()
    }


def same(x: Any, y: Any) -> bool:
    """Whether two values are the same, but for white space and case of texts."""
    if isinstance(x, str) and isinstance(y, str):
        return " ".join(x.split()).casefold() == " ".join(y.split()).casefold()
    return bool(x == y)


def f1(lists: Sequence[tuple[list[Any], list[Any]]], case: Array) -> Estimate:
    """The F1 of one person's items against another's: twice what both have, over all that they have.

    Cases in which neither has anything say nothing. The interval is of a share whose trials are the items.
    """
    hits, sizes = [], []
    for first, second in lists:
        left, right = (
            Counter(json.dumps(item, sort_keys=True, ensure_ascii=False) for item in side) for side in (first, second)
        )
        hits.append(2 * (left & right).total())
        sizes.append(left.total() + right.total())
    n, total = np.array(hits, dtype=int), np.array(sizes, dtype=int)
    of = np.repeat(case, total)
    right_ones = np.concatenate(
        [np.arange(size) < hit for hit, size in zip(n, total, strict=True)] or [np.zeros(0, bool)]
    )
    return share(right_ones, np.ones(len(of), dtype=bool), of)
