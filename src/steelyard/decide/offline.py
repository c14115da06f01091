"""The experiment of two runs on the same cases, interleaved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.arm_pairs import cost_pairs, latency_pairs, quality_pairs
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.instruments import signed
from steelyard.decide.experiment import (
    FIXED,
    PASS_RATE,
    SEQUENTIAL,
    AbCheck,
    AbPlan,
    AbReport,
    ArmFacts,
    Effect,
    Reading,
    beside,
    conclude,
    missing_alike,
    quality,
    readable_test,
)
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.sequential import ALPHA

_SCALES = {"judge": "the judge", "rules": "what is made of the judge's words", "scorers": "the scorers"}
_MOST_INCONCLUSIVE = 0.05
"""Of runs that were stored without the limit."""
_NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class _Weighed:
    quality: Effect
    beside: tuple[Effect, ...]
    reading: Reading
    ended: bool
    asked: int
    """Cases that either arm was asked."""


def offline_report(a: ComparedRun, b: ComparedRun, *, stopped: str | None = None, anyway: bool = False) -> AbReport:
    """The report on the runs of an A/B; `anyway` decides although the arms were weighed on two scales."""
    told = a.header.options["ab"]
    plan = AbPlan.stored(told)
    weighed = _weighed(a, b, plan, planned=int(told["cases"]))
    checks = tuple(_checks(a, b, weighed))
    due = plan.stop_early or weighed.ended
    decided, why = conclude(checks, weighed.quality, plan.same_within, due=due, anyway=anyway)
    return AbReport(
        title=f"{a.header.suite_name}: A/B {told['id']}",
        kind="offline",
        arms=(_arm("A", a.header, b.header), _arm("B", b.header, a.header)),
        decided=decided,
        why=why,
        quality=weighed.quality,
        beside=weighed.beside,
        checks=checks,
        test=weighed.reading.test,
        method=_method(plan, weighed, b.table),
        signatures=tuple(f"{side}: {run.header.signature.get('text', '')}" for side, run in (("A", a), ("B", b))),
        notes=(*_notes(plan, weighed, stopped), *_alike(a.header, b.header)),
        plan=dict(told),
    )


def _weighed(a: ComparedRun, b: ComparedRun, plan: AbPlan, planned: int) -> _Weighed:
    pairs = quality_pairs(a.table, b.table, plan.seed, by_pass=plan.metric == PASS_RATE)
    ended = all(run.header.state is RunState.ENDED for run in (a, b))
    test = readable_test(SEQUENTIAL if plan.stop_early else FIXED, complete=ended)
    reading = Reading(test, planned, plan.same_within)
    found = (
        beside("latency", "s", latency_pairs(a.table, b.table, plan.seed), reading),
        beside("cost of a call", "cost", cost_pairs(a.table, b.table, plan.seed), reading),
    )
    effect = quality(pairs, plan.metric, reading)
    asked = len({*a.table.case_ids, *b.table.case_ids})
    return _Weighed(effect, tuple(each for each in found if each is not None), reading, ended, asked)


def _checks(a: ComparedRun, b: ComparedRun, weighed: _Weighed) -> Iterator[AbCheck]:
    for side, run in (("A", a), ("B", b)):
        invalid = _is_none(run)
        yield AbCheck(f"arm {side} is a reading", _reading_of(run), fine=not invalid, invalidates=invalid)
        if run.header.suspect:
            yield AbCheck(f"arm {side} is not suspect", "; ".join(run.header.suspect), fine=False, hinders=True)
    yield _availability(a, b)
    for part, words in _SCALES.items():
        if signed(a, part) != signed(b, part):
            sentence = f"{words} is another in B: two scales, on which more is not better"
            yield AbCheck("both arms on one scale", sentence, fine=False, hinders=True)
    if weighed.quality.n == 0:
        told = f"no case of {weighed.quality.n_missing} has a reading in both arms"
        yield AbCheck("pairs", told, fine=False, invalidates=True)


def _is_none(run: ComparedRun) -> bool:
    """Whether an arm is no reading. One that was stopped is weighed by what it was asked, not by what it was not."""
    if run.header.state is RunState.ENDED:
        return run.header.verdict is Verdict.INVALID
    missing = run.table.n - int(run.table.conclusive.sum())
    return missing > run.header.description.max_inconclusive * run.table.n


def _reading_of(run: ComparedRun) -> str:
    told = f"{int(run.table.conclusive.sum()):,} of {run.table.n:,} samples have a reading"
    if run.header.state is not RunState.ENDED or run.header.verdict is None:
        return told
    if run.header.verdict is Verdict.INVALID:
        return f"{told}; the run is INVALID (steelyard report {run.header.id} says why)"
    return f"{told}, its gates: {run.header.verdict.value}"


def _availability(a: ComparedRun, b: ComparedRun) -> AbCheck:
    """Whether as many cases lack a reading in both arms; what is of one case or cluster fails together, and is one."""
    counts = [_whole_and_lacking(run) for run in (a, b)]
    told = f"{'clusters' if a.columns.clusters else 'cases'} that lack a reading: " + ", ".join(
        f"{lacking:,} of {whole + lacking:,} in {side}" for side, (whole, lacking) in zip("AB", counts, strict=True)
    )
    return missing_alike("readings are missing alike", told, counts)


def _whole_and_lacking(run: ComparedRun) -> tuple[int, int]:
    asked, lacking = (len(set(cases.tolist())) for cases in (run.table.unit, run.table.unit[~run.table.conclusive]))
    return asked - lacking, lacking


def _notes(plan: AbPlan, weighed: _Weighed, stopped: str | None) -> Iterator[str]:
    cases = weighed.asked
    planned = weighed.reading.planned
    if stopped is not None:
        yield f"stopped before its end: {stopped}"
    if plan.stop_early and weighed.ended and cases < planned:
        yield f"stopped early, as asked for: {cases:,} of {planned:,} planned cases were enough"
    elif not weighed.ended:
        yield f"{cases:,} of {planned:,} planned cases were asked"


def _alike(a: RunHeader, b: RunHeader) -> Iterator[str]:
    if not any(_own(a, b)):
        yield "nothing that is known of the arms differs: whatever differs between their figures is noise"


def _method(plan: AbPlan, weighed: _Weighed, table: Table) -> str:
    clustered = len(table.unit_names) < len(table.case_ids)
    parts = [
        *([clusters_in_words(len(table.case_ids), len(table.unit_names))] if clustered else []),
        f"paired by case; cases in an order drawn at random and both arms of a call side by side (seed {plan.seed})",
        weighed.quality.method or "no pairs",
        f"{100 * (1 - ALPHA):.0f} % intervals",
    ]
    if plan.same_within is not None:
        parts.append(f"same means within {100 * plan.same_within:g} points")
    return "; ".join(parts)


def _arm(letter: str, header: RunHeader, other: RunHeader) -> ArmFacts:
    """What the arm is: its run, and everything in which it differs from the other."""
    facts = [("run", header.id), *_own(header, other)]
    return ArmFacts(letter, letter, tuple(facts))


def _own(header: RunHeader, other: RunHeader) -> Iterator[tuple[str, str]]:
    own, others = dict(_settings(header.target)), dict(_settings(other.target))
    for key in {**own, **others}:
        if own.get(key) != others.get(key):
            yield key, str(own.get(key, _NOT_SET))
    for key, found in (("variants", _variants), ("judge", _judge)):
        if found(header) != found(other):
            yield key, found(header)


def _settings(target: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Everything that a run tells of its target, one by one: groups of settings and of prompts are opened."""
    for key, value in target.items():
        if not isinstance(value, Mapping):
            yield key, value
        for name, inner in value.items() if isinstance(value, Mapping) else ():
            yield name if key == "settings" else f"{key} {name}", inner


def _variants(header: RunHeader) -> str:
    return ", ".join(name for name in header.description.variants if name) or "none"


def _judge(header: RunHeader) -> str:
    judge = header.description.judge
    named = "" if judge is None else ", ".join(member.label for member in judge.members)
    return f"{named} ({str(header.signature.get('judge') or '')[:8]})" if named else "none"
