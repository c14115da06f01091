"""The GitHub job that a command runs in: what it shows beside the log, and what of the log it may obey."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.safe_output import workflow_command

if TYPE_CHECKING:
    from steelyard.report.render.github import Annotation


class GithubJob:
    """A job, known by its environment; a file that it does not name is not written."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.root = Path(env.get("GITHUB_WORKSPACE") or ".")
        """Of the repository: annotations name files from here."""
        self._env = env

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """Nothing that the system under test prints is a command to the runner."""
        from steelyard.report.render.github import commands_off

        off, on = commands_off()
        workflow_command(off)
        try:
            yield
        finally:
            # On a line of its own, whatever the system under test left unfinished.
            workflow_command(f"\n{on}")

    def annotate(self, annotations: Iterable[Annotation]) -> None:
        """Show annotations beside the lines of files."""
        for annotation in annotations:
            workflow_command(annotation.command)

    def summarise(self, markdown: str) -> None:
        """Add Markdown to the summary of the step."""
        from steelyard.report.render.github import append_summary

        with _message("the step summary"):
            append_summary(markdown, self._env)

    def give(self, outputs: dict[str, str]) -> None:
        """Set outputs of the step."""
        from steelyard.report.render.github import output_lines

        if path := self._env.get("GITHUB_OUTPUT"):
            with _message("the outputs of the step"), Path(path).open("a", encoding="utf-8", errors="replace") as file:
                file.write(output_lines(outputs))


@contextlib.contextmanager
def _message(what: str) -> Iterator[None]:
    """What cannot be written is only reported: the verdict must not depend on it."""
    try:
        yield
    except OSError as error:
        click.echo(f"note: {what} could not be written: {error.strerror or error}", err=True)
