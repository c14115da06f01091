"""Opening a store: migrations on both databases, and which store is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.stored import header
from steelyard.errors import StoreError
from steelyard.store import schema as schema_module
from steelyard.store.schema import MIGRATIONS, Dialect, Executes
from steelyard.store.sql import open_store


def add_a_table(execute: Executes, dialect: Dialect) -> None:
    execute("CREATE TABLE notes (run INTEGER NOT NULL)")


def break_down(execute: Executes, dialect: Dialect) -> None:
    execute("CREATE TABLE half (run INTEGER NOT NULL)")
    execute("INSERT INTO there_is_no_such_table VALUES (1)")


def test_each_migration_is_recorded_once(url: str) -> None:
    for _ in range(2):
        store = open_store(url)
        with store.database.reading() as session:
            rows = session.execute("SELECT number, name FROM migrations ORDER BY number")
        store.close()
    assert rows == [(number, step.__name__) for number, step in enumerate(MIGRATIONS, start=1)]


def test_an_older_store_is_brought_up_and_keeps_its_runs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(url)
    store.create_run(header())
    store.close()
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, add_a_table))
    store = open_store(url)
    assert store.run("LAST").id == "demo-1"
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM notes") == [(0,)]
    store.close()


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(url)
    store.create_run(header())
    store.close()
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, break_down))
    with pytest.raises(StoreError):
        open_store(url)
    monkeypatch.undo()
    store = open_store(url)
    assert store.run("LAST").id == "demo-1"
    with pytest.raises(StoreError), store.database.reading() as session:
        session.execute("SELECT * FROM half")
    store.close()


def test_a_newer_store_is_refused_and_not_touched(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*MIGRATIONS, add_a_table))
    store = open_store(url)
    store.create_run(header())
    store.close()
    before = Path(url).read_bytes() if not url.startswith("postgresql") else b""
    monkeypatch.undo()
    n = len(MIGRATIONS)
    told = f"newer Steelyard: its schema is version {n + 1}, this one knows up to {n}"
    with pytest.raises(StoreError, match=told) as caught:
        open_store(url)
    assert "Nothing was changed" in str(caught.value)
    assert "Upgrade" in str(caught.value)
    if before:
        assert Path(url).read_bytes() == before


def test_without_create_an_absent_store_is_not_made(url: str) -> None:
    with pytest.raises(StoreError, match="yet: `steelyard run` makes"):
        open_store(url, create=False)
    if not url.startswith("postgresql"):
        assert not Path(url).parent.exists()
    open_store(url).close()
    open_store(url, create=False).close()


def test_the_default_store_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    open_store().close()
    assert (tmp_path / ".steelyard" / "steelyard.db").is_file()


def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", "sqlite:///deep/er/runs.db")
    open_store().close()
    assert (tmp_path / "deep" / "er" / "runs.db").is_file()
    monkeypatch.setenv("STEELYARD_STORE", f"sqlite:///{tmp_path}/whole.db")
    open_store().close()
    assert (tmp_path / "whole.db").is_file()


def test_an_unknown_kind_of_store_is_refused() -> None:
    with pytest.raises(StoreError, match=r"mysql://.*postgresql://"):
        open_store("mysql://somewhere/db")
    # Without the second slash it would be the name of a file.
    with pytest.raises(StoreError, match="has no // behind the colon"):
        open_store("postgresql:/user@somewhere/db")
