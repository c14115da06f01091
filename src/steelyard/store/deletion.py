"""Runs deleted for good, while other processes write.

One short transaction takes the runs out of `runs`, so that nothing finds them any more, and notes them in `deletions`.
Their rows are then deleted in small transactions, with pauses in which others write. A deletion that was stopped at any
point is finished by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import field
from typing import Any

from steelyard.frozen import slotted
from steelyard.records import RunHeader
from steelyard.store.baseline_log import baseline_entries, standing
from steelyard.store.codec import Row
from steelyard.store.copy import OF_A_RUN
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.past_runs import keep_deleted
from steelyard.store.schema import Dialect
from steelyard.store.sql import SqlStore
from steelyard.store.stored_text import from_stored, to_stored

_LABELLED = (
    "SELECT run FROM labels WHERE run IS NOT NULL UNION SELECT other_run FROM labels WHERE other_run IS NOT NULL"
)
_ALERTED = "SELECT opened_run, seen_run FROM alerts WHERE closed_at IS NULL"
_TAKEN = """
SELECT DISTINCT run, call_run FROM samples WHERE run IN ({runs}) AND call_run <> run
UNION SELECT DISTINCT run, judge_run FROM judgements WHERE run IN ({runs}) AND judge_run <> run
"""
_ONLY_THERE = """
SELECT sum({size}) FROM cases WHERE (id, hash) IN (
    SELECT case_id, case_hash FROM samples WHERE run IN ({runs})
    EXCEPT SELECT case_id, case_hash FROM samples WHERE run NOT IN ({runs})
)
"""
_CASES_OF = "SELECT DISTINCT case_id, case_hash FROM samples WHERE run = ? AND seq BETWEEN ? AND ?"
_USED = "SELECT DISTINCT case_id, case_hash FROM samples WHERE run IN ({runs}) AND case_id IN ({cases})"
_ALERT_RUNS = ("opened_run", "seen_run", "closed_run")
_KEYS = {"layouts": "number", "journal": "key", "stored_columns": "name", "figures": "metric", "summaries": "run"}
"""What tells the rows of a run apart in a table; in all others it is `seq`."""
_FIRST_STEP, _MIN_STEP, _MAX_STEP = 100, 5, 5_000
"""Rows per transaction; `samples` and what belongs to them have several rows per `seq`."""
_LONG = 0.1
"""Seconds that a transaction should take at most: others wait for it."""
_PAUSE = 0.02
_RUNS_AT_ONCE = 10


@slotted
class RunSize:
    """A run that can be deleted, and about how much room it takes."""

    run: str
    samples: int
    bytes: int


@slotted
class Deletion:
    """What can be deleted of the runs that were asked for, and why the others are left."""

    runs: list[RunSize] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    """By run."""
    cases: int = 0
    """Bytes of the cases that no other run has."""
    freed: int | None = None
    """Bytes that the store became smaller by; None before it was done, and where only the server knows."""
    not_shrunk: str = ""
    """Why the file did not become smaller; "" when it did, or where there is no file."""

    @property
    def bytes(self) -> int:
        """About how much room they take, without indexes."""
        return self.cases + sum(item.bytes for item in self.runs)


GoesOn = Callable[[RunHeader], bool]
"""Whether a run is under way."""


def plan_deletion(store: SqlStore, run_ids: Collection[str], goes_on: GoesOn) -> Deletion:
    """What deleting these runs would do."""
    with store.database.reading() as session:
        numbers, left = _deletable(session, store.runs(), run_ids, goes_on)
        dialect, cases = store.database.dialect, 0
        sizes = [_size_of(session, dialect, run_id, number) for run_id, number in numbers.items()]
        for piece in in_pieces(numbers.values()):
            sql = _ONLY_THERE.format(size=dialect.bytes_of.format("content"), runs=placeholders(piece))
            cases += session.execute(sql, (*piece, *piece))[0][0] or 0
        return Deletion(sizes, left, int(cases))


def unfinished_deletions(store: SqlStore) -> list[str]:
    """The ids of deleted runs some of whose rows are still stored: their deletion was stopped, or is under way."""
    with store.database.reading() as session:
        return [from_stored(row[0]) for row in session.execute("SELECT id FROM deletions ORDER BY run")]


def delete_runs(store: SqlStore, planned: Deletion, goes_on: GoesOn) -> Deletion:
    """Delete the planned runs, with all that only they need, and log what they were; then finish earlier deletions.

    Those that must stay by now are left. From the first transaction on, no run is seen in part: it is there or not.
    """
    with store.database.unchecked_references():
        return _delete(store, planned, goes_on)


def _delete(store: SqlStore, planned: Deletion, goes_on: GoesOn) -> Deletion:
    database, before = store.database, store.database.size()
    with database.writing_alone() as session:
        headers = store.runs()
        # Checked again where nobody else can write: a label may have come meanwhile, or somebody resumed a run.
        numbers, left = _deletable(session, headers, [item.run for item in planned.runs], goes_on)
        keep_deleted(session, [header for header in headers if header.id in numbers])
        database.keep_highest_number(session)
        for piece in in_pieces(numbers.items()):
            _take_out(session, piece)
    deleted = Deletion([item for item in planned.runs if item.run in numbers], planned.left | left, planned.cases)
    _finish(store)
    deleted.not_shrunk, after = database.shrink(), database.size()
    deleted.freed = None if before is None or after is None else max(0, before - after)
    return deleted


def _deletable(
    session: Session, headers: Collection[RunHeader], run_ids: Collection[str], goes_on: GoesOn
) -> tuple[dict[str, int], dict[str, str]]:
    """The numbers of those that can go, by id, and why the others stay."""
    numbers = {from_stored(run_id): number for run_id, number in session.execute("SELECT id, number FROM runs")}
    ids = {number: run_id for run_id, number in numbers.items()}
    log = baseline_entries(session, None)
    stay = {entry.run_id: f"the log of baselines names it ({entry.name})" for entry in log}
    stay |= {entry.run_id: f"it is the baseline {entry.name}" for entry in standing(log).values()}
    stay |= {ids[row[0]]: "people have labelled its answers" for row in session.execute(_LABELLED) if row[0]}
    stay |= {ids[run]: "an alert that is open names it" for row in session.execute(_ALERTED) for run in row}
    stay |= {header.id: "it is under way" for header in headers if goes_on(header)}
    needed = _needed_by(session, headers, numbers, ids)
    run_ids = [run_id for run_id in run_ids if run_id in numbers]
    left: dict[str, str] = {}
    wanted = dict.fromkeys(run_ids)
    while True:
        why = {run_id: stay[run_id] for run_id in wanted if run_id in stay}
        for run_id in wanted:
            others = sorted(needed.get(run_id, set()) - set(wanted))
            if others:
                why.setdefault(run_id, f"run {others[0]} stands on its answers")
        if not why:
            return {run_id: numbers[run_id] for run_id in wanted}, left
        left |= why
        wanted = {run_id: None for run_id in wanted if run_id not in why}


def _needed_by(
    session: Session, headers: Collection[RunHeader], numbers: dict[str, int], ids: dict[int, str]
) -> dict[str, set[str]]:
    """By run, the others that are made of its answers."""
    needed: dict[str, set[str]] = {}
    for header in headers:
        facts = header.options
        retried = None if facts.retried is None else facts.retried.run
        for source in {header.rescored_from, facts.answers_of, facts.resumed_from, retried} - {None}:
            needed.setdefault(str(source), set()).add(header.id)
    users = [numbers[run_id] for users in needed.values() for run_id in users]
    for piece in in_pieces(set(users)):
        sql = _TAKEN.format(runs=placeholders(piece))
        for user, source in session.execute(sql, (*piece, *piece)):
            needed.setdefault(ids[source], set()).add(ids[user])
    return needed


def _size_of(session: Session, dialect: Dialect, run_id: str, number: int) -> RunSize:
    samples = session.execute("SELECT count(*) FROM samples WHERE run = ?", (number,))[0][0]
    total = 0
    for table, key in (*((table, "run") for table in OF_A_RUN), ("runs", "number")):
        sizes = " + ".join(f"coalesce({dialect.bytes_of.format(name)}, 0)" for name in session.columns(table))
        sql = f"SELECT sum({sizes}) FROM {table} WHERE {key} = ?"  # noqa: S608 - names from our own schema
        total += session.execute(sql, (number,))[0][0] or 0
    return RunSize(run_id, int(samples), int(total))


def _take_out(session: Session, runs: list[tuple[str, int]]) -> None:
    """Take runs out of `runs`, with what names them beside their own rows."""
    session.insert("deletions", ("run", "id"), [(number, to_stored(run_id)) for run_id, number in runs])
    numbers = [number for _, number in runs]

    def delete(table: str, *columns: str, where: str = "") -> None:
        of_runs = " OR ".join(f"{name} IN ({placeholders(numbers)})" for name in columns)
        sql = f"DELETE FROM {table} WHERE {where or '{}'}"  # noqa: S608 - names from our own schema
        session.execute(sql.format(of_runs), [number for _ in columns for number in numbers])

    for table in ("label_queue", "label_plans"):
        delete(table, "run", "other_run")
    delete("deliveries", *_ALERT_RUNS, where="alert IN (SELECT number FROM alerts WHERE {})")
    delete("alerts", *_ALERT_RUNS)
    delete("runs", "number")


def _finish(store: SqlStore) -> None:
    """Delete the rows of all runs in `deletions`."""
    with store.database.reading() as session:
        numbers = [row[0] for row in session.execute("SELECT run FROM deletions ORDER BY run")]
    for number in numbers:
        for table in reversed(OF_A_RUN):
            _empty(store, table, number)
        with store.database.writing() as session:
            session.execute("DELETE FROM deletions WHERE run = ?", (number,))


def _empty(store: SqlStore, table: str, run: int) -> None:
    """Delete the rows of a run from a table, some in each transaction and fewer where that takes long."""
    key, step = _KEYS.get(table, "seq"), _FIRST_STEP
    of_run = f"FROM {table} WHERE run = ?"
    writing: Callable[..., Any] = store.database.writing_alone if table == "samples" else store.database.writing
    while True:
        began = time.monotonic()
        with writing() as session:
            keys = session.execute(f"SELECT {key} {of_run} ORDER BY {key} LIMIT ?", (run, step))
            if not keys:
                return
            ends = (run, keys[0][0], keys[-1][0])
            cases = session.execute(_CASES_OF, ends) if table == "samples" else []
            session.execute(f"DELETE {of_run} AND {key} BETWEEN ? AND ?", ends)
            _drop_unused(session, cases)
        took = time.monotonic() - began
        step = max(_MIN_STEP, step // 2) if took > _LONG else min(_MAX_STEP, step * 2) if took < _LONG / 4 else step
        # Who waits for the file looks for it now and then: it must be free about as long as it was taken.
        time.sleep(max(_PAUSE, took))


def _drop_unused(session: Session, cases: Collection[Row]) -> None:
    """Delete those of the cases that no run has."""
    unused = set(cases)
    # The newest runs first: mostly they have the same cases.
    runs = [row[0] for row in session.execute("SELECT number FROM runs ORDER BY number DESC")] if unused else []
    for some in in_pieces(runs, _RUNS_AT_ONCE):
        for piece in in_pieces(sorted({case_id for case_id, _ in unused})):
            sql = _USED.format(runs=placeholders(some), cases=placeholders(piece))
            unused -= set(session.execute(sql, (*some, *piece)))
        if not unused:
            return
    session.many("DELETE FROM cases WHERE id = ? AND hash = ?", sorted(unused))
