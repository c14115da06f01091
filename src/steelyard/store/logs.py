"""What is written down beside the runs: which run a baseline's name has stood for, which runs were deleted, which
alerts were raised, and the answers of samples that are not complete yet.

Lines of the logs of baselines and of deleted runs are added, never changed. The database itself allows one open alert
for each cause.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from steelyard.errors import RunNotFound
from steelyard.frozen import frozen
from steelyard.records import BASELINE_SIGN, PastRun, RunHeader, RunState, Signature, TargetFacts
from steelyard.store.codec import columns_of, from_row, from_stored, to_json, to_row, to_stored
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.suite.case import digest

_BASELINES = """
SELECT b.suite_name, b.name, r.id, b.made_at, b.made_by, b.reason, b.removed, b.forced, b.signature
FROM baselines b JOIN runs r ON r.number = b.run
"""


@frozen
class BaselineEntry:
    """One line of the log: a name was given to a run of its suite, or taken away from it."""

    suite_name: str
    name: str
    run_id: str
    made_at: float
    made_by: str
    reason: str = ""
    removed: bool = False
    forced: bool = False
    """True when the run was locked although it is INVALID, suspect or partial."""
    signature: Signature = Signature()
    """The run's, when it was locked."""


def keep_baseline(session: Session, entry: BaselineEntry, run: int) -> None:
    """Add a line; `run` is the run's number."""
    values = dict(zip(columns_of(BaselineEntry), to_row(entry), strict=True))
    del values["run_id"]
    session.insert("baselines", ("run", *values), [(run, *values.values())])


def baseline_entries(session: Session, suite: str | None) -> list[BaselineEntry]:
    """The log, oldest line first: of one suite, or of all."""
    where, values = ("", []) if suite is None else ("WHERE b.suite_name = ?", [to_stored(suite)])
    return [from_row(BaselineEntry, row) for row in session.execute(f"{_BASELINES} {where} ORDER BY b.number", values)]


def standing(entries: Iterable[BaselineEntry]) -> dict[tuple[str, str], BaselineEntry]:
    """By suite and name, the lock that holds: the newest line, unless it is a removal."""
    newest = {(entry.suite_name, entry.name): entry for entry in entries}
    return {key: entry for key, entry in sorted(newest.items()) if not entry.removed}


def run_behind(session: Session, name: str) -> str | None:
    """The id of the run that a baseline stands for, by `release`, `@release` or `@suite/release`; None when none does.

    RunNotFound when the name may mean several, or when it is written as a baseline and there is none.
    """
    written, asked = name.startswith(BASELINE_SIGN), name.removeprefix(BASELINE_SIGN)
    locks = standing(baseline_entries(session, None))
    suite, _, alone = asked.rpartition("/")
    results = [lock for lock in locks.values() if lock.name == asked or (lock.suite_name, lock.name) == (suite, alone)]
    if len(results) == 1:
        return results[0].run_id
    if results:
        names = ", ".join(f"{BASELINE_SIGN}{lock.suite_name}/{lock.name}" for lock in results)
        raise RunNotFound(f"several suites have a baseline {asked!r}: write one of {names}")
    if not written:
        return None
    there = ", ".join(f"{BASELINE_SIGN}{lock.name} (of {lock.suite_name})" for lock in locks.values())
    message = f"there are: {there}" if there else "there is none yet"
    raise RunNotFound(
        f"no baseline {asked!r}: {message}. Lock one: steelyard baseline set RUN --name {asked or 'release'}"
    )


# ---- runs as the reports of later ones count them, and what is left of those that were deleted


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


@frozen
class OnlineReading:
    """One time that the outcomes of an online experiment were read."""

    experiment: str
    read_at: float
    n: int
    """Units with an outcome."""
    decided: str
    plan: dict[str, Any] = field(default_factory=dict)
    """The experiment's file as it was, without what decides nothing."""


def keep_reading(session: Session, reading: OnlineReading) -> None:
    """Add a line to the log."""
    session.insert("readings", columns_of(OnlineReading), [to_row(reading)])


