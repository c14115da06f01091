"""The same calls by a bare aiohttp loop: python -m bench.bare URL N CONCURRENCY."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import aiohttp

from bench.suites import text_of


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


def main(url: str, n: int, concurrency: int) -> None:
    started = time.perf_counter()
    answered = asyncio.run(_calls(url, n, concurrency))
    print(json.dumps({"n": answered, "wall": time.perf_counter() - started}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
