from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from parts.postgres import PostgresPart
from parts.stored import fill
from steelyard.store.snapshot import write_snapshot
from steelyard.store.sql import SqlStore, open_store

NewUrl = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Gives the URL of an empty store each time it is called; every test that uses it runs on both databases."""
    if request.param == "postgres":
        server: PostgresPart = request.getfixturevalue("postgres_server")
        return server.new_database
    numbers = count(1)
    return lambda: str(tmp_path / f"store-{next(numbers)}" / "steelyard.db")


@pytest.fixture
def url(new_url: NewUrl) -> str:
    return new_url()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store; every test that uses it runs on both databases."""
    url = str(tmp_path / "steelyard.db")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_store")
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A good snapshot file, to be imported or damaged."""
    store = open_store(str(tmp_path / "source.db"))
    fill(store)
    write_snapshot(store, "demo-1", tmp_path / "good.json")
    store.close()
    return tmp_path / "good.json"
