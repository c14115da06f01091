"""How fast to ask: adaptive concurrency, requests a second, pauses that the server asked for, and money."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_CUT_QUIET = 1.0
"""Seconds in which one cut is enough: calls sent before the cut still come back throttled."""


class Pace:
    """Lets a worker through when it may call.

    There are `lanes` at once: half as many after a 429, one more after each full round of good answers.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_second: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.concurrency = concurrency
        self.lanes = concurrency
        self._gap = 1 / requests_per_second if requests_per_second else 0.0
        self._next_slot = 0.0
        self._paused_until = float("-inf")
        self._last_cut = float("-inf")
        self._good = 0
        self._clock = clock
        self._widened = asyncio.Condition()

    async def enter(self, lane: int) -> None:
        """Wait until lane number `lane` may make its next call."""
        if lane >= self.lanes:
            async with self._widened:
                await self._widened.wait_for(lambda: lane < self.lanes)
        while (wait := self._paused_until - self._clock()) > 0:  # noqa: ASYNC110 - waits for a moment, which may be moved while it sleeps
            await asyncio.sleep(wait)
        if self._gap:
            now = self._clock()
            slot = max(now, self._next_slot)
            self._next_slot = slot + self._gap
            if slot > now:
                await asyncio.sleep(slot - now)

    async def good(self) -> None:
        """A call was answered: after as many as there are lanes, open one more."""
        if self.lanes >= self.concurrency:
            return
        self._good += 1
        if self._good >= self.lanes:
            self._good = 0
            await self._set_lanes(self.lanes + 1)

    async def throttled(self, retry_after: float | None) -> None:
        """The server is over its limit: halve the lanes, and hold every call as long as it asked."""
        now = self._clock()
        if retry_after:
            self._paused_until = max(self._paused_until, now + retry_after)
        if now - self._last_cut >= _CUT_QUIET:
            self._last_cut = now
            self._good = 0
            self.lanes = max(1, self.lanes // 2)

    async def open_all(self) -> None:
        """Let every waiting worker go, so that it can see that the run is stopping."""
        await self._set_lanes(self.concurrency)

    async def _set_lanes(self, lanes: int) -> None:
        self.lanes = lanes
        async with self._widened:
            self._widened.notify_all()


class Purse:
    """Counts what was spent and says when the next call could go over the limit."""

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit = limit
        self.spent = spent
        self._paid = 0
        self._in_flight = 0

    @property
    def awaits_first_price(self) -> bool:
        """True while the first call under a limit is under way: nobody knows yet what a call costs."""
        return self.limit is not None and self._paid == 0 and self._in_flight > 0

    def may_spend(self) -> bool:
        """False when what is spent, plus what the calls under way will likely cost, reaches the limit."""
        if self.limit is None:
            return True
        usual = self.spent / self._paid if self._paid else 0.0
        return self.spent + usual * (self._in_flight + 1) <= self.limit

    def started(self) -> None:
        """A call is under way."""
        self._in_flight += 1

    def ended(self, cost: float | None) -> None:
        """A call is over; `cost` is None when it failed or nobody knows."""
        self._in_flight -= 1
        if cost is not None:
            self.spent += cost
            self._paid += 1
