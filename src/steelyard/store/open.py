"""Opens the store that a URL, the environment or the working folder names."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.errors import StoreError
from steelyard.store.databases import Database, PostgresDatabase, SqliteDatabase
from steelyard.store.schema import migrate
from steelyard.store.sql import SqlStore

DEFAULT = Path(".steelyard") / "steelyard.db"
VARIABLE = "STEELYARD_STORE"


def open_store(url: str | None = None, *, create: bool = True) -> SqlStore:
    """The store at `url`: a path, `sqlite:///path` or `postgresql://...`.

    Without one it is what $STEELYARD_STORE names, else `.steelyard/steelyard.db` in the working folder. With
    `create=False` a store that is not there yet is an error instead of a new file.
    """
    place = url or os.environ.get(VARIABLE) or str(DEFAULT)
    database = _database(place, create=create)
    try:
        migrate(database, create=create)
        if isinstance(database, SqliteDatabase):
            database.use_write_ahead_log()
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _database(place: str, *, create: bool) -> Database:
    scheme, separator, rest = place.partition("://")
    if not separator:
        return SqliteDatabase(Path(place), create=create)
    if scheme == "sqlite":
        return SqliteDatabase(Path(rest.removeprefix("/")), create=create)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(place)
    raise StoreError(f"a store cannot be of the kind {scheme}://: give a file path or postgresql://user@host/database")
