"""`expect` and `required_repeats` in a suite file: what is built, its messages, and the signature."""

import json

import pytest

from steelyard import Suite
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.suite.models import RequiredRepeats
from steelyard.suite.signature import signature

EXPECT = {
    "how_many": {"count": "items[]", "between": ["expected.min", "expected.max"]},
    "kind": {"each": "expected.kinds", "in": "items[].kind", "required_repeats": "first"},
    "no_kind": {"none": ["green"], "in": "$.items[*].kind", "code": "FORBIDDEN"},
    "model": {"path": "$.meta.model", "equals": "small", "unless": "expected.error"},
    "error": {"status": [422, "5xx"], "body_has": "expected.code", "only_if": "expected.error"},
}
CASES = [
    {"id": "a", "input": 1, "expected": {"min": 1, "max": 2, "kinds": ["x"], "error": False, "code": None}},
    {"id": "b", "input": 2, "expected": {"min": None, "max": None, "kinds": None, "error": True, "code": "NO"}},
]
STEPS = "; write steps joined by dots, like expected.name"
SCHEMA = {"type": "object", "required": ["items"]}


@pytest.fixture
def written(write):
    """Writes a suite with `expect` and says where it is; keys that are None are taken out."""

    def written(expect=EXPECT, cases=CASES, **keys):
        suite = {
            "suite": "shelf",
            "cases": "cases.json",
            "target": {"http": {"url": "http://localhost:9/", "json": "input", "expect_errors": {"status": "4xx"}}},
            "answer": {"schema": SCHEMA},
            "expect": expect,
            **keys,
        }
        text = json.dumps({key: value for key, value in suite.items() if value is not None}, indent=1)
        return write(text, files={"cases.json": cases})

    return written


def message(path):
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    return [str(mistake) for mistake in caught.value.problems]


def line_of(path, text):
    return next(at for at, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_all_checks_are_one_component_that_weighs_one(written):
    (component,) = load_suite(written()).components
    assert (component.name, component.weight) == ("expect", 1.0)
    assert list(component.scorer.checks) == list(EXPECT)


def test_without_a_pass_rule_every_check_must_pass(written):
    assert load_suite(written()).passing.text == "score >= 100 %"
    assert load_suite(written(**{"pass": "score >= 50 %"})).passing.text == "score >= 50 % and every check"


def test_the_description_names_every_check_with_its_code_and_how_often_it_must_pass(written):
    assert load_suite(written(required_repeats="majority")).data()["expect"] == {
        "required_repeats": "majority",
        "checks": [
            {"name": "schema", "code": "FORMAT", "required_repeats": "majority"},
            {"name": "how_many", "code": "HOW_MANY", "required_repeats": "majority"},
            {"name": "kind", "code": "KIND", "required_repeats": "first"},
            {"name": "no_kind", "code": "FORBIDDEN", "required_repeats": "majority"},
            {"name": "model", "code": "MODEL", "required_repeats": "majority"},
            {"name": "error", "code": "ERROR", "required_repeats": "majority"},
        ],
    }
    assert load_suite(written()).expect.required_repeats is RequiredRepeats.ALL


def test_gates_and_findings_know_the_code_of_each_check(written):
    suite = load_suite(written(gates=["findings.FORBIDDEN == 0"], findings={"KIND": {"severity": "minor"}}))
    codes = ["HOW_MANY", "FORBIDDEN", "MODEL", "ERROR", "FORMAT"]
    severities = {kind.code: kind.severity for kind in suite.taxonomy}
    assert severities == {"KIND": "minor", **dict.fromkeys(codes, "error")}
    wrong = written(findings={"KINDS": {}}, gates=["findings.NO_KIND == 0"])
    assert [line.partition(": ")[2].partition(":")[0] for line in message(wrong)] == [
        "findings.KINDS", "gate 'findings.NO_KIND == 0'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"required_repeats": "majority"},
        {"expect": EXPECT | {"kind": EXPECT["kind"] | {"in": "items[].sort"}}},
        {"expect": EXPECT | {"kind": EXPECT["kind"] | {"required_repeats": "all"}}},
        {"expect": EXPECT | {"no_kind": {"none": ["blue"], "in": "$.items[*].kind", "code": "FORBIDDEN"}}},
        {"expect": EXPECT | {"model": {"path": "$.meta.model", "equals": "large", "unless": "expected.error"}}},
        {"expect": EXPECT | {"more": {"path": "$.x", "exists": True}}},
    ],
)
def test_another_expectation_is_another_signature(written, change):
    one = signature(load_suite(written()))
    other = signature(load_suite(written(**change)))
    assert one.scorers != other.scorers
    assert {name for name in one.to_data() if one.part(name) != other.part(name)} == {"scorers", "text"}


