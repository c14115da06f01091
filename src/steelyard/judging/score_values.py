"""Whether scores are scores and flags are flags: nothing is clamped, converted or filled in."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from steelyard.suite.judge import Rubric

_LONGEST_VALUE: Final = 40


def score_problems(value: Mapping[str, Any], rubric: Rubric, repeated: Collection[str] = ()) -> dict[str, str]:
    """By dimension or flag that cannot be used, why; empty when all can."""
    problems: dict[str, str] = {}
    for dimension in rubric.dimensions:
        name = dimension.name
        if name in value and score_of(value[name], rubric) is None:
            kind = "a whole number" if _is_choice(rubric) else "a number"
            problems[name] = f"{name}: {quoted_value(value[name])} is not {kind} from {rubric.low} to {rubric.high}"
    for flag in rubric.flags:
        if flag.name in value and not isinstance(value[flag.name], bool):
            problems[flag.name] = f"{flag.name}: {quoted_value(value[flag.name])} is not true or false"
    for name in rubric.names:
        if name not in value:
            problems[name] = f"{name}: it is missing"
        elif name in repeated:
            problems[name] = f"{name}: it is given more than once"
    return problems


def score_of(value: Any, rubric: Rubric) -> float | None:
    """The score, 4.0 being 4; None when it is no number or not on the scale.

    3.7 is a score between two that the rubric describes; on a scale of two scores there is nothing between them.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not rubric.low <= value <= rubric.high or (value % 1 and _is_choice(rubric)):
        return None
    return value if value % 1 else int(value)


def _is_choice(rubric: Rubric) -> bool:
    return rubric.high - rubric.low == 1


def scores_of(value: Mapping[str, Any], rubric: Rubric) -> dict[str, float | bool]:
    """Scores and flags; only for values without problems."""
    scores = {dimension.name: score_of(value[dimension.name], rubric) or 0 for dimension in rubric.dimensions}
    return scores | {flag.name: bool(value[flag.name]) for flag in rubric.flags}


def quoted_value(value: Any) -> str:
    """A value as JSON, shortened: for messages."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
