"""What a suite asks of its judge: every figure can be written, and what decides nothing is refused."""

from __future__ import annotations

import json
import re

import pytest

from parts.command import invoke
from parts.described import summarise_stored
from parts.judged_store import put_judged
from parts.judged_suite import write_judged
from steelyard.decide.gates import evaluate, evaluate_gates
from steelyard.metrics.expression_checks import SuiteNames, check_gate, check_judge_threshold
from steelyard.metrics.expressions import parse_gate, parse_judge_threshold, short_name
from steelyard.metrics.registry import gate_metrics
from steelyard.records import Verdict
from steelyard.store.sql import open_store
from steelyard.suite.judge import Dimension, Evidence, Flag, JudgeModel, MustAnswer, Reasons, Rubric

RUBRIC = Rubric(
    dimensions=(Dimension(name="tone"), Dimension(name="sense")), flags=(Flag(name="unsafe"),), scale=(1, 5), neutral=3
)
JUDGE = JudgeModel.model_construct(
    rubric=RUBRIC,
    labels="expected.labels",
    rules=("tone <= 3",),
    evidence=Evidence(place="quotes"),
    reasons=Reasons(place="reasons", at_least=2),
    must_answer=MustAnswer(place="answers", findings=("CODE",)),
    check="rules:check",
)
NAMES = [short_name(name) for name, metric in gate_metrics(["judge"]).items() if metric.of_judge]


def read(text):
    threshold = parse_judge_threshold(text)
    if problem := check_judge_threshold(threshold, JUDGE):
        raise ValueError(problem)
    return threshold


@pytest.mark.parametrize(
    ("text", "metric", "subject", "operator", "threshold", "pattern"),
    [
        ("agreement.tone.kappa >= 0.6", "agreement.tone.kappa", "tone", ">=", 0.6, "agreement.<dimension>.kappa"),
        ("agreement.tone.kappa > -0.5", "agreement.tone.kappa", "tone", ">", -0.5, "agreement.<dimension>.kappa"),
        ("agreement.tone.alpha >= -3", "agreement.tone.alpha", "tone", ">=", -3, "agreement.<dimension>.alpha"),
        ("agreement.tone.bias <= 0.5", "agreement.tone.bias", "tone", "<=", 0.5, "agreement.<dimension>.bias"),
        ("agreement.tone.exact >= 80 %", "agreement.tone.exact", "tone", ">=", 0.8, "agreement.<dimension>.exact"),
        ("flag.unsafe.recall>=.9", "flag.unsafe.recall", "unsafe", ">=", 0.9, "flag.<flag>.recall"),
        ("top_share.sense <= 10 %", "top_share.sense", "sense", "<=", 0.1, "top_share.<dimension>"),
        ("spread.sense >= 0.5", "spread.sense", "sense", ">=", 0.5, "spread.<dimension>"),
        ("together.sense <= 0.9", "together.sense", "sense", "<=", 0.9, "together.<dimension>"),
        ("broken_rules <= 5 %", "broken_rules", "", "<=", 0.05, "broken_rules"),
        ("failed == 0", "failed", "", "==", 0.0, "failed"),
    ],
)
def test_a_threshold_says_figure_operator_and_number(text, metric, subject, operator, threshold, pattern):
    found = read(text)
    assert (found.metric, found.subject, found.operator) == (metric, subject, operator)
    assert (found.threshold, found.pattern, found.text) == (threshold, f"judge.{pattern}", text)


@pytest.mark.parametrize("pattern", NAMES)
def test_every_figure_can_be_asked_for(pattern):
    written = pattern.replace("<dimension>", "tone").replace("<flag>", "unsafe")
    assert read(f"{written} <= 0.5").pattern == f"judge.{pattern}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agreement.tone.kapa >= 0.6", "no metric 'agreement.tone.kapa'"),
        ("top_shar.tone <= 10 %", "no metric 'top_shar.tone': did you mean top_share.<dimension>?"),
        ("zzz <= 10 %", "metrics of a judge are: agreement.<dimension>.exact"),
        ("agreement.tome.kappa >= 0.6", "no dimension 'tome': did you mean tone?"),
        ("agreement.unsafe.kappa >= 0.6", "no dimension 'unsafe'"),
        ("flag.tone.recall >= 0.6", "no flag 'tone'; there are: unsafe"),
        ("agreement.tone.kappa >= 60 %", "is not measured in %"),
        ("agreement.tone.kappa >= 2", "cannot pass: agreement.tone.kappa is always between -1 and 1"),
        ("agreement.tone.kappa >= -1", "cannot fail: agreement.tone.kappa is always between -1 and 1"),
        ("agreement.tone.kappa > 1", "cannot pass"),
        ("agreement.tone.alpha <= 1", "cannot fail: agreement.tone.alpha is always 1 or less"),
        ("agreement.tone.bias <= 4", "cannot fail: agreement.tone.bias is always between 0 and 4"),
        ("agreement.tone.bias >= 0", "cannot fail"),
        ("top_share.tone <= 1", "cannot fail: top_share.tone is always between 0 and 1"),
        ("top_share.tone >= 0 %", "cannot fail"),
        ("top_share.tone < 0", "cannot pass"),
        ("top_share.tone <= 10", "10 is above 1: write 10 % or 0.1"),
        ("top_share.tone <= 110 %", "110 % is above 100 %, which top_share.<dimension> never is"),
        ("spread.tone >= 5", "cannot pass: spread.tone is always between 0 and 4"),
        ("length.tone != 2", "cannot fail"),
        ("length.tone == 2", "cannot pass"),
        ("broken_rules <= few", "'few' is not a number"),
        ("broken_rules <= 1e999", "beyond every number"),
        ("broken_rules", "has none of the operators"),
        ("broken_rules = 3", "write == or >="),
        ("<= 3", "a name is missing"),
        ("broken_rules <= 5 % with n >= 3", "is not a number"),
        ("broken_rules <= 5 s", "broken_rules is not measured in s; allowed: %"),
        ("broken_rules <= @release", "is not a number"),
        ("top_share.tone != 30 %", "fails by coincidence alone"),
    ],
)
def test_a_mistake_is_explained(text, message):
    with pytest.raises(ValueError) as caught:
        read(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"health {text!r}")


