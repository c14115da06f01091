"""A store in a PostgreSQL database, in a schema of its own so that it can share the database with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from steelyard.errors import MissingExtra, StoreError
from steelyard.store.database import Database, Duplicate, Row, Session, Unreachable
from steelyard.store.schema import POSTGRES

if TYPE_CHECKING:
    import psycopg

SCHEMA = "steelyard"
_MIGRATION_LOCK = 0x5354_4C59
_INTACT = "What was stored before is intact."


class PostgresSession:
    """A transaction on one connection of `psycopg`."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_translated(sql), values or None)
        return cursor.fetchall() if cursor.description else []

    def stream(self, sql: str, values: Sequence[Any], size: int) -> Iterator[list[Row]]:
        with self._connection.cursor(name=f"c{uuid4().hex}") as cursor:
            cursor.execute(_translated(sql), values or None)
            while rows := cursor.fetchmany(size):
                yield rows

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_translated(sql), rows)

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Row], *, unless_there: bool = False) -> None:
        if not rows:
            return
        if unless_there:
            with self._connection.cursor() as cursor:
                cursor.executemany(_insert_sql(table, columns), rows)
            return
        with self._connection.cursor() as cursor, cursor.copy(_copy_sql(table, columns)) as copy:
            for row in rows:
                copy.write_row(row)


@cache
def _translated(sql: str) -> Any:
    return sql.replace("?", "%s")


@cache
def _insert_sql(table: str, columns: tuple[str, ...]) -> Any:
    marks = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608


@cache
def _copy_sql(table: str, columns: tuple[str, ...]) -> Any:
    return f"COPY {table} ({', '.join(columns)}) FROM STDIN"


class PostgresDatabase(Database):
    """The database behind a `postgresql://` URL."""

    dialect = POSTGRES
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

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
        self.place = _shown(self._wanted)

    def connect(self) -> psycopg.Connection[Row]:
        import psycopg

        connection = psycopg.connect(autocommit=True, **cast("dict[str, Any]", self._wanted))
        try:
            connection.execute(f"SET search_path TO {SCHEMA}")
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def session(self, connection: psycopg.Connection[Row]) -> Session:
        return PostgresSession(connection)

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
        said = self._without_password(" ".join(str(error).split()))
        if isinstance(error, psycopg.errors.UniqueViolation):
            return Duplicate(f"{self.place} refused to write: {said}. {_INTACT}")
        for kind, reason in _REASONS.items():
            if isinstance(error, getattr(psycopg.errors, kind)):
                return StoreError(f"{self.place} {reason}: {said}")
        if isinstance(error, psycopg.OperationalError):
            return Unreachable(
                f"{self.place} does not answer, or let the connection go: {said}. {_INTACT} Check host, port, user and "
                "password, and that the server runs"
            )
        return StoreError(f"{self.place} refused: {said}. {_INTACT}")

    def _without_password(self, text: str) -> str:
        password = self._wanted.get("password")
        return text.replace(str(password), "***") if password else text


_REASONS = {
    "DiskFull": f"cannot grow, the server's disk is full. {_INTACT} Make room and go on with --resume",
    "InsufficientPrivilege": "refused for lack of rights. Ask its owner: GRANT CREATE ON DATABASE lets Steelyard make "
    f"its schema {SCHEMA!r}",
    "ReadOnlySqlTransaction": f"is read-only. {_INTACT}",
    "LockNotAvailable": f"is locked by somebody else. {_INTACT} Try again",
}


def _shown(wanted: dict[str, Any]) -> str:
    user = f"{wanted['user']}@" if wanted.get("user") else ""
    port = f":{wanted['port']}" if wanted.get("port") else ""
    return f"postgresql://{user}{wanted.get('host') or 'localhost'}{port}/{wanted.get('dbname') or ''}"
