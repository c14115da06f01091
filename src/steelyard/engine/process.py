"""The process that runs: its event loop and signals."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import errno
import gc
import os
import secrets
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, cast

from steelyard.errors import UsageError
from steelyard.records import Owner, RunHeader, RunState
from steelyard.store.base import Store
from steelyard.store.ownership import Lease, held_here

# Runs what waits for calls to its end.

T = TypeVar("T")


def in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it gives, also when the caller (a notebook) is inside a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return in_thread(lambda: asyncio.run(coroutine))


def in_thread(call: Callable[[], T], *, daemon: bool = False) -> T:
    """What it gives in a thread of its own; of a `daemon` nobody waits for the end when the program ends before."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=daemon).start()
    return outcome.result()


# Ctrl-C, a polite kill and a terminal that is closed, as a wish that the run can follow.

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def caught_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C, a polite kill and a closed terminal stop the run instead of the process; only the main thread can ask for
    that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def hang_up() -> None:
        _drop_closed_terminal()
        interrupt()

    for number in _CAUGHT:
        loop.add_signal_handler(number, interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        release_signals()


def release_signals() -> None:
    """From here on a signal ends the process."""
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in (*_CAUGHT, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _drop_closed_terminal() -> None:
    """Let what is printed to a terminal that was closed go nowhere, instead of being an error of its own."""
    for number in (0, 1, 2):
        try:
            termios.tcgetattr(number)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_RDWR), number)


# A loop that is not held up by its own process while calls are under way.

_SWITCH = 0.0005


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Collects garbage in circles seldom (saved a tenth of the CPU of a call, measured), and lets the writer's thread
    hold up the loop for half a millisecond at most: with Python's 5 ms, waits of its own get into the latencies."""
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    sys.setswitchinterval(min(switch, _SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(switch)
        gc.set_threshold(*before)
        gc.unfreeze()


# Who is running a run: so that a second process does not go on with one that is still alive.

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


# How late the event loop is: when it cannot keep up, this process is the bottleneck, not the system under test.

_TICK = 0.02
_SHORTEST = 0.1
"""Seconds; a run that is over sooner says nothing."""


class LoopLag:
    """Wakes up fifty times a second while it watches, and adds up how late that was."""

    def __init__(self) -> None:
        self._late, self._ticks = 0.0, 0

    @property
    def mean(self) -> float | None:
        """Seconds that the loop was late on average; None when it was watched too shortly."""
        return self._late / self._ticks if self._late + self._ticks * _TICK >= _SHORTEST else None

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Watches the running loop meanwhile."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK)
            self._late += max(0.0, time.perf_counter() - began - _TICK)
            self._ticks += 1


# The time that a call may take, which is the system's alone.

_MOST_EXTENSIONS = 10
_SMALL_DELAY = 0.02
"""Seconds; a loop that is later than this was held up by something in this process."""


class TargetTime:
    """A timeout, extended by as much as the event loop itself was late, so that it counts the target's time alone.

    Without it a loop that was held up finds the answer and the end of the timeout together, and the timeout wins. A
    loop that is late again and again does not put it off for ever. With one timer a call and no coroutine of its own it
    takes half the time of `asyncio.timeout`.
    """

    __slots__ = ("_cancelling", "_expired", "_left", "_loop", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = _MOST_EXTENSIONS
        self._expired = False

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._cancelling = self._task.cancelling()
        self._end_at(self._loop.time() + self._seconds)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._timer.cancel()
        # As `asyncio.timeout` has it: somebody else who cancels the task meanwhile is not taken for the timeout.
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _end_at(self, end: float) -> None:
        self._timer = self._loop.call_at(end, self._look, end)

    def _look(self, end: float) -> None:
        now = self._loop.time()
        late = now - end
        if late > _SMALL_DELAY and self._left:
            self._left -= 1
            self._end_at(now + late)
        else:
            self._expired = True
            self._task.cancel()
