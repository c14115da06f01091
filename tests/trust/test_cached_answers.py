"""Answers that were not requested again, and repeats that are one answer: neither is new evidence."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parts.command import invoke
from parts.loopback import Loopback, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.targets.transport import _is_cached

TODAY = datetime.now(UTC).strftime("%Y-%m-%d")


def words(*arguments, code=0):
    return " ".join(invoke(*arguments, code=code).split())


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A suite of ten cases on a service that answers right until `broken` is set."""
    with Loopback() as server:
        state = {"broken": False, "calls": 0, "failing": set()}

        def answer(seen):
            state["calls"] += 1
            number = seen.json["number"]
            if number in state["failing"]:
                return json_answer({}, status=404)
            return json_answer({"answer": {"word": f"word {number}" if not state["broken"] else f"no idea {number}"}})

        server.on("/ask", answer)
        write_suite(tmp_path / "words", n=10, target=http_target(server.base_url))
        monkeypatch.chdir(tmp_path)
        yield state


def test_a_broken_service_whose_answers_come_from_the_cache_says_so_in_every_report(service):
    assert "cache" not in words("run", "words", "--cache")
    service["broken"], service["calls"] = True, 0
    told = words("run", "words", "--cache")
    sentence = f"10 of 10 answers come from the cache of {TODAY}: no call was made for them"
    assert service["calls"] == 0
    assert sentence in told
    for report in ("--full", "--json"):
        assert sentence in words("report", "LAST", report)
    data = json.loads(invoke("report", "LAST", "--json"))
    assert [data["figures"][f"reused.{name}"]["value"] for name in ("cached", "answers")] == [10, 10]
    assert data["figures"]["latency.p50"]["n"] == 0
    assert data["figures"]["attempts.total"]["n"] == 0
    assert data["figures"]["first_attempt_failure_rate"]["value"] is None


def test_a_comparison_with_cached_answers_is_never_the_same(service):
    invoke("run", "words", "--cache")
    before = json.loads(invoke("runs", "--json"))[0]["id"]
    service["broken"] = True
    invoke("run", "words", "--cache")
    told = words("compare", before, "LAST", code=4)
    assert "CANNOT TELL" in told
    assert f"10 of 10 answers come from the cache of {TODAY} in B" in told
    data = json.loads(invoke("compare", before, "LAST", "--json", code=4))
    assert "same" not in {each["verdict"] for each in data["metrics"] if each["group"] == "headline"}
    # Without the cache the same comparison shows what happened.
    invoke("run", "words", code=1)
    assert "WORSE" in words("compare", before, "LAST", code=1)


def test_some_cached_answers_are_enough_that_no_change_is_not_shown(service):
    invoke("run", "words", "--cache", "--limit", 1)
    invoke("run", "words")
    before = json.loads(invoke("runs", "--json"))[0]["id"]
    told = words("run", "words", "--cache")
    assert f"1 of 10 answers come from the cache of {TODAY}" in told
    assert f"1 of 10 answers come from the cache of {TODAY} in B" in words("compare", before, "LAST", code=4)


def test_a_gate_on_a_baseline_does_not_pass_by_cached_answers(service, tmp_path):
    invoke("run", "words", "--cache")
    invoke("baseline", "set", "LAST", "--name", "release")
    suite = tmp_path / "words" / "suite.yaml"
    suite.write_text(suite.read_text().replace("- pass_rate >= 90 %", "- pass_rate >= release - 5 points"))
    service["broken"] = True
    told = words("run", "words", "--cache", code=4)
    assert "which are no new evidence" in told
    assert "every gate passes" not in told


def test_the_same_answers_scored_again_are_compared_as_before(service):
    invoke("run", "words", "--cache")
    invoke("run", "words", "--cache")
    before = json.loads(invoke("runs", "--json"))[0]["id"]
    invoke("rescore", before)
    assert "SAME" in words("compare", before, "LAST")


