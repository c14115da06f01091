"""HTTP as targets and judges use it: bodies, limits, retry after 429."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import math
import resource
import ssl
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self

import aiohttp
from yarl import URL

import steelyard
from steelyard.errors import TargetFailure

# Reads the Retry-After header.


def seconds_to_wait(header: str | None, now: float | None = None) -> float | None:
    """Seconds from now, whether written as seconds or as an HTTP date; None when absent or unreadable."""
    if header is None or not (text := header.strip()):
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


# Packed bodies of HTTP answers, unpacked piece by piece and never further than asked for.

ACCEPTED: Final = "gzip, deflate"
"""What requests say that they understand."""
_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_OTHERS = frozenset({"br", "zstd", "compress", "x-compress"})
_GZIP_BITS = zlib.MAX_WBITS | 16
_ZLIB_METHOD = 8
"""In the low half of the first byte of deflated data with a header; without one, it is bare deflate."""
_PIECE = 262_144


class Unpacker:
    """Takes a body as it comes and gives what is in it.

    A name of a packing that nobody knows is taken for a slip of the service: the body then counts as it is.
    """

    def __init__(self, encoding: str, status: int) -> None:
        self._status = status
        names = [name.strip().lower() for name in encoding.split(",")]
        packed = [name for name in names if name not in _PLAIN]
        if len(packed) > 1 or any(name in _OTHERS for name in packed):
            raise self._failed(f"the body is packed as {encoding!r}, which was not asked for", retry=False)
        name = packed[0] if packed else ""
        self._gzip = name in _GZIP
        self._packed = self._gzip or name == "deflate"
        self._stream: zlib._Decompress | None = None
        self._started = False

    def feed(self, data: bytes, room: int) -> bytes:
        """What these bytes unpack to, cut once it is more than `room`; TargetFailure when they cannot be unpacked."""
        if not self._packed:
            return data
        parts: list[bytes] = []
        size = 0
        while data and size <= room:
            if self._stream is None:
                if self._started and not (self._gzip and data[:1] == b"\x1f"):
                    break  # padding after the end, which every browser overlooks
                self._stream = self._new_stream(data)
            try:
                part = self._stream.decompress(data, min(_PIECE, room + 1 - size))
            except zlib.error:
                raise self._failed("the body cannot be unpacked", retry=True) from None
            parts.append(part)
            size += len(part)
            ended = self._stream.eof
            data = self._stream.unused_data if ended else self._stream.unconsumed_tail
            if ended:
                self._stream = None
        return b"".join(parts)

    def finish(self) -> None:
        """The body is over; TargetFailure when what was packed is not complete."""
        if self._stream is not None:
            raise TargetFailure("cut", "the body breaks off before the end of what is packed in it")

    def _new_stream(self, data: bytes) -> zlib._Decompress:
        self._started = True
        if self._gzip:
            return zlib.decompressobj(_GZIP_BITS)
        bare = data[0] & 0xF != _ZLIB_METHOD
        return zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS)

    def _failed(self, message: str, *, retry: bool) -> TargetFailure:
        return TargetFailure("bad_encoding", message, retry=retry, status=self._status)


# One HTTP exchange for the targets that speak it: a bounded body, or a typed failure. Nothing is retried here.

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_WORTH_RETRYING = frozenset({408, 425})
_EXCERPT = 200
_REFUSAL = 65_536
"""Bytes of the body of an error that are read."""
_NOT_TEXT = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Codecs that are no encodings of bodies: they make half characters, or take hours."""
_OTHER_FILES = 256


