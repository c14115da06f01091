"""Records of another shape become cases."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.loading.suite import build_suite
from steelyard.suite.cases import ListCases
from steelyard.suite.draft import Draft
from steelyard.suite.mapping import Unmappable, compile_mapping
from steelyard.suite.units import convert, unit_factor
from steelyard.suite.yaml import Located


def mapped(spec, record):
    mistakes = []
    mapping = compile_mapping(spec, lambda message, place: mistakes.append(message))
    assert mistakes == []
    return mapping.fields(record)


@pytest.mark.parametrize(
    ("value", "unit", "result"),
    [
        (19.99, "dollars to cents", 1999),  # 19.99 * 100 is 1998.9999999999998 in binary
        ("4500", "dollars to cents", 450000),
        (1999, "cents to dollars", 19.99),
        (2000, "cents to dollars", 20),
        (0.07, "fraction to percent", 7),
        (1500, "ms to s", 1.5),
        (12, "thousands to units", 12000),
        (1, "inches to mm", 25.4),
    ],
)
def test_a_change_of_unit_is_exact(value, unit, result):
    converted = convert(value, unit_factor(unit))
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("dollars to sents", "did you mean cents?"),
        ("dollars to euros", "dollars cannot be changed to euros"),
        ("dollars", "write it like dollars to cents"),
    ],
)
def test_an_unknown_change_of_unit_is_reported(unit, message):
    with pytest.raises(ValueError) as raised:
        unit_factor(unit)
    assert message in str(raised.value)


@pytest.mark.parametrize("value", ["many", None, True, [], float("inf"), float("nan"), "1e99999999", "", {}])
def test_what_is_no_number_has_no_unit(value):
    with pytest.raises(ValueError, match="is not a number"):
        convert(value, unit_factor("dollars to cents"))


def test_rename_constant_template_merge_and_default():
    record = {"key": 7, "q": {"text": "Hi"}, "truth": {"name": "A", "price": 19.99, "old": 1}, "level": None}
    spec = {
        "id": "key",
        "input": {"text": "q.text", "more": {"deep": "q.nope"}},
        "tags": {"constant": ["demo"]},
        "difficulty": {"from": "level", "default": "easy"},
        "expected": {
            "*": "truth",
            "price": {"from": "truth.price", "unit": "dollars to cents"},
            "label": {"template": "{{ truth.name }}!"},
        },
    }
    assert mapped(spec, record) == {
        "id": 7,
        "input": {"text": "Hi", "more": {}},
        "tags": ["demo"],
        "difficulty": "easy",
        "expected": {"name": "A", "price": 1999, "old": 1, "label": "A!"},
    }
    assert record["truth"]["price"] == 19.99, "the record itself is left as it was"


@pytest.mark.parametrize(
    ("how", "cell", "value"),
    [
        ("number", "3.5", 3.5),
        ("number", "3", 3),
        ("integer", "3", 3),
        ("integer", "3.0", 3),
        ("list", "a; b,c", ["a", "b,c"]),
        ("list", "a, b", ["a", "b"]),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("boolean", "Yes", True),
        ("boolean", "0", False),
        ("text", 3, "3"),
    ],
)
def test_cells_of_text_can_be_converted(how, cell, value):
    assert mapped({"expected": {"from": "x", "as": how}}, {"x": cell})["expected"] == value


@pytest.mark.parametrize(("how", "cell"), [("number", "x"), ("integer", "1.5"), ("boolean", "maybe"), ("json", "{")])
def test_a_cell_that_cannot_be_converted_is_reported(how, cell):
    with pytest.raises(Unmappable, match=r"^x "):
        mapped({"expected": {"from": "x", "as": how}}, {"x": cell})


def test_mistakes_in_a_mapping_are_reported_with_their_line(write):
    path = write(
        """suite: s
cases:
  files: cases.json
  map:
    inptu: text
    expected: {from: expected.txt, unti: dollars to cents}
    tags: {template: "{{ x"}
    why: {from: expected.text, as: nubmer}
    category: a..b
