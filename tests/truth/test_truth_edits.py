"""`steelyard truth add | edit | retire | diff | blame | revert`: files of cases, and the ledger beside them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.command import invoke, steelyard
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite
from steelyard.suite.case import canonical
from steelyard.suite.case_files import with_record
from steelyard.suite.paths import MISSING
from steelyard.suite.yaml import read_yaml
from steelyard.truth.blame import blame
from steelyard.truth.edits import Author, change_case, revert_line

ALSO = ("--unchanged", "expected.also")
ANN = Author("ann", "the maker's mark")
SUITE = """\
suite: makers
cases: {cases}
target: {{recorded: answers.jsonl}}
answer: {{format: json}}
score:
  maker:
    alternatives: {{expected: expected.maker, also: expected.also}}
    when_unknown: skip
"""
FILES = {
    "cases.jsonl": '{"id":"a",  "input":"q", "expected":{"maker":"Kohn","also":["J. Kohn"]}}\n\n'
    '{"id": "b", "input": "r", "expected": {"maker": "Wedgwood"}}\n',
    "cases.json": json.dumps(
        {"a": {"input": "q", "expected": {"maker": "Kohn", "also": ["J. Kohn"]}},
         "b": {"input": "r", "expected": {"maker": "Wedgwood"}}}, indent=2),
    "cases.yaml": "# all cases\n- id: a   # the chair\n  input: q\n  expected:\n    maker: Kohn # by its label\n"
    "    also:\n      - J. Kohn\n\n# the bowl\n- {id: b, input: r, expected: {maker: Wedgwood}}\n",
}  # fmt: skip
EDITED = {
    "cases.jsonl": FILES["cases.jsonl"]
    .replace('"maker":"Kohn"', '"maker":"Thonet"')
    .replace('["J. Kohn"]', '["J. Kohn", "Gebrüder: T"]'),
    "cases.json": FILES["cases.json"]
    .replace('"Kohn"', '"Thonet"')
    .replace('"J. Kohn"\n', '"J. Kohn",\n        "Gebrüder: T"\n'),
    "cases.yaml": FILES["cases.yaml"]
    .replace("maker: Kohn", "maker: Thonet")
    .replace("- J. Kohn\n", '- J. Kohn\n      - "Gebrüder: T"\n'),
}


def write(folder: Path, cases: str, text: str) -> Path:
    folder.mkdir()
    (folder / "suite.yaml").write_text(SUITE.format(cases=cases))
    (folder / "answers.jsonl").write_text(
        "".join(f'{{"case": "{case}", "answer": {{"maker": "Thonet"}}}}\n' for case in "ab")
    )
    (folder / cases).write_text(text)
    return folder


@pytest.fixture
def makers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "makers", "cases.yaml", FILES["cases.yaml"])


def ledger(folder):
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_an_edit_changes_its_lines_alone_and_is_reverted_to_the_same_truth(tmp_path, name):
    folder = write(tmp_path / "s", name, FILES[name])
    before = {case.id: case for case in load_suite(folder).cases}
    change_case(str(folder), "a", {"expected.maker": "Thonet", "expected.also": ["J. Kohn", "Gebrüder: T"]}, ANN)
    assert (folder / name).read_text() == EDITED[name]
    assert ledger(folder)[0]["change"] == {
        "expected.maker": {"before": "Kohn", "after": "Thonet"},
        "expected.also": {"before": ["J. Kohn"], "after": ["J. Kohn", "Gebrüder: T"]},
    }
    revert_line(str(folder), 1, Author("bob", "the mark is forged"))
    assert {case.id: case for case in load_suite(folder).cases} == before
    first, second = ledger(folder)
    assert (second["before"], second["after"], second["by"]) == (first["after"], first["before"], "bob")


@pytest.mark.parametrize("name", FILES)
def test_a_case_is_added_and_one_is_retired_and_both_come_back(tmp_path, name):
    folder = write(tmp_path / "s", name, FILES[name])
    before = {case.id: case for case in load_suite(folder).cases}
    change_case(str(folder), "c", {"": {"id": "c", "input": {"text": "x"}, "expected": {"maker": "no"}}}, ANN)
    change_case(str(folder), "b", {"": MISSING}, ANN)
    after = {case.id: case.expected for case in load_suite(folder).cases}
    assert after == {"a": before["a"].expected, "c": {"maker": "no"}}
    assert [(row["before"] is None, row["after"] is None) for row in ledger(folder)] == [(True, False), (False, True)]
    revert_line(str(folder), 2, ANN)
    revert_line(str(folder), 1, ANN)
    assert {case.id: case for case in load_suite(folder).cases} == before


def test_what_cannot_be_edited_says_what_can(tmp_path):
    folder = write(tmp_path / "s", "cases.jsonl", FILES["cases.jsonl"])
    (folder / "cases.jsonl.gz").write_bytes(gzip.compress((folder / "cases.jsonl").read_bytes()))
    (folder / "suite.yaml").write_text(SUITE.format(cases="cases.jsonl.gz"))
    forms = r"is no file of cases in the form of .json, .jsonl, .ndjson, .yaml, .yml, .csv: edit it by hand and say"
    with pytest.raises(UsageError, match=f"cases.jsonl.gz {forms} why with `steelyard truth note`"):
        change_case(str(folder), "a", {"expected.maker": "Thonet"}, ANN)
    (folder / "suite.yaml").write_text(SUITE.format(cases="{folder: cases}"))
    (folder / "cases").mkdir()
    (folder / "cases" / "a.yaml").write_text("input: q\nexpected: {maker: Kohn, also: [K]}\n")
    with pytest.raises(UsageError, match="each file is one case, and a is a file to add or to remove: edit it by hand"):
        change_case(str(folder), "a", {"": MISSING}, ANN)


def test_a_field_that_nothing_else_has_must_be_meant(makers):
    words = ("truth", "edit", "makers", "a", "--set", "expected.makr=Thonet", "--reason", "x")
    message = "expected.makr is in no case, and no scorer names it: did you mean expected.maker?"
    assert message in invoke(*words, code=2)
    added = ("truth", "add", "makers", "c", "--set", "expected.year=1900", "--reason", "x")
    assert "expected.year is in no case, and no scorer names it" in invoke(*added, code=2)
    assert not (makers / "ledger.jsonl").exists()
    invoke(*words, "--new-field")
    # Another case has it by now.
    invoke("truth", "edit", "makers", "b", "--set", "expected.makr=Spode", "--reason", "x")
    suite = makers / "suite.yaml"
    fields = "  all:\n    fields: {answer: '', expected: expected, skip_unknown: true, fields: {maker: 1, year: 1}}\n"
    suite.write_text(suite.read_text() + fields)
    invoke("truth", "edit", "makers", "b", "--set", "expected.year=1900", "--reason", "a field of a scorer")


def test_cases_in_the_suite_file_are_edited_there(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    inside = "\n  - {id: a, input: q, expected: {maker: Kohn, also: [K]}} # one\n"
    (folder / "suite.yaml").write_text(SUITE.format(cases=inside))
    (folder / "answers.jsonl").write_text('{"case": "a", "answer": {"maker": "Thonet"}}\n')
    change_case(str(folder), "a", {"expected.also": ["K", "J. K."]}, ANN)
    assert (folder / "suite.yaml").read_text() == SUITE.format(cases=inside.replace("[K]", "[K, J. K.]"))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"expected.maker": ["x"]}, SuiteError, r"cases.yaml:5: expected.maker is \['x'\]: a name is needed"),
        ({"expected..x": 1}, UsageError, "'expected..x' is not a path: it breaks at character 10"),
        ({"input": "x"}, UsageError, "input is no part of the truth: name a path such as expected.name"),
        ({}, UsageError, "nothing was edited: say what, such as --set expected.maker=Thonet"),
        ({"expected.maker": "Kohn"}, UsageError, "nothing was edited: the truth of a is so already"),
        ({"expected.maker.first": "J"}, UsageError, "there is no 'first' in 'Kohn'"),
    ],
)
def test_what_would_break_the_suite_is_refused_and_nothing_is_written(makers, values, error, message):
    with pytest.raises(error, match=message):
        change_case(str(makers), "a", values, ANN)
    assert (makers / "cases.yaml").read_text() == FILES["cases.yaml"]
    assert not (makers / "ledger.jsonl").exists()


def test_an_installed_suite_is_not_edited_where_it_is_installed():
    same = next(iter(load_suite("antiques").cases))
    with pytest.raises(UsageError, match=r"antiques is an installed suite.*copy the folder .*, and edit the copy"):
        change_case("antiques", same.id, {"expected.maker": same.expected["maker"]}, ANN)


def test_what_an_alias_or_a_mapping_stands_for_is_left_to_a_person(makers):
    (makers / "cases.yaml").write_text(
        "- {id: a, expected: &x {maker: Kohn, also: [K]}}\n- {id: b, input: r, expected: *x}\n"
    )
    for case in ("a", "b"):
        with pytest.raises(UsageError, match="edit it by hand and say why with `steelyard truth note`"):
            change_case(str(makers), case, {"expected.maker": "Thonet"}, ANN)
    (makers / "cases.yaml").write_text("- {id: a, label: Kohn, also: [K], expected: {}}\n")
    mapped = "{files: cases.yaml, map: {expected: {maker: label, also: also}}}"
    (makers / "suite.yaml").write_text(SUITE.format(cases=mapped))
    with pytest.raises(UsageError, match=r"expected.maker is in no case, and no scorer names it"):
        change_case(str(makers), "a", {"expected.maker": "Thonet"}, ANN)


def test_a_mapped_truth_is_edited_where_the_file_has_it_and_in_its_unit(makers):
    text = '[\n {"id": "a", "input": "q", "label": "Kohn", "price": 12.5, "truth": {"also": ["K"]}}\n]\n'
    (makers / "cases.json").write_text(text)
    mapped = """
  files: cases.json
  map: {expected: {maker: label, also: truth.also, cents: {from: price, unit: dollars to cents}, one: {constant: 1}}}"""
    (makers / "suite.yaml").write_text(SUITE.format(cases=mapped))
    change_case(str(makers), "a", {"label": "Thonet"}, ANN, of_case={"expected.also": ["T"], "expected.cents": 4000})
    after = text.replace("Kohn", "Thonet").replace('"K"', '"T"').replace("12.5", "40")
    assert (makers / "cases.json").read_text() == after
    assert set(ledger(makers)[0]["change"]) == {"label", "price", "truth.also"}
    revert_line(str(makers), 1, ANN)
    assert (makers / "cases.json").read_text() == text
    with pytest.raises(UsageError, match=r"expected.one is made by cases.map: edit it by hand"):
        change_case(str(makers), "a", {}, ANN, of_case={"expected.one": 2})


def test_who_may_read_a_file_stays(makers):
    (makers / "cases.yaml").chmod(0o640)
    change_case(str(makers), "a", {"expected.maker": "Thonet"}, ANN)
    assert (makers / "cases.yaml").stat().st_mode & 0o777 == 0o640


def test_without_a_ledger_to_write_the_file_is_as_it_was(makers):
    (makers / "ledger.jsonl").mkdir()
    with pytest.raises(SuiteError):
        change_case(str(makers), "a", {"expected.maker": "Thonet"}, ANN)
    assert (makers / "cases.yaml").read_text() == FILES["cases.yaml"]


KILLED = """
import os, sys
from steelyard.cli import steelyard
n, *words = sys.argv[1:]
left = int(n)

