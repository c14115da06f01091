"""An open load: calls fall due at a fixed rate, whatever came back of those before them."""

from __future__ import annotations

import time
from collections.abc import Callable

from steelyard.engine.limits import Pace

MOST_WAITING = 10_000
"""Calls that may wait, for others to end or for their next try. Under an open load those after them are made when
there is room, and were due all the same."""


class Schedule:
    """When each call is due: the first at once, each next one 1 / rate later."""

    def __init__(self, rate: float, pace: Pace, clock: Callable[[], float] = time.perf_counter) -> None:
        self._gap = 1 / rate
        self._pace = pace
        self._clock = clock
        self._first = clock()
        self._number = 0

    async def next(self) -> float:
        """Wait until the next call is due, and give that moment; at once when it is late. Closed when the run stops."""
        due = self._first + self._number * self._gap
        self._number += 1
        # Also when it is late: the calls under way need their turn.
        await self._pace.rest(max(0.0, due - self._clock()))
        while self._pace.waiting >= MOST_WAITING:
            await self._pace.rest(0.01)
        return due

    def put_off(self, seconds: float) -> None:
        """All that is still to come is due later: for waits that are not the system's fault."""
        self._first += seconds
