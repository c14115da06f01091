"""What a reviewer says of a case: its forms, its mistakes, and that no judge sees it."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.suite.case import Case
from steelyard.suite.judge import Dimension, Flag, JudgeModel, Rubric
from steelyard.suite.labels import Label, check_path, hidden, labels_of


def judge(neutral: int = 3, labels: str = "expected.labels") -> JudgeModel:
    rubric = Rubric(
        dimensions=(Dimension(name="tone"), Dimension(name="sense")),
        flags=(Flag(name="unsafe"),),
        scale=(1, 5),
        neutral=neutral,
    )
    return JudgeModel(rubric=rubric, members=(), labels=labels)


def case(labels, **others) -> Case:
    return Case("a", "hi", {"labels": labels, "text": "x"}, **others)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"best": 2, "allowed": [1, 3]}, Label(2, 1, 3)),
        ({"best": 4}, Label(4, 4, 4)),
        ({"allowed": [1, 3]}, Label(2, 1, 3)),
        # Several people: their median is the best, and nothing else is allowed unless it is said.
        ({"by": {"ann": 2, "ben": 4, "cem": 5}}, Label(4, 4, 4, {"ann": 2, "ben": 4, "cem": 5})),
        ({"by": {"ann": 1, "ben": 2}, "allowed": [1, 2]}, Label(2, 1, 2, {"ann": 1, "ben": 2})),
        ({"best": 5, "by": {"ann": 4}}, Label(5, 5, 5, {"ann": 4})),
        ([1, 3], Label(2, 1, 3)),
        ([2, 2], Label(2, 2, 2)),
        (4, Label(4, 4, 4)),
        (4.0, Label(4, 4, 4)),
        # Between two scores the one nearer to neutral (3): 1.5 -> 2, 2.5 -> 3, 3.5 -> 3, 4.5 -> 4.
        ([1, 2], Label(2, 1, 2)),
        ([2, 3], Label(3, 2, 3)),
        ([3, 4], Label(3, 3, 4)),
        ([4, 5], Label(4, 4, 5)),
        ([1, 4], Label(3, 1, 4)),
    ],
)
def test_a_label_may_be_written_in_three_ways(given, label):
    assert labels_of(case({"tone": given}), judge()) == {"tone": label}


def test_the_middle_is_rounded_towards_neutral_wherever_that_is():
    assert labels_of(case({"tone": [2, 3]}), judge(neutral=2)) == {"tone": Label(2, 2, 3)}
    assert labels_of(case({"tone": [2, 3]}), judge(neutral=5)) == {"tone": Label(3, 2, 3)}


def test_flags_are_true_or_false_and_cases_may_have_no_labels():
    assert labels_of(case({"unsafe": False, "sense": 1}), judge()) == {"unsafe": False, "sense": Label(1, 1, 1)}
    assert labels_of(case(None), judge()) == labels_of(Case("a"), judge()) == {}
    assert labels_of(case({"tone": 3}), judge(labels="")) == {}


def test_a_score_is_right_inside_the_allowed_range():
    label = Label(2, 1, 3)
    assert [label.allows(score) for score in (0.5, 1, 2.5, 3, 3.5)] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "expected.labels gives labels by dimension; found [] (a list)"),
        ({"tome": 3}, "expected.labels: there is no dimension or flag 'tome': did you mean tone?"),
        ({"zzz": 3}, "there is no dimension or flag 'zzz'; there are: tone, sense, unsafe"),
        ({"tone": 6}, "expected.labels.tone: 6 is not on the scale from 1 to 5"),
        ({"tone": 2.5}, "expected.labels.tone must be a whole score from 1 to 5; found 2.5"),
        ({"tone": True}, "expected.labels.tone must be a whole score from 1 to 5; found true"),
        ({"tone": "3"}, 'expected.labels.tone must be a whole score from 1 to 5; found "3" (text)'),
        ({"tone": float("nan")}, "expected.labels.tone must be a whole score"),
        ({"tone": [3, 1]}, "expected.labels.tone: 3 is above 1"),
        ({"tone": [1, 2, 3]}, "expected.labels.tone must be the lowest and the highest score, as in [2, 3]"),
        ({"tone": {"best": 4, "allowed": [1, 3]}}, "the best score 4 is not among those allowed, 1 to 3"),
        ({"tone": {"best": 4, "allowed": [0, 5]}}, "expected.labels.tone.allowed: 0 is not on the scale"),
        ({"tone": {"bset": 4}}, "expected.labels.tone: unknown key 'bset': did you mean best?"),
        ({"tone": {}}, "expected.labels.tone is empty: write {best: 3}"),
        ({"unsafe": 1}, "expected.labels.unsafe must be true or false; found 1 (a number)"),
    ],
)
def test_a_wrong_label_is_reported(judged, labels, message):
    with pytest.raises(ValueError) as caught:
        labels_of(case(labels), judge())
    assert message in str(caught.value)


def test_a_wrong_label_is_reported_with_its_case_when_the_suite_is_read(judged):
    rows = '[\n{"id": "a", "expected": {"labels": {"tone": 3}}},\n{"id": "b", "expected": {"labels": {"tone": 9}}}\n]'
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(files={"letters.json": rows}))
    assert str(raised.value) == "letters.json:3: case b: expected.labels.tone: 9 is not on the scale from 1 to 5"


def test_labels_that_no_case_has_are_a_mistake(judged):
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(labels="expected.labls"))
    assert "expected.labls is in none of the 3 cases: did you mean expected.labels?" in str(raised.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("input.labels", "labels are part of the truth: write expected.labels"),
        ("labels", "labels are part of the truth"),
        ("expected..x", "is not a path"),
        ("expected.rows[].labels", "leave out []"),
    ],
)
def test_labels_stand_in_the_truth(judged, path, message):
    assert message in (check_path(path) or "")
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(labels=path))
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_judge_sees_the_case_without_labels_and_without_why_it_is_there():
    given = case({"tone": 1}, why="a cold one", category="k", tags=("t",), source="f:3")
    seen = hidden(given, judge())
    assert seen.expected == {"text": "x"}
    assert (seen.id, seen.input, seen.category, seen.tags, seen.why, seen.source) == ("a", "hi", "k", (), "", "")
    assert given.expected == {"labels": {"tone": 1}, "text": "x"}  # untouched


@pytest.mark.parametrize(
    ("path", "expected", "seen"),
    [
        ("expected", {"tone": 1}, None),
        ("expected.a.b", {"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}),
        ("expected.a.b", {"a": 3}, {"a": 3}),
        ("expected.rows.0.labels", {"rows": [{"labels": 1, "x": 2}, 5]}, {"rows": [{"x": 2}, 5]}),
        ("expected.rows.0", {"rows": [1, 5]}, {"rows": [None, 5]}),
        ('expected."odd.key"', {"odd.key": 1, "b": 2}, {"b": 2}),
        ("", {"labels": 1}, {"labels": 1}),
    ],
)
def test_whatever_the_path_the_labels_are_gone(path, expected, seen):
    assert hidden(Case("a", expected=expected), judge(labels=path)).expected == seen
