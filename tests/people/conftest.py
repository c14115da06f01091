from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.stored import ended_run
from steelyard.records import RunHeader
from steelyard.store.sql import SqlStore, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store; every test that uses it runs on both databases."""
    if request.param == "postgres":
        address: str = request.getfixturevalue("postgres_store")
        return address
    return str(tmp_path / "steelyard.db")


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def labelled_run(store: SqlStore) -> RunHeader:
    """An ended run of 60 answers without a judge, of which 40 pass."""
    return ended_run(store, 60)
