"""Whether a service is ready: asked before the clock starts, and once more after the last call. Never counted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from yarl import URL

from steelyard.errors import TargetFailure, UserMistake
from steelyard.suite.paths import MISSING, compile_path
from steelyard.targets.filling import to_json
from steelyard.targets.service_settings import ReadySettings
from steelyard.targets.wire import Request, Wire, excerpt_of, json_of

_log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_LONGEST_TRY = 5.0
_PATIENCE = 2.0
"""Seconds after which somebody who waits is told what for."""
_LAST_TRIES = 3
"""How often a service that was ready is asked before it counts as gone: it may be busy with what it was just asked."""


class NotReady(UserMistake):
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
        began, tries, pause, told = time.monotonic(), 0, _FIRST_PAUSE, False
        while True:
            if before_each is not None:
                await before_each()
            left = self._settings.timeout - (time.monotonic() - began)
            problem = await self._problem(max(0.05, min(_LONGEST_TRY, left)))
            tries += 1
            if problem is None:
                return
            if time.monotonic() - began + pause >= self._settings.timeout:
                raise NotReady(self._told(tries, problem))
            if not told and time.monotonic() - began >= _PATIENCE:
                told = True
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
            if told := ended():
                return told
        return f"the service is not ready any more: GET {self._url}: {problem}"

    def _told(self, tries: int, problem: str) -> str:
        times = "once" if tries == 1 else f"{tries} times"
        return (
            f"the service is not ready: GET {self._url}, asked {times} within {self._settings.timeout:g} s, last said: "
            f"{problem}. Start the service, mend `ready`, or raise ready.timeout"
        )

    async def _problem(self, seconds: float) -> str | None:
        """What is wrong with it now; None when it is ready."""
        try:
            async with asyncio.timeout(seconds):
                received = await self._wire.send(Request("GET", self._url, self._headers))
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
