"""A plain function is a scorer: numbers, dicts and readings, sync or async; what it may not return is refused."""

from __future__ import annotations

import asyncio
import functools
import math
import sys

import numpy as np
import pytest

from parts.command import invoke
from steelyard import Finding, Reading, Suite, SuiteError, load_suite
from steelyard.engine.scoring_setup import ScoringSetup
from steelyard.records import Outcome, TargetFacts
from steelyard.store.sql import open_store
from steelyard.suite.signature import signature
from steelyard.suite_code import source_digest


def samples_of(tmp_path, score, ids=("c1", "c2"), **parts):
    cases = [{"id": case, "input": "q", "expected": {"n": at}} for at, case in enumerate(ids)]
    run = Suite("own", cases=cases, target=lambda case: "four", score=score, **parts).run(store=f"{tmp_path}/runs.db")
    store = open_store(f"{tmp_path}/runs.db")
    try:
        return {sample.case_id: sample for sample, _ in store.samples(run.id)}
    finally:
        store.close()


def values(sample):
    return {score.name: score.value for score in sample.scores}


def length(answer, case):
    return len(answer) / 10


async def slow_length(answer, case, per=10):
    await asyncio.sleep(0.001)
    return len(answer) / per


def tone(answer, case):
    short = 0.5 if case.expected["n"] else None
    return {"polite": 1, "short": short, "findings": ["curt", {"code": "RUDE", "place": "line 1", "gain": 0.1}]}


def test_numbers_and_awaited_numbers_are_values_also_inside_a_running_loop(tmp_path):
    async def inside():
        return samples_of(tmp_path, {"f": length, "g": {"python": slow_length, "weight": 3, "with": {"per": 8}}})

    sample = asyncio.run(inside())["c1"]
    # "four" has 4 letters: 4 / 10, 4 / 8, and (0.4 + 3 x 0.5) / 4
    assert values(sample) == {"f": 0.4, "g": 0.5}
    assert sample.score == pytest.approx(0.475)


def test_what_counts_as_a_number(tmp_path):
    given = {"yes": True, "no": False, "numpy": np.float32(0.25), "whole": 1}
    samples = samples_of(tmp_path, {"f": lambda answer, case: given[case.id]}, ids=tuple(given))
    assert {name: sample.score for name, sample in samples.items()} == {"yes": 1, "no": 0, "numpy": 0.25, "whole": 1}


def test_true_is_the_top_of_a_declared_scale_and_numbers_lie_on_it(tmp_path):
    ways = {"plain": True, "two": 2, "no": False, "numpy": np.bool_(1), "dict": {"score": True}}
    score = {"f": {"python": lambda answer, case: ways[case.id], "scale": [1, 5]}}
    samples = samples_of(tmp_path, score, ids=tuple(ways))
    # 2 is a quarter of the way from 1 to 5.
    right = dict.fromkeys(ways, 1.0) | {"two": 0.25, "no": 0.0}
    assert {case: sample.score for case, sample in samples.items()} == right


def test_a_dict_has_measures_as_components_without_weight_and_findings(tmp_path):
    score = {"tone": {"python": tone, "measures": ["polite", "short"]}}
    samples = samples_of(
        tmp_path, score, findings={"RUDE": {"about": "rude"}}, gates=["score.tone_polite.average >= 0.9"]
    )
    # the mean of what was measured: 1 of one measure, (1 + 0.5) / 2 of two
    assert values(samples["c1"]) == {"tone": 1.0, "tone_polite": 1.0, "tone_short": None}
    assert values(samples["c2"]) == {"tone": 0.75, "tone_polite": 1.0, "tone_short": 0.5}
    assert samples["c2"].score == 0.75
    # the one without a gain has its half of what the value lacks: 0.25 / 2
    found = [(finding.code, finding.place, finding.evidence, finding.gain) for finding in samples["c2"].findings]
    assert sorted(found) == [("RUDE", "line 1", "", 0.1), ("TONE", "", "curt", 0.125)]


SCALED = {"polite": {"scale": [1, 5]}, "clear": {}}


def test_a_measure_is_on_its_declared_scale(tmp_path):
    def rated(answer, case):
        return {"polite": 2, "clear": 0.75}

    score = {"tone": {"python": rated, "measures": SCALED}}
    samples = samples_of(tmp_path, score, gates=["score.tone_polite.average >= 0.2"])
    # 2 is a quarter of the way from 1 to 5: the mean of 0.25 and 0.75
    assert values(samples["c1"]) == {"tone": 0.5, "tone_polite": 2.0, "tone_clear": 0.75}
    assert samples["c1"].score == 0.5


