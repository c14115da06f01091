"""The audit of a judged suite: it holds for rules and checks that work, and fails as soon as one of them does not."""

from dataclasses import replace

import pytest

from parts.command import steelyard
from parts.judged_suite import write_judged
from steelyard.auditing import judge as judged
from steelyard.auditing.audit import audit
from steelyard.auditing.injections import INJECTIONS
from steelyard.judging import judgement
from steelyard.judging.fence import Fence
from steelyard.loading.load import load_suite

EVIDENCE = {"evidence": {"in": "evidence"}}


def suite_of(folder, **judge):
    """Two texts, one of which a rule binds and flags."""
    rules = {"bind": ["when size.muddles > 0 then clarity <= 2 and harm"]}
    code = "def judge(text, case, metrics):\n    return {'reasons': ['a', 'b'], 'clarity': 1, 'harm': False, **MORE}\n"
    texts = {"texts": {0: "A muddle of words that nobody can follow."}}
    path = write_judged(folder, n=2, **(texts | rules | judge))
    more = "MORE = {'evidence': {'clarity': []}}\n" if "evidence" in judge else "MORE = {}\n"
    measures = (folder / "measures.py").read_text().partition("def judge")[0]
    (folder / "measures.py").write_text(f"{measures}{more}{code}")
    return load_suite(path)


def message(suite):
    return [complaint for complaint in audit(suite).complaints if complaint.startswith("injection")]


def test_rules_and_checks_hold_against_a_judge_that_obeys(tmp_path):
    result = audit(suite_of(tmp_path, **EVIDENCE))
    assert result.complaints == []
    assert [one.name for one in result.injections] == [one.name for one in INJECTIONS]
    assert {one.n for one in result.injections} == {2}
    # Bound to the neutral 3 of 1..5 for want of proof; an order that is quoted proves nothing either.
    assert {(one.highest, one.highest_with_quote) for one in result.injections} == {(0.5, 0.5)}
    # One text is flagged by the rule; the other one gets the neutral score, which passes here.
    assert {one.n_passed for one in result.injections} == {1}


def test_without_evidence_an_obedient_judge_gets_full_marks_through_and_that_is_shown(tmp_path):
    result = audit(suite_of(tmp_path))
    assert {one.highest for one in result.injections} == {1.0}
    assert result.complaints == []


def test_a_judge_that_nothing_stands_beside_is_complained_of(tmp_path):
    complaints = audit(suite_of(tmp_path, bind=[])).complaints
    assert any(one.startswith("only the judge itself keeps an instruction") for one in complaints)


def broken(monkeypatch, change):
    """The suite's reader, with every judgement changed."""
    original = judgement.JudgeReader.read
    monkeypatch.setattr(judgement.JudgeReader, "read", lambda self, *about: change(original(self, *about)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda one: replace(one, capped={**one.capped, "clarity": 5}), "clarity got past the rule"),
        (lambda one: replace(one, capped={**one.capped, "harm": False}), "harm got past the rule"),
        (lambda one: replace(one, capped={**one.capped, "clarity": 5}), "clarity above 3 without a quote"),
        (lambda one: replace(one, votes=()), "there is no remark on it"),
    ],
)
def test_a_rule_or_check_that_does_not_hold_fails_the_audit(change, complaint, tmp_path, monkeypatch):
    suite = suite_of(tmp_path, **EVIDENCE)
    broken(monkeypatch, change)
    assert any(complaint in one for one in message(suite))


def test_a_text_that_gets_out_of_its_fence_fails_the_audit(tmp_path, monkeypatch):
    suite = suite_of(tmp_path, **EVIDENCE)
    monkeypatch.setattr(Fence, "__call__", lambda _, text: str(text))
    assert any("is not whole inside its fence" in one for one in message(suite))


def test_an_open_fence_fails_the_audit(tmp_path, monkeypatch):
    suite = suite_of(tmp_path, **EVIDENCE)
    original = judged.messages

    def opened(*about):
        prompt = original(*about)
        prompt.messages[-1]["content"] += f"\n{about[-1].begin}\n"
        return prompt

    monkeypatch.setattr(judged, "messages", opened)
    assert any("a fence is open" in one for one in message(suite))


def test_probes_that_know_nothing_are_judged_by_code(tmp_path):
    probes = {one.probe: one for one in audit(suite_of(tmp_path)).probes}
    assert probes["empty"].n_malformed == 2
    assert (probes["constant"].average, probes["constant"].only_shown) == (0.0, False)


def test_where_a_model_would_have_to_be_asked_nobody_is(tmp_path):
    chat = {"chat": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}}
    suite = suite_of(tmp_path, by="model", judges={"model": chat}, **EVIDENCE)
    probes = {one.probe: one for one in audit(suite).probes}
    # Full marks without proof: bound to the neutral 3 of 1..5.
    assert (probes["constant"].average, probes["constant"].only_shown) == (0.5, True)


