"""A PostgreSQL server that is killed or cut off in the middle: a run and a rescoring go on, with each sample once."""

from __future__ import annotations

import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from parts.command import StartedCommand, start_steelyard, steelyard
from parts.loopback import Loopback, json_answer
from parts.postgres import ForgetfulLine, OwnServer, PostgresPart
from parts.small_suite import http_target, write_suite
from parts.stored import case, header, sample
from steelyard.records import RunState
from steelyard.store.alert_log import SENT, Delivery
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.copy import copy_store
from steelyard.store.postgres import PostgresDatabase
from steelyard.store.sql import SqlStore, open_store

pytestmark = pytest.mark.boundary("psycopg")

SLOW = """
import os
import time

from steelyard import Reading, Scorer


class Word(Scorer):
    def read(self, answer, case):
        time.sleep(float(os.environ.get("SCORING", 0)))
        return Reading(1.0)
"""


@pytest.fixture
def asked() -> Iterator[Loopback]:
    with Loopback() as server:
        server.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0.05))
        yield server


def wait_for(process: StartedCommand, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def away(server: OwnServer, seconds: float, *, all_at_once: bool = True) -> None:
    server.kill(all_at_once=all_at_once)
    time.sleep(seconds)
    server.start()


def ended(process: StartedCommand, url: str, n: int) -> str:
    """What the process said, once it has ended well with each of `n` samples once."""
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    store = open_store(url)
    run = store.run("LAST")
    assert (run.state, run.n_planned) == (RunState.ENDED, n)
    assert Counter(one.case_id for one, _ in store.samples(run.id)) == Counter(f"c{k}" for k in range(n))
    store.close()
    return said


def start_run(url: str, asked: Loopback, folder: Path, n: int) -> StartedCommand:
    path = write_suite(folder / "s", n=n, target=http_target(asked.base_url))
    return start_steelyard("run", path, "--concurrency", 4, "--store", url, cwd=folder)


def start_rescoring(url: str, folder: Path, n: int) -> StartedCommand:
    path = write_suite(folder / "s", n=n, score={"word": {"python": "slow:Word"}})
    (path.parent / "slow.py").write_text(SLOW)
    assert steelyard("run", path, "--store", url, cwd=folder).returncode == 0
    slowly = {"SCORING": "0.001"}
    return start_steelyard("rescore", "LAST", "--suite", path, "--store", url, cwd=folder, env=slowly)


def test_a_run_goes_on_after_kill_9_of_the_server(own_server: OwnServer, asked: Loopback, tmp_path: Path) -> None:
    url, n = own_server.new_database(), 80
    process = start_run(url, asked, tmp_path, n)
    wait_for(process, lambda: len(asked.requests) > 20)
    away(own_server, 0.5)
    said = ended(process, url, n)
    assert "PostgreSQL does not answer: waiting, try 1" in said
    assert "PostgreSQL answers again" in said
    assert Counter(seen.json["number"] for seen in asked.requests) == Counter(range(n))


def test_a_rescoring_goes_on_after_kill_9_of_the_server(own_server: OwnServer, tmp_path: Path) -> None:
    url, n = own_server.new_database(), 1_200
    process = start_rescoring(url, tmp_path, n)
    with psycopg.connect(url, autocommit=True) as admin:
        count = "SELECT count(*) FROM steelyard.samples WHERE run = 2"
        wait_for(process, lambda: admin.execute(count).fetchall() != [(0,)])
    away(own_server, 0.2, all_at_once=False)
    assert "PostgreSQL does not answer: waiting, try 1" in ended(process, url, n)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_no_moment_of_a_kill_loses_or_doubles_a_sample(
    own_server: OwnServer, asked: Loopback, tmp_path: Path, seed: int
) -> None:
    chance, url = random.Random(seed), own_server.new_database()
    if seed % 2:
        n, process = 1_200, start_rescoring(url, tmp_path, 1_200)
        with psycopg.connect(url, autocommit=True) as admin:
            wait_for(process, lambda: admin.execute("SELECT count(*) FROM steelyard.runs").fetchall() == [(2,)])
    else:
        n, process = 150, start_run(url, asked, tmp_path, 150)
        wait_for(process, lambda: len(asked.requests) > 0)
    for _ in range(chance.randint(1, 3)):
        time.sleep(chance.choice((0.05, 1, 6)) * chance.random())
        away(own_server, chance.uniform(0, 2), all_at_once=chance.random() < 0.5)
    ended(process, url, n)
    assert all(times == 1 for times in Counter(seen.json["number"] for seen in asked.requests).values())


def test_a_commit_whose_answer_was_lost_is_not_made_twice(postgres_server: PostgresPart, tmp_path: Path) -> None:
    url, line = postgres_server.new_database(), ForgetfulLine(postgres_server, tmp_path)
    store = open_store(line.through(url))
    said: list[str] = []
    store.notify(said.append)
    for change in _CHANGES:
        line.lose = True
        change(store)
        assert not line.lose
    assert line.lost == len(_CHANGES)
    assert [one.case_id for one, _ in store.samples("demo-1")] == [case(1).id, case(2).id]
    assert store.run("demo-1").state is RunState.ENDED
    assert len(store.baseline_log()) == 1
    assert [one.cause for one in store.alerts()] == ["cause"]
    assert [one.tries for one in store.deliveries([1])] == [2]
    store.close()
    line.close()


def test_a_commit_that_never_arrived_is_made_again(postgres_server: PostgresPart, tmp_path: Path) -> None:
    url, line = postgres_server.new_database(), ForgetfulLine(postgres_server, tmp_path)
    store = open_store(line.through(url))
    store.notify(lambda _: None)
    store.create_run(header())
    line.drop = True
    store.add_samples("demo-1", [sample(case(1))], [case(1)])
    assert line.lost == 1
    assert [one.case_id for one, _ in store.samples("demo-1")] == [case(1).id]
    store.close()
    line.close()


def test_a_dead_line_is_looked_for_after_half_a_minute(postgres_server: PostgresPart) -> None:
    """That the kernel then ends it is its own business, and takes a network that loses packets."""
    line = ForgetfulLine(postgres_server)
    database = PostgresDatabase(line.through(postgres_server.new_database()))
    with database.connect() as connection, socket.socket(fileno=os.dup(connection.fileno())) as end:
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        options = socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT
        assert [end.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [30, 10, 3]
    line.close()


def test_a_store_is_copied_once_when_answers_to_commits_are_lost(postgres_server: PostgresPart, tmp_path: Path) -> None:
    source, line = open_store(str(tmp_path / "one.db")), ForgetfulLine(postgres_server, tmp_path)
    cases = [case(number) for number in range(300)]
    source.create_run(header())
    source.add_samples("demo-1", [sample(of, number) for number, of in enumerate(cases)], cases)
    target = open_store(line.through(postgres_server.new_database()))
    line.lose = True
    copied = copy_store(source, target, (), lambda _: None)
    assert (line.lost, copied.runs, copied.samples, copied.left) == (1, ["demo-1"], 300, [])
    assert list(target.samples("demo-1")) == list(source.samples("demo-1"))
    # Cases that are there are passed over, whether few come or many.
    for run, some in (("demo-2", cases[:10]), ("demo-3", cases)):
        target.create_run(header(run))
        target.add_samples(run, [sample(of) for of in some], some)
        assert [of for _, of in target.samples(run)] == some
    source.close()
    target.close()
    line.close()


_CHANGES: list[Callable[[SqlStore], object]] = [
    lambda store: store.create_run(header()),
    lambda store: store.add_samples("demo-1", [sample(case(1))], [case(1)]),
    lambda store: store.journal("demo-1", [("1/target", {})]),
    lambda store: store.add_samples("demo-1", [sample(case(2))], [case(2)], forget=["1/target"]),
    lambda store: store.forget_journal("demo-1"),
    lambda store: store.update_run(header(state=RunState.ENDED)),
    lambda store: store.log_baseline(BaselineEntry("demo", "release", "demo-1", 5.0, "ada")),
    lambda store: store.open_alert("demo", "cause", "demo-1", {}),
    lambda store: store.log_deliveries([Delivery(1, "raised", "mail", SENT, 2, 1.0)]),
]
