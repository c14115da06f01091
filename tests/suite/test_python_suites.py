"""Suites written in Python are the same suites."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard
from steelyard import Case, Scorer, Suite, SuiteError, UsageError, scorers
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.scoring.base import Reading
from steelyard.suite.signature import signature

ROWS = [{"id": "a", "input": "hi", "expected": {"text": "Hello"}, "category": "x"}]


def greet(case: Case) -> str:
    return "Hello"


def test_the_same_suite_in_yaml_and_in_python_is_the_same(write):
    path = write(
        """suite: greetings
about: Say hello.
cases: {files: cases.json, map: {category: group}}
target: {recorded: answers.jsonl}
answer: {format: json}
score:
  text: {same: {expected: expected.text}, weight: 70, when_unknown: skip}
  name: {same: {expected: input}, code: WHO}
bands: {Good: 75 %, Bad: 0}
pass: score >= 75 %
gates: [pass_rate >= 90 %, category.x.average >= 0.5]
variants: {tone: [dry, warm]}
findings: {WHO: {about: Wrong name., severity: minor}}
repeats: 2
limits: {timeout: 5, max_inconclusive: 10 %}
""",
        files={"cases.json": [{"group": "x", **ROWS[0]}], "answers.jsonl": ""},
    )
    in_yaml = load_suite(path)
    in_python = Suite(
        "greetings",
        about="Say hello.",
        cases={"files": "cases.json", "map": {"category": "group"}},
        target={"recorded": "answers.jsonl"},
        answer={"format": "json"},
        score={
            "text": scorers.same(expected="expected.text", weight=70, when_unknown="skip"),
            "name": scorers.same(expected="input", code="WHO"),
        },
        bands={"Good": "75 %", "Bad": 0},
        passing="score >= 75 %",
        gates=["pass_rate >= 90 %", "category.x.average >= 0.5"],
        variants={"tone": ["dry", "warm"]},
        findings={"WHO": {"about": "Wrong name.", "severity": "minor"}},
        repeats=2,
        limits={"timeout": 5, "max_inconclusive": "10 %"},
        folder=path.parent,
    ).model
    assert in_python.data() == in_yaml.data()
    assert signature(in_python, TargetFacts({"kind": "recorded"})) == signature(
        in_yaml, TargetFacts({"kind": "recorded"})
    )
    assert list(in_python.cases) == list(in_yaml.cases)
    assert (in_python.limits, in_python.target, in_python.variants) == (
        in_yaml.limits,
        in_yaml.target,
        in_yaml.variants,
    )


def test_cases_may_be_data_and_the_target_a_function():
    suite = Suite("s", cases=ROWS, target=greet, score={"text": scorers.same(expected="expected.text")})
    assert suite.model.target.settings.function is greet
    assert [case.id for case in suite.model.cases] == ["a"]
    assert suite.model.folder == Path(__file__).parent
    assert repr(suite) == "Suite('s', 1 cases)"


def test_cases_may_be_case_objects_and_absolute_paths(tmp_path):
    score = {"text": scorers.same(expected="expected.text")}
    case = Case("a", "hi", {"text": "Hello"}, category="x")
    one = Suite("s", cases=[case], target=greet, score=score).model
    (tmp_path / "cases.json").write_text(json.dumps(ROWS))
    other = Suite("s", cases=tmp_path / "cases.json", target=greet, score=score).model
    assert one.survey == other.survey
    with pytest.raises(SuiteError, match=r"there is no file .*nope\.json"):
        Suite("s", cases=tmp_path / "nope.json", target=greet, score=score)


class Shout(Scorer):
    """A scorer that is registered nowhere."""

    expected: str
    loud: bool = True

    def read(self, answer: object, case: Case) -> Reading:
        return Reading(1.0)

    def truth(self, case: Case) -> object:
        return "X"


def test_a_scorer_of_ones_own_can_be_used_as_it_is():
    def signed(**parameters):
        suite = Suite("s", cases=ROWS, target=greet, score={"t": Shout(expected="expected.text", **parameters)})
        return suite.model.data()["components"][0], signature(suite.model).scorers

    component, one = signed()
    assert component["scorer"] == f"{__name__}:Shout"
    assert component["params"]["loud"] is True
    assert signed(loud=False)[1] != one


def test_mistakes_name_the_line_of_the_call():
    with pytest.raises(SuiteError) as raised:
        Suite(
            "s", cases=ROWS, target=greet, score={"text": scorers.same(expected="expected.txt")}, abuot="x", repeats=0
        )
    told = str(raised.value).splitlines()
    assert len(told) == 3
    assert all(line.startswith("test_python_suites.py:") for line in told)
    assert "expected.txt is in none of the 1 cases: did you mean expected.text?" in str(raised.value)


def test_mistakes_in_cases_name_their_place_in_the_list():
    with pytest.raises(SuiteError, match=r"cases\[1\]: the case has no id"):
        Suite("s", cases=[*ROWS, {}], target=greet, score={"text": scorers.same(expected="expected.text")})
    with pytest.raises(SuiteError, match="there are no cases"):
        Suite("s", cases=[], target=greet, score={"text": scorers.same(expected="expected.text")})


PYTHON_FILE = """import steelyard
from parts_of_it import greet

suite = steelyard.Suite("greetings", cases="cases.json", target=greet,
    score={"text": steelyard.scorers.exact(expected="expected.text")})
