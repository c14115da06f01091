"""Spans of an answer against gold ones: matching, errors, and strict, partial and type schemes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal

from steelyard.frozen import frozen
from steelyard.scoring.spans.read import LostSpan, Spans, TextSpan
from steelyard.stats.assignment import best_assignment

# Spans of an answer paired with the gold spans, one to one, whatever the order of either side.

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


# What is wrong with a set of spans: every span with at most one error, and every error with one name.

Kind = Literal["missed", "extra", "wrong_role", "too_fine", "too_coarse", "duplicate"]
KINDS: tuple[Kind, ...] = ("missed", "extra", "wrong_role", "too_fine", "too_coarse", "duplicate")


@frozen
class SpanError:
    """One error: the answer's span (None for a missed one) and the gold spans it is about."""

    kind: Kind
    answer: TextSpan | None
    gold: tuple[TextSpan, ...] = ()
    """The missed one; the one it should have been; all that it lies over; the one that it repeats. Empty for extras."""
    paired: bool = False
    """True when the answer's span is paired with the first of the gold spans."""
    stands_for: TextSpan | None = None
    """The unpaired gold span that this error accounts for, which is therefore not missed."""


def name_errors(
    gold: Sequence[TextSpan], answer: Sequence[TextSpan], matching: SpanMatching, *, iou: float
) -> list[SpanError]:
    """Every error once: those of pairs, then those of other spans of the answer, then what is missed."""
    return _Naming(gold, answer, matching, iou).errors()


class _Naming:
    def __init__(
        self, gold: Sequence[TextSpan], answer: Sequence[TextSpan], matching: SpanMatching, iou: float
    ) -> None:
        self.gold, self.answer, self.matching, self.iou = gold, answer, matching, iou
        self.by_start = sorted(range(len(gold)), key=lambda at: order(gold[at]))
        extras = sorted(matching.extra, key=lambda by: order(answer[by]))
        self.again = self._repeated(extras)
        self.others = [by for by in extras if by not in self.again]
        stand_ins = best_pairs(gold, matching.missed, answer, self.others, _one_inside_the_other)
        self.stands_for = {by: at for at, by, _ in stand_ins}
        self.said_by = {at: answer[by] for at, by, _ in (*matching.pairs, *stand_ins)}
        """By gold span, the one of the answer that is paired with it or stands for it."""

    def errors(self) -> list[SpanError]:
        pairs = (self._pair(self.gold[at], self.answer[by]) for at, by, _ in self.matching.pairs)
        results = [error for error in pairs if error is not None]
        results += [self._duplicate(by) for by in self.again]
        results += [self._unpaired(by) for by in self.others]
        missed = [at for at in self.matching.missed if at not in self.said_by]
        return results + [SpanError("missed", None, (self.gold[at],)) for at in missed]

    def _repeated(self, extras: Sequence[int]) -> list[int]:
        """Those that the answer has before, or that have the boundaries of a gold span: that one is paired, or it would
        be paired with them."""
        seen = {_identity(self.answer[by]) for _, by, _ in self.matching.pairs}
        boundaries = {(true.start, true.end) for true in self.gold}
        results: list[int] = []
        for by in extras:
            text = self.answer[by]
            if _identity(text) in seen or (text.start, text.end) in boundaries:
                results.append(by)
            seen.add(_identity(text))
        return results

    def _pair(self, true: TextSpan, text_span: TextSpan) -> SpanError | None:
        if true.role != text_span.role:
            return SpanError("wrong_role", text_span, (true,), paired=True)
        if (true.start, true.end) == (text_span.start, text_span.end):
            return None
        shorter = text_span.end - text_span.start < true.end - true.start
        return SpanError("too_fine" if shorter else "too_coarse", text_span, (true,), paired=True)

    def _duplicate(self, by: int) -> SpanError:
        text = self.answer[by]
        return SpanError("duplicate", text, tuple(self.gold[at] for at in self._about(text)[:1]))

    def _unpaired(self, by: int) -> SpanError:
        text = self.answer[by]
        about = self._about(text)
        covered = [at for at in about if _inside(self.gold[at], text)]
        if by in self.stands_for:
            return self._standing_for(self.stands_for[by], text, covered)
        if len(covered) > 1:
            return SpanError("too_coarse", text, tuple(self.gold[at] for at in covered))
        if not about:
            return SpanError("extra", text)
        if self._says_again(text, about[0]):
            return self._duplicate(by)
        if _inside(text, self.gold[about[0]]):
            return SpanError("too_fine", text, (self.gold[about[0]],))
        return SpanError("too_coarse", text, (self.gold[covered[0]],)) if covered else SpanError("extra", text)

    def _standing_for(self, at: int, text_span: TextSpan, covered: Sequence[int]) -> SpanError:
        meant = self.gold[at]
        if not _inside(meant, text_span):
            return SpanError("too_fine", text_span, (meant,), stands_for=meant)
        others = [self.gold[other] for other in covered if other != at]
        return SpanError("too_coarse", text_span, (meant, *others), stands_for=meant)

    def _about(self, text_span: TextSpan) -> list[int]:
        """The gold spans that it is about, the closest first; not those that it only brushes."""
        results: list[int] = []
        for at in self.by_start:
            true = self.gold[at]
            if true.start >= text_span.end:
                break
            if true.end > text_span.start and (
                _one_inside_the_other(true, text_span) or overlap(true, text_span) >= self.iou
            ):
                results.append(at)
        return sorted(results, key=lambda at: -overlap(self.gold[at], text_span))

    def _says_again(self, text_span: TextSpan, at: int) -> bool:
        """True when another already says of the gold span what this one says."""
        true, other = self.gold[at], self.said_by.get(at)
        if other is None or overlap(other, text_span) == 0:
            return False
        # Where any overlap makes a pair, lying over the gold span and more is too coarse all the same.
        enough = overlap(true, text_span) >= self.iou and (self.iou > 0 or not _inside(true, text_span))
        return _inside(text_span, true) or enough


