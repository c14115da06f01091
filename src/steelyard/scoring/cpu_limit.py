"""Stops a call of a library that offers no limit of its own."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any, Self

_EVENTS_A_LOOK = 64
"""Calls and returns between two looks at the clock, which costs more than they do."""


class OutOfTime(BaseException):
    """The limit is reached. Not an Exception, so that the library's own handlers let it through."""


class CpuLimit:
    """Raises OutOfTime inside the `with` block once its thread has used so many seconds of CPU in all of its blocks.

    It looks at the clock when a Python function is called or returns, so one long call into C is not stopped.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._events = 0

    def __enter__(self) -> Self:
        self._began, self._before = time.thread_time(), sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(self._before)
        self._left -= time.thread_time() - self._began

    def _look(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        self._events += 1
        if self._events % _EVENTS_A_LOOK == 0 and time.thread_time() - self._began > self._left:
            raise OutOfTime
