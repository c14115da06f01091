from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from parts.loopback import Loopback, chat_answer, error, json_answer, slow
from parts.looped import for_every
from parts.stored import header as stored_header
from parts.stored import sample
from steelyard import plugins
from steelyard.errors import UsageError
from steelyard.records import RunFacts
from steelyard.redact import learn_secrets
from steelyard.suite.case import Case
from steelyard.suite.models import TargetSpec, Variant
from steelyard.targets.base import TargetContext, open_target
from steelyard.targets.stored_request import asked_by, request_again
from steelyard.targets.transport import seconds_to_wait


def fetch(url: str, data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, data=data, timeout=5) as answer:
        return answer.read()


def test_the_loopback_server_follows_its_script_and_stays_at_the_last_step(server):
    server.on("/a", error(500), json_answer({"n": 1}), json_answer({"n": 2}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        fetch(server.url("/a"))
    caught.value.close()
    assert [json.loads(fetch(server.url("/a?x=1")))["n"] for _ in range(3)] == [1, 2, 2]
    assert [one.query for one in server.seen("/a")] == [{}, {"x": "1"}, {"x": "1"}, {"x": "1"}]


def test_the_loopback_server_answers_by_what_it_was_asked(server):
    server.on("*", lambda seen: chat_answer(seen.json["q"]))
    data = json.loads(fetch(server.url("/any"), b'{"q": "echo"}'))
    assert data["choices"][0]["message"]["content"] == "echo"
    assert data["usage"]["total_tokens"] == 18


def test_the_loopback_server_serves_other_processes_and_stops_while_they_wait():
    started = time.monotonic()
    with Loopback() as server:
        server.on("/", json_answer({"ok": 1})).on("/slow", slow(300))
        code = f"import urllib.request as u; print(u.urlopen({server.url('/')!r}).read().decode())"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100).stdout
        waiting = subprocess.Popen(
            [sys.executable, "-c", code.replace(server.url("/"), server.url("/slow"))], stderr=subprocess.DEVNULL
        )
        while not server.seen("/slow"):
            time.sleep(0.01)
    waiting.wait(100)
    assert json.loads(said) == {"ok": 1}
    assert time.monotonic() - started < 250


# Retry-After as in RFC 9110, section 10.2.3; the date is its example, 1999-12-31T23:59:59Z = 946684799.
@for_every(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 59.0),
        ("Fri, 31 Dec 1999 23:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("inf", None),
        ("nan", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header, seconds):
    assert seconds_to_wait(header, now=946684740.0) == seconds


def test_an_unknown_kind_names_those_that_exist(tmp_path):
    with pytest.raises(UsageError, match="anthropic, bedrock, chat, command, gemini, http, python, recorded"):
        open_target(TargetSpec("telepathy", {}), TargetContext(tmp_path))


@pytest.mark.parametrize("kind", plugins.names("targets"))
def test_every_setting_of_every_kind_is_described(kind):
    schema = plugins.find("targets", kind).Settings.model_json_schema()
    models = [schema, *schema.get("$defs", {}).values()]
    bare = [
        f"{kind}.{name}" for one in models for name, field in one["properties"].items() if "description" not in field
    ]
    assert bare == []


CASE = Case("c1", input={"text": "Grüße, 世界"}, expected={"name": "x"})


@pytest.mark.parametrize("kind", ["chat", "http"])
async def test_a_request_is_made_again_as_it_was_sent_from_what_a_run_stores(bench, server, kind):
    (bench.folder / "system.md").write_text("You are {{ variant.tone }}.", encoding="utf-8")
    bench.env["API_TOKEN"] = "planted-in-a-request"
    headers = {"X-Key": {"env": "API_TOKEN"}, "X-Plain": "yes"}
    if kind == "chat":
        server.on("/v1/chat/completions", chat_answer("x"))
        more = {
            "system": {"file": "system.md"},
            "user": "Name {{ input.text }} ({{ repeat }})",
            "extra": {"top_p": 0.5},
        }
        given = {"base_url": f"{server.base_url}/v1", "model": "m", "token": "API_TOKEN", "headers": headers} | more
    else:
        server.on("/ask", json_answer({"answer": "x"}))
        given = {
            "url": f"{server.base_url}/ask",
            "headers": headers,
            "json": {"q": "{{ input.text }}"},
            "answer": "answer",
        }
    settings = plugins.find("targets", kind).Settings.model_validate(given)
    learn_secrets(["planted-in-a-request"])
    values = {"tone": "kind", "api_key": "planted-in-a-request", "note": "by planted-in-a-request"}
    variant = Variant("kind", values)
    await bench.ask(kind, settings, CASE, variant, 1)
    stored = asked_by(TargetSpec(kind, settings), [variant], TargetContext(bench.folder))
    assert "planted" not in json.dumps(stored)
    # The prompt file may be gone, or be another, when somebody looks.
    (bench.folder / "system.md").unlink()
    header = stored_header(target={"kind": kind}, suite_path="", options=RunFacts(asked_by=stored))
    asked = sample(CASE, variant="kind", repeat=1)
    again = request_again(header, asked, CASE)
    body = again["body"] if kind == "chat" else json.loads(again["body"])
    assert body == server.requests[0].json
    assert again["url"] == str(server.base_url) + server.requests[0].path
    assert "planted" not in json.dumps(again)


def test_a_run_that_sends_nothing_has_no_request():
    header = stored_header(options=RunFacts(asked_by=None))
    assert request_again(header, sample(CASE), CASE) is None
