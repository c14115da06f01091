"""A judge without a model: what one would say of the spans, computed from the gold ones. README.md has the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from steelyard import Case
from steelyard.spans import LostSpan, SpanComparison, SpanError, TextSpan, compare_spans

from .prompts import answer_spans, gold_spans
from .taxonomy import categories, category_of, reason, severity_of

_IOU: Final = 0.5
_STEPS: Final = ((0.9, 5), (0.75, 4), (0.5, 3), (0.2, 2))
"""The least share that earns each score; below all of them it is 1."""
_LOWEST, _NEUTRAL, _HIGHEST = 1, 3, 5
_DIMENSIONS: Final = ("coverage", "precision", "granularity", "taxonomy", "technicalSpecs")
_ROUNDING: Final = 1e-9


def judge(text: str, case: Case, metrics: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - what a judge is given
    """Every field of a judge's answer; ValueError for a case without gold spans, which only a model can judge."""
    gold = gold_spans(case)
    if gold is None:
        raise ValueError(f"case {case.id} has no gold spans: judge it with a model (--judge URL --judge-model NAME)")
    comparison = compare_spans(gold, answer_spans(text, case), iou=_IOU)
    prompt: str = case.input["text"]
    scores = five_scores(comparison)
    missed = [_missed(error) for error in _of(comparison, "missed") if not _swallowed(error.gold[0], comparison)]
    false_positives = _false_positives(comparison, prompt)
    wrong_roles = [_wrong_role(error) for error in _of(comparison, "wrong_role")]
    boundaries = [_boundary(error, comparison) for error in _of(comparison, "too_fine", "too_coarse")]
    return {
        "missedElements": missed,
        "falsePositives": false_positives,
        "taxonomyErrors": wrong_roles,
        "granularityErrors": boundaries,
        "categoryScores": {name: _category(name, comparison) for name in categories()},
        "notes": (
            f"{len(comparison.pairs)} of {len(comparison.gold.placed)} gold spans found with {len(comparison.answer)}"
            f" spans; missed {len(missed)}, false positives {len(false_positives)}, wrong roles {len(wrong_roles)},"
            f" wrong boundaries {len(boundaries)}."
        ),
        "scores": scores,
        "totalScore": sum(scores.values()),
    }


def five_scores(comparison: SpanComparison) -> dict[str, int]:
    """The five scores. A 1 in coverage or precision is a 1 in everything; no spans where none are due is a 5."""
    pairs = comparison.pairs
    if not comparison.gold.placed and not len(comparison.answer):
        return dict.fromkeys(_DIMENSIONS, _HIGHEST)
    coverage = score(len(pairs), len(comparison.gold.placed))
    precision = score(len(pairs), len(comparison.answer))
    if _LOWEST in (coverage, precision):
        return dict.fromkeys(_DIMENSIONS, _LOWEST)
    # Fine boundaries and roles of a few good spans among many are worth no more than one above what they are part of.
    most = min(min(coverage, precision) + 1, _HIGHEST)
    exact = sum((true.start, true.end) == (guess.start, guess.end) for true, guess in pairs)
    n_fragments = sum(not error.paired for error in _of(comparison, "too_fine", "too_coarse"))
    named = sum(true.role == guess.role for true, guess in pairs)
    return {
        "coverage": coverage,
        "precision": precision,
        "granularity": min(score(exact, len(pairs) + n_fragments), most),
        "taxonomy": min(score(named, len(pairs)), most),
        "technicalSpecs": min(_technical(comparison, max(min(coverage, precision), _NEUTRAL)), most),
    }


def score(n: float, of: int) -> int:
    """The score from 1 to 5 that a share earns; of nothing it is 1."""
    share = n / of if of else 0.0
    return next((points for least, points in _STEPS if share >= least - _ROUNDING), _LOWEST)


