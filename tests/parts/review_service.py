"""The review suite's own service in a thread of its own, on a free loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from steelyard.suites.review.service import ReviewService
from steelyard.suites.review.switches import Switches

TOKEN = "test-token"


@contextlib.contextmanager
def review_service(switches: Switches = Switches(), token: str = TOKEN) -> Iterator[str]:  # noqa: B008 - frozen
    """The base URL of a service that runs until the end of the block."""
    ready = threading.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        found["loop"], found["end"] = asyncio.get_running_loop(), asyncio.Event()
        async with ReviewService(token, switches).listening("127.0.0.1", 0) as found["port"]:
            ready.set()
            await found["end"].wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="review-service", daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the review service did not start")
    try:
        yield f"http://127.0.0.1:{found['port']}"
    finally:
        found["loop"].call_soon_threadsafe(found["end"].set)
        thread.join(10)
