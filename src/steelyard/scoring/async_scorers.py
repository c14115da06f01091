"""Async functions that score: they run in a loop of a thread of its own.

Whatever loop runs where an answer is scored is not touched, and what a function keeps open between calls stays on one
loop.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable
from typing import Any


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="steelyard-async-scorers", daemon=True).start()
    return loop


def awaited(result: Awaitable[Any]) -> Any:
    """What comes of it in that loop; raises what it raises."""

    async def wait() -> tuple[Any, BaseException | None]:
        try:
            return await result, None
        except (SystemExit, KeyboardInterrupt) as error:
            return None, error  # raised here, it would end the loop, and whoever waits would wait for ever

    waiting = asyncio.run_coroutine_threadsafe(wait(), _loop())
    try:
        value, ended = waiting.result()
    except BaseException:
        waiting.cancel()  # Ctrl-C, with nobody left who waits
        raise
    if ended is not None:
        raise ended
    return value
