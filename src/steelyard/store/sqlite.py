"""A store in one SQLite file.

Write-ahead logging lets others read while a run writes. With `synchronous=NORMAL` a committed sample survives the end
of the process in any way (`kill -9` included); a power cut may take the last moments before it, and never damages what
is older.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from steelyard.errors import StoreError
from steelyard.store.database import Database, Duplicate, Row, Session
from steelyard.store.schema import SQLITE

APPLICATION_ID = 0x5354_4C59
"""Marks the file as a Steelyard store, so that nobody else's database is taken for one."""

_IN_MEMORY = Path(":memory:")
_ROWS_A_STATEMENT = (64, 16, 4, 1)
_INTACT = "What was stored before is intact."


class SqliteSession:
    """A transaction on one connection of `sqlite3`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def stream(self, sql: str, values: Sequence[Any], size: int) -> Iterator[list[Row]]:
        cursor = self._connection.execute(sql, values)
        while rows := cursor.fetchmany(size):
            yield rows

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(sql, rows)

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Row], *, unless_there: bool = False) -> None:
        # Many rows a statement: Python's lock is let go and fought for once each, not once a row, and the event loop
        # of a run has it meanwhile.
        start = 0
        for size in _ROWS_A_STATEMENT:
            sql = _insert_sql(table, columns, size, unless_there)
            while len(rows) - start >= size:
                piece = rows[start : start + size]
                self._connection.execute(sql, [value for row in piece for value in row])
                start += size


@cache
def _insert_sql(table: str, columns: tuple[str, ...], n_rows: int, unless_there: bool) -> str:
    marks = ", ".join([f"({', '.join('?' * len(columns))})"] * n_rows)
    end = " ON CONFLICT DO NOTHING" if unless_there else ""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {marks}{end}"  # noqa: S608 - names from our own schema


class SqliteDatabase(Database):
    """The file at `path`; waits up to `patience` seconds for another writer."""

    dialect = SQLITE
    begin_writing = "BEGIN IMMEDIATE"

    def __init__(self, path: Path, *, create: bool = True, patience: float = 60.0) -> None:
        super().__init__()
        self.path = path
        self.place = str(path)
        self._patience = patience
        self._file: tuple[int, int] | None = None
        if not create and not path.exists():
            raise StoreError(f"there is no store at {path} yet: `steelyard run` makes it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {path.parent} cannot be made: {error.strerror}. {_CHOOSE}") from error

    def connect(self) -> sqlite3.Connection:
        # Connections stay with their thread; only close() reaches over, when no thread is left using them.
        connection = sqlite3.connect(
            self._address(), timeout=self._patience, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -2000")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @property
    def read_only(self) -> bool:
        """True when the file, or the folder that its log must stand in, is not ours to write."""
        mine = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
        return self.path.exists() and not all(
            os.access(place, os.W_OK, **mine) for place in (self.path, self.path.parent)
        )

    def _address(self) -> str:
        if self.path == _IN_MEMORY:
            return str(self.path)
        address = f"file:{quote(str(self.path.absolute()))}"
        if not self.read_only:
            return address
        # Without a log beside it nobody writes it: SQLite then needs no file of its own to read it.
        return f"{address}?mode=ro" + ("" if Path(f"{self.path}-wal").exists() else "&immutable=1")

    def refuse_lost(self) -> None:
        if self.path == _IN_MEMORY:
            return
        try:
            now = self.path.stat()
        except OSError:
            now = None
        if now is not None and self._file in (None, (now.st_dev, now.st_ino)):
            self._file = (now.st_dev, now.st_ino)
            return
        raise StoreError(
            f"{self.place} was deleted or replaced while it was written to: nothing that was written since is kept."
            " Bring the file back, or run again"
        )

    def damage(self) -> str:
        try:
            problems = [str(row[0]) for row in self._connection().execute("PRAGMA quick_check(3)")]
        except sqlite3.Error as error:
            problems = [str(error)]
        return "" if problems == ["ok"] else f"{self.place} {_DAMAGED} ({'; '.join(problems)[:300]})"

    def session(self, connection: sqlite3.Connection) -> Session:
        return SqliteSession(connection)

    def usable(self, connection: sqlite3.Connection) -> bool:  # noqa: ARG002 - a file is never lost like a server
        return True

    def holds_tables(self, session: Session) -> bool:
        if not session.execute("SELECT 1 FROM sqlite_master LIMIT 1"):
            return False
        if session.execute("PRAGMA application_id")[0][0] != APPLICATION_ID:
            raise StoreError(f"{self.place} is an SQLite database of something else, not a Steelyard store. {_CHOOSE}")
        return True

    def prepare(self, session: Session) -> None:
        session.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def use_write_ahead_log(self) -> None:
        """Switch the file to write-ahead logging, which stays with the file."""
        if self.read_only:
            return
        # SQLite does not wait by itself when two processes switch a new file at the same moment.
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connection().execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise self.explained(error) or error from error
                time.sleep(0.02)

    def explained(self, error: Exception) -> StoreError | None:
        if not isinstance(error, sqlite3.Error):
            return None
        if isinstance(error, sqlite3.IntegrityError):
            kind = Duplicate if "UNIQUE" in str(error) else StoreError
            return kind(f"{self.place} refused to write: {error}. {_INTACT}")
        reason = _REASONS.get(_primary_code(error))
        if _primary_code(error) in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_ERROR) and (damage := self.damage()):
            return StoreError(damage)
        if "decode" in str(error):
            # Nothing but UTF-8 is ever written.
            return StoreError(f"{self.place} {_DAMAGED} ({error})")
        if reason is None:
            return StoreError(f"{self.place}: {error}")
        return StoreError(f"{self.place} {reason.format(patience=self._patience)}")


def _primary_code(error: sqlite3.Error) -> int:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


_CHOOSE = "Choose another place with STEELYARD_STORE or --store"
_DAMAGED = (
    "is damaged and was left as it is. Move it away and import your snapshots (`steelyard import`), or try"
    " `sqlite3 FILE .recover`"
)
_REASONS = {
    sqlite3.SQLITE_FULL: f"cannot grow: the disk is full. {_INTACT} Make room and go on with --resume",
    sqlite3.SQLITE_IOERR: f"cannot be read or written: the disk reports an error, or is full. {_INTACT}",
    sqlite3.SQLITE_READONLY: f"cannot be written: the file or its folder is read-only. {_INTACT} {_CHOOSE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened: the folder is not there or not yours to write. {_CHOOSE}",
    sqlite3.SQLITE_PERM: f"cannot be opened: it is not yours to read or write. {_CHOOSE}",
    sqlite3.SQLITE_NOTADB: f"is not a Steelyard store: the file is no SQLite database. It was left as it is. {_CHOOSE}",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_BUSY: f"is locked by another process for longer than {{patience:g}} s. {_INTACT} Try again when "
    "that process is done",
    sqlite3.SQLITE_LOCKED: f"is locked by another reader in this process. {_INTACT}",
}
