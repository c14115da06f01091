"""Proxies of the environment: used where a suite says `trust_env`, over a real proxy on loopback."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import parts.loopback
from parts.loopback import Loopback, chat_answer, json_answer, refusing
from parts.looped import for_every
from steelyard.errors import UsageError
from steelyard.targets.connection import URL, Proxies

CERTIFICATE = Path(parts.loopback.__file__).with_name("self_signed.pem")
SECRET = "proxy-password"


class Proxy:
    """Leads on to what it is asked for, by CONNECT or as a whole address; `refuses` is a status to answer instead."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.heads: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        method, place, _ = head.split(" ", 2)
        if self.refuses:
            writer.write(f"HTTP/1.1 {self.refuses}\r\nContent-Length: 0\r\n\r\n".encode())
            writer.close()
            return
        url = URL(f"http://{place}" if method == "CONNECT" else place)
        there, onward = await asyncio.open_connection(url.host, url.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        else:
            onward.write(head.replace(str(url.origin()), "", 1).encode())
        await asyncio.gather(_pump(reader, onward), _pump(there, writer))

    @asynccontextmanager
    async def open(self):
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0)
        async with server:
            yield f"http://me:{SECRET}@127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def http(server, **more):
    return {"url": server.url("/ask?q=1"), "json": "input", "trust_env": True, **more}


async def test_a_plain_address_is_asked_for_as_a_whole_and_with_the_proxys_key(bench, server):
    server.on("/ask", json_answer({"ok": 1}))
    proxy = Proxy()
    async with proxy.open() as url:
        bench.env = {"HTTP_PROXY": url}
        response = await bench.ask("http", http(server))
    assert response.text == '{"ok": 1}'
    assert server.requests[0].query == {"q": "1"}
    first, *lines = proxy.heads[0].split("\r\n")
    assert first == f"POST {server.url('/ask?q=1')} HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6cHJveHktcGFzc3dvcmQ=" in lines  # printf me:proxy-password | base64


async def test_https_goes_through_a_tunnel_and_its_certificate_is_checked(bench, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    proxy = Proxy()
    with Loopback(tls=True) as server:
        server.on("/v1/chat/completions", chat_answer("hello"))
        async with proxy.open() as url:
            bench.env = {"https_proxy": url, "KEY": "sk-very-secret"}
            settings = {"base_url": server.url("/v1"), "model": "m", "token": "KEY", "trust_env": True}
            response = await bench.ask("chat", settings)
            monkeypatch.delenv("SSL_CERT_FILE")
            failure = await bench.fail("chat", settings)
    assert (response.text, failure.kind) == ("hello", "tls")
    assert proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n")
    # What is in the tunnel, the key of the service above all, the proxy never sees.
    assert "secret" not in proxy.heads[0].replace(SECRET, "")
    assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("env", "more"), [({"NO_PROXY": "127.0.0.1"}, {}), ({}, {"trust_env": False})], ids=["no_proxy", "not trusted"]
)
async def test_a_host_of_no_proxy_and_a_suite_that_does_not_trust_are_asked_directly(bench, server, env, more):
    server.on("/ask", json_answer({"ok": 1}))
    with refusing() as nobody:
        bench.env = {"HTTP_PROXY": nobody, **env}
        assert (await bench.ask("http", http(server, **more))).status == 200


async def test_a_proxy_that_refuses_is_a_failure_that_names_it_and_hides_its_password(bench):
    kinds = []
    for status in ("407 Proxy Authentication Required", "503 Busy"):
        async with Proxy(status).open() as url:
            bench.env = {"HTTPS_PROXY": url}
            target = bench.open("http", {"url": "https://127.0.0.1:9/x", "trust_env": True})
            failure = await bench.fail("http", {"url": "https://127.0.0.1:9/x", "trust_env": True})
        kinds.append((failure.kind, failure.retry))
        assert status in str(failure)
        assert SECRET not in str(failure)
        assert target.secrets() == [SECRET]
        assert "trust_env" not in str(target.identity())
    assert kinds == [("proxy", False), ("proxy", True)]


@for_every(
    ("env", "url", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "https://a.example", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://a.example", None),
        ({"https_proxy": "p:1", "HTTPS_PROXY": "http://q:2"}, "https://a.example", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://a.example", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example, .example"}, "http://a.example", None),
        ({"ALL_PROXY": "http://p:1", "no_proxy": "*"}, "http://a.example", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example"}, "http://a.example", "http://p:1"),
        ({}, "https://a.example", None),
    ],
)
def test_which_proxy_leads_where(env, url, proxy):
    chosen = Proxies.of(env).for_origin(URL(url))
    assert (None if chosen is None else str(chosen)) == proxy


@pytest.mark.parametrize("place", ["host:port", "[::1"])
def test_an_address_that_is_none_is_a_mistake_and_hides_its_password(bench, place):
    with pytest.raises(UsageError, match="the proxy for https is no address") as raised:
        Proxies.of({"HTTPS_PROXY": f"http://user:{SECRET}@{place}"})
    assert SECRET not in str(raised.value)


def test_a_proxy_of_another_kind_is_a_mistake(bench):
    bench.env = {"HTTPS_PROXY": "socks5://me:proxy-password@127.0.0.1:1"}
    with pytest.raises(UsageError, match=r"socks5.*only http:// is understood") as caught:
        bench.open("http", {"url": "https://127.0.0.1:9/x", "trust_env": True})
    assert SECRET not in str(caught.value)
