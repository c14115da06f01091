"""Rules on what got worse, beyond noise: metrics, the judge, latency and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.alerts.evidence import (
    AlertEvidence,
    AlertLevel,
    AlertReading,
    State,
    both_n,
    chance_of,
    pooled,
    rise_in_words,
    sureness,
    then_and_now,
    too_little,
    unknown,
)
from steelyard.alerts.pool import Pool
from steelyard.decide.baselines import baselines, no_baseline
from steelyard.frozen import frozen
from steelyard.loading.alert_reach import is_by_sample
from steelyard.loading.alerts import CostRise, JudgeDrift, LatencyRise, Regression
from steelyard.metrics.expressions import Gate, parse_metric
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table, cut
from steelyard.pairing.against import Against
from steelyard.pairing.by_run import difference_of_runs, is_by_run, smallest_that_matters
from steelyard.pairing.runs import ComparedRun, read_run
from steelyard.records import RunHeader
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import holm, least_p
from steelyard.store.headers import same_load
from steelyard.wording import counted, difference, in_unit, p_text


@frozen
class MovedFigure:
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


def regressions(rule: Regression, evidence: AlertEvidence) -> Iterator[AlertReading]:
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
    # Causes with an open alert are compared with the runs before it, so each may have a window of its own.
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


def _figure(rule: Regression, evidence: AlertEvidence) -> Gate:
    return parse_metric(rule.metric or ("pass_rate" if evidence.header.description.passing else "average"))


def _cause(rule: Regression, subject: str) -> str:
    return AlertReading(rule.label, subject, State.UNKNOWN, "").cause


def _subject(gate: Gate, name: str) -> str:
    return f"{gate.factor}.{name}.{gate.metric}" if gate.factor else gate.metric


def _against_baseline(rule: Regression, gate: Gate, evidence: AlertEvidence) -> Iterator[AlertReading]:
    locks = {lock.name: lock.run_id for lock in baselines(evidence.store, evidence.suite)}
    if rule.against not in locks:
        yield unknown(rule.label, gate.metric, no_baseline(rule.against, evidence.suite, list(locks)))
        return
    store, header = evidence.store, evidence.header
    if locks[rule.against] == header.id:
        yield unknown(rule.label, gate.metric, f"this run is {rule.against} itself")
        return
    against = Against(read_run(store, locks[rule.against]), _compared(evidence))
    results = []
    for name, change in against.changes(replace(gate, baseline=rule.against)).items():
        if gate.factor and name not in evidence.slices(gate):
            continue
        confounded = against.confounded_by(change, gate.factor or "", name)
        subject = _subject(gate, name)
        if confounded:
            yield unknown(rule.label, subject, f"{subject} cannot be compared with {rule.against}: {confounded[0]}")
        elif change.a.value is None or change.b.value is None or change.difference.value is None:
            yield unknown(rule.label, subject, f"{subject}: no sample can be compared with one of {rule.against}")
        else:
            floor = 0.0 if change.df else least_p(change.difference.n)
            n = (change.a.n, change.b.n)
            values = (change.a.value, change.b.value)
            results.append(MovedFigure(subject, *values, change.difference, change.p, change.test, *n, floor))
    look = ("steelyard", "compare", f"@{rule.against}", header.id)
    yield from _readings(rule, gate, results, f"in {rule.against}", look, evidence)


def _compared(evidence: AlertEvidence) -> ComparedRun:
    store, header = evidence.store, evidence.header
    return replace(read_run(store, header.id), header=header)


def _against_window(
    rule: Regression, gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: AlertEvidence
) -> Iterator[AlertReading]:
    limits = evidence.limits
    if few := too_little(runs, limits.min_n, min_runs=limits.min_runs, min_n=limits.min_n):
        for name in names:
            yield unknown(rule.label, _subject(gate, name), f"{_subject(gate, name)}: {few}")
        return
    moves = (_by_sample if is_by_sample(gate) else _by_run)(gate, runs, names, evidence)
    results = []
    for name, moved in zip(names, moves, strict=True):
        subject = _subject(gate, name)
        if moved is None:
            why = "this run, or too many of the earlier ones, have no such figure"
            yield unknown(rule.label, subject, f"{subject}: {why}")
        elif moved.n_before < limits.min_n:
            few = too_little(runs, moved.n_before, min_runs=1, min_n=limits.min_n)
            yield unknown(rule.label, subject, f"{subject}: {few}")
        else:
            results.append(moved)
    look = ("steelyard", "compare", runs[0].id, evidence.header.id)
    message = f"in {counted(len(runs), 'earlier run')}"
    yield from _readings(rule, gate, results, message, look, evidence)


def _by_sample(
    gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: AlertEvidence
) -> list[MovedFigure | None]:
    """The figure case by case: what earlier runs came to together, and this one."""
    store, header = evidence.store, evidence.header
    columns = store.columns(header.id)
    data = RunData(columns, header.description)
    table = data.table
    pool = Pool(table)
    for run in runs:
        other = RunData(store.columns(run.id), run.description)
        pool.add(other.table, gate.of.contributions(other, gate.names).values)
    values = gate.of.contributions(data, gate.names).values
    moveds: list[MovedFigure | None] = []
    groups = cut(columns, header.description, 0).get(gate.factor or "")
    low, high = (0.0, 1.0) if gate.unit != "points" else table.scales.get(gate.subject, (0.0, 1.0))
    everything = np.ones(table.n, dtype=bool)
    for name in names:
        rows = np.arange(table.n)
        if gate.factor:
            available = groups.names if groups is not None else []
            rows = groups.samples_where(available.index(name), everything) if groups and name in available else rows[:0]
        change = pool.change(values, rows, high - low)
        if change.before is None or change.now is None or change.difference.value is None:
            moveds.append(None)
            continue
        figures, n = (change.before, change.now), (change.n_before, change.n_now)
        p, test = change.p, change.test
        moveds.append(MovedFigure(_subject(gate, name), *figures, change.difference, p, test, *n, change.smallest_p))
    return moveds


def _by_run(
    gate: Gate, runs: Sequence[RunHeader], names: Sequence[str], evidence: AlertEvidence
) -> list[MovedFigure | None]:
    """The figure run by run, for those that no sample has a value of."""
    moveds: list[MovedFigure | None] = []
    for name in names:
        now = evidence.figure(evidence.header, gate, name)
        earlier = [evidence.figure(run, gate, name) for run in runs]
        before = pooled(earlier)
        if now.value is None or before is None or before.runs < evidence.limits.min_runs:
            moveds.append(None)
            continue
        difference = Estimate(now.value - before.value, now.n)
        test = f"{before.runs} earlier runs, weighted by n"
        p = chance_of(now, before)
        if is_by_run(gate.metric):
            tested = difference_of_runs([item.value for item in earlier if item.value is not None], [now.value])
            p, test = (None, "too few earlier runs") if tested is None else (tested.p, f"{tested.test}, {test}")
        values, n = (before.value, now.value), (before.n, now.n)
        moveds.append(MovedFigure(_subject(gate, name), *values, difference, p, test, *n, of="sample"))
    return moveds


def _readings(
    rule: Regression,
    gate: Gate,
    moves: Sequence[MovedFigure],
    reference: str,
    look: tuple[str, ...],
    evidence: AlertEvidence,
) -> Iterator[AlertReading]:
    max_p, declared, several = evidence.settings.max_p, rule.least(gate.unit), len(moves)
    sign = 1.0 if _higher_is_worse(rule, gate, evidence) else -1.0
    for moved, p in zip(moves, holm([move.p for move in moves]), strict=True):
        by, least, of_runs = sign * (moved.now - moved.before), declared, is_by_run(gate.metric)
        if of_runs and not declared:
            least = smallest_that_matters(evidence.header.description, gate.unit, moved.before)
        shown = p is not None and p < max_p
        if by > 0 and not shown and (p is None or moved.smallest_p * several >= max_p):
            few = moved.test if of_runs else f"{counted(moved.difference.n, 'case')} are too few to tell"
            yield unknown(rule.label, moved.subject, f"{moved.subject} is worse than {reference}, and {few}")
            continue
        there = by > 0 and by >= least and shown
        yield AlertReading(
            rule=rule.label,
            subject=moved.subject,
            state=State.THERE if there else State.GONE,
            what=f"{moved.subject} is {'worse' if there else 'not worse beyond noise'} than {reference}",
            how_much=f"{then_and_now(moved.before, moved.now, gate.unit)} {both_n(moved.n_now, moved.n_before)}",
            significance=sureness(moved.difference, p, gate.unit, moved.test, several, moved.of),
            look=look,
            size=max(by, 0.0),
        )


def _higher_is_worse(rule: Regression, gate: Gate, evidence: AlertEvidence) -> bool:
    if rule.worse is not None:
        return rule.worse == "higher"
    return gate.of.worse_in(evidence.header.description, gate.names) == "higher"


_SAME_ANSWERS = "same answers"
_HABITS = {
    "broken_rules": "votes that break a binding rule",
    "made_up_quotes": "votes with a quote that is not in the text",
    "contradictions": "votes that the judged answer contradicts",
    "self_contradictions": "votes that contradict themselves",
    "failed": "answers of the judge that cannot be used",
    "disagreement": "texts whose votes are far apart",
}


def judge_drifts(rule: JudgeDrift, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """What the judge's scores of identical answers, and its habits, show."""
    if evidence.header.description.judge is None:
        yield AlertReading(rule.label, _SAME_ANSWERS, State.UNKNOWN, "the suite has no judge")
        return
    yield _on_same_answers(rule, evidence)
    results = [(name, *_habit(name, rule, evidence)) for name in _HABITS]
    adjusted = holm([None if p is None else p for _, _, p in results])
    for (name, reading, _), p in zip(results, adjusted, strict=True):
        yield _judged(name, reading, p, evidence) if isinstance(reading, _Habit) else reading


