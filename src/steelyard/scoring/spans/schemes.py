"""Four ways to count the same pairs of spans, as nervaluate 1.2.1 names them, with precision, recall and F1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from steelyard.frozen import frozen
from steelyard.scoring.spans.compare import match_spans
from steelyard.scoring.spans.errors import SpanError, name_errors
from steelyard.scoring.spans.read import LostSpan, Spans, TextSpan

Scheme = Literal["strict", "exact", "partial", "type"]
SCHEMES: tuple[Scheme, ...] = ("strict", "exact", "partial", "type")

Matched = tuple[TextSpan, TextSpan]
"""A gold span and the answer's span that is paired with it."""


@frozen
class PrecisionRecall:
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

    def __add__(self, other: PrecisionRecall) -> PrecisionRecall:
        return PrecisionRecall(self.right + other.right, self.answered + other.answered, self.gold + other.gold)


@frozen
class SchemeCounts:
    """The spans of one scheme, each with its index: what is counted can be looked at."""

    correct: tuple[Matched, ...]
    incorrect: tuple[Matched, ...]
    partial: tuple[Matched, ...]
    missed: tuple[TextSpan, ...]
    spurious: tuple[TextSpan | LostSpan, ...]

    @property
    def figures(self) -> PrecisionRecall:
        """What these counts come to."""
        paired = len(self.correct) + len(self.incorrect) + len(self.partial)
        right = len(self.correct) + len(self.partial) / 2
        return PrecisionRecall(right, paired + len(self.spurious), paired + len(self.missed))


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

    def figures(self, scheme: Scheme) -> PrecisionRecall:
        """Precision, recall and F1 over all spans."""
        return self.all_figures()[scheme]

    def all_figures(self) -> dict[Scheme, PrecisionRecall]:
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
        return {scheme: PrecisionRecall(right[scheme], answered, gold) for scheme in SCHEMES}

    def by_category(self, scheme: Scheme, category_of: Callable[[str], str]) -> dict[str, PrecisionRecall]:
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
        return {name: PrecisionRecall(right.get(name, 0.0), answers.get(name, 0), golds.get(name, 0)) for name in names}


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


def micro(parts: Iterable[PrecisionRecall]) -> PrecisionRecall:
    """The figures of all parts together: sums first, then ratios."""
    return sum(parts, PrecisionRecall(0.0, 0, 0))


@frozen
class MacroMean:
    """A mean and how many values it stands on; None of none."""

    value: float | None
    n: int


def macro(categories: Mapping[str, PrecisionRecall]) -> dict[str, MacroMean]:
    """Precision, recall and F1 averaged over the categories that have them, every category counting the same."""
    parts = categories.values()
    return {
        "precision": _mean([part.precision for part in parts]),
        "recall": _mean([part.recall for part in parts]),
        "f1": _mean([part.f1 for part in parts]),
    }


def _mean(values: Sequence[float | None]) -> MacroMean:
    available = [value for value in values if value is not None]
    return MacroMean(sum(available) / len(available) if available else None, len(available))


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
