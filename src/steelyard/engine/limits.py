"""How fast to ask: adaptive concurrency, requests a second, pauses that the server asked for, and money."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto

_GOOD_A_PLACE = 8
"""Good answers that widen by one what a 429 narrowed by one: up to one 429 in nine slows nothing down."""


class Closed(Exception):
    """No further call may start: the run is stopping."""


class Pace:
    """Lets a call start when it may, and counts those under way.

    At most `width` are under way at once: one fewer after a 429, one more after eight good answers. Until a call that
    was sent after the first of several 429s is answered, half are left. When most calls fail, `Retry-After` holds up
    all. Under an open load (`steady`) calls are sent when due, whatever came back.
    """

    def __init__(self, concurrency: int, requests_per_second: float | None = None, *, steady: bool = False) -> None:
        self.steady = steady
        self.held_up = 0
        """Under an open load, calls that were due and had to wait because as many as may be were under way."""
        self.concurrency = concurrency
        self.width = concurrency
        self.under_way = 0
        self._gap = 1 / requests_per_second if requests_per_second else 0.0
        self._last_slot = float("-inf")
        self._good = 0
        self._least, self._cut_at = 0, float("-inf")
        self._failing = 0
        self.ask_more: Callable[[], object] = lambda: None
        """Begins one more call in the place of one that waits for its next try."""
        self._held = 0
        self._regaining = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Calls that wait for others to end."""
        return len(self._waiting)

    @property
    def most_fail(self) -> bool:
        """True when more calls have failed lately, some two rounds, than were answered or are still under way."""
        return self._failing > self.under_way

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
        if self._gap:
            now = time.perf_counter()
            slot = self._last_slot = max(now, self._last_slot + self._gap)
            if slot > now:
                try:
                    await self.rest(slot - now)
                except BaseException:
                    self.leave()
                    raise
        return must_wait

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

    async def back_off(self, seconds: float) -> None:
        """Wait before a call is made again; unless most calls fail, its place goes to another meanwhile."""
        if not self._waiting and not self.most_fail:
            self.ask_more()
        await self.rest(seconds)

    def good(self, sent: float = float("inf")) -> None:
        """A call that was sent at this moment was answered: after eight, or two rounds of them, allow one more."""
        self._failing = max(self._failing - 1, -self.width)
        if sent > self._cut_at:
            self._least = 0
        if self.width >= self.concurrency:
            return
        self._good += 1
        if self._regaining or self._good >= min(2 * self.width, _GOOD_A_PLACE):
            self._good = 0
            self.width += 1
            self._wake()

    def failed(self, *, throttled: bool = False, retry_after: float = 0.0) -> None:
        """A call failed. `throttled`: the server wants fewer at once, and when most fail, none for so many seconds."""
        self._failing = min(max(self._failing, -self.width) + 1, 2 * self.concurrency)
        if self.steady or not throttled:
            return
        if not self._least:
            self._least, self._cut_at = max(1, self.width // 2), time.perf_counter()
        self._good, self._regaining = 0, False
        self.width = max(self._least, self.width - 1)
        if retry_after and self.most_fail:
            self._held += 1
            asyncio.get_running_loop().call_later(retry_after, self._release)

    def _release(self) -> None:
        self._held -= 1
        self._wake()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Start no further call meanwhile."""
        self._held += 1
        try:
            yield
        finally:
            self._release()

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


class Budget:
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


class Ruling(Enum):
    """What becomes of a call that failed for good."""

    STANDS = auto()
    """It has failed."""
    AGAIN = auto()
    """Nobody was there to answer it: it is made again."""
    ONCE_MORE = auto()
    """The system is there now, and may not have been then: it is tried a last time."""
    PROBE = auto()
    """Whoever made it finds out whether the system is there."""
