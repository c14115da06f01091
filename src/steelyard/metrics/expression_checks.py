"""Whether a suite has what an expression names, and whether the expression can decide anything.

Every function returns a message for a person, or None when nothing is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from steelyard.frozen import frozen
from steelyard.metrics.expressions import (
    COMPARE,
    EVERY,
    FACTORS,
    Expression,
    Gate,
    RepeatsRule,
    parse_expression,
)
from steelyard.metrics.registry import MOST_IN_A_ROW
from steelyard.metrics.units import UNITS
from steelyard.suite.case import NONE
from steelyard.suite.yaml import listed, meant, meant_or_listed

if TYPE_CHECKING:
    from steelyard.suite.judge import JudgeModel
    from steelyard.suite.models import SuiteModel

Bounds = tuple[float, float]
"""The lowest and the highest value that a metric can have."""
PlacedProblem = tuple[str, tuple[str | int, ...]]
"""A message, and the keys that lead to its place in the file."""
NOT_FOR_SURE = "cannot be shown for sure: that takes a rate, or the average of a scale with two ends"
_NEEDS_RULE = " needs a pass rule: write pass: score >= 75 %"
_JUDGE_NEEDS = {
    "labels": "the judge has no labels: say where they are, as in labels: expected.labels",
    "rules": "the judge has no binding rules",
    "evidence": "the judge owes no evidence",
    "check": "the judge's complaints are not checked: write check: module:function",
    "reasons": "no number of reasons is asked for: write reasons: {in: FIELD, at_least: 2}",
    "must_answer": "the judge has no findings to answer: write must_answer: {in: FIELD, findings: [CODE]}",
    "dimensions": "the rubric has a single dimension",
}


@frozen
class SuiteNames:
    """The names that expressions may use in one suite; None where they could not be read, so nothing can be said."""

    components: Mapping[str, Sequence[str] | None] | None = field(default_factory=dict)
    """Each component with the names of its measures."""
    means: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By component, which of these are means of others."""
    codes: Sequence[str] | None = ()
    bands: Sequence[str] = ()
    slices: Mapping[str, Sequence[str]] | None = field(default_factory=dict)
    """By factor, the names that cases have."""
    passing: bool = True
    """Whether the suite says when a sample passes."""
    checks: Sequence[str] | None = ()
    """The names of declared checks; none when nothing is expected."""
    stability: Sequence[str] | None = ()
    """What repeats are compared in: `presence` and the declared fields; nothing when they are not compared."""
    metrics: Sequence[str] = ()
    """Metrics that the suite brings along."""
    scales: Mapping[str, Bounds] = field(default_factory=dict)
    """By component, the lowest and highest value it gives; one that is not here can be any number."""
    judge: JudgeModel | None = None
    """Who judges; None in a suite without a judge, and where it could not be read."""
    has_judge: bool = True
    """Whether the suite has a judge, be it one that could not be read."""

    @classmethod
    def of_run(cls, suite: SuiteModel, slices: Mapping[str, Sequence[str]] | None) -> SuiteNames:
        """Those of a suite as runs describe it; `slices` are the names by factor that its cases have."""
        components = suite.components
        return cls(
            components={component.name: [*component.measures, *component.means] for component in components},
            means={component.name: list(component.means) for component in components},
            codes=[kind.code for kind in suite.taxonomy],
            bands=[band.name for band in suite.bands],
            slices=slices,
            passing=suite.passing is not None,
            checks=[check.name for check in suite.expect.checks] if suite.expect else [],
            stability=["presence", *suite.stability.fields] if suite.stability else [],
            metrics=[declared["name"] for declared in suite.metrics],
            scales={component.name: component.scale for component in components},
            judge=suite.judge,
            has_judge=suite.judge is not None,
        )

    @classmethod
    def of_suite(cls, suite: SuiteModel) -> SuiteNames:
        """Those of a suite with its cases."""
        slices = {factor: list(counts) for factor, counts in suite.survey.slices.items()}
        slices |= {"variant": [name for name in suite.variant_names if name]}
        for factor, levels in suite.variant_factors.items():
            slices[f"variant.{factor}"] = list(dict.fromkeys(levels.values()))
        return cls.of_run(suite, slices if suite.survey.n else None)

    def bounds(self, expression: Expression) -> Bounds:
        """The lowest and the highest value that can be compared; points lie on the scale of their component."""
        unit = UNITS[expression.unit]
        if expression.unit != "points" or not isinstance(expression, Gate):
            return unit.low, unit.high
        if expression.of.of_judge:
            # Spreads and distances, which are at most as wide as the judge's scale.
            return 0.0, math.inf if self.judge is None else float(self.judge.rubric.high - self.judge.rubric.low)
        return self.scales.get(expression.subject, (unit.low, unit.high))


def check_gate(gate: Gate, names: SuiteNames) -> str | None:
    """What is wrong with a gate in its suite (a name that is not there, a threshold that decides nothing), or None."""
    return missing_name(gate, names) or _not_compared(gate, names) or cannot_fail(gate, names)


