"""What GitHub Actions reads and shows of a job: log, outputs, annotations and summary. Nothing foreign is a command.

A line of a log that begins with `::`, or has `##[` anywhere, is a command to the runner that reads it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from steelyard.frozen import frozen
from steelyard.report.format import one_line, shortened, visible

_BEGINS_COMMAND = re.compile(r"((?:^|[\r\n])[^\S\r\n]*:)(?=:)")
_OLD_COMMAND = "##["
SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST_BYTES = 1_000_000
"""GitHub takes 1 MiB for a step, and shows nothing at all of more."""
_LONGEST_MESSAGE = 4_000
_CUT_OFF = "\n\n(cut off here: GitHub shows no more)\n"


def commands_off() -> tuple[str, str]:
    """Two lines of a log: after the first no line is a command, until the second, which nobody can guess."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}", f"::{token}::"


def harmless_log(text: str) -> str:
    """The text with a space in everything that the runner would take for a command."""
    return _BEGINS_COMMAND.sub(r"\1 ", text).replace(_OLD_COMMAND, "## [")


def harmless_json(text: str) -> str:
    """The same JSON, spelled so that no line of it is a command; indented JSON begins no line with `::`."""
    return text.replace(_OLD_COMMAND, "##\\u005b")


def output_lines(values: dict[str, str]) -> str:
    """Values as a step's outputs, for the file that $GITHUB_OUTPUT names."""
    # A mark that nobody can guess: a value cannot end itself and begin another output.
    mark = f"end-{secrets.token_hex(16)}"
    return "".join(f"{name}<<{mark}\n{value}\n{mark}\n" for name, value in values.items())


def in_github(env: Mapping[str, str]) -> bool:
    """Whether this runs as a job of GitHub Actions."""
    return env.get("GITHUB_ACTIONS") == "true"


def annotation(level: str, message: str, *, title: str = "", file: str = "", line: int | None = None) -> str:
    """The line that makes GitHub show a message, at a file and line when given; `level` is error, warning or notice."""
    if level not in [*AnnotationLevel]:
        raise ValueError(f"an annotation is one of {', '.join(AnnotationLevel)}; not {level!r}")
    messages = {"file": file, "line": "" if line is None else str(line), "title": one_line(title)}
    words = ",".join(f"{name}={_property(value)}" for name, value in messages.items() if value)
    return f"::{level}{f' {words}' if words else ''}::{_data(visible(message))}"


class AnnotationLevel(StrEnum):
    """How loudly an annotation speaks."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@frozen
class Annotation:
    """A remark beside a line of a file, or on the whole job where there is no file."""

    level: AnnotationLevel
    title: str
    message: str
    file: str = ""
    """Relative to the root of the repository."""
    line: int | None = None

    @property
    def command(self) -> str:
        """The line of a log that makes a GitHub job show it."""
        message = shortened(self.message, _LONGEST_MESSAGE)
        return annotation(self.level, message, title=self.title, file=self.file, line=self.line)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def append_summary(markdown: str, env: Mapping[str, str]) -> bool:
    """Add Markdown to the job summary; False when there is none to add to. What GitHub would not show is cut off."""
    place = env.get(SUMMARY)
    if not place:
        return False
    path = Path(place)
    used = path.stat().st_size if path.exists() else 0
    text = f"{markdown.rstrip()}\n\n".encode("utf-8", "backslashreplace")
    if used + len(text) > _MOST_BYTES:
        room = _MOST_BYTES - used - len(_CUT_OFF)
        if room <= 0:
            return False
        text = text[:room].decode("utf-8", "ignore").encode() + _CUT_OFF.encode()
    with path.open("ab") as file:
        file.write(text)
    return True