NAMES_OF_SUITE = SuiteNames(judge=JUDGE)


def insist(text):
    if problem := check_gate(parse_gate(text), NAMES_OF_SUITE):
        raise ValueError(problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judge.agreement.tome.kappa >= 0.6", "there is no dimension 'tome': did you mean tone?"),
        ("judge.flag.tone.recall >= 0.6", "there is no flag 'tone'; there are: unsafe"),
        ("judge.faild <= 5 %", "there is no metric 'judge.faild': did you mean judge.failed?"),
        ("judge.failed <= 100 %", "cannot fail: judge.failed is always between 0 and 1"),
        ("judge.spread.tone >= 5", "cannot pass: judge.spread.tone is always between 0 and 4"),
        ("judge.failed <= 5", "5 is above 1: write 5 % or 0.05"),
        ("judge.votes >= 5", "there is no metric 'judge.votes'"),
        ("category.chairs.judge.failed <= 5 %", "judge.failed is of the whole run, and slices do not have it"),
        ("judge.failed <= release + 1 point", "judge.failed is not compared between runs: write a number for release"),
    ],
)
def test_a_gate_of_the_suite_on_its_judge_is_checked(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        insist(text)


def test_a_gate_on_a_judge_needs_one_that_has_what_it_names():
    failed, kappa = parse_gate("judge.failed <= 5 %"), parse_gate("judge.agreement.tone.kappa >= 0.6")
    assert check_gate(failed, NAMES_OF_SUITE) is check_gate(kappa, NAMES_OF_SUITE) is None
    assert check_gate(failed, SuiteNames(has_judge=False)) == (
        "gate 'judge.failed <= 5 %' needs a judge: write judge: {rubric: ..., judges: ...}"
    )
    unlabelled = SuiteNames(judge=JUDGE.model_copy(update={"labels": ""}))
    assert check_gate(kappa, unlabelled) == (
        "gate 'judge.agreement.tone.kappa >= 0.6': the judge has no labels: say where they are, as in"
        " labels: expected.labels"
    )


def test_a_gate_on_a_judge_is_decided_by_its_value_and_a_threshold_by_its_whole_interval(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    header = put_judged(store)
    summary = summarise_stored(store, header.id, header.suite)
    failed = summary.overall["judge.failed"]
    limit = f"{100 * failed.high - 0.1:.1f} %"
    (gate,) = evaluate([f"judge.failed <= {limit}"], summary)
    (threshold,) = evaluate_gates([parse_judge_threshold(f"failed <= {limit}")], summary)
    assert (gate.verdict, gate.narrow) == (Verdict.PASS, True)
    assert (threshold.verdict, threshold.across) == (Verdict.AMBIGUOUS, True)
    assert threshold.value == gate.value == failed
    store.close()


def test_the_gates_of_a_suite_on_its_judge_decide_its_runs(tmp_path):
    path = write_judged(
        tmp_path / "my", n=4, suite={"gates": ["judge.failed <= 5 %", "judge.top_share.clarity >= 90 %"]}
    )
    store = str(tmp_path / "runs.db")
    gates = {
        each["gate"]: each for each in json.loads(invoke("run", path, "--json", "--store", store, code=1))["gates"]
    }
    assert {text: each["verdict"] for text, each in gates.items()} == {
        "judge.failed <= 5 %": "PASS",
        "judge.top_share.clarity >= 90 %": "FAIL",
    }
    stored = json.loads(invoke("gate", "LAST", "--gate", "judge.failed <= 1 %", "--json", "--store", store))["gates"]
    assert [(each["verdict"], each["value"]["n"]) for each in stored] == [("PASS", 4)]


def test_a_criterion_on_the_judge_is_of_the_whole_run_and_not_asked_of_each_variant(tmp_path):
    criteria = {"usable": {"pass": "judge.failed <= 5 %"}, "good": {"pass": "pass_rate >= 40 %"}}
    variants = {"tone": ["plain", "polite"]}
    path = write_judged(tmp_path / "my", n=4, suite={"gates": [], "criteria": criteria, "variants": variants})
    answers = [json.loads(line) for line in (tmp_path / "my" / "answers.jsonl").read_text().splitlines()]
    rows = [json.dumps(row | {"variant": name}) + "\n" for name in variants["tone"] for row in answers]
    (tmp_path / "my" / "answers.jsonl").write_text("".join(rows))
    report = json.loads(invoke("run", path, "--json", "--store", str(tmp_path / "runs.db")))
    assert [gate["verdict"] for gate in report["gates"]] == ["PASS", "PASS"]
    each = [(item["variant"], [gate["name"] for gate in item["criteria"]]) for item in report["by_variant"]]
    assert each == [("plain", ["good"]), ("polite", ["good"])]
