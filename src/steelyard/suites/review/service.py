"""A small review service, real enough to be scored: HTTP, a bearer token, error codes, and faults on demand.

`python -m steelyard.suites.review.service --port 9020` starts it. It needs no model: rules find what breaks the
standards. Every switch can also be set in the environment (REVIEW_LATENCY=20ms), those of one call in its query.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import json
import os
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

import httptools

from .reviewing import review
from .standards import standards_of, strictnesses
from .switches import OF_A_CALL, Switches, add_options, from_env, from_options, from_texts, shaken, waiting_time

DEFAULT_TOKEN = "demo-token"  # noqa: S105 - the key of a demonstration, known to everybody
TOKEN_VARIABLE = "REVIEW_TOKEN"  # noqa: S105 - the name of a variable
MODEL_ID = "steelyard-rules-1"
_MISSING_MODEL = "no-such-model"
_LARGEST_BODY = 200_000
_SHORT = 20_000


class Refused(Exception):
    """A request that is not reviewed: the status and code of the answer, and why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(slots=True)
class ReceivedRequest:
    """An HTTP request, read to its end; of a body that is too large only the length is kept."""

    method: str = ""
    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case."""
    body: bytearray = field(default_factory=bytearray)
    length: int = 0
    """Bytes of the body that were sent."""
    keep_alive: bool = False

    @property
    def path(self) -> str:
        return unquote((httptools.parse_url(self.target).path or b"/").decode())

    @property
    def query(self) -> dict[str, str]:
        """The first value of each parameter."""
        query = (httptools.parse_url(self.target).query or b"").decode("utf-8", "replace")
        return dict(reversed(parse_qsl(query, keep_blank_values=True)))


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """What a request is answered with: JSON, or text where the service itself failed."""

    status: int
    body: Any

    def encoded(self, request: ReceivedRequest) -> bytes:
        """The response as it is sent: without the body to HEAD."""
        is_text = isinstance(self.body, str)
        content = (self.body if is_text else json.dumps(self.body)).encode()
        head = (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n"
            f"Content-Type: {'text/plain' if is_text else 'application/json'}; charset=utf-8\r\n"
            f"Content-Length: {len(content)}\r\n"
            f"Connection: {'keep-alive' if request.keep_alive else 'close'}\r\n\r\n"
        )
        return head.encode() + (b"" if request.method == "HEAD" else content)


class Connection:
    """Reads the requests of one connection, in turn. The methods named `on_` are called by the parser."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._parser = httptools.HttpRequestParser(self)
        self._current = ReceivedRequest()
        self._complete: deque[ReceivedRequest] = deque()

    async def next(self) -> ReceivedRequest | None:
        """The next request; None when the client has closed. httptools.HttpParserError for what is no HTTP."""
        while not self._complete:
            data = await self._reader.read(65_536)
            if not data:
                return None
            self._parser.feed_data(data)
        return self._complete.popleft()

    def on_message_begin(self) -> None:
        self._current = ReceivedRequest()

    def on_url(self, url: bytes) -> None:
        self._current.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._current.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._current.method = self._parser.get_method().decode()
        if self._current.headers.get("expect", "").lower() == "100-continue":
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        self._current.length += len(data)
        if self._current.length <= _LARGEST_BODY:
            self._current.body += data

    def on_message_complete(self) -> None:
        self._current.keep_alive = self._parser.should_keep_alive()
        self._complete.append(self._current)


