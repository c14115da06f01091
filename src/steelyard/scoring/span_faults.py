"""The errors of spans as faults: each with its place, what was expected, and what mending it would gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from steelyard.records import Certainty
from steelyard.scoring.base import Fault
from steelyard.scoring.span_errors import SpanError
from steelyard.scoring.span_reading import LostSpan, TextSpan
from steelyard.scoring.span_schemes import Figures, Scheme, SpanComparison

_LONGEST_QUOTE = 300
_FEW = 5
_WHOLE = {"strict": 1.0, "exact": 1.0, "partial": 0.5, "type": 0.0}
"""What a pair with the right role gains when its boundaries are mended."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The suite's codes by kind of error, and how it names the place of a span on each side."""

    codes: Mapping[str, str]
    """Without `misplaced` when a span that was moved is no error."""
    answer_place: Callable[[int], str]
    gold_place: Callable[[int], str]


def span_faults(found: SpanComparison, scheme: Scheme, naming: Naming) -> Iterator[Fault]:
    """A fault for every error, for every span without a place, and for every one that had to be moved."""
    figures = found.figures(scheme)
    for error in found.errors:
        yield _fault(error, gain_of(error, figures, scheme), naming)
    for lost in found.answer.lost:
        yield _lost(lost, _gain(figures, 0.0, -1), naming)
    misplaced = naming.codes.get("misplaced")
    for span in found.answer.placed if misplaced else ():
        if span.misplaced and misplaced:
            yield _at(
                span, Fault({misplaced: 0.0}, naming.answer_place(span.index), None, _cut(span.text), span.misplaced)
            )


def gain_of(error: SpanError, figures: Figures, scheme: Scheme) -> float:
    """What F1 would rise by if this error alone were mended: a missed span added, an extra or a duplicate taken out,
    a role or the boundaries put right; one too fine or too coarse replaced by the gold span it stands for, or taken out
    when it stands for none."""
    if error.kind == "missed":
        return _gain(figures, 1.0, 1)
    if error.kind in ("extra", "duplicate"):
        return _gain(figures, 0.0, -1)
    if not error.paired:
        return _gain(figures, 0.0, -1) if error.stands_for is None else _gain(figures, 1.0, 0)
    if error.kind == "wrong_role":
        return _gain(figures, _role_mended(error, scheme), 0)
    return _gain(figures, _WHOLE[scheme], 0)


def _role_mended(error: SpanError, scheme: Scheme) -> float:
    if scheme == "type":
        return 1.0
    return 1.0 if scheme == "strict" and _same_boundaries(error) else 0.0


def _gain(figures: Figures, right: float, answered: int) -> float:
    before = figures.f1 or 0.0
    after = Figures(figures.right + right, figures.answered + answered, figures.gold).f1 or 0.0
    return after - before


def certainties(found: SpanComparison, category_of: Callable[[str], str]) -> tuple[Certainty, ...]:
    """Every span of the answer that has a confidence; right when boundaries and role are those of its gold span."""
    wrong = {error.answer.index for error in found.errors if error.answer is not None}
    wrong |= {span.index for span in found.answer.lost}
    return tuple(
        Certainty(span.confidence, span.index not in wrong, category_of(span.role))
        for span in sorted(found.answer.all, key=lambda span: span.index)
        if span.confidence is not None
    )


def _fault(error: SpanError, gain: float, naming: Naming) -> Fault:
    said, kind = error.answer, error.kind
    codes = {naming.codes[kind]: gain}
    if said is None:
        true = error.gold[0]
        told = _with_role(true, "not in the answer")
        return _at(true, Fault(codes, naming.gold_place(true.index), _cut(true.text), None, told))
    place = naming.answer_place(said.index)
    if kind == "wrong_role":
        true = error.gold[0]
        told = repr(_cut(said.text)) + ("" if _same_boundaries(error) else f", for {_cut(true.text)!r}")
        return _at(said, Fault(codes, place, true.role, said.role, told))
    expected = None if kind in ("extra", "duplicate") else " | ".join(_cut(true.text) for true in error.gold[:_FEW])
    return _at(said, Fault(codes, place, expected, _cut(said.text), _with_role(said, _about(error, naming))))


def _about(error: SpanError, naming: Naming) -> str:
    golds = ", ".join(naming.gold_place(true.index) for true in error.gold[:_FEW])
    golds += f" and {len(error.gold) - _FEW} more" if len(error.gold) > _FEW else ""
    if error.kind == "extra":
        return "not in the truth"
    if error.kind == "duplicate":
        return f"{golds} has a span already" if golds else "the same span is there already"
    return f"only a piece of {golds}" if error.kind == "too_fine" else f"more than {golds}"


def _lost(span: LostSpan, gain: float, naming: Naming) -> Fault:
    code = naming.codes.get("misplaced") if span.misplaced else None
    told = _with_role(span, span.why)
    place = naming.answer_place(span.index)
    return Fault({code or naming.codes["extra"]: gain}, place, None, _cut(span.text) or None, told)


def _at(span: TextSpan, fault: Fault) -> Fault:
    fault.span, fault.section = (span.start, span.end), span.section
    return fault


def _same_boundaries(error: SpanError) -> bool:
    said, true = error.answer, error.gold[0]
    return said is not None and (said.start, said.end) == (true.start, true.end)


def _with_role(span: TextSpan | LostSpan, told: str) -> str:
    return f"{span.role}: {told}" if span.role else told


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
