"""A PostgreSQL database behind the store, in a schema of its own so that it can be shared with others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from steelyard.errors import MissingExtra, StoreError
from steelyard.store.codec import Row
from steelyard.store.databases import INTACT, NO_ROWS, Database, Duplicate, Session, Unreachable, column_names
from steelyard.store.schema import POSTGRES

if TYPE_CHECKING:
    import psycopg

SCHEMA = "steelyard"
_MIGRATION_LOCK = 0x5354_4C59
LONGEST_PAUSE = "30s"
"""How long a transaction that writes may do nothing before the server ends it; shorter than the wait for its rows."""
_WRITING_LOCK = _MIGRATION_LOCK + 1
"""Shared by all transactions that write; one that must write alone takes it whole."""
_BEGIN = f"BEGIN; SELECT pg_advisory_xact_lock_shared({_WRITING_LOCK})"
_LONGEST_WAIT_ALONE = 120.0


_WORTH_A_COPY = 100
"""Rows from which on COPY is quicker than a statement for each, where rows that are there are passed over."""
_MAY_HAVE_TABLES = "SELECT has_database_privilege(current_database(), 'TEMP')"
_INCOMING = """
CREATE TEMP TABLE IF NOT EXISTS incoming_{table} ON COMMIT DELETE ROWS AS SELECT {names} FROM {table} WITH NO DATA
"""
_MOVE_ON = """
INSERT INTO {table} ({names}) SELECT {names} FROM incoming_{table} ON CONFLICT DO NOTHING; TRUNCATE incoming_{table}
"""


class PostgresSession:
    """A transaction on one connection of `psycopg`."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_translated(sql), values or None)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []

    def stream(self, sql: str, values: Sequence[Any], size: int) -> Iterator[list[Row]]:
        with self._connection.cursor(name=f"c{uuid4().hex}") as cursor:
            cursor.execute(_translated(sql), values or None)
            while rows := cursor.fetchmany(size):
                yield rows

    def columns(self, table: str) -> tuple[str, ...]:
        return column_names(self._connection.execute(_translated(NO_ROWS.format(table=table))))

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_translated(sql), rows)

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Row], *, unless_there: bool = False) -> None:
        if not rows:
            return
        if not unless_there:
            self._copy(table, columns, rows)
        elif len(rows) >= _WORTH_A_COPY and self.execute(_MAY_HAVE_TABLES)[0][0]:
            # COPY passes over nothing: by way of a table of this connection alone.
            names = ", ".join(columns)
            self.execute(_INCOMING.format(table=table, names=names))
            self._copy(f"incoming_{table}", columns, rows)
            self.execute(_MOVE_ON.format(table=table, names=names))
        else:
            with self._connection.cursor() as cursor:
                cursor.executemany(_postgres_insert(table, columns), rows)

    def _copy(self, table: str, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(_copy_sql(table, columns)) as copy:
            for row in rows:
                copy.write_row(row)


@cache
def _translated(sql: str) -> Any:
    return sql.replace("?", "%s")


@cache
def _postgres_insert(table: str, columns: tuple[str, ...]) -> Any:
    marks = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608


@cache
def _copy_sql(table: str, columns: tuple[str, ...]) -> Any:
    return f"COPY {table} ({', '.join(columns)}) FROM STDIN"


class PostgresDatabase(Database):
    """The database behind a `postgresql://` URL."""

    dialect = POSTGRES

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("a PostgreSQL store", "postgres") from None
        try:
            self._wanted = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's message quotes the part it could not read, which may be the password.
            raise StoreError(
                "the PostgreSQL URL cannot be read: write postgresql://user:password@host:port/database and spell "
                "special characters in the password as %40 and the like"
            ) from None
        self._wanted.setdefault("connect_timeout", "10")
        self._wanted.setdefault("application_name", "steelyard")
        # A line that is dead is noticed on both sides within a minute, and not after hours.
        for name, seconds in _KEEPALIVES.items():
            self._wanted.setdefault(f"keepalives_{name}", seconds)
        self.place = _shown(self._wanted)
        self._name, self._numbers = uuid4().hex, count()

    def connect(self) -> psycopg.Connection[Row]:
        import psycopg

        connection = psycopg.connect(autocommit=True, **cast("dict[str, Any]", self._wanted))
        try:
            connection.execute(_SETTINGS)
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def session(self, connection: psycopg.Connection[Row]) -> Session:
        return PostgresSession(connection)

    def begin_writing(self, session: Session) -> tuple[str, int] | None:
        # A process that is suspended in the middle does not keep the rows of a run from the one that takes it over.
        begin = f"{_BEGIN}; SET LOCAL idle_in_transaction_session_timeout = '{LONGEST_PAUSE}'"
        if not self.outlasts:
            session.execute(begin)
            return None
        # Each transaction leaves its number: after an outage it tells whether a commit without an answer was kept. (The
        # server's own numbers do not: after a crash it may give one of them a second time.)
        writer, number = f"{self._name}-{threading.get_ident()}", next(self._numbers)
        sql = _LEAVE_NUMBER if number else f"{_LEAVE_NUMBER}; {_FORGET_NUMBERS}"
        # In one message: a second one would take the time of another answer.
        session.execute(f"{begin}; {sql}".format(writer=writer, number=number, now=time.time()))
        return writer, number

    @contextmanager
    def writing_alone(self) -> Iterator[Session]:
        with self._transaction(self._begin_alone) as session:
            yield session

    def _begin_alone(self, session: Session) -> None:
        """Open a transaction with the lock that all others that write share. Who waits for it holds up those who come
        after, so it waits a second at a time."""
        import psycopg

        deadline = time.monotonic() + _LONGEST_WAIT_ALONE
        while True:
            session.execute("BEGIN; SET LOCAL lock_timeout = '1s'")
            try:
                session.execute(f"SELECT pg_advisory_xact_lock({_WRITING_LOCK})")
                session.execute("SET LOCAL lock_timeout TO DEFAULT")
                return
            except psycopg.errors.LockNotAvailable:
                session.execute("ROLLBACK")
                if time.monotonic() > deadline:
                    raise
            time.sleep(1.0)

    def begin_reading(self, session: Session) -> None:
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def is_kept(self, transaction: tuple[str, int]) -> bool:
        writer, number = transaction
        return self.outlast(lambda: self._last_number(writer) == number)

    def _last_number(self, writer: str) -> int:
        """The number of the last transaction of a writer; one that is still open on the server is waited for."""
        with self._transaction(lambda session: session.execute("BEGIN") and None) as session:
            return int(session.execute(_LAST_NUMBER.format(writer=writer, now=time.time()))[0][0])

    def usable(self, connection: psycopg.Connection[Row]) -> bool:
        return not connection.closed

    def holds_tables(self, session: Session) -> bool:
        return session.execute(f"SELECT to_regclass('{SCHEMA}.migrations')")[0][0] is not None

    def prepare(self, session: Session) -> None:
        session.execute(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        # Asked first, since CREATE SCHEMA IF NOT EXISTS needs its right even when there is nothing to create.
        if session.execute(f"SELECT to_regnamespace('{SCHEMA}')")[0][0] is None:
            session.execute(f"CREATE SCHEMA {SCHEMA}")

    def explained(self, error: Exception) -> StoreError | None:
        import psycopg

        if not isinstance(error, psycopg.Error):
            return None
        text = self._without_password(" ".join(str(error).split()))
        if isinstance(error, psycopg.errors.UniqueViolation):
            return Duplicate(f"{self.place} refused to write: {text}. {INTACT}")
        for kind, reason in _POSTGRES_REASONS.items():
            if isinstance(error, getattr(psycopg.errors, kind)):
                return StoreError(f"{self.place} {reason}: {text}")
        if isinstance(error, psycopg.OperationalError):
            return Unreachable(
                f"{self.place} does not answer, or let the connection go: {text}. {INTACT} Check host, port, user and "
                "password, and that the server runs"
            )
        return StoreError(f"{self.place} refused: {text}. {INTACT}")

    def _without_password(self, text: str) -> str:
        password = self._wanted.get("password")
        return text.replace(str(password), "***") if password else text


_LEAVE_NUMBER = """INSERT INTO commits (writer, number, made_at) VALUES ('{writer}', {number}, {now})
ON CONFLICT (writer) DO UPDATE SET number = excluded.number, made_at = excluded.made_at"""
_LAST_NUMBER = """INSERT INTO commits (writer, number, made_at) VALUES ('{writer}', -1, {now})
ON CONFLICT (writer) DO UPDATE SET made_at = excluded.made_at RETURNING number"""
_FORGET_NUMBERS = "DELETE FROM commits WHERE made_at < {now} - 30 * 86400"
_KEEPALIVES = {"idle": "30", "interval": "10", "count": "3"}
_SETTINGS = f"SET search_path TO {SCHEMA}" + "".join(
    f"; SET tcp_keepalives_{name} = {seconds}" for name, seconds in _KEEPALIVES.items()
)
_POSTGRES_REASONS = {
    "DiskFull": f"cannot grow, the server's disk is full. {INTACT} Make room and go on with --resume",
    "InsufficientPrivilege": "refused for lack of rights. Ask its owner: GRANT CREATE ON DATABASE lets Steelyard make "
    f"its schema {SCHEMA!r}",
    "ReadOnlySqlTransaction": f"is read-only. {INTACT}",
    "LockNotAvailable": f"is locked by somebody else. {INTACT} Try again",
}


def _shown(wanted: dict[str, Any]) -> str:
    user = f"{wanted['user']}@" if wanted.get("user") else ""
    port = f":{wanted['port']}" if wanted.get("port") else ""
    return f"postgresql://{user}{wanted.get('host') or 'localhost'}{port}/{wanted.get('dbname') or ''}"
