from __future__ import annotations

import base64
import json
import logging

import pytest

from parts.loopback import chat_answer, error, json_answer, text_answer, throttle
from steelyard.errors import SuiteError, TargetFailure, UsageError
from steelyard.suite.case import Attachment, Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PATH = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture
def chat(server):
    """Settings of a chat target on the loopback server, with more on top."""

    def settings(**more):
        return {"base_url": server.base_url + "/v1", "model": "m-1", **more}

    return settings


async def test_a_completion_gives_text_tokens_and_model(bench, server, chat):
    server.on(PATH, chat_answer("Hello", tokens=(120, 30)))
    reply = await bench.ask("chat", chat(), Case("c", input="Hi?"))
    assert (reply.text, reply.status, reply.tokens_in, reply.tokens_out) == ("Hello", 200, 120, 30)
    assert (reply.model, reply.cost) == ("loopback-1", None)
    assert server.requests[0].json == {"messages": [{"role": "user", "content": "Hi?"}], "model": "m-1"}


async def test_the_price_per_million_tokens_gives_the_cost(bench, server, chat):
    server.on(PATH, chat_answer("x", tokens=(1000, 200)), chat_answer("x", tokens=None))
    priced = chat(price={"input": 2.5, "output": 10})
    # 1000 x 2.5 / 1e6 + 200 x 10 / 1e6 = 0.0025 + 0.002
    assert (await bench.ask("chat", priced)).cost == pytest.approx(0.0045)
    uncounted = await bench.ask("chat", priced)
    assert (uncounted.cost, uncounted.tokens_in) == (None, None)


async def test_prompts_come_from_files_and_inline_templates(bench, server, chat):
    (bench.folder / "prompts").mkdir()
    (bench.folder / "prompts" / "system.md").write_text("You are {{ variant.tone }}.", encoding="utf-8")
    server.on(PATH, chat_answer("x"))
    settings = chat(system={"file": "prompts/system.md"}, user="Name {{ input.text }} ({{ repeat }})")
    await bench.ask("chat", settings, variant=Variant("kind", {"tone": "kind"}), repeat=1)
    assert server.requests[0].json["messages"] == [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": "Name Grüße, 世界 (1)"},
    ]


async def test_an_input_that_is_data_is_asked_as_json(bench, server, chat):
    server.on(PATH, chat_answer("x"))
    await bench.ask("chat", chat())
    assert json.loads(server.requests[0].json["messages"][0]["content"]) == {
        "text": "Grüße, 世界",
        "n": 3,
        "list": [1, 2],
    }
    assert "Grüße" in server.requests[0].json["messages"][0]["content"]


async def test_a_variant_can_be_the_prompt_itself_while_inputs_are_never_templates(bench, server, chat):
    server.on(PATH, chat_answer("x"))
    variant = Variant("long", {"prompt": "Look closely at {{ input }}."})
    await bench.ask("chat", chat(user="{{ variant.prompt }}"), Case("c", input="{{ case.expected }}"), variant)
    assert server.requests[0].json["messages"][0]["content"] == "Look closely at {{ case.expected }}."


async def test_model_temperature_and_seed_may_come_from_the_variant(bench, server, chat):
    server.on(PATH, chat_answer("x"))
    settings = chat(
        model="{{ variant.model }}",
        temperature="{{ variant.t }}",
        seed="{{ variant.seed }}",
        max_tokens=50,
        extra={"top_p": 0.9, "stop": ["{{ case.id }}"]},
    )
    await bench.ask("chat", settings, variant=Variant("v", {"model": "m-2", "t": 0.5, "seed": 40}), repeat=2)
    body = server.requests[0].json
    assert {key: body[key] for key in body if key != "messages"} == {
        "model": "m-2",
        "temperature": 0.5,
        "seed": 42,
        "max_tokens": 50,
        "top_p": 0.9,
        "stop": ["c1"],
    }
    failure = await bench.fail("chat", settings, variant=Variant("v", {"model": "m", "t": "hot", "seed": 1}))
    assert failure.kind == "bad_template"
    assert "temperature" in str(failure)


