"""A stored run in Python: its figures, its samples, its tables and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from steelyard import plugins
from steelyard.errors import NotPassed
from steelyard.records import RunHeader, Sample, Verdict
from steelyard.results.find import FoundRuns, names_a_file, stored_suite_name
from steelyard.results.shown import Charts, Shown

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.metrics.figures import Figures
    from steelyard.report.document import Document
    from steelyard.report.model import Report
    from steelyard.stats.intervals import Estimate
    from steelyard.store.base import Store
    from steelyard.store.sql import SqlStore
    from steelyard.suite.case import Case
    from steelyard.suite.models import SuiteModel

    AnyRun: TypeAlias = "Run | str | Path"
    """A run, or the name that commands take."""
    AnySuite: TypeAlias = "SuiteModel | HasModel | str | Path"
    """A suite, or its file, folder or name."""

_ALL = 2**62


class HasModel(Protocol):
    """What stands for a suite, such as `steelyard.Suite`."""

    @property
    def model(self) -> SuiteModel:
        """The suite as it is run."""


class Run(Shown):
    """A run. `id`, `suite`, `state`, `verdict` and `created_at` are there at once; all else is read when it is asked
    for. Printed, and at the end of a notebook's cell, it is its report."""

    def __init__(
        self,
        header: RunHeader,
        store: str | None,
        *,
        file: str | None = None,
        report: Report | None = None,
        suite: SuiteModel | None = None,
        interrupted: bool = False,
    ) -> None:
        """`store` is the address of the store that has it, `file` the snapshot that has it instead."""
        self.id = header.id
        self.suite = header.suite_name
        self.state = header.state
        self.created_at = header.created_at
        """Seconds since 1970 (UTC)."""
        self.verdict: Verdict | None = header.verdict if report is None else report.decision.verdict
        self.interrupted = interrupted
        self.store, self.file = store, file
        self._listed, self.made_by = header, suite
        # The suite that made it, where this program did.
        if report is not None:
            self.__dict__["report"] = report

    @contextmanager
    def opened(self) -> Iterator[tuple[SqlStore, RunHeader]]:
        """The store that has the run, open, and the run as it is stored there."""
        with ExitStack() as closing:
            store, name = FoundRuns(self.store, closing).find(self.file or self.id)
            yield store, store.run(name)

    @cached_property
    def report(self) -> Report:
        """All that the report shows."""
        from steelyard.report.build import build_report

        with self.opened() as (store, header):
            return build_report(store, header)

    @property
    def header(self) -> RunHeader:
        """What was run, with what, and how it went."""
        return self.report.header

    @property
    def summary(self) -> Summary:
        """All figures of the run, each with its n."""
        return self.report.summary

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is what it is, with why calls failed, as the report lists it."""
        from steelyard.report.wording import all_reasons

        return all_reasons(self.report)

    @property
    def is_partial(self) -> bool:
        """Whether it is of a part of its suite, or has fewer repeats: so is its verdict."""
        from steelyard.store.headers import is_partial

        return is_partial(self._listed)

    @property
    def average(self) -> Estimate | None:
        """The average score with its interval and n; None of a run that has not ended. Reads no sample."""
        return self._main.get("average")

    @property
    def pass_rate(self) -> Estimate | None:
        """The share of samples that passed, likewise."""
        return self._main.get("pass_rate")

    @cached_property
    def _main(self) -> Mapping[str, Estimate]:
        """The two figures that lists show."""
        from steelyard.analysis.stored import figures_of

        with self.opened() as (store, header):
            figures = figures_of(store, [header], ("average", "pass_rate")).get(header.id)
        return {} if figures is None else {name: figures.slice()[name] for name in ("average", "pass_rate")}

    @cached_property
    def figures(self) -> Figures:
        """Every figure of the run, in the whole and in every slice, by the name that gates use: `figures["pass_rate"]`,
        `figures["average", "category", "lamp"]`. Reads no sample of a run that has ended."""
        from steelyard.analysis.stored import all_figures

        with self.opened() as (store, header):
            return all_figures(store, header)

    @property
    def samples(self) -> Iterator[Sample]:
        """Every sample in the order of the plan, streamed. Answers are not read: `call_result.text` is None."""
        with self.opened() as (store, header):
            yield from (sample for sample, _ in store.samples(header.id, answers=False))

    @property
    def answers(self) -> Iterator[tuple[Sample, Case]]:
        """Every sample with its answer in `call_result.text`, and its case; streamed."""
        with self.opened() as (store, header):
            yield from store.samples(header.id)

    def to_pandas(self, name: str = "samples", *, answers: bool = False) -> Any:
        """A table of the run as a pandas DataFrame: samples, findings, votes, claims, figures.

        What is missing is null. `answers` adds the answers' texts. MissingExtra without pandas.
        """
        return self._table("to_pandas", name, answers=answers)

    def to_polars(self, name: str = "samples", *, answers: bool = False) -> Any:
        """The same as a polars DataFrame."""
        return self._table("to_polars", name, answers=answers)

    def to_arrow(self, name: str = "samples", *, answers: bool = False) -> Any:
        """The same as an Arrow table."""
        return self._table("to_arrow", name, answers=answers)

    def _table(self, form: str, name: str, *, answers: bool) -> Any:
        with self.opened() as (store, header):
            return plugins.find("features", form)(store, header, name, answers=answers)

    def raise_unless_passed(self) -> None:
        """NotPassed with the reasons unless the verdict is PASS: also of a run without gates, which decides nothing."""
        decision = self.report.decision
        if decision.verdict is not Verdict.PASS:
            from steelyard.report.wording import all_reasons

            word = "no verdict" if decision.verdict is None else decision.verdict.value
            raise NotPassed(f"run {self.id} of {self.suite}: {word}", all_reasons(self.report), self.exit_code or 1)

    def own_format(self) -> Any:
        """The run as a document in the suite's own format of snapshots; UsageError when the suite has none."""
        with self.opened() as (store, header):
            return plugins.find("features", "to_own_format")(self.suite_model(), store, header)

    def suite_model(self, suite: Any = None) -> SuiteModel:
        """The suite as it is now: the one that is named, the one that made this run in Python, or the one of its name.

        UsageError when there is none, or more than one.
        """
        from steelyard.loading.load import suite_of_run

        if suite is None and self.made_by is not None:
            return self.made_by
        return model_of(suite) if suite is not None else suite_of_run(self.header)

    @property
    def charts(self) -> Charts:
        """Every chart that the run's figures give; at the end of a notebook's cell they are pictures."""
        from steelyard.report.charts import charts_of

        return Charts(charts_of(self.summary, self.header))

    def write_charts(self, folder: str | Path, names: Mapping[str, str] | None = None) -> list[Path]:
        """Write every chart of the run as NAME.png into the folder; `names` calls some by another name.

        Charts of an earlier run that this one has nothing for are removed.
        MissingExtra when nothing is installed that can draw.
        """
        from steelyard.report.charts import CHARTS
        from steelyard.report.charts.drawing import write_charts

        return write_charts(self.charts, Path(folder), names, CHARTS)

    @property
    def exit_code(self) -> int:
        """What `steelyard run` ends with: 0 pass, 1 fail, 3 invalid, 4 ambiguous, 130 interrupted."""
        from steelyard.report.verdicts import INTERRUPTED, exit_code

        return INTERRUPTED if self.interrupted else exit_code(self.verdict)

    def document(self) -> Document:
        from steelyard.report.run import document

        return document(self.report)

    def to_data(self) -> dict[str, Any]:
        from steelyard.report.run import data

        return data(self.report)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, verdict={self.verdict.value if self.verdict else None})"


