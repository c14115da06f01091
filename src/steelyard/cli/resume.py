"""The command line that continues a run."""

from __future__ import annotations

import shlex
import sys


def same_command(run_id: str = "", how: str = "--resume") -> str:
    """The command line as it was given, going on with the run: target and settings must be the same. Without a run,
    the one that starts a new one."""
    words = iter(sys.argv[1:])
    retained = []
    for word in words:
        if word == "--retry-failed":
            next(words, None)
        elif word not in ("--resume", run_id) and not word.startswith(("--resume=", "--retry-failed=")):
            retained.append(word)
    return shlex.join(["steelyard", *retained, *([how, run_id] if run_id else [])])