def readings_of(session: Session, experiment: str) -> list[OnlineReading]:
    """The readings of an experiment, oldest first."""
    sql = f"SELECT {', '.join(columns_of(OnlineReading))} FROM readings WHERE experiment = ? ORDER BY number"  # noqa: S608
    return [from_row(OnlineReading, row) for row in session.execute(sql, (to_stored(experiment),))]


SENT, FAILED, SKIPPED = "sent", "failed", "skipped"
"""What becomes of a notice on a channel."""

_OPENED = ("suite_name", "cause", "opened_run", "opened_at", "seen_run", "content")
_ALERTS = """
SELECT a.number, a.suite_name, a.cause, o.id, o.created_at, a.opened_at, s.id, s.created_at, c.id, a.closed_at,
       a.content, a.ending
FROM alerts a JOIN runs o ON o.number = a.opened_run JOIN runs s ON s.number = a.seen_run
LEFT JOIN runs c ON c.number = a.closed_run
"""
_ENDING_UNHEARD = f"""
{_ALERTS} WHERE a.suite_name = ? AND a.closed_at IS NOT NULL
AND NOT EXISTS (
    SELECT 1 FROM alerts later
    WHERE later.suite_name = a.suite_name AND later.cause = a.cause AND later.number > a.number
)
AND EXISTS (
    SELECT 1 FROM deliveries told WHERE told.alert = a.number AND told.notice = 'raised' AND told.state <> 'failed'
    AND NOT EXISTS (
        SELECT 1 FROM deliveries ended
        WHERE ended.alert = a.number AND ended.channel = told.channel
        AND ended.notice = 'closed' AND ended.state <> 'failed'
    )
)
ORDER BY a.number
"""  # noqa: S608 - our own words
_CLOSE = """
UPDATE alerts SET closed_run = ?, closed_at = ?, ending = ?, seen_run = ? WHERE number = ? AND closed_at IS NULL
"""


@frozen
class AlertRecord:
    """An alert as the store keeps it: which run raised it, which saw it last, and which found its cause gone."""

    number: int
    suite_name: str
    cause: str
    """What tells it from every other of its suite: the rule and what the rule found."""
    opened_run: str
    opened_run_at: float
    """When that run was begun."""
    opened_at: float
    seen_run: str
    """The newest run in which the cause was looked for and found; of a closed alert, in which it was gone."""
    seen_run_at: float
    closed_run: str | None
    closed_at: float | None
    content: dict[str, Any]
    """The notice when it was raised."""
    ending: dict[str, Any] | None = None
    """The notice when it was closed."""

    @property
    def is_open(self) -> bool:
        """Whether its cause is there still, as far as anybody knows."""
        return self.closed_at is None


@frozen
class Delivery:
    """What became of one notice of an alert on one channel."""

    alert: int
    notice: str
    """raised, or closed."""
    channel: str
    state: str
    tries: int
    sent_at: float
    detail: str = ""
    """Why it failed; "" when it did not."""


_DELIVERED = f"""
INSERT INTO deliveries ({", ".join(columns_of(Delivery))}) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (alert, notice, channel) DO UPDATE SET
    state = excluded.state, tries = deliveries.tries + excluded.tries, sent_at = excluded.sent_at,
    detail = excluded.detail
"""  # noqa: S608 - our own words


def open_alert(session: Session, suite: str, cause: str, run: int, content: dict[str, Any]) -> AlertRecord | None:
    """Add an open alert; None when there is one for the same cause. `run` is the run's number."""
    key = (to_stored(suite), to_stored(cause))
    where = "WHERE a.suite_name = ? AND a.cause = ? AND a.closed_at IS NULL"
    if session.execute(f"{_ALERTS} {where}", key):
        return None
    session.insert("alerts", _OPENED, [(*key, run, time.time(), run, to_json(content))])
    return from_row(AlertRecord, session.execute(f"{_ALERTS} {where}", key)[0])


