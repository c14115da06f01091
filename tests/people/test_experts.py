"""Experts answer cases themselves: where they disagree with the truth or each other, the case is contested."""

import json

import pytest

from steelyard.people.experts import contested_cases, experts_of
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store
from steelyard.suite.load import load_suite

SUITE = """
suite: chairs
cases: {files: cases.jsonl}
target: {recorded: answers.jsonl}
answer:
  schema:
    type: object
    required: [style]
    properties: {style: {type: string}, year: {type: integer}}
score:
  style: {exact: {answer: style, expected: expected.style}}
pass: score >= 50 %
"""
TRUTH = ["Baroque", "Rococo", "Empire", "Biedermeier"]


@pytest.fixture
def answered(tmp_path):
    """Ann and Ben answer three of four cases: both right, Ben wrong, and both wrong but the same."""
    cases = [{"id": f"c{k}", "input": "?", "expected": {"style": style}} for k, style in enumerate(TRUTH)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "answers.jsonl").write_text("")
    (tmp_path / "suite.yaml").write_text(SUITE)
    suite = load_suite(str(tmp_path / "suite.yaml"))
    store = open_store(str(tmp_path / "steelyard.db"))
    said = [("c0", "Baroque", "baroque"), ("c1", "Rococo", "Regency"), ("c2", "Regency", "Regency")]
    store.people.add_labels(
        [
            LabelRecord("chairs", case_id, person, "answer", {"style": style})
            for case_id, *styles in said
            for person, style in zip(("ann", "ben"), styles, strict=True)
        ]
    )
    yield store, suite
    store.close()


def test_experts_against_the_truth_and_each_other(answered):
    experts = experts_of(*answered)
    assert (experts.n_cases, experts.people) == (3, ("ann", "ben"))
    # Of six answers Ann's to c0 and c1 and Ben's to c0 pass.
    assert (experts.by_truth.value, experts.by_truth.n) == (0.5, 6)
    assert experts.score.value == 0.5
    # One field in each of three cases: the same in c0 and c2.
    assert experts.by_each_other.value == pytest.approx(2 / 3)


def test_contested_cases_say_why(answered):
    contested = {item.case_id: item for item in experts_of(*answered).contested}
    assert list(contested) == ["c1", "c2"]
    assert contested["c1"].why == "1 of 2 experts disagree with the truth; experts disagree with each other"
    assert contested["c1"].scores == {"ann": 1.0, "ben": 0.0}
    assert contested["c2"].why == "2 of 2 experts disagree with the truth"
    assert contested_cases(*answered) == {"c1", "c2"}
