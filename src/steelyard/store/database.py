"""What the store needs from a database: transactions, statements, bulk inserts, and errors a person can act on."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from steelyard.errors import StoreError
from steelyard.store.schema import Dialect

Row = tuple[Any, ...]

IN_LIMIT = 500
"""How many values one `IN (...)` takes; older SQLite allows 999 in a statement."""


LONGEST_OUTAGE = 120.0
"""Seconds that a run waits for a server that went away; what is to be written stays in memory meanwhile."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


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
        self.gave_up = False
        """True once it was gone for so long that nothing waits for it any more."""

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

    begin_writing = "BEGIN"
    begin_reading = "BEGIN"

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that is kept when the block ends and undone when it raises."""
        with self._transaction(self.begin_writing) as session:
            yield session
        self.refuse_lost()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One consistent view, whatever others write meanwhile; inside another transaction of this thread, that one."""
        if (outer := getattr(self._mine, "session", None)) is not None:
            yield outer
            return
        with self._transaction(self.begin_reading) as session:
            yield session

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        try:
            connection, session = self._begun(begin)
            self._mine.session = session
            try:
                yield session
                session.execute("COMMIT")
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
                and (told := self.damage())
            ):
                explained = StoreError(told)
            if explained is None:
                raise
            raise explained from error

    def _begun(self, begin: str) -> tuple[Any, Session]:
        """A transaction that is open. A connection that was lost while nobody used it is made anew; while a run writes,
        a server that is gone is waited for: nothing has been done yet, so that nothing can be done twice."""
        wait, began, tried = _FIRST_WAIT, time.monotonic(), False
        while True:
            try:
                connection = self._connection()
                session = self.session(connection)
                session.execute(begin)
            except Exception as error:
                if not isinstance(self.explained(error), Unreachable) or self.gave_up:
                    raise
                if time.monotonic() - began > LONGEST_OUTAGE or (tried and not self.outlasts):
                    self.gave_up = self.outlasts
                    raise
                self._mine.connection = None
                if tried:
                    time.sleep(wait)
                    wait = min(2 * wait, _LONGEST_WAIT)
                tried = True
            else:
                return connection, session

    def _undo(self, connection: Any, session: Session) -> None:
        try:
            session.execute("ROLLBACK")
        except Exception as error:
            # A full disk has already rolled back, a lost connection cannot: neither hides the first error.
            if self.explained(error) is None:
                raise
            if not self.usable(connection):
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
