"""The rules of the built-in review service: what breaks a standard, what does not, and where it stands."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import steelyard.suites
from parts.looped import for_every
from steelyard.suites.review.reviewing import (
    find_contradictions,
    find_structure_problems,
    find_unexplained_acronyms,
    find_unmeasurable_verbs,
    review,
)
from steelyard.suites.review.standards import SEVERITIES, standards_of

CASES = sorted((Path(steelyard.suites.__file__).parent / "review" / "cases").glob("*.json"))


def result(rule, content):
    """What a rule finds, as severity and the text it points at."""
    return [(one.severity, None if one.span is None else content[slice(*one.span)]) for one in rule(content)]


@for_every(
    ("content", "expected"),
    [
        ("The trainee will understand tides.", [("violation", "understand")]),
        ("The trainee will be familiar with tides.", [("warning", "be familiar with")]),
        ("The trainee will discuss tides.", [("info", "discuss")]),
        ("The trainee will list, and fully know, the tides.", [("violation", "know")]),
        (
            "Objectives:\n- Understand tides.\n- Plot a fix.\n- To know knots.",
            [("violation", "Understand"), ("violation", "know")],
        ),
        # Not of the learner, or not an objective.
        ("Instructors understand tides.", []),
        ("The trainee will explain what crews know.", []),
        ("The trainee will show know-how and plot a fix.", []),
        ("Shopping:\n- Understand tides.", []),
    ],
)
def test_only_verbs_of_an_objective_are_measured(content, expected):
    assert result(find_unmeasurable_verbs, content) == expected


@for_every(
    ("content", "expected"),
    [
        ("Call the OOW. The OOW answers.", [("warning", "OOW")]),
        ("The Officer of the Watch (OOW) answers the OOW.", []),
        ("The TSS (Traffic Separation Scheme) is busy.", []),
        ("TSS means Traffic Separation Scheme.", []),
        ("Ask the OOW. The Officer of the Watch (OOW) answers.", [("info", "OOW")]),
        ("A line of words that do not fit (OOW) is no explanation of OOW.", [("warning", "OOW")]),
        ("DO NOT START THE ENGINE", []),
        ("Do NOT start part II at 7 PM.", []),
        ("Two MCRs and one MCR.", [("warning", "MCR")]),
    ],
)
def test_an_acronym_is_explained_where_it_is_first_used(content, expected):
    assert result(find_unexplained_acronyms, content) == expected


@for_every(
    ("first", "second", "contradicts"),
    [
        ("Helmets must be worn on deck.", "Helmets are optional on deck.", True),
        ("Helmets must be worn on deck.", "Helmets must never be worn on deck.", True),
        ("Visitors may enter the bridge.", "Visitors must not enter the bridge.", True),
        ("The pump is tested every 4 hours.", "The pump is tested every six hours.", True),
        ("The pump is tested every 4 hours.", "The pump is tested every four hours.", False),
        ("Helmets must be worn on deck.", "Helmets need not be worn in cabins.", False),
        ("Helmets must be worn on deck.", "Gloves are optional in the galley.", False),
        ("The pump is tested every 4 hours.", "The pump holds 90 litres.", False),
    ],
)
def test_two_statements_contradict_each_other_only_about_the_same_thing(first, second, contradicts):
    assert result(find_contradictions, f"{first} {second}") == ([("violation", second)] if contradicts else [])


def test_a_procedure_belongs_into_a_list():
    text = "First open the valve. Then press start. Finally close the valve."
    assert result(find_structure_problems, text) == [("warning", text)]
    assert result(find_structure_problems, "1. Open the valve.\n2. Press start.\n3. Close the valve.") == []
    assert result(find_structure_problems, "1. Open the valve.\n3. Close the valve.") == [
        ("warning", "3. Close the valve.")
    ]


def test_long_paragraphs_and_sentences_are_named():
    # 121 words of one sentence: one word too many for a paragraph, and far too many for a sentence.
    text = " ".join(["word"] * 121) + "."
    assert result(find_structure_problems, text) == [("warning", text), ("info", text)]
    assert result(find_structure_problems, ". ".join(["Some words here"] * 40) + ".") == []


def test_strictness_decides_what_is_reported():
    content = "The cadet will understand tides, be aware of currents and discuss anchors."
    severities = {
        strictness: [one["severity"] for one in review(content, "naval_v3", strictness)]
        for strictness in ("low", "medium", "high")
    }
    assert severities == {
        "low": ["violation"],
        "medium": ["violation", "warning"],
        "high": ["violation", "warning", "info"],
    }


def test_a_set_reviews_by_its_own_references():
    content = "The cadet will know the GSO."
    assert {one["standard_ref"] for one in review(content, "naval_v3", "high")} == {"NAV-TR-3.1.1", "NAV-TR-3.3.1"}
    assert {one["standard_ref"] for one in review(content, "plain_v1", "high")} == {"PLAIN-1"}
    assert standards_of("nobody_v1") is None


def test_spans_count_characters_also_after_emoji():
    content = "⚓️🚢👩‍✈️ The trainee will grasp it."
    (one,) = review(content, "naval_v3", "medium")
    assert content[slice(*one["span"])] == "grasp"


@given(st.text(st.sampled_from("aA.,;:\n #-1()🚢 \t%&/"), max_size=300))
def test_any_text_can_be_reviewed_and_every_span_is_inside_it(content):
    for one in review(content, "naval_v3", "high"):
        assert one["severity"] in SEVERITIES
        if one["span"] is not None:
            start, end = one["span"]
            assert 0 <= start < end <= len(content)


@for_every("path", CASES)
def test_the_same_document_is_always_reviewed_alike(path):
    request = json.loads(path.read_text(encoding="utf-8"))["request"]
    if standards_of(request["standards_set"]) is not None:
        first = review(**request)
        review.cache_clear()
        assert review(**request) == first
