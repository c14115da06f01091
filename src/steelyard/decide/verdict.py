"""What a run comes to, with the reasons in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from steelyard.analysis.model import Summary
from steelyard.decide.gates import (
    Decision,
    GateResult,
    Scope,
    VariantDecision,
    evaluate,
    evaluate_criteria,
    needed_repeats,
)
from steelyard.metrics.expressions import COMPARE, FEWEST_LABELS, parse_gate
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import CORRECTED
from steelyard.records import Outcome, RunHeader, RunState, Verdict
from steelyard.suite.models import Criterion, SuiteModel
from steelyard.wording import counted, in_unit, percent, threshold

_UNJUDGED = (
    *("latency", "cost", "tokens", "scored_rate", "malformed_rate", "inconclusive_rate"),
    # Of the judge itself: how it judges, and not what.
    "judge",
    *("checks", "check", "stability", "first_token", "tokens_per_second", "attempts", "first_attempt_failure_rate"),
)
"""How the names of figures begin that no judge has a say in."""


def with_checked_judge(
    gate_results: Iterable[GateResult], summary: Summary, suite: SuiteModel
) -> tuple[GateResult, ...]:
    """The results; where the suite requires a checked judge and it is not, none on what it says is a pass."""
    if suite.judge is None or not suite.judge.require_checked:
        return tuple(gate_results)
    return tuple(_capped(item, summary) if is_judged(item, suite) else item for item in gate_results)


def is_judged(result: GateResult, suite: SuiteModel) -> bool:
    """Whether the suite's judge has a say in the figure of a gate."""
    computed = [component for component in suite.components if component.scorer != "judge"]
    unjudged = [*_UNJUDGED, *(f"score.{component.name}" for component in computed)]
    unjudged += [f"findings.{component.code}" for component in computed if component.code]
    return suite.judge is not None and _of_any(result, unjudged) is None


def _of_any(result: GateResult, names: Iterable[str]) -> str | None:
    """The first of these names that the figure of a gate begins with. The name of its slice does not count."""
    try:
        figure = parse_gate(result.gate).metric
    except ValueError:  # a rule over repeats
        figure = result.metric
    return next((name for name in names if f"{figure}.".startswith(f"{name}.")), None)


def _capped(result: GateResult, summary: Summary) -> GateResult:
    why = _why_not(result, summary) if result.verdict is Verdict.PASS else ""
    return replace(result, verdict=Verdict.AMBIGUOUS, reason=f"{result.reason}, but {why}") if why else result


def _why_not(result: GateResult, summary: Summary) -> str:
    check, n = summary.judge_check, summary.overall.count("labels.texts")
    if check is None or not summary.judge_is_checked:
        not_random = "" if check is None else check.not_random
        few = f"{n} judged texts have labels, and at least {FEWEST_LABELS} must" if n < FEWEST_LABELS else ""
        return f"the judge is unchecked: {'; '.join(filter(None, (few, not_random)))}"
    if result.metric.endswith(CORRECTED):
        return ""
    rate, text = summary.overall[CORRECTED], summary.overall["pass_rate"].value
    if result.metric != "pass_rate" or result.baseline:
        if text is None or rate.low is None or rate.high is None or rate.low <= text <= rate.high:
            return ""
        message = f"{in_unit(rate.value, 'share')}, and by the judge {in_unit(text, 'share')}"
        return f"the labels contradict the judge: according to them the pass rate is {message}"
    if rate.value is None or check.message:
        return f"cannot tell the rate by the labels: {check.message}"
    if COMPARE[result.operator](rate.value, result.threshold):
        return ""
    return f"according to the labels it is {in_unit(rate.value, 'share')}"


_MOST_FAILURES = 3
_NOTHING_LEFT = "every deciding gate was left out: none is left that could fail"
_MOST_LOW = 8
NOT_FINISHED = "the run has not finished"