def missing_name(gate: Gate, names: SuiteNames) -> str | None:
    """What a gate names that its suite does not have, or None."""
    if lacking := _lacking(gate, names):
        return f"{gate.label}{lacking}"
    rubric = names.judge.rubric if names.judge else None
    subjects = {
        "<dimension>": ("dimension", None if rubric is None else [item.name for item in rubric.dimensions]),
        "<flag>": ("flag", None if rubric is None else [item.name for item in rubric.flags]),
        "<component>": ("component", None if names.components is None else list(names.components)),
        "<code>": ("finding code", names.codes),
        "<band>": ("band", names.bands),
        "<check>": ("check", names.checks),
        "<field>": ("field of stability", names.stability),
    }
    for part in gate.of.parts:
        what, allowed = subjects.get(part, ("", None))
        if allowed is not None and gate.subject not in allowed:
            none = "the rubric has none" if gate.of.of_judge else "this suite declares none"
            return f"{gate.label}: {_no_such(what, gate.subject, allowed, none)}"
    measures = (names.components or {}).get(gate.subject) if gate.measure else None
    if measures is not None and gate.measure not in measures:
        what = f"measure of {gate.subject}"
        return f"{gate.label}: {_no_such(what, gate.measure, [*measures, 'average', 'points'])}"
    if gate.factor is None or names.slices is None:
        return None
    slices = names.slices.get(gate.factor, ())
    if not slices:
        fields = [factor for factor in names.slices if factor not in FACTORS]
        declare = f"this suite is not sliced by {gate.factor}{meant_or_listed(gate.factor, fields)}"
        if gate.factor.startswith("variant."):
            named = f"{gate.factor.removeprefix('variant.')}.{gate.slice}"
            declare += f'; a name that holds a dot is quoted: variant."{named}".{gate.metric}'
        else:
            declare += f"; to slice by it write slices: [{gate.factor}]"
        return f"{gate.label}: {f'no case of this suite has a {gate.factor}' if gate.factor in FACTORS else declare}"
    missing = gate.slice not in (EVERY, NONE, *slices)
    return f"{gate.label}: {_no_such(gate.factor, gate.slice or '', slices)}" if missing else None


def _lacking(gate: Gate, names: SuiteNames) -> str:
    """What a gate needs that its suite does not declare, to stand behind its label; "" when nothing is lacking."""
    needs = gate.of.needs
    if gate.of.of_judge:
        if not names.has_judge:
            return " needs a judge: write judge: {rubric: ..., judges: ...}"
        return "" if names.judge is None or names.judge.has(needs) else f": {_JUDGE_NEEDS[needs]}"
    if gate.of.own and gate.pattern not in names.metrics:
        return f": {_no_such('metric', gate.pattern, names.metrics)}"
    if needs == "pass" and not names.passing:
        return _NEEDS_RULE
    if needs == "expect" and names.checks is not None and not names.checks:
        return " needs checks: write expect: {how_many: {count: items[], between: [1, 3]}}"
    if needs == "stability" and names.stability is not None and not names.stability:
        return " needs repeats that are compared: write stability: {items: items[], key: id}"
    if gate.pattern.endswith("pass_all.<k>") and gate.subject not in map(str, range(1, MOST_IN_A_ROW + 1)):
        return f": {gate.subject!r} is no number of repeats from 1 to {MOST_IN_A_ROW}: pass_all.3"
    return ""


def _no_such(what: str, name: str, allowed: Sequence[str], none: str = "this suite declares none") -> str:
    hint = meant(name, allowed) or (f"; there are: {listed(allowed)}" if allowed else f"; {none}")
    return f"there is no {what} {name!r}{hint}"


def _not_compared(gate: Gate, names: SuiteNames) -> str | None:
    """Why a gate on a baseline would never be decided, or None."""
    if gate.baseline and gate.measure in names.means.get(gate.subject, ()):
        return (
            f"{gate.label}: {gate.metric} is a mean of measures, which is not compared between runs: write a number"
            f" for {gate.baseline}, or a gate on each measure"
        )
    if gate.baseline and gate.for_sure and not gate.of.for_sure:
        return f"{gate.label}: {gate.metric} {NOT_FOR_SURE}; leave out 'for sure'"
    return None


def cannot_fail(gate: Gate, names: SuiteNames | None = None) -> str | None:
    """Why a gate decides nothing, because every value passes it or none can; None when it can do both."""
    names = names or SuiteNames()
    low, high = names.bounds(gate)
    # No two runs are further apart than the bounds.
    always = (abs(gate.threshold) >= high - low or None) if gate.baseline else settled(gate, names)
    if always is not None:
        return f"{gate.label} cannot {'fail' if always else 'pass'}: {gate.metric} is always {_range(gate, names)}"
    exact = gate.operator == "!=" and not UNITS[gate.unit].whole and gate.threshold not in (low, high)
    if exact and not gate.baseline:
        return f"{gate.label} fails by coincidence alone: {gate.metric} may be anything near it; write >= or <="
    return None


