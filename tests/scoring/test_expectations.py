"""What checks say of answers, and what they are worth together."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.small_suite import load_written
from steelyard.records import CheckState, Outcome
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.status_check import StatusCheck
from steelyard.suite.case import Case
from steelyard.suite.paths import compile_place
from steelyard.suite.patterns import MOST_SEARCHED, Unsearchable
from steelyard.user_code import UserCodeError

SCHEMA = """{type: object, required: [items], properties: {items: {type: array, items: {type: object}}}}"""
SUITE = """
suite: shelf
cases: cases.json
target: {{http: {{url: "http://localhost:9/", json: input, expect_errors: {{status: 4xx}}}}}}
answer: {answer}
expect:
{checks}
"""
ALL = """
  how_many: {count: "items[]", between: [expected.min, expected.max]}
  kind: {each: expected.kinds, in: "items[].kind"}
  no_kind: {none: expected.not_kinds, in: "items[].kind", code: FORBIDDEN}
  error_code: {status: 422, body_has: expected.code, only_if: expected.error}
"""
EMPTY = {"min": None, "max": None, "kinds": None, "not_kinds": None, "code": None, "error": False}
FULL = EMPTY | {"min": 1, "max": 3, "kinds": ["red", "blue"], "not_kinds": ["green"]}
CLEAN = EMPTY | {"min": 0, "max": 3, "not_kinds": ["green"]}
ERROR = EMPTY | {"error": True, "code": "EMPTY_TEXT"}


@pytest.fixture
def evaluator(tmp_path):
    def evaluator(checks=ALL, cases=(FULL, CLEAN, ERROR), answer=f"{{schema: {SCHEMA}}}"):
        listed = [{"id": f"c{at}", "input": {}, "expected": expected} for at, expected in enumerate(cases)]
        return Evaluator(load_written(tmp_path, SUITE.format(checks=checks, answer=answer), listed))

    return evaluator


def answer(*kinds, **more):
    return json.dumps({"items": [{"kind": kind} for kind in kinds], **more})


def case(expected):
    return Case("c", expected=expected)


def states(evaluated):
    return {check.name: check.state.value for check in evaluated.checks}


def details(evaluated):
    return {check.name: check.detail for check in evaluated.checks}


def test_every_check_of_the_case_is_named_and_passes(evaluator):
    weighed = evaluator().evaluate(answer("red", "blue"), case(FULL), 200)
    assert states(weighed) == dict.fromkeys(["schema", "how_many", "kind:red", "kind:blue", "no_kind"], "passed")
    assert (weighed.score, weighed.passed, weighed.findings) == (1.0, True, ())
    assert details(weighed)["how_many"] == "2 (expected 1 to 3)"


def test_each_failed_check_is_a_finding_under_its_code(evaluator):
    weighed = evaluator().evaluate(answer("red", "green", "grey", "x"), case(FULL), 200)
    assert states(weighed) == {
        "schema": "passed", "how_many": "failed", "kind:red": "passed", "kind:blue": "failed", "no_kind": "failed",
    }  # fmt: skip
    found = [(one.code, one.place, one.component) for one in weighed.findings]
    assert found == [
        ("HOW_MANY", "how_many", "expect"), ("KIND", "kind:blue", "expect"), ("FORBIDDEN", "no_kind", "expect"),
    ]  # fmt: skip
    # schema and kind:red of five; each failure fixed alone is one more of five
    assert weighed.score == pytest.approx(2 / 5)
    assert [one.gain for one in weighed.findings] == pytest.approx([1 / 5] * 3)
    assert not weighed.passed
    assert details(weighed)["no_kind"] == "found in items[].kind: green"


def test_a_value_that_is_missing_was_not_taken_for_what_else_is_there(evaluator):
    weighed = evaluator().evaluate(answer("red"), case(FULL), 200)
    assert [(one.code, one.expected, one.got) for one in weighed.findings] == [("KIND", "blue", None)]
    assert details(weighed)["kind:blue"] == "not found in items[].kind; there: red"


def test_a_count_keeps_its_figure_and_its_range(evaluator):
    check = evaluator().evaluate(answer("red"), case(FULL | {"max": None}), 200).checks[1]
    assert (check.value, check.low, check.high, check.detail) == (1.0, 1.0, None, "1 (expected at least 1)")


@pytest.mark.parametrize(("n", "passed"), [(0, False), (1, True), (3, True), (4, False)])
def test_both_ends_of_a_count_are_inside_it(evaluator, n, passed):
    weighed = evaluator().evaluate(answer(*["red"] * n), case(FULL), 200)
    assert (states(weighed)["how_many"] == "passed") is passed


def test_a_check_whose_values_are_null_does_not_apply(evaluator):
    assert list(states(evaluator().evaluate(answer("x"), case(EMPTY), 200))) == ["schema"]


def test_an_answer_that_does_not_fit_fails_the_schema_and_the_rest_does_not_run(evaluator):
    weighed = evaluator().evaluate('{"items": 3}', case(FULL), 200)
    assert weighed.outcome is Outcome.MALFORMED
    assert states(weighed) == {
        "schema": "failed", "how_many": "not_run", "kind:red": "not_run", "kind:blue": "not_run", "no_kind": "not_run",
    }  # fmt: skip
    assert "items" in details(weighed)["schema"]
    assert (weighed.score, [one.code for one in weighed.findings]) == (0.0, ["FORMAT"])
    assert weighed.checks[1].low == 1.0


def test_an_error_that_nobody_expects_is_malformed_whatever_its_body(evaluator):
    weighed = evaluator().evaluate(answer("red", "blue"), case(FULL), 422)
    assert weighed.outcome is Outcome.MALFORMED
    assert states(weighed)["schema"] == "failed"
    assert "422" in details(weighed)["schema"]


def test_a_case_that_expects_an_error_is_not_held_against_the_schema(evaluator):
    balance = evaluator()
    right = balance.evaluate('{"detail": {"code": "EMPTY_TEXT"}}', case(ERROR), 422)
    assert (states(right), right.score, right.outcome) == ({"error_code": "passed"}, 1.0, Outcome.SCORED)
    assert balance.expects_error(case(ERROR))
    assert not balance.expects_error(case(FULL))


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ('{"code": "OTHER"}', 422, "EMPTY_TEXT is not in the body"),
        ('{"code": "NOT_EMPTY_TEXT"}', 422, "EMPTY_TEXT is not in the body"),
        ('{"code": "EMPTY_TEXTS"}', 422, "EMPTY_TEXT is not in the body"),
        ('{"code": "EMPTY_TEXT"}', 400, "400 (expected 422 with EMPTY_TEXT)"),
        ('{"items": []}', 200, "200 (expected 422 with EMPTY_TEXT)"),
        ("", 422, "EMPTY_TEXT is not in the body"),
    ],
)
def test_an_error_case_fails_on_another_status_or_another_code(evaluator, body, status, message):
    weighed = evaluator().evaluate(body, case(ERROR), status)
    assert states(weighed) == {"error_code": "failed"}
    assert message in details(weighed)["error_code"]
    assert weighed.score == 0.0


def test_an_error_body_need_not_be_json(evaluator):
    assert evaluator().evaluate("EMPTY_TEXT: nothing to read", case(ERROR), 422).score == 1.0


def test_an_error_code_may_be_spelt_with_escapes(evaluator):
    assert evaluator().evaluate('{"code": "EMPTY\\u005fTEXT"}', case(ERROR), 422).score == 1.0


def test_an_error_case_without_a_code_asks_only_for_the_status(evaluator):
    weighed = evaluator().evaluate("", case(ERROR | {"code": None}), 422)
    assert states(weighed) == {"error_code": "passed"}


def test_a_status_that_nobody_tells_is_a_broken_scale_and_not_a_zero(evaluator):
    with pytest.raises(UserCodeError, match="error_code looks at the HTTP status, and the target reports none"):
        evaluator().evaluate("EMPTY_TEXT", case(ERROR))


@pytest.mark.parametrize("text", ["", "{}", "null", '{"items": null}', "[]"])
def test_nothing_has_no_weight(evaluator, text):
    for expected in (FULL, CLEAN, ERROR):
        weighed = evaluator().evaluate(text, case(expected), 200)
        assert weighed.score == 0.0
        assert CheckState.PASSED not in [check.state for check in weighed.checks]


def test_a_well_formed_answer_without_items_earns_nothing_where_something_is_asked_for(evaluator):
    weighed = evaluator().evaluate(answer(), case(FULL), 200)
    # The schema and the forbidden value hold, and would be 2 of 5.
    assert [name for name, state in states(weighed).items() if state == "passed"] == ["schema", "no_kind"]
    assert weighed.score == 0.0
    # Fixing one of the values lets those two count as well; the count alone asks for no value of the case.
    assert {one.place: one.gain for one in weighed.findings} == pytest.approx(
        {"how_many": 0.0, "kind:red": 3 / 5, "kind:blue": 3 / 5}
    )


def test_a_well_formed_answer_without_items_is_right_where_nothing_is(evaluator):
    weighed = evaluator().evaluate(answer(), case(CLEAN), 200)
    assert (weighed.score, weighed.passed) == (1.0, True)


def test_without_a_schema_a_missing_list_is_not_an_empty_one(evaluator):
    for checks in (ALL, ALL.replace("items[]", "$.items[*]")):
        balance = evaluator(checks, answer="{format: json}")
        assert states(balance.evaluate("{}", case(CLEAN), 200)) == {"how_many": "failed", "no_kind": "failed"}
        assert states(balance.evaluate('{"items": []}', case(CLEAN), 200)) == {
            "how_many": "passed",
            "no_kind": "passed",
        }


def test_a_call_that_failed_leaves_every_check_not_run(evaluator):
    checks = evaluator().unrun(case(FULL), "the call failed: timeout")
    assert {check.name: (check.state, check.detail) for check in checks} == dict.fromkeys(
        ["schema", "how_many", "kind:red", "kind:blue", "no_kind"], (CheckState.NOT_RUN, "the call failed: timeout")
    )
    assert [check.name for check in evaluator().unrun(case(ERROR), "x")] == ["error_code"]


def test_true_is_not_one_and_one_is_one_point_zero(evaluator):
    balance = evaluator('  v: {each: expected.v, in: "items[].v"}', cases=[{"v": [1]}], answer="{format: json}")
    assert balance.evaluate('{"items": [{"v": 1.0}]}', case({"v": [1]})).score == 1
    assert balance.evaluate('{"items": [{"v": true}, {"v": "1"}]}', case({"v": [1]})).score == 0


def test_a_value_looked_for_twice_is_one_check_and_a_long_one_keeps_its_own_name(evaluator):
    balance = evaluator('  v: {each: expected.v, in: "items[].v"}', cases=[{"v": ["a"]}], answer="{format: json}")
    long = ["b" * 500 + end for end in "xy"]
    names = list(states(balance.evaluate('{"items": []}', case({"v": ["a", "a", *long]}))))
    assert len(names) == len(set(names)) == 3
    assert all(len(name) < 90 for name in names)


PATH = "  at: {{path: '{path}', {compare}}}"


@pytest.mark.boundary("python-jsonpath")
@pytest.mark.parametrize(
    ("path", "compare", "passes", "fails"),
    [
        ("$.a.b", "equals: x", {"a": {"b": "x"}}, {"a": {"b": "y"}}),
        ("$.a", "equals: [1, {b: true}]", {"a": [1.0, {"b": True}]}, {"a": [1, {"b": 1}]}),
        ("$.a", "equals: null", {"a": None}, {"b": None}),
        ("$.a", "not_equals: x", {"a": "y"}, {}),
        ("$.a", "at_least: 2", {"a": 2}, {"a": 1.9}),
        ("$.a", "at_most: 2", {"a": 2}, {"a": "1"}),
        ("$.a", "above: 2", {"a": 3}, {"a": 2}),
        ("$.a", "below: 2", {"a": 1}, {"a": True}),
        ("$.a", "at_least: 1, at_most: 2", {"a": 1.5}, {"a": 3}),
        ("$.a", "matches: '^v[0-9]'", {"a": "v2"}, {"a": "2v1"}),
        ("$.a", "exists: true", {"a": None}, {"b": 1}),
        ("$.a", "exists: false", {"b": 1}, {"a": None}),
        ("a[].b", "equals: 1", {"a": [{"b": 1}, {"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]}),
        ("$..b", "at_least: 1", {"a": [{"b": 1}]}, {"a": []}),
        (
            '$.a[?@.k == "x"].b',
            "equals: 1",
            {"a": [{"k": "x", "b": 1}, {"k": "y", "b": 2}]},
            {"a": [{"k": "y", "b": 1}]},
        ),
        ("$.a[-1]", "equals: 1", {"a": [2, 1]}, {"a": [1, 2]}),
    ],
)
def test_comparisons_at_a_place(evaluator, path, compare, passes, fails):
    balance = evaluator(PATH.format(path=path, compare=compare), cases=[{}], answer="{format: json}")
    assert balance.evaluate(json.dumps(passes), case({})).score == 1.0
    assert balance.evaluate(json.dumps(fails), case({})).score == 0.0


def test_a_comparison_may_take_its_value_from_the_case(evaluator):
    checks = "  at: {path: $.a, equals: {case: expected.a}}\n  n: {path: $.n, at_least: {case: expected.n}}"
    balance = evaluator(checks, cases=[{"a": "x", "n": 1}], answer="{format: json}")
    weighed = balance.evaluate('{"a": "x", "n": 3}', case({"a": "x", "n": 4}))
    assert states(weighed) == {"at": "passed", "n": "failed"}
    assert (weighed.checks[1].value, weighed.checks[1].low, weighed.checks[1].high) == (3.0, 4.0, None)
    assert list(states(balance.evaluate("{}", case({"a": None, "n": 1})))) == ["n"]


def test_a_pattern_sees_the_head_of_a_long_text_and_says_so(evaluator):
    balance = evaluator(PATH.format(path="$.a", compare="matches: end"), cases=[{}], answer="{format: json}")
    weighed = balance.evaluate(json.dumps({"a": "x" * MOST_SEARCHED + "end"}), case({}))
    assert weighed.score == 0
    assert f"in its first {MOST_SEARCHED} characters" in weighed.checks[0].detail
    assert len(weighed.checks[0].detail) < 300


def test_too_much_text_for_a_pattern_fails_the_check(evaluator):
    for path, compare in (("$.a[*]", "matches: x"), ('$.a[?search(@, "x")]', "exists: true")):
        balance = evaluator(PATH.format(path=path, compare=compare), cases=[{}], answer="{format: json}")
        weighed = balance.evaluate(json.dumps({"a": ["x" * MOST_SEARCHED] * 11}), case({}))
        assert states(weighed) == {"at": "failed"}
        assert "to search" in weighed.checks[0].detail


def test_an_answer_nested_too_deeply_to_search_fails_the_check(evaluator):
    balance = evaluator(PATH.format(path="$..x", compare="exists: false"), cases=[{}], answer="{format: json}")
    weighed = balance.evaluate("[" * 150 + "]" * 150, case({}))
    assert states(weighed) == {"at": "failed"}
    assert "nested too deeply" in weighed.checks[0].detail


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "0", "items"]), inner),
    max_leaves=12,
)


@pytest.mark.boundary("python-jsonpath")
@settings(max_examples=examples(60))
@given(JSON)
def test_fixed_paths_agree_with_the_library(data):
    jsonpath = pytest.importorskip("jsonpath")
    library = jsonpath.JSONPathEnvironment(strict=True)
    if not isinstance(data, (dict, list)):
        return
    for query in ("$", "$.a", "$['a'].b", "$[0]", "$.items[-1]", "$['0']", '$["a"][0]["b"]'):
        ours = compile_place(query).values(data)
        assert (ours or []) == library.compile(query).findall(data)


@pytest.mark.boundary("python-jsonpath")
def test_a_query_that_branches_tells_a_missing_start_from_an_empty_list():
    place = compile_place("$.items[*].kind")
    assert place.values({}) is None
    assert place.values({"items": []}) == []
    assert place.values("text") is None
    with pytest.raises(Unsearchable):
        compile_place("$..x").values(json.loads("[" * 200 + "]" * 200))


@settings(max_examples=examples(60))
@given(JSON)
def test_no_answer_breaks_a_check(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    checks = ALL + "  at: {path: '$.items[?@.a > 1].b', matches: a}\n  all: {path: items, below: 3}"
    cases = [{"id": "c", "input": {}, "expected": FULL}, {"id": "e", "input": {}, "expected": ERROR}]
    balance = Evaluator(load_written(folder, SUITE.format(checks=checks, answer="{format: json}"), cases))
    for expected in (FULL, ERROR):
        weighed = balance.evaluate(json.dumps(data), case(expected), 422 if expected is ERROR else 200)
        assert 0 <= weighed.score < 1 or not [check for check in weighed.checks if check.state != "passed"]


def test_numbers_of_any_size_are_reported(evaluator):
    balance = evaluator(PATH.format(path="$.a", compare="at_most: 5"), cases=[{}], answer="{format: json}")
    for number in ("1" + "0" * 400, "1e308", "-" + "9" * 350):
        (check,) = balance.evaluate(f'{{"a": {number}}}', case({})).checks
        assert check.state == ("passed" if number.startswith("-") else "failed")
        assert len(check.detail) < 200


def test_what_only_forbids_earns_nothing_where_some_item_was_asked_for(evaluator):
    # No kinds are named, so the count is what asks for most.
    asked = EMPTY | {"min": 1, "max": 3, "not_kinds": ["green"]}
    assert evaluator().evaluate(answer(), case(asked), 200).score == 0.0
    assert evaluator().evaluate(answer("red"), case(asked), 200).score == 1.0


@pytest.mark.parametrize(("status", "passed"), [(399, False), (400, True), (499, True), (500, False)])
def test_a_class_of_statuses_is_its_hundred_alone(evaluator, status, passed):
    balance = evaluator(
        "\n  refused: {status: 4xx, body_has: expected.code}\n", cases=(ERROR,), answer="{format: json}"
    )
    (check,) = balance.evaluate('{"code": "EMPTY_TEXT"}', case(ERROR), status).checks
    assert (check.state is CheckState.PASSED) is passed


def test_too_many_where_none_were_asked_for_costs_its_share_alone(evaluator):
    # The count failed; the schema and what is forbidden hold: 2 of 3.
    weighed = evaluator().evaluate(answer("red", "red", "red", "red"), case(CLEAN), 200)
    assert weighed.score == pytest.approx(2 / 3)


def test_a_comparison_with_an_end_that_the_case_leaves_open_is_not_asked_for(evaluator):
    checks = "\n  size: {path: $.size, at_least: {case: expected.min}, at_most: {case: expected.max}}\n"
    balance = evaluator(checks, cases=(FULL,))
    assert "size" in states(balance.evaluate(answer("red", size=2), case(FULL), 200))
    assert "size" not in states(balance.evaluate(answer("red", size=2), case(FULL | {"max": None}), 200))


@pytest.mark.parametrize(("status", "wants"), [([200, 422], False), (["4xx", 500], True), (422, True), ("2xx", False)])
def test_only_a_check_that_no_good_answer_passes_wants_an_error(status, wants):
    assert StatusCheck(status=status).wants_error is wants
