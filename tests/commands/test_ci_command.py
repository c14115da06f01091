"""`steelyard ci` in any CI: one command that runs, compares, gates and writes files."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter

import pytest
from click.testing import CliRunner

from parts.command import invoke, outputs
from parts.command import steelyard as in_a_process
from parts.github_runner import OUTPUT, obeyed
from parts.small_suite import write_suite
from steelyard.cli import steelyard
from steelyard.commands.ci_command import ci_command as ci
from steelyard.commands.run_command import run_command as run

SYSTEM = """
import json, pathlib
from steelyard.errors import TargetFailure

def answer(case):
    said = pathlib.Path(__file__).with_name("said.txt").read_text()
    if said == "FAILS":
        raise TargetFailure("refused", "gone", retry=False)
    return {"word": said % case.input["number"]}
"""

WRONG_ABOUT = """
from pathlib import Path

def answer(case):
    wrong = Path(__file__).with_name('wrong.txt').read_text().split()
    return {'word': 'no' if case.id in wrong else 'word %d' % case.input['number']}
"""


def write_words(folder, **more):
    write_suite(folder / "words", n=12, **more)
    (folder / "words/system.py").write_text(SYSTEM)


def says(folder, text):
    """From now on the system answers every case so."""
    (folder / "words/said.txt").write_text(text)


@pytest.fixture
def job(folder, monkeypatch):
    """The folder as the checkout of a GitHub job; its files are step and outputs."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(name, str(folder / name))
    return folder