async def test_repeats_have_seeds_of_their_own(bench, server, chat):
    server.on(PATH, chat_answer("x"))
    for repeat in range(3):
        await bench.ask("chat", chat(seed=7), repeat=repeat)
    assert [one.json["seed"] for one in server.requests] == [7, 8, 9]


async def test_the_server_receives_the_very_bytes_of_an_image(bench, server, chat):
    (bench.folder / "images").mkdir()
    (bench.folder / "images" / "pixel.png").write_bytes(PIXEL)
    server.on(PATH, chat_answer("x"))
    attachments = (Attachment("images/pixel.png", "image/png"), Attachment("https://example.org/a.jpg", "image/jpeg"))
    await bench.ask("chat", chat(image_detail="low"), Case("c", input="What is it?", attachments=attachments))
    text, file, url = server.requests[0].json["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    head, _, data = file["image_url"]["url"].partition(",")
    assert (file["type"], head, file["image_url"]["detail"]) == ("image_url", "data:image/png;base64", "low")
    assert base64.b64decode(data) == PIXEL
    assert url == {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg", "detail": "low"}}


@pytest.mark.parametrize(
    ("data", "declared", "sent"),
    [
        (PIXEL, "image/jpeg", "image/png"),
        (PIXEL, "image/heic", "image/png"),
        (b"\xff\xd8\xff\xe0 and so on", "image/png", "image/jpeg"),
        (b"\xff\xd8\xff\xe0 and so on", "image/jpg", "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/png", "image/webp"),
        (b"GIF89a and so on", "image/png", "image/gif"),
        (b"BM and so on", "image/png", "image/bmp"),
        (b"II*\0 and so on", "image/png", "image/tiff"),
        (b"\0\0\0\x18ftypheic", "image/heic", "image/heic"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml"),
    ],
)
async def test_an_image_is_sent_as_what_its_bytes_are(bench, server, chat, data, declared, sent):
    (bench.folder / "photo.jpg").write_bytes(data)
    server.on(PATH, chat_answer("x"))
    await bench.ask("chat", chat(), Case("c", input="?", attachments=(Attachment("photo.jpg", declared),)))
    _, file = server.requests[0].json["messages"][0]["content"]
    head, _, body = file["image_url"]["url"].partition(",")
    assert (head, base64.b64decode(body)) == (f"data:{sent};base64", data)


async def test_images_can_be_left_out(bench, server, chat):
    server.on(PATH, chat_answer("x"))
    case = Case("c", input="What?", attachments=(Attachment("gone.png", "image/png"),))
    await bench.ask("chat", chat(images=False), case)
    assert server.requests[0].json["messages"][0]["content"] == "What?"


@pytest.mark.parametrize(
    "attachment",
    [
        Attachment("gone.png", "image/png"),
        Attachment("../secret.png", "image/png"),
        Attachment("a.pdf", "application/pdf"),
    ],
)
async def test_an_attachment_that_cannot_be_sent_is_a_failure(bench, server, chat, attachment):
    (bench.folder.parent / "secret.png").write_bytes(PIXEL)
    (bench.folder / "a.pdf").write_bytes(b"%PDF")
    failure = await bench.fail("chat", chat(), Case("c", input="?", attachments=(attachment,)))
    assert (failure.kind, failure.retry) == ("bad_attachment", False)
    assert server.requests == []


async def test_the_response_format_is_sent_as_the_protocol_wants(bench, server, chat):
    bench.schema = SCHEMA
    server.on(PATH, chat_answer("{}"))
    for more in ({"response_format": "schema", "schema_strict": True}, {"response_format": "json"}, {}):
        await bench.ask("chat", chat(**more))
    strict, free, none = (one.json for one in server.requests)
    assert strict["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert free["response_format"] == {"type": "json_object"}
    assert "response_format" not in none


def test_a_schema_format_without_a_schema_is_a_mistake(bench, chat):
    with pytest.raises(SuiteError, match=r"answer: \{schema"):
        bench.open("chat", chat(response_format="schema"))


async def test_a_refused_format_fails_unless_a_fall_back_is_declared(bench, server, chat, caplog):
    bench.schema = SCHEMA
    refusal = error(400, '{"error": "response_format json_schema is not supported"}')
    server.on(PATH, lambda seen: refusal if "json_schema" in seen.body.decode() else chat_answer("{}"))
    failure = await bench.fail("chat", chat(response_format="schema"))
    assert failure.kind == "http_400"
    asked_before = len(server.requests)
    target = bench.open("chat", chat(response_format="schema", when_refused="json"))
    with caplog.at_level(logging.WARNING):
        async with target:
            for n in range(2):
                assert (await target.ask(Request(Case(str(n), input="x"), Variant()))).text == "{}"
    formats = [one.json["response_format"]["type"] for one in server.requests[asked_before:]]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert len([one for one in caplog.records if "refuses response_format" in one.message]) == 1
    assert target.identity()["settings"]["when_refused"] == "json"


async def test_other_errors_do_not_trigger_the_fall_back(bench, server, chat):
    bench.schema = SCHEMA
    server.on(PATH, error(400, "no such model"))
    assert (await bench.fail("chat", chat(response_format="schema", when_refused="json"))).kind == "http_400"
    assert len(server.requests) == 1


async def test_an_answer_cut_off_by_the_limit_is_still_the_answer(bench, server, chat):
    server.on(PATH, chat_answer('{"name": "hal', finish="length"))
    assert (await bench.ask("chat", chat())).text == '{"name": "hal'


async def test_a_filtered_answer_is_a_failure(bench, server, chat):
    server.on(PATH, chat_answer("", finish="content_filter"))
    failure = await bench.fail("chat", chat())
    assert (failure.kind, failure.retry) == ("filtered", False)


@pytest.mark.parametrize(
    ("content", "message", "text"),
    [
        (None, {"refusal": "I cannot help with that."}, "I cannot help with that."),
        (None, {}, ""),
        ("", {}, ""),
        (None, {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        (None, {"tool_calls": "odd"}, ""),
    ],
    ids=["refusal", "null", "empty", "parts", "odd"],
)
async def test_what_stands_in_for_content_is_the_answer(bench, server, chat, content, message, text):
    server.on(PATH, chat_answer(content, message=message))
    assert (await bench.ask("chat", chat())).text == text


def called(*calls):
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]}


@pytest.mark.parametrize(
    ("content", "message", "answer"),
    [
        (None, called(("look", '{"a": 1}')), {"content": "", "tool_calls": [{"name": "look", "arguments": {"a": 1}}]}),
        (
            "Let me see.",
            called(("look", "{}"), ("answer", "not JSON")),
            {
                "content": "Let me see.",
                "tool_calls": [{"name": "look", "arguments": {}}, {"name": "answer", "arguments": "not JSON"}],
            },
        ),
    ],
    ids=["alone", "with-text"],
)
async def test_tool_calls_keep_their_names_and_arguments(bench, server, chat, content, message, answer):
    server.on(PATH, chat_answer(content, message=message))
    assert json.loads((await bench.ask("chat", chat())).text) == answer


@pytest.mark.parametrize(
    ("body", "kind", "retry", "throttled"),
    [
        ({"choices": []}, "no_answer", True, False),
        ({"choices": None}, "no_answer", True, False),
        ({"choices": [{"message": None}]}, "no_answer", True, False),
        ({}, "no_answer", True, False),
        ([], "bad_body", False, False),
        ({"error": {"message": "no such model"}}, "reported_error", False, False),
        ({"error": {"message": "upstream", "code": 502}}, "reported_error", True, False),
        ({"error": {"message": "slow down", "code": 429}}, "reported_error", True, True),
        ({"error": "plain words"}, "reported_error", False, False),
    ],
)
async def test_a_200_without_a_completion_is_a_typed_failure(bench, server, chat, body, kind, retry, throttled):
    server.on(PATH, json_answer(body))
    failure = await bench.fail("chat", chat())
    assert (failure.kind, failure.retry, failure.throttled) == (kind, retry, throttled)


async def test_http_errors_and_unreadable_bodies_are_failures(bench, server, chat):
    server.on(PATH, throttle(4), text_answer("<html>proxy</html>"), error(401, "bad key"))
    throttled = await bench.fail("chat", chat())
    assert (throttled.kind, throttled.throttled, throttled.retry_after) == ("http_429", True, 4.0)
    assert (await bench.fail("chat", chat())).kind == "bad_body"
    assert (await bench.fail("chat", chat())).kind == "http_401"


async def test_the_key_is_sent_and_kept_out_of_everything_else(bench, server, chat):
    bench.env = {"KEY": "sk-very-secret", "ORG": "org-secret"}
    server.on(PATH, lambda seen: chat_answer(seen.headers["authorization"]))
    target = bench.open("chat", chat(token="KEY", headers={"X-Org-Key": {"env": "ORG"}, "X-Title": "steelyard"}))
    ask = Request(Case("c", input="x"), Variant())
    async with target:
        echoed = await target.ask(ask)
    assert echoed.text == "Bearer [redacted]"
    assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    assert server.requests[0].headers["x-org-key"] == "org-secret"
    assert server.requests[0].headers["x-title"] == "steelyard"
    assert "secret" not in json.dumps([target.identity(), target.request_key(ask)])
    assert sorted(target.secrets()) == ["org-secret", "sk-very-secret"]


def test_a_missing_key_is_named_before_any_call(bench, chat):
    with pytest.raises(UsageError, match="MY_KEY"):
        bench.open("chat", chat(token="MY_KEY"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"base_url": "localhost:11434"}, "http://"),
        ({"headers": {"Authorization": "Bearer x"}}, "environment"),
        ({"extra": {"stream": True}}, "stream"),
        ({"temperature": "hot"}, "neither a number nor a template"),
        ({"system": {"file": "gone.md"}}, "gone.md"),
        ({"user": {"file": "../outside.md"}}, "leads out"),
        ({"user": "{{ colour }}"}, "colour"),
        ({"response_format": "json", "when_refused": "json"}, "no less"),
        ({"when_refused": "json"}, "no less"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
def test_settings_that_cannot_work_are_mistakes(bench, chat, more, message):
    with pytest.raises(SuiteError, match=message):
        bench.open("chat", chat(**more))


def test_the_identity_names_model_address_sampling_and_prompts(bench, chat):
    settings = chat(temperature=0.5, seed=1, system="Be brief.", connect_timeout=3)
    identity = bench.open("chat", settings).identity()
    assert (identity["model"], identity["address"]) == ("m-1", settings["base_url"])
    assert identity["settings"] == {"temperature": 0.5, "seed": 1}
    changed = bench.open("chat", {**settings, "system": "Be long."}).identity()
    assert changed["prompts"] != identity["prompts"]


async def test_the_request_key_tells_images_and_repeats_apart(bench, chat):
    (bench.folder / "a.png").write_bytes(PIXEL)
    case = Case("c", input="x", attachments=(Attachment("a.png", "image/png"),))
    target = bench.open("chat", chat(seed=1))
    first, again, second = (target.request_key(Request(case, Variant(), n)) for n in (0, 0, 1))
    assert first == again != second
    (bench.folder / "a.png").write_bytes(PIXEL + b"x")
    assert target.request_key(Request(case, Variant(), 0)) != first


async def test_a_failure_of_the_image_surfaces_in_ask_and_in_the_key(bench, chat):
    case = Case("c", input="x", attachments=(Attachment("gone.png", "image/png"),))
    target = bench.open("chat", chat())
    with pytest.raises(TargetFailure):
        target.request_key(Request(case, Variant()))
    async with target:
        with pytest.raises(TargetFailure, match=r"gone\.png"):
            await target.ask(Request(case, Variant()))