def at_file(event, values):
    # Every step that touches the edit's folder, the ledger or a rename; the step itself is not made any more.
    global left
    touched = any(name in str(value) for value in values for name in (".truth-edit", "ledger.jsonl"))
    if event == "os.rename" or (touched and event in ("open", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")):
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)

sys.addaudithook(at_file)
steelyard(words)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "makers", "a", "--set", "expected.maker=Fischel", *ALSO),
        ("add", "makers", "c", "--set", "input=three", "--set", "expected.maker=Fischel"),
        ("retire", "makers", "b"),
    ],
    ids=lambda words: words[0],
)
def test_an_edit_that_is_killed_at_any_step_is_completed_or_taken_back_by_the_next_command(makers, words):
    before = (makers / "cases.yaml").read_text()
    texts, outcomes = set(), []
    for n in range(1, 100):
        (makers / "cases.yaml").write_text(before)
        (makers / "ledger.jsonl").unlink(missing_ok=True)
        command = [sys.executable, "-c", KILLED, str(n), "truth", *words, "--by", "ann", "--reason", "the stamp"]
        done = subprocess.run(command, cwd=makers.parent, check=False, capture_output=True)
        # Any command that reads the suite, not only one that edits it.
        shown = steelyard("truth", "log", "makers", cwd=makers.parent)
        text = (makers / "cases.yaml").read_text()
        made = text != before
        lines = ledger(makers) if (makers / "ledger.jsonl").exists() else []
        assert [line["reason"] for line in lines] == ["the stamp"] * made, (n, shown.stderr)
        assert sorted(path.name for path in makers.iterdir() if path.name != "ledger.jsonl") == FOLDER, n
        texts.add(text)
        if done.returncode != -9:
            break
        outcomes.append((made, shown.stderr.partition("stamp) ")[2].partition(":")[0].strip()))
    assert done.returncode == 0, done.stderr
    # A kill before anything was changed, one that is taken back, one that is completed.
    assert {(False, ""), (False, "is taken back"), (True, "is completed")} <= set(outcomes)
    assert len(texts) == 2


