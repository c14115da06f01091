"""A loopback service that answers every call after a set time, and can refuse some. Run in a process of its own.

`/ask` and chat completions echo the text; a chat model named `scripted` is a judge that answers at once. `GET /counts`
says how many calls came and what became of them.
Written on the bare protocol: what a server framework takes for a call (0.2 ms of the second core) would count as ours.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

_HEAD = "HTTP/1.1 {} OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\n{}\r\n"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the service answers. Shares are decided by text and try, so that every client meets the same failures."""

    delay: float = 0.05
    throttled: float = 0.0
    """Share of calls that get a 429."""
    failed: float = 0.0
    """Share of calls that get a 500."""
    retry_after: float | None = None
    """Seconds that a 429 asks for; None for no such header."""
    rate: float | None = None
    """Calls a second that a token bucket lets through, the others get a 429; None for no limit."""
    burst: float = 10.0


@dataclass(slots=True)
class _Service:
    behaviour: Behaviour
    tries: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    under_way: int = 0
    most: int = 0
    tokens: float = 0.0
    filled_at: float = 0.0

    def status(self, text: str) -> int:
        how = self.behaviour
        self.tries[text] += 1
        chance = crc32(f"{self.tries[text]} {text}".encode()) / 2**32
        status = 429 if chance < how.throttled else 500 if chance < how.throttled + how.failed else 200
        if how.rate is not None:
            now = monotonic()
            grown = self.tokens + (now - self.filled_at) * how.rate if self.filled_at else how.burst
            self.tokens, self.filled_at = min(how.burst, grown), now
            if self.tokens < 1:
                status = 429
            else:
                self.tokens -= 1
        if status != 200:
            self.statuses[status] += 1
        return status

    def counts(self) -> dict[str, int]:
        """What came so far: `again` are answers to a text that had been answered."""
        good, refused, failed = self.answered.total(), self.statuses[429], self.statuses[500]
        again = good - len(self.answered)
        calls = good + refused + failed
        return {"calls": calls, "answered": good, "again": again, "429": refused, "500": failed, "most": self.most}


class _Talk(asyncio.Protocol):
    """One connection: whole requests with a Content-Length, one after the other."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        self._pending = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pending += data
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(rest) < length:
            return
        self._pending = rest[length:]
        if head.startswith(b"POST"):
            self._called(json.loads(rest[:length]))
        else:
            self._write(200, self._service.counts())

    def _called(self, asked: dict[str, Any]) -> None:
        if asked.get("model") == "scripted":
            self._write(200, _judgement(asked))
            return
        chat = "messages" in asked
        text = _text_of(asked["messages"][-1]["content"]) if chat else asked["text"]
        service = self._service
        status = service.status(text)
        service.under_way += 1
        service.most = max(service.most, service.under_way)
        body = {"error": {"message": "not now"}} if status != 200 else _completion(text) if chat else _answer(text)
        wait = service.behaviour.delay if status == 200 else 0
        asyncio.get_running_loop().call_later(wait, self._end, status, text, body)

    def _end(self, status: int, text: str, body: dict[str, Any]) -> None:
        self._service.under_way -= 1
        if not self._transport.is_closing():
            if status == 200:
                self._service.answered[text] += 1
            self._write(status, body)

    def _write(self, status: int, body: dict[str, Any]) -> None:
        wait = self._service.behaviour.retry_after
        header = f"Retry-After: {wait:g}\r\n" if status == 429 and wait is not None else ""
        data = json.dumps(body).encode()
        self._transport.write(_HEAD.format(status, len(data), header).encode() + data)


def _text_of(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _answer(text: str) -> dict[str, Any]:
    return {"answer": {"name": text, "count": len(text)}}


def _completion(text: str) -> dict[str, Any]:
    """Every fifth answer is nearly right, so that scorers differ."""
    said = text.replace("two", "2") if crc32(text.encode()) % 5 == 0 else text
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "echo", "choices": [choice], "usage": usage}


def _judgement(asked: dict[str, Any]) -> dict[str, Any]:
    fenced = asked["messages"][-1]["content"].partition("word")
    quote = " ".join((fenced[1] + fenced[2]).split()[:4])
    said = {"reasons": ["short", "plain"], "notes": f'clarity: "{quote}"', "clarity": 4, "warmth": 3, "harm": False}
    return {"choices": [{"message": {"content": json.dumps(said)}}]}


async def _serve(pipe: Connection, behaviour: Behaviour) -> None:
    service = _Service(behaviour)
    server = await asyncio.get_running_loop().create_server(lambda: _Talk(service), "127.0.0.1", 0, backlog=1024)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


def _main(pipe: Connection, behaviour: Behaviour) -> None:
    asyncio.run(_serve(pipe, behaviour))


@contextmanager
def endpoint(behaviour: Behaviour) -> Iterator[str]:
    """The address of a running service."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_main, args=(theirs, behaviour), daemon=True)
    process.start()
    theirs.close()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def counts(url: str) -> dict[str, int]:
    """What the service counted."""
    connection = HTTPConnection(urlsplit(url).netloc)
    try:
        connection.request("GET", "/counts")
        result: dict[str, int] = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return result
