"""The GitHub Action, its steps run as a runner would in a scratch checkout."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from parts.command import invoke
from parts.github_runner import run_action
from parts.small_suite import write_suite
from parts.transcript import blocks

ROOT = Path(__file__).parents[2]
# Wrong from the tenth case on; what it answers and prints is meant for the runner.
HOSTILE = """
import sys

SAID = "\\n::error file=a,line=1,title=pwned::pwned\\n##[error]pwned\\n::stop-commands::x </details><b>@team</b> | a |"

def answer(case):
    number = case.input["number"]
    print("::error::pwned by print")
    print("::warning::pwned by stderr", file=sys.stderr, end="")
    return {"word": "word %d" % number if number < 10 else SAID}
"""


EVIL = "c12 ::error title=pwned::%0A@team | <img src=x> ##[error]pwned"


def repository(folder):
    """A repository with a suite and a system that is right; the name of one case is meant for the runner, too."""
    write_suite(folder / "evals/words", n=30)
    cases = folder / "evals/words/cases.jsonl"
    cases.write_text(cases.read_text().replace('"c12"', json.dumps(EVIL)))
    (folder / "click.py").write_text("raise SystemExit('a module of the repository in the place of ours')")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A snapshot of a run in which every case passed."""
    folder = repository(tmp_path_factory.mktemp("before"))
    store = str(folder / "before.db")
    invoke("run", folder / "evals/words", "--save", folder / "release.json", "--store", store)
    return (folder / "release.json").read_bytes()


@pytest.fixture
def checkout(tmp_path, base):
    """The repository with the snapshot."""
    folder = repository(tmp_path / "repository")
    (folder / "evals/release.json").write_bytes(base)
    return folder


@pytest.fixture(scope="module")
def failed(tmp_path_factory, base):
    """A checkout whose change breaks 20 of 30 cases, and what became of its job."""
    folder = repository(tmp_path_factory.mktemp("change") / "repository")
    (folder / "evals/release.json").write_bytes(base)
    (folder / "evals/words/system.py").write_text(HOSTILE)
    return folder, evaluate(folder, baseline="evals/release.json", markdown="comment.md", junit="junit.xml")


def evaluate(checkout, **inputs):
    """The action's last step, with the interpreter of the tests."""
    given = {"suite": "evals/words", "install": "false", "python": sys.executable} | {
        name.replace("_", "-"): value for name, value in inputs.items()
    }
    return run_action(ROOT, checkout, given)


def test_the_step_of_the_page_on_ci_works_as_written(tmp_path, monkeypatch):
    page = (ROOT / "docs/ci.md").read_text()
    for block in blocks(page):
        if block.file and block.language != "diff":
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    invoke("ci", "evals/parity", "--save", "evals/release.json")
    (step,) = [
        step
        for block in blocks(page)
        if block.text.startswith("steps:")
        for step in yaml.safe_load(block.text)["steps"]
    ]
    done = run_action(ROOT, tmp_path, step["with"] | {"install": "false", "python": sys.executable})
    assert done.code == 0, done.stderr
    assert done.outputs["verdict"] == "PASS"
    assert "--max-cost 2" in step["with"]["options"]
    assert (
        "the spending limit of 2 does not count calls of the python target whose answers state no cost" in done.stderr
    )


def test_a_run_that_passes_ends_with_0_and_its_summary_says_how_it_compares(checkout):
    done = evaluate(checkout, baseline="evals/release.json", markdown="comment.md", junit="junit.xml")
    assert done.code == 0, done.stderr
    assert {name: done.outputs[name] for name in ("verdict", "exit-code", "moved")} == {
        "verdict": "PASS",
        "exit-code": "0",
        "moved": "same",
    }
    assert done.outputs["why"] == "0.0 points, none of it the system's"
    assert "### ✅ words: PASS" in done.summary
    assert "**Against release (A; this run is B): SAME**" in done.summary
    assert (checkout / "comment.md").read_text().strip() == done.summary.strip()
    assert ElementTree.parse(checkout / "junit.xml").getroot().get("failures") == "0"
    assert [(each.level, each.place) for each in done.shown] == [("notice", "evals/words/suite.yaml:")]


