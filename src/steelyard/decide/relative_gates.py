"""Gates on a baseline: a run compared with the run behind it, sample by sample.

A gate fails when its metric is beyond what is allowed by more than noise: the interval of the paired difference lies
beyond it, and so does the paired test. Several slices of one gate are several chances to err, and are adjusted for one
another (Holm). Several gates are not: with one irrelevant gate more, a real loss might pass. How often one of them
fails by chance is a disclosure instead (`decide/disclosures.py`). `for sure` turns the burden of proof round: the gate
passes only when the metric is shown to be within, by an interval that holds however rare and large losses are
(`bounded_mean`). Latency and cost are tested with the run as the unit: above the limit with one run each, AMBIGUOUS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

from steelyard.decide.gates import GateResult, all_small, gate_result, named, small_slices
from steelyard.frozen import frozen
from steelyard.metrics.expression_checks import NOT_FOR_SURE
from steelyard.metrics.expressions import EVERY, Gate
from steelyard.metrics.missing import matters
from steelyard.pairing.against import Against
from steelyard.pairing.changes import BoundedChange, at_step, verdict_of
from steelyard.pairing.checks import EXPECTATIONS, STABILITY
from steelyard.pairing.confounders import dropped_cases, on_cases
from steelyard.pairing.figures import UNTOUCHED
from steelyard.pairing.model import MetricChange, Moved
from steelyard.records import Verdict
from steelyard.stats.bounded_mean import BoundedMean
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import FEWEST_TO_SHOW, NO_CHANGE, SIGNIFICANT, holm_steps, least_p, p_at
from steelyard.wording import DIFFERENCE, SHARES, counted, distinguished, in_unit, p_text
from steelyard.wording import difference as signed


@frozen
class _Placed:
    """A figure's change in one slice, as far from the limit as it is."""

    metric: str
    change: MetricChange
    gate: Gate
    name: str = ""
    """The slice; "" is the whole run."""

    @property
    def room(self) -> float:
        """How far the difference is from the limit; below 0 beyond it."""
        away = (self.change.difference.value or 0.0) - self.gate.threshold
        return away if self.gate.operator == ">=" else -away

    @property
    def sure(self) -> BoundedMean | None:
        """The difference with what is for sure of it, turned so that the limit is below; None when nothing is."""
        result = self.change.sure if isinstance(self.change, BoundedChange) else None
        return result if result is None or self.gate.operator == ">=" else result.turned()

    @property
    def limit(self) -> float:
        """The limit on the side that `sure` is turned to."""
        return self.gate.threshold if self.gate.operator == ">=" else -self.gate.threshold

    @property
    def decisive(self) -> Estimate:
        """The difference with the interval that decides."""
        by = self.change.difference
        if not self.gate.for_sure or self.sure is None or self.room < -NO_CHANGE:
            return by
        low, high = self.sure.interval((1 - self.change.confidence_level) / 2)
        low, high = (low, high) if self.gate.operator == ">=" else (-high, -low)
        return replace(by, low=low, high=high)


def relative_results(gate: Gate, against: Against) -> list[GateResult]:
    """The results of one gate: one for each slice that it speaks of. What turns on edits of the truth is AMBIGUOUS."""
    outcome = [_with_dropped(gate, item, against) for item in _results(gate, against)]
    if against.by_truth_of_a is None:
        return outcome
    others = {result.metric: result for result in _results(gate, against.by_truth_of_a)}
    return [_by_either_truth(gate, item, others.get(item.metric, item)) for item in outcome]


def _with_dropped(gate: Gate, result: GateResult, against: Against) -> GateResult:
    """The result; one that passes is AMBIGUOUS if it would not, had the cases of the baseline that this run has not
    failed."""
    if result.verdict is not Verdict.PASS or against.if_dropped_fail is None:
        return result
    worst = against.if_dropped_fail
    others = {item.metric: item for item in _results(gate, worst)} if worst.changes(gate) else {}
    other = others.get(result.metric, result)
    if worst.dropped is None:
        return result
    if gate.of.group == EXPECTATIONS and worst.dropped.n_passed >= FEWEST_TO_SHOW:
        # Of cells nothing is computed without a counterpart; so many that fall are beyond noise.
        other = replace(other, verdict=Verdict.AMBIGUOUS, reason="they could be a loss beyond noise")
    if other.verdict is Verdict.PASS:
        return result
    cases = dropped_cases(worst.dropped, against.a, gate.baseline, "this run")
    if against.allow_mismatch:
        return replace(result, reason=f"{result.reason}; overridden: {cases}")
    message = f"{result.reason}; but {cases}; if they failed here: {other.reason}"
    return replace(result, verdict=Verdict.AMBIGUOUS, reason=message)


