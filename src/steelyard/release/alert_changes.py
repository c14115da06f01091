"""Rules on figures that got worse: than in a baseline, or than in earlier runs together, beyond noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis.against import Against
from steelyard.analysis.by_run import difference_of_runs, is_by_run, smallest_that_matters
from steelyard.analysis.compared_run import ComparedRun, read_run
from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import holm, least_p
from steelyard.analysis.pieces import Array
from steelyard.analysis.pooled import Pool
from steelyard.analysis.sound_runs import same_load
from steelyard.analysis.table import Table, cut
from steelyard.records import RunHeader
from steelyard.release.alert_causes import Reading, State, unknown
from steelyard.release.alert_evidence import Evidence
from steelyard.release.alert_window import chance_of, pooled, too_little
from steelyard.release.alert_words import both_n, counted, sureness, then_and_now
from steelyard.release.baselines import baselines, no_baseline
from steelyard.suite.alert_rules import Regression, figure_named
from steelyard.suite.gates import Gate

_BY_SAMPLE = ("pass_rate", "average", "score.<component>.average", "score.<component>.points")
"""Figures that are means over samples, so that earlier samples of the same case can be held against today's."""
_LOWER_IS_BETTER = ("malformed_rate", "inconclusive_rate", "flaky_rate")
_LOWER_KINDS = ("findings", "latency", "cost", "tokens")


@dataclass(frozen=True, slots=True)
class Moved:
    """One figure then and now."""

    subject: str
    before: float
    now: float
    difference: Estimate
    p: float | None
    test: str
    n_before: int
    n_now: int
    smallest_p: float = 0.0
    """The smallest p-value that so few cases can show."""
    of: str = "case"
    """What its n counts."""


def regressions(rule: Regression, evidence: Evidence) -> Iterator[Reading]:
    """What became of the rule's figure, in every slice that it speaks of."""
    gate = _figure(rule, evidence)
    names = evidence.slices(gate)
    yield from evidence.watched_no_more(rule.label, [_subject(gate, name) for name in names])
    if not names:
        asked = _subject(gate, gate.slice or "")
        yield unknown(rule.label, asked, f"{asked}: this run has no such {gate.factor}")
    if rule.against:
        yield from _against_baseline(rule, gate, evidence)
        return
    # Causes with an open alert are held against the runs before it, so each may have a window of its own.
    windows: dict[tuple[str, ...], list[str]] = {}
    by_window: dict[tuple[str, ...], list[RunHeader]] = {}
    for name in names:
        runs = evidence.window(_cause(rule, _subject(gate, name)))
        if gate.pattern.startswith("latency"):
            runs = [run for run in runs if same_load(run, evidence.header)]
        key = tuple(run.id for run in runs)
        by_window[key] = runs
        windows.setdefault(key, []).append(name)
    for key, names in windows.items():
        yield from _against_window(rule, gate, by_window[key], names, evidence)


def _figure(rule: Regression, evidence: Evidence) -> Gate:
    return figure_named(rule.metric or ("pass_rate" if evidence.header.suite.get("passing") else "average"))


def _cause(rule: Regression, subject: str) -> str:
    return Reading(rule.label, subject, State.UNKNOWN, "").cause


def _subject(gate: Gate, name: str) -> str:
    return f"{gate.factor}.{name}.{gate.metric}" if gate.factor else gate.metric


def _against_baseline(rule: Regression, gate: Gate, evidence: Evidence) -> Iterator[Reading]:
    locks = {lock.name: lock.run_id for lock in baselines(evidence.store, evidence.suite)}
    if rule.against not in locks:
        yield unknown(rule.label, gate.metric, no_baseline(rule.against, evidence.suite, list(locks)))
        return
    store, header = evidence.store, evidence.header
    if locks[rule.against] == header.id:
        yield unknown(rule.label, gate.metric, f"this run is {rule.against} itself")
        return
    against = Against(read_run(store, locks[rule.against]), _compared(evidence))
    found = []
    for name, change in against.changes(replace(gate, baseline=rule.against)).items():
        if gate.factor and name not in evidence.slices(gate):
            continue
        hindered = against.hindered_by(change)
        subject = _subject(gate, name)
        if hindered:
            yield unknown(rule.label, subject, f"{subject} cannot be held against {rule.against}: {hindered[0]}")
        elif change.a.value is None or change.b.value is None or change.difference.value is None:
            yield unknown(rule.label, subject, f"{subject}: no sample can be compared with one of {rule.against}")
        else:
            floor = 0.0 if change.df else least_p(change.difference.n)
            n = (change.a.n, change.b.n)
            values = (change.a.value, change.b.value)
            found.append(Moved(subject, *values, change.difference, change.p, change.test, *n, floor))
    look = ("steelyard", "compare", f"@{rule.against}", header.id)
    yield from _readings(rule, gate, found, f"in {rule.against}", look, evidence)


def _compared(evidence: Evidence) -> ComparedRun:
    store, header = evidence.store, evidence.header
    return replace(read_run(store, header.id), header=header)


