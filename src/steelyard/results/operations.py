"""Recorded answers, scored again: what commands show, for programs too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.records import RunHeader
from steelyard.results.run import Run, load_run

if TYPE_CHECKING:
    from steelyard.results.run import AnyRun, AnySuite
    from steelyard.suite.models import SuiteModel


def run_of(run: AnyRun, store: str | None) -> Run:
    """The run itself, or the stored run or file of that name."""
    return run if isinstance(run, Run) else load_run(run, store)


def rescore(
    run: AnyRun,
    suite: AnySuite | None = None,
    *,
    strict: bool = False,
    max_inconclusive: float | None = None,
    store: str | None = None,
) -> Run:
    """A new run in the same store: the answers of `run`, scored by the suite as it is now. No call is made.

    The suite is the one that is named, the one that made the run in Python, or the one of the run's suite name.
    """
    from steelyard.engine.run_options import RunOptions
    from steelyard.loading.chosen_judge import judged_as_then
    from steelyard.runner import run as evaluation

    source = run_of(run, store)
    if source.file is not None:
        raise UsageError(f"{source.file} is not in a store, which the new run needs: steelyard import {source.file}")
    with source.opened() as (opened, header):
        refuse_imported(header)
        model = judged_as_then(source.suite_model(suite), header.description.judge, to_ask=False)
        options = RunOptions(strict=strict, max_inconclusive=max_inconclusive)
        report = evaluation.rescore(model, opened, header, options).report(opened)
    return Run(report.header, source.store, report=report, suite=model)


def refuse_imported(header: RunHeader) -> None:
    """UsageError for a run of another tool: the suite has neither its cases nor the calls of its judge."""
    imported = header.options.imported
    if imported is not None and imported.tool:
        raise UsageError(
            f"run {header.id} was scored by {imported.tool}. A suite that scores its answers anew:"
            f" steelyard init FOLDER --from {imported.file}"
        )
    if imported is not None:
        raise UsageError(
            f"run {header.id} was imported from {imported.file}: the suite has neither its cases nor the calls of"
            f" its judge. To score it by the suite as it is now, import that file into another store:"
            f" steelyard import {imported.file} --suite {header.suite_name} --store ANOTHER"
        )


def refuse_other_suite(header: RunHeader, suite: SuiteModel) -> None:
    """UsageError when the run is none of the suite."""
    if header.suite_name != suite.name:
        raise UsageError(f"run {header.id} is one of suite {header.suite_name}, not of {suite.name}")
