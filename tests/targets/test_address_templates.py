"""An address may depend on the variant; no case chooses where a key goes unless the suite lists the hosts."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.command import invoke
from parts.loopback import Loopback, chat_answer, json_answer
from parts.providers import KEYS, PATHS, answer, settings
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.suite.case import Case
from steelyard.suite.models import Variant


async def test_a_chat_model_is_asked_at_the_address_of_the_variant(bench, server):
    bench.env = {"KEY": "very-secret"}
    asked = {"base_url": "{{ variant.address }}", "model": "m", "token": "KEY"}
    with Loopback() as other:
        for at in (server, other):
            at.on("/v1/chat/completions", chat_answer(at.base_url))
            variant = Variant("v", {"address": f"{at.base_url}/v1/"})
            assert (await bench.ask("chat", asked, variant=variant)).text == at.base_url
        assert [len(server.requests), len(other.requests)] == [1, 1]


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "bedrock"])
async def test_so_are_models_in_the_protocols_of_their_providers(bench, server, kind):
    bench.env = KEYS[kind]
    server.on(PATHS[kind], answer(kind, "here"))
    port = server.base_url.rpartition(":")[2]
    asked = settings(kind, "http://127.0.0.1:{{ variant.port }}")
    assert (await bench.ask(kind, asked, variant=Variant("v", {"port": port}))).text == "here"


async def test_an_address_that_comes_out_as_none_fails_the_call(bench):
    for value in ("", "not an address", "ftp://a.example", "http://user@a.example"):
        variant = Variant("v", {"address": value})
        failure = await bench.fail("chat", {"base_url": "{{ variant.address }}", "model": "m"}, variant=variant)
        assert failure.kind == "bad_url"


@pytest.mark.parametrize(
    "url", ["{{ input.host }}/v1", "https://{{ case.input.host }}", "https://a.example{{ input.rest }}/v1"]
)
def test_a_case_never_chooses_where_a_key_goes(bench, url):
    bench.env = {"KEY": "very-secret"}
    with pytest.raises(SuiteError, match="depends on the case, which would choose where keys go"):
        bench.open("chat", {"base_url": url, "model": "m"})
    for key in ({"token": "KEY"}, {"headers": {"X-Key": {"env": "KEY"}}}, {"query": {"key": {"env": "KEY"}}}):
        with pytest.raises(SuiteError, match="list the hosts that cases may choose as hosts"):
            bench.open("http", {"url": url, **key})
    bench.open("http", {"url": url})  # without a key nothing can leak


async def test_the_suite_can_list_hosts_that_cases_may_choose(bench, server):
    bench.env = {"KEY": "very-secret"}
    server.on("/ask", json_answer({"a": 1}))
    host = server.base_url.removeprefix("http://")
    asked = {"url": "http://{{ input }}/ask", "token": "KEY", "hosts": [host]}
    assert (await bench.ask("http", asked, Case("c", input=host))).status == 200
    for other in ("127.0.0.1:1", "evil.example", f"evil.example/{host}", f"evil.example?{host}", "a@evil.example"):
        failure = await bench.fail("http", asked, Case("c", input=other))
        assert failure.kind == "bad_url"
    assert len(server.requests) == 1


async def test_values_of_a_case_in_the_path_leave_the_host_alone(bench, server):
    bench.env = {"KEY": "very-secret"}
    server.on("/ask", json_answer({"a": 1}))
    asked = {"base_url": "{{ variant.address }}", "url": "{{ input }}", "token": "KEY"}
    variant = Variant("v", {"address": server.base_url})
    assert (await bench.ask("http", asked, Case("c", input="ask"), variant)).status == 200
    for path in ("@evil.example/ask", "//evil.example/ask", "..//evil.example"):
        await bench.fail("http", asked, Case("c", input=path), variant=variant)
    assert len(server.requests) == 4  # all of them went to this server


def test_a_service_that_may_be_anywhere_has_no_path_to_check_its_health(bench):
    with pytest.raises(SuiteError, match="write a full address here"):
        bench.open("http", {"base_url": "{{ variant.address }}", "url": "/ask", "ready": "/health"})


def test_the_address_of_a_judge_is_no_template(tmp_path):
    rubric = {"scale": [1, 5], "dimensions": {"tone": {"about": "tone"}}}
    suite = {"suite": "s", "cases": [{"id": "a", "input": "q"}], "target": {"recorded": "a.jsonl"}}
    judge = {"chat": {"base_url": "https://{{ variant.host }}/v1", "model": "j"}}
    suite["judge"] = {"judges": {"j": judge}, "rubric": rubric}
    (tmp_path / "a.jsonl").write_text('{"case": "a", "answer": "x"}\n', encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
    with pytest.raises(SuiteError, match="the address of a judge cannot be a template"):
        load_suite(str(tmp_path))


def test_another_address_of_a_variant_is_another_signature(tmp_path, monkeypatch, server):
    monkeypatch.chdir(tmp_path)
    server.on("/one", json_answer("x"))
    server.on("/two", json_answer("x"))
    for path in ("one", "two"):
        suite = {
            "suite": "s",
            "cases": [{"id": "a", "input": "q", "expected": "x"}],
            "variants": {"address": [{"name": "there", "value": f"{server.base_url}/{path}"}]},
            "target": {"http": {"base_url": "{{ variant.address }}"}},
            "score": {"word": {"contains": {"expected": "expected"}}},
        }
        (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
        invoke("run", ".", "--store", "runs.db")
    text = invoke("compare", "LAST~1", "LAST", "--store", "runs.db")
    assert "/one -> " in " ".join(text.split())
    shown = json.loads(invoke("show", "LAST", "a", "--store", "runs.db", "--json"))
    assert shown["request"]["url"] == f"{server.base_url}/two"
