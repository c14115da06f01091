"""What the store needs from a database (transactions, statements, bulk inserts, errors a person can act on), and one
SQLite file as such; PostgreSQL is in `postgres`.

SQLite's write-ahead logging lets others read while a run writes. With `synchronous=NORMAL` a committed sample survives
the end of the process in any way (`kill -9` included); a power cut may take the last moments before it, and never
damages what is older.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from steelyard.errors import NO_MORE_FILES, StoreError
from steelyard.store.codec import Row
from steelyard.store.log_base import LogBase
from steelyard.store.schema import SQLITE, Dialect

_Result = TypeVar("_Result")
_Element = TypeVar("_Element")
_Position = TypeVar("_Position")

IN_LIMIT = 500
"""How many values one `IN (...)` takes; older SQLite allows 999 in a statement."""
LONGEST_OUTAGE = 120.0
"""Seconds that a run waits for a server that went away; what is to be written stays in memory meanwhile."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_LONGEST_VACUUM = 30.0
"""Seconds; half of what a process that opens the store meanwhile waits."""
INTACT = "What was stored before is intact."


class Duplicate(StoreError):
    """A row with this key is already there."""


class Unreachable(StoreError):
    """The server does not answer, or let the connection go: the same may succeed later."""


class Session(Protocol):
    """One open transaction. SQL is written with `?` for values."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def stream(self, sql: str, values: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Rows in pieces of `size`, never all at once."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns."""
        ...

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """One statement for each row."""
        ...

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Row], *, unless_there: bool = False) -> None:
        """Add rows in bulk; Duplicate when one is already there, unless such rows are to be passed over."""
        ...


