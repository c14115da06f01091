from __future__ import annotations

import asyncio
import json

import pytest

from parts.loopback import (
    Behaviour,
    Loopback,
    cut_before_headers,
    cut_mid_body,
    deep_json,
    endless,
    error,
    garbage,
    gzip_bomb,
    gzipped,
    invalid_utf8,
    json_answer,
    redirect,
    refusing,
    slow,
    text_answer,
    throttle,
    throttle_until,
    wrong_content_type,
)
from steelyard.errors import SuiteError, TargetFailure, UsageError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request

pytestmark = pytest.mark.boundary("aiohappyeyeballs", "httptools", "pydantic", "yarl")

OK = json_answer({"result": {"items": [{"name": "first"}, {"name": "second"}], "text": "hello"}, "n": 4})


async def test_the_whole_body_is_the_answer_when_no_path_is_given(bench, server):
    server.on("/", text_answer("as it is \n"))
    reply = await bench.ask("http", server.url("/"))
    assert (reply.text, reply.status) == ("as it is \n", 200)
    assert server.requests[0].method == "GET"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("result.text", "hello"),
        ("$.result.text", "hello"),
        ("$.result.items[1].name", "second"),
        ("result.items.0.name", "first"),
        ("$.result.items[*].name", '["first", "second"]'),
        ("$['result']['text']", "hello"),
        ("$.n", "4"),
        ("$", '{"result": {"items": [{"name": "first"}, {"name": "second"}], "text": "hello"}, "n": 4}'),
    ],
)
async def test_a_path_takes_the_answer_out_of_the_body(bench, server, path, text):
    server.on("/", OK)
    assert (await bench.ask("http", {"url": server.url("/"), "answer": path})).text == text


@pytest.mark.parametrize("path", ["$..name", "$.a[?(@.b)]", "$.a[-1]", "a..b"])
def test_a_path_that_is_not_understood_is_a_mistake_before_any_call(bench, path):
    with pytest.raises(SuiteError, match=r"target\.http\.answer"):
        bench.open("http", {"url": "http://localhost/", "answer": path})


async def test_a_json_body_is_a_tree_of_templates_that_keeps_types(bench, server):
    server.on("/", OK)
    body = {
        "id": "{{ case.id }}",
        "n": "{{ input.n }}",
        "all": "{{ input }}",
        "line": "{{ input.n }} of {{ input.list | length }}",
        "nested": [{"t": "{{ variant.temperature }}"}, True, None, 1.5, "plain"],
        "tags": "{{ case.tags }}",
        "repeat": "{{ repeat }}",
        "sum": "{{ input.n + 1 }}",
    }
    variant = Variant("t", {"temperature": 0.5})
    await bench.ask("http", {"url": server.url("/"), "json": body}, variant=variant, repeat=2)
    seen = server.requests[0]
    assert seen.method == "POST"
    assert seen.headers["content-type"] == "application/json"
    assert seen.json == {
        "id": "c1",
        "n": 3,
        "all": {"text": "Grüße, 世界", "n": 3, "list": [1, 2]},
        "line": "3 of 2",
        "nested": [{"t": 0.5}, True, None, 1.5, "plain"],
        "tags": ["a", "b"],
        "repeat": 2,
        "sum": 4,
    }


async def test_a_json_body_may_be_a_path_into_the_case(bench, server):
    server.on("/", OK)
    await bench.ask("http", {"url": server.url("/"), "json": "input.list"})
    assert server.requests[0].json == [1, 2]


async def test_a_form_a_text_and_a_query_are_sent_encoded(bench, server):
    server.on("/", OK)
    await bench.ask("http", {"url": server.url("/"), "form": {"q": "{{ input.text }}", "n": "{{ input.n }}"}})
    await bench.ask("http", {"url": server.url("/"), "text": "<{{ input.text }}>", "method": "put"})
    await bench.ask("http", {"url": server.url("/?a=1"), "query": {"q": "{{ input.text }} &"}})
    form, text, query = server.requests
    assert form.body == b"q=Gr%C3%BC%C3%9Fe%2C+%E4%B8%96%E7%95%8C&n=3"
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    assert (text.method, text.body.decode()) == ("PUT", "<Grüße, 世界>")
    assert query.query == {"a": "1", "q": "Grüße, 世界 &"}


