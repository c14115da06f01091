"""How fast to ask: adaptive concurrency, requests a second, pauses that the server asked for, and money."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator

_CUT_QUIET = 1.0
"""Seconds in which one cut is enough: calls sent before the cut still come back throttled."""


class Closed(Exception):
    """No further call may start: the run is stopping."""


class Pace:
    """Lets a call start when it may, and counts those under way.

    At most `width` are under way at once: half as many after a 429, one more after each full round of good answers.
    Under an open load (`steady`) a 429 holds up no other call: calls are sent when they are due, whatever came back.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_second: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        steady: bool = False,
    ) -> None:
        self.steady = steady
        self.held_up = 0
        """Under an open load, calls that were due and had to wait because as many as may be were under way."""
        self.concurrency = concurrency
        self.width = concurrency
        self.under_way = 0
        self._gap = 1 / requests_per_second if requests_per_second else 0.0
        self._next_slot = 0.0
        self._paused_until = float("-inf")
        self._last_cut = float("-inf")
        self._good = 0
        self._held = 0
        self._regaining = False
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Calls that wait for others to end."""
        return len(self._waiting)

    async def enter(self) -> bool:
        """Wait until one more call may start; `leave` must follow. True when others had to end first.

        Closed when the run is stopping.
        """
        must_wait = self.under_way >= self.width
        while (self._held or self.under_way >= self.width) and not self._closed.is_set():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        if self._closed.is_set():
            raise Closed
        self.under_way += 1
        if self._gap or self._paused_until > 0:
            try:
                await self._start_in_time()
            except BaseException:
                self.leave()
                raise
        return must_wait

    async def _start_in_time(self) -> None:
        while (wait := self._paused_until - self._clock()) > 0:
            await self.rest(wait)
        if self._gap:
            now = self._clock()
            slot = max(now, self._next_slot)
            self._next_slot = slot + self._gap
            if slot > now:
                await self.rest(slot - now)

    def leave(self) -> None:
        """A call is over, however it ended."""
        self.under_way -= 1
        self._wake()

    async def rest(self, seconds: float) -> None:
        """Sleep, but not longer than the run goes on: Closed when it stops meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            return
        raise Closed

    def good(self) -> None:
        """A call was answered: after as many as may be under way, allow one more."""
        if self.width >= self.concurrency:
            return
        self._good += 1
        if self._regaining or self._good >= self.width:
            self._good = 0
            self.width += 1
            self._wake()

    def throttled(self, retry_after: float | None) -> None:
        """The server is over its limit: halve the width, and hold every call as long as it asked."""
        if self.steady:
            return
        now = self._clock()
        if retry_after:
            self._paused_until = max(self._paused_until, now + retry_after)
        if now - self._last_cut >= _CUT_QUIET:
            self._last_cut = now
            self._good = 0
            self._regaining = False
            self.width = max(1, self.width // 2)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Start no further call meanwhile."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._wake()

    def regain(self) -> None:
        """The system is back after an outage: begin with one call, and allow one more after each good answer."""
        self._regaining = True
        self.width = 1

    def close(self) -> None:
        """Start no further call, and tell everybody who waits."""
        self._closed.set()
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)

    def _wake(self) -> None:
        """Let as many go on as there is room for; each looks again for itself."""
        room = 0 if self._held else self.width - self.under_way
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1


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

    @property
    def is_empty(self) -> bool:
        """True when the limit is reached: not even a call that belongs to what is under way may be made."""
        return self.limit is not None and self.spent >= self.limit

    def pay(self, cost: float | None) -> None:
        """A call within what is under way is over."""
        self.spent += cost or 0.0

    def started(self) -> None:
        """A call is under way."""
        self._in_flight += 1

    def ended(self, cost: float | None) -> None:
        """A call is over; `cost` is None when it failed or nobody knows."""
        self._in_flight -= 1
        if cost is not None:
            self.spent += cost
            self._paid += 1
