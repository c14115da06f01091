"""Whether a suite has what its gates speak of, and whether they can decide anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.suite.bounds import ANYTHING, Bounds, in_words, settled_within
from steelyard.suite.gates import EVERY, METRICS, MOST_IN_A_ROW, NONE, Gate
from steelyard.suite.spelling import listed, meant

_WHOLE = ("count", "tokens")


@dataclass(frozen=True, slots=True)
class Known:
    """The names that gates may speak of in one suite; None where they could not be read, so nothing can be said."""

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
    scales: Mapping[str, Bounds] = field(default_factory=dict)
    """By component, the lowest and highest value it gives; one that is not here can be any number."""


def check_gate(gate: Gate, known: Known) -> str | None:
    """What is wrong with a gate in its suite (a name that is not there, a threshold that decides nothing), or None."""
    return missing_name(gate, known) or _not_compared(gate, known) or cannot_fail(gate, known)


def missing_name(gate: Gate, known: Known) -> str | None:
    """What a gate speaks of that its suite does not have, or None."""
    if gate.pattern == "pass_rate" and not known.passing:
        return f"gate {gate.text!r} needs a pass rule: write pass: score >= 75 %"
    if (lacking := _lacks(gate, known)) is not None:
        return lacking
    names = {
        "<component>": ("component", None if known.components is None else list(known.components)),
        "<code>": ("finding code", known.codes),
        "<band>": ("band", known.bands),
        "<check>": ("check", known.checks),
        "<field>": ("field of stability", known.stability),
    }
    for part in METRICS[gate.pattern].parts:
        if part not in names:
            continue
        what, there = names[part]
        if there is not None and gate.subject not in there:
            return _unknown(gate, what, there, gate.subject)
    measures = known.components.get(gate.subject) if gate.measure and known.components is not None else None
    if measures is not None and gate.measure not in measures:
        return _unknown(gate, f"measure of {gate.subject}", [*measures, "average", "points"], gate.measure)
    if gate.factor is not None and known.slices is not None:
        slices = known.slices.get(gate.factor, ())
        if not slices:
            return f"gate {gate.text!r}: no case of this suite has a {gate.factor}"
        if gate.slice not in (EVERY, NONE, *slices):
            return _unknown(gate, gate.factor, slices, gate.slice or "")
    return None


def _not_compared(gate: Gate, known: Known) -> str | None:
    """Why a gate on a baseline would never be decided, or None."""
    if not gate.baseline or gate.measure not in known.means.get(gate.subject, ()):
        return None
    return (
        f"gate {gate.text!r}: {gate.metric} is a mean of measures, which is not compared between runs: write a number"
        f" for {gate.baseline}, or a gate on each measure"
    )


def _lacks(gate: Gate, known: Known) -> str | None:
    """What a gate over repeats needs that its suite does not declare, or None."""
    head = gate.pattern.partition(".")[0]
    if head in ("cases", "checks", "check", "pass_all", "flaky_rate") and known.checks is not None and not known.checks:
        return f"gate {gate.text!r} needs checks: write expect: {{how_many: {{count: items[], between: [1, 3]}}}}"
    if head == "stability" and known.stability is not None and not known.stability:
        return f"gate {gate.text!r} needs repeats that are compared: write stability: {{items: items[], key: id}}"
    if head == "pass_all" and gate.subject not in map(str, range(1, MOST_IN_A_ROW + 1)):
        return f"gate {gate.text!r}: {gate.subject!r} is no number of repeats from 1 to {MOST_IN_A_ROW}: pass_all.3"
    return None


def _unknown(gate: Gate, what: str, names: Sequence[str], name: str) -> str:
    hint = meant(name, names) or (f"; there are: {listed(names)}" if names else "; this suite declares none")
    return f"gate {gate.text!r}: there is no {what} {name!r}{hint}"


def cannot_fail(gate: Gate, known: Known | None = None) -> str | None:
    """Why a gate decides nothing, because every value passes it or none can; None when it can do both."""
    scale = None if known is None else known.scales.get(gate.subject)
    if gate.baseline:
        return _never_so_far(gate, scale)
    always = settled(gate.operator, gate.threshold, gate.unit, scale)
    if always is None:
        return None
    return f"gate {gate.text!r} cannot {'fail' if always else 'pass'}: {gate.metric} is always {span(gate, scale)}"


def _never_so_far(gate: Gate, scale: Bounds | None) -> str | None:
    """Why a gate on a baseline cannot fail: no two runs are so far apart."""
    low, high = bounds_of(gate.unit, scale)
    if abs(gate.threshold) < high - low:
        return None
    return f"gate {gate.text!r} cannot fail: {gate.metric} is always {in_words((low, high))}"


def settled(sign: str, limit: float, unit: str, scale: Bounds | None = None) -> bool | None:
    """True when every value of that unit compares so, False when none does, None when it depends.

    `scale` is that of a figure in points; without it nothing can be said of one.
    """
    return settled_within(sign, limit, bounds_of(unit, scale), whole=unit in _WHOLE)


def span(gate: Gate, scale: Bounds | None = None) -> str:
    """The values that a gate's metric can have, in words."""
    if gate.unit in _WHOLE and not gate.threshold.is_integer():
        return "a whole number"
    return in_words(bounds_of(gate.unit, scale))


def bounds_of(unit: str, scale: Bounds | None = None) -> Bounds:
    """The lowest and the highest value of that unit; points lie on the scale."""
    if unit == "points":
        return scale or ANYTHING
    return (0.0, 1.0) if unit in ("share", "score") else (0.0, math.inf)
