"""What a good suite becomes: variants, targets, the strict rule, description and signature."""

from __future__ import annotations

import json

import pytest

from steelyard.errors import UsageError
from steelyard.loading.load import load_suite, strict, with_target
from steelyard.records import TargetFacts
from steelyard.suite.models import SuiteModel, Threshold
from steelyard.suite.signature import signature
from steelyard.suite.truth import without_truth
from steelyard.suite.values import Band

CHAT = {"model": "m", "base_url": "http://localhost/v1", "system": "Be kind.", "user": {"file": "user.md"}}
FULL = {
    "about": "Say hello.",
    "version": 3,
    "answer": {"schema": {"type": "object"}},
    "score": {
        "text": {"same": {"expected": "expected.text"}, "weight": 70, "wrong_below": "40 %", "code": "WORDS"},
        "name": {"same": {"expected": "input"}, "when_unknown": "skip"},
    },
    "findings": {"WORDS": {"name": "Wording", "about": "Wrong words.", "severity": "major"}},
    "bands": {"Good": "75 %", "Bad": 0},
    "pass": "score >= 75 %",
    "gates": ["pass_rate >= 90 %"],
    "criteria": {
        "good": {"pass": "average >= 80 %", "fail": "average < 60 %", "about": "Look closer."},
        "read": {"pass": "valid in >= 2 of 3 repeats", "secondary": True},
    },
    "targets": {"other": {"chat": CHAT}},
    "limits": {"max_inconclusive": "10 %", "timeout": 5},
    "repeats": 2,
}


NO_MORE = {"means": {}, "source": "", "figure": "", "key": "", "about": ""}


@pytest.fixture
def full(write):
    return load_suite(write(FULL, files={"user.md": "Greet: {{ input }}"}))


def test_a_suite_is_described_as_plain_data(full):
    assert json.loads(json.dumps(full.data())) == {
        "name": "greetings",
        "about": "Say hello.",
        "version": "3",
        "components": [
            {
                "name": "text",
                "weight": 70.0,
                "scorer": "same",
                "version": 1,
                "params": {"answer": None, "expected": "expected.text", "also": [], "strict": False},
                "code": "WORDS",
                "scale": [0.0, 1.0],
                "when_unknown": None,
                "wrong_below": 0.4,
                "strict": False,
                "measures": {},
                "kind": "component",
                **NO_MORE,
            },
            {
                "name": "name",
                "weight": 1.0,
                "scorer": "same",
                "version": 1,
                "params": {"answer": None, "expected": "input", "also": [], "strict": False},
                "code": "NAME",
                "scale": [0.0, 1.0],
                "when_unknown": "skip",
                "wrong_below": 0.5,
                "strict": False,
                "measures": {},
                "kind": "component",
                **NO_MORE,
            },
        ],
        "bands": [{"name": "Good", "at_least": 0.75}, {"name": "Bad", "at_least": 0.0}],
        "passing": {"at_least": 0.75, "text": "score >= 75 %"},
        "gates": ["pass_rate >= 90 %"],
        "taxonomy": [
            {"code": "WORDS", "name": "Wording", "about": "Wrong words.", "severity": "major"},
            {"code": "NAME", "name": "", "about": "name is wrong", "severity": "error"},
            {
                "code": "FORMAT",
                "name": "",
                "about": "The answer cannot be read, or is not in the shape asked for.",
                "severity": "error",
            },
        ],
        "criteria": [
            {
                "name": "good",
                "pass": "average >= 80 %",
                "fail": "average < 60 %",
                "secondary": False,
                "about": "Look closer.",
            },
            {"name": "read", "pass": "valid in >= 2 of 3 repeats", "fail": None, "secondary": True, "about": ""},
        ],
        "variants": [""],
        "repeats": 2,
        "limits": {
            "concurrency": 8,
            "timeout": 5.0,
            "retries": 3,
            "requests_per_second": None,
            "max_cost": None,
            "max_inconclusive": 0.1,
            "min_paired": 0.9,
            "max_pixels": 64_000_000,
            "warm_up": 0,
            "rate": None,
            "outage": 300.0,
            "anchors": 20,
        },
        "audit": {
            "null_share": 0.05,
            "null_share_strict": None,
            "null_passes": 0.0,
            "wrong_share": 0.5,
            "truth_share": 0.99,
        },
        "answer": {"format": "json", "schema": {"type": "object"}, "repair": True},
        "judge": None,
        "confidence": None,
        "expect": None,
        "stability": None,
        "latency": {"below": None, "above": None, "normal": None, "smallest": 0.005, "smallest_share": 0.05},
        "metrics": [],
        "slices": [],
        "allow": [],
        "alerts": None,
        "usual_repeats": None,
        "n_cases": None,
        "n_pending": 0,
        "n_pending_known": 0,
        "pending_of": "",
        "n_planned": None,
        "without_truth": [],
        "uncalled": [],
        "ledger": [],
    }
    assert SuiteModel.from_data(json.loads(json.dumps(full.data()))).data() == full.data()
    assert full.limits.timeout == 5
    assert full.bands[0] == Band(name="Good", at_least=0.75)


