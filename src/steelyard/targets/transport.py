"""HTTP as targets and judges use it: bodies, limits, retry after 429."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self

from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.failures import reported_error
from steelyard.frozen import frozen
from steelyard.targets.connection import Connections, HttpRequest, Proxies, excerpt_of, without_query
from steelyard.targets.open_files import room_for_files
from steelyard.targets.packed_bodies import Unpacker

if TYPE_CHECKING:
    from steelyard.targets.base import TargetContext


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


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_WORTH_RETRYING = frozenset({408, 425})
_EXCERPT = 200
_LONGEST_ERROR = 1_000
_REFUSAL = 65_536
"""Bytes of the body of an error that are read."""
_NOT_TEXT = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Codecs that are no encodings of bodies: they make half characters, or take hours."""
_CHARSET = re.compile(r""";\s*charset\s*=\s*"?([^\s;"]+)""", re.IGNORECASE)


@frozen
class WireLimits:
    """How much and how long one exchange may take; the time of the whole call is the engine's business."""

    max_connections: int = 8
    connect_timeout: float = 10.0
    max_bytes: int = 10_000_000
    proxies: Proxies | None = None


@frozen
class Received:
    """What came back: the status and the decoded body."""

    status: int
    text: str
    first_byte: float | None = None
    """Seconds from sending to the first byte of the body; None when the body is empty."""
    took: float | None = None
    """Seconds from sending to the end of the body."""
    sent: float = 0.0
    """When it was sent, by `time.perf_counter`."""
    cached: bool = False
    """True when a header says that the answer is one from a cache."""


Watch = Callable[[bytes], tuple[int, float | None]]
"""Given a part of a body, gives how many of its bytes belong to the answer and, when they are the last of it, how many
seconds to wait for the end of the message."""


class Wire:
    """Exchanges with one service, so many at once. Cookies are forgotten, netrc of the machine is ignored, and so are
    its proxies unless they are among the limits."""

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self.redact: Callable[[str], str] = str
        """Set by the target once its secrets are known; applied before anything is cut short or looked into."""
        self._connections: Connections | None = None
        self._slots = asyncio.Semaphore(limits.max_connections)

    async def __aenter__(self) -> Self:
        room_for_files(self._limits.max_connections)
        self._connections = Connections(self._limits.connect_timeout, self._limits.proxies)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._connections is not None:
            await self._connections.close()
            self._connections = None

    async def send(
        self,
        request: HttpRequest,
        also_answers: frozenset[int] = frozenset(),
        watch: Watch | None = None,
    ) -> Received:
        """The answer of a 2xx, or of a status in `also_answers`; everything else raises TargetFailure. `watch` is given
        the body of an answer as it comes, and may say that it is all there."""
        async with self._slots:
            sent = time.perf_counter()
            for _ in range(_MOST_REDIRECTS + 1):
                answer = _Answer(self._limits.max_bytes, also_answers, watch)
                try:
                    await self._exchange(request, answer)
                except asyncio.CancelledError as stopped:
                    # Read where the timeout is noticed: how far the answer had come.
                    stopped.sent = sent  # type: ignore[attr-defined]
                    if answer.first_byte is not None:
                        stopped.first_byte = answer.first_byte - sent  # type: ignore[attr-defined]
                    raise
                if answer.counts:
                    text = self.redact(_decode(answer.content, answer.charset, answer.status))
                    first_byte = None if answer.first_byte is None else answer.first_byte - sent
                    took, cached = answer.ended - sent, _is_cached(answer.headers)
                    return Received(answer.status, text, first_byte, took, sent, cached)
                if answer.location is None:
                    text = self.redact(answer.content.decode("utf-8", "replace"))
                    raise refused_by_status(answer.status, text, answer.headers.get("retry-after"))
                request = _redirected(request, answer.status, answer.location)
        raise TargetFailure(
            "redirect", f"more than {_MOST_REDIRECTS} redirects, now at {without_query(request.url)}", retry=False
        )

    async def _exchange(self, request: HttpRequest, answer: _Answer) -> None:
        if self._connections is None:
            raise RuntimeError("a target is used inside `async with`")
        try:
            await self._connections.exchange(request, answer)
        except TargetFailure:
            # The status of a refusal is known, and says more than a body that was cut.
            if answer.counts or not answer.status:
                raise


