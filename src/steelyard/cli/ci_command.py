"""`steelyard ci`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.ci_files import CiFiles
from steelyard.cli.github_job import GithubJob
from steelyard.cli.run_command import asked_for, weigh
from steelyard.cli.run_command import command as run
from steelyard.errors import SteelyardError, UserMistake

if TYPE_CHECKING:
    from steelyard.alerts.rules import AlertSettings
    from steelyard.analysis.compare_model import Comparison
    from steelyard.engine.run import Ending
    from steelyard.report.model import Report
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel
    # LOST from steelyard.suite.alert_settings import AlertSettings

_FILE = click.Path(dir_okay=False, path_type=Path)
_INTERRUPTED = 130
_FAIL_ON = ("ambiguous", "fail", "invalid")


# It takes every option of `run`, and what is said of them there holds here.
@click.command("ci", params=list(run.params))
@click.option("--junit", metavar="FILE", type=_FILE, help="Write JUnit XML.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write Markdown for one comment on the change.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write the report as one self-contained HTML file.")
@click.option(
    "--fail-on",
    type=click.Choice(_FAIL_ON),
    default=_FAIL_ON[0],
    show_default=True,
    help="The mildest verdict that ends with its exit code; a milder one ends with 0. INVALID always ends with 3.",
)
@click.option(
    "--github/--no-github",
    default=None,
    help="Annotations, step summary and outputs of a GitHub job. [default: where GITHUB_ACTIONS is true]",
)
def command(
    suite: str,
    save: Path | None,
    against: str | None,
    anyway: bool,
    store_url: str | None,
    as_json: bool,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
    fail_on: str,
    github: bool | None,
    **asked: Any,
) -> None:
    """Run, compare, gate and write the files of a CI job, in one step.

    SUITE and all options of `run` are as they are there. With --against the run is compared with a baseline, a run or a
    snapshot file, and the report says why the headline number moved.
    """
    from steelyard.report.render.github import in_github

    job = GithubJob(os.environ) if (in_github(os.environ) if github is None else github) else None
    files = CiFiles(suite, junit, markdown, html)
    files.refuse_unwritable(save)
    with ExitStack() as closing:
        try:
            with job.deaf() if job is not None else nullcontext():
                asked = asked | {"suite": suite, "against": against, "anyway": anyway, "save": save}
                done = _weigh_and_compare(closing, store_url, fail_on, **asked)
            code = done.exit_code(fail_on)
            files.write(done.report, done.comparison, done.baseline, done.suite, job, code)
            done.show(code, files, as_json=as_json)
        except SteelyardError as error:
            files.tell_mistake(error, job)
            raise
        done.alert()
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class _Done:
    suite: SuiteModel
    store: Store
    report: Report
    ending: Ending
    alerts: AlertSettings | None
    comparison: Comparison | None = None
    baseline: str = ""
    """What the run was compared with, as it was asked for."""

    def exit_code(self, fail_on: str) -> int:
        """That of the verdict, unless it is milder than what the job is to fail on."""
        from steelyard.records import Verdict
        from steelyard.report.verdicts import exit_code

        if self.ending.interrupted:
            return _INTERRUPTED
        let_through = {"ambiguous": (), "fail": (Verdict.AMBIGUOUS,), "invalid": (Verdict.AMBIGUOUS, Verdict.FAIL)}
        verdict = self.report.decision.verdict
        return 0 if verdict in let_through[fail_on] else exit_code(verdict)

    def show(self, code: int, files: CiFiles, *, as_json: bool) -> None:
        """Print the report and how the run compares."""
        from steelyard.cli.held_against import against_blocks, against_data
        from steelyard.cli.show import print_json, print_on_one_screen

        if as_json:
            from steelyard.report.run import data

            print_json(data(self.report) | against_data(self.comparison) | {"exit_code": code})
            return
        print_on_one_screen(self.report, against_blocks(self.comparison, self.baseline))
        files.show()
        if self.ending.stopped is not None:
            click.echo(f"Not finished: {self.ending.stopped}", err=True)

    def alert(self) -> None:
        """Tell whom the suite's alerts are for, as `run` does."""
        from steelyard.cli.after_run import alert_after_run

        if not self.ending.interrupted:
            alert_after_run(self.store, self.report.header, self.alerts)


def _weigh_and_compare(
    closing: ExitStack,
    store_url: str | None,
    fail_on: str,
    *,
    against: str | None,
    anyway: bool,
    save: Path | None,
    no_alerts: bool,
    **asked: Any,
) -> _Done:
    from steelyard.cli.after_run import settings_before_run
    from steelyard.cli.held_against import compare_with
    from steelyard.cli.named_reference import reference_of
    from steelyard.store.open import open_store

    suite, options = asked_for(**asked)
    _refuse_what_cannot_fail(suite, against, fail_on)
    alerts = None if no_alerts else settings_before_run(suite)
    store = open_store(store_url, create=options.resume is None)
    closing.callback(store.close)
    reference = reference_of(store, against, suite.name, closing)
    result, ending = weigh(suite, store, options, reference, anyway=anyway, save=save)
    done = _Done(suite, store, result.report(store), ending, alerts)
    if reference is None:
        return done
    return replace(
        done, comparison=compare_with(store, result.header, reference, anyway=anyway), baseline=reference.label
    )


def _refuse_what_cannot_fail(suite: SuiteModel, against: str | None, fail_on: str) -> None:
    """UserMistake when no run of the suite could fail the job."""
    decides = bool(suite.gates) or any(not each.secondary for each in suite.criteria)
    if not decides and against is None and fail_on != "invalid":
        raise UserMistake(
            f"suite {suite.name} has no gates that decide, so this step could never fail: declare `gates` in the suite,"
            " give --against, or say --fail-on invalid to mean it"
        )
