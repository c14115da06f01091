"""One try of a call: its answer, or why there is none, within a time that is the system's alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from steelyard.errors import TargetFailure
from steelyard.targets.base import Reply

Send = Callable[[], Awaitable[Reply]]

_MOST_EXTENSIONS = 10
_SMALL_DELAY = 0.02
"""Seconds; a loop that is later than this was held up by something in this process."""


async def try_once(send: Send, seconds: float) -> Reply | TargetFailure:
    """The answer of one call, or why there is none."""
    try:
        async with asyncio.timeout(seconds) as limit:
            with _TargetTime(limit, seconds):
                return await send()
    except TimeoutError:
        return TargetFailure("timeout", f"no answer within {seconds:g} s")
    except TargetFailure as failure:
        return failure


class _TargetTime:
    """Extends a timeout by as much as the event loop itself was late, so that it counts the target's time alone.

    Without it a loop that was held up finds the answer and the end of the timeout together, and the timeout wins. A
    loop that is late again and again does not put it off for ever.
    """

    __slots__ = ("_left", "_limit", "_timer")

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self._limit = limit
        self._left = _MOST_EXTENSIONS
        self._look_before(asyncio.get_running_loop().time() + seconds)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        self._timer.cancel()

    def _look_before(self, end: float) -> None:
        # Of timers that are due at once, the earlier is run first.
        self._timer = asyncio.get_running_loop().call_at(end - 0.001, self._look, end)

    def _look(self, end: float) -> None:
        now = asyncio.get_running_loop().time()
        late = now - end
        if late > _SMALL_DELAY and self._left:
            self._left -= 1
            self._limit.reschedule(now + late)
            self._look_before(now + late)