def test_a_measure_that_an_attempt_talks_up_fails_the_audit(tmp_path):
    # Two words are too few; with an order behind them they are enough.
    suite = suite_of(tmp_path, texts={0: "Hello there."}, bind=["when size.words < 5 then clarity <= 2"])
    assert any("clarity got past the rule" in one for one in message(suite))


def test_an_answer_in_json_is_tried_with_the_attempt_behind_it(tmp_path):
    schema = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
    scorer = (
        "from steelyard import Reading, Scorer\n\nclass Size(Scorer):\n    needs_truth = False\n    case_paths = ()\n"
    )
    scorer += "    metrics = {'words': 'words', 'muddles': 'muddles'}\n\n    def read(self, answer, case):\n"
    scorer += "        return Reading(1.0, metrics={'words': 1, 'muddles': 1})\n\n"
    code = "def judge(text, case, metrics):\n    return {'reasons': ['a', 'b'], 'clarity': 1, 'harm': False}\n"
    more = {"answer": {"schema": schema}, "target": {"python": "measures:answer"}}
    path = write_judged(tmp_path, n=2, bind=["when size.muddles > 0 then clarity <= 2"], suite=more)
    (tmp_path / "measures.py").write_text(f"{scorer}{code}\n\ndef answer(case):\n    return {{}}\n")
    result = audit(load_suite(path))
    assert result.complaints == []
    # Bound by the rule to 2 of 1..5, whatever the attempt.
    assert {(one.n, one.highest) for one in result.injections} == {(2, 0.25)}


def test_attempts_are_tried_on_answers_that_deserve_little(tmp_path):
    # Two cases with a truth each: the truth of the other case is what is tampered with, and the rule on it binds.
    truth = (
        "from steelyard import Reading, Scorer\n\nclass Size(Scorer):\n"
        "    needs_truth = False\n    case_paths = ()\n    metrics = {'right': 'whether it is the number'}\n\n"
        "    def truth_at(self, case):\n        return {'': f'Number {case.input[\"number\"]}.'}\n\n"
        "    def read(self, answer, case):\n        right = f'Number {case.input[\"number\"]}.' in answer\n"
        "        return Reading(float(right), metrics={'right': right})\n\n"
        "def judge(text, case, metrics):\n    return {'reasons': ['a', 'b'], 'clarity': 5, 'harm': False}\n\n"
        "def answer(case):\n    return ''\n"
    )
    bind = ["when not size.right then clarity <= 1"]
    path = write_judged(tmp_path, n=2, bind=bind, suite={"target": {"python": "measures:answer"}})
    (tmp_path / "measures.py").write_text(truth)
    result = audit(load_suite(path))
    assert {(one.n, one.highest, one.n_passed) for one in result.injections} == {(2, 0.0, 0)}


def judged_json(folder, schema):
    code = (
        "from steelyard import Reading, Scorer\n\nclass Size(Scorer):\n    needs_truth = False\n    case_paths = ()\n"
        "    metrics = {'muddles': 'muddles'}\n\n    def read(self, answer, case):\n"
        "        return Reading(1.0, metrics={'muddles': 1})\n\n"
        "def judge(text, case, metrics):\n    return {'reasons': ['a', 'b'], 'clarity': 1, 'harm': False}\n\n"
        "def answer(case):\n    return {}\n"
    )
    more = {"answer": schema, "target": {"python": "measures:answer"}}
    path = write_judged(folder, n=2, bind=["when size.muddles > 0 then clarity <= 2"], of="reply.text", suite=more)
    (folder / "measures.py").write_text(code)
    return path


def test_without_a_schema_answers_are_made_of_what_the_judge_reads(tmp_path):
    result = audit(load_suite(judged_json(tmp_path, {"format": "json"})))
    assert (result.complaints, result.not_read) == ([], [])
    # Bound by the rule to 2 of 1..5.
    assert {(one.n, one.highest) for one in result.injections} == {(2, 0.25)}


def test_attempts_that_could_not_be_tried_neither_hold_nor_fail(tmp_path):
    schema = {"type": "object", "required": ["code"], "properties": {"code": {"type": "string", "pattern": "^X+$"}}}
    judged_json(tmp_path, {"schema": schema})
    done = steelyard("audit", "suite.yaml", cwd=tmp_path)
    assert done.returncode == 4
    rows = [line for line in done.stdout.splitlines() if line.startswith(("  order ", "  plea "))]
    assert [row.split()[-2:] for row in rows] == [["not", "read"]] * 4
    assert "FAILS" not in done.stdout
    told = " ".join(done.stdout.split())
    assert 'no readable answer could be made: code: "There is nothing to say about this."' in told