"""


def test_a_python_file_is_a_suite_like_any_other(tmp_path):
    (tmp_path / "cases.json").write_text(json.dumps(ROWS))
    (tmp_path / "parts_of_it.py").write_text("def greet(case):\n    return 'Hello'\n")
    (tmp_path / "my_suite.py").write_text(PYTHON_FILE)
    suite = load_suite(tmp_path / "my_suite.py")
    assert (suite.name, suite.survey.n, suite.path) == ("greetings", 1, str(tmp_path / "my_suite.py"))
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines no suite: write suite = "),
        ("import nothing_of_that_name\n", "failed when it was read: ModuleNotFoundError"),
        ("suite = 1 +\n", "failed when it was read: SyntaxError"),
        ("import sys; sys.exit(3)\n", "failed when it was read: SystemExit"),
    ],
)
def test_a_python_file_that_is_no_suite_is_reported(tmp_path, text, message):
    (tmp_path / "broken_suite.py").write_text(text)
    with pytest.raises(UsageError) as raised:
        load_suite(tmp_path / "broken_suite.py")
    assert message in str(raised.value)


def test_a_suite_runs_and_has_its_figures(tmp_path):
    rows = [*ROWS, {"id": "b", "input": "bye", "expected": {"text": "Goodbye"}, "category": "x"}]
    suite = Suite(
        "s", cases=rows, target=greet, score={"text": scorers.exact(expected="expected.text")}, passing="score >= 0.9"
    )
    run = suite.run(f"sqlite:///{tmp_path / 'runs.db'}")
    # One of two answers is right: average and pass rate are 1/2.
    assert run.summary.overall["average"].value == 0.5
    assert run.summary.overall["pass_rate"].value == 0.5
    assert run.verdict is None  # the suite has no gates
    assert "50.0 % (score >= 0.9)" in str(run)


def test_an_unknown_scorer_is_reported_with_those_there_are():
    with pytest.raises(AttributeError, match=r"there is no scorer 'smae'; there are: .*same"):
        _ = scorers.smae
    assert {"exact", "same"} <= set(dir(scorers))


def test_the_public_names_are_sorted_and_all_there():
    assert steelyard.__all__ == sorted(steelyard.__all__)
    assert all(getattr(steelyard, name) is not None for name in steelyard.__all__)
    assert set(steelyard.__all__) <= set(dir(steelyard))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = steelyard.nope


def test_importing_steelyard_imports_nothing_heavy():
    heavy = ["pydantic", "numpy", "yaml", "jinja2", "scipy", "aiohttp", "rich"]
    code = f"import sys, steelyard; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


CASES = [{"id": "a", "input": "x", "expected": "x"}]
GOOD = {"cases": CASES, "target": lambda case: case.input, "score": {"same": lambda answer, case: answer == "x"}}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda suite: steelyard.run_suite("evals/mine"),
            "run_suite takes a loaded suite; found 'evals/mine' (str): run_suite(load_suite('evals/mine'))",
        ),
        (lambda suite: steelyard.run_suite(None), "run_suite takes a loaded suite; found None (NoneType)"),
        (lambda suite: suite.run(repeat=3), "run_suite: unknown key 'repeat': did you mean repeats?"),
        (lambda suite: suite.run(repeats="3"), 'run_suite: repeats must be a whole number; found "3" (text)'),
        (lambda suite: suite.run(repeats=0), "run_suite: repeats must be at least 1; found 0 (a number)"),
        (lambda suite: suite.run(repeats=True), "run_suite: repeats must be a whole number; found true (true/false)"),
        (lambda suite: suite.run(concurrency=0), "run_suite: concurrency must be at least 1; found 0 (a number)"),
        (lambda suite: suite.run(timeout="x"), 'run_suite: timeout must be a number; found "x" (text)'),
        (lambda suite: suite.run(cache="yes"), 'run_suite: cache must be true or false; found "yes" (text)'),
        (lambda suite: suite.run(resume=True), "run_suite: resume must be text; found true (true/false)"),
        (lambda suite: suite.run(max_inconclusive=5), "run_suite: max_inconclusive: 5 is above 1: write 5 % or 0.05"),
        (lambda suite: suite.run(store=3), "a store is a path or an address; found 3 (int)"),
        (
            lambda suite: steelyard.run_suite(suite, env="A=1"),
            "run_suite: env maps names of variables to values; found 'A=1' (str)",
        ),
        (lambda suite: steelyard.load_suite(3), "load_suite takes the path or the name of a suite; found 3 (int)"),
        (lambda suite: steelyard.audit(3), "load_suite takes the path or the name of a suite; found 3 (int)"),
        (
            lambda suite: steelyard.import_run("mine", "results.json"),
            "import_run takes a loaded suite; found 'mine' (str): import_run(load_suite('mine'))",
        ),
        (lambda suite: steelyard.import_run(suite, 3), "import_run: file is a path; found 3 (int)"),
        (lambda suite: Suite("s", **GOOD | {"score": 3}), "score must be a group of keys; found 3 (a number)"),
        (lambda suite: Suite("s", **GOOD, expect=["a"]), 'expect must be a group of keys; found ["a"] (a list)'),
        (lambda suite: Suite("s", **GOOD, gates="pass_rate > 0"), 'gates must be a list; found "pass_rate > 0" (text)'),
        (lambda suite: Suite("s", **GOOD, folder=3), "Suite: folder is a path; found 3 (int)"),
    ],
)
def test_a_wrong_value_in_python_is_one_sentence(call, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(steelyard.SteelyardError) as caught:
        call(Suite("s", **GOOD))
    message = str(caught.value)
    assert message.partition(".py:")[2].partition(": ")[2] == sentence if ".py:" in message else message == sentence
    assert "\n" not in message


def test_a_suite_and_a_path_of_a_store_are_taken_as_they_are(tmp_path):
    run = steelyard.run_suite(Suite("s", **GOOD), store=tmp_path / "runs.db", repeats=2, max_inconclusive="10 %")
    assert (run.average.value, run.average.n) == (1.0, 2)
