"""How late the event loop is: when it cannot keep up, this process is the bottleneck, not the system under test."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

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
