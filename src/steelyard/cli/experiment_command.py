"""`steelyard experiment`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.cli.experiment_runs import Attempt
    from steelyard.report.experiment_sentences import ExperimentReport
    from steelyard.suite.experiment_file import Experiment

_INTERRUPTED = 130


@click.command("experiment")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--report",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write report.md and report.html there, too.",
)
@click.option("--resume", is_flag=True, help="Go on with an arm that was stopped.")
@click.option("--anew", is_flag=True, help="Run both arms again, although there are runs of this experiment.")
@click.option(
    "--decide-only", "decide_on", metavar="A B", nargs=2, default=None, help="Run nothing; decide on these two runs."
)
@click.option("--anyway", is_flag=True, help="Let the criteria decide although more than the factor changed.")
@store_url
@as_json
def command(
    file: Path,
    folder: Path | None,
    resume: bool,
    anew: bool,
    decide_on: tuple[str, str] | None,
    anyway: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Run a baseline and a candidate that differ in one factor, and decide.

    FILE names the hypothesis, the factor, both arms and the criteria; they are stored before the first call. Exit
    code 0 to adopt the candidate, 1 to reject it, 4 when nobody can tell, 3 when an arm is INVALID.
    """
    from steelyard.release.experiment import EXIT_CODES
    from steelyard.suite.experiment_file import read_experiment

    if sum((resume, anew, decide_on is not None)) > 1:
        raise click.UsageError("--resume, --anew and --decide-only exclude each other")
    experiment = read_experiment(file)
    if folder is not None:
        _make(folder)
    if decide_on is not None:
        from steelyard.cli.experiment_decision import on_runs

        report = on_runs(experiment, decide_on, store_url, anyway=anyway)
    else:
        report = _run_and_decide(experiment, store_url, resume=resume, anew=anew, anyway=anyway)
    _show(report, *_write(report, folder), as_json=as_json)
    sys.exit(EXIT_CODES[report.ruling.decided])


def _run_and_decide(
    experiment: Experiment, store_url: str | None, *, resume: bool, anew: bool, anyway: bool
) -> ExperimentReport:
    from steelyard.cli.experiment_decision import check_criteria, on_attempt
    from steelyard.cli.experiment_runs import attempts, loaded_suites, run_arms
    from steelyard.store.open import open_store

    suites = loaded_suites(experiment)
    check_criteria(experiment, suites["candidate"])
    store = open_store(store_url)
    try:
        earlier = attempts(store, experiment.name)
        begun = _taken_up(experiment, earlier, resume=resume) if not anew else None
        before = len(earlier) - (begun is not None)
        if begun is not None and begun.complete:
            click.echo(f"deciding on the runs that are there ({begun.id}); --anew runs both arms again", err=True)
            return on_attempt(experiment, store, begun, before, anyway=anyway)
        ran = run_arms(experiment, suites, store, begun)
        if ran.stopped is not None:
            again = shlex.join(["steelyard", "experiment", str(experiment.file), "--resume"])
            click.echo(f"Not finished ({ran.stopped}). Go on with:\n  {again}", err=True)
        if ran.interrupted:
            sys.exit(_INTERRUPTED)
        return on_attempt(experiment, store, ran.attempt, before, anyway=anyway)
    finally:
        store.close()


def _taken_up(experiment: Experiment, earlier: list[Attempt], *, resume: bool) -> Attempt | None:
    """The newest runs of the experiment; None when there are none.

    UserMistake when they are of another plan, or are not finished and nobody asked to go on with them.
    """
    from steelyard.cli.experiment_runs import changed_since
    from steelyard.errors import UserMistake

    if not earlier:
        if resume:
            raise UserMistake(f"there is no run of experiment {experiment.name} to go on with: leave --resume out")
        return None
    latest, plan = earlier[0], experiment.plan()
    if latest.plan["plan"] != plan["plan"]:
        changed = ", ".join(changed_since(latest.plan, plan)) or "the plan"
        raise UserMistake(
            f"{experiment.file.name}: since experiment {experiment.name} was run ({latest.id}) these have changed:"
            f" {changed}. What was not written beforehand decides nothing: put it back, or run both arms under the"
            " new plan with --anew"
        )
    if not latest.complete and not resume:
        raise UserMistake(
            f"experiment {experiment.name} ({latest.id}) has not finished: --resume goes on with it, --anew starts"
            " afresh"
        )
    return latest


def _make(folder: Path) -> None:
    """The folder for the report, made before anything is run: hours later would be late to hear that it cannot be."""
    from steelyard.errors import UserMistake

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserMistake(f"cannot make the folder {folder}: {error.strerror}") from None


def _write(report: ExperimentReport, folder: Path | None) -> tuple[Path, ...]:
    if folder is None:
        return ()
    from steelyard.report.experiment_html import experiment_to_html
    from steelyard.report.experiment_markdown import experiment_to_markdown
    from steelyard.report.write import write_text

    markdown, html = folder / "report.md", folder / "report.html"
    write_text(markdown, experiment_to_markdown(report))
    write_text(html, experiment_to_html(report))
    return markdown, html


def _show(report: ExperimentReport, *written: Path, as_json: bool) -> None:
    from steelyard.cli.show import console, print_json, tell_written

    if as_json:
        from steelyard.report.experiment_json import experiment_to_json

        print_json(experiment_to_json(report))
        return
    from steelyard.report.experiment_terminal import print_experiment

    print_experiment(report, console())
    tell_written(*written)