FOLDER = ["answers.jsonl", "cases.yaml", "suite.yaml"]


def test_an_interrupted_edit_of_a_file_that_was_edited_since_is_named_and_nothing_is_guessed(makers):
    command = [sys.executable, "-c", KILLED, "8", "truth", "retire", "makers", "b", "--by", "ann", "--reason", "stamp"]
    edited = 0
    for n in range(1, 30):
        command[3] = str(n)
        (makers / "cases.yaml").write_text(FILES["cases.yaml"])
        if subprocess.run(command, cwd=makers.parent, check=False, capture_output=True).returncode != -9:
            break
        (makers / "cases.yaml").write_text(FILES["cases.yaml"] + "# by hand\n")
        stderr = steelyard("truth", "log", "makers", cwd=makers.parent).stderr
        edited += "is not in the ledger, and cases.yaml was edited since" in stderr
        assert (makers / "cases.yaml").read_text() == FILES["cases.yaml"] + "# by hand\n"
        assert not (makers / ".truth-edit").exists()
    assert edited


def test_ten_who_edit_at_once_lose_nothing(tmp_path):
    rows = [{"id": f"c{n}", "input": n, "expected": {"maker": f"m{n}", "also": ["x"]}} for n in range(10)]
    write(tmp_path / "s", "cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    words = [
        ("truth", "edit", "s", f"c{n}", "--set", f"expected.maker=new {n}", *ALSO, "--reason", "x") for n in range(10)
    ]
    with ThreadPoolExecutor(10) as pool:
        done = list(pool.map(lambda each: steelyard(*each, cwd=tmp_path), words))
    assert [each.returncode for each in done] == [0] * 10, done
    assert [case.expected["maker"] for case in load_suite(tmp_path / "s").cases] == [f"new {n}" for n in range(10)]
    assert sorted(row["case"] for row in ledger(tmp_path / "s")) == [f"c{n}" for n in range(10)]


