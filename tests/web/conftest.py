"""A store of its own, served."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.store.sql import SqlStore, open_store
from steelyard.web.app import create_app
from steelyard.web.figures import Figures
from steelyard.web.site import Settings, Site

with warnings.catch_warnings():
    # It says that another HTTP library is to be preferred.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient


class AtOnce(Figures):
    """Figures computed where they are asked for."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(None)
        self._store = store

    def ask(
        self, job: Callable[..., dict[str, Any]], *given: Any, state: object, patience: float = 0.0
    ) -> dict[str, Any]:
        return job(self._store, *given)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    store = open_store(str(tmp_path / "runs.db"))
    yield store
    store.close()


@pytest.fixture
def client(store: SqlStore) -> TestClient:
    return TestClient(create_app(Site(store, AtOnce(store), Settings())), base_url="http://127.0.0.1")
