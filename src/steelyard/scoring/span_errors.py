"""What is wrong with a set of spans: every span with at most one error, and every error with one name.

The kinds are tried in a fixed order, so that each excludes the others:

    a pair with different roles                                             wrong_role
    a pair with the same role, whose span is shorter than the gold one      too_fine
    a pair with the same role, whose span is as long or longer              too_coarse
    an unpaired span that the answer has before, boundaries and role        duplicate
      ... with the boundaries of a gold span, which another is paired with  duplicate
      ... that stands for an unpaired gold span and lies inside it          too_fine
      ... that stands for an unpaired gold span and lies over it            too_coarse
      ... that lies over two or more gold spans                             too_coarse
      ... that says again what another says of the closest gold span        duplicate
      ... that lies inside a gold span                                      too_fine
      ... that lies over a gold span                                        too_coarse
      ... any other                                                         extra
    an unpaired gold span that none stands for                              missed

A span stands for at most one gold span, and the other way round: a span over the whole text hides no miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.scoring.span_matching import SpanMatching, best_pairs, order, overlap
from steelyard.scoring.span_reading import TextSpan

Kind = Literal["missed", "extra", "wrong_role", "too_fine", "too_coarse", "duplicate"]
KINDS: tuple[Kind, ...] = ("missed", "extra", "wrong_role", "too_fine", "too_coarse", "duplicate")


@dataclass(frozen=True, slots=True)
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
        found = [error for error in pairs if error is not None]
        found += [self._duplicate(by) for by in self.again]
        found += [self._unpaired(by) for by in self.others]
        missed = [at for at in self.matching.missed if at not in self.said_by]
        return found + [SpanError("missed", None, (self.gold[at],)) for at in missed]

    def _repeated(self, extras: Sequence[int]) -> list[int]:
        """Those that the answer has before, or that have the boundaries of a gold span: that one is paired, or it would
        be paired with them."""
        seen = {_identity(self.answer[by]) for _, by, _ in self.matching.pairs}
        boundaries = {(true.start, true.end) for true in self.gold}
        found: list[int] = []
        for by in extras:
            said = self.answer[by]
            if _identity(said) in seen or (said.start, said.end) in boundaries:
                found.append(by)
            seen.add(_identity(said))
        return found

    def _pair(self, true: TextSpan, said: TextSpan) -> SpanError | None:
        if true.role != said.role:
            return SpanError("wrong_role", said, (true,), paired=True)
        if (true.start, true.end) == (said.start, said.end):
            return None
        shorter = said.end - said.start < true.end - true.start
        return SpanError("too_fine" if shorter else "too_coarse", said, (true,), paired=True)

    def _duplicate(self, by: int) -> SpanError:
        said = self.answer[by]
        return SpanError("duplicate", said, tuple(self.gold[at] for at in self._about(said)[:1]))

    def _unpaired(self, by: int) -> SpanError:
        said = self.answer[by]
        about = self._about(said)
        covered = [at for at in about if _inside(self.gold[at], said)]
        if by in self.stands_for:
            return self._standing_for(self.stands_for[by], said, covered)
        if len(covered) > 1:
            return SpanError("too_coarse", said, tuple(self.gold[at] for at in covered))
        if not about:
            return SpanError("extra", said)
        if self._says_again(said, about[0]):
            return self._duplicate(by)
        if _inside(said, self.gold[about[0]]):
            return SpanError("too_fine", said, (self.gold[about[0]],))
        return SpanError("too_coarse", said, (self.gold[covered[0]],)) if covered else SpanError("extra", said)

    def _standing_for(self, at: int, said: TextSpan, covered: Sequence[int]) -> SpanError:
        meant = self.gold[at]
        if not _inside(meant, said):
            return SpanError("too_fine", said, (meant,), stands_for=meant)
        others = [self.gold[other] for other in covered if other != at]
        return SpanError("too_coarse", said, (meant, *others), stands_for=meant)

    def _about(self, said: TextSpan) -> list[int]:
        """The gold spans that it is about, the closest first; not those that it only brushes."""
        found: list[int] = []
        for at in self.by_start:
            true = self.gold[at]
            if true.start >= said.end:
                break
            if true.end > said.start and (_one_inside_the_other(true, said) or overlap(true, said) >= self.iou):
                found.append(at)
        return sorted(found, key=lambda at: -overlap(self.gold[at], said))

    def _says_again(self, said: TextSpan, at: int) -> bool:
        """True when another already says of the gold span what this one says."""
        true, other = self.gold[at], self.said_by.get(at)
        if other is None or overlap(other, said) == 0:
            return False
        # Where any overlap makes a pair, lying over the gold span and more is too coarse all the same.
        enough = overlap(true, said) >= self.iou and (self.iou > 0 or not _inside(true, said))
        return _inside(said, true) or enough


def _identity(span: TextSpan) -> tuple[int, int, str]:
    return span.start, span.end, span.role


def _one_inside_the_other(one: TextSpan, other: TextSpan) -> bool:
    return _inside(one, other) or _inside(other, one)


def _inside(inner: TextSpan, outer: TextSpan) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