target: {python: "m:f"}
score: {text: {same: {expected: expected}}}
"""
    )
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    text = str(raised.value)
    assert "suite.yaml:5: cases.map: unknown key 'inptu': did you mean input?" in text
    assert "suite.yaml:6: cases.map: unknown key 'unti': did you mean unit?" in text
    assert "suite.yaml:6: expected.txt is in none of the 2 records: did you mean expected.text?" in text
    assert "suite.yaml:7: cases.map: the template does not compile" in text
    assert "suite.yaml:8: cases.map: unknown conversion" in text
    assert "suite.yaml:9: cases.map: 'a..b' is not a path" in text


def test_a_file_in_its_own_shape_loads_without_rewriting(write):
    records = [
        {
            "id": "lamp-1",
            "imageUrl": "https://example.org/lamp.jpg?size=800",
            "imageDescription": "A brass desk lamp",
            "expected": {"name": "Desk lamp", "group": "lighting", "valueMin": 45.5, "valueMax": 90, "level": "easy"},
        },
        {
            "id": "lamp-2",
            "imageUrl": "",
            "imageDescription": "A floor lamp",
            "expected": {"name": "Floor lamp", "group": "lighting", "valueMin": 10, "valueMax": 20, "level": "hard"},
        },
    ]
    path = write(
        """suite: lamps
cases:
  files: items.json
  map:
    category: expected.group
    difficulty: expected.level
    attachments: imageUrl
    input: {description: imageDescription}
    expected:
      "*": expected
      low: {from: expected.valueMin, unit: dollars to cents}
      high: {from: expected.valueMax, unit: dollars to cents}
target: {python: "m:f"}
score:
  name: {same: {expected: expected.name}}
  value: {between: {low: expected.low, high: expected.high}}
""",
        files={"items.json": json.dumps(records, indent=1)},
    )
    first, second = load_suite(path).cases
    assert first.expected["low"] == 4550
    assert (first.category, first.difficulty) == ("lighting", "easy")
    assert first.input == {"description": "A brass desk lamp"}
    assert [(a.place, a.media_type) for a in first.attachments] == [
        ("https://example.org/lamp.jpg?size=800", "image/jpeg")
    ]
    assert second.attachments == ()
    assert first.source == "items.json:2"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "id", "x"]), inner, max_size=4)
    ),
    max_leaves=15,
)
paths = st.sampled_from(["a", "a.b", "x", "a[].x", "", "b.0", "i"])
rules = st.recursive(
    paths
    | st.fixed_dictionaries({"constant": json_values})
    | st.fixed_dictionaries({"template": st.sampled_from(["{{ a }}", "{{ a.b }}", "{{ x + 1 }}", "{{ i * 3 }}"])})
    | st.fixed_dictionaries(
        {"from": paths},
        optional={
            "unit": st.sampled_from(["dollars to cents", "ms to s"]),
            "as": st.sampled_from(["number", "integer", "list", "json", "boolean", "text"]),
            "default": json_values,
        },
    ),
    lambda inner: st.dictionaries(st.sampled_from(["*", "k", "l"]), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(json_values, max_size=4),
    st.dictionaries(st.sampled_from(["id", "input", "expected", "tags", "why", "category"]), rules, max_size=4),
)
def test_any_records_under_any_mapping_load_or_are_a_suite_error(tmp_path_factory, records, spec):
    folder = tmp_path_factory.getbasetemp()
    mapping = compile_mapping(spec, lambda _message, _place: None)
    source = ListCases(folder, records, mapping)
    try:
        for case in source:
            assert case.id
    except SuiteError:
        return  # anything else is not caught, and fails the test


@given(st.lists(json_values, max_size=4))
def test_any_records_in_a_suite_load_or_are_a_suite_error(tmp_path_factory, records):
    data = {
        "suite": "s",
        "cases": records,
        "target": {"python": "m:f"},
        "score": {"x": {"same": {"expected": "expected.a"}}},
    }
    try:
        suite = build_suite(Draft(Located(data), tmp_path_factory.getbasetemp()), "")
        assert suite.survey.n == len(records) > 0
    except SuiteError:
        return  # anything else is not caught, and fails the test


def test_a_path_that_no_record_has_names_the_cure(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n')
    suite = "suite: s\ncases: {files: rows.jsonl, map: {input: text, expected: {kind: labels}}}\n"
    suite += "target: {python: 'os:getcwd'}\nscore: {kind: {exact: {expected: expected.kind}, when_unknown: skip}}\n"
    (tmp_path / "suite.yaml").write_text(suite)
    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path)
    cure = "labels is in none of the 2 records; where cases may have none, write {from: labels, default: null}"
    assert cure in str(caught.value)
    # As the message says.
    (tmp_path / "suite.yaml").write_text(suite.replace("kind: labels", "kind: {from: labels, default: null}"))
    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path)
    assert "is in none" not in str(caught.value)
