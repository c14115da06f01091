"""What only a store in an SQLite file can meet: full disks, folders, damage, locks, files of something else."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from parts.store_processes import StoreProcess, write_until_refused
from parts.stored import case, header, sample
from steelyard.errors import StoreError
from steelyard.records import CallResult
from steelyard.store.databases import SqliteDatabase
from steelyard.store.schema import migrate
from steelyard.store.sql import SqlStore, open_store


def long_samples(first: int, n: int) -> tuple[list, list]:
    cases = [case(number) for number in range(first, first + n)]
    return [sample(of, call_result=CallResult(text="x" * 4000)) for of in cases], cases


def test_a_full_disk_is_named_and_what_was_stored_before_is_intact(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    store.create_run(header())
    store.add_samples("demo-1", *long_samples(0, 10))
    pages = store.database._connection().execute("PRAGMA page_count").fetchone()[0]
    store.database._connection().execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreError, match=r"s\.db cannot grow: the disk is full. .*intact.*--resume"):
        store.add_samples("demo-1", *long_samples(10, 50))
    assert len(list(store.samples("demo-1"))) == 10
    # Once there is room the same batch is kept.
    store.database._connection().execute("PRAGMA max_page_count = 1000000")
    store.add_samples("demo-1", *long_samples(10, 50))
    assert len(list(store.samples("demo-1"))) == 60
    store.close()


def test_a_file_that_may_not_grow_keeps_every_committed_sample(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    # The kernel refuses the write itself, as a disk or quota that is full does.
    process = StoreProcess(write_until_refused, str(place), 600_000)
    kept, message = process.read()
    assert process.end() == 0
    assert kept > 5
    assert "intact" in message
    store = open_store(str(place))
    assert [one.case_id for one, _ in store.samples("demo-1")] == [case(n).id for n in range(kept)]
    store.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    # Root may write into read-only folders, but nobody makes a folder inside a file.
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/deep cannot be made: Not a directory.*STEELYARD_STORE"):
        open_store(str(tmp_path / "file" / "deep" / "s.db"))


def test_a_folder_where_no_file_can_be_made_is_named() -> None:
    # The kernel lets nobody, root included, make files here: an honest read-only folder on every machine.
    with pytest.raises(StoreError, match=r"/proc/self/s.db cannot be opened: .*not yours to write.*STEELYARD_STORE"):
        open_store("/proc/self/s.db")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(str(tmp_path))


def test_a_read_only_store_can_say_so(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    store.create_run(header())
    # What SQLite does with a file on a read-only file system, which root cannot be given by permissions alone.
    store.database._connection().execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"s\.db cannot be written: the file or its folder is read-only"):
        store.create_run(header("demo-2"))
    assert store.run("LAST").id == "demo-1"
    store.close()


def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("these are my notes, and they are longer than the header of a database file " * 20)
    before = place.read_bytes()
    with pytest.raises(StoreError, match=r"is not a Steelyard store.*It was left as it is"):
        open_store(str(place))
    assert place.read_bytes() == before


def test_somebody_elses_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    place = tmp_path / "theirs.db"
    with sqlite3.connect(place) as theirs:
        theirs.execute("CREATE TABLE migrations (id INTEGER)")
    theirs.close()
    before = place.read_bytes()
    with pytest.raises(StoreError, match="an SQLite database of something else"):
        open_store(str(place))
    assert place.read_bytes() == before


def read_all(place: Path) -> None:
    store = open_store(str(place))
    try:
        list(store.samples("demo-1"))
    finally:
        store.close()


def whole_store(tmp_path: Path) -> Path:
    """A store of 100 samples that nobody has open."""
    place = tmp_path / "s.db"
    store = open_store(str(place))
    store.create_run(header())
    store.add_samples("demo-1", *long_samples(0, 100))
    store.close()
    return place


def test_a_damaged_store_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    place = whole_store(tmp_path)
    damaged = bytearray(place.read_bytes())
    damaged[4096 * 2 :] = b"\xa5" * (len(damaged) - 4096 * 2)
    place.write_bytes(damaged)
    with pytest.raises(StoreError, match=r"is damaged and was left as it is.*import"):
        read_all(place)
    assert place.read_bytes() == bytes(damaged)


def test_a_locked_store_says_how_long_it_waited(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    open_store(str(place)).close()
    database = SqliteDatabase(place, busy_timeout=0.05)
    migrate(database, create=True)
    store = SqlStore(database)
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"is locked by another process for longer than 0\.05 s"):
        store.create_run(header())
    other.execute("ROLLBACK")
    other.close()
    store.create_run(header())
    store.close()


def test_the_file_is_kept_in_the_modes_that_the_docs_promise(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    connection = store.database._connection()
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    store.close()


def test_a_store_that_is_deleted_while_a_run_writes_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    store = open_store(str(place))
    store.create_run(header())
    place.unlink()
    with pytest.raises(StoreError, match=r"s\.db was deleted or replaced while it was written to"):
        store.add_samples("demo-1", *long_samples(0, 1))
    # Another file of the same name is not the store either.
    place.touch()
    with pytest.raises(StoreError, match=r"s\.db was deleted or replaced while it was written to"):
        store.add_samples("demo-1", *long_samples(1, 1))
    store.close()


def test_a_store_that_may_only_be_read_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    store = open_store(str(place))
    store.create_run(header())
    store.add_samples("demo-1", *long_samples(0, 3))
    store.close()
    place.chmod(0o444)
    # Root may write everything; as nobody it may not. The folders above must be open to nobody, too.
    folders = [tmp_path, *tmp_path.parents[:3]]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        store = open_store(str(place), create=False)
        assert len(list(store.samples("demo-1"))) == 3
        with pytest.raises(StoreError, match=r"s\.db cannot be written: the file or its folder is read-only"):
            store.create_run(header("demo-2"))
        store.close()
    finally:
        os.seteuid(os.getuid())
        for folder, mode in zip(folders, modes, strict=True):
            folder.chmod(mode)


def test_a_damaged_store_is_never_called_intact(tmp_path: Path) -> None:
    place = whole_store(tmp_path)
    whole = place.read_bytes()
    for first in (1, 3, 5, 7):
        damaged = bytearray(whole)
        for page in range(first, len(damaged) // 4096, 8):
            damaged[4096 * page + 100 : 4096 * page + 1100] = b"\xff\x00\x17" * 333 + b"\xff"
        place.write_bytes(damaged)
        with pytest.raises(StoreError, match="is damaged") as caught:
            read_all(place)
        assert "intact" not in str(caught.value)
