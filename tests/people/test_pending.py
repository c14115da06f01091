"""Cases whose truth is pending: they load, count in no figure, are shown to people, and are filled in."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.command import invoke
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.truth.edits import Author, change_case

SUITE = """\
suite: things
cases:
  files: {file}
{map}
target: {{recorded: known.jsonl}}
answer:
  schema: {{type: object, required: [name, year], properties: {{name: {{type: string}}, year: {{type: integer}}}}}}
score:
  name: {{keywords_or_fuzzy: {{expected: expected.name, keywords: expected.words}}, weight: 3}}
  year: {{number: {{expected: expected.year}}}}
pass: score >= 50 %
gates: [pass_rate >= 50 %]
"""
MAPPED = "  map: {input: photo, expected: {name: title, words: about.words, year: {from: about.decade, unit: UNIT}}}"
TABLE = "  map: {expected: {name: expected.name, words: {from: words, as: list}, year: {from: year, as: number}}}"
KNOWN, NEW = "a round seat of bent rods", "a tall box with a door"
FILES = {
    "cases.yaml": (
        "",
        f"- id: a # the chair\n  input: {KNOWN}\n  expected: {{name: Oak Chair, words: [oak, chair], year: 1900}}\n"
        f"- id: b # the clock\n  input: {NEW}\n  category: clocks\n  pending: true\n",
        f"- id: a # the chair\n  input: {KNOWN}\n  expected: {{name: Oak Chair, words: [oak, chair], year: 1900}}\n"
        f"- id: b # the clock\n  input: {NEW}\n  category: clocks\n  expected:\n    name: Brass Clock\n    year: 1880\n"
        '    words: ["brass", "clock"]\n',
    ),
    "cases.jsonl": (
        "",
        f'{{"id": "a", "input": "{KNOWN}", "expected": {{"name": "Oak Chair", "words": ["oak"], "year": 1900}}}}\n'
        f'{{"id": "b", "input": "{NEW}", "expected": {{"kind": "clock"}}, "pending": true}}\n',
        f'{{"id": "a", "input": "{KNOWN}", "expected": {{"name": "Oak Chair", "words": ["oak"], "year": 1900}}}}\n'
        f'{{"id": "b", "input": "{NEW}", "expected": {{"kind": "clock", "name": "Brass Clock", "year": 1880,'
        ' "words": ["brass", "clock"]}}\n',
    ),
    # Another shape, which `map` reads: a title beside the id, and thousands of years.
    "cases.json": (
        MAPPED.replace("UNIT", "thousands to units"),
        '[\n  {"id": "a", "photo": "x", "title": "Oak Chair", "about": {"words": ["oak"], "decade": 1.9}},\n'
        '  {"id": "b", "photo": "y", "about": {"lot": 7}, "pending": true}\n]\n',
        '[\n  {"id": "a", "photo": "x", "title": "Oak Chair", "about": {"words": ["oak"], "decade": 1.9}},\n'
        '  {"id": "b", "photo": "y", "about": {"lot": 7, "decade": 1.88, "words": ["brass", "clock"]},'
        ' "title": "Brass Clock"}\n]\n',
    ),
    "cases.csv": (
        TABLE,
        f'id,input,expected.name,words,year,pending\na,"{KNOWN}, old",Oak Chair,oak; chair,1900,\nb,{NEW},,,,yes\n',
        f'id,input,expected.name,words,year,pending\na,"{KNOWN}, old",Oak Chair,oak; chair,1900,\n'
        f"b,{NEW},Brass Clock,brass; clock,1880,\n",
    ),
}  # fmt: skip
WORDS = {"cases.json": "about.words", "cases.csv": "words"}
ANN = Author("ann", "the stamp")


def write_things(folder, name="cases.yaml"):
    mapping, text, _ = FILES[name]
    folder.mkdir()
    (folder / "suite.yaml").write_text(SUITE.format(file=name, map=mapping))
    (folder / name).write_text(text, newline="")
    (folder / "known.jsonl").write_text('{"case": "a", "answer": {"name": "Oak Chair", "year": 1900}}\n')
    for system in ("one", "two", "three"):
        spelled = "brass clock" if system == "two" else "Brass Clock"
        row = {"case": "b", "answer": {"name": spelled, "year": 1880}}
        (folder / f"{system}.jsonl").write_text(json.dumps(row) + "\n")
    return folder


@pytest.fixture(params=FILES)
def things(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return write_things(tmp_path / "things", request.param), request.param


@pytest.fixture
def in_yaml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return write_things(tmp_path / "things")


def suggested():
    return {
        item["component"]: item for item in json.loads(invoke("truth", "suggest", "things", "--json"))["suggestions"]
    }


def test_it_is_filled_in_from_what_systems_agree_on_in_the_format_of_its_own_file(things):
    folder, name = things
    for system in ("one", "two", "three"):
        told = invoke("run", "things", "--pending", "--answers", folder / f"{system}.jsonl")
        assert "1 sample of pending cases, 1 answered; nothing is scored" in told
    found = suggested()
    assert {part: (item["truth"], item["value"], item["pending"]) for part, item in found.items()} == {
        "name": (None, "Brass Clock", True),
        "year": (None, 1880, True),
    }
    assert "    truth: pending\n" in invoke("truth", "suggest", "things")
    accept = ("truth", "accept", "things")
    told = invoke(*accept, found["name"]["id"], "--as", "correction", "--reason", "the stamp")
    words, year = WORDS.get(name, "expected.words"), {"cases.json": "about.decade", "cases.csv": "year"}
    assert f"b is still pending: it has no {words}, no {year.get(name, 'expected.year')}" in told
    assert load_suite("things").survey.n == 1
    more = ("--set", f'{words}=["brass", "clock"]')
    told = invoke(*accept, found["year"]["id"], "--as", "correction", "--reason", "the book", *more)
    assert "still pending" not in told
    assert (folder / name).read_bytes().decode() == FILES[name][2]
    suite = load_suite("things")
    assert (suite.survey.n, suite.survey.n_pending) == (2, 0)
    case = list(suite.cases)[1]
    assert {key: case.expected[key] for key in ("name", "words", "year")} == {
        "name": "Brass Clock",
        "words": ["brass", "clock"],
        "year": 1880,
    }
    assert [line.reason for line in suite.ledger] == ["the stamp", "the book"]
    # Taken back, it is pending again.
    invoke("truth", "revert", "things", 2, "--reason", "another book")
    assert load_suite("things").survey.n_pending == 1


def test_it_counts_in_no_figure_and_is_named_with_the_verdict(things):
    folder, _ = things
    data = json.loads(invoke("run", "things", "--json"))
    rate = data["figures"]["pass_rate"]
    assert (rate["n"], rate["n_missing"], data["n_samples"]) == (1, 0, 1)
    assert data["verdict"] == "PASS"
    sentence = "1 case is pending: it has no truth yet and counts in no figure"
    assert sentence in data["disclosures"]
    assert sentence in " ".join(invoke("report", "LAST").split())
    invoke("ci", "things", "--markdown", "c.md")
    assert sentence in (folder.parent / "c.md").read_text()


def test_a_case_with_a_truth_that_is_called_pending_is_named_with_the_verdict(in_yaml):
    # Whoever marks what fails raises the pass rate: the report must not say that there is no truth.
    cases = in_yaml / "cases.yaml"
    row = "- {id: %s, input: q, pending: true, expected: {name: Jug, words: [jug], year: 1800}}\n"
    cases.write_text(cases.read_text() + row % "c" + row % "d")
    told = json.loads(invoke("run", "things", "--json"))["disclosures"]
    assert "1 case is pending: it has no truth yet and counts in no figure" in told
    assert "2 cases have their truth and are called pending: they count in no figure" in told


def test_a_new_pending_case_leaves_the_signature_and_runs_of_it_leave_the_suites_figures_alone(in_yaml):
    before = json.loads(invoke("run", "things", "--json"))
    text = (in_yaml / "cases.yaml").read_text()
    (in_yaml / "cases.yaml").write_text(text + "- {id: c, input: a jug, pending: true}\n")
    invoke("run", "things", "--pending", "--answers", in_yaml / "one.jsonl")
    after = json.loads(invoke("run", "things", "--json"))
    assert after["run"]["signature"] == before["run"]["signature"]
    names = {run["suite"]: run["pass_rate"] for run in json.loads(invoke("runs", "--json"))}
    assert names == {"things": {"value": 1.0, "n": 1, "missing": 0}, "things-pending": None}
    # Only runs of the suite itself are its history.
    assert len(json.loads(invoke("history", "things", "--json"))["runs"]) == 2


def test_people_see_it_and_the_crowd_fills_it_in(things, tmp_path):
    _, name = things
    # No system has an answer: people can give theirs all the same.
    assert "1 sample of pending cases, 0 answered" in invoke("run", "things", "--pending")
    invoke("label", "plan", "--random", 1, "--per-item", 3)
    for person, answer in (("Ann", "Brass Clock"), ("Ben", "brass clock"), ("Cleo", "Brass Clock")):
        shown = invoke("label", "next", "--as", person, typed=f'{{"name": "{answer}", "year": 1880}}\n')
        assert (NEW if name != "cases.json" else "y") in shown
        assert "1 labelled" in shown
    words = WORDS.get(name, "expected.words")
    proposed = tmp_path / f"proposed.{name.partition('.')[2]}"
    invoke("label", "crowd", "--propose", proposed)
    text = proposed.read_text()
    assert "Brass Clock" in text
    # Its keywords are still missing, so the proposal says that it is pending.
    assert "pending" in text
    if name == "cases.json":
        (row,) = json.loads(text)
        assert row == {
            "id": "b",
            "photo": "y",
            "title": "Brass Clock",
            "about": {"lot": 7, "decade": 1.88},
            "pending": True,
        }
    told = invoke("label", "crowd", "--fill", "b", "--why", "three agree", "--as", "Dora")
    assert f"b is still pending: it has no {words}" in told
    invoke("truth", "edit", "things", "b", "--set", f'{words}=["brass", "clock"]', "--reason", "its words")
    suite = load_suite("things")
    assert (suite.survey.n, suite.survey.n_pending) == (2, 0)
    assert (suite.ledger[0].by, suite.ledger[0].reason) == ("Dora", "three agree")
    assert list(suite.cases)[1].expected["year"] == 1880


def test_people_who_answer_it_are_voters_for_suggestions(in_yaml):
    invoke("run", "things", "--pending", "--answers", in_yaml / "one.jsonl")
    invoke("label", "plan", "--random", 1, "--per-item", 2)
    for person in ("Ann", "Ben"):
        invoke("label", "next", "--as", person, typed='{"name": "Brass Clock", "year": 1880}\n')
    item = suggested()["name"]
    assert (item["voters"], item["people"], item["systems"]) == (3, 2, 1)


def test_what_is_wrong_with_a_pending_case_is_told(in_yaml):
    cases = in_yaml / "cases.yaml"
    text = cases.read_text()
    cases.write_text(text.replace("pending: true", "pending: soon"))
    assert "pending is true (the truth is still to be found) or left out" in invoke("run", "things", code=2)
    cases.write_text(text + "- {id: b, input: again, expected: {name: x, words: [x], year: 1}}\n")
    assert "the id 'b' is given twice" in invoke("run", "things", code=2)
    cases.write_text(text.replace("  pending: true\n", ""))
    told = invoke("run", "things", code=2)
    assert "write pending: true in a case whose truth is still to be found" in " ".join(told.split())
    cases.write_text("- {id: b, input: q, pending: true}\n")
    assert "all 1 case of things is pending" in invoke("run", "things", code=2)
    cases.write_text(text.partition("- id: b")[0])
    assert "no case of things is pending" in invoke("run", "things", "--pending", code=2)


def test_one_case_a_file_and_a_table_are_edited_and_what_has_no_column_is_told(tmp_path):
    folder = write_things(tmp_path / "t", "cases.csv")
    change_case(str(folder), "a", {"year": 1901}, ANN)
    assert (folder / "cases.csv").read_bytes().decode() == FILES["cases.csv"][1].replace("1900", "1901")
    with pytest.raises(UsageError, match=r"the table has no column expected.maker: add the heading"):
        change_case(str(folder), "a", {"expected.maker": "Kohn"}, ANN, new_field=True)
    folder = write_things(tmp_path / "f")
    (folder / "each").mkdir()
    for case in yaml.safe_load(FILES["cases.yaml"][1]):
        (folder / "each" / f"{case.pop('id')}.yaml").write_text(yaml.safe_dump(case))
    suite = (folder / "suite.yaml").read_text()
    (folder / "suite.yaml").write_text(suite.replace("  files: cases.yaml", "  folder: each"))
    values = {"expected.name": "Brass Clock", "expected.year": 1880, "expected.words": ["brass"]}
    change_case(str(folder), "b", values, ANN)
    assert load_suite(folder).survey.n == 2
    assert yaml.safe_load((folder / "each/b.yaml").read_text()) == {
        "input": NEW,
        "category": "clocks",
        "expected": {"name": "Brass Clock", "year": 1880, "words": ["brass"]},
    }


def test_a_pending_case_is_in_no_lint_and_no_audit(in_yaml):
    assert "in 1 case" in invoke("truth", "lint", "things")
    assert invoke("truth", "blame", "things", "b").startswith("expected: null")
