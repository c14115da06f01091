import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import compile_schema

pytestmark = pytest.mark.boundary("json-repair", "jsonschema-rs")

NAMED = compile_schema({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}})

LOG_WITH_TEMPLATE = """init: using library
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- endif %}
main: loaded 2 of [unknown] parts
```json
{
  "name": "oak"
}
```
perf: total time = 4122.56 ms
"""


def test_a_text_that_is_one_document_is_read_whole():
    assert extract_json(' {"name": "oak"}\n', NAMED) == extract_json('{"name": "oak"}', NAMED)
    assert extract_json('{"name": "oak"}').step == "whole"


def test_a_fenced_block_is_found_behind_log_noise_and_template_braces():
    found = extract_json(LOG_WITH_TEMPLATE, NAMED)
    assert (found.step, found.value) == ("fenced", {"name": "oak"})


@pytest.mark.parametrize(
    "text",
    [
        '```\n{"name": "oak"}\n```',
        '```json{"name": "oak"}```',
        '```JSON title="x"\n{"name": "oak"}\n```',
        'so:\n```json\n{"name": "oak"}',
        'a stray ``` before\n```json\n{"name": "oak"}\n```\n',
    ],
)
def test_a_fence_may_have_a_language_or_none_or_no_end(text):
    assert extract_json(text, NAMED).value == {"name": "oak"}
    assert extract_json(text, NAMED).step == "fenced"


def test_the_last_fenced_block_that_fits_wins():
    text = '```\n{"name": "draft"}\n```\nbetter:\n```\n{"name": "final"}\n```\n```\n{"other": 1}\n```'
    assert extract_json(text, NAMED).value == {"name": "final"}


def test_the_last_balanced_object_that_fits_wins_and_template_braces_do_no_harm():
    text = '{%- if x %} {"name": "echo"} {%- endif %} My answer is {"name": "oak"}, as in [1] and {"note": 2}.'
    found = extract_json(text, NAMED)
    assert (found.step, found.value) == ("balanced", {"name": "oak"})


def test_objects_go_before_arrays_when_there_is_no_schema():
    assert extract_json('The answer is {"a": 1}, see [1].').value == {"a": 1}


def test_braces_and_quotes_inside_strings_do_not_count():
    assert extract_json('say { or " then {"name": "a } b \\" {"}', NAMED).value == {"name": 'a } b " {'}


def test_a_part_of_a_broken_document_is_not_taken_for_the_answer():
    found = extract_json('{"first": {"b": 1}, "second": "cut o')
    assert (found.step, found.value) == ("repaired", {"first": {"b": 1}, "second": "cut o"})


def test_a_wrapped_answer_is_in_the_wrong_shape():
    found = extract_json('{"result": {"name": "oak"}}', NAMED)
    assert found.step is None
    assert found.problems == ('"name" is a required property',)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name": "oak",}', {"name": "oak"}),
        ("{'name': 'oak', 'old': True}", {"name": "oak", "old": True}),
        ('{name: "oak"}', {"name": "oak"}),
        ('Sure! {"name": "oak", "years": [1890, 19', {"name": "oak", "years": [1890, 19]}),
    ],
)
def test_broken_json_is_fixed_last(text, value):
    found = extract_json(text, NAMED)
    assert (found.step, found.value) == ("repaired", value)


def test_of_several_broken_documents_the_first_is_fixed_and_no_list_is_made_of_them():
    found = extract_json('{"name": "oak",}, {"name": "elm",}')
    assert (found.step, found.value) == ("repaired", {"name": "oak"})


@pytest.mark.parametrize("text", ['{"so": she said "hello" there}', '{"key" "value"}'])
def test_a_repair_with_a_key_that_nobody_wrote_is_no_answer(text):
    assert extract_json(text).step is None


