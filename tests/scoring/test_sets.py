"""Scorers of sets: what is in a list of the case, and precision, recall and F1 (oracle: scikit-learn)."""

import json
import math
import random
from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from parts.command import steelyard
from parts.counts import findings_in
from parts.looped import for_every
from steelyard.loading.load import load_suite
from steelyard.records import Outcome
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.sets import ItemSet, Subset
from steelyard.suite.case import Case

IDS = Case("c", input={"passage_ids": ["p1", "p2", 3, "p4"]})


def cited(answer, **settings):
    return Subset(of="input.passage_ids", **settings).at("cited").read({"cited": answer}, IDS)


@for_every(
    ("answer", "value"),
    [
        (["p1", "p2"], 1.0),
        (["p1", "P2 ", "p9"], 2 / 3),
        (["p9", "p1", "p9", "p9"], 1 / 2),  # each stranger counts once
        (["p1"] * 50, 1.0),
        ([3, 3.0, "3"], 1.0),
        ("p1", 1.0),
        ("p1, p2", 0.0),
        (["p1", None, ""], 1.0),
        ([["p1"], {"id": "p1"}], 0.0),
        ([True], 0.0),
        ({"p1": 1}, 0.0),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_a_subset_is_worth_the_share_that_is_in_the_list(answer, value):
    assert cited(answer).value == pytest.approx(value)


def test_every_stranger_is_a_finding_and_fixing_all_gives_full_marks():
    reading = cited(["p1", "x", "ü", "x"])
    assert [finding.got for finding in reading.findings] == ["x", "ü"]
    assert {finding.code for finding in reading.findings} == {"NOT_IN_LIST"}
    assert sum(finding.gain for finding in reading.findings) == pytest.approx(1 - reading.value)
    assert reading.counts == {"inside": 1, "answered": 3, "empty": 0, "answers": 1}
    assert cited(["p1", "x"], strict=True).value == 0.0
    assert cited(["p1", "x"], code="MADE_UP").findings[0].code == "MADE_UP"


def test_only_an_empty_list_may_be_skipped_and_never_earns_marks():
    skipped = cited([], empty="skip")
    assert (skipped.value, skipped.skipped) == (None, True)
    assert cited(None, empty="skip").value == cited({}, empty="skip").value == 0.0


def test_an_endless_list_is_malformed():
    assert "1,001 values" in cited(list(range(1001))).misshapen
    assert "1,001 values" in ItemSet(expected="input.passage_ids").read(list(range(1001)), IDS).misshapen


def tags(answer, truth, **settings):
    return ItemSet(expected="expected.tags", **settings).read(answer, Case("c", expected={"tags": truth}))


@for_every(
    ("answer", "truth", "f1", "precision", "recall"),
    [
        (["a", "b"], ["a", "b"], 1, 1, 1),
        (["a", "x"], ["a", "b", "c"], 2 * 1 / 5, 1 / 2, 1 / 3),
        (["a", "a", "A "], ["a", "b"], 2 / 3, 1, 1 / 2),
        ([], ["a"], 0, 0, 0),
        ({"a": 1}, ["a"], 0, 0, 0),
        (7, [7.0], 1, 1, 1),
        (["x"], [], 0, 0, 0),
        ([], [], 1, 1, 1),
        ([""], [], 1, 1, 1),
        (None, [], 0, 0, 0),
        ({}, [], 0, 0, 0),
        ("", [], 0, 0, 0),
    ],
)
def test_values_of_one_answer(answer, truth, f1, precision, recall):
    wanted = {"f1": f1, "precision": precision, "recall": recall}
    assert {name: tags(answer, truth, value=name).value for name in wanted} == pytest.approx(wanted)
    assert tags(answer, truth, value="precision", strict=True).value == pytest.approx(f1)


def test_a_missing_truth_is_no_empty_one():
    assert tags(["a"], None).value is None
    assert tags([], None).value is None


def test_missed_and_extra_values_are_findings_worth_what_fixing_them_gives():
    reading = tags(["a", "x", "y"], ["a", "b"])  # F1 = 2 / 5
    codes = [(finding.code, finding.expected, finding.got) for finding in reading.findings]
    assert codes == [("MISSED", "b", None), ("EXTRA", None, "x"), ("EXTRA", None, "y")]
    # With b: 4 / 6. Without x and y: 2 / 3, half of the gain each.
    assert [finding.gain for finding in reading.findings] == pytest.approx(
        [4 / 6 - 2 / 5, (2 / 3 - 2 / 5) / 2, (2 / 3 - 2 / 5) / 2]
    )


def test_micro_and_macro_figures_are_those_of_scikit_learn():
    labels, rng = ["a", "b", "c", "d"], random.Random(7)
    scorer = ItemSet(expected="expected.tags", labels=("a", "b", "c", "d", "never"))
    truths = [rng.sample(labels, rng.randint(0, 3)) for _ in range(60)]
    answers = [rng.sample(labels, rng.randint(0, 3)) for _ in range(60)]
    sums = {}
    for answer, truth in zip(answers, truths, strict=True):
        for name, count in scorer.read(answer, Case("c", expected={"tags": truth})).counts.items():
            sums[name] = sums.get(name, 0) + count

    def figure(name):
        measure = scorer.measures[name]
        return sums[measure.numerator] / sums[measure.denominator] if sums.get(measure.denominator) else math.nan

    binary = MultiLabelBinarizer(classes=labels)
    y_true, y_pred = binary.fit_transform(truths), binary.fit_transform(answers)
    macro = precision_recall_fscore_support(y_true, y_pred, average="macro")[:3]
    for name, value in zip(("precision", "recall", "f1"), macro, strict=True):
        parts = [figure(part) for part in scorer.means[f"macro_{name}"].of]
        assert [math.isnan(part) for part in parts] == [False] * 4 + [True]  # of nothing, so left out
        assert sum(parts[:4]) / 4 == pytest.approx(value)
    # An empty list is one value of a fifth class where the ratio of the answer would be 0 of 0.
    none_true, none_pred = y_true.sum(axis=1) == 0, y_pred.sum(axis=1) == 0
    assert none_true.sum() > 3 < none_pred.sum()
    assert (none_true & none_pred).any()
    with_fifth = [np.column_stack(pair) for pair in ((y_true, none_true), (y_pred, none_pred))]
    neither = none_true & none_pred
    where_neither = [np.column_stack(pair) for pair in ((y_true, neither), (y_pred, neither))]
    precision, recall, _, _ = precision_recall_fscore_support(*with_fifth, average="micro")
    f1 = precision_recall_fscore_support(*where_neither, average="micro")[2]
    assert [figure(name) for name in ("precision", "recall", "f1")] == pytest.approx([precision, recall, f1])
    # Without empty lists, the figures are plainly scikit-learn's.
    full = ~(none_true | none_pred)
    plain = precision_recall_fscore_support(y_true[full], y_pred[full], average="micro")[:3]
    sums = Counter()
    for at in np.flatnonzero(full):
        sums.update(scorer.read(answers[at], Case("c", expected={"tags": truths[at]})).counts)
    assert [figure(name) for name in ("precision", "recall", "f1")] == pytest.approx(plain)


@for_every("labels", [["a", "a"], ["macro"], [" "]])
def test_labels_are_names_of_measures(labels):
    with pytest.raises(ValidationError, match="label"):
        ItemSet(expected="expected.tags", labels=labels)


def test_a_truth_that_is_no_list_of_values_is_a_mistake_of_the_case():
    wrong = Case("c", input={"passage_ids": [{"id": "p1"}]}, expected={"tags": {"a": 1}})
    assert "a list of texts or numbers" in Subset(of="input.passage_ids").check(wrong)
    assert "a list of texts or numbers" in ItemSet(expected="expected.tags").check(wrong)


SUITE = """
suite: tickets
cases: {files: cases.json}
target: {recorded: answers.jsonl}
answer: {format: json}
score:
  cited: {subset: {of: "input.passages[].id", empty: skip}}
  tags: {item_set: {expected: expected.tags, labels: [bug, login]}}
  severity: {ordinal: {expected: expected.severity, order: [low, medium, high]}, wrong_below: 1}
pass: score >= 75 %
gates:
  - score.tags.macro_f1 >= 50 %
  - score.cited.inside >= 50 %
  - score.severity.within_one >= 50 %
"""
TICKETS = [
    {
        "id": f"t{n}",
        "input": {"text": f"ticket {n}", "passages": [{"id": f"p{n}a"}, {"id": f"p{n}b"}]},
        "expected": {"tags": tags, "severity": severity},
    }
    for n, (tags, severity) in enumerate(
        [(["bug"], "low"), (["login", "bug"], "high"), (["login"], "medium"), (["other"], "high")]
    )
]


@pytest.fixture
def tickets(tmp_path):
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "cases.json").write_text(json.dumps(TICKETS))
    answers = [
        {"cited": ["p0a"], "tags": ["bug"], "severity": "low"},
        {"cited": [], "tags": ["bug", "x"], "severity": "medium"},
        {"cited": ["p2a", "made up"], "tags": [], "severity": "urgent"},
        {"cited": ["p3b"], "tags": ["other"], "severity": "high"},
    ]
    lines = [json.dumps({"case": f"t{n}", "answer": answer}) for n, answer in enumerate(answers)]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_run_has_the_measures_with_their_n_and_the_findings(tickets):
    outcome = steelyard("run", "suite.yaml", "--json", cwd=tickets)
    report = json.loads(outcome.stdout)
    assert report["figures"]["score.cited.points"]["n"] == 3  # the empty list is taken out
    assert report["figures"]["score.cited.points"]["value"] == pytest.approx((1 + 0.5 + 1) / 3)
    measures = {
        name: figure
        for name, figure in report["figures"].items()
        if not name.endswith((".points", ".average", ".readable"))
    }
    cited, found, severity = (
        {name.removeprefix(start): figure for name, figure in measures.items() if name.startswith(start)}
        for start in ("score.cited.", "score.tags.", "score.severity.")
    )
    assert (cited["inside"]["value"], cited["empty"]["value"]) == (3 / 4, 1 / 4)
    # 3 right of 5 true and 4 answered; the answer without any is one that is wrong. bug: 2 of 2; login: none of 2.
    figures = {name: found[name]["value"] for name in ("precision", "recall", "f1", "macro_f1")}
    assert figures == pytest.approx({"precision": 3 / 5, "recall": 3 / 5, "f1": 6 / 9, "macro_f1": 1 / 2})
    assert (found["f1"]["n"], found["login_f1"]["n"]) == (4, 2)
    assert {name: figure["value"] for name, figure in severity.items()} == {
        "exact": 1 / 2,
        "within_one": 3 / 4,
        "too_high": 0,
        "too_low": 1 / 4,
        "outside": 1 / 4,
    }
    assert findings_in(report) == {"EXTRA": 1, "MISSED": 2, "NOT_IN_LIST": 1, "SEVERITY": 2}
    confused = {(item["expected"], item["got"]) for item in report["confusions"]}
    assert confused == {("high", "medium"), ("medium", "urgent")}


def test_the_audit_tries_them_all(tickets):
    outcome = steelyard("audit", "suite.yaml", "--json", cwd=tickets)
    data = json.loads(outcome.stdout)
    probes = {(probe["probe"], probe["rule"]): probe["average"] for probe in data["probes"]}
    assert probes["truth", "as written"] == probes["truth", "strict"] == 1.0
    assert all(
        probes[name, rule] == 0.0 for name in ("empty", "{}", "nulls", "none") for rule in ("as written", "strict")
    )
    assert 0 < probes["everything", "as written"] < 0.5


def test_the_truth_of_a_case_whose_list_is_empty_has_no_values(tickets):
    (tickets / "suite.yaml").write_text(SUITE.replace("login]}}", "login]}, when_unknown: skip}"))
    empty = {**TICKETS[0], "expected": {"tags": [], "severity": "low"}}
    (tickets / "cases.json").write_text(json.dumps([empty, *TICKETS[1:]]))
    data = json.loads(steelyard("audit", "suite.yaml", "--json", cwd=tickets).stdout)
    assert {probe["average"] for probe in data["probes"] if probe["probe"] == "truth"} == {1.0}


def test_an_answer_of_which_all_is_skipped_earns_nothing(tickets):
    alone = SUITE.split("  tags:")[0] + "pass: score >= 75 %\n"
    (tickets / "suite.yaml").write_text(alone)
    suite = load_suite(tickets / "suite.yaml")
    scored = Evaluator(suite).evaluate('{"cited": []}', next(iter(suite.cases)))
    assert (scored.outcome, scored.score, scored.passed) == (Outcome.SCORED, 0.0, False)


# lists inside the answer, and recall


def cited_of_retrieved(answer, **settings):
    return Subset(of="answer.retrieved[].id", **settings).at("cited").read(answer, Case("c"))


def test_the_list_may_be_what_the_answer_itself_retrieved():
    retrieved = [{"id": "p1"}, {"id": "p2"}]
    reading = cited_of_retrieved({"retrieved": retrieved, "cited": ["p1", "p9"]})
    assert reading.value == 0.5
    assert [(finding.got, finding.evidence) for finding in reading.findings] == [
        ("p9", "not one of the 2 in answer.retrieved[].id")
    ]
    assert cited_of_retrieved({"retrieved": retrieved, "cited": ["p1"]}).value == 1


@for_every(
    "answer", [{}, {"retrieved": [], "cited": []}, {"cited": ["p1"]}, {"retrieved": [{"id": "p1"}], "cited": []}]
)
def test_an_answer_that_retrieves_or_cites_nothing_earns_nothing(answer):
    assert cited_of_retrieved(answer).value == 0


def test_a_list_in_the_answer_is_looked_for_in_no_case(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: rag\ncases: {files: cases.yaml}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "score:\n  cited: {subset: {of: 'answer.retrieved[]', code: MADE_UP}}\npass: score >= 100 %\n"
        "gates: [pass_rate >= 10 %]\n"
    )
    (tmp_path / "cases.yaml").write_text("- {id: a, input: {q: x}}\n- {id: b, input: {q: y}}\n")
    answers = [{"retrieved": ["p1"], "cited": ["p1"]}, {"retrieved": ["p1"], "cited": ["p2"]}]
    (tmp_path / "answers.jsonl").write_text(
        "".join(
            json.dumps({"case": name, "answer": json.dumps(item)}) + "\n"
            for name, item in zip("ab", answers, strict=True)
        )
    )
    done = steelyard("run", tmp_path, "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["figures"]["pass_rate"]["value"] == 0.5
    assert findings_in(data) == {"MADE_UP": 1}


def test_a_list_that_is_neither_in_the_cases_nor_in_the_answer_is_told_where_paths_begin(tickets):
    (tickets / "suite.yaml").write_text(SUITE.replace("input.passages[].id", "answers.retrieved[].id"))
    told = steelyard("run", "suite.yaml", cwd=tickets)
    assert told.returncode == 2
    where = "is in none of the 4 cases; a path into a case begins with one of id, input, expected, "
    assert f"answers.retrieved[].id {where}" in told.stderr


def test_the_audit_knows_an_answer_that_cites_what_it_retrieved(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: rag\ncases: {files: cases.yaml}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "score:\n  docs: {retrieval: {answer: 'retrieved[].id', expected: expected.docs, k: 2}, weight: 4}\n"
        "  cited: {subset: {of: 'answer.retrieved[].id'}}\npass: score >= 90 %\ngates: [pass_rate >= 10 %]\n"
    )
    cases = [{"id": f"c{n}", "input": {"q": f"question {n}"}, "expected": {"docs": [f"d{n}"]}} for n in range(8)]
    (tmp_path / "cases.yaml").write_text(json.dumps(cases))
    (tmp_path / "answers.jsonl").write_text('{"case": "c0", "answer": "[]"}\n')
    probes = json.loads(steelyard("audit", tmp_path, "--json", cwd=tmp_path).stdout)["probes"]
    earned = {probe["probe"]: probe["average"] for probe in probes if probe["rule"] == "as written"}
    assert earned["truth"] == 1
    # What another case asks for, retrieved and cited, is cited from the list: 1 of 5 in weight.
    assert earned["another"] == pytest.approx(0.2)


def test_under_recall_an_extra_value_is_no_error():
    case = Case("c", expected={"ids": ["a", "b"]})
    reading = ItemSet(expected="expected.ids", value="recall").at("ids").read({"ids": ["a", "x", "y"]}, case)
    assert (reading.value, [finding.code for finding in reading.findings]) == (0.5, ["MISSED"])
    # Where nothing is true, an extra value costs everything, and is one. Strict takes F1, in which it costs, too.
    empty = (
        ItemSet(expected="expected.ids", value="recall").at("ids").read({"ids": ["x"]}, Case("c", expected={"ids": []}))
    )
    assert (empty.value, [finding.code for finding in empty.findings]) == (0, ["EXTRA"])
    strict = (
        ItemSet(expected="expected.ids", value="recall", strict=True).at("ids").read({"ids": ["a", "b", "x"]}, case)
    )
    assert [finding.code for finding in strict.findings] == ["EXTRA"]
