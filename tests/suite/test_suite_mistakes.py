"""Every mistake in a suite file is told at once, with file, line and what was probably meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite

pytestmark = pytest.mark.boundary("pydantic", "pyyaml")


def problems(path: Path) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    return str(raised.value).splitlines()


def test_all_mistakes_are_sent_at_once_in_the_order_of_the_file(write):
    path = write(
        """suite: demo
abut: A demo.
cases: {files: case.json}
target: {pyton: "m:f"}
score:
  a: {smae: {expected: expected.text}}
  b: {same: {expecte: x}, wieght: 70}
  c: {same: {expected: 3}, weight: heavy}
  d: nix
bands: {Good: 75, Bad: 0}
pass: score > 75 %
gates: [pass_rat >= 90 %]
limits: {timeout: soon, concurrency: 0}
repeats: 1.5
answer: {format: jsn}
findings: {X: {severity: majr}}
variants: {p: [{file: nope.md}], q: 3}
audit: {null_share: 120 %}
"""
    )
    assert problems(path) == [
        "suite.yaml:2: unknown key 'abut': did you mean about?",
        "suite.yaml:3: there is no file case.json: did you mean cases.json?",
        "suite.yaml:4: unknown target 'pyton': did you mean python?",
        "suite.yaml:6: score.a: unknown scorer 'smae': did you mean same?",
        "suite.yaml:7: score.b: unknown key 'wieght': did you mean weight?",
        "suite.yaml:7: score.b.same: unknown key 'expecte': did you mean expected?",
        'suite.yaml:8: score.c.weight must be a number; found "heavy" (text)',
        "suite.yaml:8: score.c.same.expected must be text; found 3 (a number)",
        'suite.yaml:9: score.d must name a scorer, as in {exact: {expected: expected.d}}; found "nix" (text)',
        "suite.yaml:10: bands.Good: 75 is above 1: write 75 % or 0.75",
        'suite.yaml:11: pass: "score > 75 %" is not a pass rule: write score >= 0.75 or score >= 75 %',
        "suite.yaml:12: gate 'pass_rat >= 90 %': there is no metric 'pass_rat': did you mean pass_rate?",
        "suite.yaml:13: limits.concurrency must be at least 1; found 0 (a number)",
        'suite.yaml:13: limits.timeout must be a number; found "soon" (text)',
        "suite.yaml:14: repeats must be a whole number; found 1.5 (a number)",
        "suite.yaml:15: answer.format: 'jsn' is not known: did you mean json?",
        "suite.yaml:16: findings.X.severity: 'majr' is not known: did you mean major?",
        "suite.yaml:17: variants.q must be a list; found 3 (a number)",
        "suite.yaml:17: there is no file nope.md",
        "suite.yaml:18: audit.null_share: 120 % is above 100 %",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suite": ""}, "suite must be not empty"),
        ({"score": {}}, "score is empty"),
        ({"score": {"a": {"weight": 3}}}, "score.a names no scorer"),
        ({"score": {"a": {"same": {"expected": "id"}, "between": {}}}}, "score.a names 2 scorers (same, between)"),
        ({"score": {"a": {"same": {"expected": "id"}, "weight": 0}}}, "nothing to score: every weight is 0"),
        ({"score": {"a": {"same": {"expected": "id"}, "weight": -1}}}, "score.a.weight must be at least 0"),
        ({"score": None}, "score must be a group of keys; found nothing"),
        ({"score": {"a": {"same": {"expected": "id"}, "scale": [1, 0]}}}, "score.a.scale: 1 is not below 0"),
        ({"score": {"a": {"same": {"expected": "id"}, "when_unknown": "ignore"}}}, "'ignore' is not known"),
        ({"score": {"a": {"same": {"expected": "a..b"}}}}, "'a..b' is not a path"),
        ({"score": {"a.b": {"same": {"expected": "id"}}}}, "must not be empty or hold dots"),
        ({"target": {}}, "a target is one kind with its settings"),
        ({"target": {"python": "m:f", "http": {}}}, "found 2 kinds"),
        ({"target": None}, "target is missing"),
        ({"target": {"python": {"fnction": "m:f"}}}, "unknown key 'fnction': did you mean function?"),
        ({"target": {"recorded": "../../a.jsonl"}}, "../../a.jsonl leads out of the suite's folder"),
        ({"target": {"recorded": {"file": "a.jsonl"}}}, "there is no file a.jsonl"),
        ({"targets": {"x": {"recorded": "/etc/hosts"}}}, "/etc/hosts is an absolute path"),
        ({"targets": {"x": {"python": "m:f"}}, "target": "y"}, "no target is called 'y'"),
        ({"bands": {"Good": "75 %", "Fine": 0.75, "Bad": 0}}, "bands.Fine: starts where Good does"),
        (
            {"bands": {"Bad": 0, "Good": "75 %"}},
            "bands.Good: starts above Bad: write them from the highest",
        ),
        ({"bands": {"Good": 0.75, "Fair": 0.5}}, "bands.Fair: is the lowest, and must start at 0"),
        ({"bands": {"Good": "seventy"}}, 'a share is written 0.75 or 75 %; found "seventy" (text)'),
        ({"pass": 75}, "75 is above 1: write 75 % or 0.75"),
        ({"pass": True}, "a share is written 0.75 or 75 %; found true"),
        ({"gates": ["pass_rate >= 0.9"]}, "needs a pass rule"),
        ({"gates": ["category.*.average >= 0.6"]}, "no case of this suite has a category"),
        ({"gates": [3]}, "gates[0] must be text; found 3 (a number)"),
        ({"gates": ["findings.TXET == 0"]}, "did you mean TEXT?"),
        ({"answer": {"schema": "no.json"}}, "there is no file no.json"),
        ({"answer": {"schema": {"type": "objekt"}}}, "answer.schema is not a valid JSON Schema"),
        ({"answer": {"schema": {"$ref": "https://example.org/x.json"}}}, "answer.schema is not a valid JSON Schema"),
        ({"answer": {"schema": {}, "format": "text"}}, "a schema is for JSON answers"),
        ({"answer": {"schema": "cases.json"}}, "cases.json holds no JSON Schema"),
        ({"variants": {"p": []}}, "variants.p is empty"),
        ({"variants": {"p": ["a", "a"]}}, "two values are called 'a'"),
        ({"variants": {"p": [[1, 2]]}}, "give this value a name"),
        ({"variants": {"p": [{"file": "../x.md"}]}}, "leads out of the suite's folder"),
        ({"variants": {c: list(range(10)) for c in "abcde"}}, "the variants make 100000 combinations"),
        ({"cases": {"files": "cases.json", "folder": "x"}}, "both files and folder"),
        ({"cases": {"at": "x"}}, "neither files nor folder"),
        ({"cases": {"folder": "nope"}}, "there is no folder nope"),
        ({"cases": {"files": "*.csv"}}, "no file fits *.csv"),
        ({"cases": 3}, "cases names files, a folder, or lists the cases; found 3 (a number)"),
        ({"cases": {"files": ["cases.json", "cases.json"]}}, "cases.json is named twice"),
        ({"limits": {"max_inconclusive": 5}}, "5 is above 1: write 5 % or 0.05"),
        ({"limits": 3}, "limits must be a group of keys; found 3 (a number)"),
    ],
)
def test_a_mistake_is_reported_in_plain_words(write, change, message):
    told = problems(write(change))
    assert any(message in line for line in told), told
    assert not any("pydantic" in line or "Input should" in line or "type=" in line for line in told)
    assert len(told) == 1, told


def test_a_path_that_is_in_no_case_is_reported_with_the_likely_one(write):
    score = """suite: s
