"""How many files this process may open: a call has a connection, or the pipes of a program."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_OTHER_FILES = 256
_OPEN_AT_LEAST, _SPARE_FILES = 32, 24
"""Files that a process has open where that cannot be counted, and those kept free: for the store, modules, reports."""


def room_for_files(needed: int) -> tuple[int, int]:
    """How many of these files this process may open besides what it has open and needs otherwise, and the system's
    limit; the limit is raised as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return needed, soft
    try:
        n_open = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        n_open = _OPEN_AT_LEAST
    return max(0, min(needed, soft - n_open - _SPARE_FILES)), soft
