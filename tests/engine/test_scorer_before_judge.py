"""A scorer that fails in a suite with a model as judge: seen before a call where it can be, and never a dead end."""

import json

import pytest

from parts.command import steelyard as run_steelyard
from parts.judge_server import judge_server

SUITE = """
suite: letters
cases: cases.jsonl
target: {{python: "scoring_of_letters:answer"}}
answer: {{format: text}}
findings: {{SHORT: {{about: too short}}, FORMAT: {{}}}}
score:
  length: {{python: "scoring_of_letters:length", weight: 0{measures}}}
judge:
  rubric: {{scale: [1, 5], neutral: 3, dimensions: {{tone: {{about: how kind}}}}}}
  by: model
  judges: {{model: {{chat: {{base_url: "{url}", model: m-1}}}}}}
pass: score >= 50 %
gates: [pass_rate >= 80 %]
"""
CODE = """
def answer(case):
    return "Dear " + case.input["name"]


def named(what):
    return {{"code": "{literal}", "evidence": what}}


def length(answer, case):
    return {returned}
"""
GOOD = '{"score": 0.5, "findings": [named("short")]}'


@pytest.fixture
def written(tmp_path):
    def write(server, literal="SHORT", returned=GOOD, measures="", suite=SUITE):
        folder = tmp_path / "letters"
        folder.mkdir(exist_ok=True)
        (folder / "suite.yaml").write_text(suite.format(url=server.base_url, measures=measures))
        (folder / "scoring_of_letters.py").write_text(CODE.format(literal=literal, returned=returned))
        cases = [{"id": name, "input": {"name": name}} for name in ("Ann", "Bo", "Cy", "Di")]
        (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
        return lambda *command: run_steelyard(*command, "--store", "runs.db", cwd=tmp_path)

    return write


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"literal": "SHRT"},
            "scoring_of_letters.py:7 names the finding code 'SHRT', which the suite's findings do not list",
        ),
        ({"returned": 'Finding("LONG", gain=0.5)'}, "scoring_of_letters.py:11 names the finding code 'LONG'"),
        (
            {"returned": '{"score": 1, "warmth": 0.5}'},
            "scoring_of_letters.py:11 returns the measure 'warmth', which is not declared",
        ),
        (
            {"returned": '{"score": 1}', "measures": ", measures: [warmth]"},
            "scoring_of_letters.py:11 returns a dict without the declared measure 'warmth'",
        ),
    ],
)
def test_undeclared_codes_and_measures_that_the_source_shows_are_reported_before_a_call(written, changes, message):
    with judge_server({"tone": 4}) as server:
        ran = written(server, **changes)("run", "letters")
        assert (ran.returncode, server.requests) == (2, [])
    assert message in ran.stderr


def test_the_next_command_after_a_scorer_failed_calls_the_judge_that_was_not_called(written):
    """The code is computed, so that no source shows it. Its Next ended INVALID again, as the judge had no calls."""
    computed = '{"score": 0.5, "findings": [{"code": "SH" + "RT"}]}'
    with judge_server({"tone": 4}, {"tone": 5}) as server:
        command = written(server, returned=computed)
        ran = command("run", "letters")
        assert (ran.returncode, server.requests) == (3, [])
        following = ran.stdout.splitlines()[-1]
        assert following.startswith("Next: fix the scorer, then steelyard rescore letters-")
        assert following.endswith(" --judge-again")
        command = written(server)
        # A rescore without calls has nothing to read, and says how to go on.
        rescored = command("rescore", "LAST", "--suite", "letters")
        assert rescored.returncode == 3
        assert rescored.stdout.splitlines()[-1].endswith(" --judge-again")
        words = following.partition("steelyard ")[2].split()
        again = command(*words, "--yes")
        assert (again.returncode, len(server.requests)) == (0, 4), again.stdout + again.stderr


def test_a_run_is_not_rescored_by_another_suite(written, tmp_path):
    with judge_server({"tone": 4}) as server:
        command = written(server)
        assert command("run", "letters").returncode in (0, 4)
        other = tmp_path / "other"
        (tmp_path / "letters").rename(other)
        (other / "suite.yaml").write_text((other / "suite.yaml").read_text().replace("suite: letters", "suite: notes"))
        for more in ((), ("--judge-again", "--yes")):
            ran = command("rescore", "LAST", "--suite", "other", *more)
            assert ran.returncode == 2
            assert "answers the suite letters, and the suite at" in ran.stderr
