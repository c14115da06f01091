"""Spans of an answer paired with the gold spans, one to one, whatever the order of either side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from steelyard.frozen import frozen
from steelyard.scoring.spans.read import TextSpan
from steelyard.stats.assignment import best_assignment

Pair = tuple[int, int, float]
"""Position of the gold span, position of the answer's span, and their intersection over union."""

_SAME_ROLE = 1e-7
"""What the same role adds to an overlap: it decides between equal ones and nothing else."""


@frozen
class SpanMatching:
    """Which span was found where. All numbers are positions in the two sequences that were matched."""

    pairs: tuple[Pair, ...]
    """In the order of the gold spans."""
    missed: tuple[int, ...]
    extra: tuple[int, ...]


def overlap(text_span: TextSpan, other: TextSpan) -> float:
    """Intersection over union of two spans: 1 for the same boundaries, 0 when they share nothing."""
    shared = min(text_span.end, other.end) - max(text_span.start, other.start)
    if shared <= 0:
        return 0.0
    return shared / (max(text_span.end, other.end) - min(text_span.start, other.start))


def match_spans(gold: Sequence[TextSpan], answer: Sequence[TextSpan], *, iou: float) -> SpanMatching:
    """The best one-to-one pairs of spans that overlap by at least `iou` (0: at all).

    First those with the same boundaries and role, then those with the same boundaries, then the others so that the sum
    of their overlaps is the highest possible.
    """
    golds = sorted(range(len(gold)), key=lambda at: order(gold[at]))
    answers = sorted(range(len(answer)), key=lambda at: order(answer[at]))
    pairs: list[Pair] = []
    for key in (_boundaries_and_role, _boundaries):
        same = _pair_equals(gold, golds, answer, answers, key)
        pairs += same
        golds = _left(golds, (pair[0] for pair in same))
        answers = _left(answers, (pair[1] for pair in same))
    pairs += best_pairs(gold, golds, answer, answers, lambda true, text: overlap(true, text) >= iou)
    return SpanMatching(
        tuple(sorted(pairs)),
        tuple(sorted(_left(golds, (pair[0] for pair in pairs)))),
        tuple(sorted(_left(answers, (pair[1] for pair in pairs)))),
    )


def best_pairs(
    gold: Sequence[TextSpan],
    golds: Iterable[int],
    answer: Sequence[TextSpan],
    answers: Iterable[int],
    allowed: Callable[[TextSpan, TextSpan], bool],
) -> list[Pair]:
    """One-to-one pairs of overlapping spans at these positions with the highest sum of overlaps; only allowed ones."""
    golds = sorted(golds, key=lambda at: order(gold[at]))
    answers = sorted(answers, key=lambda at: order(answer[at]))
    edges = _edges(gold, golds, answer, answers, allowed)
    chosen = (pair for component in _components(edges) for pair in _best(component, golds, answers))
    return [(at, by, overlap(gold[at], answer[by])) for at, by in chosen]


def order(span: TextSpan) -> tuple[int, int, str, float, int]:
    """Where a span stands whatever the order it came in; of equal ones the surest first."""
    sureness = -1.0 if span.confidence is None else span.confidence
    return span.start, span.end, span.role, -sureness, span.index


def _boundaries_and_role(span: TextSpan) -> Hashable:
    return span.start, span.end, span.role


def _boundaries(span: TextSpan) -> Hashable:
    return span.start, span.end


def _pair_equals(
    gold: Sequence[TextSpan],
    golds: Sequence[int],
    answer: Sequence[TextSpan],
    answers: Sequence[int],
    key: Callable[[TextSpan], Hashable],
) -> list[Pair]:
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for by in reversed(answers):
        waiting[key(answer[by])].append(by)
    pairs: list[Pair] = []
    for at in golds:
        same = waiting.get(key(gold[at]))
        if same:
            pairs.append((at, same.pop(), 1.0))
    return pairs


def _left(positions: Sequence[int], taken: Iterable[int]) -> list[int]:
    gone = set(taken)
    return [at for at in positions if at not in gone]


def _edges(
    gold: Sequence[TextSpan],
    golds: Sequence[int],
    answer: Sequence[TextSpan],
    answers: Sequence[int],
    allowed: Callable[[TextSpan, TextSpan], bool],
) -> dict[tuple[int, int], float]:
    """The worth of every pair that may be made."""
    results: dict[tuple[int, int], float] = {}
    for by in answers:
        span = answer[by]
        for at in golds:
            other = gold[at]
            if other.start >= span.end:
                break  # they are sorted by their start
            shared = overlap(other, span)
            if shared > 0 and allowed(other, span):
                results[at, by] = shared + (_SAME_ROLE if other.role == span.role else 0.0)
    return results


def _components(edges: dict[tuple[int, int], float]) -> list[dict[tuple[int, int], float]]:
    """The edges by groups of spans that are linked with one another; most groups are a single pair."""
    beside_gold: dict[int, list[int]] = defaultdict(list)
    beside_answer: dict[int, list[int]] = defaultdict(list)
    for at, by in edges:
        beside_gold[at].append(by)
        beside_answer[by].append(at)
    results: list[dict[tuple[int, int], float]] = []
    seen: set[int] = set()
    for first in beside_gold:
        if first in seen:
            continue
        seen.add(first)
        waiting, linked = [first], dict[tuple[int, int], float]()
        while waiting:
            at = waiting.pop()
            for by in beside_gold[at]:
                linked[at, by] = edges[at, by]
                new = [other for other in beside_answer[by] if other not in seen]
                seen.update(new)
                waiting += new
        results.append(linked)
    return results


def _best(
    edges: dict[tuple[int, int], float], golds: Sequence[int], answers: Sequence[int]
) -> Iterable[tuple[int, int]]:
    """The pairs with the highest sum; among equal sums the same ones whatever the order of the spans."""
    if len(edges) == 1:
        return edges
    here, there = {at for at, _ in edges}, {by for _, by in edges}
    rows, columns = [at for at in golds if at in here], [by for by in answers if by in there]
    chosen = best_assignment([[edges.get((at, by), 0.0) for by in columns] for at in rows])
    return [pair for row, column in chosen if (pair := (rows[row], columns[column])) in edges]