@pytest.mark.parametrize(
    ("written", "read"), [(0.75, "score >= 0.75"), ("75%", "score >= 75%"), ("score>=0.75", "score>=0.75")]
)
def test_a_pass_rule_keeps_its_wording(write, written, read):
    assert load_suite(write({"pass": written})).passing == Threshold(at_least=0.75, text=read)


def test_strict_turns_on_every_strict_rule_and_leaves_the_suite_alone(full):
    assert [component["strict"] for component in strict(full).data()["components"]] == [True, True]
    assert [component["strict"] for component in full.data()["components"]] == [False, False]


def test_one_factor_gives_short_names_and_files_are_read(write):
    prompts = [{"file": "p/a.md"}, {"name": "brief", "file": "p/b.md"}, {"name": "c", "value": "Hi {{ input }}"}]
    suite = load_suite(write({"variants": {"prompt": prompts}}, files={"p/a.md": "A", "p/b.md": "B"}))
    assert [(v.name, v.values) for v in suite.variants] == [
        ("a", {"prompt": "A"}),
        ("brief", {"prompt": "B"}),
        ("c", {"prompt": "Hi {{ input }}"}),
    ]
    assert suite.prompts == {
        "variant prompt=a": "A",
        "variant prompt=brief": "B",
        "variant prompt=c": "Hi {{ input }}",
    }


def test_several_factors_give_their_product(write):
    suite = load_suite(write({"variants": {"prompt": ["a", "b"], "temperature": [0, 0.5, None]}}))
    assert [variant.name for variant in suite.variants] == [
        "prompt=a, temperature=0",
        "prompt=a, temperature=0.5",
        "prompt=a, temperature=null",
        "prompt=b, temperature=0",
        "prompt=b, temperature=0.5",
        "prompt=b, temperature=null",
    ]
    assert suite.variants[4].values == {"prompt": "b", "temperature": 0.5}


def test_a_named_target_is_chosen_and_settings_go_over_it(full):
    other = with_target(full, "other", {"temperature": 0.3})
    assert (other.target.kind, other.target.settings.model, other.target.settings.temperature) == ("chat", "m", 0.3)
    assert other.prompts == {"system": "Be kind.", "user": "Greet: {{ input }}"}
    assert full.target.kind == "python"
    assert full.prompts == {}


def test_a_kind_takes_over_what_the_suite_declares_for_it(full):
    assert with_target(full, "chat", {"model": "n"}).target.settings.system == "Be kind."
    assert with_target(full, None, {"function": "x:y"}).target.settings.function == "x:y"
    assert with_target(full, None, {}) is full


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("chta", {}, "there is no target 'chta': did you mean chat?"),
        ("other", {"modle": "x"}, "unknown key 'modle': did you mean model?"),
        ("recorded", {"file": "nope.jsonl"}, "there is no file nope.jsonl"),
    ],
)
def test_a_wrong_target_on_the_command_line_is_reported(full, name, settings, message):
    with pytest.raises(UsageError) as raised:
        with_target(full, name, settings)
    assert message in str(raised.value)


def test_the_default_target_may_be_one_of_the_named(write):
    suite = load_suite(write({"target": "one", "targets": {"one": {"python": "m:f"}}}))
    assert suite.target.settings.function == "m:f"


# The signature: each change below changes exactly one part.

BASE = {
    "cases": "c.json",
    "target": {"chat": CHAT},
    "answer": {"schema": {"type": "string"}},
}
ROW = {"id": "a", "input": "hi", "expected": {"text": "x"}, "category": "k", "tags": ["t"], "attachments": "a.png"}
FILES = {"user.md": "Greet: {{ input }}", "a.png": b"one"}
IDENTITY = {"kind": "chat", "model": "m", "address": "http://localhost/v1", "prompts": {"system": "1"}}


