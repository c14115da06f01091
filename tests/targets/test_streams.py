"""Answers that come in pieces: put together as they would have come at once, timed, and never half of them."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from parts.loopback import Behaviour, chat_answer, json_answer, text_answer
from parts.providers import KEYS, events, settings, streamed
from steelyard.errors import SuiteError
from steelyard.targets import streams

PATHS = {
    "chat": "/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/models/m-1:streamGenerateContent",
}


@pytest.fixture(params=list(PATHS))
def kind(request, bench):
    bench.env = dict(KEYS.get(request.param, {}))
    return request.param


def stream(kind, server, **more):
    return settings(kind, server.base_url, stream=True, **more)


async def answered_by(serve, bench, kind):
    """What a target makes of a connection that `serve` answers."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        return await bench.ask(kind, settings(kind, f"http://127.0.0.1:{port}", stream=True))


async def test_the_pieces_make_the_answer_with_its_tokens_and_the_time_of_the_first(bench, server, kind):
    server.on(PATHS[kind], streamed(kind, "a ", "chair – ", "世界"))
    response = await bench.ask(kind, stream(kind, server, price={"input": 1, "output": 2, "cached_input": 0}))
    assert (response.text, response.model, response.cut_off) == ("a chair – 世界", "m-1-2026", False)
    assert (response.tokens_in, response.tokens_out, response.tokens_cached) == (
        50 if kind == "anthropic" else 42,
        7,
        30,
    )
    # 12 or, with those written to the cache, 20 tokens at 1 and 7 at 2 per million.
    assert response.cost == pytest.approx(34e-6 if kind == "anthropic" else 26e-6)
    assert 0 < response.first_token <= response.latency
    sent = server.requests[0]
    assert sent.query == ({"alt": "sse"} if kind == "gemini" else {})
    asked = {name: sent.json.get(name) for name in ("stream", "stream_options")}
    options = {"include_usage": True} if kind == "chat" else None
    assert asked == {"stream": None if kind == "gemini" else True, "stream_options": options}


async def test_the_first_token_is_timed_when_it_comes_not_at_the_end(bench, kind):
    """The server begins at once, and waits 0.1 s before the first piece of text and 0.4 s before the rest."""
    body = streamed(kind, "a ", "chair").body
    at = body.index(b"\n\n", body.index(b'"a "')) + 2
    begun = body.rfind(b"\n\n", 0, at - 2) + 2 if kind != "gemini" else 0

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body))
        for seconds, part in ((0.0, body[:begun]), (0.1, body[begun:at]), (0.4, body[at:])):
            await asyncio.sleep(seconds)
            writer.write(part)
            await writer.drain()
        writer.close()

    response = await answered_by(serve, bench, kind)
    assert response.text == "a chair"
    assert 0.1 <= response.first_token < 0.4 < 0.5 <= response.latency


async def test_events_may_be_cut_anywhere(bench, kind):
    """Every byte comes alone."""
    body = streamed(kind, "Grüße, ", "世界").body

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    response = await answered_by(serve, bench, kind)
    assert response.text == "Grüße, 世界"


async def test_a_stream_that_ends_before_the_answer_is_a_failure_not_a_short_answer(bench, server, kind):
    broken = streamed(kind, "a ", "cha", whole=False)
    cut = Behaviour(body=broken.body, headers=broken.headers, content_length=10_000, cut_after=len(broken.body))
    server.on(PATHS[kind], broken, cut, text_answer(""), text_answer(": waiting\n\n"))
    for _ in range(4):
        failure = await bench.fail(kind, stream(kind, server))
        assert (failure.kind, failure.retry) == ("cut", True)


async def test_an_error_in_the_middle_of_a_stream_is_a_failure(bench, server):
    bench.env = dict(KEYS["anthropic"])
    begun = streamed("anthropic", "a ", whole=False).body.decode()
    trouble = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.on(PATHS["anthropic"], text_answer(begun + events(trouble, named=True).decode()))
    failure = await bench.fail("anthropic", stream("anthropic", server))
    assert (failure.kind, failure.retry, failure.throttled) == ("reported_error", True, True)
    assert "Overloaded" in str(failure)


@pytest.mark.parametrize("more", [{}, {"error": {"code": 502, "message": "upstream broke off"}}])
async def test_an_answer_that_an_error_ended_is_a_failure_streamed_or_not(bench, server, more):
    ended = {"index": 0, "finish_reason": "error"} | more
    whole = json_answer({"choices": [ended | {"message": {"role": "assistant", "content": "a cha"}}]})
    pieces = events({"choices": [{"index": 0, "delta": {"content": "a cha"}}]}, {"choices": [ended | {"delta": {}}]})
    for on, body in ((False, whole), (True, text_answer(pieces.decode()))):
        server.on(PATHS["chat"], body)
        failure = await bench.fail("chat", settings("chat", server.base_url, stream=on))
        assert (failure.kind, failure.retry) == ("reported_error", True)


@pytest.mark.parametrize("event", ["[1]", "{nonsense", '{"choices": [{"delta": {"tool_calls": [{}]}}]}'])
async def test_an_event_of_no_such_protocol_is_a_failure(bench, server, event):
    server.on(PATHS["chat"], text_answer(f"data: {event}\n\n"))
    assert (await bench.fail("chat", stream("chat", server))).kind == "bad_body"