def _on_same_answers(rule: JudgeDrift, evidence: AlertEvidence) -> AlertReading:
    """Of an answer that is the same to the byte the system has no part in any change."""
    cause = AlertReading(rule.label, _SAME_ANSWERS, State.UNKNOWN, "").cause
    runs, store, header = evidence.window(cause), evidence.store, evidence.header
    limits, max_p = evidence.limits, evidence.settings.max_p
    if few := too_little(runs, limits.min_n, min_runs=limits.min_runs, min_n=limits.min_n):
        return AlertReading(rule.label, _SAME_ANSWERS, State.UNKNOWN, f"the judge on the same answers: {few}")
    table = Table(store.columns(header.id), header.description)
    pool = Pool(table, store.answer_digests(header.id))
    for run in runs:
        other = Table(store.columns(run.id), run.description)
        pool.add(other, other.score(), store.answer_digests(run.id))
    change = pool.change(table.score(), np.arange(table.n))
    n_cases = change.difference.n
    if change.before is None or change.now is None or change.p is None or change.smallest_p >= max_p:
        why = (
            f"only {counted(n_cases, 'case')} have answers identical to those of earlier runs: too few to detect drift"
        )
        return AlertReading(rule.label, _SAME_ANSWERS, State.UNKNOWN, why)
    size = abs(change.now - change.before)
    there = size >= rule.by and size > 0 and change.p < max_p
    return AlertReading(
        rule=rule.label,
        subject=_SAME_ANSWERS,
        state=State.THERE if there else State.GONE,
        what=f"the judge {'scores' if there else 'does not score'} identical answers differently than in"
        f" {counted(len(runs), 'earlier run')}",
        how_much=f"{then_and_now(change.before, change.now, 'score')} on identical answers"
        f" {both_n(change.n_now, change.n_before)}",
        significance=sureness(change.difference, change.p, "score", change.test),
        look=("steelyard", "compare", runs[0].id, header.id),
        level=AlertLevel.WARNING,
        size=size,
    )


