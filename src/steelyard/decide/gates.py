"""Gates and criteria evaluated on a run: value, n, interval, verdict and reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.metrics.expression_checks import SuiteNames, check_gate
from steelyard.metrics.expressions import (
    COMPARE,
    EVERY,
    Expression,
    Gate,
    RepeatsRule,
    parse_expression,
    parse_gate,
)
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import CORRECTED, Level
from steelyard.records import Verdict
from steelyard.stats.intervals import Estimate, Possible
from steelyard.suite.models import Criterion, SuiteModel
from steelyard.wording import counted, distinguished, in_unit


@frozen
class GateResult:
    """One gate on one metric (a `*` gate gives one result a slice), or one criterion.

    Of a criterion, metric, value, operator and threshold are those of its `pass` expression; of one over repeats the
    value is the share of cases and variants in which it holds, and `value.n` is how many of them could be decided.
    """

    gate: str
    """As written in the suite; of a criterion, when it passes."""
    metric: str
    """The metric it was evaluated on, with `*` filled in."""
    value: Estimate
    threshold: float
    operator: str
    verdict: Verdict
    reason: str
    name: str = ""
    """What a criterion is called; "" for a plain gate."""
    secondary: bool = False
    """Shown, but the verdict does not depend on it."""
    about: str = ""
    unit: str = ""
    """"share", "score", "points", "count", "s", "cost", "tokens": how to print value and threshold; with ± before it
    for differences."""
    fails: str = ""
    """When a criterion fails, as written; "" when whatever does not pass fails."""
    left_out: bool = False
    """True when the run has no data for it by its nature, such as a truth: it is shown, and secondary."""
    baseline: str = ""
    """Of a gate on a baseline, the baseline's run: value is the paired difference from it, `value.n` counts cases, and
    the threshold is what it may be."""
    skipped: str = ""
    """Of a gate that skips small slices: those that it skipped, each with its n."""
    across: bool = field(default=False, metadata={"hidden": True})
    """Of a threshold on a judge: its interval contains the threshold, so another draw could turn the verdict."""
    broken: bool = field(default=False, metadata={"hidden": True})
    """Of a threshold on a judge: a run with this judge is suspect. A share of the run's own votes is counted, so its
    value decides; any other figure is estimated, so its whole interval does."""
    p: float | None = None
    """Of a gate on a baseline: the p-value of a loss beyond its limit, adjusted for its slices; None if not tested."""

    @property
    def narrow(self) -> bool:
        """Whether its 95 % interval contains the threshold: another run might end on the other side."""
        if self.verdict is Verdict.AMBIGUOUS or self.baseline:
            return False
        return len(_at_ends(self.operator, self.threshold, self.value)) > 1

    @property
    def word(self) -> str:
        """Its verdict as tables have it."""
        return "left out" if self.left_out else self.verdict.value


@frozen
class VariantDecision:
    """What the criteria come to on the samples of one variant."""

    variant: str
    verdict: Verdict
    criteria: tuple[GateResult, ...]


@frozen
class Decision:
    """The run's verdict with every reason for it; `verdict` is None when the suite declares no gates."""

    verdict: Verdict | None
    reasons: tuple[str, ...] = ()
    gates: tuple[GateResult, ...] = field(default=())
    """Gates and criteria."""
    by_variant: tuple[VariantDecision, ...] = field(default=())
    """The verdict of the criteria for each variant alone; empty without criteria or with a single variant."""


_TOLERANCE = 1e-9
"""What rounding may leave between 45 / 50 and 0.9."""
NARROW = "; the 95 % interval contains the threshold"
"""What the reason of a narrow gate ends with."""


def evaluate(gates: Sequence[str], summary: Summary) -> list[GateResult]:
    """The results of all gates on plain numbers, in order; a `*` gate gives one for each slice.

    A gate is AMBIGUOUS when what is missing or undecided could change its result (`Estimate.possible`).
    """
    return evaluate_gates([gate for gate in map(parse_gate, gates) if not gate.baseline], summary)


def evaluate_gates(gates: Sequence[Gate], summary: Summary) -> list[GateResult]:
    """The same of gates that have been read, such as the thresholds on a judge."""
    whole = Scope(summary, summary.overall)
    return [result for gate in gates for result in results(gate, whole)]


