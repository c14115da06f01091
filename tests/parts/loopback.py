"""A real HTTP server on a free loopback port that answers by script, and misbehaves when told to.

    with Loopback() as server:
        server.on("/score", throttle(2), json_answer({"name": "Ann"}))   # first 429, from then on the answer
        server.on("/chat", lambda seen: chat_answer(seen.json["messages"][-1]["content"]))
        ... server.base_url ...
    server.requests   # every request as it arrived: method, path, query, headers, body

It runs on raw streams in a thread of its own, so that it can cut connections and send garbage, and so that a test
may call it from its own event loop, from plain code or from a subprocess.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    at: float
    """`time.monotonic()` when it had fully arrived."""
    connection: int
    """Which connection it came on, counted from 0."""
    header_lines: tuple[tuple[str, str], ...] = ()
    """Every header line as it came, doubles included."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What to do with one request: wait `delay` seconds, then send an answer, cut it or send raw bytes instead."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    content_length: int | None = None
    """Said instead of the true length."""
    cut_after: int | None = None
    """Close the connection after so many bytes of the body."""
    uncapped: bytes | None = None
    """Sent instead of any answer, then the connection is closed."""
    raw_again: bytes | None = None
    """Sent after `raw` again and again until the client goes away."""
    endless: bytes | None = None
    """A chunk of the body sent again and again until the client goes away."""
    endless_pause: float = 0.0
    """Seconds between the chunks of an endless body, or between what is sent again."""


Script = Behaviour | Callable[[Seen], Behaviour]


def text_answer(
    text: str, *, status: int = 200, content_type: str = "text/plain; charset=utf-8", **more: Any
) -> Behaviour:
    headers = {"Content-Type": content_type, **more.pop("headers", {})}
    return Behaviour(status=status, body=text.encode(), headers=headers, **more)


def json_answer(data: Any, *, status: int = 200, **more: Any) -> Behaviour:
    return text_answer(json.dumps(data), status=status, content_type="application/json", **more)


