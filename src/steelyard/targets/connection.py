"""HTTP/1.1 connections that stay open from call to call: what targets and judges need of a client, and no more.

A call takes about half of the CPU that it takes with aiohttp (docs/design/0012-speed.md). The parser is llhttp, as in
aiohttp and Node.js, and as lenient as aiohttp has it.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import httptools
from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

import steelyard
from steelyard.errors import TargetFailure, UsageError
from steelyard.frozen import frozen

ACCEPTED: Final = "gzip, deflate"
"""The packings of bodies that requests say they understand."""
_EXCERPT = 200
_MOST_HEADERS = 128
_LARGEST_HEAD = 524_288
"""Bytes, more than a head can share one read with those before it."""
_LONGEST_IDLE = 15.0
"""Seconds after which a connection is not used again: services close them about then."""
_ADDRESSES_LAST = 10.0
"""Seconds that the addresses of a name are used for."""
_NEXT_ADDRESS = 0.25
"""Seconds after which the next address of a name is tried, too (RFC 8305)."""
_MAY_BE_SENT_TWICE = frozenset({"GET", "PUT", "DELETE"})
_HAS_BODY = frozenset({"POST", "PUT", "PATCH"})
_OURS = frozenset({"content-length", "transfer-encoding"})
"""Headers that say how the body is sent, which no suite decides."""
_UNSENDABLE = re.compile(r"[\r\n\0]")


@frozen
class HttpRequest:
    """What is sent; `data` is the encoded body."""

    method: str
    url: URL
    headers: dict[str, str]
    data: bytes | None = None


class Reader(Protocol):
    """Takes in one answer as it comes. Each method says True when nothing further is needed, `end` always; a
    TargetFailure that it raises is the exchange's. Names of headers are in small letters."""

    settles_at: float | None
    """Set once there is enough of the body: until when the message may still end, by the loop's clock, so that the
    connection can be used again. Whatever happens to the connection from then on, the answer stands."""

    def head(self, status: int, headers: dict[str, str]) -> bool: ...

    def body(self, data: bytes) -> bool: ...

    def end(self) -> bool: ...


@frozen
class Proxies:
    """The proxies that an environment names, by scheme, and the hosts that are reached without one."""

    by_scheme: dict[str, URL]
    none_for: str = ""

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Proxies:
        """Of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capital or small letters; UsageError for one
        of another kind than http."""

        def read(name: str) -> str:
            return (env.get(name) or env.get(name.upper()) or "").strip()

        by_scheme = {}
        for scheme in ("http", "https"):
            if given := read(f"{scheme}_proxy") or read("all_proxy"):
                try:
                    proxy = URL(given if "://" in given else f"http://{given}")
                except ValueError as error:  # what it holds may be a password
                    raise UsageError(f"trust_env: the proxy for {scheme} is no address: {error}") from None
                if proxy.scheme != "http" or not proxy.host:
                    kind = f"{proxy.scheme}://"
                    raise UsageError(f"trust_env: the proxy for {scheme} is {kind}..., and only http:// is understood")
                by_scheme[scheme] = proxy
        return cls(by_scheme, read("no_proxy"))

    def for_origin(self, origin: URL) -> URL | None:
        """The proxy that leads there."""
        import urllib.request  # takes long to import, and few need it

        host, none_for = f"{origin.host}:{origin.port}", {"no": self.none_for} if self.none_for else {}
        bypassed: bool = urllib.request.proxy_bypass_environment(host, none_for)  # type: ignore[attr-defined]
        return None if bypassed else self.by_scheme.get(origin.scheme)

    def secrets(self) -> list[str]:
        """The passwords."""
        return [proxy.password for proxy in self.by_scheme.values() if proxy.password]


def _proxy_headers(proxy: URL) -> dict[str, str]:
    if proxy.user is None:
        return {}
    key = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
    return {"Proxy-Authorization": f"Basic {key}"}


