"""Scores that stand in a field of the judge's answer, and a text that is shown to the judge in another form."""

import json

import pytest

from steelyard.judging.default_prompt import answer_shape
from steelyard.judging.fence import Fence
from steelyard.judging.judgement import JudgeReader
from steelyard.judging.parse import AnswerParser
from steelyard.judging.prompt import messages
from steelyard.loading.judge import response_schema
from steelyard.records import CallResult, JudgeCall, Mode
from steelyard.suite.case import Case
from steelyard.suite.judge import Dimension, Flag, JudgeModel, Member, Reasons, Rubric

RUBRIC = Rubric(dimensions=(Dimension(name="tone"), Dimension(name="depth")), flags=(Flag(name="harm"),))
JUDGE = JudgeModel(
    rubric=RUBRIC,
    members=(Member(name="model", kind="chat"),),
    response=response_schema(JudgeModel(rubric=RUBRIC, scores_in="scores", reasons=Reasons(place="reasons"))),
    reasons=Reasons(place="reasons"),
    scores_in="scores",
)
SCORES = {"tone": 4, "depth": 2, "harm": False}
WHOLE = {"reasons": ["flat"], "scores": SCORES}


def parsed(answer, judge=JUDGE):
    return AnswerParser(judge).parse(answer if isinstance(answer, str) else json.dumps(answer))


def test_the_schema_made_from_the_rubric_holds_the_scores_in_their_field():
    assert list(JUDGE.response["properties"]) == ["reasons", "scores"]
    assert list(JUDGE.response["properties"]["scores"]["properties"]) == ["tone", "depth", "harm"]
    assert answer_shape(JUDGE).splitlines()[-2] == (
        '  "scores": {"tone": <whole number from 1 to 5>, "depth": <whole number from 1 to 5>, "harm": <true or false>}'
    )


def test_scores_are_read_from_their_field():
    found = parsed(WHOLE)
    assert (found.step, found.value) == ("strict", WHOLE)
    assert parsed(f"Here you are:\n{json.dumps(WHOLE)}").step == "extracted"


def test_a_whole_number_written_with_a_point_becomes_one():
    found = parsed({"reasons": ["flat"], "scores": SCORES | {"tone": 4.0}})
    assert found.value["scores"]["tone"] == 4
    assert isinstance(found.value["scores"]["tone"], int)


def test_an_answer_that_lacks_other_fields_is_read_on_basic():
    found = parsed({"scores": SCORES})
    assert (found.step, found.value) == ("basic", {"scores": SCORES})


def test_scores_at_the_top_are_read_on_basic_and_put_into_their_field():
    found = parsed({"reasons": ["flat"], **SCORES})
    assert (found.step, found.value) == ("basic", WHOLE)


def test_plain_lines_are_read_on_basic_into_their_field():
    found = parsed("tone: 4\ndepth: 2\nharm: false\n")
    assert (found.step, found.value) == ("basic", {"scores": SCORES})


def test_scores_in_both_places_cannot_be_used():
    found = parsed({**WHOLE, "tone": 5})
    assert found.value is None
    assert found.problems[0] == "tone: it is given more than once"


@pytest.mark.parametrize(
    "text",
    [
        '{"reasons": ["flat"], "scores": {"tone": 4, "tone": 5, "depth": 2, "harm": false}}',
        '{"reasons": ["flat"], "scores": {"tone": 1}, "scores": {"tone": 4, "depth": 2, "harm": false}}',
    ],
)
def test_a_score_that_is_given_twice_cannot_be_used(text):
    found = parsed(text)
    assert found.value is None
    assert "tone: it is given more than once" in found.problems


def test_the_same_key_in_another_field_is_no_repetition():
    judge = JudgeModel(rubric=RUBRIC, members=JUDGE.members, scores_in="scores")
    found = parsed(
        '{"by_part": {"a": {"tone": 1, "tone": 2}}, "scores": {"tone": 4, "depth": 2, "harm": false}}', judge
    )
    assert found.value["scores"] == SCORES


def test_a_score_out_of_range_is_reported_once():
    found = parsed({"reasons": ["flat"], "scores": SCORES | {"tone": 9}})
    assert found.value is None
    assert found.problems == ("tone: 9 is not a number from 1 to 5",)


def test_scores_in_a_wrong_field_are_reported_where_they_belong():
    found = parsed({"reasons": ["flat"], "marks": SCORES})
    assert found.value is None
    assert 'the scores stand inside "marks": they belong in "scores"' in found.problems


def test_an_answer_that_breaks_off_after_its_scores_is_fixed_though_other_fields_have_the_same_keys():
    judge = JudgeModel(rubric=RUBRIC, members=JUDGE.members, response=JUDGE.response, scores_in="scores")
    text = '{"scores": {"tone": 4, "depth": 2, "harm": false}, "by_part": {"a": {"tone": 1}, "b": {"tone": 3}}, "no'
    found = parsed(text, judge)
    assert (found.step, found.value["scores"]) == ("basic", SCORES)


def test_an_answer_that_breaks_off_within_its_scores_cannot_be_used():
    assert parsed('{"reasons": ["flat"], "scores": {"tone": 4, "depth": 2').value is None


def test_a_line_beside_the_json_that_says_otherwise_makes_it_unusable():
    found = parsed(f"{json.dumps(WHOLE)}\ntone: 5")
    assert found.value is None
    assert found.problems == ("tone: 4 in the JSON, 5 in a line outside it",)


def test_a_judgement_reads_its_scores_and_keeps_the_answer_as_it_came():
    call = JudgeCall("model", 0, 0, CallResult(text=json.dumps(WHOLE)))
    found = JudgeReader(JUDGE).read([call], "a text", Case("one"), {})
    assert found.mode is Mode.MODEL
    assert found.uncapped == SCORES
    assert found.votes[0].response == WHOLE


def test_a_judge_that_is_code_answers_in_the_same_shape():
    judge = JudgeModel(
        rubric=RUBRIC,
        members=(Member(name="code", kind="python"),),
        response=JUDGE.response,
        reasons=Reasons(place="reasons"),
        scores_in="scores",
    )
    found = JudgeReader(judge, {"code": lambda *_: WHOLE}).read([], "a text", Case("one"), {})
    assert found.capped == SCORES


def shown(template, text):
    judge = JudgeModel(rubric=RUBRIC, members=JUDGE.members, user="Look:\n{{ text }}\n", shown=template)
    return messages(judge, text, Case("one"), {}, Fence("m")).messages[1]["content"]


def test_what_is_judged_is_shown_as_the_suite_says_and_fenced():
    listed = "{% for one in part %}[{{ loop.index0 }}] {{ one.t }}\n{% endfor %}"
    assert shown(listed, '[{"t": "a"}, {"t": "b"}]') == "Look:\n<<<BEGIN m>>>\n[0] a\n[1] b\n\n<<<END m>>>\n"


def test_a_text_that_is_no_json_is_shown_as_a_text():
    assert shown("({{ part }})", "plain words") == "Look:\n<<<BEGIN m>>>\n(plain words)\n<<<END m>>>\n"
