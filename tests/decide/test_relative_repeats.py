"""Figures over repeats compared with a baseline: what holds, and how alike repeats are."""

from __future__ import annotations

import json

import pytest

from parts import running as weighing
from steelyard.decide.baselines import Reference, stored_results
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Verdict
from steelyard.store.sql import open_store

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
SUITE = """
suite: lists
cases: {files: cases.jsonl}
target: {python: "system:answer"}
answer: {schema: {type: object, required: [items]}}
repeats: 2
expect: {how_many: {count: "items[]", between: [1, 3]}}
stability: {items: "items[]", key: id}
gates:
  - cases.passed >= @release
  - checks.passed >= release - 5 points
  - stability.presence >= @release
"""
STEADY = "def answer(case):\n    return {'items': [{'id': case.id}]}\n"
EMPTY = "def answer(case):\n    return {'items': []}\n"
OTHER_EACH_TIME = """
from itertools import count
numbers = count()
def answer(case):
    return {'items': [{'id': str(next(numbers))}]}
"""


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    store = open_store(str(folder / "runs.db"))
    numbers = iter(range(100))

    def run(system, against=None, repeats=None):
        place = folder / f"suite-{next(numbers)}"
        place.mkdir()
        (place / "suite.yaml").write_text(SUITE)
        (place / "system.py").write_text(system)
        lines = [{"id": f"c{i}", "input": i, "category": "x"} for i in range(8)]
        (place / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)))
        reference = None if against is None else Reference("release", against.id)
        options = RunOptions(repeats=repeats)
        found = weighing.run(load_suite(place / "suite.yaml"), store, options, reference=reference)[0]
        return found, {each.metric: each for each in stored_results(found)}

    yield run
    store.close()


@pytest.fixture(scope="module")
def release(evaluate):
    return evaluate(STEADY)[0]


def test_what_does_not_hold_any_more_fails(evaluate, release):
    # 8 of 8 cases break: McNemar's exact p is 2 / 2**8 = 0.008.
    found = evaluate(EMPTY, release)[1]
    assert found["cases.passed"].value.value == -1.0
    assert (found["cases.passed"].verdict, "p 0.008" in found["cases.passed"].reason) == (FAIL, True)
    assert found["checks.passed"].verdict is FAIL


def test_repeats_that_are_less_alike_fail_and_what_holds_passes(evaluate, release):
    found = evaluate(OTHER_EACH_TIME, release)[1]
    assert (found["stability.presence"].value.value, found["stability.presence"].verdict) == (-1.0, FAIL)
    assert (found["cases.passed"].value.value, found["cases.passed"].verdict) == (0.0, PASS)


def test_to_hold_in_another_number_of_repeats_is_not_the_same(evaluate, release):
    found = evaluate(STEADY, release, repeats=3)[1]
    assert found["cases.passed"].verdict is AMBIGUOUS
    assert "of 2 repeats in A and of 3 in B" in found["cases.passed"].reason
    assert found["stability.presence"].verdict is PASS


def test_one_repeat_says_nothing_of_stability(evaluate, release):
    found = evaluate(STEADY, release, repeats=1)[1]
    assert found["stability.presence"].verdict is AMBIGUOUS
    assert "it takes two repeats in both" in found["stability.presence"].reason