class _Habit:
    """How often the judge did something, before and now."""

    def __init__(self, rule: str, now: Estimate, value: float, n: int, runs: Sequence[RunHeader]) -> None:
        self.rule, self.now, self.value, self.n, self.runs = rule, now, value, n, runs


def _habit(name: str, rule: JudgeDrift, evidence: AlertEvidence) -> tuple[_Habit | AlertReading, float | None]:
    runs = evidence.window(AlertReading(rule.label, name, State.UNKNOWN, "").cause)
    now, limits = _share(evidence, evidence.header, name), evidence.limits
    earlier = [_share(evidence, run, name) for run in runs]
    before = pooled(earlier)
    messages = [run for run, item in zip(runs, earlier, strict=True) if item.value is not None]
    n = 0 if before is None else before.n
    if now.value is None:
        return AlertReading(rule.label, name, State.UNKNOWN, f"{_HABITS[name]}: not known for this run"), None
    few = too_little(messages, n, min_runs=limits.min_runs, min_n=limits.min_n)
    if few or before is None:
        return AlertReading(rule.label, name, State.UNKNOWN, f"{_HABITS[name]}: {few}"), None
    return _Habit(rule.label, now, before.value, before.n, messages), chance_of(now, before)


def _share(evidence: AlertEvidence, header: RunHeader, name: str) -> Estimate:
    return evidence.summary(header).overall[f"judge.{name}"]