def names_of_run(suite: SuiteModel, summary: Summary) -> SuiteNames:
    """The names that gates may use in a stored run."""
    return SuiteNames.of_run(suite, {factor: [part.name for part in parts] for factor, parts in summary.slices.items()})


def check_on_run(gates: Sequence[str], suite: SuiteModel, summary: Summary) -> None:
    """UsageError with all that is wrong: a metric or a name that the run does not have, a gate that cannot fail."""
    names, problems = names_of_run(suite, summary), []
    for text in gates:
        try:
            problem = check_gate(parse_gate(text), names)
        except ValueError as error:
            problem = str(error)
        if problem:
            problems.append(problem)
    if problems:
        raise UsageError("\n".join(problems))


@frozen
class Scope:
    """The samples that gates are compared with: the whole run, or one variant of it."""

    summary: Summary
    part: Slice

    @property
    def is_variant(self) -> bool:
        """Whether these are the samples of one variant."""
        return self.part.factor == "variant"

    def slices(self, gate: Gate) -> list[Slice]:
        """The slices a gate speaks of, as far as this scope has them."""
        if gate.factor is None:
            return [] if self.is_variant and not gate.of.sliced else [self.part]
        available = [self.part] if self.is_variant else self.summary.slices.get(gate.factor, [])
        return [item for item in available if item.factor == gate.factor and gate.slice in (EVERY, item.name)]


def results(gate: Gate, scope: Scope) -> list[GateResult]:
    """The results of one gate: one for each slice it speaks of, or a single undecided one when there is none."""
    result = scope.slices(gate)
    small = small_slices(gate, {item.name: _reachable(gate, item) for item in result})
    rest: Sequence[Slice | None] = [item for item in result if item.name not in small] or [None]
    return [_result(gate, item, scope.summary, named(small)) for item in rest]


def small_slices(gate: Gate, sizes: Mapping[str, int]) -> dict[str, int]:
    """Those slices, of these sizes, that a gate which skips small ones leaves out."""
    return {name: n for name, n in sizes.items() if n < gate.min_n} if gate.skip_small else {}


def named(small: Mapping[str, int]) -> str:
    """Slices with their n: `vases (n 2), rugs (n 1)`."""
    return ", ".join(f"{name} (n {n})" for name, n in small.items())


def all_small(gate: Gate, skipped: str) -> str:
    """Why a gate that left out every slice decides nothing."""
    return f"every {gate.factor} is below the n {gate.min_n} that this gate asks for, so none is left: {skipped}"


def _reachable(gate: Gate, result: Slice) -> int:
    """The cases of a slice had every answer come and been read: for want of answers, none is left out as small."""
    unread = result.n_planned - result.outcomes.get("scored", 0)
    return min(result.n_planned, result.n_cases, measure(gate, result).cases + unread)


def _result(gate: Gate, result: Slice | None, summary: Summary, skipped: str) -> GateResult:
    more: dict[str, Any] = {}
    if result is None:
        name = f"{gate.factor}.{gate.slice}.{gate.metric}"
        value = Estimate(None, 0)
        what = f"any {gate.factor}" if gate.slice == EVERY else f"{gate.factor} {gate.slice!r}"
        reason = all_small(gate, skipped) if skipped else f"no sample of this run has {what}"
        verdict, skipped = Verdict.AMBIGUOUS, ""
    else:
        name = gate.metric if gate.factor is None else f"{gate.factor}.{result.name}.{gate.metric}"
        value = measure(gate, result)
        n_cases = value.cases
        few = gate.of.group == "latency" and gate.of.point is not None and value.value is None and value.n > 0
        if few and n_cases >= gate.min_n:
            verdict, reason = _few_calls(gate, result)
        elif value.value is not None and n_cases < gate.min_n:
            n = f"n {value.n}" if n_cases == value.n else f"{n_cases} cases or clusters (n {value.n})"
            verdict, reason = (
                Verdict.AMBIGUOUS,
                f"{n} is below the {gate.min_n} that this gate asks for" + _missing(value),
            )
        elif gate.for_sure:
            verdict, reason, more = _for_sure(gate, value, summary)
        else:
            verdict, reason = _judge(gate, value, summary)
    return gate_result(gate, name, value, verdict, reason, skipped=skipped, **more)


