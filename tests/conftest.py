"""What holds for every test."""

import os
import sys
from collections.abc import Iterator

import pytest

from parts.lengths import set_length


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full-length", action="store_true", help="simulations and property tests at full length")


def pytest_configure(config: pytest.Config) -> None:
    set_length(full=config.getoption("full_length"))


_SLOWEST_FIRST = ("cli", "suites", "trust", "store", "engine", "docs", "report")
"""Folders whose files take long: begun last, they would leave all workers but one without work at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return _SLOWEST_FIRST.index(folder) if folder in _SLOWEST_FIRST else len(_SLOWEST_FIRST)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def _empty_working_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run in a folder of their own: what lies in the checkout, such as the `demo/` of `make demo`, is no input."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(tmp_path_factory.mktemp("working"))
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def _no_metrics_of_earlier_suites() -> Iterator[None]:
    """Every test begins and ends with the product's own metrics: those that a suite adds stay in the process."""
    yield
    own = sys.modules.get("steelyard.metrics.own")
    if own is not None:
        own.forget_metrics()
