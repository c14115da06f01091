"""Runs over providers' own protocols from beginning to end: target and judge, prices of the project, estimates."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
import yaml

from parts.command import invoke
from parts.judged_suite import verdict, write_judged
from parts.loopback import Loopback
from parts.providers import KEYS, PATHS, answer, settings, streamed
from steelyard.errors import SuiteError
from steelyard.store.sql import open_store
from steelyard.suite.prices import read_prices
from steelyard.targets.stored_request import request_again

PRICES = {"m-1": {"input": 3, "output": 15, "cached_input": 0.3, "cache_write": 3.75}}
STREAM = "/models/gem:streamGenerateContent"


@pytest.fixture
def opened():
    """Opens the store of the folder, and closes it after the test."""
    with ExitStack() as closing:
        yield lambda: closing.enter_context(open_store(None, create=False))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A judged suite two folders below its price file: Gemini answers in pieces, Claude judges."""
    for keys in KEYS.values():
        for name, value in keys.items():
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump(PRICES))
    with Loopback() as server:
        server.on(STREAM, streamed("gemini", "Seven is a fine number, ", "and there is no more to say."))
        server.on(PATHS["anthropic"], answer("anthropic", json.dumps(verdict(4))))
        target = settings("gemini", server.base_url, model="gem", stream=True, user="{{ input.number }}")
        judge = settings("anthropic", server.base_url, max_tokens=200)
        write_judged(
            tmp_path / "suites" / "numbers",
            n=2,
            by="claude",
            judges={"claude": {"anthropic": judge}},
            suite={"target": {"gemini": target}, "gates": ["first_token.p50 < 5 s", "tokens_per_second.mean > 0"]},
        )
        yield server


def run(*more):
    return invoke("run", "suites/numbers", *more)


def test_a_run_has_the_cost_of_target_and_judge_and_says_which_model_has_no_price(project, opened):
    done = run()
    # 12 × 3 + 30 × 0.3 + 8 × 3.75 + 7 × 15 = 180 per million tokens, for each of two judge calls.
    assert "Cost of judging" in done
    assert "0.000360 n 2 calls" in done
    assert "No price for" in done
    store = opened()
    header = store.runs()[0]
    assert header.options.prices == {"m-1": PRICES["m-1"], "gem": None}
    samples = list(store.samples(header.id))
    for sample, case in samples:
        call = sample.call_result
        assert (call.cost, call.tokens_in, call.tokens_cached) == (None, 42, 30)
        assert 0 < call.first_token <= call.latency
        again = request_again(header, sample, case)
        sent = next(seen for seen in project.seen(STREAM) if seen.json == again["body"])
        assert again["url"] == project.url(f"{sent.path}?alt=sse")
    stored = json.dumps(
        [header.suite, header.target.to_data(), header.signature.to_data(), header.options.asked_by], default=str
    )
    assert "very-secret" not in stored
    assert "First token" in invoke("report", "LAST", "--full")
    data = json.loads(invoke("report", "LAST", "--json"))
    assert data["judge"]["spending"]["cost"] == pytest.approx(360e-6)
    assert [data["figures"][f"{name}.n"]["value"] for name in ("first_token", "tokens_per_second")] == [2, 2]
    assert data["run"]["options"]["prices"] == header.options.prices


def test_a_price_of_the_suite_goes_before_that_of_the_file(project, tmp_path, opened):
    place = tmp_path / "suites" / "numbers" / "suite.yaml"
    suite = yaml.safe_load(place.read_text())
    suite["target"]["gemini"]["price"] = {"input": 1, "output": 0}
    with (tmp_path / "prices.yaml").open("a") as prices:
        prices.write("\ngem: {input: 900, output: 900}\n")
    place.write_text(yaml.safe_dump(suite))
    run()
    store = opened()
    costs = [sample.call_result.cost for sample, _ in store.samples(store.runs()[0].id)]
    assert costs == [pytest.approx(42e-6)] * 2
    assert store.runs()[0].options.prices["gem"] == {"input": 1.0, "output": 0.0}
    history = invoke("history", "numbers", "--json")
    assert json.loads(history)["runs"][0]["cost"]["value"] == pytest.approx(84e-6)


def test_an_estimate_calls_nobody_and_follows_earlier_runs(project):
    first = run("--estimate", "--json")
    assert project.requests == []
    target, judge = json.loads(first)["parts"]
    # Two bodies with the texts "user" and one digit: 10 characters, at 5 to 3 a token.
    assert target["tokens_in"] == {"low": pytest.approx(2), "high": pytest.approx(10 / 3)}
    assert (target["tokens_out"], target["cost"]) == ({"low": 0.0, "high": None}, None)
    assert (judge["calls"], judge["tokens_out"]["high"]) == (2, 400)
    assert json.loads(first)["not_priced"] == ["gem"]
    run()
    n = len(project.requests)
    target, judge = json.loads(run("--estimate", "--json"))["parts"]
    # 42 tokens sent and 7 received a call, 50 and 7 by the judge; 10 % to each side, for two calls.
    assert target["tokens_in"] == {"low": pytest.approx(75.6), "high": pytest.approx(92.4)}
    assert judge["tokens_out"] == {"low": pytest.approx(12.6), "high": pytest.approx(15.4)}
    assert judge["cost"]["low"] == pytest.approx((90 * 3 + 12.6 * 15) / 1e6)
    assert len(project.requests) == n
    shown = run("--estimate")
    assert "no price for gem; write prices.yaml" in " ".join(shown.split())


def test_a_judge_of_a_provider_may_be_another_model_but_not_the_system_under_test(project):
    run("--judge-model", "m-2")
    assert {seen.json["model"] for seen in project.seen(PATHS["anthropic"])} == {"m-2"}
    given = ("--target", "anthropic", "--base-url", project.base_url, "--model", "m-1")
    assert "is the system under test itself" in invoke("run", "suites/numbers", *given, code=2)


def test_the_nearest_price_file_holds_and_what_is_wrong_with_it_is_said(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "prices.yaml").write_text("m: {input: 1, output: 1}")
    assert read_prices(tmp_path / "a" / "b")["m"].input == 1
    (tmp_path / "a" / "prices.yaml").write_text("m: {input: 2, output: 1}\n")
    assert read_prices(tmp_path / "a" / "b")["m"].input == 2
    (tmp_path / "a" / "prices.yaml").write_text("m: {input: 2}\nn: {input: -1, output: 1, per: 3}\n")
    with pytest.raises(SuiteError) as caught:
        read_prices(tmp_path / "a" / "b")
    assert [problem.line for problem in caught.value.problems] == [1, 2, 2]
    (tmp_path / "a" / "prices.yaml").write_text("- m\n")
    with pytest.raises(SuiteError, match="a price file is a group of models"):
        read_prices(tmp_path / "a" / "b")