async def test_the_url_is_a_template_after_a_base_that_can_be_moved(bench, server):
    server.on("/v1/c1/3", OK)
    settings = {"base_url": server.base_url + "/v1/", "url": "/{{ case.id }}/{{ input.n }}"}
    assert (await bench.ask("http", settings)).status == 200


def test_an_address_without_a_scheme_is_a_mistake(bench):
    with pytest.raises(SuiteError, match="base_url"):
        bench.open("http", "/only/a/path")


async def test_what_a_template_lacks_is_a_failure_that_names_the_case(bench, server):
    failure = await bench.fail("http", {"url": server.url("/"), "json": {"x": "{{ input.colour }}"}})
    assert (failure.kind, failure.retry) == ("bad_template", False)
    assert "colour" in str(failure)
    assert "c1" in str(failure)
    failure = await bench.fail("http", {"url": server.url("/"), "json": "input.colour"})
    assert failure.kind == "bad_template"
    assert server.requests == []


async def test_429_asks_for_less_and_says_how_long_to_wait(bench, server):
    server.on("/", throttle(2), throttle_until(30), throttle(), throttle("soon"), throttle(1.5, status=503))
    url = server.url("/")
    failures = [await bench.fail("http", url) for _ in range(5)]
    assert [one.kind for one in failures] == ["http_429"] * 4 + ["http_503"]
    assert all(one.throttled and one.retry for one in failures)
    assert failures[0].retry_after == 2.0
    assert failures[1].retry_after == pytest.approx(30, abs=2)
    assert [one.retry_after for one in failures[2:]] == [None, None, 1.5]


async def test_5xx_may_be_asked_again_and_then_answers(bench, server):
    server.on("/", error(500), error(502), OK)
    async with bench.open("http", server.url("/")) as target:
        ask = Request(Case("c"), Variant())
        for status in (500, 502):
            with pytest.raises(TargetFailure) as caught:
                await target.ask(ask)
            assert (caught.value.kind, caught.value.retry, caught.value.throttled) == (f"http_{status}", True, False)
        assert (await target.ask(ask)).status == 200


async def test_4xx_is_final_and_shows_the_beginning_of_the_body(bench, server):
    server.on("/", error(404, "model not found " + "x" * 500))
    failure = await bench.fail("http", server.url("/"))
    assert (failure.kind, failure.retry, failure.status) == ("http_404", False, 404)
    assert "model not found" in str(failure)
    assert len(str(failure)) < 230


async def test_expected_errors_are_answers_with_their_status(bench, server):
    server.on("/", error(422, "too long"), error(404, "gone"), error(409, "clash"))
    settings = {"url": server.url("/"), "answer": "a", "expect_errors": {"status": [422, "409"]}}
    reply = await bench.ask("http", settings)
    assert (reply.text, reply.status) == ("too long", 422)
    assert (await bench.fail("http", settings)).kind == "http_404"
    assert (await bench.ask("http", settings)).status == 409


async def test_expected_errors_can_be_for_the_cases_that_expect_one(bench, server):
    server.on("/", error(400, "bad"))
    settings = {"url": server.url("/"), "expect_errors": {"status": "4xx", "when": "expected.error"}}
    wants_error, wants_answer = Case("e", expected={"error": 400}), Case("a", expected={"name": "x"})
    assert (await bench.ask("http", settings, wants_error)).status == 400
    assert (await bench.fail("http", settings, wants_answer)).kind == "http_400"


@pytest.mark.parametrize("status", [200, "2xx", "44", 700, "often"])
def test_only_error_statuses_can_be_expected(bench, status):
    with pytest.raises(SuiteError, match="not an error status"):
        bench.open("http", {"url": "http://localhost/", "expect_errors": {"status": [status]}})


