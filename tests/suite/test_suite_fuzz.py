"""Whatever stands in a suite file, the answer is a suite or a list of mistakes, never a traceback."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from steelyard.errors import SuiteError
from steelyard.loading.json_schema import suite_schema
from steelyard.loading.suite import build_suite
from steelyard.suite.draft import Draft
from steelyard.suite.yaml import Located, read_yaml

SUITE = {
    "suite": "s",
    "about": "x",
    "version": 1,
    "cases": {"files": "cases.json", "at": "", "map": {"category": "group", "expected": {"*": "expected"}}},
    "target": {"chat": {"model": "m", "base_url": "http://localhost/v1", "system": {"file": "p.md"}}},
    "targets": {"b": {"recorded": {"file": "a.jsonl"}}, "c": {"python": "m:f"}, "d": {"http": {"url": "http://x/"}}},
    "answer": {"schema": {"type": "object"}, "format": "json"},
    "score": {
        "a": {"exact": {"expected": "expected.text"}, "weight": 2, "wrong_below": "50 %", "code": "A", "scale": [0, 1]},
        "b": {"number": {"expected": "expected.n"}, "when_unknown": "skip"},
        "c": {"fields": {"expected": "expected", "fields": {"text": 1}}},
        "d": {"money_range": {"low": "expected.n", "high": "expected.n", "unit": "cents"}},
        "e": {"year_range": {"start": "expected.n", "end": "expected.n"}},
        "f": {"choice": {"expected": "expected.text", "labels": ["x", "y"]}},
    },
    "judge": {
        "rubric": {
            "version": 1,
            "scale": [1, 5],
            "neutral": 3,
            "calibration": ["Be strict."],
            "dimensions": {"tone": {"about": "x", "weight": 1, "scores": {"5": "a"}, "examples": {"3": "b"}}},
            "flags": {"unsafe": {"about": "x", "triggers": ["t"], "fails": False}},
        },
        "system": {"file": "p.md"},
        "user": "{{ text }} {{ input | fenced }}",
        "response": {"properties": {"why": {}, "tone": {}, "unsafe": {}, "notes": {}}},
        "reasons": {"in": "why", "at_least": 2},
        "evidence": {"in": "notes", "unproven": "report", "fewest_words": 3, "dimensions": ["tone"]},
        "by": ["model"],
        "judges": {"model": {"chat": {"base_url": "http://judge/v1", "model": "j", "temperature": 0, "seed": 1}}},
        "of": "a",
        "repeats": 2,
        "combine": "majority",
        "flags": "any",
        "disagreement": 2,
        "most_characters": 1000,
        "ask_again": 0,
        "allow_self": True,
        "labels": "expected.labels",
        "health": ["agreement.tone.kappa >= 0.6", "top_share.tone <= 10 %"],
    },
    "redact": {"emails": True, "names": ["input"]},
    "findings": {"A": {"about": "x", "severity": "minor"}},
    "bands": {"Good": "75 %", "Bad": 0},
    "pass": "score >= 75 %",
    "gates": ["pass_rate >= 90 %", "category.*.average >= 0.5"],
    "variants": {"p": ["a", {"name": "b", "value": 1}], "q": [{"file": "p.md"}]},
    "repeats": 1,
    "limits": {"concurrency": 1, "timeout": 1, "max_cost": 1},
    "audit": {"null_share": "5 %"},
}
ROW = {
    "id": "a",
    "group": "g",
    "input": "i",
    "expected": {"text": "x", "n": 1900, "labels": {"tone": {"best": 2, "allowed": [1, 3]}, "unsafe": True}},
    "tags": ["t"],
    "attachments": "p.md",
}


def places(data, at=()):
    """Every place in plain data, keys of objects and indexes of lists."""
    yield at
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(data, at, value):
    if not at:
        return value
    data = copy.deepcopy(data)
    inner = data
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    return data


JUNK = [
    None, True, 0, -1, 75, 1.5, float("inf"), float("nan"), 10**400, "", " ", "x", "75 %", "101 %", "{{ x", "..",
    "a..b",     "\0", "/etc/passwd", "../x", "\ud800", [], [None], [[]], {}, {"": None}, {"file": 3}, {"file": "."},
    {"x": {"x": {}}},     "score >= ", "findings.X == 0", {"name": 1, "value": []}, [{"id": "a"}], "*", "[", "%",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "cases.json").write_text(json.dumps([ROW]))
    (folder / "p.md").write_text("Greet {{ input }}")
    (folder / "a.jsonl").write_text("")
    return folder


def test_the_suite_itself_is_good(folder):
    assert build_suite(Draft(Located(SUITE), folder), "").survey.n == 1


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(places(SUITE))), st.sampled_from(JUNK))
def test_junk_anywhere_in_a_suite_is_a_suite_error_or_a_suite(folder, at, junk):
    data = changed(SUITE, at, junk)
    try:
        build_suite(Draft(Located(data), folder), "")
    except SuiteError as error:
        text = str(error)
        assert not any(word in text for word in ("pydantic", "Input should", "object at 0x"))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(places([ROW]))), st.sampled_from(JUNK))
def test_junk_anywhere_in_a_case_is_a_suite_error_or_a_suite(folder, at, junk):
    data = SUITE | {"cases": changed([ROW | {"category": "g"}], at, junk)}
    try:
        build_suite(Draft(Located(data), folder), "")
    except SuiteError as error:
        assert error.problems  # noqa: PT017


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab:-[]{},&*!|>'\"#%\n\t ?<1.~", max_size=60))
def test_any_text_is_yaml_or_a_suite_error(text):
    try:
        read_yaml(text, "f.yaml")
    except SuiteError as error:
        assert str(error).startswith("f.yaml")  # noqa: PT017


def test_the_schema_accepts_it_too():
    import jsonschema_rs

    assert list(jsonschema_rs.validator_for(suite_schema()).iter_errors(SUITE)) == []
