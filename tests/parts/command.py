"""The real command line, run as a person would, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

from click.testing import CliRunner

from steelyard.cli.group import steelyard as group
from steelyard.errors import SteelyardError

_ENV = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ} | {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "LANG": "C.UTF-8",
    "COLUMNS": "80",
}


def steelyard(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `steelyard ARGUMENTS` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        cwd=cwd,
        env=_ENV | (env or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def start_steelyard(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `steelyard ARGUMENTS` and leave it running."""
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        cwd=cwd,
        env=_ENV | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def invoke(*arguments: object, code: int = 0) -> str:
    """What `steelyard ARGUMENTS` prints on standard output, run in this process; of a deliberate error, its message."""
    return outputs(*arguments, code=code)[0]


def outputs(*arguments: object, code: int = 0) -> tuple[str, str]:
    """The same, and what it prints on standard error."""
    # Before 8.2 click put both outputs into one unless it was told not to.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    done = CliRunner(**apart).invoke(group, [str(one) for one in arguments], prog_name="steelyard")
    if isinstance(done.exception, SteelyardError):
        assert done.exception.exit_code == code, str(done.exception)
        return f"{done.stderr}{done.exception}", done.stderr
    assert done.exit_code == code, f"{done.stdout}{done.stderr}{done.exception!r}"
    return done.stdout, done.stderr
