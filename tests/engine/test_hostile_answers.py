"""Whole runs against a service that sends what no service should: each is named, and the run goes on to its end."""

import gzip
import json

import pytest
import yaml

from parts import running as run
from parts.loopback import Behaviour, Loopback, deep_json, endless, gzip_bomb, invalid_utf8, redirect, text_answer
from parts.views import to_html, to_json
from steelyard.loading.load import load_suite
from steelyard.records import Outcome
from steelyard.report.build import build_report

SCHEMA = {"type": "object", "required": ["items"], "properties": {"items": {"type": "array"}}}
EXPECT = {
    "how_many": {"count": "items[]", "between": [1, None]},
    "kind": {"each": "expected.kinds", "in": "items[].kind"},
    "no_level": {"none": "expected.kinds", "in": "$..level"},
    "number": {"path": "$.meta.n", "at_least": 0},
    "found": {"path": "$.items[?@.id == 'a'].kind", "exists": True},
}
STABILITY = {"items": "items[]", "key": "id", "fields": {"span": "overlap", "level": "equal"}}
DEEP = 100_000


def answered(body: str, **more) -> Behaviour:
    return text_answer(body, content_type="application/json", **more)


def nested(depth: int, inner: str = "1") -> str:
    return "[" * depth + inner + "]" * depth


GOOD = json.dumps({"items": [{"id": "a", "kind": "red", "span": [0, 3], "level": 1}], "meta": {"n": 1}})
MANY = json.dumps({"items": [{"id": "a"}], "pad": [0] * 50_000})
# By case: what the service does, and what of it is told.
CASE_FAILED = {
    "bomb": (gzip_bomb(50_000_000), "too_large: the body is larger than max_bytes (10,000,000 bytes)"),
    "endless": (endless(), "too_large: the body is larger than max_bytes (10,000,000 bytes)"),
    "trickle": (endless(b" ", pause=0.05), "timeout: no answer within 1 s"),
    "endless_headers": (
        Behaviour(uncapped=b"HTTP/1.1 200 OK\r\n", raw_again=b"X-A: b\r\n" * 100),
        "garbage: 127.0.0.1",
    ),
    "away": (redirect("http://elsewhere.invalid/"), "redirect: answered 302, a redirect to another host"),
    "bad_utf8": (invalid_utf8(), "bad_encoding: the body is not utf-8 text: byte 15 cannot be read"),
    "cut_gzip": (
        Behaviour(body=gzip.compress(GOOD.encode())[:-9], headers={"Content-Encoding": "gzip"}),
        "cut: the body breaks off",
    ),
}
MALFORMED = {
    "no_content": (Behaviour(status=204), "the answer is empty"),
    "page": (text_answer("<html>Bad gateway</html>", content_type="text/html"), "there is no JSON object or array"),
    "deep_list": (deep_json(DEEP), "it is nested too deeply"),
    "deep_inside": (answered(f'{{"items": [{{"id": {nested(DEEP)}}}]}}'), "it is nested too deeply"),
    "rather_deep": (answered(f'{{"items": {nested(980)}}}'), "nested"),
    "deep_in_text": (answered('Here: {"items": ' + nested(DEEP) + "} done"), "it is nested too deeply"),
    "many_digits": (answered(f'{{"items": [{"9" * 40_000}]}}'), "a number in it has more than 4,300 digits"),
}
SCORED = {
    "good": (answered(GOOD), ""),
    "wrong_type": (text_answer(GOOD, content_type="image/png"), ""),
    "old_protocol": (Behaviour(uncapped=b"HTTP/1.0 200 OK\r\n\r\n" + GOOD.encode()), ""),
    "nul": (answered('{"items": [{"id": "a\\u0000", "level": "\\u0000", "kind": "r\\u0000"}]}'), "KIND not found"),
    "half_characters": (answered('{"items": [{"id": "\\ud800", "kind": "\\udfff", "\\ud83d": 1}]}'), "KIND not found"),
    "no_numbers": (answered('{"items": [{"id": NaN, "span": [1e999, -1e999]}], "meta": {"n": NaN}}'), "NUMBER null"),
    "deep_values": (answered(f'{{"items": [{{"id": {nested(150)}, "level": {nested(150)}}}]}}'), "nested too deeply"),
    "many_values": (answered(MANY), "the answer holds more than 50,000 values to search"),
    "odd_items": (answered('{"items": [1, null, [], {"id": [1]}, {"span": [5, 1]}, {"span": [true]}]}'), "KIND not"),
}
ALL = CASE_FAILED | MALFORMED | SCORED


@pytest.fixture
def suite(tmp_path):
    with Loopback() as service:
        for name, (behaviour, _) in ALL.items():
            service.on(f"/{name}", behaviour)
        data = {
            "suite": "hostile",
            "cases": [{"id": name, "input": name, "expected": {"kinds": ["red"]}} for name in ALL],
            "target": {"http": {"url": service.base_url + "/{{ input }}"}},
            "answer": {"schema": SCHEMA},
            "expect": EXPECT,
            "stability": STABILITY,
            "repeats": 2,
            # One at a time: what is heavy to read must not make the next call look slow.
            "limits": {"retries": 0, "timeout": 1, "concurrency": 1, "max_inconclusive": 1.0},
        }
        (tmp_path / "suite.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        yield load_suite(tmp_path / "suite.yaml")


def message(sample) -> str:
    if sample.call_result.failure is not None:
        return f"{sample.call_result.failure.kind}: {sample.call_result.failure.message}"
    return "; ".join(f"{finding.code} {finding.evidence}" for finding in sample.findings)


def test_every_answer_is_named_and_the_run_goes_on(store, suite):
    header, ending = run.run(suite, store)
    assert (ending.stopped, ending.counts.done) == (None, 2 * len(ALL))
    samples = [sample for sample, _ in store.samples(header.id)]
    wanted = dict.fromkeys(CASE_FAILED, Outcome.TARGET_FAILED) | dict.fromkeys(MALFORMED, Outcome.MALFORMED)
    wanted |= dict.fromkeys(SCORED, Outcome.SCORED)
    for sample in samples:
        assert sample.outcome == wanted[sample.case_id], (sample.case_id, message(sample))
        assert ALL[sample.case_id][1] in message(sample), (sample.case_id, message(sample))
        ran = {str(check.state) for check in sample.checks if check.name != "schema"}
        assert ran <= ({"passed", "failed"} if sample.case_id in SCORED else {"not_run"}), sample.case_id
        assert (sample.items is not None) == (sample.case_id in SCORED), sample.case_id
    again = run.rescore(suite, store, header)
    outcomes = [(sample.case_id, sample.outcome) for sample, _ in store.samples(again.id)]
    assert outcomes == [(sample.case_id, sample.outcome) for sample in samples]
    report = build_report(store, again)
    assert json.dumps(to_json(report), allow_nan=False)
    assert to_html(report).encode()