def _identity(span: TextSpan) -> tuple[int, int, str]:
    return span.start, span.end, span.role


def _one_inside_the_other(text_span: TextSpan, other: TextSpan) -> bool:
    return _inside(text_span, other) or _inside(other, text_span)


def _inside(inner: TextSpan, outer: TextSpan) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


# Four ways to count the same pairs of spans, as nervaluate 1.2.1 names them, with precision, recall and F1.

Scheme = Literal["strict", "exact", "partial", "type"]
SCHEMES: tuple[Scheme, ...] = ("strict", "exact", "partial", "type")

Matched = tuple[TextSpan, TextSpan]
"""A gold span and the answer's span that is paired with it."""


@frozen
class Figures:
    """Precision, recall and F1, each None when it would be a ratio of nothing."""

    right: float
    """Correct spans, and half of the partial ones."""
    answered: int
    gold: int

    @property
    def precision(self) -> float | None:
        """The share of the answer's spans that are right."""
        return self.right / self.answered if self.answered else None

    @property
    def recall(self) -> float | None:
        """The share of the gold spans that were found."""
        return self.right / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both: twice what is right over all spans of both sides."""
        return 2 * self.right / (self.answered + self.gold) if self.answered + self.gold else None

    @property
    def value(self) -> float:
        """F1 as a score: no spans where none are due are right."""
        return 1.0 if self.f1 is None else self.f1

    def __add__(self, other: Figures) -> Figures:
        return Figures(self.right + other.right, self.answered + other.answered, self.gold + other.gold)


@frozen
class SchemeCounts:
    """The spans of one scheme, each with its index: what is counted can be looked at."""

    correct: tuple[Matched, ...]
    incorrect: tuple[Matched, ...]
    partial: tuple[Matched, ...]
    missed: tuple[TextSpan, ...]
    spurious: tuple[TextSpan | LostSpan, ...]

    @property
    def figures(self) -> Figures:
        """What these counts come to."""
        paired = len(self.correct) + len(self.incorrect) + len(self.partial)
        right = len(self.correct) + len(self.partial) / 2
        return Figures(right, paired + len(self.spurious), paired + len(self.missed))


@frozen
class SpanComparison:
    """The spans of an answer beside the gold ones: who is paired with whom, and every error by name."""

    gold: Spans
    answer: Spans
    pairs: tuple[Matched, ...]
    missed: tuple[TextSpan, ...]
    extra: tuple[TextSpan, ...]
    errors: tuple[SpanError, ...]
    """Spans of the answer that have no place in the text are no part of these: see `answer.lost`."""

    def counts(self, scheme: Scheme) -> SchemeCounts:
        """The spans by what the scheme says of them."""
        right = [pair for pair in self.pairs if _is_right(pair, scheme)]
        wrong = tuple(pair for pair in self.pairs if not _is_right(pair, scheme))
        halves = scheme == "partial"
        return SchemeCounts(
            tuple(right),
            () if halves else wrong,
            wrong if halves else (),
            self.missed,
            (*self.extra, *self.answer.lost),
        )

    def figures(self, scheme: Scheme) -> Figures:
        """Precision, recall and F1 over all spans."""
        return self.all_figures()[scheme]

    def all_figures(self) -> dict[Scheme, Figures]:
        """Precision, recall and F1 over all spans by every scheme."""
        strict = exact = same_role = 0
        for true, text in self.pairs:
            same = true.start == text.start and true.end == text.end
            like = true.role == text.role
            exact += same
            same_role += like
            strict += same and like
        right: dict[Scheme, float] = {
            "strict": strict,
            "exact": exact,
            "partial": (exact + len(self.pairs)) / 2,
            "type": same_role,
        }
        answered, gold = len(self.answer), len(self.gold.placed)
        return {scheme: Figures(right[scheme], answered, gold) for scheme in SCHEMES}

    def by_category(self, scheme: Scheme, category_of: Callable[[str], str]) -> dict[str, Figures]:
        """The figures of every category that a span of either side has; a pair counts where both sides are in one."""
        right: dict[str, float] = {}
        for pair in self.pairs:
            category = category_of(pair[0].role)
            if category == category_of(pair[1].role):
                worth = 1.0 if _is_right(pair, scheme) else 0.5 if scheme == "partial" else 0.0
                right[category] = right.get(category, 0.0) + worth
        golds = _numbers(category_of(span.role) for span in self.gold.placed)
        answers = _numbers(category_of(span.role) for span in self.answer.all)
        names = sorted(golds.keys() | answers.keys())
        return {name: Figures(right.get(name, 0.0), answers.get(name, 0), golds.get(name, 0)) for name in names}


def compare_spans(gold: Spans, answer: Spans, *, iou: float = 0.5) -> SpanComparison:
    """The answer's spans matched with the gold ones and every error named.

    `iou` is how much two spans must overlap at least, as intersection over union, to be a pair; at 0 any overlap will
    do.
    """
    result = match_spans(gold.placed, answer.placed, iou=iou)
    return SpanComparison(
        gold,
        answer,
        tuple((gold.placed[at], answer.placed[by]) for at, by, _ in result.pairs),
        tuple(gold.placed[at] for at in result.missed),
        tuple(answer.placed[by] for by in result.extra),
        tuple(name_errors(gold.placed, answer.placed, result, iou=iou)),
    )


def micro(parts: Iterable[Figures]) -> Figures:
    """The figures of all parts together: sums first, then ratios."""
    return sum(parts, Figures(0.0, 0, 0))


@frozen
class Mean:
    """A mean and how many values it stands on; None of none."""

    value: float | None
    n: int


def macro(categories: Mapping[str, Figures]) -> dict[str, Mean]:
    """Precision, recall and F1 averaged over the categories that have them, every category counting the same."""
    parts = categories.values()
    return {
        "precision": _mean([part.precision for part in parts]),
        "recall": _mean([part.recall for part in parts]),
        "f1": _mean([part.f1 for part in parts]),
    }


def _mean(values: Sequence[float | None]) -> Mean:
    available = [value for value in values if value is not None]
    return Mean(sum(available) / len(available) if available else None, len(available))


def _is_right(pair: Matched, scheme: Scheme) -> bool:
    true, text = pair
    if scheme == "type":
        return true.role == text.role
    same = true.start == text.start and true.end == text.end
    return same and (scheme != "strict" or true.role == text.role)


def _numbers(names: Iterable[str]) -> dict[str, int]:
    results: dict[str, int] = {}
    for name in names:
        results[name] = results.get(name, 0) + 1
    return results
