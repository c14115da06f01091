"""Cases are found at the line they begin on, whatever file they are in."""

from __future__ import annotations

import pytest
import yaml

from parts.small_suite import write_suite
from steelyard.loading.load import load_suite
from steelyard.suite.cases import CasePlace, case_places

IDS = ("c0", "c1", "c2")
JSON = '[\n  {"id": "c0", "input": 0},\n  {\n    "id": "c1", "input": 1\n  },\n  {"id": "c2", "input": 2}\n]\n'
YAML = "# cases\n- id: c0\n  input: 0\n- id: c1\n  input: 1\n\n- id: c2\n  input: 2\n"
JSONL = '{"id": "c0", "input": 0}\n\n{"id": "c1", "input": 1}\n{"id": "c2", "input": 2}\n'
KEYED = "c0: {input: 0}\nc1:\n  input: 1\nc2: {input: 2}\n"
CSV = "id,input\nc0,0\nc1,1\nc2,2\n"


def suite_with(folder, cases, **files):
    path = write_suite(folder, n=1)
    data = yaml.safe_load(path.read_text()) | {"cases": cases, "score": {"word": {"exact": {"expected": "input"}}}}
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    for name, text in files.items():
        target = folder / name.replace("__", "/")
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    return load_suite(folder)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.json", JSON, (2, 3, 6)),
        ("a.yaml", YAML, (2, 4, 7)),
        ("b.yaml", KEYED, (1, 2, 4)),
        ("a.jsonl", JSONL, (1, 3, 4)),
        ("a.csv", CSV, (2, 3, 4)),
    ],
)
def test_a_case_is_at_its_line(tmp_path, name, text, lines):
    found = case_places(suite_with(tmp_path, {"files": name}, **{name: text}), IDS)
    assert found == {case: CasePlace(tmp_path / name, line) for case, line in zip(IDS, lines, strict=True)}
    assert found["c1"].within(tmp_path.parent) == f"{tmp_path.name}/{name}"


def test_a_file_that_is_one_case_is_at_its_first_line(tmp_path):
    files = {"cases__c0.json": '{\n"input": 0}', "cases__c1.json": '{"input": 1}'}
    found = case_places(suite_with(tmp_path, {"folder": "cases"}, **files), ["c1"])
    assert found == {"c1": CasePlace(tmp_path / "cases/c1.json", 1)}


def test_cases_in_the_suite_file_are_at_their_lines_there(tmp_path):
    suite = suite_with(tmp_path, [{"id": "c0", "input": 0}, {"id": "c1", "input": 1}])
    line = (tmp_path / "suite.yaml").read_text().splitlines().index("- id: c1") + 1
    assert case_places(suite, ["c1"]) == {"c1": CasePlace(tmp_path / "suite.yaml", line)}


def test_what_is_nowhere_has_no_place(tmp_path):
    suite = suite_with(tmp_path, {"files": "a.yaml"}, **{"a.yaml": YAML})
    assert case_places(suite, []) == {}
    assert case_places(suite, ["c7"]) == {}
    (tmp_path / "a.yaml").unlink()
    assert case_places(suite, ["c0"]) == {}
    assert CasePlace(tmp_path / "a.yaml").within(tmp_path / "elsewhere") == ""