def _against_window(
    rule: Regression, gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: Evidence
) -> Iterator[Reading]:
    limits = evidence.limits
    if few := too_little(runs, limits.min_n, min_runs=limits.min_runs, min_n=limits.min_n):
        for name in names:
            yield unknown(rule.label, _subject(gate, name), f"{_subject(gate, name)}: {few}")
        return
    by_sample = gate.pattern in _BY_SAMPLE
    moves = (_by_sample if by_sample else _by_run)(gate, runs, names, evidence)
    found = []
    for name, moved in zip(names, moves, strict=True):
        subject = _subject(gate, name)
        if moved is None:
            why = "this run, or too many of the earlier ones, have no such figure"
            yield unknown(rule.label, subject, f"{subject}: {why}")
        elif moved.n_before < limits.min_n:
            few = too_little(runs, moved.n_before, min_runs=1, min_n=limits.min_n)
            yield unknown(rule.label, subject, f"{subject}: {few}")
        else:
            found.append(moved)
    look = ("steelyard", "compare", runs[0].id, evidence.header.id)
    told = f"in {counted(len(runs), 'earlier run')}"
    yield from _readings(rule, gate, found, told, look, evidence)


def _by_sample(gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: Evidence) -> list[Moved | None]:
    """The figure case by case: what earlier runs came to together, and this one."""
    store, header = evidence.store, evidence.header
    columns = store.columns(header.id)
    table = Table(columns, header.suite)
    pool = Pool(table)
    for run in runs:
        other = Table(store.columns(run.id), run.suite)
        pool.add(other, _values(gate, other))
    values = _values(gate, table)
    found: list[Moved | None] = []
    groups = cut(columns, header.suite, 0).get(gate.factor or "")
    low, high = (0.0, 1.0) if gate.unit != "points" else table.scales.get(gate.subject, (0.0, 1.0))
    everything = np.ones(table.n, dtype=bool)
    for name in names:
        rows = np.arange(table.n)
        if gate.factor:
            known = groups.names if groups is not None else []
            rows = groups.samples_where(known.index(name), everything) if groups and name in known else rows[:0]
        change = pool.change(values, rows, high - low)
        if change.before is None or change.now is None or change.difference.value is None:
            found.append(None)
            continue
        n = (change.n_before, change.n_now)
        floor = least_p(change.difference.n)
        found.append(
            Moved(_subject(gate, name), change.before, change.now, change.difference, change.p, change.test, *n, floor)
        )
    return found


def _values(gate: Gate, table: Table) -> Array:
    if gate.pattern == "pass_rate":
        passed = table.passed().astype(float)
        passed[passed < 0] = np.nan
        return passed
    if gate.pattern == "average":
        return table.score()
    if gate.subject not in table.components:
        return np.full(table.n, np.nan)
    values = table.component(gate.subject)
    if gate.unit == "points":
        return values
    low, high = table.scales[gate.subject]
    return (values - low) / (high - low)


def _by_run(gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: Evidence) -> list[Moved | None]:
    """The figure run by run, for those that no sample has a value of."""
    found: list[Moved | None] = []
    for name in names:
        now = evidence.figure(evidence.header, gate, name)
        earlier = [evidence.figure(run, gate, name) for run in runs]
        before = pooled(earlier)
        if now.value is None or before is None or before.runs < evidence.limits.min_runs:
            found.append(None)
            continue
        difference = Estimate(now.value - before.value, now.n)
        test = f"{before.runs} earlier runs, weighted by n"
        p = chance_of(now, before)
        if is_by_run(gate.metric):
            tested = difference_of_runs([each.value for each in earlier if each.value is not None], [now.value])
            p, test = (None, "too few runs were before it") if tested is None else (tested.p, f"{tested.test}, {test}")
        values, n = (before.value, now.value), (before.n, now.n)
        found.append(Moved(_subject(gate, name), *values, difference, p, test, *n, of="sample"))
    return found


def _readings(
    rule: Regression, gate: Gate, moves: Sequence[Moved], reference: str, look: tuple[str, ...], evidence: Evidence
) -> Iterator[Reading]:
    max_p, declared, several = evidence.settings.max_p, rule.least(gate.unit), len(moves)
    sign = 1.0 if _higher_is_worse(rule, gate, evidence) else -1.0
    for moved, p in zip(moves, holm([each.p for each in moves]), strict=True):
        by, least, of_runs = sign * (moved.now - moved.before), declared, is_by_run(gate.metric)
        if of_runs and not declared:
            least = smallest_that_matters(evidence.header.suite, gate.unit, moved.before)
        if by > 0 and (p is None or moved.smallest_p * several >= max_p):
            few = moved.test if of_runs else f"{counted(moved.difference.n, 'case')} are too few to tell"
            yield unknown(rule.label, moved.subject, f"{moved.subject} is worse than {reference}, and {few}")
            continue
        there = by > 0 and by >= least and p is not None and p < max_p
        yield Reading(
            rule=rule.label,
            subject=moved.subject,
            state=State.THERE if there else State.GONE,
            what=f"{moved.subject} is {'worse' if there else 'not worse beyond noise'} than {reference}",
            how_much=f"{then_and_now(moved.before, moved.now, gate.unit)} {both_n(moved.n_now, moved.n_before)}",
            how_sure=sureness(moved.difference, p, gate.unit, moved.test, several, moved.of),
            look=look,
            size=max(by, 0.0),
        )


def _higher_is_worse(rule: Regression, gate: Gate, evidence: Evidence) -> bool:
    if rule.worse is not None:
        return rule.worse == "higher"
    if gate.pattern in _LOWER_IS_BETTER or gate.pattern.partition(".")[0] in _LOWER_KINDS:
        return True
    component: dict[str, Any] = next((each for each in evidence.components if each["name"] == gate.subject), {})
    declared = {**(component.get("measures") or {}), **(component.get("means") or {})}.get(gate.measure) or {}
    return component.get("kind") == "flag" or declared.get("better") == "lower"
