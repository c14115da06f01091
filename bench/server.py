"""A loopback endpoint that answers every question after a set time, and judges at once. Run in a process of its own.

Written on the bare protocol: what a server framework takes for a call (0.2 ms of the second core) would count as ours.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from statistics import median
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\n\r\n"


class _Talk(asyncio.Protocol):
    """One connection: whole requests with a Content-Length, one after the other."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._pending = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pending += data
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self._pending = rest[length:]
        asked = json.loads(rest[:length])
        judging = b"/v1/chat/completions" in head[:80]
        body = json.dumps(_judgement(asked) if judging else _answer(asked)).encode()
        reply = _HEAD.format(len(body)).encode() + body
        asyncio.get_running_loop().call_later(0.0 if judging else self._delay, self._transport.write, reply)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    return {"answer": {"name": asked["text"], "count": len(asked["text"])}}


def _judgement(asked: dict[str, Any]) -> dict[str, Any]:
    fenced = asked["messages"][-1]["content"].partition("word")
    quote = " ".join((fenced[1] + fenced[2]).split()[:4])
    said = {"reasons": ["short", "plain"], "notes": f'clarity: "{quote}"', "clarity": 4, "warmth": 3, "harm": False}
    return {"choices": [{"message": {"content": json.dumps(said)}}]}


async def _serve(pipe: Connection, delay: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Talk(delay), "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


def _main(pipe: Connection, delay: float) -> None:
    asyncio.run(_serve(pipe, delay))


@contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """The address of a running endpoint."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_main, args=(theirs, delay), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def lone_call(url: str, n: int = 40) -> float:
    """Seconds that a call takes which has the endpoint for itself, by a client that does nothing else."""
    connection = HTTPConnection(urlsplit(url).netloc)
    took = []
    for _ in range(n):
        began = perf_counter()
        connection.request("POST", "/ask", b'{"text": "a"}')
        connection.getresponse().read()
        took.append(perf_counter() - began)
    connection.close()
    return median(took)
