"""Runs as rows: found by name, listed, and written."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime

from steelyard.errors import RunNotFound, StoreError
from steelyard.records import BASELINE_SIGN, RunHeader
from steelyard.store import baseline_log
from steelyard.store.codec import Row, columns_of, from_row, to_row
from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.stored_text import from_stored, to_stored
from steelyard.suite.case import digest

RUN_COLUMNS = (*columns_of(RunHeader), "target_digest")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LAST = re.compile(r"LAST(?:~(\d{1,9}))?")
_NEWEST = "ORDER BY created_at DESC, number DESC"


def new_run_id(suite_name: str, now: float) -> str:
    """A name such as `faces-20270131-201135-k3f9`: readable, sorted by time (UTC) within a suite, and unique."""
    slug = re.sub(r"[^a-z0-9]+", "-", suite_name.lower()).strip("-") or "run"
    tail = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{slug}-{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{tail}"


def numbers_of(session: Session, run_ids: Iterable[str]) -> dict[int, str]:
    """The ids of those runs that there are, by number."""
    numbers: dict[int, str] = {}
    for piece in in_pieces(map(to_stored, run_ids)):
        sql = f"SELECT number, id FROM runs WHERE id IN ({placeholders(piece)})"  # noqa: S608 - our own names
        numbers |= {number: from_stored(run_id) for number, run_id in session.execute(sql, piece)}
    return numbers


_SELECT = f"SELECT {', '.join(RUN_COLUMNS)} FROM runs"  # noqa: S608 - our own column names


def run_by_id(session: Session, run_id: str, name: str, place: str) -> RunHeader:
    """The run of that id; RunNotFound, with the `name` that was asked for, when there is none."""
    return _only(session, session.execute(f"{_SELECT} WHERE id = ?", (to_stored(run_id),)), name, place)


def _header_from(row: Row) -> RunHeader:
    try:
        return from_row(RunHeader, row[:-1])
    except (AttributeError, TypeError, ValueError) as error:
        raise StoreError(
            f"run {row[0]} was stored by a development version of Steelyard and cannot be read ({error}):"
            " choose another store with STEELYARD_STORE"
        ) from error


def _only(session: Session, rows: list[Row], name: str, place: str) -> RunHeader:
    if len(rows) == 1:
        return _header_from(rows[0])
    if rows:
        names = ", ".join(from_stored(row[0]) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise RunNotFound(f"{name!r} begins the names of several runs: {names}. Type more of it")
    raise run_not_found(session, name, place)


def find_run(session: Session, name: str, place: str) -> RunHeader:
    """The run that `name` means: its id, a unique beginning of it, LAST, LAST~1, ..., or a baseline.

    A baseline is written `@release`; `release` alone does where no run's name begins so.
    """
    if last := _LAST.fullmatch(name):
        rows = session.execute(f"{_SELECT} {_NEWEST} LIMIT 1 OFFSET ?", (int(last[1] or 0),))
        return _only(session, rows, name, place)
    if name.startswith(BASELINE_SIGN):
        return run_by_id(session, baseline_log.run_behind(session, name) or "", name, place)
    rows = session.execute(f"{_SELECT} WHERE id = ?", (to_stored(name),))
    if not rows and name:
        stored = to_stored(name)
        start = f"{_SELECT} WHERE substr(id, 1, ?) = ? {_NEWEST} LIMIT 6"
        rows = session.execute(start, (len(stored), stored))
    if not rows and name and (contributing := baseline_log.run_behind(session, name)) is not None:
        return run_by_id(session, contributing, name, place)
    return _only(session, rows, name, place)


def list_runs(session: Session, suite: str | None, limit: int | None) -> list[RunHeader]:
    """Runs, newest first."""
    where, values = ("", []) if suite is None else ("WHERE suite_name = ?", [to_stored(suite)])
    end = "" if limit is None else f"LIMIT {int(limit)}"
    return [_header_from(row) for row in session.execute(f"{_SELECT} {where} {_NEWEST} {end}", values)]


def run_row(header: RunHeader) -> Row:
    """A header as a row of RUN_COLUMNS."""
    return (*to_row(header), digest(header.target.to_data()))


def run_not_found(session: Session, name: str, place: str) -> RunNotFound:
    """The error for a name that no run has, with the names that would have worked."""
    newest = session.execute(f"SELECT id FROM runs {_NEWEST} LIMIT 5")  # noqa: S608 - our own words
    if not newest:
        return RunNotFound(f"no run {name!r}: {place} holds no runs yet. Make one: steelyard run SUITE")
    n = session.execute("SELECT count(*) FROM runs")[0][0]
    names = ", ".join(from_stored(row[0]) for row in newest)
    return RunNotFound(f"no run {name!r} in {place}. The newest of {n}: {names}")