async def test_nothing_is_lost_of_a_marked_stream_of_parts_or_of_counts_that_come_twice(bench, server):
    deltas = [{"choices": [{"delta": {"content": piece}}]} for piece in ("a ", [{"type": "text", "text": "chair"}])]
    server.on(PATHS["chat"], text_answer("\ufeff" + events(*deltas, "[DONE]").decode()))
    assert (await bench.ask("chat", stream("chat", server))).text == "a chair"
    bench.env = dict(KEYS["anthropic"])
    body = streamed("anthropic", "a chair").body.decode()
    again = body.replace('"output_tokens": 7', '"output_tokens": 7, "input_tokens": null')
    assert again != body
    server.on(PATHS["anthropic"], text_answer(again))
    assert (await bench.ask("anthropic", stream("anthropic", server))).tokens_in == 50


async def test_a_server_that_does_not_stream_has_no_first_token(bench, server):
    server.on(PATHS["chat"], chat_answer("all at once"))
    response = await bench.ask("chat", stream("chat", server))
    assert (response.text, response.first_token) == ("all at once", None)


async def test_tool_calls_and_secrets_come_in_pieces_too(bench, server):
    bench.env = {"KEY": "sk-very-secret"}
    pieces = [
        {"index": 0, "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"k": "sk-very'}},
    ]
    pieces.append({"index": 0, "function": {"arguments": '-secret"}'}})
    deltas = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    server.on(PATHS["chat"], text_answer(events(*deltas, "[DONE]").decode()))
    response = await bench.ask("chat", stream("chat", server, token="KEY"))
    calls = [{"name": "f", "arguments": {"k": "[redacted]"}}]
    assert json.loads(response.text) == {"content": "", "tool_calls": calls}


def test_what_comes_in_pieces_is_no_other_answer(bench):
    plain, pieces = (bench.open("chat", settings("chat", "http://a/v1", stream=on)) for on in (False, True))
    assert plain.identity() == pieces.identity()
    with pytest.raises(SuiteError, match="stream"):
        bench.open("chat", settings("chat", "http://a/v1", extra={"stream": True}))


async def served_once(body, bench, kind, *, then=b"", chunked=True):
    """What a target makes of a stream whose server sends this and leaves the connection open, and how long it took; and
    whether the client closed the connection."""
    closed = asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n")
        for part in (body, then):
            if part:
                writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
        while await reader.read(65_536):
            pass
        closed.set()
        writer.close()

    async with asyncio.timeout(120):
        response = await answered_by(serve, bench, kind)
        await closed.wait()
    return response


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_stream_ends_with_its_answer_though_the_connection_stays_open(bench, kind, chunked):
    body, began = streamed(kind, "a ", "chair").body, time.perf_counter()
    response = await served_once(body, bench, kind, chunked=chunked)
    assert (response.text, response.tokens_out) == ("a chair", 7)
    # The wait for the end of the message, at least 0.25 s, is no time of the system.
    assert response.latency <= time.perf_counter() - began - 0.25


async def test_without_the_last_event_the_reason_ends_a_stream_that_stays_open(bench, kind):
    """[DONE] and message_stop are missing; of Gemini, which has none, the body is as it is."""
    body = streamed(kind, "a ", "chair").body
    for last in (b"data: [DONE]\n\n", b'event: message_stop\ndata: {"type": "message_stop"}\n\n'):
        body = body.removesuffix(last)
    response = await served_once(body, bench, kind)
    assert (response.text, response.tokens_out) == ("a chair", 7)


@pytest.mark.parametrize("gap", [b"", b"\n\n"])
async def test_what_comes_after_the_end_is_no_part_of_the_answer(bench, kind, gap):
    if kind == "gemini":
        pytest.skip("Gemini's streams have no last event")
    after = streamed(kind, "and a table").body + b"data: {nonsense\n\n\xff\xfe"
    for body, then in (
        (streamed(kind, "a chair").body + gap + after, b""),
        (streamed(kind, "a chair").body, gap + after),
    ):
        response = await served_once(body, bench, kind, then=then)
        assert (response.text, response.tokens_out) == ("a chair", 7)


async def test_an_answer_stands_whose_connection_breaks_after_its_end(bench, kind):
    body = streamed(kind, "a chair").body

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body))
        await writer.drain()
        writer.transport.abort()

    assert (await answered_by(serve, bench, kind)).text == "a chair"


async def test_a_stream_whose_message_ends_a_little_later_leaves_its_connection_to_the_next_call(
    bench, make_ask, kind, monkeypatch
):
    monkeypatch.setattr(streams, "_FOR_CLOSING", 60.0)
    monkeypatch.setattr(streams, "_FOR_COUNTS", 60.0)
    body, connections = streamed(kind, "a chair").body, []

    async def serve(reader, writer):
        connections.append(writer)
        for _ in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body))
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(b"0\r\n\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with bench.open(kind, settings(kind, f"http://127.0.0.1:{port}", stream=True)) as target:
            texts = [(await target.ask(make_ask())).text for _ in range(3)]
        await asyncio.sleep(0.05)
    assert (texts, len(connections)) == (["a chair"] * 3, 1)