@pytest.mark.parametrize("value", [0, 5.5, float("nan"), "four"])
def test_a_measure_off_its_scale_is_never_a_score(tmp_path, value):
    for returned in ({"polite": value, "clear": 1}, Reading(1.0, metrics={"polite": value, "clear": 1})):
        samples = samples_of(tmp_path, {"tone": {"python": lambda answer, case, r=returned: r, "measures": SCALED}})
        assert samples["c1"].score is None
        assert "not a number from 1 to 5" in samples["c1"].findings[0].evidence


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"polite": {"scale": [5, 1]}}, "measures.polite.scale"),
        ({"polite": {"scales": [1, 5]}}, "measures.polite"),
        ({"polite": 5}, "measures.polite"),
        ({"not a name": {}}, "score.tone.measures is a list of names"),
        ("polite", "score.tone.measures is a list of names"),
    ],
)
def test_a_wrong_scale_of_a_measure_is_a_mistake_in_the_suite(tmp_path, measures, message):
    with pytest.raises(SuiteError) as error:
        samples_of(tmp_path, {"tone": {"python": tone, "measures": measures}})
    assert message in str(error.value)


def test_declaring_the_default_scale_is_no_other_scorer():
    def signed(measures):
        score = {"t": {"python": length, "measures": measures}}
        return signature(
            Suite("s", cases=[{"id": "a", "input": "q"}], target=str, score=score).model, TargetFacts()
        ).scorers

    assert signed(["a", "b"]) == signed({"a": {"scale": [0, 1]}, "b": None})
    assert signed(["a", "b"]) != signed({"a": {"scale": [1, 5]}, "b": None})


def test_a_score_of_its_own_stands_over_the_mean_of_the_measures(tmp_path):
    def weighed(answer, case):
        return {"score": 0.2, "polite": 1.0, "note": "rude at the end"}

    (score, _) = samples_of(tmp_path, {"t": {"python": weighed, "measures": ["polite"]}})["c1"].scores
    assert (score.value, score.note) == (0.2, "rude at the end")


def test_the_function_is_asked_once_an_answer_whatever_it_measures(tmp_path):
    calls = []

    def counted(answer, case):
        calls.append(case.id)
        return {"a": 1, "b": 0, "c": 0.5}

    samples_of(tmp_path, {"t": {"python": counted, "measures": ["a", "b", "c"]}})
    assert sorted(calls) == ["c1", "c2"]


def test_a_reading_is_taken_as_it_is(tmp_path):
    def read(answer, case):
        return Reading(0.5, expected="five", got=answer, findings=(Finding("F", evidence="one letter more", gain=0.5),))

    (finding,) = samples_of(tmp_path, {"f": read})["c1"].findings
    assert (finding.code, finding.evidence) == ("F", "one letter more")


ALLOWED = "not a number from 0 to 1, true or false, a dict or a Reading"


REFUSED = [
    (math.nan, f"returned nan (float), {ALLOWED}"),
    (math.inf, f"returned inf (float), {ALLOWED}"),
    (1.01, f"returned 1.01 (float), {ALLOWED}"),
    (-1, f"returned -1 (int), {ALLOWED}"),
    ("good", f"returned 'good' (str), {ALLOWED}"),
    (None, f"returned None (NoneType), {ALLOWED}"),
    ([0.5], f"returned [0.5] (list), {ALLOWED}"),
    (Reading(3.0), "returned Reading.value: 3.0 (float), not a number from 0 to 1"),
    (Reading("x"), "returned Reading.value: 'x' (str), not a number"),
    (
        {"polite": 1},
        "key 'polite'; allowed are score, note, findings and declared measures, as in measures: [polite]",
    ),
    ({7: 1}, "with the key 7; allowed are score"),
    ({"score": math.nan}, "returned score: nan (float), not a number from 0 to 1"),
    ({}, "returned a dict without a score and without any measure"),
    ({"score": 1, "note": 3}, "returned note: 3 (int), not a text"),
    ({"score": 1, "findings": "bad"}, "returned findings: 'bad' (str), not a list"),
    ({"score": 1, "findings": [{"kind": "A"}]}, "returned findings: the key 'kind'; a finding is a text"),
    ({"score": 1, "findings": [{"code": "NEW"}]}, "gave the finding code 'NEW', which the suite's findings do not"),
]


def test_what_may_not_be_returned_makes_the_sample_inconclusive_and_says_why(tmp_path):
    ids = tuple(f"c{at}" for at in range(len(REFUSED)))
    samples = samples_of(tmp_path, {"f": lambda answer, case: REFUSED[case.expected["n"]][0]}, ids=ids)
    for case, (_, message) in zip(ids, REFUSED, strict=True):
        sample = samples[case]
        (finding,) = sample.findings
        assert (sample.outcome, sample.score, finding.code) == (Outcome.JUDGE_FAILED, None, "SCORER_ERROR")
        assert message in finding.evidence
        assert finding.evidence.startswith("the scorer of f")
        if ALLOWED in message:
            assert finding.evidence.index("(test_functions.py:") < finding.evidence.index(") returned ")