def test_a_retry_that_copies_the_answers_of_a_run_is_not_the_same_as_it(service, tmp_path):
    """Nine answers are copied from the first run, at first or second hand: they show nothing of the system of now."""
    suite = tmp_path / "words" / "suite.yaml"
    suite.write_text(suite.read_text().replace("90 %\n", "50 %\n") + "limits: {max_inconclusive: 50 %, retries: 0}\n")
    service["failing"] = {9}
    invoke("run", "words")
    first = json.loads(invoke("runs", "--json"))[0]["id"]
    invoke("baseline", "set", "LAST", "--name", "release")
    for failing in ({9}, set()):
        service["failing"] = failing
        invoke("run", "words", "--retry-failed", "LAST")
        told = words("compare", first, "LAST", code=4)
        assert "CANNOT TELL" in told
        assert "9 of 10 answers are copied from run" in told
    gate = ("gate", "LAST", "--gate", "pass_rate >= @release - 20 points")
    assert "which are no new evidence" in words(*gate, code=4)
    invoke("rescore", "LAST")
    assert "CANNOT TELL" in words("compare", first, "LAST", code=4)
    # A run that has none of these answers is compared as ever.
    invoke("run", "words")
    assert "SAME" in words("compare", "LAST~1", "LAST")


def test_a_run_of_cached_answers_is_no_new_point_of_the_history(service):
    invoke("run", "words", "--cache")
    invoke("run", "words", "--cache")
    runs = json.loads(invoke("history", "words", "--json"))["runs"]
    assert [run["left_out"] for run in runs] == ["", "all answers from the cache"]


# ---- repeats that are one answer


CACHES = {
    "a header": ({"x-cache": "HIT"}, {}),
    "an age": ({"age": "311"}, {}),
    "a cache status": ({"cache-status": '"gateway"; hit; ttl=30'}, {}),
    "a field": ({}, {"from_cache": True}),
    "a response id": ({}, {"id": "resp-{number}"}),
}


@pytest.mark.parametrize(("headers", "fields"), CACHES.values(), ids=CACHES)
def test_five_repeats_that_are_one_answer_count_as_one(headers, fields, tmp_path, monkeypatch):
    with Loopback() as server:

        def answer(seen):
            number = seen.json["number"]
            named = {name: item.format(number=number) if name == "id" else item for name, item in fields.items()}
            return json_answer({"answer": {"word": f"word {number}"}, **named}, headers=headers)

        server.on("/ask", answer)
        usage = {"response_id": "id", "cached": "from_cache"}
        gates = ["pass_all.5 >= 90 %", "flaky_rate <= 10 %"]
        target = http_target(server.base_url, usage=usage)
        write_suite(tmp_path / "words", n=8, target=target, repeats=5, gates=gates)
        monkeypatch.chdir(tmp_path)
        told = words("run", "words", code=4)
    assert "32 repeats of 8 cases are the same answer as an earlier repeat" in told
    data = json.loads(invoke("report", "LAST", "--json"))
    assert [data["figures"][f"reused.{name}"]["value"] for name in ("copied", "copied_cells")] == [32, 8]
    assert [gate["verdict"] for gate in data["gates"]] == ["AMBIGUOUS", "AMBIGUOUS"]


def test_an_id_that_answers_to_several_cases_have_identifies_none(tmp_path, monkeypatch):
    """A server that gives every answer the same id, and a deterministic system: five answers, not one."""
    with Loopback() as server:
        server.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {seen.json['number']}"}, "id": "x-1"}))
        target = http_target(server.base_url, usage={"response_id": "id"})
        write_suite(tmp_path / "words", n=8, target=target, repeats=5, gates=["pass_all.5 >= 60 %"])
        monkeypatch.chdir(tmp_path)
        assert "same answer as an earlier repeat" not in words("run", "words")


