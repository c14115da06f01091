"""Who is running a run: so that a second process does not go on with one that is still alive."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeGuard

from steelyard.errors import UsageError
from steelyard.records import Owner, RunHeader, RunState
from steelyard.store.base import Store
from steelyard.store.ownership import Lease, held_here

SILENCE = 30.0
"""Seconds without a heartbeat after which the owner of a run on another host is taken to be gone: ten beats."""
_LOOK_EVERY = 1.0
_NOTE_EVERY = 10.0


def myself() -> Owner:
    """This process, with a new token to write a run under."""
    return Owner(socket.gethostname(), os.getpid(), _began(os.getpid()), _machine(), secrets.token_hex(8))


@cache
def _machine() -> str:
    """What tells the processes of this machine, or container, from those of another with the same host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def is_alive(owner: Owner | None) -> TypeGuard[Owner]:
    """True when that process still runs on this machine; of another machine nothing can be known, and it is False."""
    if not _is_here(owner) or owner.pid <= 0:
        return False
    if owner.pid == os.getpid() and owner.began == _began(owner.pid):
        return held_here(owner.token)
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    return _began(owner.pid) == owner.began


def state_of(header: RunHeader) -> str:
    """The run's state for a person: "unfinished" when it was running and its process on this machine is gone."""
    owner = header.options.owner
    gone = header.state is RunState.RUNNING and _is_here(owner) and not is_alive(owner)
    return "unfinished" if gone else header.state.value


def _is_here(owner: Owner | None) -> TypeGuard[Owner]:
    """Whether the process is, or was, one of this machine."""
    return owner is not None and owner.host == socket.gethostname() and owner.machine in ("", _machine())


def free_lease(store: Store, run_id: str, note: Callable[[str], None]) -> Lease:
    """The lease of a run that nobody runs, to take it over with; UsageError when its process is alive.

    A process of this machine is looked up. One of another host is alive when its heartbeats are seen to go on; they
    are waited for as long as they may take.
    """
    seen = store.lease(run_id)
    if seen.owner is None or seen.state is not RunState.RUNNING:
        return seen
    if is_alive(seen.owner):
        raise still_running(run_id, seen)
    if _is_here(seen.owner):
        return seen
    began = noted = time.monotonic()
    note(
        f"run {run_id} belongs to process {seen.owner.pid} on {seen.owner.host}{_last_seen(seen)}:"
        f" resumed if there is no sign of life within {SILENCE:g} s"
    )
    while (waited := time.monotonic() - began) < SILENCE:
        time.sleep(_LOOK_EVERY)
        now = store.lease(run_id)
        if (now.token, now.beats) != (seen.token, seen.beats):
            if now.owner is None or now.state is not RunState.RUNNING:
                return now
            raise still_running(run_id, now)
        if time.monotonic() - noted >= _NOTE_EVERY:
            noted = time.monotonic()
            note(f"no sign of life from process {seen.owner.pid} on {seen.owner.host} for {waited:.0f} s")
    return seen


def still_running(run_id: str, lease: Lease) -> UsageError:
    """The error for a run whose process is alive."""
    owner = lease.owner
    assert owner is not None  # noqa: S101 - a process that is alive
    suspended = ", which is suspended" if _is_here(owner) and _fields(owner.pid)[:1] == ["T"] else ""
    advice = f"continue it (kill -CONT {owner.pid})" if suspended else "wait for it"
    return UsageError(
        f"run {run_id} is still going on in process {owner.pid} on {owner.host}{suspended}{_last_seen(lease)}:"
        f" {advice}, or stop it first"
    )


def _last_seen(lease: Lease) -> str:
    return "" if lease.age is None else f", last seen {lease.age:.0f} s ago"


def _began(pid: int) -> str | None:
    """When the process began, in the kernel's own count; None where the system does not tell."""
    fields = _fields(pid)
    # A process that ends while its file is read leaves less than a line, or nothing. A zombie has ended.
    return None if len(fields) < 20 or fields[0] == "Z" else fields[19]


def _fields(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; nothing where it does not tell."""
    try:
        # The name in brackets may hold anything; the 20th field behind it is the start time.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