def test_all_mistakes_are_sent_at_once_with_their_lines(written):
    path = written(
        {
            "a": {"conut": "items[]", "between": [1, 2]},
            "b": {"count": "items[]", "betwen": [1, 2]},
            "c": {"count": "items[", "between": [1, 2]},
            "d": {"each": "expected.kinds", "none": ["x"], "in": "items[]"},
            "e": {"path": "$.a[", "equals": 1},
            "f": {"path": "$.a", "at_least": "many"},
            "g": {"path": "$.a", "matches": "(a+"},
            "h": {"status": "4x"},
            "i": {"count": "items[]", "between": [3, 1]},
            "j": {"count": "items[]", "between": [None, None]},
            "k": {"path": "$.a"},
            "l.m": {"path": "$.a", "exists": True},
            "n": 3,
            "schema": {"path": "$.a", "exists": True},
            "o": {"each": [], "in": "items[]"},
            "p": {"path": "$.a", "exists": True, "required_repeats": "most"},
            "q": {"path": "$.a", "exists": True, "only_if": "a..b"},
        }
    )
    messages = message(path)
    assert [message.partition(": ")[2] for message in messages] == [
        "expect.a: unknown kind of check 'conut': did you mean count?",
        "expect.b: unknown key 'betwen': did you mean between?",
        f"expect.c.count: 'items[' is not a path: it breaks at character 6{STEPS}",
        "expect.d names 2 kinds of check (each, none): one check has one",
        "expect.e.path: '$.a[' is not a JSONPath (RFC 9535): unexpected end of query",
        'expect.f: at_least takes a number, or {case: path}; found "many" (text)',
        "expect.g: '(a+' is not a regular expression: missing ), unterminated subpattern at position 0",
        'expect.h.status: a status is a number from 100 to 599 or a class such as 4xx; found "4x" (text)',
        "expect.i: 3 is above 1: no count is between them",
        "expect.j: both ends are open: every count would pass",
        "expect.k: say what it is compared with: equals, not_equals, at_least, at_most, above, below, matches, exists",
        "expect: a check's name is letters, digits, _ and -, and starts with a letter; found 'l.m'",
        "expect.n must be one check, as in {count: items[], between: [1, 3]}; found 3 (a number)",
        "expect.schema: this name is reserved for the suite's schema, which is checked anyway: choose another",
        "expect.o.each: give a path into the case, or a list of texts or numbers; found [] (a list)",
        "expect.p.required_repeats: 'most' is not known; allowed: all, majority, first",
        f"expect.q.only_if: 'a..b' is not a path: it breaks at character 3{STEPS}",
    ]
    assert messages[0].startswith(f"suite.yaml:{line_of(path, 'conut')}:")
    assert messages[1].startswith(f"suite.yaml:{line_of(path, 'betwen')}:")


def test_a_path_that_no_case_has_is_reported_where_it_stands(written):
    path = written(EXPECT | {"how_many": {"count": "items[]", "between": ["expected.min", "expected.mx"]}})
    assert message(path) == [
        f"suite.yaml:{line_of(path, 'expected.mx')}: expected.mx is in none of the 2 cases: did you mean expected.max?"
    ]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("min", 5, "check how_many: 5 is above 2: no count is between them"),
        ("max", "3", 'check how_many: expected.max must be a number or null; found "3" (text)'),
        ("kinds", {"a": 1}, "check kind: expected.kinds must be a list of texts or numbers, one of them, or null"),
        ("code", ["x"], "check error: expected.code must be a text or null"),
    ],
)
def test_a_case_that_contradicts_itself_is_reported(written, field, value, problem):
    broken = [CASES[0] | {"expected": CASES[0]["expected"] | {field: value}}, CASES[1]]
    (only,) = message(written(cases=broken))
    assert only.startswith("cases.json:")
    assert problem in only


