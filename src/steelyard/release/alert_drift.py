"""Judge drift: the same judge reads the same answers otherwise, or keeps its own rules less than it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import holm, least_p
from steelyard.analysis.pooled import Pool
from steelyard.analysis.table import Table
from steelyard.records import RunHeader
from steelyard.release.alert_causes import Level, Reading, State
from steelyard.release.alert_evidence import Evidence
from steelyard.release.alert_window import chance_of, pooled, too_little
from steelyard.release.alert_words import both_n, counted, p_in_words, sureness, then_and_now
from steelyard.suite.alert_rules import JudgeDrift

_SAME_ANSWERS = "same answers"
_HABITS = {
    "broken_rules": "ballots that break a binding rule",
    "made_up_quotes": "ballots with a quote that is not in the text",
    "contradictions": "ballots that what was judged shows to be wrong",
    "failed": "answers of the judge that cannot be used",
    "disagreement": "texts on which its readings lie far apart",
}


def judge_drifts(rule: JudgeDrift, evidence: Evidence) -> Iterator[Reading]:
    """What identical answers and the judge's habits say of it."""
    if not evidence.header.suite.get("judge"):
        yield Reading(rule.label, _SAME_ANSWERS, State.UNKNOWN, "the suite has no judge")
        return
    yield _on_same_answers(rule, evidence)
    found = [(name, *_habit(name, rule, evidence)) for name in _HABITS]
    adjusted = holm([None if p is None else p for _, _, p in found])
    for (name, reading, _), p in zip(found, adjusted, strict=True):
        yield _judged(name, reading, p, evidence) if isinstance(reading, _Habit) else reading


def _on_same_answers(rule: JudgeDrift, evidence: Evidence) -> Reading:
    """Of an answer that is the same to the byte the system has no part in any change."""
    cause = Reading(rule.label, _SAME_ANSWERS, State.UNKNOWN, "").cause
    runs, store, header = evidence.window(cause), evidence.store, evidence.header
    limits, max_p = evidence.limits, evidence.settings.max_p
    if few := too_little(runs, limits.min_n, min_runs=limits.min_runs, min_n=limits.min_n):
        return Reading(rule.label, _SAME_ANSWERS, State.UNKNOWN, f"the judge on the same answers: {few}")
    table = Table(store.columns(header.id), header.suite)
    pool = Pool(table, store.answer_digests(header.id))
    for run in runs:
        other = Table(store.columns(run.id), run.suite)
        pool.add(other, other.score(), store.answer_digests(run.id))
    change = pool.change(table.score(), np.arange(table.n))
    n_cases = change.difference.n
    if change.before is None or change.now is None or change.p is None or least_p(n_cases) >= max_p:
        why = (
            f"answers of {counted(n_cases, 'case')} came in earlier runs to the byte: too few to tell whether it drifts"
        )
        return Reading(rule.label, _SAME_ANSWERS, State.UNKNOWN, why)
    size = abs(change.now - change.before)
    there = size >= rule.by and size > 0 and change.p < max_p
    return Reading(
        rule=rule.label,
        subject=_SAME_ANSWERS,
        state=State.THERE if there else State.GONE,
        what=f"the judge {'reads' if there else 'does not read'} the same answers otherwise than in"
        f" {counted(len(runs), 'earlier run')}",
        how_much=f"{then_and_now(change.before, change.now, 'score')} on answers that are the same to the byte"
        f" {both_n(change.n_now, change.n_before)}",
        how_sure=sureness(change.difference, change.p, "score", change.test),
        look=("steelyard", "compare", runs[0].id, header.id),
        level=Level.WARNING,
        size=size,
    )


class _Habit:
    """How often the judge did something, before and now."""

    def __init__(self, rule: str, now: Estimate, value: float, n: int, runs: Sequence[RunHeader]) -> None:
        self.rule, self.now, self.value, self.n, self.runs = rule, now, value, n, runs


def _habit(name: str, rule: JudgeDrift, evidence: Evidence) -> tuple[_Habit | Reading, float | None]:
    runs = evidence.window(Reading(rule.label, name, State.UNKNOWN, "").cause)
    now, limits = _share(evidence.header, name), evidence.limits
    earlier = [_share(run, name) for run in runs]
    before = pooled(earlier)
    told = [run for run, each in zip(runs, earlier, strict=True) if each.value is not None]
    n = 0 if before is None else before.n
    if now.value is None:
        return Reading(rule.label, name, State.UNKNOWN, f"{_HABITS[name]}: this run does not tell"), None
    few = too_little(told, n, min_runs=limits.min_runs, min_n=limits.min_n)
    if few or before is None:
        return Reading(rule.label, name, State.UNKNOWN, f"{_HABITS[name]}: {few}"), None
    return _Habit(rule.label, now, before.value, before.n, told), chance_of(now, before)


def _share(header: RunHeader, name: str) -> Estimate:
    told = ((header.summary or {}).get("judge") or {}).get(name) or {}
    return Estimate(
        told.get("value"), told.get("n") or 0, told.get("n_missing") or 0, told.get("low"), told.get("high")
    )


def _judged(name: str, habit: _Habit, p: float | None, evidence: Evidence) -> Reading:
    by = (habit.now.value or 0.0) - habit.value
    if p is None:
        return Reading(habit.rule, name, State.UNKNOWN, f"{_HABITS[name]}: nobody can tell what is noise")
    there = by > 0 and p < evidence.settings.max_p
    return Reading(
        rule=habit.rule,
        subject=name,
        state=State.THERE if there else State.GONE,
        what=f"{_HABITS[name]} are {'more' if there else 'not more beyond noise'} than in"
        f" {counted(len(habit.runs), 'earlier run')}",
        how_much=f"{then_and_now(habit.value, habit.now.value or 0.0, 'share')} {both_n(habit.now.n, habit.n)}",
        how_sure=f"{p_in_words(p)} (adjusted for {len(_HABITS)} habits; earlier runs weighted by n)",
        look=("steelyard", "report", evidence.header.id),
        level=Level.WARNING,
        size=max(by, 0.0),
    )
