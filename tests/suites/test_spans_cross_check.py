"""What a judge says of spans, compared with the spans."""

import json

from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from parts.seed_snapshots import PROMPT, SPANS, about, judged, missed
from steelyard import Case, Checked
from steelyard.loading.load import load_suite
from steelyard.suites.spans.cross_check import check

CASE = Case("fox", {"text": PROMPT})


def checked(spans=SPANS, case=CASE, **changes) -> Checked:
    return check(judged(**changes), json.dumps(spans), case, {})


def only(name, record):
    """An answer with one complaint and no other."""
    empty = {key: [] for key in ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors")}
    return empty | {name: [record]}


def granularity(index=2, **changes):
    return {"spanIndex": index, "text": SPANS[index]["text"], "issue": "too_coarse", "suggestion": "trotting"} | changes


def test_what_bears_checking_becomes_findings_with_place_and_section():
    found = checked()
    assert found.contradictions == ()
    assert found.response == judged()
    # In code points: the fox between "fox" and "trotting" is one, in UTF-16 it is two.
    at = PROMPT.index
    assert [(one.code, one.place, one.expected, one.got, one.span, one.section) for one in found.findings] == [
        ("MISSED", "", "slow pan", None, (at("slow pan"), at("slow pan") + 8), "technicalSpecs"),
        (
            "FALSE_POSITIVE",
            "spans[5]",
            None,
            "Variation 1",
            (at("Variation 1"), at("Variation 1") + 11),
            "alternatives",
        ),
        ("WRONG_ROLE", "spans[3]", "lighting.timeOfDay", "lighting.source", (at("dusk"), at("dusk") + 4), "main"),
        ("TOO_COARSE", "spans[2]", "trotting", SPANS[2]["text"], (at("trotting"), at("trotting") + 26), "main"),
    ]
    assert found.findings[0].severity == "major"


@for_every(
    ("name", "record", "message"),
    [
        ("falsePositives", about(5, reason="other") | {"spanIndex": 6}, "there is no span 6: there are 6"),
        ("falsePositives", about(5, reason="other") | {"spanIndex": -1}, "there is no span -1: there are 6"),
        ("falsePositives", about(5, reason="other") | {"spanIndex": "5"}, "spanIndex '5' is no whole number"),
        ("falsePositives", about(5, reason="other") | {"spanIndex": True}, "spanIndex True is no whole number"),
        ("falsePositives", about(5, reason="other") | {"text": "dusk"}, "span 5 is 'Variation 1', not 'dusk'"),
        (
            "falsePositives",
            about(5, reason="other") | {"assignedRole": "shot.type"},
            "the role of span 5 is 'style.aesthetic', not 'shot.type'",
        ),
        ("falsePositives", about(5, reason="ugly"), "the reason 'ugly' is none of section_header, abstract_concept,"),
        ("falsePositives", "Variation 1", "it is no record"),
        ("taxonomyErrors", about(3, expectedRole="lighting.source"), "'lighting.source' is the one that was assigned"),
        ("taxonomyErrors", about(3, expectedRole="light.time"), "'light.time' is not in the taxonomy"),
        ("taxonomyErrors", about(3, expectedRole="lighting.moon"), "'lighting.moon' is not in the taxonomy"),
        ("taxonomyErrors", about(3), "None is not in the taxonomy"),
        ("granularityErrors", granularity(issue="too_long"), "the issue 'too_long' is none of too_fine, too_coarse"),
        (
            "granularityErrors",
            granularity(suggestion="Trotting  through wet grass."),
            "the suggestion 'Trotting  through wet grass.' is the span as it is",
        ),
        ("missedElements", missed("dusk", "lighting.timeOfDay"), "'dusk' was extracted: [3] 'dusk'"),
        ("missedElements", missed("Wet  Grass", "action.state"), "was extracted: [2] 'trotting through wet grass'"),
        ("missedElements", missed("blue whale", "subject.identity"), "'blue whale' is not in the prompt"),
        ("missedElements", missed("slow pan", "camera.movement", "grave"), "the severity 'grave' is none of critical,"),
        ("missedElements", missed("slow pan", "camera.movement", ["minor"]), "the severity ['minor'] is none of"),
        ("granularityErrors", granularity(issue={}), "the issue {} is none of"),
        ("missedElements", missed("slow pan", "camera.roll"), "'camera.roll' is not in the taxonomy"),
        (
            "missedElements",
            missed("slow pan", "camera.movement", category="style"),
            "the category 'style' is not that of the role 'camera.movement'",
        ),
        ("missedElements", missed(" ", "camera.movement"), "it has no text"),
    ],
)
def test_what_the_spans_show_to_be_wrong_is_counted_and_not_believed(name, record, message):
    found = checked(**only(name, record))
    assert len(found.contradictions) == 1
    assert found.contradictions[0].startswith(f"{name}[0]: ")
    assert message in found.contradictions[0]
    assert (found.response[name], found.findings) == ([], ())


def test_a_span_that_is_complained_of_again_is_one_error_and_no_contradiction():
    again = [about(5, reason="section_header"), about(5, reason="other"), about(1, reason="duplicate")]
    found = checked(falsePositives=again, missedElements=[], taxonomyErrors=[], granularityErrors=[])
    assert [one.place for one in found.findings] == ["spans[5]", "spans[1]"]
    assert (found.response["falsePositives"], found.contradictions) == ([again[0], again[2]], ())


def test_case_and_spaces_are_no_contradiction():
    found = checked(**only("falsePositives", about(5, reason="other") | {"text": " variation  1. "}))
    assert (found.contradictions, [one.code for one in found.findings]) == ((), ["FALSE_POSITIVE"])


def test_a_phrase_inside_a_span_of_another_category_is_missed():
    found = checked(**only("missedElements", missed("wet grass", "environment.context")))
    assert (found.contradictions, [one.expected for one in found.findings]) == ((), ["wet grass"])


def test_a_phrase_with_a_place_that_no_span_holds_is_missed_there():
    # "red fox" stands twice, and only the first is a span.
    found = checked(**only("missedElements", missed("red fox", "subject.identity")))
    at = PROMPT.rindex("red fox")
    assert (found.contradictions, found.findings[0].span) == ((), (at, at + 7))
    assert found.findings[0].section == "alternatives"


def test_words_of_one_sentence_in_another_order_are_in_the_prompt():
    found = checked(**only("missedElements", missed("minimal glare", "style.aesthetic", "minor")))
    assert (found.contradictions, found.findings[0].span, found.findings[0].severity) == ((), None, "minor")


def test_a_category_alone_is_a_role():
    assert checked(**only("missedElements", missed("slow pan", "camera"))).contradictions == ()


def test_a_duplicate_has_a_code_of_its_own():
    found = checked(**only("falsePositives", about(5, reason="duplicate")))
    assert [one.code for one in found.findings] == ["DUPLICATE"]


def test_the_first_version_called_an_issue_a_reason_and_suggested_nothing():
    record = {"spanIndex": 2, "text": SPANS[2]["text"], "reason": "too_fine"}
    found = checked(**only("granularityErrors", record))
    assert (found.contradictions, [one.code for one in found.findings]) == ((), ["TOO_FINE"])


def test_a_total_that_is_not_the_sum_is_put_right():
    found = checked(totalScore=25)
    assert found.contradictions == ("totalScore 25 is not the sum of the scores, 19",)
    assert found.response["totalScore"] == 19


def test_scores_of_a_category_that_are_off_the_scale_are_left_out():
    found = checked(categoryScores={"shot": {"coverage": 0, "precision": 5}, "smell": {"coverage": 3}})
    assert found.contradictions == (
        "categoryScores.shot.coverage: 0 is not from 1 to 5",
        "categoryScores.smell: there is no such category",
    )
    assert found.response["categoryScores"] == {"shot": {"precision": 5}}


def test_the_good_complaints_stay_when_one_is_wrong():
    found = checked(falsePositives=[about(9 - 4, reason="other") | {"spanIndex": 9}, about(5, reason="other")])
    assert found.response["falsePositives"] == [about(5, reason="other")]
    assert len(found.contradictions) == 1


def test_confidences_are_held_against_the_false_positives_that_are_believed():
    wrong = about(0, reason="ugly")
    found = checked(falsePositives=[wrong, about(5, reason="other")])
    assert [(one.confidence, one.right, one.label) for one in found.claims] == [
        (1.0, True, "shot"),
        (0.55, True, "subject"),
        (0.7, True, "action"),
        (0.8, True, "lighting"),
        (0.9, True, "technical"),
        (0.59, False, "style"),
    ]


def test_with_gold_spans_errors_are_not_named_twice():
    gold = [{"text": "dusk", "role": "lighting.timeOfDay", "start": 0, "end": 4}]
    found = checked(case=Case("fox", {"text": PROMPT}, {"spans": gold}), totalScore=1)
    assert (found.findings, found.claims, len(found.contradictions)) == ((), (), 1)


def test_a_gold_span_inside_a_longer_one_was_not_extracted():
    inside = only("missedElements", missed("wet grass", "action.state"))
    gold = [{"text": "wet grass", "role": "action.state", "start": 43, "end": 52}]
    assert checked(case=Case("fox", {"text": PROMPT}, {"spans": gold}), **inside).contradictions == ()


def test_the_spans_may_stand_in_the_whole_answer():
    found = check(judged(), json.dumps({"spans": SPANS}), CASE, {})
    assert (found.contradictions, len(found.findings)) == ((), 4)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["spanIndex", "text", "assignedRole", "expectedRole", "reason", "issue", "severity", "shot"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
NAMES = ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors", "categoryScores", "totalScore")


@given(st.dictionaries(st.sampled_from([*NAMES, "scores"]), anything), st.lists(anything, max_size=4))
def test_whatever_a_judge_says_is_checked_without_breaking_and_checking_again_finds_nothing(response, spans):
    first = check(response, json.dumps(spans), CASE, {})
    again = check(first.response, json.dumps(spans), CASE, {})
    assert again.contradictions == ()
    assert again.response == first.response


def test_an_index_that_cannot_be_is_for_the_check_and_not_for_the_schema():
    """One bad index is one contradiction; refused by the schema it would take the whole answer with it."""
    schema = load_suite("spans").judge.response
    for name in ("falsePositives", "taxonomyErrors", "granularityErrors"):
        index = schema["properties"][name]["items"]["properties"]["spanIndex"]
        assert index["type"] == "integer"
        assert "minimum" not in index


FIVES = {
    name: {"coverage": 5, "precision": 5} for name in ("shot", "subject", "camera", "lighting", "audio", "environment")
}


def test_a_category_that_neither_side_has_is_no_five():
    # Spans have a shot, a subject and light; the judge misses a camera movement; of sound and place nobody speaks.
    kept = checked(categoryScores=FIVES).response["categoryScores"]
    assert sorted(kept) == ["camera", "lighting", "shot", "subject"]
    assert checked(categoryScores=FIVES).contradictions == ()


def test_without_gold_a_category_that_is_scored_below_five_is_there():
    scores = FIVES | {"audio": {"coverage": 2, "precision": 5}}
    assert checked(categoryScores=scores).response["categoryScores"]["audio"] == {"coverage": 2, "precision": 5}


def test_with_gold_only_gold_and_spans_say_which_categories_are_there():
    gold = {"spans": [{"text": "wet grass", "role": "environment.location", "start": 0, "end": 9}]}
    scores = FIVES | {"audio": {"coverage": 2, "precision": 5}}
    kept = checked(case=Case("fox", {"text": PROMPT}, gold), categoryScores=scores).response["categoryScores"]
    assert sorted(kept) == ["environment", "lighting", "shot", "subject"]