def chat_answer(
    text: str | None,
    *,
    tokens: tuple[int, int] | None = (11, 7),
    finish: str | None = "stop",
    model: str = "loopback-1",
    message: dict[str, Any] | None = None,
    **more: Any,
) -> Behaviour:
    """An OpenAI-compatible completion; `message` adds fields beside the content (refusal, tool_calls)."""
    said = {"role": "assistant", "content": text, **(message or {})}
    data: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    }
    if tokens is not None:
        data["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return json_answer(data, **more)


def slow(seconds: float, then: Behaviour | None = None) -> Behaviour:
    chosen = then or json_answer({"ok": True})
    return Behaviour(chosen.status, chosen.body, chosen.headers, delay=seconds)


def error(status: int, text: str = "no luck", **more: Any) -> Behaviour:
    return text_answer(text, status=status, **more)


def throttle(retry_after: float | str | None = None, *, status: int = 429) -> Behaviour:
    """429 (or 503) with Retry-After as given: seconds, or any text."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return text_answer("slow down", status=status, headers=headers)


def throttle_until(seconds_from_now: float, *, status: int = 429) -> Behaviour:
    """429 with Retry-After as an HTTP date."""
    moment = datetime.now(UTC) + timedelta(seconds=seconds_from_now)
    return throttle(format_datetime(moment, usegmt=True), status=status)


def cut_before_headers() -> Behaviour:
    return Behaviour(uncapped=b"")


def cut_mid_body(body: bytes = b'{"answer": "half of it', *, promised: int = 1000) -> Behaviour:
    headers = {"Content-Type": "application/json"}
    return Behaviour(body=body, headers=headers, content_length=promised, cut_after=len(body))


def garbage() -> Behaviour:
    return Behaviour(uncapped=b"\x00\xff\x13\x37 this is not HTTP at all \r\n\r\n\xfe\xfe")


def endless(chunk: bytes = b"x" * 65536, *, pause: float = 0.0) -> Behaviour:
    return Behaviour(endless=chunk, endless_pause=pause, headers={"Content-Type": "text/plain"})


def wrong_content_type(data: Any) -> Behaviour:
    return text_answer(json.dumps(data), content_type="image/png")


def invalid_utf8() -> Behaviour:
    return Behaviour(body=b'{"answer": "caf\xe9 \xff"}', headers={"Content-Type": "application/json; charset=utf-8"})


def deep_json(depth: int = 100_000) -> Behaviour:
    return Behaviour(body=b"[" * depth + b"]" * depth, headers={"Content-Type": "application/json"})


def gzipped(data: Any) -> Behaviour:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return Behaviour(body=gzip.compress(json.dumps(data).encode()), headers=headers)


def gzip_bomb(size: int = 50_000_000) -> Behaviour:
    """A few kilobytes on the wire that unpack to `size` bytes."""
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    return Behaviour(body=gzip.compress(b"0" * size, 1), headers=headers)


def redirect(location: str, *, status: int = 302) -> Behaviour:
    return Behaviour(status=status, headers={"Location": location})


def free_port() -> int:
    """A port nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """The base URL of a port that refuses every connection: bound, so nobody else takes it, and never listening."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


class Loopback:
    """The server. Each path has a script of behaviours, taken in turn; the last one stays. Other paths give 404."""

    def __init__(self, *, tls: bool = False) -> None:
        """With `tls` it speaks HTTPS under a certificate that nothing trusts."""
        self._tls = tls
        self.requests: list[Seen] = []
        self.answered: list[tuple[float, Seen]] = []
        """Each request whose answer was sent whole, with `time.monotonic()` of that."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.connections = 0
        self.base_url = ""
        self.port = 0
        self._scripts: dict[str, list[Script]] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._trouble: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="loopback", daemon=True)

    def on(self, path: str, *script: Script) -> Self:
        """Sets the script of a path; `"*"` is for all paths without one. A callable sees the request first."""
        if not script:
            raise ValueError("a script needs at least one behaviour")
        with self._lock:
            self._scripts[path] = list(script)
        return self

    def seen(self, path: str) -> list[Seen]:
        """The requests that arrived for one path."""
        return [one for one in self.requests if one.path == path]

    def url(self, path: str = "/") -> str:
        return self.base_url + path

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        if self._trouble is not None:
            raise self._trouble
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        if self._thread.is_alive():
            raise RuntimeError("the loopback server did not stop")

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as trouble:  # noqa: BLE001 - handed to the thread that waits
            self._trouble = trouble
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._converse(reader, writer))
            tasks.add(task)

            def over(done: asyncio.Task[None]) -> None:
                # A conversation that is cancelled before its first step never gets to close its connection itself.
                tasks.discard(done)
                writer.close()

            task.add_done_callback(over)

        security = None
        if self._tls:
            security = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            security.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20, backlog=1024, ssl=security)
        self.port = server.sockets[0].getsockname()[1]
        self.base_url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"
        self._ready.set()
        await self._stop.wait()
        # A connection that was just accepted becomes a conversation only some turns of the loop later; a server that is
        # closed before that leaves its socket open. A closed connection is gone only in the turn after.
        await _some_turns()
        server.close()
        for _ in range(3):
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _some_turns()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.connections = self.connections, self.connections + 1
        try:
            while (seen := await _read_request(reader, number)) is not None:
                self.requests.append(seen)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    stays_open = await _behave(self._next(seen), seen, writer)
                finally:
                    self.in_flight -= 1
                if not stays_open:
                    break
                self.answered.append((time.monotonic(), seen))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away, which tests do on purpose
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _next(self, seen: Seen) -> Behaviour:
        with self._lock:
            script = self._scripts.get(seen.path) or self._scripts.get("*")
            if script is None:
                return error(404, f"nothing at {seen.path}")
            step = script.pop(0) if len(script) > 1 else script[0]
        return step if isinstance(step, Behaviour) else step(seen)


async def _some_turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0.001)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    parted = [line.partition(":") for line in lines if line]
    raw = tuple((name.strip(), value.strip()) for name, _, value in parted)
    headers = {name.lower(): value for name, value in raw}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Seen(method, parts.path, query, headers, body, time.monotonic(), connection, raw)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        body += (await reader.readexactly(size + 2))[:-2]
        if size == 0:
            return body


async def _behave(behaviour: Behaviour, seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Carries a behaviour out; True when the connection may serve another request."""
    if behaviour.delay:
        await asyncio.sleep(behaviour.delay)
    if behaviour.uncapped is not None:
        writer.write(behaviour.uncapped)
        await writer.drain()
        while behaviour.raw_again is not None:
            writer.write(behaviour.raw_again)
            await writer.drain()
            await asyncio.sleep(behaviour.endless_pause)
        return False
    body = b"" if seen.method == "HEAD" else behaviour.body
    headers = dict(behaviour.headers)
    if behaviour.endless is not None:
        headers["Transfer-Encoding"] = "chunked"
    else:
        length = len(body) if behaviour.content_length is None else behaviour.content_length
        headers["Content-Length"] = str(length)
    writer.write(_head(behaviour.status, headers))
    if behaviour.endless is not None:
        chunk = b"%x\r\n%s\r\n" % (len(behaviour.endless), behaviour.endless)
        while True:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(behaviour.endless_pause)
    writer.write(body if behaviour.cut_after is None else body[: behaviour.cut_after])
    await writer.drain()
    return behaviour.cut_after is None and seen.headers.get("connection", "").lower() != "close"


def _head(status: int, headers: dict[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
