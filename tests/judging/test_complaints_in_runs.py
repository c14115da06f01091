"""Complaints on the way into a sample: listed codes, severity, certainty, and what a broken check costs."""

import json

from parts.judged_suite import verdict, write_judged
from steelyard.engine.judges import Judges
from steelyard.engine.sample import Evaluation
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, Claim, JudgeCall, Outcome
from steelyard.scoring.evaluate import Evaluator

CHECKS = """
from steelyard import Claim, Checked, Finding

def check(reply, text, case, metrics):
    found = [Finding(one["code"], got=one["stated"], severity=one.get("severity", "error")) for one in reply["about"]]
    sure = (Claim(0.9, not found, "word"),)
    return Checked({**reply, "about": []}, tuple(found), ("it is not so",) * reply["wrong"], sure)
"""
MODEL = {"by": "model", "judges": {"model": {"chat": {"base_url": "http://localhost:9/v1", "model": "m"}}}}
RESPONSE = {
    "type": "object",
    "properties": {
        "reasons": {"type": "array"},
        "about": {"type": "array"},
        "wrong": {"type": "integer"},
        "clarity": {"type": "integer"},
        "harm": {"type": "boolean"},
    },
    "required": ["reasons", "about", "wrong", "clarity", "harm"],
}
KINDS = {"ODD": {"about": "An odd word.", "severity": "minor"}, "LOST": {"severity": "major"}}


def evaluated(folder, *about, wrong=0, text="A text of more than five words, all of them fine."):
    folder.mkdir()
    (folder / "checks.py").write_text(CHECKS)
    path = write_judged(folder, check="checks:check", response=RESPONSE, suite={"findings": KINDS}, **MODEL)
    suite = load_suite(path)
    case = next(iter(suite.cases))
    weighing = Evaluation(Evaluator(suite), case, "", 0, CallResult(text=text))
    call = JudgeCall("model", 0, 0, CallResult(text=json.dumps(verdict(4, about=list(about), wrong=wrong))))
    Judges(suite.judge, suite.folder).read_again(weighing, [call])
    return weighing.sample


def test_what_a_judge_names_is_a_finding_of_the_sample_as_severe_as_the_suite_says(tmp_path):
    sample = evaluated(tmp_path / "s", {"code": "ODD", "stated": "fine"}, {"code": "LOST", "stated": "it"})
    assert [(one.code, one.severity, one.got, one.gain) for one in sample.findings] == [
        ("ODD", "minor", "fine", 0.0),
        ("LOST", "major", "it", 0.0),
    ]
    assert (sample.outcome, sample.score) == (Outcome.SCORED, 0.75)


def test_a_judge_may_say_how_severe_it_is(tmp_path):
    sample = evaluated(tmp_path / "s", {"code": "ODD", "stated": "fine", "severity": "critical"})
    assert [one.severity for one in sample.findings] == ["critical"]


def test_a_contradiction_is_no_finding(tmp_path):
    sample = evaluated(tmp_path / "s", wrong=2)
    assert sample.findings == ()
    assert [one.code for one in sample.judgement.votes[0].remarks] == ["CONTRADICTION", "CONTRADICTION"]


def test_what_the_judge_lets_stand_is_what_confidences_are_held_against(tmp_path):
    assert evaluated(tmp_path / "s").claims == (Claim(0.9, True, "word"),)


def test_a_code_that_the_suite_does_not_list_is_a_broken_scale(tmp_path):
    sample = evaluated(tmp_path / "s", {"code": "OTHER", "stated": "fine"})
    assert (sample.outcome, sample.score, [one.code for one in sample.findings]) == (
        Outcome.JUDGE_FAILED,
        None,
        ["SCORER_ERROR"],
    )
    assert "the finding code 'OTHER', which the suite's findings do not list" in sample.findings[0].evidence


def test_a_check_that_breaks_loses_no_paid_answer(tmp_path):
    sample = evaluated(tmp_path / "s", "no record")
    assert (sample.outcome, sample.findings[0].code) == (Outcome.JUDGE_FAILED, "SCORER_ERROR")
    assert "the check checks:check of the judge raised TypeError" in sample.findings[0].evidence
    assert sample.judgement.mode is None
    assert [call.call_result.text for call in sample.judgement.calls] == [
        json.dumps(verdict(4, about=["no record"], wrong=0))
    ]
