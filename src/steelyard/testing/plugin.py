"""The pytest plugin: a test per case and variant, and one per gate. What else it needs is imported with a suite.

It asserts nothing, so pytest need not rewrite it: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steelyard.testing.results import SuiteRun

_MARKERS = (
    "steelyard_repeats(n): ask every case of the suites of this module n times",
    "steelyard_xfail(*cases, reason=...): cases of the suites of this module that are expected to fail",
)
_HIDDEN = "steelyard suite "
"""How a suite is called that is not given a name in its module."""


class SuiteTests:
    """The tests of one suite, for the module that holds this object."""

    def __init__(self, suite: Any, folder: Path, xfail: Mapping[str, str], options: dict[str, Any]) -> None:
        self.suite, self.folder, self.xfail, self.options = suite, folder, xfail, options


def steelyard_suite(
    suite: Any, *, repeats: int | None = None, xfail: Mapping[str, str] | None = None, **options: Any
) -> SuiteTests:
    """Tests of every case and gate of a suite, at the level of a module: `test_capitals = steelyard_suite("capitals")`.

    `suite` is a path (relative to the calling file), the name of a suite, or a `steelyard.Suite`. `xfail` gives the
    reasons by case id. `options` are `store` and those of `RunOptions`: concurrency, timeout, cache, ...
    """
    caller = sys._getframe(1).f_globals
    folder = Path(caller["__file__"]).parent if "__file__" in caller else Path.cwd()
    tests = SuiteTests(suite, folder, dict(xfail or {}), {"repeats": repeats, **options})
    caller[f"{_HIDDEN}{sum(isinstance(item, SuiteTests) for item in caller.values())}"] = tests
    return tests


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--steelyard SUITE`, as often as there are suites."""
    group = parser.getgroup("steelyard")
    group.addoption(
        "--steelyard",
        action="append",
        default=[],
        metavar="SUITE",
        help="test this suite (a suite file, its folder or a name); may be given more than once",
    )
    group.addoption("--steelyard-repeats", type=int, metavar="N", help="ask every case of these suites N times")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the suites of the command line, in the place of all tests unless some are named too."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    if not config.getoption("steelyard"):
        return
    from steelyard.errors import SteelyardError
    from steelyard.testing.results import suite_file

    try:
        places = dict.fromkeys(str(suite_file(name, config.invocation_params.dir)) for name in config.option.steelyard)
    except SteelyardError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_FILES] = {Path(place) for place in places}
    named = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    # The ids of tests name a suite by its path or, outside of the root, by its folder.
    called = {_outside(Path(place), config) or place: place for place in places}
    parts = [(called.get(head, head), *rest) for head, *rest in (argument.split("::", 1) for argument in named)]
    begun = {str((config.invocation_params.dir / head).resolve()) for head, *_ in parts}
    config.args = [*map("::".join, parts), *(place for place in places if place not in begun)]


def _outside(path: Path, config: pytest.Config) -> str | None:
    """What a suite outside of the root, such as a built-in one, is called: its folder. None for any other."""
    return None if path.is_relative_to(config.rootpath) else path.parent.name


