"""pass^k and flaky cases of suites that are scored, without checks."""

from __future__ import annotations

import json
from itertools import combinations
from statistics import fmean

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


def share(answers, k):
    """Of all choices of k answers, those in which all are right."""
    chosen = list(combinations(answers, k))
    return sum(map(all, chosen)) / len(chosen)


def by_hand(k):
    """pass^k over all cases with n, missing, and what it would be if all missing answers were wrong, or right."""
    values, lowest, highest, open_ = [], [], [], 0
    for answers in ANSWERS.values():
        known = [each for each in answers if each is not None]
        worst, best = (share([end if each is None else each for each in answers], k) for end in (0, 1))
        undecided = worst != best and len(known) < k
        values.append(worst if worst == best or undecided else share(known, k))
        lowest, highest, open_ = [*lowest, worst], [*highest, best], open_ + undecided
    mean, low, high = (pytest.approx(fmean(column)) for column in (values, lowest, highest))
    return mean, len(values) - open_, open_, low, high


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
    for k in (1, 2, 3):
        item = report[0]["figures"][f"pass_all.{k}"]
        low, high = (item["possible"][end] for end in ("low", "high"))
        assert (item["value"], item["n"], item["n_missing"], low, high) == by_hand(k)
        assert item["low"] < low < high < item["high"]
    # By hand: only a passes all three; d and f might, and each of the others failed once.
    assert by_hand(3) == (1 / 6, 4, 2, 1 / 6, 3 / 6)


def test_cases_that_pass_sometimes_are_flaky(report):
    data, text, full = report
    # The missing answers of d and f could make them flaky.
    flaky = data["figures"]["flaky_rate"]
    assert (flaky["value"], flaky["n"], flaky["n_missing"]) == (2 / 6, 4, 2)
    assert [flaky["possible"][end] for end in ("low", "high")] == pytest.approx([2 / 6, 4 / 6])
    listed = [(cell["case_id"], cell["clean"], cell["decided"]) for cell in data["flaky_cells"]]
    assert listed == [("e", 1, 2), ("b", 2, 3)]
    words = "2 of 6 cases, 2 undecided (33.3 to 66.7 %), some repeats pass and others do not: e 1 of 2, b 2 of 3"
    assert words in " ".join(text.split())
    assert "Flaky cases Case Passed e 1 of 2 b 2 of 3" in " ".join(full.split())


def test_gates_stand_on_them_over_the_run_and_its_slices(report):
    verdicts = {gate["metric"]: (gate["verdict"], gate["value"]["value"]) for gate in report[0]["gates"]}
    assert verdicts["category.hard.flaky_rate"] == ("FAIL", 1.0)
    # Between 1/6 and 3/6 against 50 %, and between 2/6 and 4/6 against 60 %.
    assert verdicts["pass_all.3"] == ("AMBIGUOUS", pytest.approx(1 / 6))
    assert verdicts["flaky_rate"] == ("AMBIGUOUS", pytest.approx(2 / 6))


def test_a_suite_without_a_pass_rule_has_none(tmp_path):
    (tmp_path / "suite.yaml").write_text(SUITE.replace("pass: score >= 75 %\n", ""))
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "expected": {"label": "x"}}')
    (tmp_path / "answers.jsonl").write_text('{"case": "a", "answer": "x"}')
    assert "'pass_all.3 >= 50 %' needs a pass rule" in invoke("run", tmp_path, code=2)
