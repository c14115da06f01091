"""The published JSON Schema says what the checks say."""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import pytest

from steelyard import plugins
from steelyard.loading.json_schema import schema_text, suite_schema
from steelyard.loading.load import load_suite
from steelyard.suite.yaml import read_yaml

pytestmark = pytest.mark.boundary("jsonschema-rs", "pydantic")

ROOT = Path(__file__).parents[2]
GOOD = """suite: demo
about: Everything at once.
cases:
  files: [cases.json]
  map:
    category: group
    tags: {constant: [demo]}
    expected:
      "*": expected
      cents: {from: expected.dollars, unit: dollars to cents, default: 0}
      label: {template: "{{ expected.text }}!"}
target: {recorded: answers.jsonl}
targets:
  better: {recorded: {file: answers.jsonl}}
  mine: {python: "m:f"}
answer: {schema: {type: object}}
score:
  text: {exact: {expected: expected.text}, weight: 70, when_unknown: skip, wrong_below: 40 %}
  cents: {number: {expected: expected.cents, absolute: 1}}
findings: {TEXT: {about: Wrong., severity: major}}
bands: {Good: 75 %, Bad: 0}
pass: score >= 75 %
gates: [pass_rate >= 90 %]
variants: {tone: [dry, {name: warm, value: kind}]}
repeats: 2
limits: {timeout: 5, max_inconclusive: 5 %}
audit: {null_share: 25 %}
"""


@pytest.fixture(scope="module")
def plain_schema():
    """The schema of the built-in scorers and targets alone."""
    return suite_schema()


def fits(schema, text: str) -> bool:
    return jsonschema_rs.validator_for(schema).is_valid(read_yaml(text, "f").data)


def test_a_good_suite_fits_and_loads(write, plain_schema):
    assert fits(plain_schema, GOOD)
    rows = [{"id": "a", "group": "g", "expected": {"text": "x", "dollars": 2}}]
    assert load_suite(write(GOOD, files={"cases.json": rows, "answers.jsonl": ""})).survey.n == 1


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("suite: demo", "siute: demo"),
        ("weight: 70", "weight: heavy"),
        ("weight: 70", "wieght: 70"),
        ("weight: 70", "weight: -1"),
        ("exact: {expected: expected.text}", "exat: {expected: expected.text}"),
        ("exact: {expected: expected.text}", "exact: {expcted: expected.text}"),
        ("exact: {expected: expected.text}", "exact: {expected: x}, number: {expected: x}"),
        ("target: {recorded: answers.jsonl}", "target: {recorder: answers.jsonl}"),
        ("target: {recorded: answers.jsonl}", "target: {recorded: {fiel: answers.jsonl}}"),
        ('mine: {python: "m:f"}', 'mine: {python: "m:f", recorded: x}'),
        ("unit: dollars to cents, default", "untit: dollars to cents, default"),
        ("category: group", "categroy: group"),
        ("Good: 75 %", "Good: 75"),
        ("score >= 75 %", "score > 75 %"),
        ("repeats: 2", "repeats: 0"),
        ("target: {recorded: answers.jsonl}", ""),
        ("{name: warm, value: kind}", "{nam: warm, value: kind}"),
        ("severity: major", "severity: majr"),
        ("when_unknown: skip", "when_unknown: ignore"),
        ("timeout: 5", "timeout: soon"),
        ("gates: [pass_rate >= 90 %]", "gates: [3]"),
    ],
)
def test_a_bad_suite_does_not_fit(plain_schema, good, bad):
    assert good in GOOD
    assert not fits(plain_schema, GOOD.replace(good, bad))


def test_every_scorer_and_target_is_in_it_those_of_plug_ins_too():
    definitions = suite_schema()["$defs"]
    component, target = definitions["Component"], definitions["Target"]
    assert "same" in component["properties"]
    assert set(plugins.names("scorers")) <= set(component["properties"])
    assert {*plugins.names("targets"), "name"} == set(target["properties"])


def test_everything_is_described_and_nothing_unknown_is_allowed(plain_schema):
    assert all("description" in part for part in plain_schema["properties"].values())
    for name, part in plain_schema["$defs"].items():
        for key, inner in part.get("properties", {}).items():
            assert "description" in inner or "$ref" in inner, f"{name}.{key} has no description"
        if part.get("type") == "object" and "properties" in part and name != "Case":
            assert part.get("additionalProperties") is False, f"{name} allows unknown keys"


def test_the_published_file_is_up_to_date(monkeypatch):
    monkeypatch.undo()  # without the scorers of these tests
    published = (ROOT / "docs" / "suite.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: python -m steelyard.loading.json_schema docs/suite.schema.json"


def test_the_built_in_suites_fit(plain_schema):
    paths = sorted((ROOT / "src/steelyard/suites").glob("*/suite.yaml"))
    assert [path.parent.name for path in paths] == ["antiques", "cards", "review", "spans", "tarot"]
    for path in paths:
        assert fits(plain_schema, path.read_text(encoding="utf-8")), path