def settled(expression: Expression, names: SuiteNames | None = None) -> bool | None:
    """True when every value compares so, False when none does, None when it depends."""
    low, high = (names or SuiteNames()).bounds(expression)
    limit = expression.threshold
    reachable = low <= limit <= high and (not UNITS[expression.unit].whole or limit.is_integer())
    always, never = {
        ">=": (limit <= low, limit > high),
        ">": (limit < low, limit >= high),
        "<=": (limit >= high, limit < low),
        "<": (limit > high, limit <= low),
        "!=": (not reachable, False),
        "==": (False, not reachable),
    }[expression.operator]
    return True if always else False if never else None


def _range(gate: Gate, names: SuiteNames) -> str:
    """The values that a gate's metric can have: between 1 and 5, 0 or more."""
    low, high = names.bounds(gate)
    if UNITS[gate.unit].whole and not gate.threshold.is_integer():
        return "a whole number"
    if math.isfinite(low) and math.isfinite(high):
        return f"between {low:g} and {high:g}"
    return f"{low:g} or more" if math.isfinite(low) else f"{high:g} or less" if math.isfinite(high) else "a number"


def overlap(passes: Expression, fails: Expression, names: SuiteNames | None = None) -> bool:
    """Whether both could hold at once; False when they compare different values, for then cannot tell."""
    if isinstance(passes, Gate) and isinstance(fails, Gate):
        return passes.stands_on == fails.stands_on and _meet(passes, fails, names)
    if isinstance(passes, Gate) or isinstance(fails, Gate):
        return False
    if (passes.condition, passes.code) != (fails.condition, fails.code):
        return False
    # Of disjoint conditions both shares can be reached while they do not add up to more than all repeats.
    shares_fit = passes.at_least * fails.of + fails.at_least * passes.of <= passes.of * fails.of
    return shares_fit or _meet(passes, fails, names)


def _meet(a: Expression, b: Expression, names: SuiteNames | None) -> bool:
    """Whether any value meets both comparisons.

    Each comparison is settled between its threshold and the next end, so one value of every such piece is enough.
    """
    limits = {a.threshold, b.threshold}
    low, high = (names or SuiteNames()).bounds(a)
    if UNITS[a.unit].whole:
        near = {math.floor(limit) + step for limit in limits for step in (-1, 0, 1, 2)}
        values = {float(value) for value in near if value >= 0}
    else:
        ends = sorted({max(low, min(limits) - 1), min(high, max(limits) + 1), *limits})
        values = {*ends, *((left + right) / 2 for left, right in pairwise(ends))}
    return any(COMPARE[a.operator](value, a.threshold) and COMPARE[b.operator](value, b.threshold) for value in values)


def check_judge_threshold(gate: Gate, judge: JudgeModel) -> str | None:
    """What is wrong with a threshold on a judge: what it does not have, or a number that decides nothing."""
    return check_gate(gate, SuiteNames(judge=judge))


def criteria_problems(criteria: Any, names: SuiteNames) -> Iterator[PlacedProblem]:
    """Every mistake in the criteria of a suite, with its place."""
    for name, given in (criteria if isinstance(criteria, dict) else {}).items():
        sound: list[Expression] = []
        for key in ("pass", "fail"):
            text = given.get(key) if isinstance(given, dict) else None
            if not isinstance(text, str):
                continue  # reported by the check of the whole file
            try:
                expression = parse_expression(text)
                problem = _criterion_problem(expression, names)
            except ValueError as error:
                problem = str(error)
            if problem:
                yield f"criteria.{name}.{key}: {problem}", ("criteria", name, key)
            else:
                sound.append(expression)
        if len(sound) == 2 and overlap(sound[0], sound[1], names):
            both = f"{sound[0].text!r} and {sound[1].text!r} could both be true: leave room between pass and fail"
            yield f"criteria.{name}: {both}", ("criteria", name, "fail")


def _criterion_problem(expression: Expression, names: SuiteNames) -> str | None:
    if isinstance(expression, Gate):
        problem = missing_name(expression, names)
        values = f"{expression.metric} is always {_range(expression, names)}"
    else:
        problem = _missing_in_rule(expression, names)
        values = "a score is always between 0 and 1" if expression.condition == "score" else "a count is 0 or more"
    always = settled(expression, names)
    if problem or always is None:
        return problem
    return f"{expression.text!r} {'is always true' if always else 'can never be true'}: {values}"


def _missing_in_rule(rule: RepeatsRule, names: SuiteNames) -> str | None:
    if rule.condition == "passed" and not names.passing:
        return f"{rule.text!r}{_NEEDS_RULE}"
    if rule.condition == "findings" and names.codes is not None and rule.code not in names.codes:
        return f"{rule.text!r}: {_no_such('finding code', rule.code, names.codes)}"
    return None
