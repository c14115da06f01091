"""The gold judge: the enhanced result without a model, and what it comes to on answers worked out by hand."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

import steelyard
from parts.looped import for_every
from steelyard import Case, load_suite
from steelyard.scoring.spans.read import TextSpan
from steelyard.suites.spans.facts import Facts
from steelyard.suites.spans.gold import judge, score
from steelyard.suites.spans.taxonomy import REASONS, reason

FOLDER = Path(steelyard.__file__).parent / "suites" / "spans"
SCHEMA = json.loads((FOLDER / "judge" / "response.schema.json").read_text(encoding="utf-8"))
TEXT = (
    "Medium Shot of a welder in a leather apron cutting a beam at night. A sense of hope. Keep the sparks visible.\n\n"
    "**TECHNICAL SPECS**\n- **Duration:** 6s\n- **Frame Rate:** 24fps\n- **Audio:** hissing gas\n\n"
    "**VARIATIONS**\n- **Low Angle:** from below."
)
GOLD = (
    ("Medium Shot", "shot.type"),
    ("welder", "subject.identity"),
    ("leather apron", "subject.wardrobe"),
    ("cutting a beam", "action.movement"),
    ("night", "lighting.timeOfDay"),
    ("6s", "technical.duration"),
    ("24fps", "technical.frameRate"),
    ("hissing gas", "audio.soundEffect"),
    ("below", "camera.angle"),
)


def spans(pairs, text=TEXT):
    return [{"text": words, "role": role, "start": text.index(words), "end": text.index(words) + len(words)}
            for words, role in pairs]  # fmt: skip


CASE = Case(id="weld", input={"text": TEXT}, expected={"spans": spans(GOLD)})


def judged(*pairs, case=CASE):
    result = judge(json.dumps(spans(pairs)), case, {})
    assert jsonschema_rs.validator_for(SCHEMA).is_valid(result)
    assert result["totalScore"] == sum(result["scores"].values())
    return result


def test_a_perfect_answer_has_25_and_no_complaint():
    result = judged(*GOLD)
    assert result["totalScore"] == 25
    assert [result[name] for name in ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors")] == [
        [], [], [], []
    ]  # fmt: skip
    assert all(part == {"coverage": 5, "precision": 5} for part in result["categoryScores"].values())


def test_no_spans_have_the_lowest_score_in_everything():
    result = judged()
    assert set(result["scores"].values()) == {1}
    assert len(result["missedElements"]) == 9
    assert result["categoryScores"]["subject"] == {"coverage": 1, "precision": 1}
    assert result["categoryScores"]["style"] == {"coverage": 5, "precision": 5}  # neither side has any


def test_missed_elements_have_role_category_and_severity():
    result = judged(*(pair for pair in GOLD if pair[0] not in ("leather apron", "6s", "hissing gas")))
    assert result["missedElements"] == [
        {"text": "leather apron", "expectedRole": "subject.wardrobe", "category": "subject", "severity": "critical"},
        {"text": "6s", "expectedRole": "technical.duration", "category": "technical", "severity": "important"},
        {"text": "hissing gas", "expectedRole": "audio.soundEffect", "category": "audio", "severity": "minor"},
    ]
    # Found 6 of 9 = 67 %: 3. All 6 are right: 5. Technical by role or section: 1 of 3 gold, 1 answered, F1 2/4: 3.
    assert result["scores"] == {"coverage": 3, "precision": 5, "granularity": 4, "taxonomy": 4, "technicalSpecs": 3}


def test_each_false_positive_has_its_index_and_one_of_six_reasons():
    result = judged(
        *GOLD,
        ("sense of hope", "style.aesthetic"),
        ("sparks", "environment.context"),
        ("Frame Rate", "technical.frameRate"),
        ("apron", "subject.wardrobe"),
        ("of", "camera.angle"),
    )
    assert [(one["spanIndex"], one["text"], one["reason"]) for one in result["falsePositives"]] == [
        (9, "sense of hope", "abstract_concept"),
        (10, "sparks", "instruction_text"),
        (11, "Frame Rate", "section_header"),
        (12, "apron", "duplicate"),
        (13, "of", "other"),
    ]
    assert result["scores"]["precision"] == 3  # 9 of 14 are gold spans: 64 %


def test_a_wrong_role_is_a_taxonomy_error_with_both_roles():
    result = judged(("Medium Shot", "camera.movement"), *GOLD[1:])
    assert result["taxonomyErrors"] == [
        {"spanIndex": 0, "text": "Medium Shot", "assignedRole": "camera.movement", "expectedRole": "shot.type"}
    ]
    # Found, but not as what it is: covered, and of the two spans called camera one is wrong, 1 of 2 = 50 %: 3.
    assert result["categoryScores"]["shot"] == {"coverage": 5, "precision": 1}
    assert result["categoryScores"]["camera"] == {"coverage": 5, "precision": 3}
    assert result["scores"]["taxonomy"] == 4  # 8 of 9


def test_boundaries_are_granularity_errors_with_a_suggestion():
    pairs = [pair for pair in GOLD if pair[0] not in ("leather apron", "cutting a beam", "night")]
    result = judged(*pairs, ("apron", "subject.wardrobe"), ("cutting a beam at night", "action.movement"))
    assert result["granularityErrors"] == [
        {
            "spanIndex": 7,
            "text": "cutting a beam at night",
            "issue": "too_coarse",
            "suggestion": "cutting a beam | night",
        },
        {"spanIndex": 6, "text": "apron", "issue": "too_fine", "suggestion": "leather apron"},
    ]
    assert [one["text"] for one in result["missedElements"]] == ["night"]  # of another category than what swallowed it


def test_what_a_longer_span_of_its_category_swallows_is_reported_once_as_too_coarse():
    pairs = [pair for pair in GOLD if pair[0] not in ("welder", "leather apron")]
    result = judged(*pairs, ("welder in a leather apron", "subject.wardrobe"))
    assert [(one["text"], one["suggestion"]) for one in result["granularityErrors"]] == [
        ("welder in a leather apron", "welder | leather apron")
    ]
    assert result["missedElements"] == []


def test_a_span_that_is_nowhere_in_the_prompt_is_a_false_positive():
    answer = [*spans(GOLD), {"text": "purple elephant", "role": "subject.identity", "start": 0, "end": 15}]
    result = judge(json.dumps(answer), CASE, {})
    assert result["falsePositives"] == [
        {"spanIndex": 9, "text": "purple elephant", "assignedRole": "subject.identity", "reason": "other"}
    ]


def test_one_span_over_everything_earns_nothing():
    whole = [{"text": TEXT, "role": "subject.identity", "start": 0, "end": len(TEXT)}]
    assert set(judge(json.dumps(whole), CASE, {})["scores"].values()) == {1}


def test_a_few_good_spans_do_not_shine_in_what_they_are_few_of():
    result = judged(*GOLD[:4])
    # 4 of 9 found, 44 %: 2; the others at most one above it, but for precision.
    assert result["scores"] == {"coverage": 2, "precision": 5, "granularity": 3, "taxonomy": 3, "technicalSpecs": 1}


def test_a_prompt_without_figures_gets_the_lower_of_coverage_and_precision_for_them():
    text = "Medium Shot of a welder"
    case = Case(id="short", input={"text": text}, expected={"spans": spans(GOLD[:2], text)})
    assert judge(json.dumps(spans(GOLD[:2], text)), case, {})["scores"]["technicalSpecs"] == 5
    assert judge(json.dumps(spans(GOLD[:1], text)), case, {})["scores"]["technicalSpecs"] == 3


@for_every(
    ("n", "of", "points"),
    [(9, 10, 5), (89, 100, 4), (3, 4, 4), (74, 100, 3), (1, 2, 3), (49, 100, 2), (1, 5, 2), (19, 100, 1), (0, 0, 1)],
)
def test_a_share_becomes_a_score(n, of, points):
    assert score(n, of) == points


def test_a_case_without_gold_is_refused_in_words():
    with pytest.raises(ValueError, match="no gold spans: judge it with a model"):
        judge("[]", Case(id="bare", input={"text": "A cat."}, expected={}), {})


def test_every_reason_can_be_given():
    def given(words, role="style.aesthetic", **more):
        start = TEXT.index(words)
        return reason(TextSpan(words, start, start + len(words), role), TEXT, **more)

    assert {
        given("Duration"),
        given("hope"),
        given("hissing", "environment.context"),
        given("sparks visible"),
        given("leather", duplicate=True),
        given("beam"),
    } == set(REASONS)


def test_the_facts_that_bind_a_judge_are_those_of_the_gold():
    facts = Facts(answer="spans")
    assert facts.read({"spans": spans(GOLD)}, CASE).metrics == {
        "answered": 9, "nothing": False, "little_found": False, "little_right": False, "hardly_any": False,
    }  # fmt: skip
    few = facts.read({"spans": spans(GOLD[:4])}, CASE).metrics
    assert few["little_found"]
    assert not few["little_right"]
    assert not few["hardly_any"]
    assert facts.read({"spans": spans(GOLD[:1])}, CASE).metrics["hardly_any"]
    bare = Case(id="bare", input={"text": TEXT}, expected={})
    assert facts.read({"spans": []}, bare).metrics == {
        "answered": 0, "nothing": True, "little_found": False, "little_right": False, "hardly_any": False,
    }  # fmt: skip


def test_no_rule_of_the_suite_binds_the_gold_judge_on_the_labeller():
    from steelyard.suites.spans.labeller import label

    suite = load_suite("spans")
    facts = Facts(answer="spans")
    for case in suite.cases:
        answer = label(case)
        scores = judge(json.dumps(answer["spans"]), case, {})["scores"]
        measured = {"facts": facts.read(answer, case).metrics}
        for rule in suite.judge.rules:
            if rule.holds(measured):
                assert all(scores[name] <= most for name, most in rule.caps.items()), (case.id, rule.text)
