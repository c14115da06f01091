"""Ranked results by id: values by hand, and nDCG by scikit-learn."""

import json
import math
import random

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import ndcg_score

from parts.command import steelyard
from parts.looped import for_every
from steelyard.scoring.retrieval import Retrieval
from steelyard.suite.case import Case

RELEVANT = Case("c", expected={"docs": ["a", "b", "c"]})


def read(results, case=RELEVANT, **settings):
    return Retrieval(expected="expected.docs", **settings).at("docs").read({"docs": results}, case)


def test_measures_of_the_first_k_by_hand():
    # Of a, b and c, b is at rank 2 and a at rank 4; c is not retrieved.
    measured = read(["x", "b", "y", "a", "z"], k=[1, 2, 4]).metrics
    ideal = {1: 1, 2: 1 + 1 / math.log2(3), 4: 1 + 1 / math.log2(3) + 1 / 2}
    assert measured == pytest.approx(
        {
            "recall_at_1": 0, "precision_at_1": 0, "ndcg_at_1": 0,
            "recall_at_2": 1 / 3, "precision_at_2": 1 / 2, "ndcg_at_2": (1 / math.log2(3)) / ideal[2],
            "recall_at_4": 2 / 3, "precision_at_4": 2 / 4, "mrr": 1 / 2,
            "ndcg_at_4": (1 / math.log2(3) + 1 / math.log2(5)) / ideal[4],
        }
    )  # fmt: skip


def test_ndcg_of_graded_ids_is_that_of_scikit_learn():
    chance = random.Random(5)
    for _ in range(100):
        names = [f"d{n}" for n in range(8)]
        grades = {name: chance.choice([0, 0, 1, 2, 3]) for name in names}
        if not any(grades.values()):
            continue
        order = chance.sample(names, 8)
        case = Case("c", expected={"docs": grades})
        for k in (1, 3, 8):
            oracle = ndcg_score(np.array([[grades[name] for name in order]]), np.array([range(8, 0, -1)]), k=k)
            assert read(order, case, k=k).value == pytest.approx(oracle)


def test_an_id_counts_at_its_first_rank_only():
    assert read(["a", "a", "a"], k=3).metrics["recall_at_3"] == pytest.approx(1 / 3)
    assert read(["a", "a", "a"], k=3).metrics["precision_at_3"] == pytest.approx(1 / 3)


def test_fewer_results_than_k_leave_the_other_ranks_empty():
    assert read(["a"], k=5).metrics["precision_at_5"] == pytest.approx(1 / 5)


@for_every("results", [[], None, "a", {"a": 1}, [None, ""]])
def test_an_answer_without_results_earns_nothing(results):
    reading = read(results)
    assert reading.value == 0
    assert set(reading.metrics.values()) == {0.0}
    assert [finding.expected for finding in reading.findings] == ["a", "b", "c"]


def test_a_case_without_relevant_ids_is_not_scored():
    for docs in ([], {}, {"a": 0}, None):
        assert read(["a"], Case("c", expected={"docs": docs})).value is None


def test_every_relevant_id_that_is_not_retrieved_is_an_error_worth_what_it_would_add():
    reading = read(["x", "y", "a"], k=3, value="recall_at_3")
    assert [(finding.expected, finding.code, finding.gain) for finding in reading.findings] == [
        ("b", "NOT_RETRIEVED", pytest.approx(1 / 3)),
        ("c", "NOT_RETRIEVED", pytest.approx(1 / 3)),
    ]


@for_every(
    ("settings", "message"),
    [
        ({"k": 0}, "k is a number from 1 up"),
        ({"k": [5, 5]}, "k is a number from 1 up"),
        ({"value": "map"}, "value: 'map' is not one of recall_at_5"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        Retrieval(expected="expected.docs", **settings)


def test_measures_are_means_over_questions_that_gates_can_name(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: rag\ncases: {files: cases.yaml}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "score:\n  docs: {retrieval: {expected: expected.docs, k: [1, 2], value: recall_at_2}}\npass: score >= 50 %\n"
        "gates: [score.docs_mrr.average >= 70 %, score.docs_recall_at_1.average >= 60 %]\n"
    )
    (tmp_path / "cases.yaml").write_text(
        "- {id: one, input: {q: x}, expected: {docs: [a]}}\n- {id: two, input: {q: y}, expected: {docs: [a, b]}}\n"
    )
    results = {"one": ["x", "a"], "two": ["a", "b"]}
    (tmp_path / "answers.jsonl").write_text(
        "".join(
            json.dumps({"case": name, "answer": json.dumps({"docs": docs})}) + "\n" for name, docs in results.items()
        )
    )
    done = steelyard("run", tmp_path, "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    # MRR: (1/2 + 1) / 2; recall at 1: (0 + 1/2) / 2; recall at 2, which is the score: (1 + 1) / 2.
    figures = {gate["metric"]: (gate["value"]["value"], gate["verdict"]) for gate in data["gates"]}
    assert figures == {"score.docs_mrr.average": (0.75, "PASS"), "score.docs_recall_at_1.average": (0.25, "FAIL")}
    assert data["figures"]["average"]["value"] == 1


def test_audit_finds_that_an_answer_that_says_nothing_earns_nothing(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: rag\ncases: {files: cases.yaml}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "score:\n  docs: {retrieval: {expected: expected.docs, k: 2}}\npass: score >= 90 %\n"
        "gates: [pass_rate >= 50 %]\n"
    )
    cases = [{"id": f"c{n}", "input": {"q": f"question {n}"}, "expected": {"docs": [f"d{n}"]}} for n in range(12)]
    (tmp_path / "cases.yaml").write_text(json.dumps(cases))
    (tmp_path / "answers.jsonl").write_text('{"case": "c0", "answer": "[]"}\n')
    audited = steelyard("audit", tmp_path, cwd=tmp_path)
    assert audited.returncode == 0, audited.stdout
    assert "100.0 %  100.0 %      12  >= 99 %  ok" in audited.stdout  # the truth itself
