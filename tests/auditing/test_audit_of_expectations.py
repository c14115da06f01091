"""The audit of suites with `expect`: what an answer in the right shape that holds nothing earns, and what holds it."""

import json

import yaml

from steelyard.auditing.audit import audit
from steelyard.loading.load import load_suite

SCHEMA = {
    "type": "object",
    "required": ["items"],
    "properties": {
        "items": {
            "type": "array",
            "items": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
        }
    },
}
EXPECT = {
    "how_many": {"count": "items[]", "between": ["expected.min", "expected.max"]},
    "kind": {"each": "expected.kinds", "in": "items[].kind"},
    "no_kind": {"none": ["green"], "in": "items[].kind"},
    "refused": {"status": 422, "body_has": "expected.code", "only_if": "expected.code"},
}
ASKING = {"min": 1, "max": 4, "kinds": ["red"], "code": None}
CLEAN = {"min": 0, "max": 2, "kinds": None, "code": None}
REFUSED = {"min": None, "max": None, "kinds": None, "code": "NO_TEXT"}


def suite_of(folder, *expected, **more):
    cases = [{"id": f"c{at}", "input": {"text": f"{at}"}, "expected": one} for at, one in enumerate(expected)]
    (folder / "cases.json").write_text(json.dumps(cases))
    data = {
        "suite": "shelf",
        "cases": "cases.json",
        "target": {"http": {"url": "http://localhost:9/", "json": "input", "expect_errors": {"status": "4xx"}}},
        "answer": {"schema": SCHEMA},
        "expect": EXPECT,
        "gates": ["cases.passed >= 80 %"],
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return load_suite(folder)


def earned(result):
    return {probe.probe: (probe.average, probe.passed) for probe in result.probes}


def test_nothing_earns_nothing_where_every_case_asks_for_something(tmp_path):
    result = audit(suite_of(tmp_path, ASKING, ASKING, REFUSED))
    assert result.complaints == []
    assert set(earned(result)) >= {"empty", "{}", "constant", "echo", "none"}
    assert set(earned(result).values()) == {(0.0, ())}


def test_a_case_that_asks_for_nothing_is_shown_and_must_be_allowed_for(tmp_path):
    result = audit(suite_of(tmp_path, ASKING, ASKING, REFUSED, CLEAN))
    # It is right for one case of four and earns nothing in the others.
    assert earned(result)["none"] == (0.25, ("c3",))
    assert earned(result)["{}"] == earned(result)["empty"] == (0.0, ())
    told = next(line for line in result.complaints if line.startswith("none"))
    assert "1 of 4 cases ask for nothing" in told
    assert "audit: {null_share: 25 %, null_passes: 25 %}" in told
    # One red item passes both cases that ask for it, and the one that asks for nothing.
    assert earned(result)["best found"] == (0.75, ("c0", "c1", "c3"))
    limits = {"null_share": "25 %", "null_passes": "25 %", "wrong_share": "75 %"}
    assert audit(suite_of(tmp_path, ASKING, ASKING, REFUSED, CLEAN, audit=limits)).complaints == []


def test_gates_that_an_answer_without_items_passes_are_reported(tmp_path):
    limits = {"null_share": "100 %", "null_passes": "100 %"}
    result = audit(suite_of(tmp_path, CLEAN, CLEAN, CLEAN, CLEAN, ASKING, audit=limits))
    assert result.complaints == [
        "gate 'cases.passed >= 80 %' passes a system that gives the same filler for every case (80.0 %)"
    ]


def test_a_right_answer_is_built_of_checks_and_one_that_cannot_be_is_named(tmp_path):
    result = audit(suite_of(tmp_path, ASKING, CLEAN))
    assert earned(result)["truth"] == (1.0, ("c0", "c1"))
    result = audit(suite_of(tmp_path, ASKING, REFUSED))
    assert "truth" not in earned(result)
    assert "a right answer (none could be built that passes all checks of c1)" in result.not_tested


def test_without_a_schema_fillers_stand_where_the_checks_look(tmp_path):
    checks = {"how_many": EXPECT["how_many"], "kind": EXPECT["kind"]}
    suite = suite_of(tmp_path, *[{"min": 1, "max": 2, "kinds": ["0"]}] * 2, answer={"format": "json"}, expect=checks)
    probes = {probe.probe: probe for probe in audit(suite).probes}
    # One item whose kind is the question's only word, "0" and "1": right for the first case, and one of two checks.
    assert (probes["echo fields"].average, probes["echo fields"].passed) == (0.5, ("c0",))