def test_the_commands_say_who_set_what_and_what_changed(makers):
    invoke("run", "makers")
    invoke(
        "truth", "edit", "makers", "a", "--set", "expected.maker=Thonet", *ALSO, "--by", "ann", "--reason", "the mark"
    )
    year = ("--set", "expected.year=1900", "--new-field")
    invoke("truth", "edit", "makers", "a", *year, "--by", "bob", "--reason", "a letter")
    shown = invoke("truth", "blame", "makers", "a").splitlines()
    assert [line.partition(", 20")[0] for line in shown] == [
        'expected.maker: "Thonet"', "    #1 the mark (ann",
        'expected.also: ["J. Kohn"]', "    the ledger does not say",
        "expected.year: 1900", "    #2 a letter (bob",
    ]  # fmt: skip
    assert invoke("truth", "diff", "makers") == "the truth is as the ledger says\n"
    assert "edited   a: a letter (bob, 20" in invoke("truth", "check", "makers")
    assert invoke("truth", "log", "makers").splitlines()[1] == "    by bob: a letter"
    assert invoke("truth", "log", "makers").startswith("#2  ")
    invoke("truth", "edit", "makers", "a", "--set", "expected.maker=Fischel", *ALSO, "--reason", "no")
    said = invoke("truth", "revert", "makers", 1, "--reason", "x", code=2)
    assert "line 1 cannot be reverted: expected.maker of a was edited since" in said
    assert "the ledger has no line 9: it has 3" in invoke("truth", "revert", "makers", 9, "--reason", "x", code=2)
    invoke("truth", "revert", "makers", 2, "--by", "cy", "--reason", "the letter is of another")
    assert {each.path for each in blame(load_suite(makers), "a")} == {"expected.maker", "expected.also"}


def test_a_line_that_keeps_digests_alone_cannot_be_reverted(makers):
    invoke("run", "makers")
    (makers / "cases.yaml").write_text(FILES["cases.yaml"].replace("maker: Kohn", "maker: Thonet"))
    invoke("truth", "note", "makers", "--reason", "by hand", "--by", "ann")
    assert "it does not keep what was edited" in invoke("truth", "revert", "makers", 1, "--reason", "x", code=2)
    assert [(each.number, each.as_recorded) for each in blame(load_suite(makers), "a")] == [(1, True)] * 2
    (makers / "cases.yaml").write_text(FILES["cases.yaml"])
    assert invoke("truth", "diff", "makers").startswith("a expected\n  + ")