@dataclass(frozen=True, slots=True)
class WireLimits:
    """How much and how long one exchange may take; the time of the whole call is the engine's business."""

    max_connections: int = 8
    connect_timeout: float = 10.0
    max_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent; `data` is the encoded body."""

    method: str
    url: URL
    headers: dict[str, str]
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """What came back: the status and the decoded body."""

    status: int
    text: str
    first_byte: float | None = None
    """Seconds from sending to the first byte of the body; None when the body is empty."""
    took: float | None = None
    """Seconds from sending to the end of the body."""


class Wire:
    """A pool of connections. Certificates are checked, cookies forgotten, proxies and netrc of the machine ignored."""

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self.redact: Callable[[str], str] = str
        """Set by the target once its secrets are known; applied before anything is cut short or looked into."""
        self._session: aiohttp.ClientSession | None = None
        # In the place of the connector's own limit, so that the clock starts when a request is really sent.
        self._slots = asyncio.Semaphore(limits.max_connections)

    async def __aenter__(self) -> Self:
        limits = self._limits
        _make_room(limits.max_connections)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_timeout),
            headers={"User-Agent": f"steelyard/{steelyard.__version__}", "Accept-Encoding": ACCEPTED},
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, request: HttpRequest, also_answers: frozenset[int] = frozenset()) -> Received:
        """The answer of a 2xx, or of a status in `also_answers`; everything else raises TargetFailure."""
        async with self._slots:
            sent = time.perf_counter()
            for _ in range(_MOST_REDIRECTS + 1):
                result = await self._exchange(request, also_answers, sent)
                if isinstance(result, Received):
                    return result
                request = result
        raise TargetFailure(
            "redirect", f"more than {_MOST_REDIRECTS} redirects, now at {_message(request.url)}", retry=False
        )

    async def _exchange(
        self, request: HttpRequest, also_answers: frozenset[int], sent: float
    ) -> Received | HttpRequest:
        if self._session is None:
            raise RuntimeError("a target is used inside `async with`")
        try:
            async with self._session.request(
                request.method, request.url, headers=request.headers, data=_payload(request), allow_redirects=False
            ) as response:
                status = response.status
                if 200 <= status < 300 or status in also_answers:
                    body, came = await self._read(response)
                    took = time.perf_counter() - sent
                    first_byte = None if came is None else came - sent
                    return Received(status, self.redact(_decode(body, response.charset, status)), first_byte, took)
                if status in _REDIRECTS and (location := response.headers.get("Location")):
                    return _redirected(request, status, location)
                raise await self._refusal(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error, request.url) from error

    async def _read(self, response: aiohttp.ClientResponse) -> tuple[bytes, float | None]:
        """The body, and when its first byte was there."""
        most = self._limits.max_bytes
        promised = response.content_length
        if promised is not None and promised > most:
            raise _too_large(most, response.status)
        packing, content = response.headers.get("Content-Encoding"), response.content
        if packing is None and content.is_eof() and content.total_bytes <= most:
            # A small body comes in one piece with its head.
            return content.read_nowait(), time.perf_counter() if content.total_bytes else None
        unpacker = Unpacker(packing or "", response.status)
        came: float | None = None
        parts: list[bytes] = []
        size = 0
        while data := await content.readany():
            came = came or time.perf_counter()
            part = unpacker.feed(data, most - size)
            size += len(part)
            if size > most:
                raise _too_large(most, response.status)
            parts.append(part)
        unpacker.finish()
        return b"".join(parts), came

    async def _refusal(self, response: aiohttp.ClientResponse) -> TargetFailure:
        body = b""
        try:
            unpacker = Unpacker(response.headers.get("Content-Encoding", ""), response.status)
            async for data in response.content.iter_any():
                body += unpacker.feed(data, _REFUSAL - len(body))
                if len(body) >= _REFUSAL:
                    break
        except (aiohttp.ClientError, TargetFailure):
            pass  # the status is known, and says more than a body that was cut
        text = self.redact(body.decode("utf-8", "replace"))
        return refused_by_status(response.status, text, response.headers.get("Retry-After"))


def _payload(request: HttpRequest) -> aiohttp.BytesPayload | None:
    # Made here: aiohttp would look for the kind of the data first.
    return None if request.data is None else aiohttp.BytesPayload(request.data)


def _make_room(connections: int) -> None:
    """Let this process hold as many files open as connections need, as far as the system allows."""
    needed = connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def refused_by_status(status: int, text: str, retry_after: str | None = None) -> TargetFailure:
    """The failure an HTTP error status stands for."""
    wait = seconds_to_wait(retry_after)
    # A 503 that names no time is a service that is down, not one that asks for patience.
    throttled = status == 429 or (status == 503 and wait is not None)
    excerpt = " ".join(text[: 2 * _EXCERPT].split())[:_EXCERPT]
    return TargetFailure(
        f"http_{status}",
        f"answered {status}" + (f": {excerpt}" if excerpt else " with an empty body"),
        retry=throttled or status >= 500 or status in _WORTH_RETRYING,
        retry_after=wait,
        throttled=throttled,
        status=status,
        body=text,
    )


def excerpt_of(text: str) -> str:
    """The beginning of a body on one line, for messages."""
    short = " ".join(text[: 2 * _EXCERPT].split())[:_EXCERPT]
    return short if len(text) <= _EXCERPT else short + " ..."


def failure_of(error: Exception, url: URL) -> TargetFailure:
    """The typed failure behind an error of the connection."""
    place = f"{url.host}:{url.port}"
    match error:
        case aiohttp.ClientConnectorError() | aiohttp.ServerTimeoutError() | ssl.SSLError():
            return _not_connected(error, place)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | OSError():
            return TargetFailure("cut", f"{place} cut the connection before the answer was complete")
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return TargetFailure("bad_url", f"{_message(url)} is not an address that can be asked", retry=False)
        case aiohttp.ClientResponseError():
            return TargetFailure("garbage", f"{place} sent something that is not HTTP: {excerpt_of(error.message)}")
        case aiohttp.ClientError():
            return TargetFailure("cut", f"the exchange with {place} broke off: {error}")
        case _:
            return TargetFailure("bad_request", f"the request cannot be sent: {error}", retry=False)


def _not_connected(error: Exception, place: str) -> TargetFailure:
    match error:
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return TargetFailure("tls", f"no trusted connection to {place}: {error}", retry=False)
        case aiohttp.ClientConnectorDNSError():
            return TargetFailure("dns", f"the name in {place} cannot be resolved")
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return TargetFailure("refused", f"{place} refuses connections: is the service running there?")
        case aiohttp.ClientConnectorError():
            return TargetFailure("unreachable", f"{place} cannot be reached: {error.os_error.strerror or error}")
        case _:
            return TargetFailure("connect_timeout", f"{place} did not accept a connection in time")


def _message(url: URL) -> str:
    """The address without its query, which may hold a secret."""
    return str(url.with_query(None))


def _too_large(most: int, status: int) -> TargetFailure:
    message = f"the body is larger than max_bytes ({most:,} bytes) and was not read further"
    return TargetFailure("too_large", message, retry=False, status=status)


def _decode(body: bytes, charset: str | None, status: int) -> str:
    try:
        encoding = "utf-8" if charset is None else codecs.lookup(charset).name
        if encoding in _NOT_TEXT:
            raise LookupError(charset)
        # The codec that drops a byte-order mark is written in Python, and slow.
        return body.removeprefix(codecs.BOM_UTF8).decode() if encoding == "utf-8" else body.decode(encoding)
    except LookupError:
        message = f"the body is in {charset!r}, an encoding that is not known"
    except UnicodeDecodeError as error:
        message = f"the body is not {charset or 'UTF-8'} text: byte {error.start} cannot be read"
    except ValueError:
        message = f"the body is not {charset} text"
    raise TargetFailure("bad_encoding", message, retry=False, status=status)


def _redirected(request: HttpRequest, status: int, location: str) -> HttpRequest:
    try:
        target = request.url.join(URL(location))
        if target.scheme not in ("http", "https") or target.host is None:
            raise ValueError(location)
    except ValueError:
        message = f"answered {status}, a redirect to no web address: {excerpt_of(location)}"
        raise TargetFailure("redirect", message, retry=False, status=status) from None
    if not _same_place(request.url, target):
        message = (
            f"answered {status}, a redirect to another host ({target.host}:{target.port}), which is not followed: "
            "secrets would go there; make it the base_url if it is right"
        )
        raise TargetFailure("redirect", message, retry=False, status=status)
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        headers = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        return HttpRequest("GET", target, headers)
    return HttpRequest(request.method, target, request.headers, request.data)


def _same_place(u_r_l: URL, other: URL) -> bool:
    if u_r_l.origin() == other.origin():
        return True
    return u_r_l.host == other.host and (u_r_l.scheme, u_r_l.port, other.scheme, other.port) == (
        "http",
        80,
        "https",
        443,
    )


def json_of(received: Received) -> Any:
    """The body as JSON data; TargetFailure `bad_body` when it is not."""
    try:
        return json.loads(received.text)
    except (ValueError, RecursionError) as error:
        wrong = "JSON that is nested too deeply" if isinstance(error, RecursionError) else "a body that is not JSON"
        message = f"answered {received.status} with {wrong}: {excerpt_of(received.text)}"
        raise TargetFailure("bad_body", message, retry=False, status=received.status, body=received.text) from None
