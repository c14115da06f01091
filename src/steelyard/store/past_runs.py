"""Runs as the reports of later ones count them, and what is left of those that were deleted."""

from __future__ import annotations

import time
from collections.abc import Iterable

from steelyard.records import PastRun, RunHeader, RunState, TargetFacts
from steelyard.store.codec import columns_of, from_row, to_row
from steelyard.store.databases import Session
from steelyard.store.stored_text import to_stored
from steelyard.suite.case import digest

_WITHOUT = {"suite": "'{}'"}
_OF_TARGET = f"""
SELECT {", ".join(_WITHOUT.get(name, name) for name in columns_of(RunHeader))} FROM runs
WHERE target_digest = ? ORDER BY number
"""  # noqa: S608 - our own names
_DELETED = f"SELECT {', '.join(columns_of(PastRun))} FROM deleted_runs"  # noqa: S608 - our own names


def past_run(header: RunHeader, deleted_at: float | None = None) -> PastRun:
    """A run as later ones count it."""
    facts, ended = header.options, header.state is RunState.ENDED
    plan = facts.ab or facts.experiment
    return PastRun(
        id=header.id,
        suite_name=header.suite_name,
        created_at=header.created_at,
        verdict=("without gates" if header.verdict is None else header.verdict.value) if ended else header.state.value,
        signature=header.signature,
        criteria=facts.criteria,
        source=header.rescored_from or facts.answers_of or "",
        judged_again=facts.answers_of is not None and header.rescored_from is None,
        plan="" if plan is None else plan.id,
        experiment="" if facts.experiment is None else facts.experiment.name,
        deleted_at=deleted_at,
    )


def runs_of_target(session: Session, target: TargetFacts) -> list[PastRun]:
    """Every run of a target, oldest first, and then those that were deleted."""
    name = digest(target.to_data())
    stored = [past_run(from_row(RunHeader, row)) for row in session.execute(_OF_TARGET, (name,))]
    rows = session.execute(f"{_DELETED} WHERE target_digest = ? ORDER BY number", (name,))
    ids = {run.id for run in stored}
    # A run that was brought back is there, and not deleted.
    return stored + [run for row in rows if (run := from_row(PastRun, row)).id not in ids]


def keep_deleted(session: Session, headers: Iterable[RunHeader]) -> None:
    """Note that runs were deleted now."""
    moment = time.time()
    rows = [(digest(header.target.to_data()), *to_row(past_run(header, moment))) for header in headers]
    session.insert("deleted_runs", ("target_digest", *columns_of(PastRun)), rows, unless_there=True)


def deleted_runs(session: Session, suite: str | None) -> list[PastRun]:
    """The runs that were deleted, those of a suite or all, in the order of their deletion."""
    where, values = ("", []) if suite is None else ("WHERE suite_name = ?", [to_stored(suite)])
    return [from_row(PastRun, row) for row in session.execute(f"{_DELETED} {where} ORDER BY number", values)]