def wire_of(settings: Any, target_context: TargetContext, secrets: list[str]) -> Wire:
    """The exchanges that the settings of a target or judge ask for; the passwords of proxies join the secrets."""
    proxies = Proxies.of(target_context.env) if settings.trust_env else None
    secrets += [] if proxies is None else proxies.secrets()
    most, seconds = target_context.max_connections, settings.connect_timeout
    return Wire(WireLimits(most, seconds, settings.max_bytes, proxies))


class _Answer:
    """Reads one answer, unpacked and no larger than allowed; of a refusal the beginning, and of a redirect the head."""

    def __init__(self, most: int, also_answers: frozenset[int], watch: Watch | None = None) -> None:
        self._most = most
        self._watch = watch
        self._also_answers = also_answers
        self._parts: list[bytes] = []
        self._size = 0
        self.status = 0
        self.counts = False
        """Whether it is an answer, and no refusal or redirect."""
        self.location: str | None = None
        self.first_byte: float | None = None
        """When the first byte of the body was there, and when all of it."""
        self.ended = 0.0
        self.settles_at: float | None = None

    @property
    def content(self) -> bytes:
        return b"".join(self._parts)

    @property
    def charset(self) -> str | None:
        named = _CHARSET.search(self.headers.get("content-type", ""))
        return None if named is None else named[1]

    def head(self, status: int, headers: dict[str, str]) -> bool:
        """Begin; True when the body does not matter."""
        self.status, self.headers = status, headers
        self.counts = 200 <= status < 300 or status in self._also_answers
        if not self.counts:
            self.location = headers.get("location") or None if status in _REDIRECTS else None
            self._most = _REFUSAL
        elif int(headers.get("content-length", 0)) > self._most:
            raise _too_large(self._most, status)
        packing = headers.get("content-encoding")
        self._unpacker = None if packing is None else Unpacker(packing, status)
        return self.location is not None

    def body(self, data: bytes) -> bool:
        """Take in more of the body; True when there is enough of it."""
        self.first_byte = self.first_byte or time.perf_counter()
        part = data if self._unpacker is None else self._unpacker.feed(data, self._most - self._size)
        if self._watch is not None and self.counts:
            n, seconds = self._watch(part)
            part = part[:n]
            if seconds is not None:
                self.ended, self.settles_at = time.perf_counter(), time.monotonic() + seconds
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._most and self.counts:
            raise _too_large(self._most, self.status)
        return self._size > self._most

    def end(self) -> bool:
        """All of it is there."""
        self.ended = self.ended or time.perf_counter()
        if self._unpacker is not None:
            self._unpacker.finish()
        return True


_HIT = re.compile(r"(?<![a-z])hit(?![a-z])", re.IGNORECASE)


def _is_cached(headers: Mapping[str, str]) -> bool:
    """Whether headers say that a cache gave the answer: `Age` (RFC 9111), `Cache-Status` (RFC 9211), or one such as
    `X-Cache: HIT` of a gateway."""
    if headers.get("age", "0").strip() not in ("", "0"):
        return True
    return any("cache" in name and name != "cache-control" and _HIT.search(value) for name, value in headers.items())


def refused_by_status(status: int, text: str, retry_after: str | None = None) -> TargetFailure:
    """The failure an HTTP error status stands for."""
    wait = seconds_to_wait(retry_after)
    # A 503 that names no time is a service that is down, not one that asks for patience.
    throttled = status in (429, 529) or (status == 503 and wait is not None)
    excerpt = " ".join(text[: 2 * _EXCERPT].split())[:_EXCERPT]
    if len(text) > _EXCERPT:
        # What a long error says stands anywhere in it.
        with contextlib.suppress(ValueError, RecursionError):
            excerpt = reported_error(json.loads(text))[:_LONGEST_ERROR] or excerpt
    return TargetFailure(
        f"http_{status}",
        f"answered {status}" + (f": {excerpt}" if excerpt else " with an empty body"),
        retry=throttled or status >= 500 or status in _WORTH_RETRYING,
        retry_after=wait,
        throttled=throttled,
        status=status,
        body=text,
    )


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