def runs(suite: Any = None, store: str | None = None) -> list[Run]:
    """The stored runs, all or those of a suite, newest first; no sample of them is read."""
    from steelyard.store.sql import open_store

    with open_store(store, create=False) as opened:
        name = stored_name(opened, suite) if suite is not None else ""
        return [Run(header, store) for header in opened.listing.page(name, limit=_ALL)]


def load_run(name: str | Path, store: str | None = None) -> Run:
    """A run by its name as commands take it: id, beginning of it, LAST, LAST~1, @baseline, or a snapshot file (.json).

    RunNotFound when there is none, SnapshotError when the file is no snapshot.
    """
    name = str(name)
    with ExitStack() as closing:
        opened, name_there = FoundRuns(store, closing).find(name)
        header = opened.run(name_there)
    return Run(header, store, file=name if names_a_file(name) else None)


def stored_name(store: Store, suite: Any) -> str:
    """The name that the runs of a suite are stored under."""
    return stored_suite_name(store, suite) if isinstance(suite, str) else model_of(suite).name


def model_of(suite: Any) -> SuiteModel:
    """The model of a suite: of a `Suite`, of what `load_suite` gave, or of the file, folder or name of one."""
    from steelyard.loading.load import load_suite
    from steelyard.suite.models import SuiteModel

    model = getattr(suite, "model", suite)
    return model if isinstance(model, SuiteModel) else load_suite(suite)