def given(job):
    """The outputs of the step."""
    found = OUTPUT.finditer((job / "GITHUB_OUTPUT").read_text())
    return {each["name"]: each["value"] for each in found}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a suite of twelve cases that all pass, outside of GitHub."""
    write_words(tmp_path)
    says(tmp_path, "word %d")
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_outside_of_github_there_are_files_and_an_exit_code_and_no_commands(folder):
    report, said = outputs("ci", "words", "--junit", "j.xml", "--markdown", "c.md", "--html", "r.html")
    assert "::" not in said
    assert "written: j.xml\nwritten: c.md\nwritten: r.html\n" in report
    assert all((folder / name).stat().st_size for name in ("j.xml", "c.md", "r.html"))


@pytest.mark.parametrize(
    ("words", "n_pages"),
    [
        (["run", "words"], 0),
        (["run", "words", "--json"], 0),
        (["ci", "words", "--junit", "j.xml", "--markdown", "c.md", "--html", "r.html"], 1),
    ],
)
def test_a_run_is_summed_up_decided_and_drawn_once_for_terminal_files_and_store(folder, words, n_pages, monkeypatch):
    counts = Counter()
    for place in ("analysis.summary:summarise", "decide.verdict:decide", "report.render.html:to_html"):
        module_name, name = place.split(":")
        original = getattr(importlib.import_module(f"steelyard.{module_name}"), name)

        def counted(*args, original=original, name=name, **more):
            counts[name] += 1
            return original(*args, **more)

        # Wherever it was imported to already.
        for module in list(sys.modules.values()):
            if module.__name__.startswith("steelyard") and vars(module).get(name) is original:
                monkeypatch.setattr(module, name, counted)
    result = CliRunner().invoke(steelyard, words)
    assert result.exit_code == 0, result.output
    assert counts == Counter(summarise=1, decide=1, **({"to_html": n_pages} if n_pages else {}))


def test_a_suite_that_could_never_fail_is_refused_before_anything_is_run(folder):
    write_words(folder, gates=[])
    assert "this step could never fail: declare `gates`" in invoke("ci", "words", code=2)
    assert not (folder / ".steelyard").exists()
    invoke("ci", "words", "--fail-on", "invalid")


def test_a_milder_verdict_than_the_job_fails_on_ends_with_0(folder):
    write_words(folder, gates=["pass_rate >= 90 % with n >= 100"])
    assert json.loads(invoke("ci", "words", "--json", code=4))["verdict"] == "AMBIGUOUS"
    report = json.loads(invoke("ci", "words", "--json", "--fail-on", "fail"))
    assert (report["verdict"], report["exit_code"]) == ("AMBIGUOUS", 0)
    write_words(folder, gates=["average <= 10 %"])
    invoke("ci", "words", "--fail-on", "fail", code=1)
    invoke("ci", "words", "--fail-on", "invalid")


def test_a_file_that_cannot_be_written_is_known_before_anything_is_run(folder):
    assert "there is no folder nowhere" in invoke("ci", "words", "--junit", "nowhere/j.xml", code=2)
    assert not (folder / ".steelyard").exists()


@pytest.fixture
def released(folder):
    """The folder with its run saved as release.json and not in the store that is used after."""
    invoke("ci", "words", "--save", "release.json", "--store", "before.db")
    return folder


def test_a_snapshot_file_is_held_against_and_not_put_into_the_store(released):
    says(released, "no word %d")
    for command in ("ci", "run"):
        told = " ".join(invoke(command, "words", "--against", "release.json", code=1).split())
        assert "pass_rate >= @release: 100.0 % -> 0.0 %" in told
        assert "Against release (A, run words-" in told
    assert len(json.loads(invoke("runs", "--json"))) == 2
    gated = json.loads(invoke("gate", "LAST", "--against", "release.json", "--json", code=1))
    assert gated["against"]["headline"]["verdict"] == "worse"


def test_gates_on_a_baseline_are_held_against_the_file_of_its_name(released):
    write_words(released, gates=["category.*.pass_rate >= release - 3 points"])
    report = json.loads(invoke("ci", "words", "--against", "release.json", "--json"))
    # Two categories, and the pass rate of all that --against asks for by itself.
    assert [gate["verdict"] for gate in report["gates"]] == ["PASS"] * 3
    assert report["exit_code"] == 0


def test_a_snapshot_of_another_suite_is_refused(released):
    write_suite(released / "verbs", n=12, name="verbs")
    assert "holds a run of suite words, not of verbs" in invoke("ci", "verbs", "--against", "release.json", code=2)
    assert "there is no snapshot at none.json" in invoke("ci", "words", "--against", "none.json", code=2)


def test_the_comment_says_how_much_of_a_change_is_truth_edits(released):
    cases = released / "words/cases.jsonl"
    lines = [json.loads(line) for line in cases.read_text().splitlines()]
    for line in lines[:3]:
        line["expected"]["word"] = "another word"
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines))
    invoke("ci", "words", "--against", "release.json", "--markdown", "c.md", "--fail-on", "invalid")
    # 3 of 12 cases fail by their new truth: 25 points, and the system answers as it did.
    comment = (released / "c.md").read_text()
    assert "**Why** &#8203;-25.0 points; of these -25.0 truth edits, 0.0 system" in comment
    assert "words/cases.jsonl:&#8203;1 |" in comment
    for against in (("run", "words"), ("gate", "LAST")):
        told = " ".join(invoke(*against, "--against", "release.json", code=1).split())
        assert "-25.0 points; of these -25.0 truth edits, 0.0 system" in told


def test_the_comment_names_a_slice_that_is_worse_beyond_noise(folder):
    write_suite(folder / "words", n=16)
    (folder / "words/system.py").write_text(WRONG_ABOUT)
    (folder / "words/wrong.txt").write_text("")
    invoke("ci", "words", "--save", "release.json")
    (folder / "words/wrong.txt").write_text(" ".join(f"c{number}" for number in range(1, 16, 2)))
    invoke("ci", "words", "--against", "release.json", "--markdown", "c.md", code=1)
    head = (folder / "c.md").read_text().partition("**Gates**")[0]
    # All 8 of 8 odd ones broke: 2 in 2^8 by the sign test, twice that as one of two categories.
    assert "- worse in category odd: pass rate 100.0 % -&#62; 0.0 %" in head
    assert "p 0.016)" in head
    assert "category even" not in head


def test_cases_that_passed_in_the_baseline_come_first(folder):
    (folder / "words/system.py").write_text(WRONG_ABOUT)
    (folder / "words/wrong.txt").write_text("c0 c1")
    invoke("ci", "words", "--save", "release.json", code=1)
    (folder / "words/wrong.txt").write_text("c0 c1 c11")
    invoke("ci", "words", "--against", "release.json", "--markdown", "c.md", code=1)
    table = (folder / "c.md").read_text().partition("Cases that did not pass")[2].partition("<details>")[0]
    rows = [line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| c")]
    assert rows == [["| c11", "failed, passed in release"], ["| c0", "failed"], ["| c1", "failed"]]


def test_a_comment_fits_however_long_the_answers_are(released):
    # Every sign of the answers is written as six in Markdown.
    says(released, "<" * 50_000 + "%d")
    invoke("ci", "words", "--against", "release.json", "--markdown", "c.md", code=1)
    comment = (released / "c.md").read_text()
    assert len(comment) < 65_536
    assert "everything that changed" in comment
    assert "<summary>The whole report</summary>" in comment


def test_json_stays_json_in_a_github_job_and_holds_no_command(folder):
    says(folder, "no word ##[error] %d")
    printed, said = outputs("ci", "words", "--json", "--github", code=1)
    report = json.loads(printed)
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 1)
    assert "##[" not in printed
    assert "no word ##[error] 1" in json.dumps(report)
    # Without GITHUB_WORKSPACE the working folder is the repository.
    assert "::error file=words/cases.jsonl,line=1,title=words%3A c0%3A failed::" in said


def test_a_run_that_cannot_tell_ends_with_4(job):
    write_words(job, gates=["pass_rate >= 90 % with n >= 100"])
    _, said = outputs("ci", "words", code=4)
    assert (given(job)["verdict"], given(job)["exit-code"]) == ("AMBIGUOUS", "4")
    assert [each.level for each in obeyed(said)] == ["error"]


def test_an_invalid_run_ends_with_3_whatever_the_job_fails_on(job, released):
    says(job, "FAILS")
    options = ("--fail-on", "invalid", "--retries", 0, "--limit", 4, "--against", "release.json")
    _, said = outputs("ci", "words", *options, code=3)
    assert given(job)["verdict"] == "INVALID"
    shown = obeyed(said)
    assert [each.level for each in shown] == ["error"] * 5
    assert shown[1].properties["title"] == "words: c0: inconclusive"
    assert "gone" in shown[1].message


def test_a_broken_suite_ends_with_2_and_its_mistakes_are_annotated(job):
    suite = job / "words/suite.yaml"
    suite.write_text(suite.read_text().replace("gates:", "gaits:"))
    line = 1 + suite.read_text().splitlines().index("gaits:")
    _, said = outputs("ci", "words", "--markdown", "comment.md", code=2)
    assert given(job) == {"verdict": "", "exit-code": "2"}
    assert [(each.level, each.place) for each in obeyed(said)] == [("error", f"words/suite.yaml:{line}")]
    assert "nothing was scored" in (job / "GITHUB_STEP_SUMMARY").read_text()
    assert "gaits" in (job / "comment.md").read_text()
    assert (job / "comment.md").read_text().splitlines()[0] == "<!-- steelyard words -->"


def test_alerts_come_after_the_comment_and_once_for_each_cause(job):
    write_words(job, alerts={"rules": ["gate_failed"], "channels": ["github"]})
    says(job, "no word %d")
    _, said = outputs("ci", "words", code=1)
    title = "words: the gate pass_rate >= 90 % fails"
    assert obeyed(said)[-1].properties["title"] == title
    summary = (job / "GITHUB_STEP_SUMMARY").read_text()
    assert summary.index("words: FAIL") < summary.index("### Alerts of words")
    _, said = outputs("ci", "words", code=1)
    assert title not in [each.properties["title"] for each in obeyed(said)]
    says(job, "word %d")
    _, said = outputs("ci", "words")
    assert obeyed(said)[-1].properties["title"] == "words: RECOVERED: the gate pass_rate >= 90 % holds"
    says(job, "no word %d")
    _, said = outputs("ci", "words", "--no-alerts", code=1)
    assert title not in [each.properties["title"] for each in obeyed(said)]


def test_a_job_whose_summary_cannot_be_written_keeps_its_verdict(job, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/s")
    monkeypatch.setenv("GITHUB_OUTPUT", "nowhere/o")
    _, said = outputs("ci", "words")
    assert "note: the step summary could not be written" in said
    assert "note: the outputs of the step could not be written" in said


def test_mistakes_of_cases_are_annotated_ten_at_most(folder):
    cases = folder / "words/cases.jsonl"
    cases.write_text("".join(json.dumps({"id": "", "input": n}) + "\n" for n in range(14)))
    _, said = outputs("ci", "words", "--github", code=2)
    annotated = [line for line in said.splitlines() if line.startswith("::error")]
    assert len(annotated) == 10
    assert annotated[1].startswith("::error file=words/cases.jsonl,line=2,")
    assert annotated[-1] == "::error title=steelyard%3A nothing was scored::5 more mistakes"


def test_ci_takes_every_option_of_a_run_that_is_made(folder):
    report = json.loads(invoke("ci", "words", "--only", "category=odd", "-n", 2, "--concurrency", 1, "--json"))
    # 6 of the 12 cases are odd, each asked twice.
    assert (report["run"]["n_planned"], report["repeats"]) == (12, 2)
    # An estimate makes no run, and a run of pending cases has no verdict.
    assert {option.name for option in run.params} - {"estimate", "pending"} < {option.name for option in ci.params}


def test_the_comment_names_a_category_that_dropped_although_so_few_cases_cannot_show_it(folder):
    write_suite(folder / "words", n=6)
    (folder / "words/system.py").write_text(WRONG_ABOUT)
    (folder / "words/wrong.txt").write_text("")
    invoke("ci", "words", "--save", "release.json")
    (folder / "words/wrong.txt").write_text("c1 c3 c5")
    invoke("ci", "words", "--against", "release.json", "--markdown", "c.md", code=1)
    head = (folder / "c.md").read_text().partition("**Gates**")[0]
    # All 3 of 3 odd ones broke: p is 2 in 2^3 = 0.25 at best, whatever the system.
    assert "- dropped in category odd, not significant: pass rate 100.0 % -&#62; 0.0 %" in head
    assert "category even" not in head


def test_verbose_prints_a_line_per_item_and_goes_with_no_quiet(folder):
    write_suite(folder / "words", n=4)
    (folder / "words/system.py").write_text(WRONG_ABOUT)
    (folder / "words/wrong.txt").write_text("c2")
    done = in_a_process("ci", "words", "--verbose", "--concurrency", "1", cwd=folder)
    lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert lines == ["[1/4] c0 100 %", "[2/4] c1 100 %", "[3/4] c2 0 %, not passed", "[4/4] c3 100 %"]
    assert "give one of them" in invoke("run", "words", "--quiet", "--verbose", code=2)
