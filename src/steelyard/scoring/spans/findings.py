"""The errors of spans as findings: each with its place, what was expected, and what fixing it would gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from steelyard.frozen import frozen
from steelyard.records import Claim, Finding
from steelyard.scoring.spans.errors import SpanError
from steelyard.scoring.spans.read import LostSpan, TextSpan
from steelyard.scoring.spans.schemes import PrecisionRecall, Scheme, SpanComparison

_LONGEST_QUOTE = 300
_FEW_GOLDS = 5
_WHOLE_SPAN = {"strict": 1.0, "exact": 1.0, "partial": 0.5, "type": 0.0}
"""What a pair with the right role gains when its boundaries are fixed."""


@frozen
class Naming:
    """The suite's codes by kind of error, and how it names the place of a span on each side."""

    codes: Mapping[str, str]
    """Without `misplaced` when a span that was moved is no error."""
    answer_place: Callable[[int], str]
    gold_place: Callable[[int], str]


def span_findings(span_comparison: SpanComparison, scheme: Scheme, naming: Naming) -> Iterator[Finding]:
    """A finding for every error, for every span without a place, and for every one that had to be moved."""
    figures = span_comparison.figures(scheme)
    for error in span_comparison.errors:
        yield _finding(error, gain_of(error, figures, scheme), naming)
    for lost in span_comparison.answer.lost:
        yield _lost(lost, _gain(figures, 0.0, -1), naming)
    misplaced = naming.codes.get("misplaced")
    for span in span_comparison.answer.placed if misplaced else ():
        if span.misplaced and misplaced:
            place = naming.answer_place(span.index)
            yield _at(span, Finding(misplaced, place, None, _cut(span.text), span.misplaced))


def gain_of(error: SpanError, figures: PrecisionRecall, scheme: Scheme) -> float:
    """What F1 would rise by if this error alone were fixed: a missed span added, an extra or a duplicate taken out,
    a role or the boundaries put right; one too fine or too coarse replaced by the gold span it stands for, or taken out
    when it stands for none."""
    if error.kind == "missed":
        return _gain(figures, 1.0, 1)
    if error.kind in ("extra", "duplicate"):
        return _gain(figures, 0.0, -1)
    if not error.paired:
        return _gain(figures, 0.0, -1) if error.stands_for is None else _gain(figures, 1.0, 0)
    if error.kind == "wrong_role":
        return _gain(figures, _role_fixed(error, scheme), 0)
    return _gain(figures, _WHOLE_SPAN[scheme], 0)


def _role_fixed(error: SpanError, scheme: Scheme) -> float:
    if scheme == "type":
        return 1.0
    return 1.0 if scheme == "strict" and _same_boundaries(error) else 0.0


def _gain(figures: PrecisionRecall, right: float, answered: int) -> float:
    return PrecisionRecall(figures.right + right, figures.answered + answered, figures.gold).value - figures.value


def claims(span_comparison: SpanComparison, category_of: Callable[[str], str]) -> tuple[Claim, ...]:
    """Every span of the answer that has a confidence; right when boundaries and role are those of its gold span."""
    wrong = {error.answer.index for error in span_comparison.errors if error.answer is not None}
    wrong |= {span.index for span in span_comparison.answer.lost}
    return tuple(
        Claim(span.confidence, span.index not in wrong, category_of(span.role))
        for span in sorted(span_comparison.answer.all, key=lambda span: span.index)
        if span.confidence is not None
    )


def _finding(error: SpanError, gain: float, naming: Naming) -> Finding:
    text, kind = error.answer, error.kind
    code = naming.codes[kind]
    if text is None:
        true = error.gold[0]
        message = _with_role(true, "not in the answer")
        return _at(true, Finding(code, naming.gold_place(true.index), _cut(true.text), None, message, gain=gain))
    place = naming.answer_place(text.index)
    if kind == "wrong_role":
        true = error.gold[0]
        message = repr(_cut(text.text)) + ("" if _same_boundaries(error) else f", for {_cut(true.text)!r}")
        return _at(text, Finding(code, place, true.role, text.role, message, gain=gain))
    expected = (
        None if kind in ("extra", "duplicate") else " | ".join(_cut(true.text) for true in error.gold[:_FEW_GOLDS])
    )
    message = _with_role(text, _about(error, naming))
    return _at(text, Finding(code, place, expected, _cut(text.text), message, gain=gain))


def _about(error: SpanError, naming: Naming) -> str:
    golds = ", ".join(naming.gold_place(true.index) for true in error.gold[:_FEW_GOLDS])
    golds += f" and {len(error.gold) - _FEW_GOLDS} more" if len(error.gold) > _FEW_GOLDS else ""
    if error.kind == "extra":
        return "not in the truth"
    if error.kind == "duplicate":
        return f"{golds} has a span already" if golds else "the same span is there already"
    return f"only a piece of {golds}" if error.kind == "too_fine" else f"more than {golds}"


def _lost(span: LostSpan, gain: float, naming: Naming) -> Finding:
    code = naming.codes.get("misplaced") if span.misplaced else None
    message = _with_role(span, span.why)
    place = naming.answer_place(span.index)
    return Finding(code or naming.codes["extra"], place, None, _cut(span.text) or None, message, gain=gain)


def _at(span: TextSpan, finding: Finding) -> Finding:
    finding.span, finding.section = (span.start, span.end), span.section
    return finding


def _same_boundaries(error: SpanError) -> bool:
    text, true = error.answer, error.gold[0]
    return text is not None and (text.start, text.end) == (true.start, true.end)


def _with_role(span: TextSpan | LostSpan, message: str) -> str:
    return f"{span.role}: {message}" if span.role else message


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
