"""What `steelyard ci` writes: files in any CI, and what a GitHub job shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.output import write_document
from steelyard.commands.github_job import GithubJob
from steelyard.errors import Problem, SteelyardError, UsageError
from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.commands.ci_report import Place
    from steelyard.comparing.model import Comparison
    from steelyard.report.model import Report
    from steelyard.suite.models import SuiteModel

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
