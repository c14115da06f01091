"""Expectations in whole runs: a real HTTP service that answers, refuses rightly and wrongly, breaks and babbles."""

import json

import pytest
import yaml

from parts import running as run
from parts.loopback import Loopback, error, json_answer, slow, text_answer
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Outcome

SCHEMA = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": {"type": "object", "required": ["kind"]}}},
}
EXPECT = {
    "how_many": {"count": "items[]", "between": ["expected.min", None]},
    "kind": {"each": "expected.kinds", "in": "items[].kind"},
    "error_code": {"status": 422, "body_has": "expected.code", "only_if": "expected.code"},
}
RED = {"items": [{"kind": "red"}]}
GOOD = {"min": 1, "kinds": ["red"], "code": None}
REFUSED = {"min": None, "kinds": None, "code": "NO_TEXT"}
# By case: what is expected of it, and what the service does.
CASES = {
    "right": (GOOD, json_answer(RED)),
    "wrong": (GOOD, json_answer({"items": [{"kind": "blue"}]})),
    "empty": (GOOD, json_answer({"items": []})),
    "refused": (REFUSED, json_answer({"code": "NO_TEXT"}, status=422)),
    "refused_otherwise": (REFUSED, json_answer({"code": "NO_RULES"}, status=422)),
    "not_refused": (REFUSED, json_answer(RED)),
    "refused_wrongly": (GOOD, json_answer({"code": "NO_TEXT"}, status=422)),
    "garbage": (GOOD, text_answer("<html>Bad gateway</html>")),
    "broken": (GOOD, error(500)),
    "broken_instead_of_refused": (REFUSED, error(500)),
    "late": (GOOD, slow(5, json_answer(RED))),
}
ORDER = ("schema", "how_many", "kind:red")


@pytest.fixture
def service():
    with Loopback() as running:
        running.on("/ask", lambda seen: CASES[seen.json["case"]][1])
        yield running


@pytest.fixture
def suite(service, tmp_path):
    cases = [{"id": name, "input": {"case": name}, "expected": expected} for name, (expected, _) in CASES.items()]
    http = {"url": f"{service.base_url}/ask", "json": "input", "expect_errors": {"status": 422}}
    data = {
        "suite": "shelf",
        "cases": cases,
        "target": {"http": http},
        "answer": {"schema": SCHEMA},
        "expect": EXPECT,
        "limits": {"retries": 0, "timeout": 1, "max_inconclusive": 0.5},
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return tmp_path / "suite.yaml"


@pytest.fixture
def store_url(tmp_path):
    return str(tmp_path / "runs.db")


def samples_of(store, header):
    return {sample.case_id: sample for sample, _ in store.samples(header.id)}


def states(sample):
    return {check.name: str(check.state) for check in sample.checks}


def of(*found):
    return dict(zip(ORDER, found, strict=True))


def test_each_answer_comes_to_its_checks(store, suite):
    header, ending = run.run(load_suite(suite), store)
    samples = samples_of(store, header)
    passed, failed, not_run = "passed", "failed", "not_run"
    assert {name: (sample.outcome, states(sample), sample.score) for name, sample in samples.items()} == {
        "right": (Outcome.SCORED, of(passed, passed, passed), 1.0),
        "wrong": (Outcome.SCORED, of(passed, passed, failed), 0.0),
        "empty": (Outcome.SCORED, of(passed, failed, failed), 0.0),
        "refused": (Outcome.SCORED, {"error_code": passed}, 1.0),
        "refused_otherwise": (Outcome.SCORED, {"error_code": failed}, 0.0),
        "not_refused": (Outcome.SCORED, {"error_code": failed}, 0.0),
        "refused_wrongly": (Outcome.MALFORMED, of(failed, not_run, not_run), 0.0),
        "garbage": (Outcome.MALFORMED, of(failed, not_run, not_run), 0.0),
        "broken": (Outcome.TARGET_FAILED, of(not_run, not_run, not_run), None),
        "broken_instead_of_refused": (Outcome.TARGET_FAILED, {"error_code": not_run}, None),
        "late": (Outcome.TARGET_FAILED, of(not_run, not_run, not_run), None),
    }
    assert ending.counts.planned == len(CASES)
    late = samples["late"].call_result.failure
    assert samples["late"].checks[0].detail == f"the call failed: {late.kind} {late.message}"
    assert [finding.code for finding in samples["empty"].findings] == ["HOW_MANY", "KIND"]
    assert [finding.code for finding in samples["garbage"].findings] == ["FORMAT"]


def test_every_planned_answer_keeps_all_its_checks(store, suite):
    header, _ = run.run(load_suite(suite), store, RunOptions(repeats=2))
    counted = [len(sample.checks) for sample, _ in store.samples(header.id)]
    # Seven cases that expect an answer have three checks, four that expect an error have one; two repeats of each.
    assert sum(counted) == 2 * (7 * 3 + 4 * 1)


def test_rescoring_computes_the_checks_again_from_what_was_answered(store, suite, service):
    begun, _ = run.run(load_suite(suite), store)
    asked = len(service.requests)
    data = yaml.safe_load(suite.read_text())
    data["expect"]["kind"] = {"each": ["blue"], "in": "items[].kind"}
    data["expect"]["error_code"]["status"] = "4xx"
    data["expect"]["error_code"]["body_has"] = {"text": "NO_RULES"}
    suite.write_text(yaml.safe_dump(data, sort_keys=False))
    header = run.rescore(load_suite(suite), store, begun)
    samples = samples_of(store, header)
    assert len(service.requests) == asked
    assert states(samples["wrong"])["kind:blue"] == "passed"
    assert states(samples["right"])["kind:blue"] == "failed"
    assert states(samples["refused_otherwise"])["error_code"] == "passed"
    assert states(samples["refused"])["error_code"] == "failed"
    assert set(states(samples["late"]).values()) == {"not_run"}
    assert begun.signature.scorers != header.signature.scorers


def test_a_target_that_tells_no_status_leaves_the_check_of_it_not_run(store, suite):
    data = yaml.safe_load(suite.read_text())
    (suite.parent / "answers.jsonl").write_text(
        "".join(json.dumps({"case": name, "answer": json.dumps(RED)}) + "\n" for name in CASES)
    )
    data["target"] = {"recorded": "answers.jsonl"}
    suite.write_text(yaml.safe_dump(data, sort_keys=False))
    header, _ = run.run(load_suite(suite), store)
    samples = samples_of(store, header)
    assert samples["right"].score == 1.0
    refused = samples["refused"]
    assert (refused.outcome, refused.score, states(refused)) == (Outcome.JUDGE_FAILED, None, {"error_code": "not_run"})
    assert "only an http target does" in refused.findings[0].evidence