@for_every(
    "prose",
    [
        "I think it is an oak table from about 1890.",
        "name: oak",
        "It is {maybe} old [or not].",
        "Result {see note: the table is old}",
        "{note: the table is old}",
        'He said "name: oak" and left.',
        "{{ name }} and {% endif %}",
        "-",
    ],
)
def test_repair_never_makes_an_answer_out_of_prose(prose):
    assert extract_json(prose).step is None
    assert extract_json(prose, NAMED).step is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the answer is empty"),
        ("  \n", "the answer is empty"),
        ("no idea", "there is no JSON object or array in the answer"),
        ("3", "it is a number, not an object or an array"),
        ("null", "it is null, not an object or an array"),
        ('"oak"', "it is a text, not an object or an array"),
    ],
)
def test_a_malformed_answer_is_explained(text, problem):
    assert extract_json(text).problems == (problem,)


def test_problems_name_place_and_what_was_found():
    assert extract_json('{"name": 3}', NAMED).problems == ('name: 3 is not of type "string"',)
    (problem,) = extract_json(json.dumps({"name": ["long"] * 500}), NAMED).problems
    assert problem.startswith('name: ["long",')
    assert problem.endswith('] is not of type "string"')
    assert len(problem) < 200


def test_of_several_forms_the_one_that_comes_nearest_is_explained():
    named = {"required": ["items"], "properties": {"items": {"items": {"required": ["name"], "type": "object"}}}}
    schema = compile_schema({"anyOf": [{"required": ["text"]}, named]})
    assert extract_json('{"items": [{"nme": "oak"}]}', schema).problems == ('items.0: "name" is a required property',)


def test_the_best_candidate_is_the_one_explained():
    schema = compile_schema({"type": "object", "required": ["a", "b", "c"]})
    assert extract_json('{"x": 1} then {"a": 1, "b": 2} then {"a": 1}', schema).problems == (
        '"c" is a required property',
    )


def test_of_a_repeated_key_the_last_counts():
    assert extract_json('{"a": 1, "a": 2}').value == {"a": 2}


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_not_a_finite_number_reads_as_null(odd):
    assert extract_json(f'{{"a": {odd}}}').value == {"a": None}


def test_half_characters_are_replaced_so_that_they_can_be_stored():
    assert extract_json('{"a\\ud800": "\\udc00b"}').value == {"a�": "�b"}
    assert extract_json('{"a": "\\ud83d\\ude00"}').value == {"a": "😀"}
    assert extract_json('{"a": "\ud800"}').value == {"a": "�"}


@for_every(
    "bomb",
    [
        "{" * 1_000_000,
        "[" * 1_000_000,
        "[" * 500_000 + "]" * 500_000,
        '{"a":' * 200_000,
        "{}" * 100_000,
        '{"a":"' * 150_000,
        '{"a":1,"b":}' * 80_000,
        "```" * 300_000,
        "\\" * 1_000_000,
        " " * 1_000_000 + "{",
        "{" + "9" * 100_000,
        '{"a": ' + "9" * 10_000 + "}",
    ],
)
def test_a_megabyte_of_brackets_neither_crashes_nor_takes_long(bomb):
    began = time.process_time()
    extract_json(bomb, NAMED)
    assert time.process_time() - began < 5  # quadratic work on a megabyte takes minutes


def test_a_repair_that_takes_too_long_is_given_up_and_says_so(monkeypatch):
    # json-repair 0.64 takes 3.7 s of CPU over 25 kB of cut-off JSON with escaped quotes; this one never ends.
    def endless(text, **_):
        while True:
            str.strip(text)

    monkeypatch.setattr("json_repair.repair_json", endless)
    assert extract_json('{"name": "oak", "rows": [', NAMED).problems[-1] == "its repair was given up after 0.5 s"


def test_a_text_that_is_too_long_to_be_repaired_says_so():
    long = '{"name": "oak", "note": "' + "x" * 32_000
    assert extract_json(long, NAMED).problems[-1] == "it was not repaired: it is longer than 32,000 characters"


def test_json_with_every_quote_escaped_is_read_as_it_was():
    rows = {"name": "oak", "rows": [{"stated": 'He said "hi" \\ and\nleft', "n": n} for n in range(200)]}
    for text in (json.dumps(json.dumps(rows))[1:-1], f"```json\n{json.dumps(json.dumps(rows))[1:-1]}\n```"):
        found = extract_json(text, NAMED)
        assert (found.step, found.value) == ("unescaped", rows)


