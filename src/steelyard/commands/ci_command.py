"""`steelyard ci`: run, compare, gate and write the files of a CI job."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.grouped_help import GroupedCommand
from steelyard.cli.options import FILE, refuse_quiet_and_verbose
from steelyard.cli.output import print_json, print_on_one_screen, print_verdict
from steelyard.commands.ci_files import CiFiles
from steelyard.commands.github_job import GithubJob
from steelyard.commands.run_command import COMMON, GROUPS, alerts_before_run, asked_for, evaluate
from steelyard.commands.run_command import run_command as run
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.records import Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from steelyard.comparing.model import Comparison
    from steelyard.loading.alerts import AlertSettings
    from steelyard.report.model import Report
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


_FAIL_ON = ("ambiguous", "fail", "invalid")


# It takes every option of a run that is made, and what is said of them there holds here.
@click.command(
    "ci",
    cls=GroupedCommand,
    common=[*(name for name in COMMON if name != "estimate"), "fail_on", "junit", "markdown", "html", "save"],
    groups=GROUPS,
    params=[item for item in run.params if item.name not in ("estimate", "pending")],
)
@click.option("--junit", metavar="FILE", type=FILE, help="Write JUnit XML.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write Markdown for one comment on the change.")
@click.option("--html", metavar="FILE", type=FILE, help="Write the report as one self-contained HTML file.")
@click.option(
    "--fail-on",
    metavar="VERDICT",
    type=click.Choice(_FAIL_ON),
    default=_FAIL_ON[0],
    show_default=True,
    help="The first of ambiguous, fail, invalid that ends with its exit code, not 0. INVALID always ends with 3.",
)
@click.option(
    "--github/--no-github",
    default=None,
    help="Annotations, step summary and outputs of a GitHub job. [default: where GITHUB_ACTIONS is true]",
)
def ci_command(
    suite: str,
    save: Path | None,
    against: str | None,
    allow_mismatch: bool,
    no_alerts: bool,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
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

    refuse_quiet_and_verbose(quiet=quiet, verbose=verbose)
    if dry_run:
        from steelyard.commands.run_command import show_requests

        show_requests(*asked_for(suite=suite, **asked), as_json=as_json)
        return
    job = GithubJob(os.environ) if (in_github(os.environ) if github is None else github) else None
    files = CiFiles(suite, junit, markdown, html)
    files.refuse_unwritable(save)
    with ExitStack() as closing:
        try:
            with job.deaf() if job is not None else nullcontext():
                asked = asked | {"suite": suite, "against": against, "allow_mismatch": allow_mismatch, "save": save}
                asked |= {"quiet": quiet, "verbose": verbose, "no_alerts": no_alerts}
                done = _evaluate_and_compare(closing, store_url, fail_on, **asked)
            code = done.exit_code(fail_on)
            files.write(done.report, done.comparison, done.baseline, done.suite, job, code)
            done.show(code, files, as_json=as_json, quiet=quiet)
        except SteelyardError as error:
            files.add_missing_problem(error, job)
            raise
        done.alert()
    sys.exit(code)


@frozen
class _Done:
    suite: SuiteModel
    store: Store
    report: Report
    result: Result
    alerts: AlertSettings | None
    comparison: Comparison | None = None
    baseline: str = ""
    """What the run was compared with, as it was asked for."""

    def exit_code(self, fail_on: str) -> int:
        """That of the verdict, unless it is milder than what the job is to fail on."""
        if self.result.interrupted:
            return INTERRUPTED
        let_through = {"ambiguous": (), "fail": (Verdict.AMBIGUOUS,), "invalid": (Verdict.AMBIGUOUS, Verdict.FAIL)}
        verdict = self.report.decision.verdict
        return 0 if verdict in let_through[fail_on] else exit_code(verdict)

    def show(self, code: int, files: CiFiles, *, as_json: bool, quiet: bool) -> None:
        """Print the report and how the run compares."""
        from steelyard.comparing.operations import against_blocks, against_data

        if as_json:
            from steelyard.report.run import data

            print_json(data(self.report) | against_data(self.comparison) | {"exit_code": code})
            return
        if quiet:
            print_verdict(self.report)
        else:
            print_on_one_screen(self.report, against_blocks(self.comparison, self.baseline))
            files.show()
        if self.result.stopped is not None:
            click.echo(f"Not finished: {self.result.stopped}", err=True)

    def alert(self) -> None:
        """Tell whom the suite's alerts are for, as `run` does."""
        if self.alerts is not None and not self.result.interrupted:
            from steelyard.alerts.after_run import alert_after_run

            alert_after_run(self.store, self.report.header, self.alerts)


def _evaluate_and_compare(
    closing: ExitStack,
    store_url: str | None,
    fail_on: str,
    *,
    against: str | None,
    allow_mismatch: bool,
    save: Path | None,
    quiet: bool,
    verbose: bool,
    no_alerts: bool,
    **asked: Any,
) -> _Done:
    from steelyard.comparing.operations import compare_with
    from steelyard.results.find import reference_of
    from steelyard.store.sql import open_store

    suite, options = asked_for(**asked)
    _refuse_what_cannot_fail(suite, against, fail_on)
    alerts = None if no_alerts else alerts_before_run(suite)
    store = closing.enter_context(open_store(store_url, create=options.resume is None))
    reference = reference_of(store, against, suite.name, closing)
    shown = {"quiet": quiet, "verbose": verbose}
    result = evaluate(suite, store, options, reference, allow_mismatch=allow_mismatch, save=save, **shown)
    done = _Done(suite, store, result.report(store), result, alerts)
    if reference is None:
        return done
    return replace(
        done,
        comparison=compare_with(store, result.header, reference, allow_mismatch=allow_mismatch),
        baseline=reference.label,
    )


def _refuse_what_cannot_fail(suite: SuiteModel, against: str | None, fail_on: str) -> None:
    """UsageError when no run of the suite could fail the job."""
    decides = bool(suite.gates) or any(not item.secondary for item in suite.criteria)
    if not decides and against is None and fail_on != "invalid":
        raise UsageError(
            f"suite {suite.name} has no gates that decide, so this step could never fail: declare `gates` in the suite,"
            " give --against, or say --fail-on invalid to mean it"
        )