def test_a_run_that_fails_is_annotated_at_its_cases_and_nothing_in_its_answers_is_obeyed(failed):
    checkout, done = failed
    assert done.code == 1, done.stderr
    assert (done.outputs["verdict"], done.outputs["exit-code"], done.outputs["moved"]) == ("FAIL", "1", "worse")
    # 20 of 30 cases broke: -66.7 points, and nothing but the system changed.
    assert done.outputs["why"] == "-66.7 points, all of it the system's"
    verdict, *cases = done.shown
    assert (verdict.level, verdict.place) == ("error", "evals/words/suite.yaml:")
    assert "-66.7 points, all of it the system's" in verdict.message
    assert "20 cases did not pass; 11 of them are not shown here" in verdict.message
    # Case c10 is the eleventh line of the file. Ten errors are shown a step, one of them is the verdict.
    assert [each.place for each in cases] == [f"evals/words/cases.jsonl:{line}" for line in range(11, 20)]
    assert cases[0].properties["title"] == "words: c10: passed in release, failed now"
    assert "expected word 10, got ::error file=a,line=1,title=pwned::pwned ##[error]pwned" in cases[0].message
    assert "pwned by print" in done.stderr
    assert "pwned" in done.stdout
    # 20 cases, the suite's gate, the one on the baseline, and the verdict.
    assert ElementTree.parse(checkout / "junit.xml").getroot().get("failures") == "23"


def test_nothing_foreign_is_rendered_in_the_comment(failed):
    checkout, done = failed
    text = (checkout / "comment.md").read_text()
    assert not any(told in text for told in ("<b>@", "<img", "@team", "##[", "::error"))
    assert text.splitlines()[0] == "<!-- steelyard evals-words -->"
    assert "**Why** &#8203;-66.7 points, all of it the system's" in text
    assert text.strip() == done.summary.strip()
    named = [each for each in done.shown if "c12 " in each.properties["title"]]
    assert [each.place for each in named] == ["evals/words/cases.jsonl:13"]
    assert "::error title=pwned::%0A@team | <img src=x>" in named[0].properties["title"]


@pytest.fixture
def python(checkout):
    """In the place of Python, a program that notes what it is asked for."""
    found = checkout / "python.sh"
    found.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" >> "{checkout}/asked.txt"\n')
    found.chmod(0o755)
    return str(found)


def test_options_are_words_and_never_run(checkout, python):
    options = "--limit 3\n\n  --only category=$(touch pwned) `id` *\n--cache\n"
    done = evaluate(checkout, working_directory="evals", suite="words", options=options, store="runs.db", python=python)
    assert done.code == 0
    where, *asked = (checkout / "asked.txt").read_text().splitlines()
    assert where == str(checkout / "evals")
    assert asked == [
        *("-P", "-m", "steelyard", "ci", "--store=runs.db", "--fail-on=ambiguous"),
        *("--limit", "3", "--only", "category=$(touch pwned) `id` *", "--cache", "--", "words"),
    ]
    assert not list(checkout.rglob("pwned"))


def test_the_install_step_installs_the_version_that_the_action_came_with(checkout, python):
    names = ("target", "model", "base-url", "store", "markdown", "junit", "html", "save")
    inputs = {"suite": "evals/words", "python": python, "extras": "postgres,parquet", "baseline": "my *.json"}
    inputs |= {name: f"a {name}" for name in names}
    assert run_action(ROOT, checkout, inputs).code == 0
    asked = [line for line in (checkout / "asked.txt").read_text().splitlines() if line != str(checkout)]
    assert asked[:6] == ["-P", "-m", "pip", "install", "--quiet", f"{ROOT}[postgres,parquet]"]
    assert asked[6:] == [
        *("-P", "-m", "steelyard", "ci"),
        *("--target=a target", "--model=a model", "--base-url=a base-url", "--against=my *.json", "--store=a store"),
        *("--markdown=a markdown", "--junit=a junit", "--html=a html", "--save=a save", "--fail-on=ambiguous"),
        *("--", "evals/words"),
    ]


def test_the_example_workflow_gives_only_inputs_that_there_are():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())
    steps = workflow["jobs"]["score"]["steps"]
    given = next(step["with"] for step in steps if step.get("uses") == "./tools/steelyard")
    assert set(given) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= set(given)
