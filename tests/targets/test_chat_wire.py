"""A judge's connection: what its settings refuse, and which response format a server is asked for in the end."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from pydantic import ValidationError

from parts.judge_server import cut_off, formats_of, judge_server
from parts.loopback import error
from parts.looped import for_every
from steelyard.errors import TargetFailure, UsageError
from steelyard.targets.base import TargetContext
from steelyard.targets.chat_wire import ChatWire
from steelyard.targets.model_address import ChatConnection

SCHEMA = {"type": "object", "required": ["tone"]}
BODY = {"model": "m", "messages": [{"role": "user", "content": "well?"}]}


def connection(server, **more):
    return ChatConnection(base_url=server.base_url, model="m", **more)


async def complete(settings, tmp_path, *, times=1, env=None):
    async with ChatWire(settings, TargetContext(tmp_path, env=env or {}), "judge j") as wire:
        replies = [await wire.complete(BODY, SCHEMA) for _ in range(times)]
    return replies, wire


@for_every(
    ("given", "message"),
    [
        ({"model": "m"}, "base_url"),
        ({"base_url": "http://a/v1"}, "model"),
        ({"base_url": "localhost:1", "model": "m"}, "http://"),
        ({"base_url": "http://me:pw@a/v1", "model": "m"}, "user or password"),
        ({"base_url": "http://a/v1", "model": "m", "headers": {"X-Api-Key": "k"}}, "environment"),
        ({"base_url": "http://a/v1", "model": "m", "extra": {"stream": True}}, "stream"),
        ({"base_url": "http://a/v1", "model": "m", "token": "T", "headers": {"authorization": {"env": "U"}}}, "lock"),
        ({"base_url": "http://a/v1", "model": "m", "temperature": "{{ x }}"}, "temperature"),
        ({"base_url": "http://a/v1", "model": "m", "timeout": 0}, "timeout"),
        ({"base_url": "http://a/v1", "model": "m", "images": True}, "images"),
    ],
)
def test_a_connection_that_cannot_work_or_shows_a_secret_is_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        ChatConnection.model_validate(given)


@pytest.mark.parametrize(
    ("first", "least", "formats"),
    [
        ("schema", "text", ("schema", "json", "text")),
        ("schema", "json", ("schema", "json")),
        ("schema", "fail", ("schema",)),
        ("json", "text", ("json", "text")),
        ("json", "json", ("json",)),
        ("text", "text", ("text",)),
        ("text", "json", ("text",)),
    ],
)
def test_formats_go_down_step_by_step_as_far_as_is_allowed(first, least, formats):
    made = ChatConnection(base_url="http://a/v1", model="m", response_format=first, when_refused=least)
    assert made.formats == formats


@pytest.mark.parametrize(
    ("refuses", "asked", "used"),
    [
        ((), ["schema", "schema"], "schema"),
        (("schema",), ["schema", "json", "json"], "json"),
        (("schema", "json"), ["schema", "json", "text", "text"], "text"),
    ],
)
async def test_a_refused_format_is_asked_for_only_once(tmp_path, caplog, refuses, asked, used):
    with judge_server({"tone": 3}, refuses=refuses) as server, caplog.at_level(logging.WARNING):
        replies, wire = await complete(connection(server), tmp_path, times=2)
    assert [json.loads(reply.text) for reply in replies] == [{"tone": 3}, {"tone": 3}]
    assert formats_of(server.requests) == asked
    assert wire.format == used
    told = [one.getMessage() for one in caplog.records if "refuses response_format" in one.getMessage()]
    assert len(told) == len(refuses)
    assert all(message.startswith("judge j: ") for message in told)
    assert server.requests[0]["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA}


async def test_calls_under_way_together_step_down_only_once_a_format(tmp_path, caplog):
    with judge_server({"tone": 3}, refuses=("schema", "json"), delay=0.02) as server:
        settings = connection(server)
        async with ChatWire(settings, TargetContext(tmp_path), "judge j") as wire:
            await asyncio.gather(*(wire.complete(BODY, SCHEMA) for _ in range(4)))
    assert wire.format == "text"
    assert len([one for one in caplog.records if "refuses response_format" in one.getMessage()]) == 2
    assert formats_of(server.requests).count("text") == 4


async def test_a_server_may_be_held_to_a_format(tmp_path):
    with judge_server({"tone": 3}, refuses=("schema", "json")) as server:
        for least, asked in (("fail", ["schema"]), ("json", ["schema", "json"])):
            before = len(server.requests)
            with pytest.raises(TargetFailure) as caught:
                await complete(connection(server, when_refused=least), tmp_path)
            assert caught.value.status == 400
            assert formats_of(server.requests[before:]) == asked


async def test_an_error_about_something_else_changes_no_format(tmp_path):
    with judge_server(error(400, "no such model")) as server:
        with pytest.raises(TargetFailure, match="no such model"):
            await complete(connection(server), tmp_path)
        assert formats_of(server.requests) == ["schema"]


async def test_the_key_is_in_the_header_and_nowhere_else(tmp_path):
    with judge_server(lambda _request: "your key is sk-very-secret") as server:
        settings = connection(server, token="KEY", headers={"X-Org": {"env": "ORG", "prefix": "Org "}})
        env = {"KEY": "sk-very-secret", "ORG": "org-secret"}
        (reply,), wire = await complete(settings, tmp_path, env=env)
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert server.headers[0]["x-org"] == "Org org-secret"
    assert "secret" not in json.dumps([server.requests, settings.identity()])
    assert reply.text == "your key is [redacted]"
    assert sorted(wire.secrets()) == ["org-secret", "sk-very-secret"]


def test_a_missing_key_names_the_judge_and_the_variable(tmp_path):
    settings = ChatConnection(base_url="http://a/v1", model="m", token="MY_KEY")
    with pytest.raises(UsageError, match=r"judge j.*MY_KEY"):
        ChatWire(settings, TargetContext(tmp_path), "judge j")


async def test_cost_comes_from_the_price_and_the_tokens_reported(tmp_path):
    with judge_server({"tone": 3}, tokens=(1000, 200)) as server:
        (reply,), _ = await complete(connection(server, price={"input": 2, "output": 10}), tmp_path)
    # (1000 * 2 + 200 * 10) / 1,000,000 = 4000 / 1,000,000
    assert (reply.tokens_in, reply.tokens_out, reply.cost) == (1000, 200, 0.004)
    with judge_server({"tone": 3}, tokens=None) as server:
        (reply,), _ = await complete(connection(server, price={"input": 2, "output": 10}), tmp_path)
    assert (reply.tokens_in, reply.cost) == (None, None)


async def test_an_answer_cut_off_by_the_token_limit_is_given_as_far_as_it_goes(tmp_path):
    with judge_server(cut_off('{"tone": ')) as server:
        (reply,), _ = await complete(connection(server), tmp_path)
    assert reply.text == '{"tone": '


def test_the_identity_holds_what_can_change_an_answer_and_nothing_else():
    plain = {"base_url": "http://a/v1/", "model": "m"}
    harmless = {"token": "T", "timeout": 3, "price": {"input": 1, "output": 1}, "max_bytes": 5, "connect_timeout": 1}
    first = ChatConnection.model_validate(plain).identity()
    assert first == {"kind": "chat", "model": "m", "address": "http://a/v1", "settings": {}}
    assert ChatConnection.model_validate(plain | harmless).identity() == first
    telling = {"temperature": 0, "seed": 1, "max_tokens": 9, "response_format": "json", "extra": {"top_p": 0.5}}
    assert ChatConnection.model_validate(plain | telling).identity()["settings"] == telling
