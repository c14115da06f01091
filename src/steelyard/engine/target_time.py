"""The time that a call may take, which is the system's alone."""

from __future__ import annotations

import asyncio
from typing import Any, cast

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
