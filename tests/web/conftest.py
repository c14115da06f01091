from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.served import client_on, put_all
from steelyard.store.sql import SqlStore, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """A store with two rich runs and two hostile ones, which no test changes."""
    opened = open_store(str(tmp_path_factory.mktemp("full") / "runs.db"))
    put_all(opened)
    yield opened
    opened.close()


@pytest.fixture
def client(store: SqlStore) -> Iterator[Any]:
    with client_on(store) as made:
        yield made