class Connections:
    """Those that are open, by where they lead to. Certificates are checked; there are no cookies, and no proxies but
    those that are given."""

    def __init__(self, connect_timeout: float, proxies: Proxies | None = None) -> None:
        self._connect_timeout = connect_timeout
        self._proxies = proxies
        self._idle: defaultdict[URL, list[_Connection]] = defaultdict(list)
        self._addresses: dict[tuple[str, int], tuple[float, asyncio.Task[list[AddrInfoType]]]] = {}
        self._tls: ssl.SSLContext | None = None

    async def exchange(self, request: HttpRequest, reader: Reader) -> None:
        """Send a request and have the answer read; TargetFailure when that is not possible.

        A service may close a connection just when it is used again. What may be sent twice is sent again then; whether
        anything else is, is for the caller to decide.
        """
        origin = request.url.origin()
        proxy = None if self._proxies is None else self._proxies.for_origin(origin)
        data = _message(request, proxy if origin.scheme == "http" else None)
        connection = self._reused(origin)
        if connection is not None:
            try:
                await connection.exchange(data, reader)
            except TargetFailure:
                if connection.was_answered or request.method not in _MAY_BE_SENT_TWICE:
                    raise
                connection = None
        if connection is None:
            connection = await self._connect(origin, proxy)
            await connection.exchange(data, reader)
        if connection.is_open:
            self._idle[origin].append(connection)

    async def close(self) -> None:
        """Close all that are not in use."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()
        await asyncio.sleep(0)

    def _reused(self, origin: URL) -> _Connection | None:
        """The one that was used last; the others may well be closed by the time they are needed."""
        idle = self._idle[origin]
        while idle:
            connection = idle.pop()
            if connection.is_open and asyncio.get_running_loop().time() - connection.idle_since < _LONGEST_IDLE:
                return connection
            connection.close()
        return None

    async def _connect(self, origin: URL, proxy: URL | None = None) -> _Connection:
        host, first = origin.raw_host or "", proxy or origin
        place = f"{first.host}:{first.port}"
        tls = self._context() if origin.scheme == "https" else None
        try:
            async with asyncio.timeout(self._connect_timeout):
                addresses = await self._resolved(first.raw_host or "", first.port or 0)
                open_socket = await start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS)
                if proxy is not None and tls is not None:
                    await _tunnel(open_socket, origin, proxy)
                    place = f"{origin.host}:{origin.port} by way of the proxy {place}"
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(place), sock=open_socket, ssl=tls, server_hostname=host if tls else None
                )
        except (OSError, UnicodeError) as error:
            raise _not_connected(error, place) from error
        return connection

    async def _resolved(self, host: str, port: int) -> list[AddrInfoType]:
        """The addresses of a name; all who need them at the same time wait for one answer."""
        loop = asyncio.get_running_loop()
        until, task = self._addresses.get((host, port), (0.0, None))
        if task is None or until < loop.time() or (task.done() and (task.cancelled() or task.exception())):
            task = loop.create_task(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))  # type: ignore[arg-type]
            task.add_done_callback(lambda over: over.cancelled() or over.exception())  # those who waited may be gone
            self._addresses[host, port] = (loop.time() + _ADDRESSES_LAST, task)
        return await asyncio.shield(task)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


async def _tunnel(open_socket: socket.socket, origin: URL, proxy: URL) -> None:
    """Have the proxy lead on to the origin; TargetFailure when it does not, and the socket is closed."""
    loop, place, head = asyncio.get_running_loop(), f"{origin.host_subcomponent}:{origin.port}", b""
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    lines += [f"{name}: {value}" for name, value in _proxy_headers(proxy).items()]
    try:
        await loop.sock_sendall(open_socket, "\r\n".join([*lines, "\r\n"]).encode())
        while b"\r\n\r\n" not in head and len(head) < _LARGEST_HEAD:
            if not (part := await loop.sock_recv(open_socket, 65_536)):
                break
            head += part
        status = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)[1:]
        if status[:1] != ["200"]:
            message = f"the proxy {proxy.host}:{proxy.port} leads to no {place}: {' '.join(status) or 'no answer'}"
            raise TargetFailure("proxy", message, retry=not status or not status[0].startswith("4"))
    except BaseException:
        open_socket.close()
        raise


class _Connection(asyncio.Protocol):
    """One connection: one exchange after the other, and closed after any that did not come to its end."""

    _transport: asyncio.Transport
    _reader: Reader
    _over: asyncio.Future[None] | None = None
    _settling: asyncio.TimerHandle | None = None
    _headers: dict[str, str]
    _in_body: bool
    _complete: bool
    _keep: bool

    def __init__(self, place: str) -> None:
        self._place = place
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.idle_since = 0.0
        self.was_answered = False
        """Whether any byte of an answer to the last request has come."""
        self._begin()

    @property
    def is_open(self) -> bool:
        """Whether another exchange can be made on it."""
        return not self._transport.is_closing()

    async def exchange(self, data: bytes, reader: Reader) -> None:
        """Send this and have the answer read."""
        loop = asyncio.get_running_loop()
        self._reader, self._over, self.was_answered, reusable = reader, loop.create_future(), False, False
        if self._transport.is_closing():
            raise self._cut()
        self._transport.write(data)
        try:
            await self._over
            # An answer may come before all is sent, and something else after it.
            reusable = self._complete and self._keep and not self._transport.get_write_buffer_size()
        finally:
            if self._settling is not None:
                self._settling.cancel()
                self._settling = None
            self._over, self.idle_since = None, loop.time()
            self._begin()
            if not reusable:
                self.close()

    def close(self) -> None:
        """Close it now."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self._over is None:  # nobody has asked for anything
            self.close()
            return
        self.was_answered = True
        if self._head_bytes > _LARGEST_HEAD:
            self._fail(self._garbage(f"a head or trailer of more than {_LARGEST_HEAD:,} bytes"))
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._keep = False
        except httptools.HttpParserError as error:
            self._keep = False
            self._fail(self._garbage(str(error)))
        # In a body, what came since the parser last gave any of it: the heads of chunks, or a trailer.
        self._head_bytes += len(data)

    def connection_lost(self, exc: Exception | None) -> None:
        headers = self._headers
        until_closed = "content-length" not in headers and "chunked" not in headers.get("transfer-encoding", "").lower()
        if exc is None and self._in_body and until_closed:
            self.on_message_complete()
        else:
            self._fail(self._cut())

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._complete:
            self._keep = False  # more than was asked for
        else:
            self._begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._n_headers += 1
        if self._n_headers > _MOST_HEADERS:
            self._fail(self._garbage("Too many headers"))
            return
        if self._in_body:
            return  # a trailer
        text = value.decode("utf-8", "surrogateescape").strip()
        self._headers.setdefault(name.decode("latin-1").lower(), text)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._in_body = not 100 <= status < 200 or status == 101
        if self._in_body:
            self._read(self._reader.head, status, self._headers)

    def on_body(self, data: bytes) -> None:
        before = self._reader.settles_at
        self._head_bytes = -len(data)
        self._read(self._reader.body, data)
        if (at := self._reader.settles_at) is not None and at != before and self._over is not None:
            if self._settling is not None:
                self._settling.cancel()
            self._settling = self._over.get_loop().call_at(at, self._settle)

    def on_message_complete(self) -> None:
        if self._in_body and not self._complete:
            self._keep, self._complete = self._parser.should_keep_alive(), True
            self._read(self._reader.end)

    def _begin(self) -> None:
        self._headers = {}
        self._n_headers = self._head_bytes = 0
        self._in_body = self._complete = self._keep = False

    def _read(self, read: Callable[..., bool], *given: Any) -> None:
        if self._over is None or self._over.done():
            return
        try:
            if read(*given):
                self._over.set_result(None)
        except TargetFailure as failure:
            self._fail(failure)

    def _settle(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _fail(self, failure: TargetFailure) -> None:
        if self._over is not None and not self._over.done():
            if self._reader.settles_at is not None:
                self._settle()
            else:
                self._over.set_exception(failure)

    def _cut(self) -> TargetFailure:
        return TargetFailure("cut", f"{self._place} cut the connection before the answer was complete")

    def _garbage(self, message: str) -> TargetFailure:
        return TargetFailure("garbage", f"{self._place} sent something that is not HTTP: {excerpt_of(message)}")


def excerpt_of(text: str, longest: int = _EXCERPT) -> str:
    """The beginning of a body on one line, for messages."""
    short = " ".join(text[: 2 * longest].split())[:longest]
    return short if len(text) <= longest else short + " ..."


def without_query(url: URL) -> str:
    """The address without its query, which may hold a secret."""
    return str(url.with_query(None))


def _message(request: HttpRequest, proxy: URL | None = None) -> bytes:
    """The request as it is sent, to the proxy with the whole address; TargetFailure when it cannot be sent."""
    data = request.data
    headers = request.headers if proxy is None else request.headers | _proxy_headers(proxy)
    head = _head(request.method, request.url, tuple(headers.items()), data is not None, proxy is not None)
    return head if data is None else b"%sContent-Length: %d\r\n\r\n%s" % (head, len(data), data)


@lru_cache(maxsize=16)
def _head(method: str, url: URL, given: tuple[tuple[str, str], ...], has_body: bool, whole: bool = False) -> bytes:
    """The lines before the body, but for the length of one; the calls of most targets differ in their body alone."""
    if url.scheme not in ("http", "https") or not url.raw_host:
        raise TargetFailure("bad_url", f"{without_query(url)} is not an address that can be asked", retry=False)
    headers = {
        "host": ("Host", url.host_port_subcomponent),
        "accept": ("Accept", "*/*"),
        "accept-encoding": ("Accept-Encoding", ACCEPTED),
        "user-agent": ("User-Agent", f"steelyard/{steelyard.__version__}"),
    }
    if has_body or method in _HAS_BODY:
        headers["content-type"] = ("Content-Type", "application/octet-stream")
    headers |= {name.lower(): (name, value) for name, value in given if name.lower() not in _OURS}
    if not has_body and method in _HAS_BODY:
        headers["content-length"] = ("Content-Length", "0")
    place = f"{url.origin()}{url.raw_path_qs}" if whole else url.raw_path_qs
    lines = [f"{method} {place} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.values())]
    if any(map(_UNSENDABLE.search, lines)):
        message = "the request cannot be sent: a header holds a line break or a null byte"
        raise TargetFailure("bad_request", message, retry=False)
    return "\r\n".join([*lines, "" if has_body else "\r\n"]).encode()


def _not_connected(error: Exception, place: str) -> TargetFailure:
    match error:
        case ssl.SSLError():
            return TargetFailure("tls", f"no trusted connection to {place}: {error}", retry=False)
        case socket.gaierror():
            return TargetFailure("dns", f"the name in {place} cannot be resolved")
        case ConnectionRefusedError():
            return TargetFailure("refused", f"{place} refuses connections: is the service running there?")
        case TimeoutError() if error.errno is None:
            return TargetFailure("connect_timeout", f"{place} did not accept a connection in time")
        case OSError():
            return TargetFailure("unreachable", f"{place} cannot be reached: {error.strerror or error}")
        case _:
            return TargetFailure("bad_request", f"the request cannot be sent: {error}", retry=False)
