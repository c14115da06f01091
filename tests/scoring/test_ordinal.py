"""Ordered labels: partial marks by distance."""

import pytest
from pydantic import ValidationError

from parts.looped import for_every
from steelyard.scoring.text import Ordinal
from steelyard.suite.case import Case

SEVERITY = ("low", "medium", "high", "critical")


def read(answer, truth="high", **settings):
    scorer = Ordinal(**{"expected": "expected.severity", "order": SEVERITY} | settings)
    return scorer.at("").read(answer, Case("c", expected={"severity": truth}))


@for_every(
    ("answer", "value"),
    [
        ("high", 1.0),
        (" HIGH ", 1.0),
        ("critical", 2 / 3),
        ("medium", 2 / 3),
        ("low", 1 / 3),
        ("severe", 0.0),
        ("high.", 0.0),
        ("high, or critical", 0.0),
        (2, 0.0),
        (None, 0.0),
        (["high"], 1.0),  # as for choice
        (["high", "critical"], 0.0),
        ("h" * 1_000_000, 0.0),
        ("ｈｉｇｈ", 0.0),
    ],
)
def test_marks_fall_evenly_with_the_distance(answer, value):
    assert read(answer).value == pytest.approx(value)


def test_marks_by_distance_and_the_strict_rule():
    marks = {"marks": (1, 0.25)}
    assert [read(label, **marks).value for label in SEVERITY] == [0.0, 0.25, 1.0, 0.25]
    assert [read(label, strict=True, **marks).value for label in SEVERITY] == [0.0, 0.0, 1.0, 0.0]


def test_a_label_is_taken_out_of_a_longer_text_when_asked_for():
    assert read("The severity is high.", inside=True).value == 1.0
    assert read("high or critical", inside=True).value == 0.0


def test_labels_may_be_numbers_or_differ_by_a_sign():
    stars = {"order": (1, 2, 3, 4, 5), "truth": 4}
    assert [read(answer, **stars).value for answer in (4, 4.0, "4", 3, 4.5, True)] == [1, 1, 1, 0.75, 0, 0]
    grades = {"order": ("C", "B-", "B", "B+", "A"), "truth": "B"}
    assert [read(answer, **grades).value for answer in ("b", "B-", "A")] == [1.0, 0.75, 0.5]


def test_a_wrong_label_says_which_way_and_is_counted():
    off, outside = read("low"), read("severe")
    assert off.note == "2 of 3 steps too low"
    assert off.counts == {"labelled": 1, "right": 0, "near": 0, "above": 0, "below": 1, "outside": 0}
    assert outside.note == "not one of: low, medium, high, critical"
    assert outside.counts == {"labelled": 1, "right": 0, "near": 0, "above": 0, "below": 0, "outside": 1}
    assert read("critical").counts["near"] == read("critical").counts["above"] == 1


@for_every(
    ("settings", "why"),
    [
        ({"order": ("low", "Low")}, "differ by more than"),
        ({"order": ("low", " ")}, "none may be blank"),
        ({"order": ("B", "B+"), "inside": True}, "inside a text"),
        ({"marks": (0.9, 0.5)}, "begin with 1"),
        ({"marks": (1, 0.2, 0.5)}, "never rise"),
        ({"marks": (1, -0.5)}, "below 0"),
        ({"marks": (1, float("nan"))}, "never rise"),
        ({"marks": (1, 1, 1, 1, 1)}, "5 marks"),
    ],
)
def test_an_order_that_cannot_be_scored_by_is_refused(settings, why):
    with pytest.raises(ValidationError, match=why):
        read("high", **settings)


def test_a_truth_outside_the_order_is_a_mistake_of_the_case():
    scorer = Ordinal(expected="expected.severity", order=SEVERITY)
    assert "not one of" in scorer.check(Case("c", expected={"severity": "severe"}))
