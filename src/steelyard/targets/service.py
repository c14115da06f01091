"""Whether a service is ready: asked before the clock starts, and once more after the last call. Never counted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shlex
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from yarl import URL

from steelyard.errors import TargetFailure, UsageError
from steelyard.redact import learn_secrets
from steelyard.suite.paths import MISSING, compile_path
from steelyard.targets.base import TargetContext
from steelyard.targets.connection import HttpRequest, excerpt_of
from steelyard.targets.filling import to_json
from steelyard.targets.program import ALWAYS_PASSED, GUARD, SPARE, find_program, last_words
from steelyard.targets.service_settings import PORT, PYTHON, ReadySettings, StartSettings
from steelyard.targets.settings import FromEnv
from steelyard.targets.transport import Wire, json_of

_log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_LONGEST_TRY = 5.0
_LONGEST_WAIT = 2.0
"""Seconds after which somebody who waits is told what for."""
_LAST_TRIES = 3
"""How often a service that was ready is asked before it counts as gone: it may be busy with what it was just asked."""


class NotReady(UsageError):
    """The service did not get ready in time; the message says what was tried."""


class Readiness:
    """Asks one service whether it is ready, with the headers that it is asked with otherwise."""

    def __init__(self, settings: ReadySettings, base: str, headers: dict[str, str], wire: Wire) -> None:
        """`base` is the address that a path is put behind; another host gets none of the headers."""
        self._settings = settings
        own = settings.url.startswith("/")
        self._url = URL(base.rstrip("/") + settings.url if own else settings.url)
        self._headers = {name: text for name, text in headers.items() if own and name.lower() != "content-type"}
        self._wire = wire
        self._expect = [(path, compile_path(path), value) for path, value in settings.expect.items()]

    async def wait(self, before_each: Callable[[], Awaitable[None]] | None = None) -> None:
        """Return when it is ready; NotReady when it is not in time."""
        began, tries, pause, message = time.monotonic(), 0, _FIRST_PAUSE, False
        while True:
            if before_each is not None:
                await before_each()
            left = self._settings.timeout - (time.monotonic() - began)
            problem = await self._problem(max(0.05, min(_LONGEST_TRY, left)))
            tries += 1
            if problem is None:
                return
            if time.monotonic() - began + pause >= self._settings.timeout:
                raise NotReady(self._message(tries, problem))
            if not message and time.monotonic() - began >= _LONGEST_WAIT:
                message = True
                _log.warning("waiting up to %g s until GET %s is ready: %s", self._settings.timeout, self._url, problem)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def lost(self, ended: Callable[[], str | None]) -> str | None:
        """What is wrong with a service that was ready before; None when it still is.

        `ended` says how its process ended, which is known only some moments after its connections are cut.
        """
        problem = None
        for number in range(_LAST_TRIES):
            if number:
                await asyncio.sleep(_LONGEST_PAUSE)
            problem = await self._problem(_LONGEST_TRY)
            if problem is None:
                return None
            if message := ended():
                return message
        return f"the service is not ready any more: GET {self._url}: {problem}"

    def _message(self, tries: int, problem: str) -> str:
        times = "once" if tries == 1 else f"{tries} times"
        return (
            f"the service is not ready: GET {self._url}, asked {times} within {self._settings.timeout:g} s, last"
            f" result: {problem}. Start the service, fix `ready`, or raise ready.timeout"
        )

    async def _problem(self, seconds: float) -> str | None:
        """What is wrong with it now; None when it is ready."""
        try:
            async with asyncio.timeout(seconds):
                received = await self._wire.send(HttpRequest("GET", self._url, self._headers))
            data: Any = json_of(received) if self._expect else None
        except TimeoutError:
            return f"no answer within {seconds:.2g} s"
        except TargetFailure as failure:
            return str(failure)
        for path, get, wanted in self._expect:
            value = get(data)
            if value is MISSING:
                return f"answered {received.status} with nothing at {path}: {excerpt_of(received.text)}"
            if value != wanted:
                return f"answered {received.status} with {path} = {to_json(value)}, not {to_json(wanted)}"
        return None


_GRACE = 3.0
"""Seconds that the service gets to end after SIGTERM."""
_TAIL = 8_000
_LAST_LINES = 12
_LONGEST_WORDS = 400
_PRINTING = 0.02
"""Seconds after a failed call in which what the service printed about it arrives."""
_FIRST_RESTART_PAUSE, _LONGEST_RESTART_PAUSE = 0.02, 0.25


class Service:
    """One service. `start` gives the port it listens on; `stop` ends it, and may be called at any time.

    A guard process holds it: when this process dies without a word, the guard stops the service all the same.
    """

    def __init__(
        self, settings: StartSettings, target_context: TargetContext, given: dict[str, str], where: str = "target http"
    ) -> None:
        """`given` are further variables of its environment; SuiteError when there is no such program."""
        self._settings = settings
        self._where = where
        self._folder = target_context.folder.resolve()
        self._env = self._environment(target_context) | given
        program = settings.command[0].replace(PYTHON, sys.executable)
        self._program = find_program(program, self._folder, self._env.get("PATH"), f"{where}, start")
        self.secrets = [
            self._env[name].removeprefix(value.prefix)
            for name, value in settings.env.items()
            if isinstance(value, FromEnv)
        ]
        learn_secrets([*self.secrets, *given.values()])
        self._port = 0
        self._watch: _Watch | None = None
        self._transport: asyncio.SubprocessTransport | None = None

    async def start(self) -> int:
        """The port, once it accepts connections; UsageError with the service's last words when it does not."""
        self._port = _free_port()
        loop = asyncio.get_running_loop()
        watch = self._watch = _Watch(loop)
        arguments = [self._filled(text) for text in self._settings.command[1:]]
        self._transport, _ = await loop.subprocess_exec(
            lambda: watch,
            *(sys.executable, "-I", "-S", str(GUARD), str(_GRACE), self._program, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._folder,
            env={name: value.replace(PORT, str(self._port)) for name, value in self._env.items()},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._settings.timeout):
                await self._listening()
        except TimeoutError:
            seconds = f"{self._settings.timeout:g} s"
            raise self.problem(
                f"the service is not ready: nothing listens on 127.0.0.1:{self._port} after {seconds} (start.timeout)"
            ) from None
        return self._port

    async def stop(self) -> None:
        """End it with everything in its process group; nothing happens when it does not run."""
        transport, watch = self._transport, self._watch
        if transport is None or watch is None:
            return
        self._transport = None
        try:
            pipe = transport.get_pipe_transport(0)
            if pipe is not None:
                pipe.close()
            await asyncio.wait([watch.exited], timeout=_GRACE + 2)
        finally:
            # A guard that is cancelled or stuck is not waited for: it sees the end of its input, too.
            transport.close()
        await asyncio.wait([watch.lost], timeout=1)

    def ended(self) -> str | None:
        """How it ended, with its last words on one line; None while it runs."""
        code = self._code()
        if code is None:
            return None
        return f"the service {_ending(code)}" + self._last_words()

    async def explained(self, failure: str) -> str:
        """Why a call failed, with what the service printed last."""
        await asyncio.sleep(_PRINTING)
        return failure + self._last_words()

    def _last_words(self) -> str:
        words = " | ".join(self._last_lines(3))[-_LONGEST_WORDS:]
        return f"; its last words: {words}" if words else ""

    def problem(self, message: str) -> UsageError:
        """What to tell the user, with the command and the last lines of its output."""
        lines = self._last_lines(_LAST_LINES)
        output = "\n".join(["its last lines:", *(f"  {line}" for line in lines)]) if lines else "it printed nothing"
        command = shlex.join(self._filled(text) for text in self._settings.command)
        return UsageError(f"{self._where}: {message}\nstarted as: {command}\n{output}")

    async def refuse_if_ended(self) -> None:
        """UsageError when it has ended."""
        if (code := self._code()) is not None:
            # Its last words may still be on their way.
            if self._watch is not None:
                await asyncio.wait([self._watch.lost], timeout=0.5)
            raise self.problem(f"the service {_ending(code)} before it was ready")

    async def _listening(self) -> None:
        pause = _FIRST_RESTART_PAUSE
        while True:
            await self.refuse_if_ended()
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
                return
            await asyncio.sleep(pause)
            pause = min(_LONGEST_RESTART_PAUSE, pause * 1.5)

    def _code(self) -> int | None:
        if self._watch is None or not self._watch.exited.done():
            return None
        return self._watch.exited.result()

    def _last_lines(self, most: int) -> list[str]:
        if self._watch is None:
            return []
        text = last_words(self._watch.output, _TAIL)
        return [line.rstrip() for line in text.splitlines() if line.strip()][-most:]

    def _filled(self, text: str) -> str:
        return text.replace(PORT, str(self._port) if self._port else PORT).replace(PYTHON, sys.executable)

    def _environment(self, target_context: TargetContext) -> dict[str, str]:
        names: tuple[str, ...] = ALWAYS_PASSED
        if any(PYTHON in text for text in self._settings.command):
            # This Python is meant with the packages that it sees.
            names = (*names, "PYTHONPATH", "VIRTUAL_ENV")
        passed = {name: target_context.env[name] for name in names if name in target_context.env}
        for name, value in self._settings.env.items():
            what = f"{self._where}, start.env {name}"
            passed[name] = value.read(target_context, what) if isinstance(value, FromEnv) else value
        return passed


def token_for(name: str, target_context: TargetContext) -> str:
    """The token that is shared with a service that a run starts: the variable's value, or one made up for this run."""
    return target_context.env.get(name, "").strip() or secrets.token_urlsafe(24)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ending(code: int) -> str:
    if code < 0:
        return f"was killed with its guard by signal {-code}"
    return f"was killed by signal {code - 128}" if code > 128 else f"ended with exit code {code}"


class _Watch(asyncio.SubprocessProtocol):
    """Keeps the end of what the service prints, and its exit code once it has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.output = bytearray()
        self.exited: asyncio.Future[int] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - stderr comes with stdout
        self.output += data
        del self.output[: -_TAIL - SPARE]

    def process_exited(self) -> None:
        code = None if self._transport is None else self._transport.get_returncode()
        if not self.exited.done():
            self.exited.set_result(os.EX_OSERR if code is None else code)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of the protocol
        if not self.lost.done():
            self.lost.set_result(None)
