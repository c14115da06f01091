"""One fixture decides the database: every test that uses `store` or `url` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.every_part import fill_with_everything
from parts.stored import fill
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import SqlStore, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no store yet."""
    if database == "postgres":
        return request.getfixturevalue("postgres_database")
    return str(tmp_path / "store" / "steelyard.db")


@pytest.fixture
def store(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store."""
    url = request.getfixturevalue("postgres_store") if database == "postgres" else str(tmp_path / "steelyard.db")
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two exported runs and the store of the first."""
    folder = tmp_path_factory.mktemp("exported")
    for name, put in (("good", fill), ("full", fill_with_everything)):
        store = open_store(str(folder / f"{name}.db"))
        put(store)
        write_snapshot(store, "demo-1", folder / f"{name}.json")
        store.close()
    return folder


@pytest.fixture
def snapshot(exported: Path, tmp_path: Path) -> Path:
    """A good snapshot file, to be imported or damaged, beside the store that it is of: `source.db`."""
    shutil.copy(exported / "good.db", tmp_path / "source.db")
    return Path(shutil.copy(exported / "good.json", tmp_path))


@pytest.fixture
def full(exported: Path, tmp_path: Path) -> Path:
    """A snapshot file whose samples have every part, beside the store that it is of: `source.db`."""
    shutil.copy(exported / "full.db", tmp_path / "source.db")
    return Path(shutil.copy(exported / "full.json", tmp_path))