def _by_either_truth(gate: Gate, by_now: GateResult, by_then: GateResult) -> GateResult:
    if by_now.verdict is by_then.verdict:
        return replace(by_now, reason=f"{by_now.reason}; the truth of {gate.baseline} gives the same outcome")
    message = f"it depends on the truth edits: {by_now.reason}; by the truth of {gate.baseline}: {by_then.reason}"
    return replace(by_now, verdict=Verdict.AMBIGUOUS, reason=message)


def _results(gate: Gate, against: Against) -> list[GateResult]:
    changes = against.changes(gate)
    if not changes:
        message = f"this run and {gate.baseline} do not both have {gate.metric}: nothing can be compared"
        return [undecided(gate, message, baseline=against.a.header.id)]
    if gate.factor is None:
        return _judged(gate, {"": changes[""]}, against)
    asked = _asked(gate, changes, against)
    before, after = against.slices(gate.factor)
    small = small_slices(gate, {name: max(before.get(name, 0), after.get(name, 0)) for name in asked})
    if small and len(small) == len(asked):
        return [undecided(gate, all_small(gate, named(small)), baseline=against.a.header.id)]
    asked = {name: change for name, change in asked.items() if name not in small}
    results = {name: change for name, change in asked.items() if change is not None}
    missing = [
        undecided(gate, _why_missing(gate, name, against), f"{gate.factor}.{name}.{gate.metric}", against.a.header.id)
        for name, change in asked.items()
        if change is None
    ]
    return [replace(item, skipped=named(small)) for item in _judged(gate, results, against) + missing]


def undecided(gate: Gate, reason: str, metric: str = "", baseline: str = "") -> GateResult:
    """A gate that cannot be decided, and why."""
    sliced = gate.metric if gate.factor is None else f"{gate.factor}.{gate.slice}.{gate.metric}"
    missing, unit = Estimate(None, 0), DIFFERENCE + gate.unit
    return gate_result(gate, metric or sliced, missing, Verdict.AMBIGUOUS, reason, unit, baseline=baseline)


def _asked(gate: Gate, changes: dict[str, MetricChange], against: Against) -> dict[str, MetricChange | None]:
    """The slices a gate speaks of, those of either run included that have no pair."""
    if gate.slice != EVERY:
        name = gate.slice or ""
        return {name: changes.get(name)}
    before, after = against.slices(gate.factor or "")
    return {name: changes.get(name) for name in dict.fromkeys([*changes, *after, *before])}


def _why_missing(gate: Gate, name: str, against: Against) -> str:
    before, after = against.slices(gate.factor or "")
    what = f"{gate.factor} {name!r}"
    if name in after and name not in before:
        return f"{gate.baseline} has no {what}: there is nothing to compare it with"
    if name in before and name not in after:
        return f"this run has no {what}, and {gate.baseline} has"
    if name in before:
        return f"no sample of {what} can be compared with one of {gate.baseline}"
    return f"neither this run nor {gate.baseline} has {what}"


def _judged(gate: Gate, changes: dict[str, MetricChange], against: Against) -> list[GateResult]:
    metrics = {name: f"{gate.factor}.{name}.{gate.metric}" if gate.factor else gate.metric for name in changes}
    placed = [_Placed(metrics[name], item, _with_margin(gate, item), name) for name, item in changes.items()]
    beyond = holm_steps([_beyond(item, gate) for item in placed])
    within = holm_steps([_within(item) for item in placed] if gate.for_sure else [None] * len(placed))
    # The interval that is shown is that of the test which decides.
    steps = within if gate.for_sure else beyond
    shown = [at_step(item.change, level) for item, (_, level) in zip(placed, steps, strict=True)]
    return [
        _single(item.gate, replace(item, change=change), against, beyond=p, within=p_within, several=len(placed))
        for item, change, (p, _), (p_within, _) in zip(placed, shown, beyond, within, strict=True)
    ]


def _with_margin(gate: Gate, change: MetricChange) -> Gate:
    """A gate that allows nothing still allows what does not matter, where the suite says so (latency and cost)."""
    if gate.threshold or not change.matters:
        return gate
    return replace(gate, threshold=change.matters if gate.operator == "<=" else -change.matters)


def _beyond(placed: _Placed, gate: Gate) -> float | None:
    """How likely chance alone puts a figure so far beyond the limit; None when it cannot be told."""
    if placed.change.p is None:
        return None
    if placed.room >= -NO_CHANGE:
        return 1.0
    if not placed.gate.threshold:
        return placed.change.p
    # What is beyond the limit is beyond no change at all, so the test of that is a floor.
    return max(_p_at_limit(placed, upwards=gate.operator == ">="), placed.change.p)