async def test_a_200_that_reports_errors_is_a_failure(bench, server):
    answers = {"errors": ["model gone"], "result": []}, {"errors": [], "result": "r"}, {"result": "r"}
    server.on("/", *map(json_answer, answers))
    settings = {"url": server.url("/"), "answer": "result", "failed_if": "errors"}
    failure = await bench.fail("http", settings)
    assert (failure.kind, failure.retry) == ("reported_error", False)
    assert "model gone" in str(failure)
    assert (await bench.ask("http", settings)).text == "r"
    assert (await bench.ask("http", settings)).text == "r"


async def test_an_error_marker_in_the_body_is_a_failure(bench, server):
    server.on("/", text_answer("Traceback (most recent call last): ..."), text_answer("fine"))
    settings = {"url": server.url("/"), "error_markers": ["Traceback (most recent"]}
    assert (await bench.fail("http", settings)).kind == "reported_error"
    assert (await bench.ask("http", settings)).text == "fine"


async def test_code_and_message_of_a_reported_error_stand_before_an_error_marker(bench, server):
    error = {"code": "MODEL_FAILURE", "message": "404 model 'qwen:1b' not found"}
    # A long body: the marker is far behind what an excerpt would show.
    server.on("/", json_answer({"observations": [], "padding": "x" * 2000, "errors": [error]}))
    settings = {"url": server.url("/"), "error_markers": ['"MODEL_FAILURE"']}
    named = await bench.fail("http", settings | {"failed_if": "errors[]"})
    assert str(named) == "MODEL_FAILURE: 404 model 'qwen:1b' not found (at errors[] of the body)"
    marked = await bench.fail("http", settings)
    assert "404 model 'qwen:1b' not found" in str(marked)
    # An error page is no JSON, and its marker tells more than that.
    server.on("/", text_answer("<html>upstream is down: MODEL_FAILURE</html>"))
    page = await bench.fail(
        "http", {"url": server.url("/"), "failed_if": "errors[]", "error_markers": ["MODEL_FAILURE"]}
    )
    assert page.kind == "reported_error"
    assert "upstream is down" in str(page)


async def test_the_error_of_a_long_refusal_is_reported_whole(bench, server):
    body = {"trace": "x" * 500, "error": {"code": "MODEL_NOT_FOUND", "message": "no model qwen:1b"}}
    server.on("/", json_answer(body, status=404))
    assert str(await bench.fail("http", {"url": server.url("/")})) == "answered 404: MODEL_NOT_FOUND: no model qwen:1b"


async def test_a_body_without_the_answer_is_a_failure_not_an_empty_answer(bench, server):
    server.on("/", json_answer({"other": 1}), text_answer("<html>"), json_answer({"a": ""}), json_answer({"a": None}))
    settings = {"url": server.url("/"), "answer": "a"}
    assert (await bench.fail("http", settings)).kind == "no_answer"
    assert (await bench.fail("http", settings)).kind == "bad_body"
    assert (await bench.ask("http", settings)).text == ""
    assert (await bench.ask("http", settings)).text == "null"


async def test_tokens_cost_and_model_are_read_where_the_suite_says(bench, server):
    server.on("/", json_answer({"a": "x", "u": {"in": 5, "out": 7, "usd": 0.25}, "m": "m-1"}))
    usage = {"tokens_in": "u.in", "tokens_out": "$.u.out", "cost": "u.usd", "model": "m"}
    reply = await bench.ask("http", {"url": server.url("/"), "answer": "a", "usage": usage})
    assert (reply.tokens_in, reply.tokens_out, reply.cost, reply.model) == (5, 7, 0.25, "m-1")


@pytest.mark.parametrize(
    ("behaviour", "kind", "retry"),
    [
        (cut_before_headers(), "cut", True),
        (cut_mid_body(), "cut", True),
        (garbage(), "garbage", True),
        (invalid_utf8(), "bad_encoding", False),
        (text_answer("x", content_type="text/plain; charset=klingon"), "bad_encoding", False),
        (Behaviour(body=b"not gzip", headers={"Content-Encoding": "gzip"}), "bad_encoding", True),
        (endless(), "too_large", False),
        (gzip_bomb(), "too_large", False),
        (Behaviour(body=b"x" * 20_000), "too_large", False),
    ],
    ids=["cut-0", "cut-mid", "garbage", "utf8", "charset", "not-gzip", "endless", "bomb", "large"],
)
async def test_broken_answers_are_typed_failures(bench, server, behaviour, kind, retry):
    server.on("/", behaviour)
    failure = await bench.fail("http", {"url": server.url("/"), "max_bytes": 10_000})
    assert (failure.kind, failure.retry) == (kind, retry)