def signed(write, change=None, row=None, files=None, identity=None):
    path = write(BASE | (change or {}), files={**FILES, "c.json": [ROW | (row or {})], **(files or {})})
    return signature(load_suite(path), TargetFacts(IDENTITY | (identity or {})))


PARTS = ("cases", "truth", "scorers", "prompts", "schema", "target")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"row": {"input": "ho"}}, "cases"),
        ({"row": {"category": "l"}}, "cases"),
        ({"row": {"tags": ["t", "u"]}}, "cases"),
        ({"files": {"a.png": b"two"}}, "cases"),
        ({"row": {"attachments": []}}, "cases"),
        ({"row": {"expected": {"text": "y"}}}, "truth"),
        ({"row": {"expected": {"text": "x", "more": 1}}}, "truth"),
        ({"change": {"score": {"text": {"same": {"expected": "expected.text", "strict": True}}}}}, "scorers"),
        ({"change": {"score": {"text": {"same": {"expected": "expected.text"}, "weight": 2}}}}, "scorers"),
        ({"change": {"pass": 0.5}}, "scorers"),
        ({"change": {"bands": {"Good": 0.5, "Poor": 0}}}, "scorers"),
        ({"files": {"user.md": "Greet, please: {{ input }}"}}, "prompts"),
        ({"change": {"target": {"chat": CHAT | {"system": "Be brief."}}}}, "prompts"),
        ({"change": {"variants": {"tone": ["dry"]}}}, "prompts"),
        ({"identity": {"prompts": {"system": "2"}}}, None),
        ({"change": {"answer": {"schema": {"type": "number"}}}}, "schema"),
        ({"change": {"answer": {}}}, "schema"),
        ({"identity": {"address": "http://elsewhere/v1"}}, "target"),
        ({"row": {"why": "because"}}, None),
        ({"change": {"about": "Other words."}}, None),
        ({"change": {"gates": ["average >= 0.5"]}}, None),
    ],
)
def test_each_change_changes_exactly_its_part(write, changes, part):
    before, after = signed(write), signed(write, **changes)
    assert [name for name in PARTS if before.part(name) != after.part(name)] == ([part] if part else [])
    assert (before.text != after.text) == bool(part)


def test_a_new_version_of_a_scorer_is_another_signature(write, monkeypatch):
    from steelyard import plugins

    before = signed(write)
    monkeypatch.setattr(plugins.find("scorers", "same"), "version", 2)
    after = signed(write)
    assert [name for name in PARTS if before.part(name) != after.part(name)] == ["scorers"]


def test_the_signature_names_target_and_model_in_one_line(write):
    found = signed(write)
    assert (found.suite, found.target_kind, found.model) == ("greetings", "chat", "m")
    words = [part.split()[0] for part in found.text.split(" | ")]
    assert words == ["greetings", "cases", "truth", "scorers", "prompts", "schema", "target", "model"]
    assert "\n" not in found.text


def test_the_order_of_cases_and_the_kind_of_file_are_no_other_signature(write):
    rows = [{"id": str(n), "input": n, "expected": {"text": "x"}} for n in range(20)]
    one = load_suite(write({"cases": "c.json"}, files={"c.json": rows})).survey
    lines = "".join(json.dumps(row) + "\n" for row in reversed(rows))
    other = load_suite(write({"cases": "c.jsonl"}, files={"c.jsonl": lines})).survey
    assert one == other


def test_what_no_case_has_a_truth_for_is_known_before_anybody_answers(write):
    cases = [
        {"id": "a", "input": "x", "expected": {"text": "x", "year": None}},
        {"id": "b", "input": "y", "tags": ["t"]},
    ]
    score = {
        "text": {"same": {"expected": "expected.text"}, "when_unknown": "skip"},
        "year": {"same": {"expected": "expected.year"}, "when_unknown": "skip", "weight": 0},
        "form": {"same": {"expected": "input"}, "code": "TEXT"},
    }
    suite = load_suite(write({"score": score, "cases": "c.json"}, files={"c.json": json.dumps(cases)}))
    assert without_truth(suite, suite.cases) == ["score.year", "findings.YEAR"]
    # Of the second case alone nothing else is known; TEXT is a code that `form` gives, too.
    part = [case for case in suite.cases if case.id == "b"]
    assert without_truth(suite, part) == ["score.text", "score.year", "findings.YEAR"]