def _within(placed: _Placed) -> float | None:
    """How likely chance alone puts a figure so far within the limit, two-sided; None when it cannot be told."""
    if placed.change.p is None or placed.sure is None:
        return None
    return 1.0 if placed.room <= NO_CHANGE else min(1.0, 2 * placed.sure.p_at_most(placed.limit))


def _p_at_limit(placed: _Placed, *, upwards: bool) -> float:
    """The two-sided p-value of the limit, from the interval's end that looks at it."""
    difference = placed.change.difference
    fewest = 0.0 if placed.change.df else least_p(difference.n)
    if difference.value is None or difference.low is None or difference.high is None or difference.n < 2:
        return fewest or placed.change.p or 0.0
    half = difference.high - difference.value if upwards else difference.value - difference.low
    return max(p_at(abs(placed.room), half, placed.change.df or difference.n - 1), fewest)


def _single(
    gate: Gate, placed: _Placed, against: Against, *, beyond: float | None, within: float | None, several: int
) -> GateResult:
    change, baseline = placed.change, against.a.header.id
    difference = placed.decisive
    message = _message(gate, change, difference)
    confounded = against.confounded_by(change, gate.factor or "", placed.name)
    n, answered = against.paired_of(change, gate.factor or "", placed.name)
    if n < answered and (against.allow_mismatch or not confounded):
        message += f", on {on_cases(n, answered)}"
    if change.difference.value is None and min(change.a.n, change.b.n):
        message = f"{change.b.n:,} pairs of calls are too few for {gate.metric}"
        verdict = Verdict.AMBIGUOUS
    elif change.difference.value is None:
        message = f"no sample of this run can be compared with one of {gate.baseline}"
        message += "; it takes two repeats in both" if change.group == STABILITY else ""
        verdict = Verdict.AMBIGUOUS
    elif confounded and not against.allow_mismatch:
        message = f"{message}; cannot tell, A being {gate.baseline} and B this run: {confounded[0]}"
        verdict = Verdict.AMBIGUOUS
    elif (n_cases := min(change.b.n, change.difference.n)) < gate.min_n:
        message = f"{message}; n {n_cases} is below the {gate.min_n} that this gate asks for"
        verdict = Verdict.AMBIGUOUS
    else:
        verdict, why = _verdict(gate, placed, beyond, within, several)
        message = f"{message}: {why}"
        missing = against.missing_of(gate.factor or "", placed.name)
        if _could_turn(gate, change, missing, verdict) and matters(missing, change.b.n, against.b.suite):
            verdict = Verdict.AMBIGUOUS
            message += f"; {missing:,} samples of either run are missing and could change it"
        if doubt := against.doubt(change):
            message += f"; {doubt}"
            # What may be the judge's alone is for sure of nobody.
            verdict = Verdict.AMBIGUOUS if gate.for_sure and verdict is Verdict.PASS else verdict
    if verdict is Verdict.PASS and against.reused and change.group not in UNTOUCHED:
        verdict, message = Verdict.AMBIGUOUS, f"{message}; {against.reused[0]}, which are no new evidence"
    bounded = change.b if (verdict is Verdict.PASS) is (gate.operator == "<=") else change.a
    if verdict is not Verdict.AMBIGUOUS and bounded.at_least:
        verdict, message = Verdict.AMBIGUOUS, f"{message}; calls that timed out could change it"
    spite = f"; overridden: {confounded[0]}" if against.allow_mismatch and confounded else ""
    unit = DIFFERENCE + gate.unit
    return gate_result(gate, placed.metric, difference, verdict, message + spite, unit, baseline=baseline, p=beyond)