_FILES = pytest.StashKey[set[Path]]()
_RUNS = pytest.StashKey[dict[str, "SuiteRun"]]()
_SHARED = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The suites that were named on the command line."""
    if file_path not in parent.config.stash.get(_FILES, ()):
        return None
    file: SuiteFile = SuiteFile.from_parent(parent, path=file_path, nodeid=_outside(file_path, parent.config))
    repeats = parent.config.getoption("steelyard_repeats")
    file.tests = SuiteTests(file_path, file_path.parent, {}, {"repeats": repeats})
    return file


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Any:
    """What `steelyard_suite` gave to a module, under its name there."""
    if not isinstance(obj, SuiteTests):
        return None
    if name.startswith(_HIDDEN):
        others = vars(getattr(collector, "obj", None)).items()
        if any(value is obj and not key.startswith(_HIDDEN) for key, value in others):
            return []
        place = Path(str(getattr(getattr(obj.suite, "model", None), "name", obj.suite)))
        name = place.parent.name if place.name == "suite.yaml" else place.name
    node: SuiteNode = SuiteNode.from_parent(collector, name=name)
    node.tests = obj
    return node


class _Collected(pytest.Collector):
    """A suite: a test per case and variant, a test per gate, and one of the verdict."""

    tests: SuiteTests

    def collect(self) -> Iterator[pytest.Item]:
        """The tests; what is wrong with a suite is said without a traceback."""
        from steelyard.errors import SteelyardError
        from steelyard.testing.results import SuiteRun

        options, xfail = dict(self.tests.options), dict(self.tests.xfail)
        if (mark := self.get_closest_marker("steelyard_repeats")) is not None and options["repeats"] is None:
            (options["repeats"],) = mark.args
        for mark in self.iter_markers("steelyard_xfail"):
            xfail |= dict.fromkeys(mark.args, mark.kwargs.get("reason", ""))
        try:
            run = SuiteRun(self.tests.suite, self.tests.folder, options, self.nodeid)
        except SteelyardError as error:
            raise self.CollectError(str(error)) from None
        known = {name for test, cell in run.cells.items() for name in (test, cell[0])}
        if unknown := [case for case in xfail if case not in known]:
            raise self.CollectError(f"xfail names cases that the suite does not have: {', '.join(unknown)}")
        self.config.stash.setdefault(_RUNS, {})[self.nodeid] = run
        for name in (*run.cells, *run.gates):
            # pytest makes an id of a text as it reads one from its cache or the command line.
            item: SuiteItem = SuiteItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}")
            item.run, item.is_case = run, name in run.cells
            case = run.cells[name][0] if item.is_case else name
            item.extra_keyword_matches.add(case)
            if (reason := xfail.get(name, xfail.get(case))) is not None:
                item.add_marker(pytest.mark.xfail(reason=reason, raises=WrongAnswer))
            yield item


class SuiteNode(_Collected):
    """A suite of a test module."""


class SuiteFile(_Collected, pytest.File):
    """A suite of the command line."""


class WrongAnswer(pytest.fail.Exception):  # type: ignore[name-defined,misc]  # it is made by a decorator
    """What a case that is expected to fail may raise; that nobody can tell is not expected of any."""

    __module__, __qualname__ = "builtins", "Failed"  # as pytest shows its own


class SuiteItem(pytest.Item):
    """A case or a gate."""

    run: SuiteRun
    is_case: bool

    def setup(self) -> None:
        """The first test of a suite runs it. What nobody can tell is an error, and not a failure."""
        shared = getattr(self.config, "workerinput", {}).get("steelyard")
        self.result = self.run.result(self.name, self._chosen, None if shared is None else Path(shared))
        self.user_properties.extend(self.result.properties)
        if self.result.kind == "error":
            pytest.fail(self.result.text, pytrace=False)
        if self.result.kind == "skipped":
            pytest.skip(self.result.text)

    def runtest(self) -> None:
        """Fails with the findings of the case, or the reason of the gate."""
        if self.result.kind:
            raise WrongAnswer(self.result.text, pytrace=False)

    def _chosen(self) -> set[str]:
        """The tests of cases of this suite that nothing has deselected."""
        items = [item for item in self.session.items if isinstance(item, SuiteItem) and item.run is self.run]
        return {item.name for item in items if item.is_case}

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give every worker the same folder.

    With xdist each has all tests of a suite: the first runs it, the others read there what came of it.
    """
    import tempfile

    stash = node.config.stash
    if _SHARED not in stash:
        stash[_SHARED] = tempfile.mkdtemp(prefix="steelyard-pytest-")
    node.workerinput["steelyard"] = stash[_SHARED]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A line a run."""
    runs, shared = config.stash.get(_RUNS, {}), config.stash.get(_SHARED, None)
    lines = [run.line for run in runs.values() if run.line]
    if shared is not None:
        lines = [path.read_text("utf-8") for path in sorted(Path(shared).glob("*.line"))]
    if lines:
        terminalreporter.section("steelyard")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what workers shared."""
    if (shared := config.stash.get(_SHARED, None)) is not None:
        import shutil

        shutil.rmtree(shared, ignore_errors=True)