class Database(ABC):
    """One database, with a connection for each thread that uses it."""

    dialect: Dialect
    place: str
    """Where it is, as shown to people: never with a password."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self._all: list[tuple[threading.Thread, Any]] = []
        self._guard = threading.Lock()
        self._closed = False
        self.outlasts = False
        """True while a run writes: then a server that goes away is waited for."""
        self.note: Callable[[str], None] = lambda _text: None
        """Told that a server does not answer and is waited for, and that it answers again."""
        self._gave_up = False
        self._tries = 0

    @abstractmethod
    def connect(self) -> Any:
        """A new connection of the driver."""

    @abstractmethod
    def session(self, connection: Any) -> Session: ...

    @abstractmethod
    def usable(self, connection: Any) -> bool:
        """False when the connection is lost and a new one must be made."""

    @abstractmethod
    def explained(self, error: Exception) -> StoreError | None:
        """The driver's error as one that says what to do; None when it is not the driver's."""

    @abstractmethod
    def holds_tables(self, session: Session) -> bool:
        """True when this is a store already; False when it is empty; StoreError when it is something else's."""

    @abstractmethod
    def prepare(self, session: Session) -> None:
        """Whatever comes before the first table, alone among all processes until the transaction ends."""

    def damage(self) -> str:
        """What is wrong with the database itself when it gave something that cannot be; "" when nothing is."""
        return ""

    def refuse_lost(self) -> None:  # noqa: B027 - a server's tables do not go away under a connection
        """StoreError when what was just committed is not where the store is any more."""

    @abstractmethod
    def begin_writing(self, session: Session) -> Any:
        """Open a transaction. Gives what `is_kept` knows it by; None where nobody will ask."""

    def writing_alone(self) -> AbstractContextManager[Session]:
        """A short transaction in which no other process writes, and which sees all that others wrote before."""
        return self.writing()

    @contextmanager
    def unchecked_references(self) -> Iterator[None]:
        """A block in which this thread deletes rows without a search for rows that refer to them: no index helps to
        find these, so that each row would take a search of a whole table."""
        yield

    def shrink(self) -> str:
        """Give the room of deleted rows back, unless another process has the database open; gives why it did not."""
        return ""

    def size(self) -> int | None:
        """The bytes of its files; None where only the server knows."""
        return None

    def keep_highest_number(self, session: Session) -> None:  # noqa: B027 - a server counts by itself
        """Note the highest number that a run ever had, before runs are deleted."""

    def unused_number(self, session: Session) -> int | None:  # noqa: ARG002 - a server counts by itself
        """The number of the next run where the database would give that of a deleted one again; readers that are open
        know runs by it."""
        return None

    @abstractmethod
    def begin_reading(self, session: Session) -> None:
        """Open a transaction that sees the database as it is now, whatever others write."""

    def is_kept(self, transaction: Any) -> bool:  # noqa: ARG002 - a file always answers
        """Whether a transaction was kept whose commit got no answer; StoreError, and not Unreachable, when nobody can
        tell."""
        return False

    def outlast(self, work: Callable[[], _Result]) -> _Result:
        """What `work` gives: a transaction that, while a run writes, is made again when the server goes away in it.

        A transaction that was kept although its answer was lost is not made twice: `is_kept` is asked first.
        """
        began = time.monotonic()
        while True:
            try:
                return work()
            except Unreachable as error:
                if not self.outlasts:
                    raise
                if self._gave_up or time.monotonic() - began > LONGEST_OUTAGE:
                    raise StoreError(
                        f"{error}. Once it answers again, go on with --resume, or start the same command again"
                    ) from error
            time.sleep(_FIRST_WAIT)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that is kept when the block ends and undone when it raises."""
        with self._transaction(self.begin_writing) as session:
            yield session
        self.refuse_lost()

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction."""
        return getattr(self._mine, "session", None) is not None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One consistent view, whatever others write meanwhile; inside another transaction of this thread, that one."""
        if (outer := getattr(self._mine, "session", None)) is not None:
            yield outer
            return
        with self._transaction(self.begin_reading) as session:
            yield session

    @contextmanager
    def _transaction(self, begin: Callable[[Session], Any]) -> Iterator[Session]:
        try:
            connection, session, transaction = self._started(begin)
            self._mine.session = session
            try:
                yield session
                self._commit(session, transaction)
            except BaseException:
                self._undo(connection, session)
                raise
            finally:
                self._mine.session = None
        except StoreError:
            raise
        except Exception as error:
            explained = self.explained(error)
            if (
                explained is None
                and isinstance(error, (ValueError, LookupError, TypeError))
                and (message := self.damage())
            ):
                explained = StoreError(message)
            if explained is None:
                raise
            raise explained from error

    def _commit(self, session: Session, transaction: Any) -> None:
        try:
            session.execute("COMMIT")
        except Exception as error:
            if transaction is None or not isinstance(self.explained(error), Unreachable):
                raise
            # The answer is lost, and perhaps the commit is not.
            self._mine.__dict__.clear()
            if not self.is_kept(transaction):
                raise

    def _started(self, begin: Callable[[Session], Any]) -> tuple[Any, Session, Any]:
        """A transaction that is open. A connection that was lost while nobody used it is made anew; while a run writes,
        a server that is gone is waited for: nothing has been done yet, so that nothing can be done twice."""
        wait, began, tries = _FIRST_WAIT, time.monotonic(), 0
        while True:
            try:
                connection = self._connection()
                session = self.session(connection)
                transaction = begin(session)
            except Exception as error:
                if not isinstance(self.explained(error), Unreachable) or self._gave_up:
                    raise
                if time.monotonic() - began > LONGEST_OUTAGE or (tries and not self.outlasts):
                    self._gave_up = self.outlasts
                    raise
                self._mine.connection = None
                if tries:
                    # Said once, however many threads wait.
                    if tries > self._tries:
                        self._tries = tries
                        self.note(f"{self.dialect.label} does not answer: waiting, try {tries}")
                    time.sleep(wait)
                    wait = min(2 * wait, _LONGEST_WAIT)
                tries += 1
            else:
                if self._tries:
                    self._tries = 0
                    self.note(f"{self.dialect.label} answers again")
                return connection, session, transaction

    def _undo(self, connection: Any, session: Session) -> None:
        try:
            session.execute("ROLLBACK")
        except Exception as error:
            # A full disk has already rolled back, a lost connection cannot: neither hides the first error.
            if self.explained(error) is None:
                raise
            if not self.usable(connection) and getattr(self._mine, "connection", None) is connection:
                self._mine.__dict__.clear()

    def _connection(self) -> Any:
        if self._closed:
            raise StoreError(f"{self.place}: the store is closed")
        connection = getattr(self._mine, "connection", None)
        if connection is None or not self.usable(connection):
            connection = self._mine.connection = self.connect()
            with self._guard:
                self._drop_dead_threads()
                self._all.append((threading.current_thread(), connection))
        return connection

    def _drop_dead_threads(self) -> None:
        for thread, connection in self._all:
            if not thread.is_alive():
                connection.close()
        self._all = [(thread, connection) for thread, connection in self._all if thread.is_alive()]

    def close(self) -> None:
        """Close every thread's connection; no thread may be using one."""
        with self._guard:
            self._closed = True
            for _thread, connection in self._all:
                connection.close()
            self._all.clear()


