"""A document reviewed against a set of standards: the work of the built-in service, without the service."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from . import rule_acronyms, rule_contradictions, rule_structure, rule_verbs
from .breach import Breach
from .standards import SEVERITIES, Standard, reported_at, standards_of

_CHECKS = {
    "verbs": rule_verbs.find,
    "acronyms": rule_acronyms.find,
    "contradictions": rule_contradictions.find,
    "structure": rule_structure.find,
}


@lru_cache(maxsize=256)
def review(content: str, standards_set: str, strictness: str) -> tuple[dict[str, Any], ...]:
    """The observations on a document, in the order of their places; KeyError when there is no such set.

    The same document is looked at once, and what was found must not be changed.
    """
    standards = standards_of(standards_set)
    if standards is None:
        raise KeyError(standards_set)
    wanted = reported_at(strictness)
    found = [
        (standard, breach)
        for standard in standards
        for breach in _CHECKS[standard.check](content)
        if breach.severity in wanted
    ]
    found.sort(key=lambda one: (one[1].span or (0, 0), one[0].ref, -SEVERITIES.index(one[1].severity)))
    return tuple(_observation(at, standard, breach) for at, (standard, breach) in enumerate(found, 1))


def _observation(at: int, standard: Standard, breach: Breach) -> dict[str, Any]:
    return {
        "id": f"obs-{at}",
        "span": None if breach.span is None else list(breach.span),
        "severity": breach.severity,
        "category": standard.category,
        "standard_ref": standard.ref,
        "message": breach.message,
        "suggested_fix": breach.suggested_fix,
        "rationale": standard.rationale,
        "standard_excerpt": standard.excerpt,
        "confidence": breach.confidence,
    }