def _verdict(
    gate: Gate, placed: _Placed, beyond: float | None, within: float | None, several: int
) -> tuple[Verdict, str]:
    side = "below" if gate.operator == ">=" else "above"
    limit = f"more than {_allowed(gate)} {side}" if gate.threshold else side
    among = f", as one of {several} slices" if several > 1 else ""
    too_few = _too_few(placed.change, several)
    cases = _cases(placed.change)
    few = f"{cases} are too few to tell{among}" if too_few else f"{cases} do not show how much of it is noise"
    if placed.change.verdict is Moved.NOT_TESTED:
        few = placed.change.test
    elif gate.for_sure and placed.sure is None:
        few = f"it {NOT_FOR_SURE}"
    if placed.room < -NO_CHANGE:
        if beyond is not None and beyond < SIGNIFICANT:
            return Verdict.FAIL, f"{limit}, beyond noise ({p_text(beyond)}{among})"
        if beyond is None or too_few:
            return Verdict.AMBIGUOUS, f"{limit}, and {few}"
        message = f"{limit}, but within noise ({p_text(beyond)}{among})"
        return (Verdict.AMBIGUOUS if gate.for_sure else Verdict.PASS), message
    if not gate.for_sure:
        return _as_compared(placed.change, f"not {limit}", few if beyond is None or too_few else "")
    if within is not None and within < SIGNIFICANT:
        return Verdict.PASS, f"not {limit}, for sure ({p_text(within)}{among})"
    if within is None or too_few:
        return Verdict.AMBIGUOUS, f"not {limit}, but not for sure: {few}"
    if placed.sure is not None and placed.change.difference.n < (fewest := placed.sure.fewest(placed.limit, several)):
        many = f"{placed.change.counts}s"
        takes = f"it takes {fewest:,.0f} {many}{among}" if fewest < math.inf else f"it takes {many} that are better"
        return Verdict.AMBIGUOUS, f"not {limit}, but not for sure: {cases} cannot show it; {takes}"
    return Verdict.AMBIGUOUS, f"not {limit}, but not for sure ({p_text(within)}{among})"


def _could_turn(gate: Gate, change: MetricChange, missing: int, verdict: Verdict) -> bool:
    """Whether pairs with a missing sample could change a verdict: each could differ by the whole scale."""
    if change.group == "failures" or verdict is Verdict.AMBIGUOUS:
        return False  # missing samples are what those metrics count
    pairs, ends = change.b.n, change.scale or ((0.0, 1.0) if gate.unit in SHARES else (0.0, math.inf))
    centre = (change.difference.value or 0.0) * pairs / (pairs + missing)
    room = (ends[1] - ends[0]) * missing / (pairs + missing) if missing else 0.0
    worst = centre - room if (verdict is Verdict.PASS) is (gate.operator == ">=") else centre + room
    limit = gate.threshold + (-NO_CHANGE if gate.operator == ">=" else NO_CHANGE)
    holds = worst >= limit if gate.operator == ">=" else worst <= limit
    return holds is (verdict is Verdict.FAIL)


def _as_compared(change: MetricChange, message: str, few: str) -> tuple[Verdict, str]:
    """What is not beyond the limit passes, unless `compare` cannot tell for want of cases: `few` says so."""
    if verdict_of(change, change.p) is not Moved.CANNOT_TELL:
        return Verdict.PASS, message
    if few:
        return Verdict.AMBIGUOUS, f"{message}, but {few}"
    return Verdict.PASS, f"{message}; whether it is better or worse is within noise"


def _too_few(change: MetricChange, several: int) -> bool:
    """Whether so few cases could not have failed the gate, had all of them gone wrong: then passing says nothing."""
    return change.df is None and least_p(change.difference.n) * several >= SIGNIFICANT


def _message(gate: Gate, change: MetricChange, by: Estimate) -> str:
    """`86.1 % -> 82.3 % (-3.8 points [-7.2, -0.4], 50 cases)`."""
    before, after = change.a.value, change.b.value
    if before is None or after is None or by.value is None:
        return "n/a"
    ends = [signed(end, gate.unit, bare=True) for end in (by.low, by.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
    moved = f"{distinguished(by.value, DIFFERENCE + gate.unit, gate.threshold)}{interval}"
    return f"{in_unit(before, gate.unit)} -> {in_unit(after, gate.unit)} ({moved}, {_cases(change)})"


def _allowed(gate: Gate) -> str:
    if gate.unit not in ("share", "score"):
        return in_unit(abs(gate.threshold), gate.unit)
    message = f"{abs(gate.threshold) * 100:.6g} points"
    return message.removesuffix("s") if message == "1 points" else message


def _cases(change: MetricChange) -> str:
    if change.runs is not None:
        return f"{change.runs[0]:,} and {change.runs[1]:,} runs"
    n = change.difference.n
    return counted(n, change.counts)


def results_data(results: Sequence[GateResult]) -> tuple[dict[str, object], ...]:
    """The results as plain data, to be kept with a run."""
    return tuple(asdict(result) | {"verdict": result.verdict.value} for result in results)


def results_from(data: Sequence[dict[str, object]]) -> tuple[GateResult, ...]:
    """The results back from plain data."""
    return tuple(
        GateResult(**(item | {"value": Estimate(**item["value"]), "verdict": Verdict(item["verdict"])}))  # type: ignore[arg-type]
        for item in data
    )