def gate_result(
    gate: Gate, metric: str, value: Estimate, verdict: Verdict, reason: str, unit: str = "", **more: Any
) -> GateResult:
    """What a gate came to; in the unit of its metric unless another is given."""
    return GateResult(
        gate=gate.text,
        metric=metric,
        value=value,
        threshold=gate.threshold,
        operator=gate.operator,
        verdict=verdict,
        reason=reason,
        unit=unit or gate.unit,
        **more,
    )


def measure(gate: Gate, result: Slice) -> Estimate:
    """The value of a gate's metric in one slice; n/a when the run does not have it."""
    return result.of(gate.of.name, *gate.names)


def _judge(gate: Gate, value: Estimate, summary: Summary) -> tuple[Verdict, str]:
    if value.value is None and value.possible is not None and gate.min_n <= 1:
        return _by_range(gate, value, value.possible)
    if value.value is None:
        if gate.pattern == CORRECTED:
            from steelyard.analysis.judge.corrected import why_unknown

            return Verdict.AMBIGUOUS, f"n/a: {why_unknown(summary)}"
        return Verdict.AMBIGUOUS, "n/a: no data" + _more_repeats(gate, summary) + _missing(value)
    if value.possible is not None and is_open(gate, value.possible):
        return Verdict.AMBIGUOUS, open_reason(gate, value, value.possible)
    holds = _holds(value.value, gate.operator, gate.threshold)
    message = _words(gate, value.value, holds=holds) + _missing(value) + _within_noise(gate, value, holds=holds)
    return (Verdict.PASS if holds else Verdict.FAIL), message


_OF_VARIATION = ("kappa", "alpha", "pearson", "spearman", "kendall")
"""Figures that are 0, or undefined, by definition for a judge that gives every text the same score."""
_FEWEST = 5
"""Fewer texts than this show no habit of using the scale."""


def _for_sure(gate: Gate, value: Estimate, summary: Summary) -> tuple[Verdict, str, dict[str, Any]]:
    """A gate that passes or fails with its whole interval: a figure that is on one side by its point value alone is not
    shown. `==` asks for the figure itself."""
    missing = _missing(value)
    if _by_definition(gate, value, summary):
        figure = in_unit(value.value, gate.unit)
        reason = f"{figure} by definition: the same score for every text (n {value.n}{missing})"
        # Few texts of a part of a suite may well deserve the same score.
        return Verdict.FAIL, reason, {"broken": value.n >= gate.min_n_to_pass}
    if value.value is None:
        return Verdict.AMBIGUOUS, f"n/a: no data{missing}", {}
    holds, exact = _holds(value.value, gate.operator, gate.threshold), gate.operator in ("==", "!=")
    sign = gate.operator if holds else f"is not {gate.operator}"
    plain = holds or _close(value.value, gate.threshold)
    figure = in_unit(value.value, gate.unit) if plain else distinguished(value.value, gate.unit, gate.threshold)
    ends = [] if exact or value.low is None or value.high is None else [value.low, value.high]
    across = bool(ends) and {COMPARE[gate.operator](end, gate.threshold) for end in ends} != {holds}
    why = ""
    if not exact:
        few = holds and value.n < gate.min_n_to_pass
        why = "there is no interval" if value.low is None else f"n is below {gate.min_n_to_pass}" if few else ""
        why = "the 95 % interval contains the threshold" if across else why
    if holds and not why and gate.of.needs == "labels":
        # Labels that remain after texts changed are no sample of the texts that are there now.
        from steelyard.analysis.judge.labels import labelled_otherwise

        why = labelled_otherwise(summary.overall.count("judge.texts.labelled_otherwise"))
    reason = f"{figure} {sign} {in_unit(gate.threshold, gate.unit)} (n {value.n}{missing})"
    verdict = Verdict.AMBIGUOUS if why else Verdict.PASS if holds else Verdict.FAIL
    broken = verdict is Verdict.FAIL or (not holds and not gate.subject)
    return verdict, reason + (f"; not shown: {why}" if why else ""), {"across": across, "broken": broken}