def test_depth_is_bounded():
    assert extract_json("[" * 150 + "]" * 150).step == "whole"
    assert extract_json("[" * 300 + "]" * 300).step is None


def test_schemas_never_fetch_anything():
    with pytest.raises(ValueError, match="remote references are refused"):
        compile_schema({"$ref": "http://127.0.0.1:9/schema.json"})


def test_a_broken_schema_is_reported():
    with pytest.raises(ValueError, match="not a JSON schema"):
        compile_schema({"type": "thing"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), json_values, min_size=1, max_size=4), st.booleans())
def test_any_object_comes_back_as_it_was_whole_and_in_noise(value, pretty):
    text = json.dumps(value, indent=2 if pretty else None)
    assert extract_json(text).value == value
    assert extract_json(f"log {{% if x %}}: 12\n```json\n{text}\n```\nbye").value == value


@settings(max_examples=examples(300))
@given(st.text(alphabet="{}[]\",:\\`ab1 \n'", max_size=60))
def test_no_text_makes_the_extraction_raise(text):
    found = extract_json(text, NAMED)
    assert (found.step is None) == bool(found.problems)


def test_a_fence_inside_a_document_that_parses_is_part_of_that_document():
    assert extract_json('{"a": "```[1]```"}', compile_schema({"type": "array"})).step is None


@pytest.mark.parametrize("depth", [500, 990, 1_010, 100_000])
def test_a_part_of_a_document_that_is_too_deep_is_not_the_answer(depth):
    found = extract_json('{"pad": ' + "[" * depth + "]" * depth + ', "answer": {"name": "x"}}')
    assert (found.value, found.step) == (None, None)
    assert "nested" in found.problems[0]


def test_of_very_many_candidates_the_last_are_tried_and_the_rest_is_named():
    assert extract_json('{"name": "oak"}' + '{"a": 1}' * 999, NAMED).value == {"name": "oak"}
    problems = extract_json('{"name": "oak"}' + '{"a": 1}' * 1_000, NAMED, repair=False).problems
    assert problems[-1] == "of its 1,001 JSON values only the last 1,000 were tried"


# why an answer is malformed

LOG = 'load: [0.005 sec, {"kv": 3}\nargs: {"seed": 1, "layers": [1, 2, 3]}\n'


def test_a_broken_fenced_block_is_explained_and_no_log_line_before_it():
    found = extract_json(
        f'{LOG}```json\n{{"name": "oak",\n"rows": [1, 2}}\n```\ntotal: [4122 ms\n', NAMED, repair=False
    )
    # The block's second line is `"rows": [1, 2}`: the bracket in column 14 should be a comma or a `]`.
    assert found.problems == (
        "the fenced block in the answer cannot be read: Expecting ',' delimiter at line 2, column 14",
    )
    assert found.best == '{"name": "oak",\n"rows": [1, 2}'


def test_a_fenced_block_that_does_not_fit_is_explained_and_no_log_line_that_comes_nearer():
    schema = compile_schema({"type": "object", "required": ["a", "b", "c"]})
    found = extract_json('{"a": 1, "b": 2}\n```json\n{"rows": [1, 2, 3, 4, 5, 6]}\n```', schema)
    assert found.problems == tuple(f'"{name}" is a required property' for name in "abc")


def test_without_a_fence_the_largest_object_is_explained():
    broken = '{"name": oak, "rows": [{"text": "a"}, {"text": "b"}], "more": [1, 2, 3]}'
    found = extract_json(f"{LOG}{broken}\nend [1", NAMED, repair=False)
    assert found.problems == ("the JSON in the answer cannot be read: Expecting value at line 1, column 10",)
    assert found.best == broken


def test_an_answer_that_broke_off_is_explained_to_its_end():
    answer = '{"rows": [{"text": "a"}, {"text": "b"}, {"te'
    found = extract_json(LOG + answer, NAMED, repair=False)
    assert found.best == answer
    assert found.problems[0].startswith("the JSON in the answer cannot be read: Unterminated string")


def test_many_brackets_that_are_never_closed_take_no_time_squared():
    assert extract_json("[1 " * 50_000, NAMED, repair=False).problems == (
        "there is no JSON object or array in the answer",
    )