async def test_json_too_deep_to_read_is_a_failure(bench, server):
    server.on("/", deep_json())
    assert (await bench.fail("http", {"url": server.url("/"), "answer": "a"})).kind == "bad_body"


async def test_a_closed_port_and_an_unknown_name_are_separated(bench):
    with refusing() as url:
        assert (await bench.fail("http", url)).kind == "refused"
    assert (await bench.fail("http", "http://nothing.invalid/")).kind == "dns"


async def test_an_untrusted_certificate_is_refused(bench):
    with Loopback(tls=True) as server:
        server.on("/", OK)
        failure = await bench.fail("http", server.url("/"))
    assert (failure.kind, failure.retry) == ("tls", False)
    assert "certificate" in str(failure)
    assert server.requests == []


async def test_a_host_that_never_completes_the_connection_is_given_up(bench, server):
    silent = server.url("/").replace("http://", "https://")  # a plain server waits for more of the TLS greeting
    failure = await bench.fail("http", {"url": silent, "connect_timeout": 0.2})
    assert (failure.kind, failure.retry) == ("connect_timeout", True)


async def test_gzip_bom_charset_and_wrong_content_type_are_read(bench, server):
    latin = Behaviour(body="é".encode("latin-1"), headers={"Content-Type": "text/plain; charset=iso-8859-1"})
    bom = Behaviour(body=b'\xef\xbb\xbf{"a": "b"}')
    server.on("/", gzipped({"a": "z"}), wrong_content_type({"a": "w"}), bom)
    server.on("/latin", latin)
    settings = {"url": server.url("/"), "answer": "a"}
    assert [(await bench.ask("http", settings)).text for _ in range(3)] == ["z", "w", "b"]
    assert (await bench.ask("http", server.url("/latin"))).text == "é"


async def test_a_redirect_is_followed_on_the_same_host_only(bench, server):
    server.on("/old", redirect("/new", status=307)).on("/new", OK)
    server.on("/see", redirect("/new", status=303)).on("/round", redirect("/round"))
    with refusing() as elsewhere:
        server.on("/away", redirect(elsewhere + "/new"))
        bench.env["T"] = "secret-token"
        failure = await bench.fail("http", {"url": server.url("/away"), "json": "input", "token": "T"})
    assert (failure.kind, failure.retry) == ("redirect", False)
    assert "another host" in str(failure)
    await bench.ask("http", {"url": server.url("/old"), "json": "input"})
    assert [(one.method, bool(one.body)) for one in server.seen("/new")] == [("POST", True)]
    await bench.ask("http", {"url": server.url("/see"), "json": "input"})
    assert [(one.method, bool(one.body)) for one in server.seen("/new")][1:] == [("GET", False)]
    assert (await bench.fail("http", server.url("/round"))).kind == "redirect"


async def test_cookies_are_not_kept_and_proxies_of_the_machine_not_used(bench, server, monkeypatch):
    with refusing() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        server.on("/", json_answer({}, headers={"Set-Cookie": "session=1; Path=/"}))
        async with bench.open("http", server.url("/")) as target:
            for _ in range(2):
                await target.ask(Request(Case("c"), Variant()))
    assert [one.headers.get("cookie") for one in server.requests] == [None, None]


async def test_connections_are_shared_and_bounded(bench, server):
    server.on("/", slow(0.02))
    bench.max_connections = 4
    async with bench.open("http", server.url("/")) as target:
        await asyncio.gather(*(target.ask(Request(Case(str(n)), Variant())) for n in range(40)))
    assert len(server.requests) == 40
    assert server.most_in_flight == 4
    assert server.connections == 4


