"""The review suite's own service in a thread of its own, on a free loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from aiohttp import web

from steelyard.suites.review.service import Service
from steelyard.suites.review.switches import Switches

TOKEN = "test-token"


@contextlib.contextmanager
def review_service(switches: Switches = Switches(), token: str = TOKEN) -> Iterator[str]:  # noqa: B008 - frozen
    """The base URL of a service that runs until the end of the block."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    found: dict[str, int] = {}

    async def begin() -> web.AppRunner:
        runner = web.AppRunner(Service(token, switches).app(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found["port"] = runner.addresses[0][1]
        return runner

    def serve() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(begin())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=serve, name="review-service", daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the review service did not start")
    try:
        yield f"http://127.0.0.1:{found['port']}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
