"""The real command line, run as a person would, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
