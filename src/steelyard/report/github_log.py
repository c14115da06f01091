"""The log and the outputs of a GitHub job, in which no foreign text is a command.

A line of a log that begins with `::`, or has `##[` anywhere, is a command to the runner that reads it.
"""

from __future__ import annotations

import re
import secrets

_BEGINS_COMMAND = re.compile(r"((?:^|[\r\n])[^\S\r\n]*:)(?=:)")
_OLD_COMMAND = "##["


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
