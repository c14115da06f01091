from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from parts.command import start_steelyard
from parts.loopback import Loopback, free_port, json_answer
from parts.postgres import PostgresPart
from parts.small_suite import http_target, write_suite
from parts.stored import case, header, sample
from steelyard.errors import MissingExtra, StoreError
from steelyard.store.sql import open_store

pytestmark = pytest.mark.boundary("psycopg")

SECRET = "s3cr3t-word"


def test_a_server_that_does_not_answer_is_named_without_the_password() -> None:
    port = free_port()
    with pytest.raises(StoreError, match=f"postgresql://me@127.0.0.1:{port}/runs does not answer") as caught:
        open_store(f"postgresql://me:{SECRET}@127.0.0.1:{port}/runs")
    assert SECRET not in str(caught.value)
    assert "Check host, port, user and password" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@[::1/runs",
        f"postgresql://me:{SECRET}%zz@localhost/runs",
        f"postgresql://me@localhost/runs?no_such_option={SECRET}",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(StoreError, match="the PostgreSQL URL cannot be read") as caught:
        open_store(url)
    shown = f"{caught.value} {caught.value.__cause__} {caught.value.__suppress_context__}"
    assert SECRET not in shown
    assert caught.value.__suppress_context__


@pytest.fixture
def guarded_url(postgres_server: PostgresPart) -> str:
    """A database whose user must give a password."""
    url = postgres_server.new_database()
    rules = Path(postgres_server.socket_folder) / "pg_hba.conf"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guarded")
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right-one'")
        if "guarded" not in rules.read_text():
            rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")
        name = url.partition("?")[0].rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} OWNER TO guarded")
    return url.replace("postgres@", "guarded:PASSWORD@")


def test_a_wrong_password_is_named_and_not_shown(guarded_url: str) -> None:
    # Reloading the server's rules takes a moment.
    deadline = time.monotonic() + 120
    while True:
        try:
            open_store(guarded_url.replace("PASSWORD", SECRET)).close()
        except StoreError as error:
            message = str(error)
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "password authentication failed" in message
    assert "guarded@" in message
    assert SECRET not in message
    store = open_store(guarded_url.replace("PASSWORD", "right-one"))
    assert store.runs() == []
    assert "right-one" not in store.place
    store.close()


def test_a_database_that_is_not_there_is_named(postgres_server: PostgresPart) -> None:
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        open_store(postgres_server.database_url("nowhere"))


def test_missing_rights_say_what_to_ask_for(postgres_server: PostgresPart) -> None:
    url = postgres_server.new_database()
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS visitor")
        connection.execute("CREATE ROLE visitor LOGIN")
    with pytest.raises(StoreError, match=r"lack of rights.*GRANT CREATE ON DATABASE"):
        open_store(url.replace("postgres@", "visitor@"))


def test_a_connection_that_was_cut_while_nobody_used_it_is_made_anew(postgres_database: str) -> None:
    store = open_store(postgres_database)
    store.create_run(header())
    one, two = case(1), case(2)
    store.add_samples("demo-1", [sample(one)], [one])
    pid = store.database._connection().info.backend_pid
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
    store.add_samples("demo-1", [sample(two)], [two])
    assert [kept.case_id for kept, _ in store.samples("demo-1")] == [one.id, two.id]
    store.close()


def test_the_store_keeps_to_its_own_schema(postgres_database: str) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE runs (mine TEXT)")
    store = open_store(postgres_database)
    store.create_run(header())
    store.close()
    with psycopg.connect(postgres_database) as connection:
        assert connection.execute("SELECT count(*) FROM public.runs").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM steelyard.runs").fetchone() == (1,)


def test_without_the_driver_the_hint_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from steelyard.store.sql import open_store\n"
        "from steelyard.errors import MissingExtra\n"
        "try: open_store('postgresql://localhost/x')\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{MissingExtra('a PostgreSQL store', 'postgres')}\n"
    assert "needs an optional part: pip install " in done.stdout


def test_a_run_outlasts_a_server_that_goes_away_for_a_while(postgres_server: PostgresPart, tmp_path: Path) -> None:
    url = postgres_server.new_database()
    name = url.partition("?")[0].rpartition("/")[2]
    n = 60
    with Loopback() as server, psycopg.connect(postgres_server.url, autocommit=True) as admin:
        server.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0.1))
        path = write_suite(tmp_path / "s", n=n, target=http_target(server.base_url))
        process = start_steelyard("run", path, "--concurrency", 2, "--store", url, cwd=tmp_path)
        for asked in (10, 30):
            while len(server.requests) < asked:
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            time.sleep(0.7)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        # Every case was asked once, and is there once.
        assert Counter(seen.json["number"] for seen in server.requests) == Counter(range(n))
    store = open_store(url)
    assert sorted(one.case_id for one, _ in store.samples(store.run("LAST").id)) == sorted(f"c{k}" for k in range(n))
    store.close()


@pytest.mark.parametrize("started", ["here", "by a process that was killed"])
def test_a_server_that_stays_away_ends_the_wait_with_the_way_to_go_on(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    monkeypatch.setattr("steelyard.store.databases.LONGEST_OUTAGE", 0.3)
    store = open_store(postgres_database)
    store.create_run(header())
    if started != "here":
        store.close()
        store = open_store(postgres_database)
        assert store.done("demo-1", []) == set()
    name = postgres_database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres_database.replace(f"/{name}", "/postgres"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    with pytest.raises(StoreError, match="Once it answers again, go on with --resume"):
        store.add_samples("demo-1", [sample(case(1))], [case(1)])
    store.close()
