"""Suites written in Python: the same keys, the same checks and the same object as a suite file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError, UserMistake
from steelyard.records import RunHeader
from steelyard.suite.build import build_suite
from steelyard.suite.case import Case
from steelyard.suite.draft import Draft
from steelyard.suite.located import Located
from steelyard.suite.model import SuiteModel

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
        score: Mapping[str, Mapping[str, Any] | Scorer],
        passing: str | float | None = None,
        gates: Sequence[str] = (),
        folder: str | Path | None = None,
        **others: Any,
    ) -> None:
        """`others` are the further keys of a suite file: about, answer, bands, findings, variants, repeats, ..."""
        caller = sys._getframe(1)
        data: dict[str, Any] = {"suite": name, "cases": _cases(cases), "target": target, "score": dict(score), **others}
        if passing is not None:
            data["pass"] = passing
        if gates:
            data["gates"] = list(gates)
        file = _file_of(caller)
        located = Located(data, file.name if file else "", {(): caller.f_lineno} if file else {})
        home = Path(folder) if folder is not None else file.parent if file else Path.cwd()
        draft = Draft(located, home.resolve(), free_paths=True)
        self.model: SuiteModel = build_suite(draft, str(file) if file else "")
        self._last: RunHeader | None = None

    def __repr__(self) -> str:
        return f"Suite({self.model.name!r}, {self.model.survey.n} cases)"

    def run(self, store: str | None = None, **options: Any) -> RunHeader:
        """Weigh the suite now and keep the run; its header has the verdict and the summary.

        `store` is the address of a store, `options` are those of `RunOptions` (repeats, concurrency, cache, ...).
        """
        from steelyard.engine.options import RunOptions
        from steelyard.store.open import open_store
        from steelyard.weighing import run

        opened = open_store(store)
        try:
            self._last, _ = run(self.model, opened, RunOptions(**options))
        finally:
            opened.close()
        return self._last

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the last `run()` of this object; UserMistake before the first."""
        if self._last is None or self._last.summary is None:
            raise UserMistake(f"suite {self.model.name} has not been run yet: call run() first")
        return self._last.summary


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


def suite_in(path: Path) -> SuiteModel:
    """The suite that a Python file holds under the name `suite`; UserMistake when there is none."""
    module = _execute(path)
    suite = getattr(module, "suite", None)
    if isinstance(suite, SuiteModel):
        return suite
    if not isinstance(suite, Suite):
        raise UserMistake(f"{path} defines no suite: write suite = steelyard.Suite(...) at its top level")
    return suite.model


def _execute(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_suite"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserMistake(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    home = str(path.parent.resolve())
    # Classes in the file are looked up by their module's name, and its imports start in its own folder.
    sys.modules[name] = module
    sys.path.insert(0, home)
    try:
        spec.loader.exec_module(module)
    except SteelyardError:
        raise
    except (Exception, SystemExit) as error:
        raise UserMistake(f"{path} failed when it was read: {type(error).__name__}: {error}") from error
    finally:
        if home in sys.path:
            sys.path.remove(home)
    return module
