"""The GitHub Action, its steps run as a runner would in a scratch checkout."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from parts.command import steelyard
from parts.github_runner import run_action
from parts.small_suite import write_suite

ROOT = Path(__file__).parents[2]
RIGHT = "def answer(case):\n    return {'word': 'word %d' % case.input['number']}\n"
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
SILENT = "def answer(case):\n    raise OSError('gone')\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A snapshot of a run in which every case passed."""
    folder = tmp_path_factory.mktemp("before")
    write_suite(folder / "evals/words", n=30)
    done = steelyard("run", "evals/words", "--save", "release.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "release.json").read_bytes()


@pytest.fixture
def checkout(tmp_path, base):
    """A repository with a suite, a system that is right and the snapshot."""
    folder = tmp_path / "repository"
    write_suite(folder / "evals/words", n=30)
    (folder / "evals/release.json").write_bytes(base)
    return folder


def weigh(checkout, **inputs):
    """The action's last step, with the interpreter of the tests."""
    given = {"suite": "evals/words", "install": "false", "python": sys.executable} | {
        name.replace("_", "-"): value for name, value in inputs.items()
    }
    return run_action(ROOT, checkout, given)


def test_a_run_that_passes_ends_with_0_and_its_summary_says_how_it_compares(checkout):
    done = weigh(checkout, baseline="evals/release.json", markdown="comment.md", junit="junit.xml", html="report.html")
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
    assert "<html" in (checkout / "report.html").read_text()
    assert [(each.level, each.place) for each in done.shown] == [("notice", "evals/words/suite.yaml:")]


def test_a_run_that_fails_is_annotated_at_its_cases_and_nothing_in_its_answers_is_obeyed(checkout):
    (checkout / "evals/words/system.py").write_text(HOSTILE)
    done = weigh(checkout, baseline="evals/release.json", markdown="comment.md")
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


def test_nothing_foreign_is_rendered_in_the_comment(checkout):
    (checkout / "evals/words/system.py").write_text(HOSTILE)
    cases = checkout / "evals/words/cases.jsonl"
    lines = [json.loads(line) for line in cases.read_text().splitlines()]
    lines[12]["id"] = "c12 ::error title=pwned::%0A@team | <img src=x> ##[error]pwned"
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = weigh(checkout, markdown="comment.md")
    assert done.code == 1, done.stderr
    text = (checkout / "comment.md").read_text()
    assert not any(told in text for told in ("<b>@", "<img", "@team", "##[", "::error"))
    assert text.splitlines()[0] == "<!-- steelyard evals-words -->"
    named = [each for each in done.shown if "c12 " in each.properties["title"]]
    assert [each.place for each in named] == ["evals/words/cases.jsonl:13"]
    assert "::error title=pwned::%0A@team | <img src=x>" in named[0].properties["title"]


def test_a_run_that_cannot_tell_ends_with_4(checkout):
    write_suite(checkout / "evals/words", n=30, gates=["pass_rate >= 90 % with n >= 100"])
    done = weigh(checkout)
    assert (done.code, done.outputs["verdict"], done.outputs["exit-code"]) == (4, "AMBIGUOUS", "4")
    assert [each.level for each in done.shown] == ["error"]


def test_an_invalid_run_ends_with_3_whatever_the_job_fails_on(checkout):
    (checkout / "evals/words/system.py").write_text(SILENT)
    done = weigh(checkout, fail_on="invalid", options="--retries 0\n--limit 4\n", baseline="evals/release.json")
    assert (done.code, done.outputs["verdict"]) == (3, "INVALID"), done.stderr
    assert [each.level for each in done.shown] == ["error"] * 5
    assert done.shown[1].properties["title"] == "words: c0: inconclusive"
    assert "gone" in done.shown[1].message


def test_a_broken_suite_ends_with_2_and_its_mistakes_are_annotated(checkout):
    suite = checkout / "evals/words/suite.yaml"
    text = suite.read_text()
    suite.write_text(text.replace("gates:", "gaits:"))
    line = 1 + suite.read_text().splitlines().index("gaits:")
    done = weigh(checkout, markdown="comment.md")
    assert (done.code, done.outputs) == (2, {"verdict": "", "exit-code": "2"})
    assert [(each.level, each.place) for each in done.shown] == [("error", f"evals/words/suite.yaml:{line}")]
    assert "nothing was weighed" in done.summary
    assert "gaits" in (checkout / "comment.md").read_text()
    assert (checkout / "comment.md").read_text().splitlines()[0] == "<!-- steelyard evals-words -->"


def test_options_are_words_and_never_run(checkout):
    done = weigh(
        checkout,
        working_directory="evals",
        suite="words",
        options="--limit 3\n\n  --only category=$(touch pwned) `id` *\n",
        store="runs.db",
    )
    assert done.code == 2
    assert "category=$(touch pwned) `id` *" in done.stderr
    assert not list(checkout.rglob("pwned"))


def test_the_install_step_installs_the_version_that_the_action_came_with(checkout):
    python = checkout / "python.sh"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> asked.txt\n')
    python.chmod(0o755)
    inputs = {"suite": "evals/words", "python": str(python), "extras": "postgres,parquet", "baseline": "my *.json"}
    assert run_action(ROOT, checkout, inputs).code == 0
    asked = (checkout / "asked.txt").read_text().splitlines()
    assert asked[:5] == ["-m", "pip", "install", "--quiet", f"{ROOT}[postgres,parquet]"]
    assert asked[5:] == ["-m", "steelyard", "ci", "--against=my *.json", "--fail-on=ambiguous", "--", "evals/words"]


def test_the_example_workflow_gives_only_inputs_that_there_are():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())
    steps = workflow["jobs"]["weigh"]["steps"]
    given = next(step["with"] for step in steps if step.get("uses") == "./tools/steelyard")
    assert set(given) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= set(given)
