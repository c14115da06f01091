"""A log that was left beside a store whose file was replaced is refused; one that a killed process left is applied."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from parts.command import invoke
from parts.processes import ENVIRONMENT
from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import CallResult
from steelyard.store.sql import open_store

# Writes as many samples as asked for, and is killed as by `kill -9` with all of its files open.
KILLED = """
import os, sys
from parts.stored import case, header, sample
from steelyard.records import CallResult
from steelyard.store.sql import open_store
store = open_store(sys.argv[1])
run, first, n, size = sys.argv[2], *map(int, sys.argv[3:])
if not first:
    store.create_run(header(run))
for i in range(first, first + n):
    answer = CallResult(text=os.urandom(size).hex())
    store.add_samples(run, [sample(case(i), i, call_result=answer)], [case(i)])
os.kill(os.getpid(), 9)
"""


def killed_writer(path: Path, run: str = "demo-1", first: int = 0, n: int = 5, size: int = 100) -> None:
    command = [sys.executable, "-c", KILLED, str(path), run, *map(str, (first, n, size))]
    assert subprocess.run(command, env=ENVIRONMENT, check=False).returncode == -9
    assert Path(f"{path}-wal").stat().st_size > 32


def stored(path: Path, run: str = "demo-1") -> int:
    with open_store(str(path)) as store:
        n = sum(1 for _ in store.samples(run))
        assert store.database.damage() == ""
        return n


def filled(path: Path, run: str = "demo-1", n: int = 40) -> None:
    with open_store(str(path)) as store:
        store.create_run(header(run))
        for i in range(n):
            answer = CallResult(text=os.urandom(2_000).hex())
            store.add_samples(run, [sample(case(i), i, call_result=answer)], [case(i)])


@pytest.mark.parametrize(("n", "size"), [(5, 100), (300, 30_000)])
def test_what_a_killed_process_committed_is_there_with_the_log_begun_once_or_many_times(
    tmp_path: Path, n: int, size: int
) -> None:
    path = tmp_path / "runs.db"
    killed_writer(path, n=n, size=size)
    killed_writer(path, first=n, n=n, size=size)
    # The copy of all files goes on as the files themselves.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in tmp_path.glob("runs.db*"):
        shutil.copy(file, elsewhere)
    assert stored(path) == 2 * n
    assert stored(elsewhere / "runs.db") == 2 * n
    # Nothing is left beside a store that was closed.
    assert sorted(file.name for file in tmp_path.glob("runs.db*")) == ["runs.db"]


def replaced_in_place(path: Path, by: Path) -> None:
    shutil.copyfile(by, path)


def replaced_by_another(path: Path, by: Path) -> None:
    shutil.copy2(by, f"{path}.new")
    Path(f"{path}.new").rename(path)


@pytest.mark.parametrize("replace", [replaced_in_place, replaced_by_another])
@pytest.mark.parametrize("backup", ["earlier", "of one sample less", "of another store"])
def test_the_log_of_a_file_that_was_replaced_is_refused_and_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace, backup: str
) -> None:
    path, saved = tmp_path / "runs.db", tmp_path / "saved.db"
    filled(path)
    shutil.copyfile(path, saved)
    if backup == "of one sample less":
        # A label more fits into the pages that are there.
        with open_store(str(path)) as store:
            store.cache([("key", {"answer": 1})])
    if backup == "of another store":
        saved.unlink()
        filled(saved)
    killed_writer(path, first=40, n=400, size=4_000)
    replace(path, saved)
    before = {file.name: file.read_bytes() for file in tmp_path.glob("runs.db*")}
    monkeypatch.chdir(tmp_path)
    said = invoke("runs", "--store", "runs.db", code=2)
    assert "runs.db was replaced" in said
    assert "move runs.db-wal away" in said
    with pytest.raises(StoreError, match="was replaced"):
        open_store(str(path))
    assert {file.name: file.read_bytes() for file in tmp_path.glob("runs.db*")} == before
    # As the message says.
    Path(f"{path}-wal").rename(tmp_path / "old-wal")
    assert stored(path) == 40


def test_a_log_of_which_nothing_is_known_is_applied(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    killed_writer(path)
    Path(f"{path}-base").unlink()
    assert stored(path) == 5


def test_the_locks_of_one_store_last_when_another_of_the_same_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    filled(path, n=2)
    with open_store(str(path)) as first:
        first.cache([("one", {})])
        open_store(str(path)).close()
        with first.database.writing() as session:
            session.execute("DELETE FROM cache")
            # A process of its own, since locks are those of a process.
            code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0.1).execute('BEGIN IMMEDIATE')"
            other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            assert "database is locked" in other.stderr
        assert Path(f"{path}-wal").exists()
        sqlite3.connect(path).close()
        assert Path(f"{path}-wal").exists()
    assert stored(path) == 2