def decide(
    summary: Summary,
    suite: SuiteModel,
    *,
    state: RunState | str = RunState.ENDED,
    suspect: Sequence[str] = (),
    gone: str | None = None,
    relative: Sequence[GateResult] = (),
) -> Decision:
    """The verdict of a run: INVALID before anything else, then FAIL, AMBIGUOUS, PASS; None when nothing decides.

    Gates and criteria that are not secondary decide. A run that a health check found suspect is never PASS.
    `gone` says why the system under test was not there any more when the run ended: nothing it said then is a reading.
    `relative` is what came of its gates on baselines; one of which nothing is known leaves the verdict open.
    """
    if suite.pending_of and RunState(state) is RunState.ENDED:
        return Decision(None, ("the truth of these cases is pending: their answers are stored, and nothing is scored",))
    allowed, criteria, gates = suite.limits.max_inconclusive, suite.criteria, suite.gates
    everything = (
        *_without_repeats(evaluate(gates, summary), summary, suite),
        *relative,
        *_unheld(gates, relative),
        *evaluate_criteria(criteria, Scope(summary, summary.overall)),
    )
    result = with_checked_judge(_without_truth(suite.without_truth, everything), summary, suite)
    broken = (*((gone,) if gone else ()), *_why_invalid(summary.overall, allowed, RunState(state)))
    doubts = tuple(f"suspect: {reason}" for reason in suspect)
    verdict = Verdict.INVALID if broken else _verdict(result, doubtful=bool(doubts))
    shown = _reasons(result, Verdict.FAIL, Verdict.AMBIGUOUS, secondary=True)
    if broken:
        reasons = (*broken, *_failures(summary))
    elif verdict is None:
        reasons = ("all criteria are secondary, so none decides" if result else "the suite declares no gates", *shown)
    elif verdict is Verdict.PASS:
        reasons = (_all_hold(result), *_worse_within_noise(result), *shown)
    else:
        shown = (_NOTHING_LEFT, *shown) if all(item.secondary for item in result) else shown
        decided = (*_reasons(result, Verdict.FAIL), *_reasons(result, Verdict.AMBIGUOUS))
        reasons = (*decided, *_worse_within_noise(result), *shown)
    if not broken:
        reasons += tuple(
            dict.fromkeys(f"{item.gate}: skipped as small: {item.skipped}" for item in result if item.skipped)
        )
    by_variant = _by_variant(criteria, summary, suite, allowed, RunState(state), doubtful=bool(doubts), gone=bool(gone))
    # That a run is suspect comes before everything but that its system was gone.
    first, rest = (reasons[:1], reasons[1:]) if gone else ((), reasons)
    return Decision(verdict, (*first, *doubts, *rest, *_remarks(summary)), result, by_variant)


def as_ended(decision: Decision, header: RunHeader) -> Decision:
    """The decision with the verdict that the run ended with, which never changes.

    What was computed again for a report can differ: labels were added, or the rules of this version are others. Then
    the first reason says so.
    """
    compared = compared_with_ended(decision, header)
    return compared if compared is decision else replace(compared, verdict=header.verdict)


def compared_with_ended(decision: Decision, header: RunHeader) -> Decision:
    """The decision as it is now; where the run ended with another verdict, the first reason says so."""
    if header.state is not RunState.ENDED or header.verdict is None or header.verdict is decision.verdict:
        return decision
    now = "no verdict" if decision.verdict is None else decision.verdict.value
    differs = (
        f"the run ended {header.verdict.value}; computed again, the gates give {now}: labels, baselines, gates or the"
        " version of Steelyard changed since"
    )
    return replace(decision, reasons=(differs, *decision.reasons))


def _without_repeats(gate_results: list[GateResult], summary: Summary, suite: SuiteModel) -> list[GateResult]:
    """The same, gates that need more repeats than a run with fewer than usual has left out; not if all would be."""
    short = [needed_repeats(parse_gate(item.gate)) > summary.repeats for item in gate_results]
    if all(short) or summary.repeats >= (suite.usual_repeats or 0):
        return gate_results
    return [_left_out(item, item.reason) if less else item for item, less in zip(gate_results, short, strict=True)]


def _remarks(summary: Summary) -> Iterator[str]:
    """What decides nothing and should be seen beside a verdict: repeats that differ, calls that took too long."""
    if summary.stability is not None and (low := summary.stability.unstable(summary.overall)):
        from steelyard.analysis.stability import BANDS

        more = f", and {len(low) - _MOST_LOW} more" if len(low) > _MOST_LOW else ""
        yield f"stability {BANDS['unstable']}: {', '.join(low[:_MOST_LOW])}{more}"
    if summary.latency is not None and summary.latency.slow:
        yield summary.latency.slow


