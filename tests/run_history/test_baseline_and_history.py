"""`steelyard baseline`, `history` and `--against` by the real command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parts.command import invoke, steelyard
from parts.small_suite import write_suite

# What it answers is in a file beside it: the module is imported once.
SYSTEM = """
from pathlib import Path
def answer(case):
    said = Path(__file__).with_name('said.txt').read_text()
    if not said:
        raise OSError('gone')
    return {'word': said % case.input['number']}
"""
RIGHT, WRONG, SILENT = "word %d", "no word %d", ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs, oldest first: right (the baseline `release`), none answered."""
    folder = tmp_path_factory.mktemp("baselines")
    write_suite(folder / "words", n=12, gates=[])
    (folder / "words" / "system.py").write_text(SYSTEM)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for said, code in ((RIGHT, 0), (SILENT, 3)):
            (folder / "words" / "said.txt").write_text(said)
            invoke("run", "words", "--retries", 0, code=code)
        invoke("baseline", "set", "LAST~1", "--name", "release", "--by", "ada", "--reason", "first")
    return folder


@pytest.fixture
def in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_an_invalid_run_is_refused_without_force_and_a_reason(in_folder):
    assert "it is INVALID: nothing was scored" in invoke("baseline", "set", "LAST", "--name", "odd", code=2)
    assert "requires --reason" in invoke("baseline", "set", "LAST", "--name", "odd", "--force", code=2)
    told = invoke("baseline", "set", "LAST", "--name", "odd", "--force", "--reason", "to see", "--by", "bob")
    assert "odd of words is now run words-" in told
    assert "although it is INVALID, suspect or partial" in told
    assert "FORCED   words/odd = words-" in invoke("baseline", "log")
    assert "by bob: to see" in invoke("baseline", "log", "odd")
    invoke("baseline", "remove", "odd", "--reason", "seen", "--by", "bob")
    assert [entry["removed"] for entry in json.loads(invoke("baseline", "log", "odd", "--json"))] == [True, False]
    assert [entry["name"] for entry in json.loads(invoke("baseline", "list", "--json"))] == ["release"]


def test_a_baseline_is_shown_with_its_run_and_who_locked_it(in_folder):
    text = " ".join(invoke("baseline", "show", "release").split())
    assert "release, baseline of words" in text
    assert "by ada" in text
    assert "Reason first" in text
    assert "Median 100.0 %" in text
    data = json.loads(invoke("baseline", "show", "@release", "--json"))
    assert (data["by"], data["average"]["value"], data["signature"]["suite"]) == ("ada", 1.0, "words")
    assert "no baseline 'relase': did you mean release?" in invoke("baseline", "show", "relase", code=2)


def test_a_baseline_is_a_run_wherever_one_is_named(in_folder):
    assert json.loads(invoke("report", "@release", "--json"))["figures"]["average"]["value"] == 1.0
    assert "no baseline 'nope'" in invoke("compare", "@nope", "LAST", code=2)


def test_a_run_against_a_baseline_that_does_not_exist_runs_nothing(in_folder):
    before = json.loads(invoke("runs", "--json"))
    assert "suite words has no baseline 'nope'" in invoke("run", "words", "--against", "nope", code=2)
    assert json.loads(invoke("runs", "--json")) == before


def test_the_exit_code_says_how_it_compares(in_folder):
    said = in_folder / "words" / "said.txt"
    said.write_text(WRONG)
    done = steelyard("run", "words", "--against", "release", cwd=in_folder)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr
    assert "pass_rate >= @release: 100.0 % -> 0.0 %" in text
    assert "Against release (A, run words-" in text
    assert "WORSE B is worse" in text
    data = json.loads(invoke("gate", "LAST", "--against", "release", "--json", code=1))
    assert (data["verdict"], data["against"]["verdict"]) == ("FAIL", "worse")
    (gate,) = data["gates"]
    assert gate["baseline"] == data["against"]["a"]["id"]
    said.write_text(RIGHT)
    assert json.loads(invoke("run", "words", "--against", "@release", "--json"))["against"]["verdict"] == "same"


@pytest.mark.parametrize("part", [("--limit", 5), ("--only", "id=c1")])
def test_a_run_of_a_part_is_no_baseline_unless_it_is_forced(part, in_folder):
    (in_folder / "words" / "said.txt").write_text(RIGHT)
    invoke("run", "words", *part)
    lock = ("baseline", "set", "LAST", "--name", "part")
    assert "it covers only a part of the suite" in invoke(*lock, code=2)
    assert "although it is INVALID, suspect or partial" in invoke(*lock, "--force", "--reason", "nothing else is there")
    invoke("run", "words", "--limit", 12)
    assert "although" not in invoke(*lock)
    invoke("baseline", "remove", "part", "--reason", "seen")


def test_the_verdict_of_a_part_says_so_wherever_it_stands(in_folder):
    (in_folder / "words" / "said.txt").write_text(RIGHT)
    assert "; partial: 5 of 12 cases" in invoke("run", "words", "--limit", 5)
    assert "; partial: 5 of 12 cases" in invoke("gate", "LAST", "--gate", "pass_rate >= 50 %")
    assert json.loads(invoke("gate", "LAST", "--gate", "pass_rate >= 50 %", "--json"))["partial"] is True
    assert ", partial" in invoke("runs").splitlines()[1]
    assert json.loads(invoke("runs", "--json"))[0]["partial"] is True
    invoke("report", "LAST", "--markdown", "part.md")
    assert Path("part.md").read_text().splitlines()[0].endswith("; partial: 5 of 12 cases")
    assert "partial" not in invoke("run", "words", "--limit", 12)


def test_a_gate_on_a_baseline_may_be_given_on_the_command_line(in_folder):
    gate = ("gate", "@release", "--gate")
    assert "average >= release - 3 points" in invoke(*gate, "average >= release - 3 points")
    assert "suite words has no baseline 'relase'" in invoke(*gate, "average >= relase - 3 points", code=2)
    assert "write 3 points" in invoke(*gate, "average >= release - 3", code=2)


def test_history_by_name_and_by_folder(in_folder, tmp_path):
    data = json.loads(invoke("history", "words", "--json"))
    assert [run["left_out"] for run in data["runs"]][:2] == ["", "INVALID"]
    assert json.loads(invoke("history", "words/suite.yaml", "--json")) == data
    page, text = tmp_path / "h.html", tmp_path / "h.md"
    told = invoke("history", "words", "--by", "category", "--html", page, "--markdown", text)
    assert (told.count("written: "), page.exists(), "even" in text.read_text()) == (2, True, True)
    assert "no runs of a suite 'nothing'" in invoke("history", "nothing", code=2)
    assert "cannot write" in invoke("history", "words", "--markdown", "no/such/place.md", code=2)