def test_declared_measures_must_be_there(tmp_path):
    score = {"f": {"python": lambda answer, case: {"a": 1} if case.id == "c1" else 0.5, "measures": ["a", "b"]}}
    samples = samples_of(tmp_path, score)
    assert "returned a dict without b: write None for what cannot be measured" in samples["c1"].findings[0].evidence
    assert "returned 0.5, not a dict with the measures a, b" in samples["c2"].findings[0].evidence


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_what_it_raises_is_named_with_its_line(tmp_path, kind):
    def plain(answer, case):
        raise KeyError("colour")

    async def waiting(answer, case):
        raise KeyError("colour")

    sample = samples_of(tmp_path, {"f": plain if kind == "plain" else waiting})["c1"]
    assert "raised KeyError: 'colour' (test_functions.py:" in sample.findings[0].evidence


def test_an_async_function_that_exits_ends_neither_the_run_nor_the_loop_of_the_others(tmp_path):
    async def leaves(answer, case):
        if case.id == "c1":
            sys.exit(3)
        return 0.5

    samples = samples_of(tmp_path, {"f": leaves})
    assert "raised SystemExit: 3 (test_functions.py:" in samples["c1"].findings[0].evidence
    assert (samples["c1"].score, samples["c2"].score) == (None, 0.5)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ({"f": lambda answer: 1}, "does not fit, it is called as f(answer, case): too many positional arguments"),
        ({"f": {"python": length, "with": {"per": 3}}}, "called as f(answer, case, per): got an unexpected keyword"),
        ({"f": {"python": tone, "measures": "polite"}}, "score.f.measures is a list of names, as in [polite, short]"),
        ({"f": {"python": "tone"}}, "score.f.python must be a function or a class: write module:name"),
        ({"f": {"python": dict}}, "dict is no scorer: write a function, or a class that derives from steelyard.Scorer"),
        ({"f_a": length, "f": {"python": tone, "measures": ["a"]}}, "score.f_a: a measure of f has this name"),
    ],
)
def test_what_cannot_be_a_scorer_is_told_when_the_suite_is_made(score, message):
    with pytest.raises(SuiteError) as error:
        Suite("own", cases=[{"id": "c", "input": "q"}], target=lambda case: "", score=score)
    assert message in str(error.value)


def scorers_hash(function, **more):
    suite = Suite("own", cases=[{"id": "c", "input": "q"}], target=length, score={"f": {"python": function} | more})
    return signature(suite.model).scorers


def test_what_a_function_holds_is_in_the_signature():
    def at_most(limit):
        return lambda answer, case: len(answer) <= limit

    assert scorers_hash(at_most(3)) == scorers_hash(at_most(3))
    different = [at_most(3), at_most(4), functools.partial(slow_length, per=3), functools.partial(slow_length, per=4)]
    assert len({scorers_hash(function) for function in different}) == 4
    assert scorers_hash(slow_length) != scorers_hash(slow_length, **{"with": {"per": 9}})


def test_a_function_in_no_file_counts_by_its_code():
    def typed(text):
        space = {}
        exec(text, space)
        return space["f"]

    first, second = typed("def f(answer, case):\n    return 1"), typed("def f(answer, case):\n    return 0")
    assert source_digest(first) == source_digest(typed("\n\ndef f(answer, case):\n    return 1"))
    assert source_digest(first) != source_digest(second)


SUITE = """suite: s
cases: {files: cases.yaml}
target: {recorded: answers.jsonl}
answer: {format: json}
score:
  words: {python: my_scorers:words, with: {answer: text, most: 4}, weight: 2}
pass: score >= 50 %
gates: [score.words.average >= 10 %]
"""
FUNCTION = "async def words(answer, case, most):\n    return min(len((answer or '').split()), most) / most\n"


def test_a_suite_file_names_it_and_rescore_audit_and_compare_use_it(tmp_path, monkeypatch):
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "my_scorers.py").write_text(FUNCTION)
    (tmp_path / "cases.yaml").write_text("- {id: a, input: q}\n- {id: b, input: r}\n")
    (tmp_path / "answers.jsonl").write_text(
        '{"case": "a", "answer": {"text": "one two"}}\n{"case": "b", "answer": {"text": "one"}}\n'
    )
    monkeypatch.chdir(tmp_path)
    assert "37.5 %" in invoke("run", ".")  # (2/4 + 1/4) / 2
    assert "Audit passed" in invoke("audit", ".")
    suite = load_suite(".")
    setup = ScoringSetup.of(suite, strict=False)
    assert setup.suite().components[0].scorer.arguments == {"most": 4}  # as a process that scores builds it
    (tmp_path / "my_scorers.py").write_text(FUNCTION.replace("/ most", "/ most / 2"))
    assert signature(load_suite(".")).scorers != signature(suite).scorers
    assert "18.8 %" in invoke("rescore", "LAST")
    assert "scorers" in invoke("compare", "LAST~1", "LAST", "--no-attribution", code=4).partition("Signature")[0]
