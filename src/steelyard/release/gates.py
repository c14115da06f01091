"""Every gate held against a run's summary: value, n, interval, verdict and reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.model import Estimate, Slice, Summary
from steelyard.analysis.number_text import in_unit, told_apart
from steelyard.records import Verdict
from steelyard.release.model import GateResult
from steelyard.suite.gates import COMPARE, EVERY, READABLE, Gate, parse_gate

_TOLERANCE = 1e-9
"""What rounding may leave between 45 / 50 and 0.9."""
OVER_REPEATS = ("cases", "checks", "check", "pass_all", "flaky_rate", "stability")
"""First parts of the names of figures over the repeats of each case."""
_GROWING = ("count", "cost", "tokens")
"""Units of sums: a sample that is missing can only have added to them."""


def evaluate(gates: Sequence[str], summary: Summary, *, max_inconclusive: float = 0.05) -> list[GateResult]:
    """The results of all gates on plain numbers, in order; a `*` gate gives one for each slice.

    A sum (findings, cost, tokens) that stands on fewer samples than were planned decides only while the missing share
    is within `max_inconclusive`, or when the missing could not change the outcome.
    """
    whole = Scope(summary, summary.overall, max_inconclusive)
    return [result for gate in map(parse_gate, gates) if not gate.baseline for result in results(gate, whole)]


@dataclass(frozen=True, slots=True)
class Scope:
    """The samples that gates are held against: the whole run, or one variant of it."""

    summary: Summary
    part: Slice
    max_inconclusive: float

    @property
    def is_variant(self) -> bool:
        """Whether these are the samples of one variant."""
        return self.part.factor == "variant"

    def slices(self, gate: Gate) -> list[Slice]:
        """The slices a gate speaks of, as far as this scope has them."""
        if gate.factor is None:
            return [self.part]
        known = [self.part] if self.is_variant else self.summary.slices.get(gate.factor, [])
        return [each for each in known if each.factor == gate.factor and gate.slice in (EVERY, each.name)]


def results(gate: Gate, scope: Scope) -> list[GateResult]:
    """The results of one gate: one for each slice it speaks of, or a single undecided one when there is none."""
    found = scope.slices(gate)
    small = small_slices(gate, {each.name: _reachable(gate, each, scope.summary) for each in found})
    rest: Sequence[Slice | None] = [each for each in found if each.name not in small] or [None]
    return [_result(gate, each, scope.summary, scope.max_inconclusive, named(small)) for each in rest]


def small_slices(gate: Gate, sizes: Mapping[str, int]) -> dict[str, int]:
    """Those slices, of these sizes, that a gate which skips small ones leaves out."""
    return {name: n for name, n in sizes.items() if n < gate.min_n} if gate.skip_small else {}


def named(small: Mapping[str, int]) -> str:
    """Slices with their n: `vases (n 2), rugs (n 1)`."""
    return ", ".join(f"{name} (n {n})" for name, n in small.items())


def all_small(gate: Gate, skipped: str) -> str:
    """Why a gate that left out every slice decides nothing."""
    return f"every {gate.factor} is below the n {gate.min_n} that this gate asks for, and nothing is left: {skipped}"


def _reachable(gate: Gate, found: Slice, summary: Summary) -> int:
    """The n of a slice had every answer come and been read: one that is small for want of answers is not left out."""
    unread = found.n_planned - found.outcomes.get("scored", 0)
    return min(found.n_planned, measure(gate, found, summary).n + unread)


def _result(gate: Gate, found: Slice | None, summary: Summary, max_inconclusive: float, skipped: str) -> GateResult:
    if found is None:
        name = f"{gate.factor}.{gate.slice}.{gate.metric}"
        value = Estimate(None, 0)
        what = f"any {gate.factor}" if gate.slice == EVERY else f"{gate.factor} {gate.slice!r}"
        reason = all_small(gate, skipped) if skipped else f"no sample of this run has {what}"
        verdict, skipped = Verdict.AMBIGUOUS, ""
    else:
        name = gate.metric if gate.factor is None else f"{gate.factor}.{found.name}.{gate.metric}"
        value = measure(gate, found, summary)
        verdict, reason = _judge(gate, value, summary, max_inconclusive)
    return GateResult(
        gate=gate.text,
        metric=name,
        value=value,
        threshold=gate.threshold,
        operator=gate.operator,
        verdict=verdict,
        reason=reason,
        unit=gate.unit,
        skipped=skipped,
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
    if gate.measure:
        ratios = found.measures.get(gate.subject, {})
        # In a run without malformed answers both are one.
        name = gate.measure + READABLE if gate.readable and found.outcomes.get("malformed") else gate.measure
        ratio = ratios.get(name)
        return nothing if ratio is None else ratio.estimate
    if gate.unit == "points":
        return found.components.get(gate.subject, nothing)
    if head == "score":
        return _share_of_scale(found.components.get(gate.subject, nothing), summary, gate.subject)
    if head == "findings":
        return _findings(gate, found, nothing)
    if head in OVER_REPEATS:
        return found.over_repeats.get(gate.metric, nothing)
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
    n = scored + malformed - found.set_aside
    if gate.pattern == "findings.total":
        return Estimate(float(sum(found.findings.values())), n, found.n_planned - n) if n else nothing
    rate = found.finding_rates.get(gate.subject)
    if rate is None or gate.pattern == "findings.<code>.rate":
        return rate or nothing
    counts = found.finding_samples if gate.pattern == "findings.<code>.samples" else found.findings
    return Estimate(float(counts.get(gate.subject, 0)), n, found.n_planned - n) if n else nothing


def _judge(gate: Gate, value: Estimate, summary: Summary, max_inconclusive: float) -> tuple[Verdict, str]:
    if value.value is None:
        return Verdict.AMBIGUOUS, "n/a: nothing to stand on" + _more_repeats(gate, summary) + _missing(value)
    if value.n < gate.min_n:
        return Verdict.AMBIGUOUS, f"n {value.n} is below the {gate.min_n} that this gate asks for" + _missing(value)
    holds = _holds(value.value, gate.operator, gate.threshold)
    verdict = Verdict.PASS if holds else Verdict.FAIL
    if gate.pattern.endswith("held") and _could_hold(gate, value, holds=holds):
        return Verdict.AMBIGUOUS, f"{value.n_missing} of {value.n + value.n_missing} cannot be told and could change it"
    if gate.unit in _GROWING and value.n_missing and _could_turn(gate, value.value, holds=holds):
        planned = value.n + value.n_missing
        if value.n_missing / planned > max_inconclusive + _TOLERANCE:
            return Verdict.AMBIGUOUS, f"{value.n_missing} of {planned} samples are missing and could change it"
        return verdict, _words(gate, value.value, holds=holds) + _missing(value)
    return verdict, _words(gate, value.value, holds=holds) + _missing(value) + _within_noise(gate, value, holds=holds)


def _could_hold(gate: Gate, value: Estimate, *, holds: bool) -> bool:
    """Whether those of which nobody can tell could change sides of a share of all, in which they do not hold."""
    planned = value.n + value.n_missing
    best = (value.value or 0.0) + value.n_missing / planned
    if gate.operator in ("==", "!="):
        return (
            value.n_missing > 0
            and _holds(gate.threshold, ">=", value.value or 0.0)
            and _holds(best, ">=", gate.threshold)
        )
    return _holds(best, gate.operator, gate.threshold) is not holds


def needed_repeats(gate: Gate) -> int:
    """How many repeats of a case a figure stands on at least."""
    if gate.pattern == "pass_all.<k>" and gate.subject.isdecimal():
        return int(gate.subject)
    return 2 if gate.pattern.startswith("stability.") or gate.pattern == "flaky_rate" else 1


def _more_repeats(gate: Gate, summary: Summary) -> str:
    """What to do when a figure over repeats asks for more of them than the run has."""
    asked = needed_repeats(gate)
    return (
        f"; it asks for {asked} repeats and this run has {summary.repeats}: run with -n {asked}"
        if summary.repeats < asked
        else ""
    )


def _holds(value: float, sign: str, threshold: float) -> bool:
    return COMPARE[sign](threshold if _close(value, threshold) else value, threshold)


def _close(value: float, threshold: float) -> bool:
    return abs(value - threshold) <= _TOLERANCE * max(1.0, abs(threshold))


def _could_turn(gate: Gate, value: float, *, holds: bool) -> bool:
    """Whether a sum that may only grow could still change sides."""
    if gate.operator in ("<", "<="):
        return holds
    if gate.operator in (">", ">="):
        return not holds
    return value <= gate.threshold


def _words(gate: Gate, value: float, *, holds: bool) -> str:
    limit = in_unit(gate.threshold, gate.unit)
    figure = in_unit(value, gate.unit) if holds else told_apart(value, gate.unit, gate.threshold)
    if gate.pattern == "findings.<code>.samples":
        figure += f" {'sample' if value == 1 else 'samples'} with {gate.subject}"
    return f"{figure} {gate.operator} {limit}" if holds else f"{figure} is not {gate.operator} {limit}"


def _missing(value: Estimate) -> str:
    return f"; {value.n_missing} missing" if value.n_missing else ""


def _within_noise(gate: Gate, value: Estimate, *, holds: bool) -> str:
    return "; the 95 % interval reaches across the threshold" if within_noise(gate, value, holds=holds) else ""


def within_noise(gate: Gate, value: Estimate, *, holds: bool) -> bool:
    """Whether the interval reaches over the threshold: another run might end on the other side."""
    if value.low is None or value.high is None or gate.operator in ("==", "!="):
        return False
    return {_holds(end, gate.operator, gate.threshold) for end in (value.low, value.high)} != {holds}
