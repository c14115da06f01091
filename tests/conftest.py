"""What holds for every test."""

import gc
import os
import sys
from collections.abc import Generator, Iterator

import pytest

from parts.lengths import set_length
from steelyard.redact import _Available

pytest_plugins = ["parts.postgres", "parts.browser"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full-length", action="store_true", help="simulations and property tests at full length")


def pytest_configure(config: pytest.Config) -> None:
    set_length(full=config.getoption("full_length"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collections: what is read here stays to the end, and is not looked through again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_SLOWEST_FIRST = ("cli", "comparing", "suites", "trust", "store", "engine", "docs", "report")
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
def _leaves_nothing_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take back what a test leaves in the process: environment, folder, secrets learned, code and metrics of suites."""
    temporary, modules = str(tmp_path_factory.getbasetemp()), {*sys.modules}
    environment, folder, secrets = dict(os.environ), os.getcwd(), (_Available.secrets, _Available.redact)  # noqa: PTH109
    yield
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
    os.chdir(folder)
    _Available.secrets, _Available.redact = secrets
    for name in sys.modules.keys() - modules:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(temporary):
            del sys.modules[name]
    own = sys.modules.get("steelyard.metrics.own")
    if own is not None:
        own.forget_metrics()
