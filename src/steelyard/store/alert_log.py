"""The log of alerts and of the notices that channels got. The database allows one open alert for each cause."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.store.codec import columns_of, from_row, to_row
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.stored_text import to_json, to_stored

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