def _by_definition(gate: Gate, value: Estimate, summary: Summary) -> bool:
    """Whether a figure of a judge cannot pass since that gives every text the same score in its dimension."""
    if summary.judge is None or gate.of.parts[-1] not in _OF_VARIATION or gate.subject not in summary.judge.constant:
        return False
    return value.n >= _FEWEST and not COMPARE[gate.operator](value.value or 0.0, gate.threshold)


def broken_limits(results: Sequence[GateResult]) -> str:
    """The limits of the suite that its judge breaks, those broken beyond noise first; "" when there are none.

    `the judge breaks 1 of the suite's 4 limits: contradictions 74.0 % is not <= 20.0 % (n 50)`.
    """
    broken = sorted((item for item in results if item.broken), key=lambda item: item.verdict is not Verdict.FAIL)
    # Up to the first semicolon a sentence says what is wrong.
    reasons = [item.reason.partition("; not shown")[0].replace("; ", ", ") for item in broken]
    named = ", ".join(f"{item.gate.split()[0]} {reason}" for item, reason in zip(broken, reasons, strict=True))
    of = "the suite's limit" if len(results) == 1 else f"{len(broken)} of the suite's {len(results)} limits"
    return f"the judge breaks {of}: {named}" if broken else ""


def _by_range(gate: Gate, value: Estimate, possible: Possible) -> tuple[Verdict, str]:
    """Of a figure that is n/a: every value that it could have may still be on one side."""
    if is_open(gate, possible):
        return Verdict.AMBIGUOUS, open_reason(gate, value, possible)
    holds = _holds(possible.ends[0], gate.operator, gate.threshold)
    low, high = (in_unit(end, gate.unit) for end in possible.ends)
    limit = f"{'' if holds else 'not '}{gate.operator} {in_unit(gate.threshold, gate.unit)}"
    return (Verdict.PASS if holds else Verdict.FAIL), f"between {low} and {high}: {limit}" + _missing(value)


def is_open(gate: Gate, possible: Possible) -> bool:
    """Whether a gate holds at one end of what is possible and not at the other."""
    ends = possible.ends
    if gate.operator in ("==", "!="):
        around = _holds(ends[0], "<=", gate.threshold) and _holds(ends[1], ">=", gate.threshold)
        return around and not all(_close(end, gate.threshold) for end in ends)
    return len({_holds(end, gate.operator, gate.threshold) for end in ends}) > 1


def open_reason(gate: Gate, value: Estimate, possible: Possible) -> str:
    """Why what is missing leaves a gate open, with the ends of what is possible."""
    ends = [end for end in (possible.low, possible.high) if end is not None]
    shown = " and ".join(distinguished(end, gate.unit, gate.threshold) for end in ends)
    between = f"between {shown}" if len(ends) == 2 else f"{shown} or {'less' if possible.low is None else 'more'}"
    if not possible.n_missing:
        return f"it lies {between}" if len(ends) == 2 else f"it is {between}"
    figure = "n/a" if value.value is None else distinguished(value.value, gate.unit, gate.threshold)
    verb = "is" if possible.n_missing == 1 else "are"
    missing = f"{verb} undecided" if gate.of.level is Level.CELL else f"samples {verb} missing"
    return (
        f"{possible.n_missing:,} of {possible.n_planned:,} {missing} and could change it: it is {figure},"
        f" and with them {between if ends else 'anything'}"
    )


def _few_calls(gate: Gate, result: Slice) -> tuple[Verdict, str]:
    """A percentile of too few calls for one: it lies between the median and the longest, and these may decide."""
    middle, longest = result["latency.p50"], result["latency.max"]
    few = f"{gate.metric} of {counted(longest.n, 'call')} is not known"
    least = middle.value if middle.possible is None else middle.possible.ends[0]
    highest = longest.value if longest.possible is None else longest.possible.ends[1]
    ends = [_holds(end or 0.0, gate.operator, gate.threshold) for end in (least, highest)]
    if gate.operator in ("==", "!=") or ends[0] is not ends[1]:
        return Verdict.AMBIGUOUS, f"{few}; the longest took {in_unit(longest.value or 0.0, 's')}" + _missing(longest)
    decisive = longest if ends[0] is (gate.operator[0] == "<") else middle
    message = _words(gate, decisive.value or 0.0, holds=ends[0])
    return (Verdict.PASS if ends[0] else Verdict.FAIL), (
        f"{few}; {'the longest' if decisive is longest else 'the median'}: {message}" + _missing(longest)
    )