def placeholders(values: Sequence[Any]) -> str:
    """`?, ?, ?` for as many values."""
    return ", ".join("?" * len(values))


def pages_of(
    read: Callable[[_Position], tuple[list[_Element], _Position]], start: _Position
) -> Iterator[list[_Element]]:
    """Every page of what `read` gives after a position, with the last position of the page; the first is after
    `start`."""
    page, position = read(start)
    while page:
        yield page
        page, position = read(position)


def in_pieces(values: Iterable[Any], size: int = IN_LIMIT) -> Iterator[list[Any]]:
    """The values in lists that one `IN (...)` can take."""
    piece: list[Any] = []
    for value in values:
        piece.append(value)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece


NO_ROWS = "SELECT * FROM {table} LIMIT 0"


def column_names(cursor: Any) -> tuple[str, ...]:
    """The names of the columns of a driver's result."""
    return tuple(column[0] for column in cursor.description)


APPLICATION_ID = 0x5354_4C59
"""Marks the file as a Steelyard store, so that nobody else's database is taken for one."""

_IN_MEMORY = Path(":memory:")
_ROWS_A_STATEMENT = (64, 16, 4, 1)


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

    def columns(self, table: str) -> tuple[str, ...]:
        return column_names(self._connection.execute(NO_ROWS.format(table=table)))

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(sql, rows)

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Row], *, unless_there: bool = False) -> None:
        # Many rows a statement: Python's lock is let go and fought for once each, not once a row, and the event loop
        # of a run has it meanwhile.
        start = 0
        for size in _ROWS_A_STATEMENT:
            sql = _sqlite_insert(table, columns, size, unless_there)
            while len(rows) - start >= size:
                piece = rows[start : start + size]
                self._connection.execute(sql, [value for row in piece for value in row])
                start += size


@cache
def _sqlite_insert(table: str, columns: tuple[str, ...], n_rows: int, unless_there: bool) -> str:
    marks = ", ".join([f"({', '.join('?' * len(columns))})"] * n_rows)
    end = " ON CONFLICT DO NOTHING" if unless_there else ""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {marks}{end}"  # noqa: S608 - names from our own schema


OWN_FOLDER = ".steelyard"


