"""Ratios of nothing, and figures that leave out what went wrong: no scorer, measure or gate counts either as good."""

import json

import pytest
import yaml

from parts.command import steelyard
from steelyard.scoring.items.match import MatchItems
from steelyard.scoring.sets import ItemSet, Subset
from steelyard.scoring.spans.match import MatchSpans
from steelyard.suite.case import Case

PARTS = {"match_items": {"expected": {"items": "expected.tools[]"}, "shapes": [{"items": "tools[]"}]}}


def run(folder, score, truths, answers, *options, **more):
    """What `run --json` prints of these recorded answers, and the exit code."""
    cases = [{"id": f"c{n}", "input": f"task {n}", "expected": {"tools": truth}} for n, truth in enumerate(truths)]
    if category := more.pop("category", None):
        cases = [case | {"category": category(n)} for n, case in enumerate(cases)]
    (folder / "cases.json").write_text(json.dumps(cases))
    lines = [json.dumps({"case": f"c{n}", "answer": answer}) for n, answer in enumerate(answers)]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    suite = {
        "suite": "tools",
        "cases": {"files": "cases.json"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"format": "json"},
        "score": {"tools": score},
        "pass": "score >= 75 %",
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    outcome = steelyard("run", "suite.yaml", "--json", *options, cwd=folder)
    return json.loads(outcome.stdout), outcome.returncode


def figures(report, measure):
    return tuple(report["figures"][f"score.tools.{name}"]["value"] for name in ("points", measure))


RATIOS = [({"item_set": {"expected": "expected.tools", "value": name}}, name) for name in ("recall", "precision", "f1")]
RATIOS += [(PARTS, "accuracy"), (PARTS, "found"), ({"subset": {"of": "expected.tools"}}, "inside")]


@pytest.mark.parametrize(("score", "measure"), RATIOS)
@pytest.mark.parametrize(
    ("truths", "answers", "right", "f1"),
    [
        # Tools are called where none may be: one of four is right.
        ([["a"], [], [], []], [["a"], ["x"], ["x"], ["x"]], 1 / 4, 2 / 5),
        # None are called where none may be, and where one must be.
        ([[], [], ["a"], ["a"]], [[], [], [], ["a"]], 3 / 4, 6 / 7),
        # Answers that hold nothing where something is due.
        ([["a"]] * 4, [["a"], [], [], []], 1 / 4, 2 / 5),
        ([[], []], [[], []], 1.0, 1.0),
    ],
)
def test_a_value_and_the_measure_of_its_name_agree_on_lists_that_are_empty(
    tmp_path, score, measure, truths, answers, right, f1
):
    report, _ = run(tmp_path, score, truths, [{"tools": answer} for answer in answers])
    value, measured = figures(report, measure)
    assert value == pytest.approx(right)
    # F1 is twice the right values over those of both sides, 2 / (2 + 1 + 1 + 1) in the first: one that is wrong by
    # one value counts half as much as one that is right in one.
    assert measured == pytest.approx(f1 if measure == "f1" else right)


@pytest.mark.parametrize(("score", "measure"), RATIOS)
def test_no_list_is_not_an_empty_list(tmp_path, score, measure):
    report, _ = run(tmp_path, score, [[], ["a"]], [{"tools": None}, {"tools": ["a"]}])
    value, measured = figures(report, measure)
    assert (value, report["figures"]["pass_rate"]["value"]) == (pytest.approx(1 / 2), 1 / 2)
    assert measured == pytest.approx(1 / 2)


@pytest.mark.parametrize(("score", "measure"), RATIOS)
@pytest.mark.parametrize("truth", [[], ["a"]])
def test_answers_that_cannot_be_read_are_wrong_in_every_measure(tmp_path, score, measure, truth):
    report, _ = run(tmp_path, score, [truth] * 4, [{"tools": truth}, "no JSON", "no JSON", "no JSON"])
    value, measured = figures(report, measure)
    assert value == pytest.approx(1 / 4)
    assert measured == pytest.approx(2 / 5 if measure == "f1" and truth else 1 / 4)


def test_an_empty_truth_takes_no_policy_and_a_missing_one_still_does(tmp_path):
    score = {"item_set": {"expected": "expected.tools"}}
    assert run(tmp_path, score, [[], ["a"]], [{"tools": []}, {"tools": ["a"]}])[1] == 0
    suite = yaml.safe_load((tmp_path / "suite.yaml").read_text())
    cases = [
        {"id": "c0", "input": "task", "expected": {"tools": None}},
        {"id": "c1", "input": "x", "expected": {"tools": ["a"]}},
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    outcome = steelyard("run", "suite.yaml", cwd=tmp_path)
    assert outcome.returncode == 2
    assert "1 of 2 cases have no truth" in outcome.stderr


SCORERS = {
    "item_set": ItemSet(expected="expected.list").at("list"),
    "precision": ItemSet(expected="expected.list", value="precision").at("list"),
    "recall": ItemSet(expected="expected.list", value="recall").at("list"),
    "strict recall": ItemSet(expected="expected.list", value="recall", strict=True).at("list"),
    "subset": Subset(of="expected.list").at("list"),
    "match_items": MatchItems(expected={"items": "expected.list[]"}, shapes=[{"items": "list[]"}]),
    "strict items": MatchItems(expected={"items": "expected.list[]"}, shapes=[{"items": "list[]"}], strict=True),
    "grouped items": MatchItems(
        expected={"items": "expected.list[].of[]", "group": "name"}, shapes=[{"items": "list[].of[]", "group": "name"}]
    ),
    "match_spans": MatchSpans(text="input", expected={"spans": "expected.list[]"}, shape={"spans": "list[]"}),
}
FULL = {
    "grouped items": [{"name": "g", "of": ["a"]}],
    "match_spans": [{"text": "a", "start": 0, "end": 1, "role": "r"}],
}


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_of_lists_has_one_rule_for_lists_that_are_empty(name):
    scorer, full = SCORERS[name], FULL.get(name, ["a"])
    values = {
        (bool(truth), bool(answer)): scorer.read({"list": answer}, Case("c", input="a", expected={"list": truth})).value
        for truth in ([], full)
        for answer in ([], full)
    }
    assert values == {(False, False): 1.0, (False, True): 0.0, (True, False): 0.0, (True, True): 1.0}
    empty = Case("c", input="a", expected={"list": []})
    assert scorer.asks_nothing(empty)
    assert scorer.read(scorer.truth(empty) if name == "match_spans" else {"list": []}, empty).value == 1.0
    # Each item that is too many is a finding, and without them the answer would be right.
    findings = scorer.read({"list": full}, empty).findings
    if name not in ("subset",):
        assert sum(finding.gain for finding in findings) == pytest.approx(1.0)


NAME = {"exact": {"expected": "expected.name"}}


def asked_again(folder, gate, *, n=10, repeats=10, scores=None, **more):
    """The result of one gate on right answers to n cases, each asked several times."""
    cases = [{"id": f"c{k}", "input": f"q{k}", "expected": {"name": f"n{k}"}, **_more(more, k)} for k in range(n)]
    (folder / "cases.json").write_text(json.dumps(cases))
    cells = [(k, repeat) for k in range(n) for repeat in range(repeats)]
    lines = [json.dumps({"case": f"c{k}", "repeat": repeat, "answer": {"name": f"n{k}"}}) for k, repeat in cells]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    suite = {
        "suite": "names",
        "cases": {"files": "cases.json"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"format": "json"},
        "repeats": repeats,
        "score": scores or {"name": NAME},
        "pass": "score >= 75 %",
        "gates": [gate],
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    outcome = steelyard("run", "suite.yaml", "--json", cwd=folder)
    (result,) = json.loads(outcome.stdout)["gates"]
    return result, outcome.returncode


def _more(more, k):
    return {name: value(k) for name, value in more.items()}


@pytest.mark.parametrize(
    "gate",
    [
        "pass_rate >= 90 % with n >= 100",
        "average >= 90 % with n >= 100",
        "score.name.average >= 90 % with n >= 100",
        "median >= 90 % with n >= 100",
        "findings.NAME <= 0 with n >= 100",
        "findings.NAME.rate <= 10 % with n >= 100",
        "malformed_rate <= 10 % with n >= 100",
        "pass_all.2 >= 90 % with n >= 100",
    ],
)
def test_repeats_are_no_more_cases_for_a_gate_that_asks_for_some(tmp_path, gate):
    result, code = asked_again(tmp_path, gate)
    assert (result["verdict"], code) == ("AMBIGUOUS", 4)
    assert "is below the 100 that this gate asks for" in result["reason"]
    # The cases themselves are enough.
    enough, code = asked_again(tmp_path, gate.replace("100", "10"))
    assert (enough["verdict"], code) == ("PASS", 0)


def test_cases_of_one_cluster_are_one_for_a_gate_that_asks_for_some(tmp_path):
    result, code = asked_again(
        tmp_path, "pass_rate >= 90 % with n >= 6", n=20, repeats=1, cluster=lambda k: f"page {k // 4}"
    )
    assert (result["verdict"], code) == ("AMBIGUOUS", 4)
    assert "5 cases or clusters (n 20) is below the 6" in result["reason"]


def test_a_component_counts_the_cases_that_it_scores(tmp_path):
    # 4 of 10 cases have a truth; each is asked ten times.
    cases = {"expected": lambda k: {"name": f"n{k}" if k < 4 else None, "other": "x"}}
    scores = {"name": NAME | {"when_unknown": "skip"}, "other": {"exact": {"expected": "expected.other"}}}
    result, _ = asked_again(tmp_path, "score.name.average >= 90 % with n >= 5", scores=scores, **cases)
    assert result["verdict"] == "AMBIGUOUS"
    assert "4 cases or clusters (n 40) is below the 5" in result["reason"]


def test_slices_that_are_small_in_cases_are_skipped_whatever_their_repeats(tmp_path):
    gate = "category.*.pass_rate >= 90 % with n >= 5 skip small"
    cases = [
        {"id": f"c{k}", "input": f"q{k}", "expected": {"name": "n"}, "category": "many" if k < 8 else "few"}
        for k in range(10)
    ]
    result, code = asked_again(tmp_path, gate, category=lambda k: cases[k]["category"])
    assert (result["metric"], result["verdict"], code) == ("category.many.pass_rate", "PASS", 0)
    assert result["skipped"] == "few (n 2)"


def malformed_mostly(folder, gates, **more):
    """A run in which 5 of 100 answers can be read, and these are right."""
    truths = [["a"]] * 100
    answers = [{"tools": ["a"]} if n < 5 else "no JSON" for n in range(100)]
    score = more.pop("score", {"item_set": {"expected": "expected.tools"}})
    return run(folder, score, truths, answers, gates=gates, **more)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_a_gate_over_readable_answers_alone_passes_no_run_of_malformed_ones(tmp_path, measure):
    report, code = malformed_mostly(tmp_path, [f"score.tools.{measure}.readable >= 90 %"])
    assert report["figures"][f"score.tools.{measure}.readable"]["value"] == 1.0
    assert report["gates"][0]["verdict"] == "AMBIGUOUS"
    assert code == 4
    # With a gate that says how many may be malformed, the two decide together.
    gates = [f"score.tools.{measure}.readable >= 90 %", "malformed_rate <= 34 %"]
    report, code = malformed_mostly(tmp_path, gates)
    assert ([gate["verdict"] for gate in report["gates"]], code) == (["PASS", "FAIL"], 1)


@pytest.mark.parametrize(
    "other", ["category.good.malformed_rate <= 5 %", "category.good.scored_rate >= 90 %", "malformed_rate >= 5 %"]
)
def test_a_gate_that_limits_no_malformed_answers_of_the_run_excuses_none(tmp_path, other):
    gates = ["score.tools.f1.readable >= 90 %", other]
    report, code = malformed_mostly(tmp_path, gates, category=lambda k: "good" if k < 5 else "bad")
    assert ([gate["verdict"] for gate in report["gates"]], code) == (["AMBIGUOUS", "PASS"], 4)


def test_a_limit_on_malformed_answers_that_does_not_decide_excuses_none(tmp_path):
    criteria = {"shape": {"pass": "malformed_rate <= 34 %", "secondary": True}}
    report, code = malformed_mostly(tmp_path, ["score.tools.f1.readable >= 90 %"], criteria=criteria)
    assert ([gate["verdict"] for gate in report["gates"]], code) == (["AMBIGUOUS", "FAIL"], 4)


@pytest.mark.parametrize("when", [None, "skip", "say_unknown"])
def test_a_component_that_cases_may_skip_is_wrong_in_malformed_answers(tmp_path, when):
    score = {"exact": {"expected": "expected.tools"}} | ({"when_unknown": when} if when else {})
    report, code = malformed_mostly(tmp_path, ["score.tools.average >= 90 %"], score=score)
    assert report["figures"]["score.tools.points"]["value"] <= 0.05
    assert (report["gates"][0]["verdict"], code) == ("FAIL", 1)
