"""What is counted in one comparison of spans, and the ratios that the counts add up to over many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard.scoring.base import MeanMeasure, Measure
from steelyard.scoring.span_errors import KINDS
from steelyard.scoring.span_schemes import Scheme, SpanComparison

_WHOLE: tuple[Scheme, ...] = ("strict", "exact", "type")
"""The schemes that count no halves."""
_WORDS = {
    "strict": "with the same boundaries and role",
    "exact": "with the same boundaries",
    "partial": "with the same boundaries, and those that overlap by half; counted in halves",
    "type": "that overlap and have the same role",
}


def span_measures(categories: Sequence[str], sections: Sequence[str]) -> dict[str, Measure]:
    """The measures of a suite with these categories and sections; F1 is twice what is right over all spans."""
    found: dict[str, Measure] = {}
    for scheme, told in _WORDS.items():
        halves = "_halves" if scheme == "partial" else ""
        twice = "partial_halves" if halves else f"{scheme}_twice"
        found[f"{scheme}_precision"] = Measure(f"{scheme}{halves}", f"answered{halves}", f"answered spans {told}")
        found[f"{scheme}_recall"] = Measure(f"{scheme}{halves}", f"gold{halves}", f"gold spans found {told}")
        found[f"{scheme}_f1"] = Measure(twice, "spans", f"F1 of spans {told}")
    found["misplaced"] = Measure("misplaced", "answered", "answered spans whose offsets do not give their text")
    if categories:
        found["outside"] = Measure("outside", "answered", "answered spans whose role is in no category")
    for name in categories:
        right, twice = f"{name}_right", f"{name}_twice"
        found[f"{name}_precision"] = Measure(right, f"{name}_answered", f"answered spans of {name}, strictly right")
        found[f"{name}_recall"] = Measure(right, f"{name}_gold", f"gold spans of {name}, strictly found")
        found[f"{name}_f1"] = Measure(twice, f"{name}_spans", f"strict F1 of {name}")
    for name in sections:
        found[f"{name}_wrong"] = Measure(f"in_{name}_wrong", f"in_{name}_answered", f"wrong spans, of those in {name}")
        found[f"{name}_missed"] = Measure(f"in_{name}_missed", f"in_{name}_gold", f"missed spans, of those in {name}")
    return {name: replace(measure, better=_better(name)) for name, measure in found.items()}


def macro_measures(categories: Sequence[str]) -> dict[str, MeanMeasure]:
    """Precision, recall and F1 averaged over the categories that have them; none without categories."""
    told = {
        "precision": "strict precision, the mean over categories with an answered span",
        "recall": "strict recall, the mean over categories with a gold span",
        "f1": "strict F1, the mean over categories with a span on either side",
    }
    if not categories:
        return {}
    return {
        f"macro_{name}": MeanMeasure(tuple(f"{each}_{name}" for each in categories), about, "higher")
        for name, about in told.items()
    }


def _better(name: str) -> str:
    return "higher" if name.endswith(("_precision", "_recall", "_f1")) else "lower"


def span_counts(
    found: SpanComparison, category_of: Callable[[str], str], categories: Sequence[str], *, in_sections: bool
) -> dict[str, int]:
    """The counts of one comparison; of categories and sections only those that have a span, so that n is theirs."""
    n_gold, n_answered = len(found.gold.placed), len(found.answer)
    figures = found.all_figures()
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
        "misplaced": sum(bool(span.misplaced) for span in found.answer.all),
        "lost": len(found.answer.lost),
    }
    kinds = Counter(error.kind for error in found.errors)
    counts |= {kind: kinds[kind] for kind in KINDS}
    if categories:
        counts |= _by_category(found, category_of, categories)
    return counts | _by_section(found) if in_sections else counts


def _by_category(found: SpanComparison, category_of: Callable[[str], str], categories: Sequence[str]) -> dict[str, int]:
    counts = {"outside": 0}
    for name, figures in found.by_category("strict", category_of).items():
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


def _by_section(found: SpanComparison) -> dict[str, int]:
    gold = Counter(span.section for span in found.gold.placed)
    answered = Counter(span.section for span in found.answer.placed)
    wrong = Counter(error.answer.section for error in found.errors if error.answer is not None)
    missed = Counter(error.gold[0].section for error in found.errors if error.kind == "missed")
    parts: Mapping[str, Counter[str]] = {"gold": gold, "answered": answered, "wrong": wrong, "missed": missed}
    return dict(_named(parts, gold.keys() | answered.keys()))


def _named(parts: Mapping[str, Counter[str]], sections: Iterable[str]) -> Iterator[tuple[str, int]]:
    for section in sorted(sections):
        for part, counter in parts.items():
            yield f"in_{section}_{part}", counter[section]