async def test_waiting_for_a_connection_of_our_own_is_no_part_of_the_latency(bench, server):
    server.on("/", slow(0.1))
    bench.max_connections = 1
    async with bench.open("http", server.url("/")) as target:
        replies = await asyncio.gather(*(target.ask(Request(Case(str(n)), Variant())) for n in range(5)))
    # One after another: the last had waited for 0.4 s.
    assert all(0.1 <= reply.latency < 0.3 for reply in replies)
    assert all(reply.first_byte <= reply.latency for reply in replies)


async def test_a_cancelled_call_lets_go_of_its_connection(bench, server):
    server.on("/", slow(30)).on("/fast", OK)
    bench.max_connections = 1
    async with bench.open("http", {"url": server.base_url + "/{{ input }}"}) as target:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await target.ask(Request(Case("a", input=""), Variant()))
        async with asyncio.timeout(2):
            assert (await target.ask(Request(Case("b", input="fast"), Variant()))).status == 200


async def test_secrets_come_from_the_environment_and_show_up_nowhere(bench, server):
    server.on("/", lambda seen: json_answer(seen.headers))
    bench.env |= {"TOKEN": "s3cret-token", "KEY": "s3cret-key", "Q": "s3cret-query"}
    settings = {
        "url": server.url("/"),
        "token": "TOKEN",
        "headers": {"X-Api-Key": {"env": "KEY", "prefix": "Key "}, "X-Case": "{{ case.id }}"},
        "query": {"key": {"env": "Q"}},
    }
    target = bench.open("http", settings)
    async with target:
        ask = Request(Case("c9"), Variant())
        reply = await target.ask(ask)
    seen = server.requests[0]
    assert seen.headers["authorization"] == "Bearer s3cret-token"
    assert seen.headers["x-api-key"] == "Key s3cret-key"
    assert seen.headers["x-case"] == "c9"
    assert seen.query == {"key": "s3cret-query"}
    assert "s3cret" not in json.dumps([target.identity(), target.request_key(ask)]) + repr(target)
    assert sorted(target.secrets()) == ["s3cret-key", "s3cret-query", "s3cret-token"]
    assert "s3cret" not in reply.text  # the server echoed all headers
    assert reply.text.count("[redacted]") == 2


@pytest.mark.parametrize("env", [{}, {"TOKEN": ""}, {"TOKEN": " \n"}])
def test_a_missing_variable_is_named_before_any_call(bench, env):
    bench.env = env
    with pytest.raises(UsageError, match="TOKEN"):
        bench.open("http", {"url": "http://localhost/", "token": "TOKEN"})
    with pytest.raises(UsageError, match="TOKEN"):
        bench.open("http", {"url": "http://localhost/", "headers": {"X-Api-Key": {"env": "TOKEN"}}})


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "http://localhost/", "headers": {"Authorization": "Bearer abc"}},
        {"url": "http://localhost/", "headers": {"X-Api-Key": "abc"}},
        {"url": "http://localhost/", "headers": {"cookie": "a=b"}},
        {"url": "http://localhost/", "headers": {"X-Auth-Token": "abc"}},
        {"url": "http://localhost/", "query": {"access_token": "abc"}},
        {"url": "http://localhost/?api_key=abc"},
        {"url": "http://user:abc@localhost/"},
        {"url": "/x", "base_url": "http://user:abc@localhost/"},
    ],
)
def test_a_secret_written_in_the_suite_is_a_mistake(bench, settings):
    with pytest.raises(SuiteError, match="environment") as caught:
        bench.open("http", settings)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "http://localhost/", "json": "input", "text": "x"}, "together"),
        ({"url": "http://localhost/", "json": "input", "method": "GET"}, "GET has no body"),
        ({"method": "GET"}, "url is missing"),
        ({"url": "http://localhost/", "methd": "GET"}, "methd"),
        ({"url": "http://localhost/", "token": "T", "headers": {"authorization": {"env": "T"}}}, "keep one"),
        ({"url": "http://localhost/", "base_url": "http://other/"}, "only the path"),
        ({"url": "http://localhost/", "error_markers": [""]}, "every body"),
        ({"url": "http://localhost/", "json": {"a": "{{ x"}}, "json.a"),
        ({"url": "http://localhost/", "json": {"a": "{{ colour }}"}}, "colour"),
    ],
)
def test_settings_that_cannot_work_are_mistakes(bench, settings, message):
    with pytest.raises(SuiteError, match=message):
        bench.open("http", settings)