def _without_truth(unknown: Sequence[str], gate_results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The results, those on figures that no case has a truth for marked as left out of the verdict."""
    if not unknown:
        return tuple(gate_results)
    marked = []
    for item in gate_results:
        figure = _of_any(item, unknown)
        if figure is not None:
            item = _left_out(item, f"no case of this run has a truth for {figure.partition('.')[2]}")
        marked.append(item)
    return tuple(marked)


def _left_out(result: GateResult, reason: str) -> GateResult:
    """The result of a gate that can say nothing about such a run: shown with the reason, and not counted."""
    return replace(result, verdict=Verdict.AMBIGUOUS, secondary=True, left_out=True, reason=f"left out: {reason}")


def _unheld(gates: Sequence[str], relative: Sequence[GateResult]) -> list[GateResult]:
    """The gates on baselines that were compared with none."""
    decided = {result.gate for result in relative}
    missing = [gate for gate in map(parse_gate, gates) if gate.baseline and gate.text not in decided]
    if not missing:
        return []
    from steelyard.decide.relative_gates import undecided  # with it comes the comparison of runs

    return [
        undecided(gate, f"this run was not compared with {gate.baseline}: steelyard gate RUN does it")
        for gate in missing
    ]


def _verdict(gate_results: Sequence[GateResult], *, doubtful: bool) -> Verdict | None:
    verdicts = {item.verdict for item in gate_results if not item.secondary}
    if not verdicts:
        # Nothing passes because everything that could have failed was left out.
        return Verdict.AMBIGUOUS if any(item.left_out for item in gate_results) else None
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.AMBIGUOUS if doubtful or Verdict.AMBIGUOUS in verdicts else Verdict.PASS


def _by_variant(
    criteria: Sequence[Criterion],
    summary: Summary,
    suite: SuiteModel,
    allowed: float,
    state: RunState,
    *,
    doubtful: bool,
    gone: bool,
) -> tuple[VariantDecision, ...]:
    """What the criteria come to for each variant alone; left out when no criterion can decide for every one."""
    variants = summary.slices.get("variant", [])
    if len(variants) < 2:
        return ()
    # Which variant a missing sample belongs to is not known, so it puts every variant in doubt.
    lacking = _absent(summary.overall) > allowed * summary.overall.n_planned + 1e-9
    decisions = []
    for part in variants:
        results = evaluate_criteria(criteria, Scope(summary, part))
        result = with_checked_judge(_without_truth(suite.without_truth, results), summary, suite)
        verdict = _verdict(result, doubtful=doubtful)
        if verdict is None:
            return ()
        if gone or lacking or _why_invalid(part, allowed, state):
            verdict = Verdict.INVALID
        decisions.append(VariantDecision(part.name, verdict, result))
    return tuple(decisions)


def _why_invalid(part: Slice, allowed: float, state: RunState) -> tuple[str, ...]:
    reasons = []
    if state is not RunState.ENDED:
        reasons.append(f"{NOT_FINISHED}: it is {state.value}")
    planned, absent = part.n_planned, _absent(part)
    failed = sum(n for outcome, n in part.outcomes.items() if not Outcome(outcome).conclusive)
    excluded = part.count("outcomes.excluded")
    if part["average"].n == 0:
        never = f", {excluded} excluded" if excluded else ""
        never += f", {absent} missing" if absent else ""
        samples = counted(planned, "sample")
        reasons.append(f"nothing was scored: {samples}, {failed} of them inconclusive{never}")
    elif failed + excluded + absent > allowed * planned + 1e-9:
        result = [f"{failed} of {planned} samples {_are(failed)} inconclusive"] if failed else []
        if excluded:
            result.append(f"{excluded} of {planned} samples {_are(excluded)} excluded, judged in another mode")
        result += [f"{absent} of {planned} planned samples {_are(absent)} missing"] if absent else []
        share = percent((failed + excluded + absent) / planned)
        reasons.append(f"{' and '.join(result)} ({share}), more than the {threshold(allowed)} allowed")
    return tuple(reasons)


def _failures(summary: Summary) -> tuple[str, ...]:
    """What the calls failed with, most frequent first."""
    messages = [f"{kind} ({n})" for kind, n in list(summary.overall.counts("failures.<kind>").items())[:_MOST_FAILURES]]
    return (f"what failed: {', '.join(messages)}",) if messages else ()


def _absent(part: Slice) -> int:
    return part.n_planned - part.n_samples


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _worse_within_noise(gate_results: Sequence[GateResult]) -> tuple[str, ...]:
    """What is beyond the limit of a gate on a baseline and passes, since it may be chance: never left unsaid."""
    return tuple(
        _stated(item)
        for item in gate_results
        if item.baseline
        and item.verdict is Verdict.PASS
        and not COMPARE[item.operator](item.value.value or 0.0, item.threshold)
    )


def _all_hold(gate_results: Sequence[GateResult]) -> str:
    """ "the gate passes", "all 2 gates and 3 criteria that decide pass": what decided, counted."""
    deciding = [item for item in gate_results if not item.secondary]
    criteria = sum(bool(item.name) for item in deciding)
    gates = len(deciding) - criteria
    decide = " that decide" if len(deciding) < len(gate_results) else ""
    if len(deciding) == 1:
        return f"the {'criterion' if criteria else 'gate'}{decide + 's' if decide else ''} passes"
    counted = [f"{gates} {'gate' if gates == 1 else 'gates'}"] if gates else []
    counted += [f"{criteria} {'criterion' if criteria == 1 else 'criteria'}"] if criteria else []
    return f"all {' and '.join(counted)}{decide} pass" if len(counted) == 1 else f"{' and '.join(counted)}{decide} pass"


def _reasons(gate_results: Sequence[GateResult], *verdicts: Verdict, secondary: bool = False) -> tuple[str, ...]:
    return tuple(_stated(item) for item in gate_results if item.verdict in verdicts and item.secondary is secondary)


def _stated(result: GateResult) -> str:
    if not result.name:
        where = "" if result.metric in result.gate else f" ({result.metric})"
        return f"{result.gate}{where}: {result.reason}"
    about = f"; {result.about.strip().rstrip('.')}" if result.about and result.verdict is Verdict.AMBIGUOUS else ""
    return f"{'secondary: ' if result.secondary else ''}{result.name}: {result.reason}{about}"
