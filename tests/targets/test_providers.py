"""Models in the protocols of their providers: Anthropic's Messages, Gemini's generateContent, Bedrock's Converse."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest
from yarl import URL

from parts.loopback import error, json_answer, throttle
from parts.providers import KEYS, PATHS, answer, settings
from steelyard import plugins
from steelyard.errors import SuiteError, UsageError
from steelyard.suite.case import Attachment, Case
from steelyard.suite.judge import MODELS
from steelyard.suite.models import Variant
from steelyard.targets.anthropic import closed
from steelyard.targets.aws import Signer
from steelyard.targets.base import Request
from steelyard.targets.chat import ChatTarget

KINDS = ["anthropic", "gemini", "bedrock"]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = base64.b64encode(PIXEL).decode()
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
PRICE = {"input": 3, "output": 15, "cached_input": 0.3, "cache_write": 3.75}


@pytest.fixture(params=KINDS)
def kind(request, bench):
    bench.env = dict(KEYS[request.param])
    return request.param


def test_every_target_that_speaks_a_chat_protocol_is_a_model_and_can_judge():
    targets = {name: plugins.find("targets", name) for name in plugins.built_in("targets")}
    chats = {name for name, target in targets.items() if issubclass(target, ChatTarget)}
    assert chats == {*MODELS} == plugins.built_in("judges") == {"chat", *KINDS}


async def test_the_answer_comes_with_tokens_of_every_kind_and_their_cost(bench, server, kind):
    server.on(PATHS[kind], answer(kind, "a chair"))
    response = await bench.ask(kind, settings(kind, server.base_url, price=PRICE))
    assert (response.text, response.status, response.cut_off) == ("a chair", 200, False)
    assert response.model == (None if kind == "bedrock" else "m-1-2026")
    assert (response.tokens_out, response.tokens_cached) == (7, 30)
    # 12 × 3 + 30 × 0.3 + 8 × 3.75 + 7 × 15 = 180 per million; Gemini writes none: 12 × 3 + 30 × 0.3 + 7 × 15 = 150.
    expected = (42, None, 150e-6) if kind == "gemini" else (50, 8, 180e-6)
    assert (response.tokens_in, response.tokens_written, response.cost) == (*expected[:2], pytest.approx(expected[2]))


SENT = {
    "anthropic": {
        "model": "m-1",
        "max_tokens": 4096,
        "temperature": 0.5,
        "system": "Be brief.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
                ],
            }
        ],
        "output_config": {
            "effort": "low",
            "format": {"type": "json_schema", "schema": SCHEMA | {"additionalProperties": False}},
        },
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "What is this?"},
                    {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
                ],
            }
        ],
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    },
    "bedrock": {
        "system": [{"text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "What is this?"},
                    {"image": {"format": "png", "source": {"bytes": PICTURE}}},
                ],
            }
        ],
        "inferenceConfig": {"temperature": 0.5, "topP": 0.9},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "answer", "inputSchema": {"json": SCHEMA}}}],
            "toolChoice": {"tool": {"name": "answer"}},
        },
    },
}
EXTRA = {
    "anthropic": {"output_config": {"effort": "low"}},
    "gemini": {"generationConfig": {"topP": 0.9}},
    "bedrock": {"inferenceConfig": {"topP": 0.9}},
}


async def test_prompts_picture_schema_and_sampling_are_sent_as_the_protocol_has_them(bench, server, kind):
    bench.schema = SCHEMA
    (bench.folder / "p.png").write_bytes(PIXEL)
    case = Case("c", input="What is this?", attachments=(Attachment("p.png", "image/png"),))
    server.on(PATHS[kind], answer(kind, '{"name": "a"}'))
    given = {"system": "Be brief.", "temperature": 0.5, "response_format": "schema", "extra": EXTRA[kind]}
    await bench.ask(kind, settings(kind, server.base_url, **given), case)
    assert server.requests[0].json == SENT[kind]


async def test_a_picture_at_an_address_is_sent_as_such_where_the_protocol_can(bench, server, kind):
    case = Case("c", input="?", attachments=(Attachment("https://a.example/p.png", "image/png"),))
    server.on(PATHS[kind], answer(kind, "ok"))
    if kind == "bedrock":
        failure = await bench.fail(kind, settings(kind, server.base_url), case)
        assert (failure.kind, server.requests) == ("bad_attachment", [])
        return
    await bench.ask(kind, settings(kind, server.base_url), case)
    assert '"https://a.example/p.png"' in server.requests[0].body.decode()


@pytest.mark.parametrize("kind", ["anthropic", "bedrock"], indirect=True)
async def test_the_answer_of_a_tool_that_stands_for_the_schema_is_its_input(bench, server, kind):
    bench.schema = SCHEMA
    server.on(PATHS[kind], answer(kind, "Here it is:", tool={"name": "chair"}))
    response = await bench.ask(kind, settings(kind, server.base_url, response_format="schema"))
    assert json.loads(response.text) == {"name": "chair"}


async def test_an_answer_at_the_limit_is_one_and_a_filtered_one_is_a_failure(bench, server, kind):
    server.on(PATHS[kind], answer(kind, "half a ch", "limit"), answer(kind, "no", "filter"))
    cut = await bench.ask(kind, settings(kind, server.base_url))
    assert (cut.text, cut.cut_off) == ("half a ch", True)
    failure = await bench.fail(kind, settings(kind, server.base_url))
    assert (failure.kind, failure.retry) == ("filtered", False)


async def test_gemini_may_block_the_prompt(bench, server):
    bench.env = dict(KEYS["gemini"])
    server.on(PATHS["gemini"], json_answer({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))
    failure = await bench.fail("gemini", settings("gemini", server.base_url))
    assert (failure.kind, "PROHIBITED_CONTENT" in str(failure)) == ("filtered", True)


async def test_overloaded_and_throttled_servers_are_given_time_and_refusals_are_final(bench, server, kind):
    server.on(PATHS[kind], throttle(7), throttle(3, status=529), error(401, "bad key"), json_answer({"id": 1}))
    failures = [await bench.fail(kind, settings(kind, server.base_url)) for _ in range(4)]
    assert [(item.kind, item.retry, item.throttled, item.retry_after) for item in failures] == [
        ("http_429", True, True, 7.0),
        ("http_529", True, True, 3.0),
        ("http_401", False, False, None),
        ("no_answer", True, False, None),
    ]


async def test_a_schema_that_a_server_refuses_is_left_out_when_the_suite_says_so(bench, server, kind):
    bench.schema = SCHEMA
    refusal = {"anthropic": "output_config: Extra inputs", "gemini": "JSON mode is off", "bedrock": "no tool use"}
    server.on(PATHS[kind], error(400, refusal[kind]), answer(kind, "free text"))
    given = {"response_format": "schema", "when_refused": "text"}
    assert (await bench.ask(kind, settings(kind, server.base_url, **given))).text == "free text"
    first, second = (item.body.decode() for item in server.requests)
    assert ('"required"' in first, '"required"' in second) == (True, False)


async def test_the_key_is_sent_in_its_header_and_is_in_nothing_else(bench, server, kind):
    headers = {"anthropic": "x-api-key", "gemini": "x-goog-api-key", "bedrock": "authorization"}
    key = next(iter(bench.env.values()))
    server.on(PATHS[kind], lambda seen: answer(kind, seen.headers[headers[kind]]))
    target, ask = bench.open(kind, settings(kind, server.base_url)), Request(Case("c", input="x"), Variant())
    async with target:
        echoed = await target.ask(ask)
    assert server.requests[0].headers[headers[kind]].removeprefix("Bearer ") == key
    assert "[redacted]" in echoed.text
    assert key not in json.dumps([target.identity(), target.request_key(ask), echoed.text])
    assert target.secrets() == [key]
    assert target.identity()["kind"] == kind
    bench.env = {}
    with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY|GEMINI_API_KEY|AWS_ACCESS_KEY_ID"):
        bench.open(kind, settings(kind, server.base_url))


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("anthropic", {"seed": 1}, "seed: the protocol of anthropic has no field"),
        ("anthropic", {"response_format": "json"}, "anthropic knows schema and text"),
        (
            "bedrock",
            {"response_format": "schema", "when_refused": "json"},
            "when_refused: bedrock knows schema and text",
        ),
        ("gemini", {"token": "K", "headers": {"X-Goog-Api-Key": {"env": "L"}}}, "two keys for one lock"),
        ("anthropic", {"extra": {"messages": []}}, "messages cannot be an extra field"),
        ("gemini", {"image_detail": "low"}, "image_detail"),
        ("bedrock", {"stream": True}, "stream: the protocol of bedrock has no field"),
        ("bedrock", {"region": None}, "region"),
    ],
    indirect=["kind"],
)
def test_settings_that_a_protocol_cannot_send_are_mistakes(bench, kind, more, message):
    with pytest.raises(SuiteError, match=message):
        bench.open(kind, settings(kind, "http://127.0.0.1:1") | more)


def test_the_published_addresses_are_the_defaults(bench, kind):
    given = {"model": "a/b:0"} | ({"region": "eu-west-1"} if kind == "bedrock" else {})
    expected = {
        "anthropic": "https://api.anthropic.com/v1/messages",
        "gemini": "https://generativelanguage.googleapis.com/v1beta/a/b%3A0:generateContent",
        "bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a%2Fb%3A0/converse",
    }
    key = bench.open(kind, given).request_key(Request(Case("c", input="x"), Variant()))
    assert key["url"] == expected[kind]


def test_a_schema_for_anthropic_has_closed_objects_and_its_limits_in_words():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1, "description": "How many."}},
        "$defs": {"a": {"oneOf": [{"type": "object"}, {"type": "null"}]}},
        "additionalProperties": True,
    }
    assert closed(schema) == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": 'How many. {"minimum": 1}'}},
        "$defs": {"a": {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "null"}]}},
        "additionalProperties": False,
    }


# AWS Signature Version 4: the test suite that AWS publishes (aws-sig-v4-test-suite, also in botocore's tests), by name.

_TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwth"
    "Ax7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAk"
    "iY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("name", "method", "path", "headers", "data", "token", "signature"),
    [
        ("get-vanilla", "GET", "/", {}, b"", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("get-utf8", "GET", "/ሴ", {}, b"", None, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        (
            *("get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", {}, b"", None),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            *("post-header-key-sort", "POST", "/", {"My-Header1": "value1"}, b"", None),
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            *("post-x-www-form-urlencoded", "POST", "/", FORM, b"Param1=value1", None),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            *("post-sts-header-before", "POST", "/", {}, b"", _TOKEN),
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
        ),
    ],
)
def test_signatures_are_those_of_the_published_vectors(name, method, path, headers, data, token, signature):
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    signer = Signer("us-east-1", "AKIDEXAMPLE", secret, token, service="service")
    url = URL(f"https://example.amazonaws.com{path}", encoded=True)
    made = signer.headers(method, url, headers, data, datetime(2015, 8, 30, 12, 36, tzinfo=UTC))
    assert made["Authorization"].endswith(f", Signature={signature}"), name
    assert secret not in repr(signer)


async def test_bedrock_requests_are_signed_where_there_is_no_key(bench, server):
    bench.env = {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "very-secret-key",
        "AWS_SESSION_TOKEN": "session-secret",
    }
    server.on("*", answer("bedrock", "ok"))
    target = bench.open("bedrock", settings("bedrock", server.base_url, model="eu.m:0"))
    async with target:
        await target.ask(Request(Case("c", input="x"), Variant()))
    seen = server.requests[0]
    # Signed again from what arrived: the server's own reading of path, headers and body.
    when = datetime.strptime(seen.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    again = Signer("us-east-1", "AKIDEXAMPLE", "very-secret-key", "session-secret")
    url = URL(server.base_url + seen.path, encoded=True)
    made = again.headers("POST", url, {"content-type": seen.headers["content-type"]}, seen.body, when)
    assert seen.headers["authorization"] == made["Authorization"]
    assert (seen.path, seen.headers["x-amz-security-token"]) == ("/model/eu.m%3A0/converse", "session-secret")
    assert target.secrets() == ["AKIDEXAMPLE", "very-secret-key", "session-secret"]


async def test_tool_calls_keep_their_names_and_arguments(bench, server, kind):
    server.on(PATHS[kind], answer(kind, "Let me see.", tool={"id": 7}, name="look_up"))
    response = await bench.ask(kind, settings(kind, server.base_url))
    calls = [{"name": "look_up", "arguments": {"id": 7}}]
    assert json.loads(response.text) == {"content": "Let me see.", "tool_calls": calls}