class SqliteDatabase(Database):
    """The file at `path`; waits up to `patience` seconds for another writer."""

    dialect = SQLITE

    def __init__(self, path: Path, *, create: bool = True, busy_timeout: float = 60.0) -> None:
        super().__init__()
        self.path = path
        self.place = str(path)
        self._busy_timeout = busy_timeout
        self._file: tuple[int, int] | None = None
        self._log_base: LogBase | None = None
        if not create and not path.exists():
            raise StoreError(f"there is no store at {path} yet: `steelyard run` makes it")
        made = path.parent.name == OWN_FOLDER and not path.parent.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if made:
                # Answers may be private, and a database is nothing to merge: a repository leaves it out.
                (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"the folder {path.parent} cannot be made: {error.strerror}. {_CHOOSE}") from error
        if path != _IN_MEMORY:
            self._log_base = LogBase(path)
            if path.is_file():
                self._log_base.refuse_foreign()

    def connect(self) -> sqlite3.Connection:
        # Connections stay with their thread; only close() reaches over, when no thread is left using them.
        connection = sqlite3.connect(
            self._address(), timeout=self._busy_timeout, isolation_level=None, check_same_thread=False, uri=True
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
            if self._log_base is not None:
                self._log_base.record()
            return
        raise StoreError(
            f"{self.place} was deleted or replaced while it was written to: nothing that was written since is"
            f" stored. Bring the file back, or run again"
        )

    def damage(self) -> str:
        try:
            problems = [str(row[0]) for row in self._connection().execute("PRAGMA quick_check(3)")]
        except sqlite3.Error as error:
            problems = [str(error)]
        return "" if problems == ["ok"] else f"{self.place} {_DAMAGED} ({'; '.join(problems)[:300]})"

    def session(self, connection: sqlite3.Connection) -> Session:
        return SqliteSession(connection)

    def begin_writing(self, session: Session) -> None:
        session.execute("BEGIN IMMEDIATE")
        if self._log_base is not None and self._log_base.is_new:
            # Writes the first page, with its counter, and nothing else.
            session.execute(f"PRAGMA user_version = {session.execute('PRAGMA user_version')[0][0]}")
            self._log_base.is_new = False

    def close(self) -> None:
        super().close()
        if self._log_base is not None:
            self._log_base.close()

    def begin_reading(self, session: Session) -> None:
        session.execute("BEGIN")

    @contextmanager
    def unchecked_references(self) -> Iterator[None]:
        connection = self._connection()
        connection.execute("PRAGMA foreign_keys = OFF")
        try:
            yield
        finally:
            connection.execute("PRAGMA foreign_keys = ON")

    def shrink(self) -> str:
        connection = self._connection()
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            # A file leaves write-ahead logging only while nobody else has it open.
            connection.execute("PRAGMA journal_mode = DELETE")
            deadline = time.monotonic() + _LONGEST_VACUUM
            # Called every few milliseconds, so that Ctrl-C also ends it; an unfinished VACUUM changes nothing.
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
            connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            reasons = {
                sqlite3.SQLITE_BUSY: "another process has the store open",
                sqlite3.SQLITE_INTERRUPT: f"that would lock the store for more than {_LONGEST_VACUUM:g} s",
                sqlite3.SQLITE_FULL: "the disk has no room for a second copy of it",
            }
            return reasons.get(_primary_code(error), str(error))
        finally:
            connection.set_progress_handler(None, 0)
            connection.execute(f"PRAGMA busy_timeout = {int(1_000 * self._busy_timeout)}")
            self.use_write_ahead_log()
        return ""

    def keep_highest_number(self, session: Session) -> None:
        # In the head of the file.
        session.execute(f"PRAGMA user_version = {max(_numbers(session))}")

    def size(self) -> int | None:
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def unused_number(self, session: Session) -> int | None:
        highest, ever = _numbers(session)
        return ever + 1 if ever > highest else None

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
        deadline = time.monotonic() + self._busy_timeout
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
            return kind(f"{self.place} refused to write: {error}. {INTACT}")
        reason = _SQLITE_REASONS.get(_primary_code(error))
        if _primary_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR) and _no_files_left():
            return StoreError(f"{self.place} cannot be opened: {NO_MORE_FILES}. {INTACT}")
        if _primary_code(error) in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_ERROR) and (damage := self.damage()):
            return StoreError(damage)
        if "decode" in str(error):
            # Nothing but UTF-8 is ever written.
            return StoreError(f"{self.place} {_DAMAGED} ({error})")
        if reason is None:
            return StoreError(f"{self.place}: {error}")
        return StoreError(f"{self.place} {reason.format(busy_timeout=self._busy_timeout)}")


def _numbers(session: Session) -> tuple[int, int]:
    """The highest number of a run, and the highest that a run had when some were deleted."""
    highest = session.execute("SELECT max(number) FROM runs")[0][0]
    return int(highest or 0), int(session.execute("PRAGMA user_version")[0][0])


def _no_files_left() -> bool:
    """Whether this process may open no more files: SQLite only reports that it cannot open one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _primary_code(error: sqlite3.Error) -> int:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


_CHOOSE = "Choose another place with STEELYARD_STORE or --store"
_DAMAGED = (
    "is damaged and was left as it is. Move it away and import your snapshots (`steelyard import`), or try"
    " `sqlite3 FILE .recover`"
)
_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: f"cannot grow: the disk is full. {INTACT} Make room and go on with --resume",
    sqlite3.SQLITE_IOERR: f"cannot be read or written: the disk reports an error, or is full. {INTACT}",
    sqlite3.SQLITE_READONLY: f"cannot be written: the file or its folder is read-only. {INTACT} {_CHOOSE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened: the folder is not there or not yours to write. {_CHOOSE}",
    sqlite3.SQLITE_PERM: f"cannot be opened: it is not yours to read or write. {_CHOOSE}",
    sqlite3.SQLITE_NOTADB: f"is not a Steelyard store: the file is no SQLite database. It was left as it is. {_CHOOSE}",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_BUSY: f"is locked by another process for longer than {{busy_timeout:g}} s. {INTACT} Try again when "
    "that process is done",
    sqlite3.SQLITE_LOCKED: f"is locked by another reader in this process. {INTACT}",
}