def needed_repeats(gate: Gate) -> int:
    """How many repeats of a case a figure stands on at least."""
    if gate.pattern.endswith("pass_all.<k>") and gate.subject.isdecimal():
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


def _words(gate: Gate, value: float, *, holds: bool) -> str:
    limit = in_unit(gate.threshold, gate.unit)
    figure = distinguished(value, gate.unit, gate.threshold)
    if gate.pattern == "findings.<code>.samples":
        figure += f" {'sample' if value == 1 else 'samples'} with {gate.subject}"
    return f"{figure} {gate.operator} {limit}" if holds else f"{figure} is not {gate.operator} {limit}"


def _missing(value: Estimate) -> str:
    return f"; {value.n_missing} missing" if value.n_missing else ""


def _within_noise(gate: Gate, value: Estimate, *, holds: bool) -> str:
    return NARROW if within_noise(gate, value, holds=holds) else ""


def within_noise(gate: Gate, value: Estimate, *, holds: bool) -> bool:
    """Whether the interval reaches over the threshold: another run might end on the other side."""
    found = _at_ends(gate.operator, gate.threshold, value)
    return bool(found) and found != {holds}


def _at_ends(operator: str, threshold: float, value: Estimate) -> set[bool]:
    """Whether a limit holds at either end of the interval, one without an upper end included; empty without one."""
    if value.low is None or operator in ("==", "!="):
        return set()
    ends = (value.low, math.inf if value.high is None else value.high)
    return {_holds(end, operator, threshold) for end in ends}


HOLDS, DOES_NOT, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
"""What an expression alone comes to; for a criterion's `fail`, holding is bad."""


@frozen
class _Answer:
    """What one expression comes to, with the figure it stands on."""

    state: Verdict
    reason: str
    metric: str
    value: Estimate
    operator: str
    threshold: float
    unit: str


def evaluate_criteria(criteria: Sequence[Criterion], scope: Scope) -> list[GateResult]:
    """The results of all criteria, in order; for one variant, only of those that speak of nothing but its samples."""
    return [_evaluate(criterion, scope) for criterion in criteria if _applies(criterion, scope)]


def _applies(criterion: Criterion, scope: Scope) -> bool:
    parts = [parse_expression(text) for text in (criterion.passes, criterion.fails) if text]
    return not scope.is_variant or all(scope.slices(part) for part in parts if isinstance(part, Gate))


def _evaluate(criterion: Criterion, scope: Scope) -> GateResult:
    passes = parse_expression(criterion.passes)
    fails = parse_expression(criterion.fails) if criterion.fails else None
    passed = _everywhere(passes, scope)
    if fails is None:
        verdict, reason = passed.state, passed.reason
    else:
        failed = _anywhere(fails, scope)
        verdict = _verdict(passed.state, failed.state)
        neither = (passed.state, failed.state) == (DOES_NOT, DOES_NOT)
        between = _between(passes, fails, passed.value) if neither else None
        reason = between or _reason(verdict, passed, failed)
    return GateResult(
        gate=criterion.passes,
        metric=passed.metric,
        value=passed.value,
        threshold=passed.threshold,
        operator=passed.operator,
        verdict=verdict,
        reason=reason,
        name=criterion.name,
        secondary=criterion.secondary,
        about=criterion.about,
        unit=passed.unit,
        fails=criterion.fails or "",
    )


def _verdict(passed: Verdict, failed: Verdict) -> Verdict:
    """What holds for certain decides; where both hold, on figures of different kinds, failing does."""
    if failed is HOLDS:
        return Verdict.FAIL
    return Verdict.PASS if (passed, failed) == (HOLDS, DOES_NOT) else Verdict.AMBIGUOUS


def _reason(verdict: Verdict, passed: _Answer, failed: _Answer) -> str:
    if verdict is not Verdict.AMBIGUOUS:
        return failed.reason if verdict is Verdict.FAIL else passed.reason
    if (passed.state, failed.state) == (DOES_NOT, DOES_NOT):
        return f"neither passes nor fails: {passed.reason}; {failed.reason}"
    if failed.state is DOES_NOT or failed.reason == passed.reason:
        return passed.reason
    return f"{passed.reason}; whether it fails is open: {failed.reason}"


