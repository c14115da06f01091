"""Connections that stay open: what is sent over them, when one is used again, and when nothing is sent twice."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from yarl import URL

import parts.loopback
from parts.loopback import Loopback, json_answer
from steelyard.errors import TargetFailure
from steelyard.targets.connection import HttpRequest
from steelyard.targets.transport import Wire, WireLimits

CERTIFICATE = Path(parts.loopback.__file__).with_name("self_signed.pem")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Service:
    """Answers each request of a connection with the next of `answers`; after None it closes the connection."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self._talks: list[asyncio.Task[None]] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._talks.append(asyncio.current_task())
        while head := await _request(reader):
            self.requests.append(head)
            answer = self.answers.pop(0)
            if answer is None:
                break
            writer.write(answer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    @asynccontextmanager
    async def open(self):
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Wire(WireLimits(max_connections=1)) as wire:

            async def send(method: str, data: bytes | None = None, path: str = "/", **headers: str) -> str:
                url = URL(f"http://127.0.0.1:{port}{path}")
                return (await wire.send(HttpRequest(method, url, headers, data))).text

            yield send
        server.close()
        await asyncio.gather(*self._talks)


async def _request(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    return head + await reader.readexactly(length)


async def test_one_connection_serves_call_after_call():
    service = Service(ANSWER, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ANSWER, ANSWER)
    async with service.open() as send:
        assert [await send("POST", b"{}") for _ in range(3)] == ["ok"] * 3
    assert service.connections == 1


async def test_what_may_be_sent_twice_is_sent_again_when_a_kept_connection_turns_out_closed():
    service = Service(ANSWER, None, ANSWER)
    async with service.open() as send:
        assert [await send("GET"), await send("GET")] == ["ok", "ok"]
    assert (service.connections, len(service.requests)) == (2, 3)


async def test_a_post_is_never_sent_twice_by_itself():
    service = Service(ANSWER, None, ANSWER)
    async with service.open() as send:
        await send("POST", b"{}")
        with pytest.raises(TargetFailure, match="cut the connection") as caught:
            await send("POST", b"{}")
        assert (caught.value.kind, caught.value.retry) == ("cut", True)
        assert await send("POST", b"{}") == "ok"
    assert len(service.requests) == 3


async def test_a_new_connection_that_is_cut_is_a_failure_for_any_method():
    service = Service(None, ANSWER)
    async with service.open() as send:
        with pytest.raises(TargetFailure, match="cut the connection"):
            await send("GET")
    assert len(service.requests) == 1


@pytest.mark.parametrize("more", [ANSWER, b"noise", b"HTTP/1.1 200 OK\r\nConnection: close\r\n"])
async def test_what_nobody_asked_for_answers_no_later_call(more):
    service = Service(ANSWER + more, ANSWER.replace(b"ok", b"it"))
    async with service.open() as send:
        assert [await send("POST", b"1"), await send("POST", b"2")] == ["ok", "it"]
    assert service.connections == 2


async def test_the_lines_that_are_sent():
    service = Service(ANSWER, ANSWER, ANSWER)
    headers = {"Content-Type": "text/plain", "user-agent": "mine", "X-Ü": "ü", "Content-Length": "9"}
    async with service.open() as send:
        await send("POST", b"body", "/a%20b?c=d e", **headers)
        await send("GET")
        await send("PUT")
    post, get, put = [request.decode().split("\r\n") for request in service.requests]
    host = post[1]
    assert host.startswith("Host: 127.0.0.1:")
    assert post == [
        *("POST /a%20b?c=d+e HTTP/1.1", host, "Accept: */*", "Accept-Encoding: gzip, deflate", "user-agent: mine"),
        *("Content-Type: text/plain", "X-Ü: ü", "Content-Length: 4", "", "body"),
    ]
    assert [line for line in get if line.startswith(("GET", "Content"))] == ["GET / HTTP/1.1"]
    assert "Content-Length: 0" in put


async def test_a_header_that_would_break_the_request_is_not_sent():
    service = Service()
    async with service.open() as send:
        with pytest.raises(TargetFailure, match="the request cannot be sent") as caught:
            await send("POST", b"", Authorization="Bearer a\r\nX-More: b")
    assert (caught.value.kind, caught.value.retry, service.connections) == ("bad_request", False, 0)


async def test_a_trusted_certificate_is_accepted_also_by_name(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with Loopback(tls=True) as server:
        server.on("/", json_answer({"a": 1}))
        async with Wire(WireLimits()) as wire:
            for host in ("127.0.0.1", "localhost"):
                url = URL(server.url("/")).with_host(host)
                assert (await wire.send(HttpRequest("GET", url, {}))).status == 200