def test_one_id_with_different_texts_is_not_one_answer(tmp_path, monkeypatch):
    with Loopback() as server:
        count = iter(range(100))
        server.on("/ask", lambda seen: json_answer({"answer": {"word": f"word {next(count)}"}, "id": "x"}))
        target = http_target(server.base_url, usage={"response_id": "id"})
        write_suite(tmp_path / "words", n=1, target=target, repeats=5, gates=["scored_rate >= 90 %"])
        monkeypatch.chdir(tmp_path)
        assert "same answer as an earlier repeat" not in words("run", "words", "--concurrency", 1)


def test_equal_answers_of_separate_calls_are_repeats(service, tmp_path):
    suite = tmp_path / "words" / "suite.yaml"
    suite.write_text(suite.read_text().replace("gates:", "repeats: 3\ngates:"))
    invoke("run", "words", "--cache")
    told = words("run", "words", "--cache")
    assert f"30 of 30 answers come from the cache of {TODAY}" in told
    # Each repeat was requested once, and has its own entry.
    assert "same answer as an earlier repeat" not in told


@pytest.mark.parametrize(
    ("headers", "cached"),
    [
        ({"x-cache": "Hit from cloudfront"}, True),
        ({"cf-cache-status": "HIT"}, True),
        ({"x-proxy-cache": "TCP_HIT"}, True),
        ({"x-cache": "MISS"}, False),
        ({"cache-status": "gateway; fwd=miss"}, False),
        ({"cache-control": "max-age=60, s-maxage=hit"}, False),
        ({"age": "0"}, False),
        ({"x-cache": "white"}, False),
        ({}, False),
    ],
)
def test_headers_of_caches(headers, cached):
    assert _is_cached(headers) is cached


MARKS = {"a response id": {"response_id": "resp-{number}"}, "a flag": {"cached": True}}


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS)
def test_five_recorded_repeats_that_are_one_answer_count_as_one(marks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = {"recorded": "answers.jsonl"}
    write_suite(tmp_path / "words", n=8, target=target, repeats=5, gates=["pass_all.5 >= 90 %"])
    rows = [
        {"case": f"c{number}", "repeat": repeat, "answer": {"word": f"word {number}"}}
        | {name: item.format(number=number) if name == "response_id" else item for name, item in marks.items()}
        for number in range(8)
        for repeat in range(5)
    ]
    (tmp_path / "words" / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "32 repeats of 8 cases are the same answer as an earlier repeat" in words("run", "words", code=4)


def test_a_retried_repeat_with_the_id_of_an_earlier_one_is_that_answer(tmp_path, monkeypatch):
    """Each of two runs has an id once: the second repeat, which failed at first, gets the first one's answer."""
    with Loopback() as server:
        failing, calls = set(range(8)), []

        def answer(seen):
            number = seen.json["number"]
            calls.append(number)
            if number in failing and calls.count(number) == 2:
                return json_answer({}, status=404)
            return json_answer({"answer": {"word": f"word {number}"}, "id": f"resp-{number}"})

        server.on("/ask", answer)
        target = http_target(server.base_url, usage={"response_id": "id"})
        limits = {"max_inconclusive": "90 %", "retries": 0}
        write_suite(tmp_path / "words", n=8, target=target, repeats=2, limits=limits, gates=["pass_all.2 >= 50 %"])
        monkeypatch.chdir(tmp_path)
        invoke("run", "words", "--concurrency", 1, "--keep-going", code=4)
        told = words("run", "words", "--retry-failed", "LAST", code=4)
    assert "8 repeats of 8 cases are the same answer as an earlier repeat" in told


def test_answers_that_another_tool_took_from_its_cache_are_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = Path(__file__).parents[1] / "exchange" / "files" / "promptfoo.json"
    data = json.loads(source.read_text())
    rows = data["results"]["results"]
    for row in rows:
        (row.get("response") or {})["cached"] = True
    (tmp_path / "results.json").write_text(json.dumps(data))
    invoke("import", "results.json")
    assert "answers come from a cache of the provider" in words("report", "LAST")