def _between(passes: Expression, fails: Expression, value: Estimate) -> str | None:
    """The words for the one figure that both compare; None when there is no such one."""
    if not isinstance(passes, Gate) or not isinstance(fails, Gate):
        return None
    if passes.stands_on != fails.stands_on or passes.slice == EVERY:
        return None
    figure = distinguished(value.value or 0.0, passes.unit, passes.threshold, fails.threshold)
    high, low = (f"{item.operator} {in_unit(item.threshold, item.unit)}" for item in (passes, fails))
    absent = f"; {value.n_missing} missing" if value.n_missing else ""
    noise = any(within_noise(item, value, holds=False) for item in (passes, fails))
    across = "; the 95 % interval contains a threshold" if noise else ""
    return f"{figure} lies between: passes at {high}, fails at {low}{absent}{across}"


def _everywhere(expression: Expression, scope: Scope) -> _Answer:
    """An expression that holds when it holds in every slice, case and variant that it speaks of."""
    if isinstance(expression, RepeatsRule):
        return _over_repeats(expression, scope, enough_once=False)
    return _of_slices(expression, scope, decisive=DOES_NOT)


def _anywhere(expression: Expression, scope: Scope) -> _Answer:
    """An expression that holds as soon as it holds in one slice, or in one case under one variant."""
    if isinstance(expression, RepeatsRule):
        return _over_repeats(expression, scope, enough_once=True)
    return _of_slices(expression, scope, decisive=HOLDS)


def _of_slices(gate: Gate, scope: Scope, *, decisive: Verdict) -> _Answer:
    """The first slice that decides; without one, the first that is open; else they all agree."""
    result = results(gate, scope)
    order = {decisive: 0, OPEN: 1}
    entry = min(result, key=lambda item: order.get(item.verdict, 2))
    alike = sum(item.verdict is entry.verdict for item in result)
    reason = entry.reason if gate.factor is None else f"{entry.metric}: {entry.reason}"
    more = f"; {alike - 1} more alike" if alike > 1 else ""
    more += f"; skipped as small: {entry.skipped}" if entry.skipped else ""
    return _Answer(entry.verdict, reason + more, entry.metric, entry.value, gate.operator, gate.threshold, gate.unit)


def _over_repeats(rule: RepeatsRule, scope: Scope, *, enough_once: bool) -> _Answer:
    passed, failed, undecided = (
        scope.part.count(f"repeated.{rule.text}.{state}") for state in ("passed", "failed", "undecided")
    )
    decided = passed + failed
    share = Estimate(passed / decided if decided else None, decided, undecided)
    if not decided and not undecided:
        state, reason = OPEN, "n/a: no data"
    elif enough_once and passed:
        state, reason = HOLDS, f"{rule.text} is met in {passed} of {decided}"
    elif failed and not enough_once:
        named = scope.summary.failing_cells.get(scope.part.key.text, {}).get(rule.text, ())
        open_ = f"; {undecided} undecided" if undecided else ""
        state, reason = DOES_NOT, f"{passed} of {decided} pass; {failed} failed{_some(named, failed)}{open_}"
    elif undecided:
        state, reason = OPEN, _undecided(rule, undecided, decided + undecided, scope.summary.repeats)
    else:
        state = DOES_NOT if enough_once else HOLDS
        reason = f"{rule.text} is met in none of {decided}" if enough_once else f"all {decided} pass"
    return _Answer(state, reason, rule.text, share, ">=", 1.0, "share")


def _some(named: Sequence[str], n: int) -> str:
    """`: 03-hard: 1 of 3 and 2 more`; "" when none is named."""
    left_off = f" and {n - len(named)} more" if n > len(named) else ""
    return f": {', '.join(named)}{left_off}" if named else ""


def _undecided(rule: RepeatsRule, undecided: int, cells: int, repeats: int) -> str:
    if repeats < rule.of:
        return f"undecided: it asks for {rule.of} repeats and this run has {repeats}; run with -n {rule.of}"
    verb = "has" if undecided == 1 else "have"
    return f"undecided: {undecided} of {cells} {verb} repeats that are not conclusive and could change it"
