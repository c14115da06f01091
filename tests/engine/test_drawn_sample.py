"""`run --sample N --by FIELD --seed N`: a stratified sample of a suite's cases."""

import json
import random
from collections import Counter

import pytest

from parts.command import invoke
from parts.small_suite import write_suite
from steelyard.engine.run_options import draw
from steelyard.errors import UsageError
from steelyard.records import DrawnSample
from steelyard.suite.case import Case

SIZES = {"a": 70, "b": 24, "c": 5, "d": 1}
CASES = [
    Case(f"{name}{k}", {"language": name, "n": k}, category=name, tags=(name, "all"))
    for name, size in SIZES.items()
    for k in range(size)
]


def drawn(n, by="category", seed=0, cases=CASES):
    ids = draw(DrawnSample(n, by, seed), cases)
    return Counter(case_id[0] for case_id in ids)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        # Quotas 7, 2.4, 0.5, 0.1: 7, 2, 1 and 1 are one too many. Of a, at its share, and b, 0.4 below it, a gives.
        (10, {"a": 6, "b": 2, "c": 1, "d": 1}),
        # Quotas 35, 12, 2.5, 0.5: 35, 12, 2 and, as the least, 1 for d make 50.
        (50, {"a": 35, "b": 12, "c": 2, "d": 1}),
        # Quotas 14.7, 5.04, 1.05, 0.21: 14, 5, 1, 1 make 21.
        (21, {"a": 14, "b": 5, "c": 1, "d": 1}),
        # Quotas 15.4, 5.28, 1.1, 0.22: 15, 5, 1, 1 make 22.
        (22, {"a": 15, "b": 5, "c": 1, "d": 1}),
        # Quotas 16.8, 5.76, 1.2, 0.24: 16, 5, 1, 1 make 23; the one left goes to a, 0.8 below its share.
        (24, {"a": 17, "b": 5, "c": 1, "d": 1}),
        (4, {"a": 1, "b": 1, "c": 1, "d": 1}),
        (100, SIZES),
        (1_000, SIZES),
    ],
)
def test_a_sample_is_proportional_and_has_one_of_every_stratum(n, expected):
    assert drawn(n) == expected


@pytest.mark.parametrize("by", ["category", "tag", "input.language"])
def test_any_field_makes_strata(by):
    assert drawn(10, by) == {"a": 6, "b": 2, "c": 1, "d": 1}


def test_the_seed_alone_decides_which_cases_whatever_their_order():
    shuffled = random.Random(1).sample(CASES, len(CASES))
    first = draw(DrawnSample(30, "category", 7), CASES)
    assert draw(DrawnSample(30, "category", 7), shuffled) == first
    assert draw(DrawnSample(30, "category", 8), CASES) != first
    # What is drawn from one stratum does not depend on the cases of the others.
    alone = draw(DrawnSample(7, "", 7), [case for case in CASES if case.category == "b"])
    assert {case_id for case_id in first if case_id[0] == "b"} == alone


def test_every_case_is_drawn_as_often_as_any_other():
    counts = Counter(case_id for seed in range(2_000) for case_id in draw(DrawnSample(10, "", seed), CASES))
    # 200 expected of each; five standard deviations of a binomial with n 2,000 and p 0.1 are 67.
    assert all(abs(counts[case.id] - 200) < 67 for case in CASES)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (DrawnSample(3, "category"), "there are 4 strata"),
        (DrawnSample(9, "input.langauge"), "no case has anything there"),
        (DrawnSample(9, "input."), "is not a path"),
    ],
)
def test_a_sample_that_cannot_be_drawn_says_why(sample, message):
    with pytest.raises(UsageError, match=message):
        draw(sample, CASES)


def test_a_run_of_a_sample_says_so_is_rescored_and_compared_and_another_seed_has_other_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = write_suite(tmp_path / "my", n=40)

    def ids():
        return [row["case_id"] for row in json.loads(invoke("report", "--json"))["samples"]]

    words = ("run", suite, "--sample", 10, "--by", "category", "--seed", 7)
    shown = " ".join(invoke(*words).split())
    first = ids()
    assert len(first) == 10
    assert "partial: 10 of 40 cases (sample of 10 by category, seed 7)" in shown
    data = json.loads(invoke("report", "--json"))
    assert data["partial"] is True
    assert data["run"]["signature"]["sample"] == "sample of 10 by category, seed 7"
    assert data["run"]["signature"]["text"].endswith("sample of 10 by category, seed 7")
    invoke("rescore", "--suite", suite, "--quiet")
    assert sorted(ids()) == sorted(first)
    assert json.loads(invoke("report", "--json"))["run"]["signature"] == data["run"]["signature"]
    invoke(*words, "--quiet")
    assert sorted(ids()) == sorted(first)
    assert json.loads(invoke("compare", "LAST~1", "LAST", "--json"))["signatures"]["changes"] == []
    invoke(*words[:-1], 8, "--quiet")
    assert sorted(ids()) != sorted(first)
    compared = json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=4))
    assert compared["verdict"] == "cannot tell"
    assert "the set of cases differs" in compared["signatures"]["changes"][0]["sentence"]
    invoke("run", suite, "--quiet")
    rows = json.loads(invoke("sql", "select partial from runs order by began", "--json"))
    assert [row["partial"] for row in rows] == [True, True, True, True, False]
    assert "give --sample N, too" in invoke("run", suite, "--by", "category", code=2)