def _judged(name: str, habit: _Habit, p: float | None, evidence: AlertEvidence) -> AlertReading:
    by = (habit.now.value or 0.0) - habit.value
    if p is None:
        return AlertReading(habit.rule, name, State.UNKNOWN, f"{_HABITS[name]}: cannot tell what is noise")
    there = by > 0 and p < evidence.settings.max_p
    return AlertReading(
        rule=habit.rule,
        subject=name,
        state=State.THERE if there else State.GONE,
        what=f"{_HABITS[name]} are {'more' if there else 'not more beyond noise'} than in"
        f" {counted(len(habit.runs), 'earlier run')}",
        how_much=f"{then_and_now(habit.value, habit.now.value or 0.0, 'share')} {both_n(habit.now.n, habit.n)}",
        significance=f"{p_text(p)} (adjusted for {len(_HABITS)} habits; earlier runs weighted by n)",
        look=("steelyard", "report", evidence.header.id),
        level=AlertLevel.WARNING,
        size=max(by, 0.0),
    )


def latency_rises(rule: LatencyRise, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """Whether answers take longer than under the same load before."""

    def value(run: RunHeader) -> Estimate:
        return evidence.summary(run).overall[rule.metric]

    runs = [run for run in evidence.window(rule.label) if same_load(run, evidence.header)]
    look = ("steelyard", "history", evidence.suite, "--metric", rule.metric)
    yield _rise(rule, rule.metric, "s", [value(run) for run in runs], value(evidence.header), runs, look, evidence)


def cost_rises(rule: CostRise, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """Whether a call costs more than before."""

    name = "cost.total" if rule.metric == "cost" else rule.metric

    def value(run: RunHeader) -> Estimate:
        total = evidence.summary(run).overall[name]
        return Estimate(None, 0) if total.value is None or not total.n else Estimate(total.value / total.n, total.n)

    runs = evidence.window(rule.label)
    look = ("steelyard", "report", evidence.header.id)
    what = f"{rule.metric} of a call"
    yield _rise(rule, what, "cost", [value(run) for run in runs], value(evidence.header), runs, look, evidence)


def _rise(
    rule: LatencyRise | CostRise,
    what: str,
    unit: str,
    earlier: Sequence[Estimate],
    now: Estimate,
    runs: Sequence[RunHeader],
    look: tuple[str, ...],
    evidence: AlertEvidence,
) -> AlertReading:
    before, limits = pooled(earlier), evidence.limits
    if now.value is None:
        return unknown(rule.label, "", f"{what}: not known for this run")
    n = 0 if before is None else before.n
    messages = [run for run, item in zip(runs, earlier, strict=True) if item.value is not None]
    if few := too_little(messages, n, min_runs=limits.min_runs, min_n=limits.min_n):
        return unknown(rule.label, "", f"{what}: {few}")
    tested = difference_of_runs([item.value for item in earlier if item.value is not None], [now.value])
    if before is None or tested is None:
        return unknown(rule.label, "", f"{what}: {len(messages)} earlier runs do not show how much runs vary")
    by, p = now.value - before.value, tested.p
    least = max(rule.by * before.value, smallest_that_matters(evidence.header.description, unit, before.value))
    there = by > 0 and by >= least and p < evidence.settings.max_p
    if now.at_least and not there:
        return unknown(rule.label, "", f"{what}: {in_unit(now.value, unit)}, as calls timed out: it may be higher")
    since = f"than in {counted(before.runs, 'earlier run')}"
    spread = "" if before.spread is None else f"; they lie {difference(before.spread, unit).lstrip('+')} apart (SD)"
    return AlertReading(
        rule=rule.label,
        subject="",
        state=State.THERE if there else State.GONE,
        what=f"{what} is {'higher' if there else 'not higher beyond noise'} {since}",
        how_much=f"{rise_in_words(before.value, now.value, unit)} {both_n(now.n, before.n)}",
        significance=f"{p_text(p)} ({tested.test}; figures of earlier runs weighted by n{spread})",
        look=look,
        size=max(by, 0.0),
    )
