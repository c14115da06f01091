import pytest

from steelyard.store.sql import open_store


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request, tmp_path):
    """An empty store's address; every test that uses it runs on both databases."""
    return request.getfixturevalue("postgres_store") if request.param == "postgres" else str(tmp_path / "runs.db")


@pytest.fixture
def store(store_url):
    opened = open_store(store_url)
    yield opened
    opened.close()