cases: cases.json
target: {python: "m:f"}
score:
  text:
    same: {expected: expected.txt}
  other: {same: {expected: text}}
"""
    assert problems(write(score)) == [
        "suite.yaml:6: expected.txt is in none of the 2 cases: did you mean expected.text?",
        "suite.yaml:7: text is in none of the 2 cases: did you mean expected.text?",
    ]


ONE_WITHOUT = [{"id": "a", "expected": {"text": "x"}}, {"id": "b", "expected": {"text": None}}]


def test_missing_truth_without_a_policy_is_a_mistake(write):
    told = problems(write({"cases": "c.json"}, files={"c.json": json.dumps(ONE_WITHOUT, indent=1)}))
    assert len(told) == 1
    assert "score.text: 1 of 2 cases have no truth for it (the first is b at c.json:8)" in told[0]
    assert "when_unknown: skip or when_unknown: say_unknown" in told[0]


@pytest.mark.parametrize("policy", ["skip", "say_unknown"])
def test_missing_truth_with_a_policy_is_none(write, policy):
    score = {
        "text": {"same": {"expected": "expected.text"}, "when_unknown": policy},
        "id": {"same": {"expected": "id"}},
    }
    suite = load_suite(write({"cases": "c.json", "score": score}, files={"c.json": ONE_WITHOUT}))
    assert suite.components[0].when_unknown == policy


def test_a_case_in_which_everything_is_skipped_is_a_mistake(write):
    score = {"text": {"same": {"expected": "expected.text"}, "when_unknown": "skip"}}
    told = problems(write({"cases": "c.json", "score": score}, files={"c.json": json.dumps(ONE_WITHOUT, indent=1)}))
    assert told == ["c.json:8: case b: nothing to score: it has no truth for any component, and all are skipped"]


def test_a_prompt_that_does_not_compile_is_reported_in_its_own_file(write):
    target = {"chat": {"model": "m", "base_url": "http://localhost/v1", "user": {"file": "user.md"}, "system": "{{ x"}}
    told = problems(write({"target": target}, files={"user.md": "one\n{{ csae.id }}\n"}))
    assert any(line.startswith("user.md:2: the template uses 'csae'") for line in told)
    assert any(line.startswith("suite.yaml:") and "does not compile" in line for line in told)
    assert len(told) == 2


def test_mistakes_of_suite_and_cases_come_together(write):
    told = problems(write({"abuot": 1, "cases": "c.jsonl"}, files={"c.jsonl": '{"id": "a"}\n{"id": 1, "tags": {}}\n'}))
    assert any("abuot" in line for line in told)
    assert any(line.startswith("c.jsonl:2: a tag is text") for line in told)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "suite: [\n"])
def test_what_is_no_suite_is_reported(write, text):
    assert problems(write(text))[0].startswith("suite.yaml")


def test_a_scorer_that_breaks_on_a_case_is_a_mistake_and_no_traceback(write, monkeypatch):
    from steelyard import plugins

    def explode(self, case):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(plugins.find("scorers", "between"), "check", explode)
    score = {"v": {"between": {"low": "expected.text", "high": "expected.text"}}}
    told = problems(write({"score": score}))
    assert told[0].startswith("cases.json:1: case a: the scorer of v raised ZeroDivisionError: by zero (test_suite_")


def test_a_suite_is_found_by_file_folder_and_name(write):
    path = write()
    assert load_suite(path).name == load_suite(path.parent).name == load_suite(str(path)).name == "greetings"
    with pytest.raises(UsageError, match="there is no suite at nothing-of-that-name"):
        load_suite("nothing-of-that-name")


def test_a_folder_without_a_suite_is_reported(tmp_path):
    with pytest.raises(UsageError, match=r"holds no suite\.yaml"):
        load_suite(tmp_path)


def test_a_pass_rule_that_every_answer_meets_is_a_mistake(write):
    (told,) = problems(write({"pass": "score >= 0"}))
    assert "every answer, the empty one too, would pass" in told


def test_a_weight_without_end_is_a_mistake(write):
    score = {"text": {"same": {"expected": "expected.text"}, "weight": float("inf")}}
    assert len(problems(write({"score": score}))) == 1


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_table_that_is_not_separated_by_commas_is_reported(write, sign, word):
    table = f"id{sign}input{sign}expected.text\na{sign}q{sign}t\n"
    told = problems(write({"cases": "c.csv"}, files={"c.csv": table}))
    assert f"c.csv:1: the headings are separated by {word}, not by commas: save the file with commas" in told


def test_a_tab_and_a_wrong_indentation_are_named(write):
    assert "the line begins with a tab: indent with spaces" in problems(write("suite: s\ncases:\n\tfiles: c.json\n"))[0]
    assert "is the line indented like its neighbours?" in problems(write("suite: s\ncases:\n  a: 1\n b: 2\n"))[0]
    path = problems(write("suite: s\nscore:\n  cited: {subset: {of: answer.retrieved[].id}}\n"))[0]
    assert path.endswith('; inside { } a path with [] is quoted: "answer.retrieved[].id"')


@pytest.mark.parametrize("hole", ["{{ case.expected.text }}", "{% if case['expected'] %}x{% endif %}"])
def test_a_template_that_shows_the_truth_is_a_mistake(write, hole):
    target = {"chat": {"model": "m", "base_url": "http://localhost/v1", "user": f"Read.\n{hole}"}}
    (told,) = problems(write({"target": target}))
    assert "the template would show the truth to the system under test" in told
