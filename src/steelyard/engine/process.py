"""The event loop of a run: begun and ended, kept free, and watched for being late."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it gives, also when the caller (a notebook) is inside a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return in_thread(lambda: asyncio.run(coroutine))


def in_thread(call: Callable[[], T], *, daemon: bool = False) -> T:
    """What it gives in a thread of its own; of a `daemon` nobody waits for the end when the program ends before."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=daemon).start()
    return outcome.result()


_SWITCH = 0.0005


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Collects garbage in circles seldom (saved a tenth of the CPU of a call, measured), and lets the writer's thread
    hold up the loop for half a millisecond at most: with Python's 5 ms, waits of its own get into the latencies."""
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    sys.setswitchinterval(min(switch, _SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(switch)
        gc.set_threshold(*before)
        gc.unfreeze()


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
