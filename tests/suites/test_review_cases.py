"""The cases of the review suite: in the seed's shape, all kinds of them, and true by hand."""

import json
import re
from pathlib import Path

import pytest

import steelyard.suites
from parts.looped import for_every
from steelyard import SuiteError, UsageError, load_suite

FOLDER = Path(steelyard.suites.__file__).parent / "review" / "cases"
CASES = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
SEED_FIELDS = ["id", "description", "expect_error", "expectations", "request"]
SEED_EXPECTATIONS = ["min_obs", "max_obs", "expected_severities", "expected_refs", "expected_error_code"]


def test_all_eight_kinds_of_the_seed_are_there_and_more():
    names = [re.fullmatch(r"case_(\d\d)_(\w+)", path.stem).groups() for path in CASES]
    assert [name for _, name in names[:8]] == [
        "clean_content",
        "measurable_verbs",
        "unexplained_acronyms",
        "contradictions",
        "structure",
        "ambiguous",
        "empty_content",
        "unknown_standards",
    ]
    assert len(names) == 24
    assert [f"case_{number}" for number, _ in names] == [case["id"] for case in CASES.values()]


@for_every("path", CASES)
def test_a_case_is_in_the_shape_of_the_seed(path):
    case = CASES[path]
    assert list(case) == SEED_FIELDS
    assert list(case["expectations"])[:5] == SEED_EXPECTATIONS
    assert sorted(case["request"]) == ["content", "standards_set", "strictness"]
    expected = case["expectations"]
    asks = [expected[name] for name in SEED_EXPECTATIONS[:4]]
    if case["expect_error"]:
        assert asks == [None] * 4
        assert expected["expected_error_code"]
    else:
        assert expected["expected_error_code"] is None
        assert expected["min_obs"] <= expected["max_obs"]


def test_expectations_of_the_eight_kinds_are_those_of_the_seeds_table():
    table = [
        (case["expectations"]["min_obs"], case["expectations"]["max_obs"], case["expectations"]["expected_refs"])
        for case in list(CASES.values())[:6]
    ]
    assert table == [
        (0, 3, None),
        (2, 8, ["NAV-TR-3.1.1"]),
        (2, 10, ["NAV-TR-3.3.1"]),
        (1, 6, ["NAV-TR-3.2.2"]),
        (2, 8, ["NAV-TR-3.4.1"]),
        (0, 5, None),
    ]
    codes = [case["expectations"]["expected_error_code"] for case in list(CASES.values())[6:8]]
    assert codes == ["EMPTY_CONTENT", "STANDARDS_NOT_FOUND"]


def test_an_empty_review_is_right_for_two_cases_only():
    """More of them, and a service that finds nothing would look half good."""
    empty = [case["id"] for case in CASES.values() if not case["expect_error"] and case["expectations"]["min_obs"] == 0]
    assert empty == ["case_01", "case_06"]


def test_starts_point_at_the_flaw():
    starts = {
        case["id"]: [case["request"]["content"][start:][:20] for start in case["expectations"]["expected_starts"]]
        for case in CASES.values()
        if "expected_starts" in case["expectations"]
    }
    assert starts == {
        "case_03": ["OOW reports every co", "MCR, and the fault i"],
        "case_12": ["The main fire pump n"],
        "case_13": ["grasp the use of the"],
    }


def seed_case(**changes):
    return {
        "id": "case_90",
        "description": "One of somebody else",
        "expect_error": False,
        "expectations": dict.fromkeys(SEED_EXPECTATIONS) | {"min_obs": 1, "max_obs": 2},
        "request": {"content": "The trainee will know it.", "standards_set": "naval_v3", "strictness": "medium"},
    } | changes


def test_a_folder_of_the_seeds_cases_is_read_unchanged(tmp_path):
    (tmp_path / "case_90_mine.json").write_text(json.dumps(seed_case()))
    (tmp_path / "notes.txt").write_text("no case")
    suite = load_suite("review", cases=tmp_path)
    (case,) = suite.cases
    assert (case.id, case.why, case.input["standards_set"]) == ("case_90", "One of somebody else", "naval_v3")
    assert (case.expected["min_obs"], case.expected["expect_error"]) == (1, False)
    assert suite.survey.n == 1


def test_what_is_wrong_with_other_cases_is_reported_with_their_place(tmp_path):
    with pytest.raises(UsageError, match="there are no cases at"):
        load_suite("review", cases=tmp_path / "nowhere")
    with pytest.raises(SuiteError, match="no file in"):
        load_suite("review", cases=tmp_path)
    broken = seed_case()
    broken["expectations"]["min_obs"] = 5
    (tmp_path / "case_90_mine.json").write_text(json.dumps(broken))
    with pytest.raises(SuiteError, match="case_90: check observation_count: 5 is above 2"):
        load_suite("review", cases=tmp_path)
