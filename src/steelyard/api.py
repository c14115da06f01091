"""Suites and runs in Python: the same keys, checks and objects as a suite file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from steelyard import plugins
from steelyard.errors import UsageError
from steelyard.loading.suite import build_suite
from steelyard.results.run import Run
from steelyard.suite.case import Case
from steelyard.suite.draft import Draft
from steelyard.suite.models import SuiteModel
from steelyard.suite.yaml import Located

if TYPE_CHECKING:
    from steelyard.scoring.base import Scorer


class Suite:
    """A suite from Python; SuiteError with every mistake when it is not a good one.

    Paths are relative to `folder`, which is the folder of the calling file when left out. `model` is the suite as
    every room sees it.
    """

    def __init__(
        self,
        name: str,
        *,
        cases: str | Path | Sequence[str] | Sequence[Mapping[str, Any] | Case] | Mapping[str, Any],
        target: Callable[..., Any] | Mapping[str, Any] | str,
        score: Mapping[str, Mapping[str, Any] | Scorer | Callable[..., Any]] | None = None,
        expect: Mapping[str, Mapping[str, Any]] | None = None,
        required_repeats: str | None = None,
        passing: str | float | None = None,
        gates: Sequence[str] = (),
        folder: str | Path | None = None,
        **others: Any,
    ) -> None:
        """`score` may be left out when there is `expect` or a `judge`.

        `others` are the further keys of a suite file: about, answer, bands, findings, judge, variants, repeats, ...
        """
        caller = sys._getframe(1)
        passing = others.pop("pass_", passing)
        data: dict[str, Any] = {"suite": name, "cases": _cases(cases), "target": target, **others}
        if score is not None:
            data["score"] = dict(score) if isinstance(score, Mapping) else score
        if expect is not None:
            data["expect"] = expect
        if isinstance(expect, Mapping):
            data["expect"] = {
                check: dict(part) if isinstance(part, Mapping) else part for check, part in expect.items()
            }
        if required_repeats is not None:
            data["required_repeats"] = required_repeats
        if passing is not None:
            data["pass"] = passing
        if gates:
            data["gates"] = list(gates) if isinstance(gates, tuple | set | frozenset) else gates
        if not isinstance(folder, str | Path | None):
            raise UsageError(f"Suite: folder is a path; found {folder!r:.60} ({type(folder).__name__})")
        file = _file_of(caller)
        located = Located(data, file.name if file else "", {(): caller.f_lineno} if file else {})
        home = Path(folder) if folder is not None else file.parent if file else Path.cwd()
        draft = Draft(located, home.resolve(), free_paths=True)
        self.model: SuiteModel = build_suite(draft, str(file) if file else "")

    def __repr__(self) -> str:
        return f"Suite({self.model.name!r}, {self.model.survey.n} cases)"

    def run(self, store: str | None = None, **options: Any) -> Run:
        """Score the suite now and keep the run.

        `store` is the address of a store, `options` are those of `RunOptions` (repeats, concurrency, cache, ...).
        """
        return run_suite(self, store=store, **options)


def run_suite(
    suite: SuiteModel | Suite,
    *,
    store: str | None = None,
    env: Mapping[str, str] | None = None,
    show_progress: bool = False,
    **options: Any,
) -> Run:
    """Score a loaded suite now and keep the run.

    `store` is the address of a store. `env` are the variables that targets and judges read, in the place of the
    process's own. `show_progress` tells on standard error what is done. `options` are those of `RunOptions` (repeats,
    concurrency, ...).
    """
    from steelyard.engine.run_options import run_options
    from steelyard.engine.writer import progress_of
    from steelyard.runner.run import run
    from steelyard.store.sql import open_store

    model, wanted = _loaded("run_suite", suite), run_options("run_suite", options)
    if not isinstance(env, Mapping | None):
        raise UsageError(f"run_suite: env maps names of variables to values; found {env!r:.60} ({type(env).__name__})")
    with open_store(store) as opened:
        with progress_of(model.name, quiet=not show_progress) as progress:
            result = run(model, opened, wanted, progress, env)
        report = result.report(opened)
        return Run(report.header, store, report=report, suite=model, interrupted=result.interrupted)


def import_run(suite: SuiteModel | Suite, file: str | Path, *, store: str | None = None) -> Run:
    """A results file in the suite's own format as a run in the store; SnapshotError when it is no such file."""
    from steelyard.exchange.imports import import_foreign
    from steelyard.report.build import build_report
    from steelyard.store.sql import open_store

    model = _loaded("import_run", suite)
    if not isinstance(file, str | Path):
        raise UsageError(f"import_run: file is a path; found {file!r:.60} ({type(file).__name__})")
    with open_store(store) as opened:
        report = build_report(opened, import_foreign(model, opened, Path(file)).header)
        return Run(report.header, store, report=report, suite=model)


def _loaded(function: str, suite: Any) -> SuiteModel:
    """The model of a suite; UsageError for anything that is not one, such as its path."""
    model = getattr(suite, "model", suite)
    if isinstance(model, SuiteModel):
        return model
    hint = f": {function}(load_suite({str(suite)!r}))" if isinstance(suite, str | Path) else ""
    raise UsageError(f"{function} takes a loaded suite; found {suite!r:.60} ({type(suite).__name__}){hint}")


def _cases(given: Any) -> Any:
    if isinstance(given, Path):
        return str(given)
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [dict(item) if isinstance(item, Mapping) else item for item in given]
    return given


def _file_of(frame: FrameType) -> Path | None:
    name = frame.f_globals.get("__file__")
    return Path(name).resolve() if isinstance(name, str) and Path(name).exists() else None


COMPONENT_OPTIONS = ("weight", "when_unknown", "wrong_below", "code", "scale")
"""What goes to the component and not to its scorer."""


class _Scorers:
    """`steelyard.scorers`: every registered scorer as a function, for suites written in Python.

    `scorers.exact(expected="expected.text", weight=2)` gives the plain data `{"exact": {"expected": "expected.text"},
    "weight": 2}`, as a suite file spells it; it is checked when the suite is built.
    """

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if not plugins.is_known("scorers", name):
            raise AttributeError(f"there is no scorer {name!r}; there are: {', '.join(plugins.names('scorers'))}")

        def factory(**given: Any) -> dict[str, Any]:
            options = {key: value for key, value in given.items() if key in COMPONENT_OPTIONS}
            return {name: {key: value for key, value in given.items() if key not in COMPONENT_OPTIONS}, **options}

        factory.__name__ = factory.__qualname__ = name
        options = ", ".join(COMPONENT_OPTIONS)
        factory.__doc__ = f"A component scored by `{name}`; parameters as in a suite file, and {options}."
        return factory

    def __dir__(self) -> list[str]:
        return plugins.names("scorers")


scorers = _Scorers()
