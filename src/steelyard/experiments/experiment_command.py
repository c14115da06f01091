"""The command experiment: two arms that differ in one factor, as a file says, and a decision."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import (
    as_json,
    store_url,
)
from steelyard.cli.output import show_document
from steelyard.errors import UsageError
from steelyard.experiments.unfinished import say_how_to_go_on
from steelyard.report.verdicts import exit_code

if TYPE_CHECKING:
    from steelyard.experiments.criteria import ExperimentReport
    from steelyard.experiments.plan import ExperimentFile


@click.command("experiment")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--report",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write report.md and report.html there, too.",
)
@click.option("--resume", is_flag=True, help="Resume an arm that was stopped.")
@click.option("--restart", is_flag=True, help="Run both arms again, although there are runs of this experiment.")
@click.option(
    "--decide-only", "decide_on", metavar="A B", nargs=2, default=None, help="Run nothing; decide on these two runs."
)
@click.option("--allow-mismatch", is_flag=True, help="Let the criteria decide although more than the factor changed.")
@store_url
@as_json
def experiment_command(
    file: Path,
    folder: Path | None,
    resume: bool,
    restart: bool,
    decide_on: tuple[str, str] | None,
    allow_mismatch: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Run a baseline and a candidate that differ in one factor, and decide.

    FILE names the hypothesis, the factor, both arms and the criteria; they are stored before the first call. Exit
    code 0 to adopt the candidate, 1 to reject it, 4 for CANNOT TELL, 3 when an arm is INVALID.
    """
    from steelyard.experiments.plan import read_experiment
    from steelyard.experiments.report import experiment_data, experiment_document

    if sum((resume, restart, decide_on is not None)) > 1:
        raise click.UsageError("--resume, --restart and --decide-only exclude each other")
    experiment = read_experiment(file)
    if folder is not None:
        _make(folder)
    if decide_on is not None:
        from steelyard.experiments.criteria import on_runs

        report = on_runs(experiment, decide_on, store_url, allow_mismatch=allow_mismatch)
    else:
        report = _run_and_decide(experiment, store_url, resume=resume, restart=restart, allow_mismatch=allow_mismatch)
    files = (None, None) if folder is None else (folder / "report.md", folder / "report.html")
    show_document(experiment_document(report), experiment_data(report), *files, as_json=as_json)
    sys.exit(exit_code(report.ruling.decided))


def _run_and_decide(
    experiment: ExperimentFile, store_url: str | None, *, resume: bool, restart: bool, allow_mismatch: bool
) -> ExperimentReport:
    from steelyard.experiments.arms import loaded_suites
    from steelyard.experiments.criteria import on_attempt
    from steelyard.experiments.runner import run_in_turn
    from steelyard.experiments.runs import attempts_of, reopened
    from steelyard.metrics.expression_checks import SuiteNames
    from steelyard.store.sql import open_store

    suites = loaded_suites(experiment)
    experiment.check_criteria(SuiteNames.of_suite(suites["candidate"]))
    with open_store(store_url) as store:
        earlier = attempts_of(store, experiment.name)
        attempt = None if restart else reopened(experiment, earlier, resume=resume)
        if attempt is not None and attempt.complete:
            click.echo(f"deciding on the runs that are there ({attempt.id}); --restart runs both arms again", err=True)
        else:
            attempt = run_in_turn(experiment, suites, store, attempt)
            say_how_to_go_on(attempt, ["experiment", str(experiment.file), "--resume"])
        return on_attempt(experiment, store, attempt, allow_mismatch=allow_mismatch)


def _make(folder: Path) -> None:
    """The folder for the report, made before anything is run: hours later would be late to hear that it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from None