def _technical(comparison: SpanComparison, otherwise: int) -> int:
    """F1 of what is technical: those roles, and everything in that section; `otherwise` when gold has nothing of it."""
    gold = sum(map(_is_technical, comparison.gold.placed))
    if not gold:
        return otherwise
    answered = sum(map(_is_technical, comparison.answer.placed)) + sum(
        map(_is_technical_by_role, comparison.answer.lost)
    )
    right = sum(true.role == guess.role and _is_technical(true) for true, guess in comparison.pairs)
    return score(2 * right, gold + answered)


def _is_technical(span: TextSpan) -> bool:
    return span.section == "technicalSpecs" or _is_technical_by_role(span)


def _is_technical_by_role(span: TextSpan | LostSpan) -> bool:
    return category_of(span.role) == "technical"


def _category(name: str, comparison: SpanComparison) -> dict[str, int]:
    """Coverage and precision of a category; both 5 when neither side has a span of it, for then nothing is wrong."""

    def of_it(spans: Iterable[TextSpan | LostSpan]) -> int:
        return sum(category_of(span.role) == name for span in spans)

    gold = of_it(comparison.gold.placed)
    answered = of_it(comparison.answer.placed) + of_it(comparison.answer.lost)
    covered = of_it(true for true, _ in comparison.pairs)
    right = sum(category_of(true.role) == category_of(guess.role) == name for true, guess in comparison.pairs)
    return {
        "coverage": score(covered, gold) if gold else _HIGHEST,
        "precision": score(right, answered) if gold or answered else _HIGHEST,
    }


def _of(comparison: SpanComparison, *kinds: str) -> list[SpanError]:
    return [error for error in comparison.errors if error.kind in kinds]


def _missed(error: SpanError) -> dict[str, Any]:
    gold = error.gold[0]
    return {
        "text": gold.text,
        "expectedRole": gold.role,
        "category": category_of(gold.role),
        "severity": severity_of(gold.role),
    }


def _false_positives(comparison: SpanComparison, prompt: str) -> list[dict[str, Any]]:
    """Extra and duplicate spans with their reasons, and those that are nowhere in the prompt."""
    wrong: list[tuple[TextSpan | LostSpan, str]] = [
        (error.answer, reason(error.answer, prompt, duplicate=error.kind == "duplicate"))
        for error in _of(comparison, "extra", "duplicate")
        if error.answer is not None
    ]
    wrong += [(lost, "other") for lost in comparison.answer.lost]
    return [
        {"spanIndex": span.index, "text": span.text, "assignedRole": span.role, "reason": why}
        for span, why in sorted(wrong, key=lambda entry: entry[0].index)
    ]


def _wrong_role(error: SpanError) -> dict[str, Any]:
    return _about(error, lambda answered: {"assignedRole": answered.role, "expectedRole": error.gold[0].role})


def _boundary(error: SpanError, comparison: SpanComparison) -> dict[str, Any]:
    """A wrong cut; what it should have been are all gold spans in it."""

    def rest(answered: TextSpan) -> dict[str, Any]:
        inside = [gold for gold in comparison.gold.placed if answered.start <= gold.start and gold.end <= answered.end]
        golds = inside if error.kind == "too_coarse" and inside else error.gold
        suggestion = " | ".join(gold.text for gold in sorted(golds, key=lambda gold: gold.start))
        return {"issue": error.kind, "suggestion": suggestion}

    return _about(error, rest)


def _swallowed(gold: TextSpan, comparison: SpanComparison) -> bool:
    """True for a gold span inside a longer one of its category, which is too coarse and says what should be there."""
    return any(
        answered.start <= gold.start
        and gold.end <= answered.end
        and category_of(answered.role) == category_of(gold.role)
        for answered in comparison.answer.placed
    )


def _about(error: SpanError, rest: Callable[[TextSpan], dict[str, Any]]) -> dict[str, Any]:
    answered = error.answer
    if answered is None:
        raise ValueError(f"an error of kind {error.kind} is about a span of the answer")
    return {"spanIndex": answered.index, "text": answered.text} | rest(answered)
