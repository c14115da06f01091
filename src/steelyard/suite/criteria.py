"""Criteria as a suite declares them: a `pass` and perhaps a `fail` expression, checked before anything is run."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from steelyard.suite.bounds import Bounds
from steelyard.suite.draft import Draft
from steelyard.suite.gate_checks import Known, bounds_of, missing_name, settled, span
from steelyard.suite.gates import COMPARE, Gate, parse_gate
from steelyard.suite.repeats import RepeatsRule, parse_repeats
from steelyard.suite.spelling import listed, meant

Expression = Gate | RepeatsRule


def parse_expression(text: str) -> Expression:
    """The gate or the rule over repeats that a text says; ValueError with a message for a person when it is neither."""
    found = parse_repeats(text) or parse_gate(text)
    if isinstance(found, Gate) and found.baseline:
        raise ValueError(f"gate {text!r}: a criterion is held against a number; put it under gates")
    return found


def check_criteria(raw: Any, known: Known, draft: Draft) -> None:
    """Tell the draft every mistake in the suite's criteria, each at its place."""
    for name, given in (raw if isinstance(raw, dict) else {}).items():
        if not isinstance(given, dict):
            continue  # already told by the check of the whole file
        sound: list[Expression] = []
        for key in ("pass", "fail"):
            text = given.get(key)
            if not isinstance(text, str):
                continue
            expression, mistake = _checked(text, known)
            if mistake is not None:
                draft.tell(f"criteria.{name}.{key}: {mistake}", ("criteria", name, key))
            elif expression is not None:
                sound.append(expression)
        if len(sound) == 2 and overlap(sound[0], sound[1], _scale(sound[0], known)):
            told = f"{sound[0].text!r} and {sound[1].text!r} could hold at once: leave room between pass and fail"
            draft.tell(f"criteria.{name}: {told}", ("criteria", name, "fail"))


def _checked(text: str, known: Known) -> tuple[Expression | None, str | None]:
    try:
        expression = parse_expression(text)
    except ValueError as error:
        return None, str(error).removeprefix("gate ")
    if isinstance(expression, Gate):
        mistake = missing_name(expression, known)
        values = f"{expression.metric} is always {span(expression, _scale(expression, known))}"
    else:
        mistake = _missing_in(expression, known)
        values = "a score is always between 0 and 1" if expression.condition == "score" else "a count is 0 or more"
    if mistake is not None:
        return expression, mistake.removeprefix("gate ")
    always = settled(expression.operator, expression.threshold, expression.unit, _scale(expression, known))
    if always is None:
        return expression, None
    return expression, f"{text!r} {'always holds' if always else 'can never hold'}: {values}"


def _scale(expression: Expression, known: Known) -> Bounds | None:
    return known.scales.get(expression.subject) if isinstance(expression, Gate) else None


def _missing_in(rule: RepeatsRule, known: Known) -> str | None:
    """What a rule over repeats speaks of that the suite does not have, or None."""
    if rule.condition == "passed" and not known.passing:
        return f"{rule.text!r} needs a pass rule: write pass: score >= 75 %"
    if rule.condition == "findings" and known.codes is not None and rule.code not in known.codes:
        hint = meant(rule.code, known.codes) or f"; there are: {listed(known.codes)}"
        return f"{rule.text!r}: there is no finding code {rule.code!r}{hint}"
    return None


def overlap(passes: Expression, fails: Expression, scale: Bounds | None = None) -> bool:
    """Whether both could hold at once; False when they speak of different figures, for then nobody can tell.

    `scale` is that of a figure in points.
    """
    if isinstance(passes, Gate) and isinstance(fails, Gate):
        return passes.stands_on == fails.stands_on and _common(passes, fails, scale)
    if isinstance(passes, Gate) or isinstance(fails, Gate):
        return False
    if (passes.condition, passes.code) != (fails.condition, fails.code):
        return False
    # Of disjoint conditions both shares can be reached while they do not add up to more than all repeats.
    shares_fit = passes.at_least * fails.of + fails.at_least * passes.of <= passes.of * fails.of
    return shares_fit or _common(passes, fails, None)


def _common(one: Expression, other: Expression, scale: Bounds | None) -> bool:
    """Whether any value that the figure can have meets both comparisons.

    Each comparison is settled between its threshold and the next end, so one value of every such piece is enough.
    """
    limits = {one.threshold, other.threshold}
    if one.unit in ("count", "tokens"):
        near = {math.floor(limit) + step for limit in limits for step in (-1, 0, 1, 2)}
        values = {float(value) for value in near if value >= 0}
    else:
        low, top = bounds_of(one.unit, scale)
        ends = sorted({max(low, min(limits) - 1), min(top, max(limits) + 1), *limits})
        values = {*ends, *((low + high) / 2 for low, high in pairwise(ends))}
    return any(all(COMPARE[each.operator](value, each.threshold) for each in (one, other)) for value in values)
