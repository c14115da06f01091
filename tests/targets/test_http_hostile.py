"""Services that send what no service should: each is read, or a typed failure that says what came."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.loopback import Behaviour, deep_json, endless, error, gzip_bomb, json_answer, redirect, text_answer
from steelyard.errors import TargetFailure
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request
from steelyard.targets.packed_bodies import Unpacker

pytestmark = pytest.mark.boundary("httptools")

DATA = {"items": [{"id": "a"}]}
BODY = json.dumps(DATA).encode()
OK = json_answer(DATA)


def uncapped(*head: str, body: bytes = b"", **more) -> Behaviour:
    return Behaviour(uncapped="\r\n".join((*head, "", "")).encode() + body, **more)


def packed(encoding: str, body: bytes, **more) -> Behaviour:
    return Behaviour(body=body, headers={"Content-Encoding": encoding}, **more)


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    "behaviour",
    [
        uncapped(
            "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=chunks(*(BODY[i : i + 1] for i in range(len(BODY))))
        ),
        uncapped("HTTP/1.0 200 OK", body=BODY),
        uncapped("HTTP/1.1 100 Continue", "", "HTTP/1.1 200 OK", f"Content-Length: {len(BODY)}", body=BODY),
        packed("gzip", gzip.compress(BODY)),
        packed("GZIP", gzip.compress(BODY[:9]) + gzip.compress(BODY[9:])),
        packed("gzip", gzip.compress(BODY) + b"\0" * 20),
        packed("deflate", zlib.compress(BODY)),
        packed("deflate", bare_deflate(BODY)),
        packed("identity", BODY),
        packed("utf-8", BODY),
        Behaviour(body=BODY, headers={"Content-Type": ';;;="\\'}),
        Behaviour(body=json.dumps(DATA).encode("utf-16"), headers={"Content-Type": "text/plain; charset=utf-16"}),
        uncapped("HTTP/1.1 200 OK", "X-Odd: \xe9\xff", f"Content-Length: {len(BODY)}", body=BODY),
        uncapped("HTTP/1.1 302 Found", "Location: /fine", raw_again=b"x" * 65_536),
    ],
)
async def test_what_can_be_read_is_read(bench, server, behaviour):
    server.on("/", behaviour).on("/fine", OK)
    assert json.loads((await bench.ask("http", server.url("/"))).text) == DATA


async def test_an_answer_without_a_body_is_empty(bench, server):
    server.on("/", Behaviour(status=204), packed("gzip", b""), uncapped("HTTP/1.0 200 OK"))
    replies = [await bench.ask("http", server.url("/")) for _ in range(3)]
    assert [(reply.text, reply.first_byte) for reply in replies] == [("", None)] * 3


async def test_only_packings_that_can_be_unpacked_are_asked_for(bench, server):
    server.on("/", OK)
    await bench.ask("http", server.url("/"))
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
"""A whole body, after which a trailer may come."""
TOO_LARGE = "the body is larger than max_bytes (10,000,000 bytes) and was not read further"


@pytest.mark.parametrize(
    ("behaviour", "kind", "retry", "message"),
    [
        (gzip_bomb(10_000_001), "too_large", False, TOO_LARGE),
        (packed("deflate", zlib.compress(b"0" * 50_000_000, 1)), "too_large", False, TOO_LARGE),
        (uncapped("HTTP/1.0 200 OK", raw_again=b"x" * 65_536), "too_large", False, TOO_LARGE),
        (Behaviour(body=b"x" * 10_000_001), "too_large", False, TOO_LARGE),
        (packed("gzip", gzip.compress(BODY)[:-9]), "cut", True, "breaks off before the end of what is packed in it"),
        (packed("gzip", BODY), "bad_encoding", True, "the body cannot be unpacked"),
        (packed("br", BODY), "bad_encoding", False, "the body is packed as 'br', which was not asked for"),
        (packed("gzip, gzip", gzip.compress(gzip.compress(BODY))), "bad_encoding", False, "packed as 'gzip, gzip'"),
        (text_answer("x", content_type="text/plain; charset=punycode"), "bad_encoding", False, "is not known"),
        (text_answer("x", content_type="text/plain; charset=undefined"), "bad_encoding", False, "is not known"),
        (text_answer("x", content_type="text/plain; charset=zip"), "bad_encoding", False, "is not known"),
        (redirect("file:///etc/passwd"), "redirect", False, "a redirect to no web address: file:///etc/passwd"),
        (redirect("http://[::1"), "redirect", False, "a redirect to no web address"),
        (redirect("//elsewhere.invalid/"), "redirect", False, "a redirect to another host (elsewhere.invalid:80)"),
        (uncapped("HTTP/1.1 200 OK", "Content-Length: -5", body=BODY), "garbage", True, "not HTTP"),
        (uncapped("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"zz\r\n"), "garbage", True, "not HTTP"),
        (
            Behaviour(uncapped=b"HTTP/1.1 200 OK\r\n", raw_again=b"X-A: b\r\n" * 100),
            "garbage",
            True,
            "Too many headers",
        ),
        (Behaviour(uncapped=b"HTTP/1.1 200 OK\r\nX: ", raw_again=b"a" * 65_536), "garbage", True, "not HTTP"),
        (Behaviour(uncapped=CHUNKED, raw_again=b"X-A: b\r\n" * 100), "garbage", True, "Too many headers"),
        (Behaviour(uncapped=CHUNKED + b"X: ", raw_again=b"a" * 65_536), "garbage", True, "not HTTP"),
        (Behaviour(uncapped=b"HTTP/1.1 200 OK\r\nX: a\r\n"), "cut", True, "before the answer was complete"),
        (packed("gzip", gzip.compress(b"0" * 50_000_000, 1), status=404), "http_404", False, "answered 404: 0000"),
        (packed("br", b"\xff", status=404), "http_404", False, "answered 404 with an empty body"),
        (Behaviour(status=404, endless=b"x" * 65_536), "http_404", False, "answered 404: xxxx"),
    ],
)
async def test_what_cannot_be_read_is_a_failure_that_says_why(bench, server, behaviour, kind, retry, message):
    server.on("/", behaviour)
    async with asyncio.timeout(20):
        failure = await bench.fail("http", server.url("/"))
    assert (failure.kind, failure.retry) == (kind, retry)
    assert message in str(failure)


@pytest.mark.parametrize("settings", [{"answer": "a"}, {"failed_if": "errors"}, {"usage": {"model": "m"}}])
async def test_json_that_is_too_deep_is_separated_from_no_json(bench, server, settings):
    server.on("/", deep_json(), text_answer("<html>"))
    deep, other = [await bench.fail("http", {"url": server.url("/"), **settings}) for _ in range(2)]
    assert (deep.kind, other.kind) == ("bad_body", "bad_body")
    assert "answered 200 with JSON that is nested too deeply: [[[[" in str(deep)
    assert "answered 200 with a body that is not JSON: <html>" in str(other)


@pytest.mark.parametrize(
    "behaviour",
    [
        endless(b"x", pause=0.01),
        Behaviour(status=500, endless=b"x", endless_pause=0.01),
        uncapped("HTTP/1.1 200 OK", "Content-Type: text/event-stream", raw_again=b"data: {}\n\n", endless_pause=0.01),
        Behaviour(uncapped=b"HTTP/1.1 200 OK\r\n", raw_again=b"X-A: b\r\n", endless_pause=0.05),
        Behaviour(uncapped=b"", raw_again=b"HTTP/1.1 100 Continue\r\n\r\n"),
        uncapped("HTTP/1.1 200 OK", "Content-Encoding: gzip", raw_again=gzip.compress(b"")),
    ],
    ids=["body", "error", "events", "headers", "100-continue", "gzip-of-nothing"],
)
async def test_a_trickle_without_end_can_be_given_up_and_leaves_the_connection_to_others(bench, server, behaviour):
    server.on("/endless", behaviour).on("/fine", OK)
    bench.max_connections = 1
    async with bench.open("http", {"url": server.base_url + "/{{ input }}"}) as target:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await target.ask(Request(Case("a", input="endless"), Variant()))
        async with asyncio.timeout(20):
            assert (await target.ask(Request(Case("b", input="fine"), Variant()))).status == 200


@pytest.mark.parametrize(("most", "fits"), [(len(BODY) - 1, False), (len(BODY), True)])
async def test_a_small_body_of_unknown_length_is_bounded_to_the_byte(bench, server, most, fits):
    # In one piece with its head, so that all of it is there before its first byte is read.
    server.on("/", uncapped("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=chunks(BODY)))
    settings = {"url": server.url("/"), "max_bytes": most}
    if fits:
        assert json.loads((await bench.ask("http", settings)).text) == DATA
    else:
        assert (await bench.fail("http", settings)).kind == "too_large"


async def test_an_error_that_is_an_answer_is_bounded_as_any_other(bench, server):
    server.on("/", packed("gzip", gzip.compress(b"0" * 50_000_000, 1), status=422), error(422, "too long"))
    settings = {"url": server.url("/"), "expect_errors": {"status": 422}}
    assert (await bench.fail("http", settings)).kind == "too_large"
    assert (await bench.ask("http", settings)).text == "too long"


@given(st.lists(st.binary(max_size=300), max_size=4), st.sampled_from(["gzip", "deflate"]), st.data())
def test_a_packed_body_unpacks_to_itself_however_it_is_cut_up(parts, encoding, data):
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    parts = parts if encoding == "gzip" else [b"".join(parts)]
    whole = b"".join(map(pack, parts))
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    unpacker, found = Unpacker(encoding, 200), b""
    for start, end in zip([0, *places], [*places, len(whole)], strict=True):
        found += unpacker.feed(whole[start:end], 10_000)
    unpacker.finish()
    assert found == b"".join(parts)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_packed_body_that_breaks_off_is_never_taken_for_whole(body, data):
    whole = gzip.compress(body)
    unpacker = Unpacker("gzip", 200)
    unpacker.feed(whole[: data.draw(st.integers(1, len(whole) - 1))], 10_000)
    with pytest.raises(TargetFailure, match="breaks off"):
        unpacker.finish()


@given(st.binary(max_size=200))
def test_bytes_that_are_not_packed_raise_nothing_but_failures(noise):
    for encoding in ("gzip", "deflate"):
        unpacker = Unpacker(encoding, 200)
        with contextlib.suppress(TargetFailure):
            unpacker.feed(noise, 10_000)
            unpacker.finish()


@pytest.mark.parametrize("room", [0, 1, 999, 300_000])
def test_no_more_is_unpacked_than_there_is_room_for(room):
    assert len(Unpacker("gzip", 200).feed(gzip.compress(b"0" * 1_000_000), room)) == room + 1