def see_alerts(session: Session, numbers: Sequence[int], run: int) -> None:
    """Note the run as the newest that found these causes."""
    for piece in in_pieces(numbers):
        sql = f"UPDATE alerts SET seen_run = ? WHERE closed_at IS NULL AND number IN ({placeholders(piece)})"  # noqa: S608
        session.execute(sql, (run, *piece))


def close_alert(session: Session, number: int, run: int, ending: dict[str, Any], lock_rows: str) -> bool:
    """Close an alert; False when somebody else has. `lock_rows` is how the database keeps others from its row."""
    is_open = f"SELECT 1 FROM alerts WHERE number = ? AND closed_at IS NULL{lock_rows}"  # noqa: S608 - our own words
    if not session.execute(is_open, (number,)):
        return False
    session.execute(_CLOSE, (run, time.time(), to_json(ending), run, number))
    return True


def alerts_of(session: Session, suite: str | None, *, closed: bool) -> list[AlertRecord]:
    """The alerts of a suite, or of all, oldest first."""
    asked = [] if closed else ["a.closed_at IS NULL"]
    asked += [] if suite is None else ["a.suite_name = ?"]
    where = f"WHERE {' AND '.join(asked)}" if asked else ""
    rows = session.execute(f"{_ALERTS} {where} ORDER BY a.number", [] if suite is None else [to_stored(suite)])
    return [from_row(AlertRecord, row) for row in rows]


def unheard_endings(session: Session, suite: str) -> list[AlertRecord]:
    """Closed alerts whose end did not reach a channel that was told of them; not those whose cause came again."""
    return [from_row(AlertRecord, row) for row in session.execute(_ENDING_UNHEARD, (to_stored(suite),))]


def keep_deliveries(session: Session, deliveries: Sequence[Delivery]) -> None:
    """Add what became of notices; tries of the same notice on the same channel add up."""
    session.many(_DELIVERED, [to_row(delivery) for delivery in deliveries])


def deliveries_of(session: Session, alerts: Sequence[int]) -> list[Delivery]:
    """What became of every notice of these alerts, by alert."""
    deliveries: list[Delivery] = []
    for piece in in_pieces(alerts):
        where = f"WHERE alert IN ({placeholders(piece)}) ORDER BY alert, sent_at, channel"
        rows = session.execute(f"SELECT {', '.join(columns_of(Delivery))} FROM deliveries {where}", piece)  # noqa: S608
        deliveries += [from_row(Delivery, row) for row in rows]
    return deliveries


# ---- paid-for answers of samples that are not complete yet: a run that is killed asks for none of them twice


_JOURNAL = """
INSERT INTO journal (run, key, content) VALUES (?, ?, ?)
ON CONFLICT (run, key) DO UPDATE SET content = excluded.content
"""
_JOURNALLED = "SELECT key, content FROM journal WHERE run = ?"


def keep_entries(session: Session, run: int, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Keep each entry under its key, in the place of an older one."""
    session.many(_JOURNAL, [(run, to_stored(key), to_json(content)) for key, content in entries])


def entries_of(session: Session, run: int, keys: Iterable[str] | None) -> dict[str, dict[str, Any]]:
    """The entries of a run, or those of them that have one of the keys."""
    if keys is None:
        rows = session.execute(_JOURNALLED, (run,))
    else:
        pieces = in_pieces({to_stored(key) for key in keys})
        rows = [
            row
            for piece in pieces
            for row in session.execute(f"{_JOURNALLED} AND key IN ({placeholders(piece)})", (run, *piece))
        ]
    return {from_stored(key): json.loads(content) for key, content in rows}


def forget_entries(session: Session, run: int, keys: Iterable[str] | None) -> None:
    """Drop the entries of a run, or those of them that have one of the keys."""
    if keys is None:
        session.execute("DELETE FROM journal WHERE run = ?", (run,))
    else:
        session.many("DELETE FROM journal WHERE run = ? AND key = ?", [(run, to_stored(key)) for key in keys])