async def test_a_header_with_a_line_break_from_a_case_is_a_failure_not_an_injection(bench, server):
    settings = {"url": server.url("/"), "headers": {"X-Text": "{{ input }}"}}
    failure = await bench.fail("http", settings, Case("c", input="a\r\nX-Evil: 1"))
    assert (failure.kind, failure.retry) == ("bad_request", False)
    assert server.requests == []


def test_the_identity_changes_with_what_can_change_the_answer(bench):
    def identity(**more):
        return bench.open("http", {"url": "http://localhost/", "json": "input", **more}).identity()

    assert identity() == identity(connect_timeout=3, max_bytes=77)
    assert identity() != identity(json="input.text")
    assert identity() != identity(answer="a")
    assert identity(url="http://localhost/b")["address"] == "http://localhost/b"


def test_the_request_key_differs_by_what_is_sent(bench, make_ask):
    target = bench.open("http", {"url": "http://localhost/", "json": {"q": "{{ input }}", "t": "{{ variant.t }}"}})
    one = target.request_key(make_ask(Case("a", input="x"), t=0))
    assert one == target.request_key(make_ask(Case("b", input="x"), t=0))
    assert one != target.request_key(make_ask(Case("a", input="y"), t=0))
    assert one != target.request_key(make_ask(Case("a", input="x"), t=1))
    with pytest.raises(TargetFailure):
        target.request_key(make_ask(Case("a", input="x")))


async def test_a_header_of_the_suite_takes_the_place_of_ours(bench, server):
    server.on("/", OK)
    headers = {"content-type": "application/vnd.x+json", "user-agent": "me"}
    await bench.ask("http", {"url": server.url("/"), "json": "input", "headers": headers})
    raw = server.requests[0].header_lines
    assert [value for name, value in raw if name.lower() == "content-type"] == ["application/vnd.x+json"]
    assert [value for name, value in raw if name.lower() == "user-agent"] == ["me"]


async def test_a_lone_path_is_read_as_data_and_never_as_a_method(bench, server):
    server.on("/", OK)
    body = {"items": "{{ input.items }}", "second": "{{ input.items.1 }}", "why": "{{ case.why }}", "r": "{{ repeat }}"}
    await bench.ask("http", {"url": server.url("/"), "json": body}, Case("c", input={"items": [1, "b"]}, why="w"))
    assert server.requests[0].json == {"items": [1, "b"], "second": "b", "why": "w", "r": 0}


def test_a_key_written_where_the_name_of_its_variable_belongs_is_not_repeated(bench):
    with pytest.raises(UsageError, match="not the name of an environment variable") as raised:
        bench.open("http", {"url": "http://localhost/", "token": "sk-abc-123"})
    assert "sk-abc" not in str(raised.value)


async def test_a_secret_cut_in_half_by_an_excerpt_does_not_get_through(bench, server):
    # The message keeps the first 200 characters of the body: the key stands across that border.
    server.on("/", error(401, "x" * 190 + " s3cret-token-of-some-length"))
    bench.env |= {"TOKEN": "s3cret-token-of-some-length"}
    target = bench.open("http", {"url": server.url("/"), "token": "TOKEN"})
    async with target:
        with pytest.raises(TargetFailure) as raised:
            await target.ask(Request(Case("c"), Variant()))
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in raised.value.body


async def test_a_stand_in_for_a_key_does_not_falsify_answers(bench, server):
    server.on("/", text_answer("Tesco Express"))
    bench.env |= {"TOKEN": "x"}
    assert (await bench.ask("http", {"url": server.url("/"), "token": "TOKEN"})).text == "Tesco Express"


def test_all_headers_that_hold_a_secret_are_named_at_once(bench):
    headers = {"Authorization": "Bearer abc", "X-Api-Key": "abc", "X-Title": "fine"}
    with pytest.raises(SuiteError, match="Authorization, X-Api-Key look like secrets"):
        bench.open("http", {"url": "http://localhost/", "headers": headers})
