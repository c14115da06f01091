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
        if name in value and whole_score(value[name], rubric) is None:
            scale = f"{rubric.low} to {rubric.high}"
            problems[name] = f"{name}: {quoted_value(value[name])} is not a whole number from {scale}"
    for flag in rubric.flags:
        if flag.name in value and not isinstance(value[flag.name], bool):
            problems[flag.name] = f"{flag.name}: {quoted_value(value[flag.name])} is not true or false"
    for name in rubric.names:
        if name not in value:
            problems[name] = f"{name}: it is missing"
        elif name in repeated:
            problems[name] = f"{name}: it is given more than once"
    return problems


def whole_score(value: Any, rubric: Rubric) -> int | None:
    """The score as a whole number, 4.0 being 4; None when it is no number, not whole, or not on the scale."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not rubric.low <= value <= rubric.high or value != value // 1:
        return None
    return int(value)


def whole_scores(value: Mapping[str, Any], rubric: Rubric) -> dict[str, int | bool]:
    """Scores as whole numbers, and flags; only for values without problems."""
    scores = {one.name: int(value[one.name]) for one in rubric.dimensions}
    return scores | {one.name: bool(value[one.name]) for one in rubric.flags}


def quoted_value(value: Any) -> str:
    """A value as JSON, shortened: for messages."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
