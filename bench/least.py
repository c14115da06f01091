"""The same calls by a client that only moves bytes, the least there is: python -m bench.least URL N CONCURRENCY."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import urlsplit

from bench.bare import main
from bench.suites import text_of

_HEAD = "POST /ask HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"


class _Talk(asyncio.Protocol):
    """One connection: a question, then the whole answer."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._pending = b""

    def ask(self, body: bytes) -> asyncio.Future[bytes]:
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.transport.write(_HEAD.format(len(body)).encode() + body)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._pending += data
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if end and len(rest) >= int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]):
            self._pending = b""
            self._answer.set_result(rest)


async def _calls(url: str, n: int, concurrency: int) -> int:
    numbers = iter(range(n))
    address = urlsplit(url)
    answered = 0

    async def worker() -> None:
        nonlocal answered
        _, talk = await asyncio.get_running_loop().create_connection(_Talk, address.hostname, address.port)
        for number in numbers:
            answered += "answer" in json.loads(await talk.ask(json.dumps({"text": text_of(number)}).encode()))
        talk.transport.close()

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return answered


if __name__ == "__main__":
    main(_calls, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
