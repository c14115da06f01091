"""Locking and removing baselines, and the lines of their log."""

from __future__ import annotations

import time
from typing import Any

from steelyard.analysis.stored import summary_of
from steelyard.decide.verdict import decide
from steelyard.errors import UsageError
from steelyard.metrics.expressions import baseline_name_problem, is_relative
from steelyard.records import Mode, RunHeader, RunState, Verdict
from steelyard.store.base import Store
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.headers import is_partial


def set_baseline(
    store: Store, run: RunHeader, name: str, *, by: str, reason: str = "", force: bool = False
) -> BaselineEntry:
    """Lock a run under a name of its suite, in the place of what had the name before.

    UsageError when the run is no sound reading, unless it is forced with a reason.
    """
    if wrong := baseline_name_problem(name):
        raise UsageError(wrong)
    if force and not reason.strip():
        raise UsageError('--force requires --reason "...": the log records why')
    doubts = why_unsound(store, run)
    if doubts and not force:
        message = "".join(f"\n  - {doubt}" for doubt in doubts)
        raise UsageError(
            f'run {run.id} cannot be a baseline:{message}\nChoose another run, or override with --force --reason "..."'
        )
    entry = BaselineEntry(
        suite_name=run.suite_name,
        name=name,
        run_id=run.id,
        made_at=time.time(),
        made_by=by,
        reason=reason.strip(),
        forced=bool(doubts),
        signature=run.signature,
    )
    store.log_baseline(entry)
    return entry


def why_unsound(store: Store, run: RunHeader) -> list[str]:
    """Why nothing should be compared with a run: it is not finished, INVALID, AMBIGUOUS, suspect or partial.

    What its gates relative to other baselines come to has no part in it: the first baseline has none before it.
    """
    if run.state is not RunState.ENDED:
        return [f"it has not ended: it is {run.state.value}"]
    gates = tuple(gate for gate in run.description.gates if not is_relative(gate))
    absolute = run.description.model_copy(update={"gates": gates})
    summary = summary_of(store, run)
    decision = decide(summary, absolute, state=run.state, suspect=run.suspect, gone=run.options.broken)
    message = "it covers only a part of the suite, or other cases (see its report); the rest would have no baseline"
    partial = [message] if is_partial(run) else []
    if decision.verdict in (Verdict.INVALID, Verdict.AMBIGUOUS):
        return partial + [f"it is {decision.verdict.value}: {reason}" for reason in decision.reasons]
    return partial + [f"it is suspect: {reason}" for reason in run.suspect]


def anchors_kept(run: RunHeader) -> int:
    """How many answers of a run, which it keeps with the scores of its judge, later runs let their judge read again."""
    judge = run.description.judge
    if judge is None or judge.mode not in (Mode.MODEL, Mode.BASIC):
        return 0
    return min(run.description.limits.anchors, run.n_planned)


def remove_baseline(store: Store, lock: BaselineEntry, *, by: str, reason: str) -> BaselineEntry:
    """Take the name away from its run; the log keeps both."""
    if not reason.strip():
        raise UsageError('give --reason "...": the log records why a baseline was removed')
    entry = BaselineEntry(
        suite_name=lock.suite_name,
        name=lock.name,
        run_id=lock.run_id,
        made_at=time.time(),
        made_by=by,
        reason=reason.strip(),
        removed=True,
        signature=lock.signature,
    )
    store.log_baseline(entry)
    return entry


def entry_data(entry: BaselineEntry) -> dict[str, Any]:
    """One line of the log as plain data."""
    return {
        "suite": entry.suite_name,
        "name": entry.name,
        "run": entry.run_id,
        "made_at": entry.made_at,
        "by": entry.made_by,
        "reason": entry.reason or None,
        "removed": entry.removed,
        "forced": entry.forced,
        "signature": entry.signature.to_data(),
    }
