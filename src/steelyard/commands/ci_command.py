"""The command ci."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import FILE, refuse_quiet_and_verbose
from steelyard.cli.output import print_json, print_on_one_screen, print_verdict, write_document
from steelyard.commands.github_job import GithubJob
from steelyard.commands.run_command import alerts_before_run, asked_for, evaluate
from steelyard.commands.run_command import run_command as run
from steelyard.errors import Problem, SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.records import Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from steelyard.commands.ci_report import Place
    from steelyard.comparing.model import Comparison
    from steelyard.loading.alerts import AlertSettings
    from steelyard.report.model import Report
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


# What `steelyard ci` writes: files in any CI, and what a GitHub job shows.

_MOST_PLACES = 10


@frozen
class CiFiles:
    """The files that were asked for, and the suite as it was asked for."""

    asked: str
    junit: Path | None
    markdown: Path | None
    html: Path | None

    @property
    def _given(self) -> list[Path]:
        return [path for path in (self.junit, self.markdown, self.html) if path is not None]

    def refuse_unwritable(self, save: Path | None) -> None:
        """UsageError for a file that could not be written: known before anything is asked, it costs no run."""
        for path in [*self._given, *([save] if save is not None else [])]:
            folder = path.parent
            if not folder.is_dir():
                raise UsageError(f"cannot write {path}: there is no folder {folder}")
            if not os.access(folder, os.W_OK):
                raise UsageError(f"cannot write {path}: {folder} may not be written to")

    def show(self) -> None:
        """Say which files are there."""
        for path in self._given:
            click.echo(f"written: {path}")

    def write(
        self,
        report: Report,
        comparison: Comparison | None,
        baseline: str,
        suite: SuiteModel,
        job: GithubJob | None,
        code: int,
    ) -> None:
        """Write every file, and tell the job."""
        from steelyard.commands.ci_comment import to_comment, why_moved
        from steelyard.commands.ci_report import run_annotations, troubles
        from steelyard.report.render.json import write_text
        from steelyard.report.render.junit import to_junit
        from steelyard.report.run import document

        if self.junit is not None:
            write_text(self.junit, to_junit(report))
        if self.html is not None:
            write_document(document(report), html=self.html)
        if self.markdown is None and job is None:
            return
        result = troubles(report, comparison, baseline)
        root = Path() if job is None else job.root
        places = _places(suite, root, [trouble.case_id for trouble in result[:_MOST_PLACES]])
        comment = to_comment(self.asked, report, comparison, baseline, result, places)
        if self.markdown is not None:
            write_text(self.markdown, comment)
        if job is None:
            return
        why = why_moved(comparison)
        file = _within(Path(suite.path), root)
        job.annotate(run_annotations(report, result, places, file=file, why=why, holds=code == 0))
        job.summarise(comment)
        job.give(_outputs(report, comparison, code, why))

    def add_missing_problem(self, error: SteelyardError, job: GithubJob | None) -> None:
        """Say in every place what is wrong; the command ends with the error all the same."""
        from steelyard.commands.ci_comment import problem_comment
        from steelyard.commands.ci_report import problem_annotations
        from steelyard.report.render.json import write_text

        comment = problem_comment(self.asked, error)
        # A second mistake must not hide the first.
        with suppress(UsageError):
            if self.markdown is not None:
                write_text(self.markdown, comment)
        if job is not None:
            root = job.root
            job.annotate(problem_annotations(error, lambda problem: self._place(problem, root)))
            job.summarise(comment)
            job.give({"verdict": "", "exit-code": str(error.exit_code)})

    def _place(self, problem: Problem, root: Path) -> Place | None:
        """Where a mistake is; its file is named as seen from the suite's folder."""
        from steelyard.suite.cases import place_of

        asked = Path(self.asked)
        place = place_of(asked if asked.is_dir() else asked.parent, problem.file)
        file = "" if place is None else place.within(root)
        return None if place is None or not file else (file, problem.line or place.line)


def _places(suite: SuiteModel, root: Path, ids: Sequence[str]) -> dict[str, Place]:
    """File and line of cases that are in the repository."""
    from steelyard.suite.cases import case_places

    results = {case_id: (place.within(root), place.line) for case_id, place in case_places(suite, ids).items()}
    return {case_id: place for case_id, place in results.items() if place[0]}


def _within(path: Path, root: Path) -> str:
    from steelyard.suite.cases import CasePlace

    return CasePlace(path).within(root) if path.is_file() else ""


def _outputs(report: Report, comparison: Comparison | None, code: int, why: str) -> dict[str, str]:
    from steelyard.report.wording import verdict_word

    return {
        "verdict": verdict_word(report),
        "exit-code": str(code),
        "run": report.header.id,
        "moved": "" if comparison is None else comparison.headline.verdict.value,
        "why": why,
    }


# `steelyard ci`.


_FAIL_ON = ("ambiguous", "fail", "invalid")


# It takes every option of a run that is made, and what is said of them there holds here.
@click.command("ci", params=[item for item in run.params if item.name not in ("estimate", "pending")])
@click.option("--junit", metavar="FILE", type=FILE, help="Write JUnit XML.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write Markdown for one comment on the change.")
@click.option("--html", metavar="FILE", type=FILE, help="Write the report as one self-contained HTML file.")
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
