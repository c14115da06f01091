"""Suites written in Python: the same keys, the same checks and the same object as a suite file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from steelyard.records import RunHeader
from steelyard.suite.build import build_suite
from steelyard.suite.case import Case
from steelyard.suite.draft import Draft
from steelyard.suite.located import Located
from steelyard.suite.model import SuiteModel

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.report.model import Report
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
        score: Mapping[str, Mapping[str, Any] | Scorer] | None = None,
        passing: str | float | None = None,
        gates: Sequence[str] = (),
        folder: str | Path | None = None,
        **others: Any,
    ) -> None:
        """`score` may be left out when there is a `judge`.

        `others` are the further keys of a suite file: about, answer, bands, findings, judge, variants, repeats, ...
        """
        caller = sys._getframe(1)
        passing = others.pop("pass_", passing)
        data: dict[str, Any] = {"suite": name, "cases": _cases(cases), "target": target, **others}
        if score is not None:
            data["score"] = dict(score)
        if passing is not None:
            data["pass"] = passing
        if gates:
            data["gates"] = list(gates)
        file = _file_of(caller)
        located = Located(data, file.name if file else "", {(): caller.f_lineno} if file else {})
        home = Path(folder) if folder is not None else file.parent if file else Path.cwd()
        draft = Draft(located, home.resolve(), free_paths=True)
        self.model: SuiteModel = build_suite(draft, str(file) if file else "")

    def __repr__(self) -> str:
        return f"Suite({self.model.name!r}, {self.model.survey.n} cases)"

    def run(self, store: str | None = None, **options: Any) -> Run:
        """Weigh the suite now and keep the run.

        `store` is the address of a store, `options` are those of `RunOptions` (repeats, concurrency, cache, ...).
        """
        from steelyard.engine.options import RunOptions
        from steelyard.report.build import build_report
        from steelyard.store.open import open_store
        from steelyard.weighing import run

        opened = open_store(store)
        try:
            header, _ = run(self.model, opened, RunOptions(**options))
            return Run(build_report(opened, header))
        finally:
            opened.close()


class Run:
    """A weighed suite. Printed, and at the end of a notebook's cell, it is its report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.id = report.header.id
        self.verdict = report.decision.verdict
        self.header: RunHeader = report.header

    @property
    def summary(self) -> Summary:
        """All figures of the run, each with its n."""
        return self.report.summary

    def __repr__(self) -> str:
        return f"Run({self.id!r}, verdict={self.verdict.value if self.verdict else None})"

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        from steelyard.report.terminal import print_report

        page = StringIO()
        print_report(self.report, Console(file=page, width=100))
        return page.getvalue()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


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
