"""The same calls by a bare aiohttp loop: python -m bench.bare URL N CONCURRENCY."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp

from bench.suites import text_of

Calls = Callable[[str, int, int], Coroutine[Any, Any, int]]


async def _calls(url: str, n: int, concurrency: int) -> int:
    numbers = iter(range(n))
    answered = 0

    async def worker(session: aiohttp.ClientSession) -> None:
        nonlocal answered
        for number in numbers:
            async with session.post(f"{url}/ask", json={"text": text_of(number)}) as response:
                body = await response.json()
                answered += "answer" in body

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
    return answered


def main(calls: Calls, url: str, n: int, concurrency: int) -> None:
    """Print how long the calls took, and how many were answered."""
    started = time.perf_counter()
    answered = asyncio.run(calls(url, n, concurrency))
    print(json.dumps({"n": answered, "wall": time.perf_counter() - started}))


if __name__ == "__main__":
    main(_calls, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
