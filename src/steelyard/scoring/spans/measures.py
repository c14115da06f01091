"""What is counted in one comparison of spans, and the ratios that the counts add up to over many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from steelyard.scoring.base import MeanMeasure, Measure
from steelyard.scoring.spans.errors import KINDS
from steelyard.scoring.spans.schemes import Scheme, SpanComparison

_WHOLE: tuple[Scheme, ...] = ("strict", "exact", "type")
"""The schemes that count no halves."""
_WORDS = {
    "strict": "with the same boundaries and role",
    "exact": "with the same boundaries",
    "partial": "with the same boundaries, and those that overlap by half; counted in halves",
    "type": "that overlap and have the same role",
}


def span_measures(
    categories: Sequence[str], sections: Sequence[str], roles: Mapping[str, str] | None = None
) -> dict[str, Measure]:
    """The measures of a suite with these categories, sections and roles; F1 is twice what is right over all spans."""
    measures: dict[str, Measure] = {}
    for scheme, message in _WORDS.items():
        halves = "_halves" if scheme == "partial" else ""
        twice = "partial_halves" if halves else f"{scheme}_twice"
        measures[f"{scheme}_precision"] = Measure(f"{scheme}{halves}", f"answered{halves}", f"answered spans {message}")
        measures[f"{scheme}_recall"] = Measure(f"{scheme}{halves}", f"gold{halves}", f"gold spans found {message}")
        measures[f"{scheme}_f1"] = Measure(twice, "spans", f"F1 of spans {message}")
    measures["misplaced"] = Measure("misplaced", "answered", "answered spans whose offsets do not give their text")
    if categories:
        measures["outside"] = Measure("outside", "answered", "answered spans whose role is in no category")
    for name in categories:
        right, twice = f"{name}_right", f"{name}_twice"
        measures[f"{name}_precision"] = Measure(right, f"{name}_answered", f"answered spans of {name}, strictly right")
        measures[f"{name}_recall"] = Measure(right, f"{name}_gold", f"gold spans of {name}, strictly found")
        measures[f"{name}_f1"] = Measure(twice, f"{name}_spans", f"strict F1 of {name}")
    for role, name in (roles or {}).items():
        measures[f"{name}_f1"] = Measure(f"{name}_twice", f"{name}_spans", f"strict F1 of {role}")
    for name in sections:
        measures[f"{name}_wrong"] = Measure(
            f"in_{name}_wrong", f"in_{name}_answered", f"wrong spans, of those in {name}"
        )
        measures[f"{name}_missed"] = Measure(
            f"in_{name}_missed", f"in_{name}_gold", f"missed spans, of those in {name}"
        )
    return {name: replace(measure, better=_better(name)) for name, measure in measures.items()}


def macro_measures(categories: Sequence[str]) -> dict[str, MeanMeasure]:
    """Precision, recall and F1 averaged over the categories that have them; none without categories."""
    messages = {
        "precision": "strict precision, the mean over categories with an answered span",
        "recall": "strict recall, the mean over categories with a gold span",
        "f1": "strict F1, the mean over categories with a span on either side",
    }
    if not categories:
        return {}
    return {
        f"macro_{name}": MeanMeasure(tuple(f"{category}_{name}" for category in categories), about, "higher")
        for name, about in messages.items()
    }


def _better(name: str) -> str:
    return "higher" if name.endswith(("_precision", "_recall", "_f1")) else "lower"


def span_counts(
    span_comparison: SpanComparison,
    category_of: Callable[[str], str],
    categories: Sequence[str],
    roles: Mapping[str, str] | None = None,
    *,
    in_sections: bool,
) -> dict[str, int]:
    """The counts of one comparison; of categories, roles and sections only those that have a span, so that n is
    theirs."""
    n_gold, n_answered = len(span_comparison.gold.placed), len(span_comparison.answer)
    figures = span_comparison.all_figures()
    right = {scheme: round(figures[scheme].right) for scheme in _WHOLE}
    counts = {
        "gold": n_gold,
        "answered": n_answered,
        "spans": n_gold + n_answered,
        "gold_halves": 2 * n_gold,
        "answered_halves": 2 * n_answered,
        **right,
        **{f"{scheme}_twice": 2 * count for scheme, count in right.items()},
        "partial_halves": round(2 * figures["partial"].right),
        "misplaced": sum(bool(span.misplaced) for span in span_comparison.answer.all),
        "lost": len(span_comparison.answer.lost),
    }
    kinds = Counter(error.kind for error in span_comparison.errors)
    counts |= {kind: kinds[kind] for kind in KINDS}
    if categories:
        counts |= _by_category(span_comparison, category_of, categories)
    if roles:
        by_role = _by_category(span_comparison, lambda role: roles.get(role, ""), list(roles.values()))
        counts |= {name: n for name, n in by_role.items() if name.endswith(("_spans", "_twice"))}
    return counts | _by_section(span_comparison) if in_sections else counts


def _by_category(
    span_comparison: SpanComparison, category_of: Callable[[str], str], categories: Sequence[str]
) -> dict[str, int]:
    counts = {"outside": 0}
    for name, figures in span_comparison.by_category("strict", category_of).items():
        if name not in categories:
            counts["outside"] += figures.answered
            continue
        right = round(figures.right)
        counts |= {
            f"{name}_gold": figures.gold,
            f"{name}_answered": figures.answered,
            f"{name}_spans": figures.gold + figures.answered,
            f"{name}_right": right,
            f"{name}_twice": 2 * right,
        }
    return counts


def _by_section(span_comparison: SpanComparison) -> dict[str, int]:
    gold = Counter(span.section for span in span_comparison.gold.placed)
    answered = Counter(span.section for span in span_comparison.answer.placed)
    wrong = Counter(error.answer.section for error in span_comparison.errors if error.answer is not None)
    missed = Counter(error.gold[0].section for error in span_comparison.errors if error.kind == "missed")
    parts = {"gold": gold, "answered": answered, "wrong": wrong, "missed": missed}
    sections = sorted(gold.keys() | answered.keys())
    return {f"in_{section}_{part}": counter[section] for section in sections for part, counter in parts.items()}
