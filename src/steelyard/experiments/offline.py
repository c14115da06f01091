"""The report on an A/B of two runs on the same cases, interleaved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from steelyard.analysis.target import changed_part, target_changes, target_label
from steelyard.decide.provenance import changed_in_words, run_before
from steelyard.experiments.decision import AbReport, ArmFacts, ValidityCheck, conclude, missing_alike
from steelyard.experiments.effects import (
    FIXED,
    PASS_RATE,
    SEQUENTIAL,
    Effect,
    PlannedTest,
    extra,
    quality,
    readable_test,
)
from steelyard.experiments.pairs import cost_pairs, latency_pairs, quality_pairs
from steelyard.experiments.runs import Attempt
from steelyard.frozen import frozen
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.pairing.runs import ComparedRun, read_run
from steelyard.pairing.signatures import signed
from steelyard.records import AbPlan, RunHeader, RunState, Verdict
from steelyard.runner.same_signature import rescored
from steelyard.stats.sequential import (
    ALPHA,
)
from steelyard.store.base import Store

_SCALES = {"judge": "the judge", "rules": "rules, checks or rubric of the judge", "scorers": "the scorers"}


@frozen
class _Evaluated:
    quality: Effect
    extra: tuple[Effect, ...]
    planned: PlannedTest
    ended: bool
    asked: int
    """Cases that either arm was asked."""


def ab_report(store: Store, attempt: Attempt, *, allow_mismatch: bool = False) -> AbReport:
    """The report on the stored runs of an A/B, A rescored as B was where that takes no call."""
    a, b = (read_run(store, header.id) for header in attempt.headers)
    return offline_report(rescored(a, b), b, stopped=attempt.stopped, allow_mismatch=allow_mismatch)


def offline_report(
    a: ComparedRun, b: ComparedRun, *, stopped: str | None = None, allow_mismatch: bool = False
) -> AbReport:
    """The report on the runs of an A/B; `allow_mismatch` decides although the arms were scored on two scales."""
    plan = a.header.options.ab or AbPlan()
    scored = _evaluated(a, b, plan)
    checks = tuple(_checks(a, b, scored))
    due = plan.stop_early or scored.ended
    decided, why = conclude(checks, scored.quality, plan.same_within, due=due, allow_mismatch=allow_mismatch)
    return AbReport(
        title=f"{a.header.suite_name}: A/B {plan.id}",
        kind="offline",
        arms=(_arm("A", a.header, b.header), _arm("B", b.header, a.header)),
        decided=decided,
        why=why,
        quality=scored.quality,
        extra=scored.extra,
        checks=checks,
        test=scored.planned.test,
        method=_method(plan, scored, b.table),
        signatures=tuple(f"{side}: {run.header.signature.text or ''}" for side, run in (("A", a), ("B", b))),
        notes=(*_notes(plan, scored, stopped), *_alike(a.header, b.header), *_run_before(a.header, b.header)),
        plan=asdict(plan),
    )


def _evaluated(a: ComparedRun, b: ComparedRun, plan: AbPlan) -> _Evaluated:
    pairs = quality_pairs(a.table, b.table, plan.seed, by_pass=plan.metric == PASS_RATE)
    ended = all(run.header.state is RunState.ENDED for run in (a, b))
    test = readable_test(SEQUENTIAL if plan.stop_early else FIXED, complete=ended)
    planned = PlannedTest(test, plan.cases, plan.same_within)
    results = (
        extra("latency", "s", latency_pairs(a.table, b.table, plan.seed), planned),
        extra("cost of a call", "cost", cost_pairs(a.table, b.table, plan.seed), planned),
    )
    effect = quality(pairs, plan.metric, planned)
    asked = len({*a.table.case_ids, *b.table.case_ids})
    return _Evaluated(effect, tuple(item for item in results if item is not None), planned, ended, asked)


def _checks(a: ComparedRun, b: ComparedRun, scored: _Evaluated) -> Iterator[ValidityCheck]:
    for side, run in (("A", a), ("B", b)):
        invalid = _is_none(run)
        yield ValidityCheck(f"arm {side} is valid", _reading_of(run), fine=not invalid, invalidates=invalid)
        if run.header.suspect:
            yield ValidityCheck(f"arm {side} is not suspect", "; ".join(run.header.suspect), fine=False, confounds=True)
    yield _availability(a, b)
    for part, words in _SCALES.items():
        if signed(a, part) != signed(b, part):
            sentence = f"{words} differs in B: two scales, which cannot be compared"
            yield ValidityCheck("both arms on one scale", sentence, fine=False, confounds=True)
    if scored.quality.n == 0:
        message = f"no case of {scored.quality.n_missing} is scored in both arms"
        yield ValidityCheck("pairs", message, fine=False, invalidates=True)


def _is_none(run: ComparedRun) -> bool:
    """Whether an arm is INVALID. One that was stopped is scored by what it was asked, not by what it was not."""
    if run.header.state is RunState.ENDED:
        return run.header.verdict is Verdict.INVALID
    missing = run.table.n - int(run.table.conclusive.sum())
    return missing > run.header.description.limits.max_inconclusive * run.table.n


def _reading_of(run: ComparedRun) -> str:
    message = f"{int(run.table.conclusive.sum()):,} of {run.table.n:,} samples are conclusive"
    if run.header.state is not RunState.ENDED or run.header.verdict is None:
        return message
    if run.header.verdict is Verdict.INVALID:
        return f"{message}; the run is INVALID (steelyard report {run.header.id} says why)"
    return f"{message}, its gates: {run.header.verdict.value}"


def _availability(a: ComparedRun, b: ComparedRun) -> ValidityCheck:
    """Whether as many cases lack a reading in both arms; what is of one case or cluster fails together, and is one."""
    counts = [_whole_and_lacking(run) for run in (a, b)]
    message = f"{'clusters' if a.columns.clusters else 'cases'} without a score: " + ", ".join(
        f"{lacking:,} of {whole + lacking:,} in {side}" for side, (whole, lacking) in zip("AB", counts, strict=True)
    )
    return missing_alike("missing in both arms alike", message, counts)


def _whole_and_lacking(run: ComparedRun) -> tuple[int, int]:
    asked, lacking = (len(set(cases.tolist())) for cases in (run.table.unit, run.table.unit[~run.table.conclusive]))
    return asked - lacking, lacking


def _notes(plan: AbPlan, scored: _Evaluated, stopped: str | None) -> Iterator[str]:
    cases = scored.asked
    planned = scored.planned.pairs
    if stopped is not None:
        yield f"stopped before its end: {stopped}"
    if plan.stop_early and scored.ended and cases < planned:
        yield f"stopped early, as asked for: {cases:,} of {planned:,} planned cases were enough"
    elif not scored.ended:
        yield f"{cases:,} of {planned:,} planned cases were asked"


def _alike(a: RunHeader, b: RunHeader) -> Iterator[str]:
    if not any(_own(a, b)):
        yield "no known setting of the arms differs: any difference between their figures is noise"


def _run_before(*arms: RunHeader) -> Iterator[str]:
    for side, header in zip("AB", arms, strict=True):
        if sentence := run_before(header.options.earlier):
            yield f"{side} was {sentence}"
    for changed in arms[1].options.changed:
        yield from changed_in_words(changed)


def _method(plan: AbPlan, scored: _Evaluated, table: Table) -> str:
    clustered = len(table.unit_names) < len(table.case_ids)
    parts = [
        *([clusters_in_words(len(table.case_ids), len(table.unit_names))] if clustered else []),
        f"paired by case; cases in an order drawn at random and both arms of a call side by side (seed {plan.seed})",
        scored.quality.method or "no pairs",
        f"{100 * (1 - ALPHA):.0f} % intervals",
    ]
    if plan.same_within is not None:
        parts.append(f"same means within {100 * plan.same_within:g} points")
    return "; ".join(parts)


def _arm(letter: str, header: RunHeader, other: RunHeader) -> ArmFacts:
    """What the arm is: its run, and everything in which it differs from the other."""
    facts = [("run", header.id), ("target", target_label(header)), *_own(header, other)]
    return ArmFacts(letter, letter, tuple(facts))


def _own(header: RunHeader, other: RunHeader) -> Iterator[tuple[str, str]]:
    for change in target_changes(header, other):
        context, own, _ = changed_part(change.before, change.after)
        yield change.name, context + own if change.before != change.after else "differs"
    for key, result in (("variants", _variants), ("judge", _judge)):
        if result(header) != result(other):
            yield key, result(header)


def _variants(header: RunHeader) -> str:
    return ", ".join(name for name in header.description.variant_names if name) or "none"


def _judge(header: RunHeader) -> str:
    judge = header.description.judge
    named = "" if judge is None else ", ".join(member.label for member in judge.members)
    return f"{named} ({(header.signature.judge or '')[:8]})" if named else "none"
