"""Runs one program in a process group of its own, and leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

from steelyard.errors import Problem, SuiteError
from steelyard.frozen import frozen
from steelyard.redact import redact_known

ALWAYS_PASSED = ("PATH", "HOME", "LANG")
"""Environment variables that every program gets, besides those that the suite names."""
GUARD = Path(__file__).with_name("guard.py")
_STDERR_TAIL = 2000
SPARE = 4096
"""Bytes more than are shown: no secret is longer."""
_GRACE = 0.5
"""Seconds that pipes may stay open after the group was killed; a descendant that left the group may hold them."""


@frozen
class Program:
    """What to start, where, and with which environment; `max_bytes` bounds what is read from stdout."""

    argv: tuple[str, ...]
    folder: Path
    env: dict[str, str]
    max_bytes: int


@frozen
class Finished:
    """How it ended: exit code (negative: the signal that killed it), stdout and the tail of stderr.

    `too_large` says that it was killed for writing too much.
    """

    code: int
    output: bytes
    complaint: str
    too_large: bool = False
    took: float | None = None
    """Seconds from its start to its exit."""


class Guard:
    """A process of its own that kills what was started and has not ended when this process does, by `kill -9` too."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this Python, on our own file
            [sys.executable, "-I", "-S", str(GUARD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def started(self, group: int) -> None:
        """A program leads this group now."""
        self._write(f"+{group}\n")

    def ended(self, group: int) -> None:
        """Nothing of the group is left."""
        self._write(f"-{group}\n")

    def close(self) -> None:
        """There is nothing left to guard."""
        self._process.communicate()

    def _write(self, line: str) -> None:
        # Somebody may have killed it: the calls go on without.
        with contextlib.suppress(BrokenPipeError):
            os.write(cast("IO[bytes]", self._process.stdin).fileno(), line.encode())


async def run_program(program: Program, stdin: bytes | None, guard: Guard) -> Finished:
    """Runs it to its end; OSError when it cannot start.

    However this call ends, by cancelling too, the whole group is killed and the program reaped.
    """
    loop = asyncio.get_running_loop()
    talk = _Talk(loop, program.max_bytes)
    began = time.perf_counter()
    transport, _ = await loop.subprocess_exec(
        lambda: talk,
        *program.argv,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=program.folder,
        env=program.env,
        start_new_session=True,
    )
    group = transport.get_pid()
    guard.started(group)
    try:
        if stdin is not None:
            pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
            pipe.write(stdin)
            pipe.close()
        await asyncio.shield(talk.done)
    finally:
        if not talk.done.done():
            talk.kill()
            await talk.done
        transport.close()
        guard.ended(group)
    code = transport.get_returncode()
    complaint = last_words(talk.complaint, _STDERR_TAIL)
    took = None if talk.exited is None else talk.exited - began
    return Finished(-signal.SIGKILL if code is None else code, bytes(talk.output), complaint, talk.too_large, took)


def last_words(output: bytearray, most: int) -> str:
    """The end of what a program printed, of which the last `most` + SPARE bytes were collected, without secrets.

    Redacted before it is cut: of a secret that is cut in two nobody finds the rest.
    """
    whole = bytes(output)
    if len(whole) >= most + SPARE:
        begins = re.search(rb"\s", whole[:SPARE])
        whole = whole[begins.end() if begins else SPARE :]
    return redact_known(whole.decode("utf-8", "replace")).strip()[-most:]


def find_program(name: str, folder: Path, path: str | None, where: str) -> str:
    """Where the program is: on PATH, or with a slash in its name from the folder; SuiteError when it is not there."""
    result = shutil.which(str(folder / name)) if os.sep in name else shutil.which(name, path=path or os.defpath)
    if result is None:
        place = "in the suite's folder" if os.sep in name else "on PATH"
        raise SuiteError([Problem(f"there is no program {name!r} {place} that can be run", where)])
    return result


class _Talk(asyncio.SubprocessProtocol):
    """Collects what the program says. Its end is the end of its group: what it started does not outlive it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_bytes: int) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self.output = bytearray()
        self.complaint = bytearray()
        self.too_large = False
        self.exited: float | None = None
        self._max_bytes = max_bytes
        self._loop = loop
        self._transport: asyncio.SubprocessTransport | None = None
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.complaint += data
            del self.complaint[: -_STDERR_TAIL - SPARE]
        elif not self.too_large:
            self.output += data
            if len(self.output) > self._max_bytes:
                self.too_large = True
                self.output.clear()
                self.kill()

    def process_exited(self) -> None:
        self.exited = time.perf_counter()
        self.kill()
        if self._transport is not None:
            self._closing = self._loop.call_later(_GRACE, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of the protocol
        if self._closing is not None:
            self._closing.cancel()
        if not self.done.done():
            self.done.set_result(None)

    def kill(self) -> None:
        """Kills the whole group; the program leads it, so its id is the group's."""
        pid: Any = None if self._transport is None else self._transport.get_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
