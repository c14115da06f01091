"""Who is running a run: so that a second process does not go on with one that is still alive."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from steelyard.records import RunHeader, RunState


def myself() -> dict[str, Any]:
    """This process, told apart from a later one with the same number by when it began."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "began": _began(os.getpid())}


def is_alive(owner: dict[str, Any] | None) -> bool:
    """True when that process still runs on this machine; of another machine nothing can be known, and it is False."""
    if not owner or owner.get("host") != socket.gethostname() or owner == myself():
        return False
    pid = owner.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    return _began(pid) == owner.get("began")


def state_of(header: RunHeader) -> str:
    """The run's state for a person: "unfinished" when it was running and its process on this machine is gone."""
    owner = header.options.get("owner")
    here = owner is not None and owner.get("host") == socket.gethostname() and owner != myself()
    gone = header.state is RunState.RUNNING and here and not is_alive(owner)
    return "unfinished" if gone else header.state.value


def _began(pid: int) -> str | None:
    """When the process began, in the kernel's own count; None where the system does not tell."""
    try:
        # The name in brackets may hold anything; the 20th field behind it is the start time. A zombie has ended.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