class ReviewService:
    """Answers requests; counts reviews, as some faults begin after so many."""

    def __init__(self, token: str, switches: Switches) -> None:
        self._token = token
        self._switches = switches
        self._started = time.monotonic()
        self._reviews = 0
        self._seen: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[int]:
        """The port on which requests are answered until the end of the block; 0 takes any free one."""
        server = await asyncio.start_server(self._connected, host, port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        connection = Connection(reader, writer)
        try:
            while (request := await connection.next()) is not None:
                writer.write((await self.answer(request)).encoded(request))
                await writer.drain()
                if not request.keep_alive:
                    break
        except httptools.HttpParserError as error:
            writer.write(_refusal(Refused(400, "INVALID_HTTP", str(error))).encoded(ReceivedRequest()))
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the service ends
        finally:
            writer.close()

    async def answer(self, request: ReceivedRequest) -> ServiceResponse:
        """The answer to any request."""
        routes = {"/health": ("GET", self._health), "/v1/review": ("POST", self._review)}
        try:
            if request.path not in routes:
                raise Refused(404, "NOT_FOUND", "there is GET /health and POST /v1/review")
            method, respond = routes[request.path]
            if request.method != method and (request.method, method) != ("HEAD", "GET"):
                raise Refused(405, "METHOD_NOT_ALLOWED", f"{request.path} takes {method}")
            return await respond(request)
        except Refused as refused:
            return _refusal(refused)
        except httptools.HttpParserError as error:
            return _refusal(Refused(400, "INVALID_HTTP", str(error)))
        except Exception:  # noqa: BLE001 - a defect of one answer is not the end of the service
            traceback.print_exc()
            return _CRASHED

    async def _health(self, _: ReceivedRequest) -> ServiceResponse:
        """Whether the model is connected: 200 when it is, else 503."""
        connected = self._is_ready
        body = {"status": "ok" if connected else "starting", "model_connected": connected, "model_id": MODEL_ID}
        return ServiceResponse(200 if connected else 503, body)

    async def _review(self, request: ReceivedRequest) -> ServiceResponse:
        """The observations on the document that was sent; Refused when it is not reviewed."""
        began = time.monotonic()
        switches = self._of_call(request)
        asked = self._asked(request)
        self._reviews += 1
        if switches.die_after is not None and self._reviews > switches.die_after:
            os._exit(70)
        if switches.crash_after is not None and self._reviews > switches.crash_after:
            return _CRASHED
        await asyncio.sleep(waiting_time(switches))
        if switches.masked_404 or switches.masked_silent:
            return ServiceResponse(200, _masked(began, silent=switches.masked_silent))
        observations: Sequence[dict[str, Any]] = await _reviewed(asked)
        if switches.unstable:
            self._seen[asked["content"]] += 1
            observations = shaken(observations, switches, asked["content"], self._seen[asked["content"]])
        usage = {"input_tokens": _tokens(asked["content"]), "output_tokens": _tokens(json.dumps(observations))}
        meta = {"model_id": MODEL_ID, "latency_ms": _milliseconds(began), "usage": usage}
        return ServiceResponse(200, {"observations": observations, "meta": meta, "errors": []})

    @property
    def _is_ready(self) -> bool:
        return time.monotonic() - self._started >= self._switches.not_ready_for

    def _of_call(self, request: ReceivedRequest) -> Switches:
        given = {name: text for name, text in request.query.items() if name in OF_A_CALL}
        try:
            return from_texts(self._switches, given)
        except ValueError as error:
            raise Refused(400, "INVALID_SWITCH", str(error)) from None

    def _asked(self, request: ReceivedRequest) -> dict[str, str]:
        """Document, set of standards and strictness; Refused when one of them is no good."""
        authorization = request.headers.get("authorization", "")
        if not hmac.compare_digest(authorization.encode("utf-8", "replace"), f"Bearer {self._token}".encode()):
            raise Refused(401, "UNAUTHORIZED", "the bearer token is missing or wrong")
        if not self._is_ready:
            raise Refused(503, "MODEL_NOT_CONNECTED", "the model is not connected yet")
        if request.length > _LARGEST_BODY:
            raise Refused(413, "CONTENT_TOO_LARGE", f"more than {_LARGEST_BODY} bytes")
        try:
            body = json.loads(request.body.decode())
        except (ValueError, RecursionError):
            raise Refused(400, "INVALID_JSON", "the body is no JSON text") from None
        return _checked(body)


_CRASHED = ServiceResponse(500, "500 Internal Server Error")


def _refusal(refused: Refused) -> ServiceResponse:
    return ServiceResponse(refused.status, {"error": {"code": refused.code, "message": refused.message}})


async def _reviewed(asked: dict[str, str]) -> Sequence[dict[str, Any]]:
    """What is found; a long document must not keep others waiting, and a short one is not worth a thread."""
    if len(asked["content"]) <= _SHORT:
        return review(**asked)
    return await asyncio.to_thread(review, **asked)


def _checked(body: Any) -> dict[str, str]:
    if not isinstance(body, dict):
        raise Refused(422, "INVALID_REQUEST", "the body is no object")
    asked: dict[str, str] = {}
    for name, otherwise in (("content", None), ("standards_set", None), ("strictness", "medium")):
        value = body.get(name, otherwise)
        if not isinstance(value, str):
            raise Refused(422, "INVALID_REQUEST", f"{name} is missing or no text")
        asked[name] = value
    if not asked["content"].strip():
        raise Refused(422, "EMPTY_CONTENT", "there is nothing to review")
    if asked["strictness"] not in strictnesses():
        raise Refused(422, "INVALID_REQUEST", f"strictness is one of {', '.join(strictnesses())}")
    if standards_of(asked["standards_set"]) is None:
        raise Refused(422, "STANDARDS_NOT_FOUND", f"there is no set {asked['standards_set']!r}")
    return asked


def _masked(began: float, *, silent: bool) -> dict[str, Any]:
    """What the service says when the call of its model failed: as if it had found nothing."""
    failure = {"code": "MODEL_FAILURE", "message": f"model {_MISSING_MODEL!r} not found (404)"}
    usage = {"input_tokens": 0, "output_tokens": 0}
    meta = {"model_id": _MISSING_MODEL, "latency_ms": _milliseconds(began), "usage": usage}
    return {"observations": [], "meta": meta, "errors": [] if silent else [failure]}


def _milliseconds(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _tokens(text: str) -> int:
    """About four characters are a token, and no text has none."""
    return max(1, len(text) // 4)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("steelyard.suites.review.service", description="A small review service.")
    parser.add_argument("--port", type=int, default=9020, help="0 takes any free one [default: 9020]")
    parser.add_argument("--host", default="127.0.0.1", help="[default: 127.0.0.1]")
    parser.add_argument(
        "--token",
        default=os.environ.get(TOKEN_VARIABLE) or DEFAULT_TOKEN,
        help=f"the bearer token [default: ${TOKEN_VARIABLE} or {DEFAULT_TOKEN}]",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    try:
        options.switches = from_options(from_env(os.environ), options)
    except ValueError as error:
        parser.error(str(error))
    return options


async def _serve(options: argparse.Namespace) -> None:
    async with ReviewService(options.token, options.switches).listening(options.host, options.port) as port:
        print(f"review service on http://{options.host}:{port}", flush=True)  # noqa: T201 - for whoever started it
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        asyncio.run(_serve(options))
    except OSError as error:
        print(f"cannot listen on {options.host}:{options.port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
