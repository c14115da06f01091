"""Every gate held against a run's summary: value, n, interval, verdict and reason."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.analysis.model import Estimate, Slice, Summary
from steelyard.records import Verdict
from steelyard.release.model import GateResult
from steelyard.suite.gates import EVERY, Gate, parse_gate

_TOLERANCE = 1e-9
"""What rounding may leave between 45 / 50 and 0.9."""
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_GROWING = ("count", "cost", "tokens")
"""Units of sums: a sample that is missing can only have added to them."""


def evaluate(gates: Sequence[str], summary: Summary, *, max_inconclusive: float = 0.05) -> list[GateResult]:
    """The results of all gates, in order; a `*` gate gives one for each slice.

    A sum (findings, cost, tokens) that stands on fewer samples than were planned decides only while the missing share
    is within `max_inconclusive`, or when the missing could not change the outcome.
    """
    return [
        _result(gate, found, summary, max_inconclusive)
        for gate in map(parse_gate, gates)
        for found in _slices(gate, summary)
    ]


def _slices(gate: Gate, summary: Summary) -> Sequence[Slice | None]:
    """The slices a gate speaks of; a single None when the run has none of them."""
    if gate.factor is None:
        return [summary.overall]
    known = summary.slices.get(gate.factor, [])
    return [each for each in known if gate.slice in (EVERY, each.name)] or [None]


def _result(gate: Gate, found: Slice | None, summary: Summary, max_inconclusive: float) -> GateResult:
    if found is None:
        name = f"{gate.factor}.{gate.slice}.{gate.metric}"
        value = Estimate(None, 0)
        what = f"any {gate.factor}" if gate.slice == EVERY else f"{gate.factor} {gate.slice!r}"
        verdict, reason = Verdict.AMBIGUOUS, f"no sample of this run has {what}"
    else:
        name = gate.metric if gate.factor is None else f"{gate.factor}.{found.name}.{gate.metric}"
        value = measure(gate, found, summary)
        verdict, reason = _judge(gate, value, max_inconclusive)
    return GateResult(
        gate=gate.text,
        metric=name,
        value=value,
        threshold=gate.threshold,
        operator=gate.operator,
        verdict=verdict,
        reason=reason,
        unit=gate.unit,
    )


def measure(gate: Gate, found: Slice, summary: Summary) -> Estimate:
    """The value of a gate's metric in one slice; n/a when the run does not have it."""
    nothing = Estimate(None, 0, found.n_planned)
    head, _, tail = gate.pattern.partition(".")
    if head in ("average", "median", "pass_rate"):
        estimate: Estimate = getattr(found, head)
        return estimate
    if head in ("scored_rate", "malformed_rate", "inconclusive_rate"):
        return found.outcome_rates.get(head.removesuffix("_rate"), nothing)
    if head == "band":
        return found.bands.get(gate.subject, nothing)
    if head == "score":
        return _share_of_scale(found.components.get(gate.subject, nothing), summary, gate.subject)
    if head == "findings":
        return _findings(gate, found, nothing)
    if head == "latency":
        return found.latency.get(tail, nothing)
    return found.totals.get({"cost.total": "cost"}.get(gate.pattern, gate.pattern.replace(".", "_")), nothing)


def _share_of_scale(average: Estimate, summary: Summary, component: str) -> Estimate:
    low, high = summary.extra.get("scales", {}).get(component, (0.0, 1.0))
    if (low, high) == (0.0, 1.0):
        return average
    value, bottom, top = (
        None if number is None else (number - low) / (high - low)
        for number in (average.value, average.low, average.high)
    )
    return replace(average, value=value, low=bottom, high=top)


def _findings(gate: Gate, found: Slice, nothing: Estimate) -> Estimate:
    scored, malformed = found.outcomes.get("scored", 0), found.outcomes.get("malformed", 0)
    n = scored + malformed
    if gate.pattern == "findings.total":
        return Estimate(float(sum(found.findings.values())), n, found.n_planned - n) if n else nothing
    rate = found.finding_rates.get(gate.subject)
    if rate is None or gate.pattern == "findings.<code>.rate":
        return rate or nothing
    return Estimate(float(found.findings.get(gate.subject, 0)), n, found.n_planned - n) if n else nothing


def _judge(gate: Gate, value: Estimate, max_inconclusive: float) -> tuple[Verdict, str]:
    if value.value is None:
        return Verdict.AMBIGUOUS, "n/a: nothing to stand on" + _missing(value)
    if value.n < gate.min_n:
        return Verdict.AMBIGUOUS, f"n {value.n} is below the {gate.min_n} that this gate asks for" + _missing(value)
    holds = _holds(value.value, gate.operator, gate.threshold)
    verdict = Verdict.PASS if holds else Verdict.FAIL
    if gate.unit in _GROWING and value.n_missing and _could_turn(gate, value.value, holds=holds):
        planned = value.n + value.n_missing
        if value.n_missing / planned > max_inconclusive + _TOLERANCE:
            return Verdict.AMBIGUOUS, f"{value.n_missing} of {planned} samples are missing and could change it"
        return verdict, _words(gate, value.value, holds=holds) + _missing(value)
    return verdict, _words(gate, value.value, holds=holds) + _missing(value) + _within_noise(gate, value, holds=holds)


def _holds(value: float, sign: str, threshold: float) -> bool:
    close = abs(value - threshold) <= _TOLERANCE * max(1.0, abs(threshold))
    return _COMPARE[sign](threshold if close else value, threshold)


def _could_turn(gate: Gate, value: float, *, holds: bool) -> bool:
    """Whether a sum that may only grow could still change sides."""
    if gate.operator in ("<", "<="):
        return holds
    if gate.operator in (">", ">="):
        return not holds
    return value <= gate.threshold


def _words(gate: Gate, value: float, *, holds: bool) -> str:
    limit = shown(gate.threshold, gate.unit)
    for digits in range(1, 9):
        figure = shown(value, gate.unit, digits)
        # A figure that does not hold must not look as if it did: 89.96 % is not 90.0 %.
        if holds or figure != shown(gate.threshold, gate.unit, digits):
            break
    return f"{figure} {gate.operator} {limit}" if holds else f"{figure} is not {gate.operator} {limit}"


def shown(value: float, unit: str, digits: int = 1) -> str:
    """A figure as a reason says it: `90.0 %`, `0.450 s`, `12`."""
    if unit in ("share", "score"):
        return f"{100 * value:.{digits}f} %"
    if unit == "s":
        return f"{value:.{digits + 2}f} s"
    return f"{value:.{digits + 3}g}" if unit == "cost" else f"{value:g}"


def _missing(value: Estimate) -> str:
    return f"; {value.n_missing} missing" if value.n_missing else ""


def _within_noise(gate: Gate, value: Estimate, *, holds: bool) -> str:
    """A note when the interval reaches over the threshold: another run might end on the other side."""
    if value.low is None or value.high is None or gate.operator in ("==", "!="):
        return ""
    sides = {_holds(end, gate.operator, gate.threshold) for end in (value.low, value.high)}
    return "; the 95 % interval reaches across the threshold" if sides != {holds} else ""
