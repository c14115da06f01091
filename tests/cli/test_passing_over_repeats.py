"""pass^k and flaky cases of suites that are scored, without checks."""

from __future__ import annotations

import json
from math import comb

import pytest

from parts.command import invoke

SUITE = """
suite: tries
cases: cases.jsonl
target: {recorded: answers.jsonl}
score:
  label: {exact: {expected: expected.label}}
pass: score >= 75 %
repeats: 3
gates: [pass_all.3 >= 50 %, flaky_rate <= 60 %, category.hard.flaky_rate <= 10 %]
"""
# Case to whether each answer is right; None is an answer that was never recorded.
ANSWERS = {"a": (1, 1, 1), "b": (1, 0, 1), "c": (0, 0, 0), "d": (1, 1, None), "e": (1, 0, None), "f": (1, None, None)}
CLEAN = {"a": (3, 3), "b": (2, 3), "c": (0, 3), "d": (2, 2), "e": (1, 2), "f": (1, 1)}
"""Passed, decided."""


def by_hand(k):
    """pass^k as the literature has it: the mean of C(passed, k) / C(decided, k) over cases with k decided answers."""
    shares = [comb(clean, k) / comb(decided, k) for clean, decided in CLEAN.values() if decided >= k]
    return pytest.approx(sum(shares) / len(shares)), len(shares)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tries")
    (folder / "suite.yaml").write_text(SUITE)
    with (folder / "cases.jsonl").open("w") as cases, (folder / "answers.jsonl").open("w") as answers:
        for name, rights in ANSWERS.items():
            category = "hard" if name in "be" else "easy"
            cases.write(json.dumps({"id": name, "category": category, "expected": {"label": "x"}}) + "\n")
            for repeat, right in enumerate(rights):
                if right is not None:
                    answers.write(json.dumps({"case": name, "repeat": repeat, "answer": "x" if right else "y"}) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = invoke("run", ".", "--max-inconclusive", 0.3, code=1)
        yield json.loads(invoke("report", "LAST", "--json")), text, invoke("report", "LAST", "--full")


def test_pass_k_is_the_chance_that_k_answers_all_pass(report):
    all_of = report[0]["passes"]["all_of"]
    assert {int(k): (item["value"], item["n"]) for k, item in all_of.items()} == {k: by_hand(k) for k in (1, 2, 3)}
    assert all(item["low"] < item["value"] < item["high"] for item in all_of.values())
    assert all_of["3"]["n_missing"] == 3


def test_cases_that_pass_sometimes_are_flaky(report):
    passes, text, full = report[0]["passes"], *report[1:]
    # One answer of f is no evidence of either.
    assert (passes["flaky"]["value"], passes["flaky"]["n"]) == (0.4, 5)
    listed = [(cell["case_id"], cell["clean"], cell["decided"]) for cell in passes["cells"]]
    assert listed == [("b", 2, 3), ("e", 1, 2)]
    assert "2 of 5 cases, some answers pass and others not: b 2 of 3, e 1 of 2" in " ".join(text.split())
    assert "Flaky cases Case Passed e 1 of 2 b 2 of 3" in " ".join(full.split())


def test_gates_stand_on_them_over_the_run_and_its_slices(report):
    verdicts = {gate["metric"]: (gate["verdict"], gate["value"]["value"]) for gate in report[0]["gates"]}
    assert verdicts["category.hard.flaky_rate"] == ("FAIL", 1.0)
    assert verdicts["pass_all.3"][1] == pytest.approx(1 / 3)
    assert verdicts["flaky_rate"][1] == 0.4


def test_a_suite_without_a_pass_rule_has_none(tmp_path):
    (tmp_path / "suite.yaml").write_text(SUITE.replace("pass: score >= 75 %\n", ""))
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "expected": {"label": "x"}}')
    (tmp_path / "answers.jsonl").write_text('{"case": "a", "answer": "x"}')
    assert "'pass_all.3 >= 50 %' needs a pass rule" in invoke("run", tmp_path, code=2)
