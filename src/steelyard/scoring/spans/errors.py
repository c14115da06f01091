"""What is wrong with a set of spans: every span with at most one error, and every error with one name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from steelyard.frozen import frozen
from steelyard.scoring.spans.compare import SpanMatching, best_pairs, order, overlap
from steelyard.scoring.spans.read import TextSpan

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