def test_a_case_to_which_nothing_applies_is_reported(written):
    cases = [CASES[0], {"id": "none", "input": 3, "expected": {"kinds": None}}]
    expect = {"kind": EXPECT["kind"]}
    assert message(written(expect, cases, answer={"format": "json"})) == [
        "cases.json:1: case none: nothing to score: no check of expect applies to it"
    ]
    # The schema is a check, too.
    assert load_suite(written(expect, cases)).survey.n == 2


def test_checks_that_read_json_need_json_answers(written):
    (only,) = message(written({"kind": EXPECT["kind"]}, answer=None))
    assert only.endswith("expect.kind: each reads JSON: write answer: {format: json}, or a schema")
    assert load_suite(written({"error": EXPECT["error"] | {"only_if": "id"}}, answer=None)).components


def test_an_empty_expect_and_a_hold_without_one_are_reported(written):
    assert message(written({}))[0].endswith(
        "expect is empty: give at least one check, as in {how_many: {count: items[], between: [1, 3]}}"
    )
    score = {"items": {"same": {"expected": "id"}}}
    assert message(written(None, score=score, required_repeats="first"))[0].endswith(
        "required_repeats says in how many repeats a check must pass: there is no expect"
    )
    assert message(written(required_repeats="sometimes"))[0].endswith(
        "required_repeats: 'sometimes' is not known; allowed: all, majority, first"
    )


def test_a_component_cannot_be_called_expect(written):
    messages = message(written(score={"expect": {"same": {"expected": "id"}}}))
    assert messages[0].endswith("score.expect: this name is reserved for the checks of expect: choose another")


def test_checks_and_components_weigh_together(written):
    suite = load_suite(written(score={"items": {"same": {"expected": "id"}, "weight": 3}}))
    assert [(one.name, one.weight) for one in suite.components] == [("items", 3.0), ("expect", 1.0)]


def test_a_suite_in_python_has_the_same_keys(written):
    suite = Suite(
        "shelf",
        cases=CASES,
        target={"http": {"url": "http://localhost:9/", "json": "input", "expect_errors": {"status": "4xx"}}},
        answer={"schema": SCHEMA},
        expect=EXPECT,
        required_repeats="majority",
    ).model
    described = suite.data()["expect"]
    assert described == load_suite(written(required_repeats="majority")).data()["expect"]


def test_the_schema_of_suite_files_knows_the_checks(written):
    from steelyard.loading.json_schema import suite_schema
    from steelyard.scoring.json_schema import SchemaValidator

    validator = SchemaValidator(suite_schema())
    good = json.loads(written(required_repeats="first").read_text())
    assert validator.problems(good) == []
    assert not validator.fits(good | {"expect": {"a": {"count": "x[]"}}})
    assert not validator.fits(good | {"expect": {}})
    assert not validator.fits(good | {"required_repeats": "most"})


def test_an_error_status_that_the_target_takes_for_a_failed_call_is_a_mistake(tmp_path):
    cases = [{"id": "a", "input": {"q": 1}, "expected": {"code": "EMPTY"}}]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    file = tmp_path / "suite.yaml"
    text = (
        "suite: s\ncases: cases.json\nanswer: {format: json}\n"
        "target: {http: {url: 'http://localhost:1/x', json: input%s}}\n"
        "expect: {code: {status: [422, 4xx], body_has: expected.code}}\n"
    )
    file.write_text(text % "")
    with pytest.raises(SuiteError) as caught:
        load_suite(str(file))
    assert "expect.code asks for status 422, 4xx" in str(caught.value)
    assert "write expect_errors: {status: [422, 4xx]} into it" in str(caught.value)
    file.write_text(text % ", expect_errors: {status: 4xx}")
    assert load_suite(str(file)).name == "s"
