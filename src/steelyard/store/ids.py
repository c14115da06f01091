"""Names of runs: making new ones, and finding a run by what a person types."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from steelyard.errors import RunNotFound
from steelyard.records import RunHeader
from steelyard.store.baselines import run_behind
from steelyard.store.database import Row, Session
from steelyard.store.rows import RUN_COLUMNS, header_from
from steelyard.store.text import from_stored, to_stored
from steelyard.suite.baseline_names import BASELINE_SIGN

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LAST = re.compile(r"LAST(?:~(\d{1,9}))?")
_NEWEST = "ORDER BY created_at DESC, number DESC"
_SELECT = f"SELECT {', '.join(RUN_COLUMNS)} FROM runs"  # noqa: S608 - our own column names


def new_run_id(suite_name: str, now: float) -> str:
    """A name such as `faces-20270131-201135-k3f9`: readable, sorted by time (UTC) within a suite, and unique."""
    slug = re.sub(r"[^a-z0-9]+", "-", suite_name.lower()).strip("-") or "run"
    tail = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{slug}-{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{tail}"


def find_run(session: Session, name: str, place: str) -> RunHeader:
    """The run that `name` means: its id, a unique beginning of it, LAST, LAST~1, ..., or a baseline.

    A baseline is written `@release`; `release` alone does where no run's name begins so.
    """
    if last := _LAST.fullmatch(name):
        rows = session.execute(f"{_SELECT} {_NEWEST} LIMIT 1 OFFSET ?", (int(last[1] or 0),))
        return _only(session, rows, name, place)
    if name.startswith(BASELINE_SIGN):
        return _by_id(session, run_behind(session, name) or "", name, place)
    rows = session.execute(f"{_SELECT} WHERE id = ?", (to_stored(name),))
    if not rows and name:
        stored = to_stored(name)
        start = f"{_SELECT} WHERE substr(id, 1, ?) = ? {_NEWEST} LIMIT 6"
        rows = session.execute(start, (len(stored), stored))
    if not rows and name and (behind := run_behind(session, name)) is not None:
        return _by_id(session, behind, name, place)
    return _only(session, rows, name, place)


def _by_id(session: Session, run_id: str, name: str, place: str) -> RunHeader:
    return _only(session, session.execute(f"{_SELECT} WHERE id = ?", (to_stored(run_id),)), name, place)


def list_runs(session: Session, suite: str | None, limit: int | None) -> list[RunHeader]:
    """Runs, newest first."""
    where, values = ("", []) if suite is None else ("WHERE suite_name = ?", [to_stored(suite)])
    end = "" if limit is None else f"LIMIT {int(limit)}"
    return [header_from(row) for row in session.execute(f"{_SELECT} {where} {_NEWEST} {end}", values)]


def _only(session: Session, rows: list[Row], name: str, place: str) -> RunHeader:
    if len(rows) == 1:
        return header_from(rows[0])
    if rows:
        names = ", ".join(from_stored(row[0]) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise RunNotFound(f"{name!r} begins the names of several runs: {names}. Type more of it")
    raise run_not_found(session, name, place)


def run_not_found(session: Session, name: str, place: str) -> RunNotFound:
    """The error for a name that no run has, with the names that would have worked."""
    newest = session.execute(f"SELECT id FROM runs {_NEWEST} LIMIT 5")  # noqa: S608 - our own words
    if not newest:
        return RunNotFound(f"no run {name!r}: {place} holds no runs yet. Make one: steelyard run SUITE")
    n = session.execute("SELECT count(*) FROM runs")[0][0]
    names = ", ".join(from_stored(row[0]) for row in newest)
    return RunNotFound(f"no run {name!r} in {place}. The newest of {n}: {names}")
