"""Experts answer cases themselves: where they disagree with the truth or each other, the case is contested."""

import json

import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from parts.mixed_run import put_ended, put_mixed
from steelyard.analysis.summary_from_store import summarise_stored, summarise_without
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.people.experts import contested_in, experts_of, rule
from steelyard.records import RunHeader, Signature, TargetFacts
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store

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
    # What Ann says the second time is for her agreement with herself alone.
    again = LabelRecord("chairs", "c0", "ann", "answer", {"style": "Empire"}, round=1)
    store.people.add_labels([again])
    yield store, suite
    store.close()


@pytest.fixture
def run(answered, tmp_path, monkeypatch):
    """A run of the same four cases, right in c0 and c3; its experts answer in the same store."""
    store, _ = answered
    monkeypatch.chdir(tmp_path)
    styles = ["Baroque", "Empire", "Rococo", "Biedermeier"]
    rows = [{"case": f"c{k}", "answer": {"style": style}} for k, style in enumerate(styles)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    invoke("run", "suite.yaml", "--store", "steelyard.db")
    return store.run("LAST")


def test_a_report_names_the_contested_cases_and_nobody_who_contests_them(run):
    data = json.loads(invoke("report", "LAST", "--store", "steelyard.db", "--json"))
    # Nobody is right in c2; in c1 one of two is, and one person alone contests nothing.
    assert "1 case is contested by experts: c2" in data["notes"]
    assert data["contested"] == [{"case_id": "c2", "why": "2 of 2 experts disagree with the truth"}]
    text = invoke("report", "LAST", "--store", "steelyard.db", "--full")
    assert "contested by experts: c2" in text
    assert "ann" not in text.split()


def test_gates_can_leave_contested_cases_out_and_say_so(run):
    gate = ("gate", "LAST", "--store", "steelyard.db", "--gate", "pass_rate >= 60 %")
    data = json.loads(invoke(*gate, "--json", code=1))
    assert (data["gates"][0]["value"]["value"], data["gates"][0]["value"]["n"]) == (0.5, 4)
    assert "without_contested" not in data
    data = json.loads(invoke(*gate, "--without-contested", "--json"))
    # By hand: c0 and c3 of c0, c1, c3 are right.
    assert (data["verdict"], data["gates"][0]["value"]["n"]) == ("PASS", 3)
    assert data["gates"][0]["value"]["value"] == pytest.approx(2 / 3)
    assert data["gates"][0]["value"]["n_missing"] == 0
    out = data["without_contested"]
    assert (out["cases"], out["n_samples"]) == (["c2"], 1)
    # The same gate over all cases, next to it.
    assert (out["with_all"]["verdict"], out["pass_rate"]["value"], out["pass_rate"]["n"]) == ("FAIL", 0.5, 4)
    shown = " ".join(invoke(*gate, "--without-contested").split())
    assert "PASS; without 1 contested case (1 sample): c2; with them FAIL, pass rate 50.0 %" in shown


def test_one_person_who_contests_the_failing_cases_turns_no_gate(run, answered):
    store, _ = answered
    for label in store.people.labels(suite="chairs"):
        if label.person == "ann":
            store.people.withdraw(label.number)
    # Ben alone disagrees with the truth of c1 and c2, just the two cases that fail.
    gate = ("gate", "LAST", "--store", "steelyard.db", "--gate", "pass_rate >= 60 %", "--without-contested", "--json")
    data = json.loads(invoke(*gate, code=1))
    assert (data["verdict"], data["without_contested"]["cases"]) == ("FAIL", [])


def experts(*more, code=0):
    return invoke("label", "experts", "suite.yaml", "--store", "steelyard.db", *more, code=code)


def test_a_contest_is_upheld_by_another_person_with_a_reason(run):
    with pytest.raises(AssertionError, match="Ben disagrees with the truth of c1: somebody else must decide"):
        experts("--uphold", "c1", "--why", "Regency is right", "--as", "Ben")
    with pytest.raises(AssertionError, match="a decision needs its reason"):
        experts("--uphold", "c1", "--as", "cleo")
    with pytest.raises(AssertionError, match="no expert questions case 'c3' of chairs; questioned are c1, c2"):
        experts("--uphold", "c3", "--why", "?", "--as", "cleo")
    found = json.loads(experts("--json"))
    assert [item["case_id"] for item in found["contested"]] == ["c2"]
    found = json.loads(
        experts("--uphold", "c1", "--why", "the label on the photo says Regency", "--as", "cleo", "--json")
    )
    assert [item["case_id"] for item in found["contested"]] == ["c1", "c2"]
    assert found["contested"][0]["why"].endswith("upheld: the label on the photo says Regency")
    gate = ("gate", "LAST", "--store", "steelyard.db", "--gate", "pass_rate >= 60 %", "--without-contested", "--json")
    data = json.loads(invoke(*gate))
    assert data["without_contested"]["cases"] == ["c1", "c2"]
    # The newest decision counts.
    found = json.loads(experts("--dismiss", "c1", "--why", "a copy", "--as", "dora", "--json"))
    assert [item["case_id"] for item in found["contested"]] == ["c2"]
    assert [item["case_id"] for item in found["questioned"]] == ["c1"]
    # A dismissal by a third person stands against two experts as well.
    found = json.loads(experts("--dismiss", "c2", "--why", "both read the caption of c1", "--as", "dora", "--json"))
    assert found["contested"] == []


def test_who_decided_and_then_contests_the_case_has_decided_nothing(run, answered):
    """Cleo upholds what Ben raised; once she contests it as well, and Ben took his answer back, she is on her own."""
    store, suite = answered
    experts("--uphold", "c1", "--why", "it is Regency", "--as", "cleo")
    (bens,) = (label for label in store.people.labels() if (label.case_id, label.person) == ("c1", "ben"))
    store.people.withdraw(bens.number)
    store.people.add_labels([LabelRecord("chairs", "c1", "Cleo", "answer", {"style": "Regency"})])
    assert "c1" not in {item.case_id for item in experts_of(store, suite).contested}
    # The same under the numbers that are shown instead of names.
    hidden = experts_of(store, suite, lambda name: f"expert {name[0]}")
    assert [item.case_id for item in hidden.questioned] == ["c1"]
    with pytest.raises(AssertionError, match="Cleo disagrees with the truth of c1: somebody else must decide"):
        experts("--uphold", "c1", "--why", "it is Regency", "--as", "Cleo")


def test_nobody_upholds_what_they_raised_where_no_answer_can_be_scored(tmp_path, monkeypatch):
    """Only a judge could score the answers, so nobody is against a truth; those who differ raised it."""
    monkeypatch.chdir(tmp_path)
    suite = load_suite(str(write_judged(tmp_path)))
    with open_store(str(tmp_path / "steelyard.db")) as store:
        case = next(iter(suite.cases)).id
        store.people.add_labels(
            [LabelRecord(suite.name, case, person, "answer", text) for person, text in (("ann", "a"), ("ben", "b"))]
        )
        for person in ("ann", " Ben "):
            with pytest.raises(UsageError, match="is one of those who question"):
                rule(store, suite, case, "upheld", person, "it is wrong")
        rule(store, suite, case, "upheld", "cleo", "it is wrong")
        assert [item.case_id for item in experts_of(store, suite).contested] == [case]


def test_what_two_runs_are_compared_over_is_all_their_cases(run):
    invoke("baseline", "set", "LAST", "--name", "release", "--store", "steelyard.db")
    gate = ("gate", "LAST", "--store", "steelyard.db", "--without-contested", "--json")
    (result,) = json.loads(invoke(*gate, "--gate", "pass_rate >= @release", code=4))["gates"]
    assert result["reason"].startswith("two runs are compared over all their cases")
    with pytest.raises(AssertionError, match="cannot be used with --against"):
        invoke(*gate, "--against", "release")


def test_without_the_suite_experts_are_held_against_each_other(run, answered, tmp_path):
    store, _ = answered
    (tmp_path / "suite.yaml").unlink()
    assert contested_in(store, run) == ()
    # That experts differ from each other says nothing against a truth that nobody can look up.
    experts_say = [LabelRecord("chairs", "c1", "cleo", "ruling", "upheld", comment="it is Regency")]
    store.people.add_labels(experts_say)
    assert [item.case_id for item in contested_in(store, run)] == ["c1"]


@pytest.mark.parametrize("seed", [1, 2])
def test_figures_without_some_cases_are_those_of_a_run_that_never_had_them(tmp_path, seed):
    """Every figure that gates stand on: scores, checks, stability, findings, tags and slices."""
    store = open_store(str(tmp_path / "runs.db"))
    whole = put_mixed(store, "whole", seed)
    out = {"case-03", "case-10", "case-23"}
    pairs = [(sample, case) for sample, case in store.samples("whole") if sample.case_id not in out]
    n_out = len(out) * 8
    suite = whole.suite | {"n_planned": whole.suite["n_planned"] - n_out}
    header = RunHeader("part", "mixed", "", 1000.0, Signature(), target=TargetFacts({"kind": "python"}), suite=suite)
    put_ended(store, header, [sample for sample, _ in pairs], list({case.id: case for _, case in pairs}.values()))
    part = summarise_stored(store, "part", header.description, only_for_gates=True)
    assert summarise_without(store, store.run("whole"), out) == (part, n_out)
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
    found = experts_of(*answered)
    assert [item.case_id for item in found.contested] == ["c2"]
    contested = {item.case_id: item for item in (*found.questioned, *found.contested)}
    assert list(contested) == ["c1", "c2"]
    assert contested["c1"].why == "1 of 2 experts disagree with the truth; experts disagree with each other"
    assert contested["c1"].scores == {"ann": 1.0, "ben": 0.0}
    assert contested["c2"].why == "2 of 2 experts disagree with the truth"


def test_the_order_of_items_contests_nothing_and_one_more_item_does(answered):
    store, suite = answered
    spans = [{"start": 0, "end": 4}, {"end": 9, "start": 5}]
    given, years = {"cid": spans, "dan": spans[::-1], "eve": spans[:1]}, {"cid": 1820, "dan": 1820.0, "eve": 1820}
    for n, names in enumerate((("cid", "dan"), ("cid", "eve"))):
        case_id, style = ("c0", "Baroque") if n else ("c3", "Biedermeier")
        store.people.add_labels(
            [
                LabelRecord("chairs", case_id, who, "answer", {"style": style, "year": years[who], "spans": given[who]})
                for who in names
            ]
        )
    assert [item.case_id for item in experts_of(store, suite).questioned] == ["c0", "c1"]


def test_a_suite_that_says_not_what_passes_contests_only_where_experts_differ(answered, tmp_path):
    store, _ = answered
    (tmp_path / "suite.yaml").write_text(SUITE.replace("pass: score >= 50 %", ""))
    experts = experts_of(store, load_suite(str(tmp_path / "suite.yaml")))
    assert [(item.case_id, item.why) for item in experts.questioned] == [("c1", "experts disagree with each other")]
    assert (experts.by_truth.value, experts.by_truth.n_missing) == (None, 6)


def test_an_answer_that_only_a_judge_could_score_is_missing_and_contests_nothing(tmp_path):
    suite = load_suite(str(write_judged(tmp_path / "judged", n=2)))
    store = open_store(str(tmp_path / "judged.db"))
    store.people.add_labels(
        [LabelRecord(suite.name, "c0", who, "answer", "A fine number, and all is said.") for who in ("ann", "ben")]
    )
    experts = experts_of(store, suite)
    store.close()
    assert (experts.by_truth.value, experts.by_truth.n, experts.by_truth.n_missing) == (None, 0, 2)
    assert (experts.score.value, experts.score.n_missing) == (None, 2)
    assert experts.contested == ()
    assert experts.by_each_other.value == 1.0
