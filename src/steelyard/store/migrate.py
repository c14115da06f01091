"""Brings a database to the schema this version knows, one recorded step after the other."""

from __future__ import annotations

import time

from steelyard.errors import StoreError
from steelyard.store.database import Database, Session
from steelyard.store.schema import MIGRATIONS

_TABLE = """CREATE TABLE migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at {real} NOT NULL
)"""


def migrate(database: Database, *, create: bool) -> None:
    """Apply what is missing; StoreError, and nothing touched, when the database is newer or somebody else's."""
    with database.reading() as session:
        exists = database.holds_tables(session)
        applied = _applied(session) if exists else 0
    _refuse_newer(database, applied)
    if not exists and not create:
        raise StoreError(f"{database.place} holds no runs yet: `steelyard run` makes the first one")
    if applied == len(MIGRATIONS):
        return
    with database.writing() as session:
        database.prepare(session)
        # Another process may have been faster between the look above and the lock.
        if not database.holds_tables(session):
            session.execute(_TABLE.format(real=database.dialect.real))
        applied = _applied(session)
        _refuse_newer(database, applied)
        for number, migration in enumerate(MIGRATIONS[applied:], start=applied + 1):
            migration(session.execute, database.dialect)
            session.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, migration.__name__, time.time()))


def _applied(session: Session) -> int:
    number = session.execute("SELECT max(number) FROM migrations")[0][0]
    return 0 if number is None else int(number)


def _refuse_newer(database: Database, applied: int) -> None:
    if applied > len(MIGRATIONS):
        raise StoreError(
            f"{database.place} was written by a newer Steelyard: its schema is version {applied}, this one knows up to "
            f"{len(MIGRATIONS)}. Nothing was changed. Upgrade Steelyard (pip install -U steelyard) or choose another "
            "store with STEELYARD_STORE"
        )