def test_a_case_is_added_by_its_values_and_a_mistake_is_told(makers):
    words = ("truth", "add", "makers", "c", "--set", "input.text=a bowl", "--reason", "a gap", "--by", "ann")
    assert "added    c" in invoke(*words, "--set", "expected.maker=Meissen", "--set", "expected.also=[]")
    added = next(case for case in load_suite(makers).cases if case.id == "c")
    assert (added.input, added.expected) == ({"text": "a bowl"}, {"maker": "Meissen", "also": []})
    assert "there is a case 'c' already, at cases.yaml:11" in invoke(*words, code=2)
    assert "did you mean a?" in invoke("truth", "retire", "makers", "A", "--reason", "x", code=2)
    assert (
        "is no PATH=VALUE"
        in steelyard("truth", "edit", "makers", "a", "--set", "x", "--reason", "y", cwd=makers).stderr
    )


def test_what_was_edited_since_it_was_added_is_not_taken_away_with_it(makers):
    invoke("truth", "add", "makers", "c", "--set", "expected.maker=Meissen", "--reason", "a gap")
    invoke("truth", "edit", "makers", "c", "--set", "expected.maker=Spode", "--reason", "the mark")
    assert "line 1 cannot be reverted: c was edited since" in invoke(
        "truth", "revert", "makers", 1, "--reason", "x", code=2
    )
    invoke("truth", "revert", "makers", 2, "--reason", "no mark")
    invoke("truth", "revert", "makers", 1, "--reason", "no gap")
    assert (makers / "cases.yaml").read_text() == FILES["cases.yaml"]


def test_blame_says_who_retired_a_case(makers):
    invoke("run", "makers")
    invoke("truth", "edit", "makers", "b", "--set", "expected.maker=Spode", "--by", "ann", "--reason", "the mark")
    invoke("truth", "retire", "makers", "b", "--by", "bob", "--reason", "it was sold")
    assert invoke("truth", "blame", "makers", "b").startswith("b is retired\n    #2 it was sold (bob, 20")
    (row,) = json.loads(invoke("truth", "blame", "makers", "b", "--json"))
    assert (row["path"], row["value"], row["number"], row["line"]["by"]) == ("", None, 2, "bob")
    assert "there is no case 'z'" in invoke("truth", "blame", "makers", "z", code=2)
    invoke("truth", "revert", "makers", 2, "--reason", "it was not")
    assert invoke("truth", "blame", "makers", "b").splitlines()[1].startswith("    #3 it was not")
    # Taken away by hand it is known as soon as somebody says why.
    (makers / "cases.yaml").write_text("- {id: b, input: r, expected: {maker: Spode, also: [x]}}\n")
    assert "there is no case 'a'" in invoke("truth", "blame", "makers", "a", code=2)
    invoke("truth", "note", "makers", "--case", "a", "--by", "cy", "--reason", "sold, too")
    assert invoke("truth", "blame", "makers", "a").startswith("a is retired\n    #4 sold, too (cy, 20")


def test_what_json_may_have_and_yaml_may_not_stands_where_it_stood():
    text = '{"a":\t{"id": "a", "\\ud83d\\ude00": "\\/ \\\\ud83d \x7f\x85", "n":1},\n"b":{"n":2}}'
    old = json.loads(text)
    done = with_record(text, ".json", "", 0, old["a"] | {"n": 3})
    assert done == text.replace('"n":1', '"n":3')
    assert json.loads(with_record(text, ".json", "", 2, {"id": "c", "n": 4}, "c")) == old | {"c": {"n": 4}}
    assert json.loads(with_record(text, ".json", "", 0, MISSING)) == {"b": {"n": 2}}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab:#-é\"\\ '012,[]{}\n", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORD = st.dictionaries(st.sampled_from(["k", "l", "m"]), PLAIN, min_size=1, max_size=3)


@given(old=st.lists(RECORD, min_size=2, max_size=3), new=RECORD, indent=st.sampled_from([None, 1, 2]))
@settings(max_examples=150, deadline=None)
def test_any_record_becomes_any_other_and_the_others_stay(old, new, indent):
    text = json.dumps(old, indent=indent, ensure_ascii=False)
    for suffix, read in ((".json", json.loads), (".yaml", lambda given: read_yaml(given, "f").data)):
        done = with_record(text, suffix, "", 1, new)
        assert canonical(read(done)) == canonical([old[0], new, *old[2:]])
        assert canonical(read(with_record(text, suffix, "", 0, MISSING))) == canonical(old[1:])
        assert canonical(read(with_record(text, suffix, "", len(old), new))) == canonical([*old, new])
    block = read_yaml(started := with_record("- {}\n", ".yaml", "", 1, new), "f").data
    assert canonical(block) == canonical([{}, new])
    assert canonical(read_yaml(with_record(started, ".yaml", "", 1, old[0]), "f").data[1]) == canonical(old[0])
