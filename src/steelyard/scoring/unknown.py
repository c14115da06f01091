"""A case whose truth is unknown: what the declared policy of its component makes of the answer."""

from __future__ import annotations

from typing import Any, Final

from steelyard.errors import Problem, SuiteError
from steelyard.scoring.base import Reading
from steelyard.scoring.spelling import as_text, has_phrase, normalise
from steelyard.suite.case import Case
from steelyard.suite.models import Component

UNKNOWN_WORDS: Final = (
    "unknown", "not known", "unidentified", "not identified", "cannot be identified", "undetermined",
    "cannot be determined", "not determined", "unattributed", "anonymous", "do not know", "don t know",
)  # fmt: skip
"""Any of these, as whole words, says in words that a thing is unknown."""
_MOST_UNKNOWN_WORDS: Final = 12


def says_unknown(value: Any) -> bool:
    """True when the value says in words, and in few of them, that the thing is unknown; null or empty says nothing."""
    words = normalise(as_text(value))
    if not words or len(words.split()) > _MOST_UNKNOWN_WORDS:
        return False
    return any(has_phrase(words, phrase) for phrase in UNKNOWN_WORDS)


def truth_parts(component: Component, scorer: Any, case: Case) -> dict[str, Any]:
    """What a perfect answer holds for the component, by path into the answer; empty when it is skipped."""
    parts: dict[str, Any] = scorer.truth_at(case)
    if parts or component.when_unknown != "say_unknown":
        return parts
    return {scorer.answer or "": UNKNOWN_WORDS[0]}


def unknown(component: Component, scorer: Any, answer: Any, case: Case) -> Reading:
    """The reading by the component's declared policy for a case without truth."""
    if component.when_unknown == "skip":
        return Reading(None, note="the truth is unknown: taken out of the score")
    if component.when_unknown == "say_unknown":
        got = scorer.answer_value(answer)
        text = says_unknown(got)
        note = "says that it is unknown" if text else "the truth is unknown, and the answer does not say so"
        return Reading(1.0 if text else 0.0, expected="unknown, stated in words", got=got, note=note)
    raise SuiteError([Problem(f"case {case.id}: {_no_policy(component)}", file=case.source)])


def _no_policy(component: Component) -> str:
    return f"{component.name}: the truth is missing; give it, or declare when_unknown: skip or say_unknown"
