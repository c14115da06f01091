"""Complaints of a judge that are compared with what it judged."""

import json

import pytest

from parts.small_judge import FINE, answer, judge
from steelyard import Checked, Finding
from steelyard.judging.complaints import check_complaints, complaint_check
from steelyard.judging.judgement import JudgeReader
from steelyard.records import CallResult, JudgeCall, Mode
from steelyard.suite.case import Case
from steelyard.suite.judge import Member

TEXT = "The old lighthouse stood alone."
CASE = Case("a", {"question": "Where?"}, {"labels": {"tone": 2}, "hint": "the sea"})


def check(response, text, case, metrics):
    """Words that the judge says are missing, and that are there, are no complaint."""
    missing = response.get("missing", [])
    wrong = [word for word in missing if word in text]
    kept = [word for word in missing if word not in text]
    findings = tuple(Finding("MISSING", got=word, gain=0.5) for word in kept)
    return Checked({**response, "missing": kept}, findings, tuple(f"{word} is in the text" for word in wrong))


def call(member="model", repeat=0, text=None, **fields):
    return JudgeCall(member, repeat, 0, CallResult(text=text or json.dumps(answer(**fields))))


def read(*calls, checking=check, text=TEXT, **changes):
    model = judge(evidence=None, rules=(), check=checking, **changes)
    return JudgeReader(model, {}, checking).read(calls, text, CASE, FINE)


def test_what_bears_checking_is_kept_and_becomes_findings():
    judgement = read(call(missing=["sea"]))
    (ballot,) = judgement.votes
    assert [(one.code, one.got) for one in ballot.findings] == [("MISSING", "sea")]
    assert judgement.findings == ballot.findings
    assert ballot.remarks == ()


def test_a_contradiction_is_counted_and_not_believed():
    (ballot,) = read(call(missing=["old", "sea", "alone"])).votes
    assert [(one.code, one.message) for one in ballot.remarks] == [
        ("CONTRADICTION", "old is in the text"),
        ("CONTRADICTION", "alone is in the text"),
    ]
    assert [one.got for one in ballot.findings] == ["sea"]
    assert ballot.response["missing"] == ["sea"]


def test_scores_are_as_the_judge_gave_them_whatever_the_check_makes_of_the_rest():
    def lower(response, text, case, metrics):
        return Checked({**response, "tone": 1})

    (ballot,) = read(call(tone=4), checking=lower).votes
    assert (ballot.uncapped["tone"], ballot.capped["tone"], ballot.response["tone"]) == (4, 4, 1)


def test_what_a_judge_names_gains_nothing():
    assert read(call(missing=["sea"])).findings[0].gain == 0.0


def test_a_reading_of_scores_alone_is_not_checked():
    broken = json.dumps({"tone": 3, "plot_sense": 3, "harm_flag": False, "missing": ["old"]})
    judgement = read(call(text=broken))
    (ballot,) = judgement.votes
    assert (ballot.mode, ballot.remarks[-1].code, ballot.findings) == (Mode.BASIC, "TOO_FEW_REASONS", ())


def test_a_check_sees_text_and_metrics_and_never_the_labels():
    seen = []

    def look(response, text, case, metrics):
        seen.append((text, case.expected, metrics, response["tone"]))
        return Checked(response)

    model = judge(evidence=None, rules=(), check=look, labels="expected.labels")
    JudgeReader(model, {}, look).read([call()], TEXT, CASE, FINE)
    assert seen == [(TEXT, {"hint": "the sea"}, FINE, 3)]


def test_the_vote_nearest_to_the_combined_scores_speaks_for_the_panel():
    # Medians: tone 3, plot_sense 4. Distances: 3+1 = 4, 0+1 = 1, 1+0 = 1; of the two nearest the first counts.
    judgement = read(
        call(repeat=0, tone=5, plot_sense=5, missing=["a1"]),
        call(repeat=1, tone=3, plot_sense=3, missing=["b2"]),
        call(repeat=2, tone=2, plot_sense=4, missing=["c3"]),
        repeats=3,
    )
    assert judgement.capped == {"tone": 3, "plot_sense": 4, "harm_flag": False}
    assert [one.got for one in judgement.findings] == ["b2"]
    assert [[one.got for one in ballot.findings] for ballot in judgement.votes] == [["a1"], ["b2"], ["c3"]]


def test_a_vote_of_another_mode_never_speaks_for_the_panel():
    judgement = read(
        call(repeat=0, text="tone: 3\nplot_sense: 3\nharm_flag: false"),
        call(repeat=1, tone=5, missing=["b2"]),
        repeats=2,
    )
    assert (judgement.mode, [one.got for one in judgement.findings]) == (Mode.MODEL, ["b2"])


def test_a_judgement_that_comes_to_nothing_has_no_findings():
    assert read().findings == ()


def test_a_judge_that_is_code_is_checked_too():
    model = judge(evidence=None, rules=(), check=check, members=(Member(name="code", kind="python", settings="x:y"),))
    reader = JudgeReader(model, {"code": lambda text, case, metrics: answer(missing=["old"])}, check)
    assert [one.code for one in reader.read((), TEXT, CASE, FINE).votes[0].remarks] == ["CONTRADICTION"]


def broken(response, text, case, metrics):
    raise KeyError("spans")


@pytest.mark.parametrize(
    ("checking", "message"),
    [
        (broken, "raised KeyError: 'spans' (test_complaints.py:"),
        (lambda *_: {"response": {}}, "returned {'response': {}} (dict), not a Checked (test_complaints.py:"),
        (lambda *_: Checked([]), "returned Checked.response: [] (list), not a dict"),
        (lambda reply, *_: Checked(reply, ("MISSING",)), "returned Checked.findings: 'MISSING' (str), not a Finding"),
    ],
)
def test_a_check_that_breaks_is_a_broken_scale(checking, message):
    with pytest.raises(ValueError, match="of the judge") as raised:
        read(call(), checking=checking)
    assert message in str(raised.value)


def test_a_check_is_found_in_the_folder_of_the_suite(tmp_path):
    (tmp_path / "my_checks.py").write_text("def look(reply, text, case, metrics):\n    return 'here'\n")
    found = complaint_check(judge(check="my_checks:look"), tmp_path)
    assert found({}, "", CASE, {}) == "here"
    assert complaint_check(judge(check=check), tmp_path) is check
    assert complaint_check(judge(), tmp_path) is None


def test_the_answer_that_is_checked_is_plain_data():
    checked, remarks = check_complaints(check, {"missing": ["old"]}, TEXT, CASE, {})
    assert (checked.response, checked.findings, len(remarks)) == ({"missing": []}, (), 1)
