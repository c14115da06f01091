"""A suite as tests of pytest: real runs of pytest, on a suite with one wrong answer and one failure of four."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from parts.command import invoke, steelyard
from parts.processes import ENVIRONMENT
from parts.transcript import play
from steelyard.testing.results import SuiteRun

# The plugins that count, and no others that happen to be installed.
ENV = {
    "COLUMNS": "300",
    "PYTHONPATH": ENVIRONMENT["PYTHONPATH"],
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p steelyard.testing.plugin -p pytest_asyncio.plugin -p xdist.plugin",
}
PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"

SUITE = """suite: capitals
cases: {files: cases.yaml}
target: {python: "system:answer"}
score: {city: {exact: {expected: expected.city}}}
pass: score >= 100 %
limits: {max_inconclusive: 50 %}
gates: [pass_rate >= 40 %, pass_rate >= 80 %]
"""
CASES = """- {id: france, input: France, expected: {city: Paris}}
- {id: peru, input: Peru, expected: {city: Lima}}
- {id: chad, input: Chad, expected: {city: N'Djamena}}
- {id: mali, input: Mali, expected: {city: Bamako}}
"""
# Peru is wrong, and Chad fails: the pass rate is 2 of 3, and with Chad between 2 and 3 of 4.
SYSTEM = """from pathlib import Path

def answer(case):
    with (Path(__file__).parent / "calls.txt").open("a") as calls:
        calls.write(case.id + "\\n")
    return {"France": "Paris", "Peru": "Cusco", "Mali": "Bamako"}[case.input]
"""
MODULE = """import asyncio
import pytest
import steelyard

pytestmark = [pytest.mark.steelyard_repeats(2), pytest.mark.steelyard_xfail("peru", "chad", reason="old")]
test_capitals = steelyard.steelyard_suite("capitals")

async def test_beside_it():
    assert asyncio.get_running_loop().is_running()

async def test_a_suite_in_a_running_loop(tmp_path):
    cases = [{"id": "a", "input": "x", "expected": "x"}]
    score = {"same": lambda answer, case: answer == case.expected}
    suite = steelyard.Suite("inner", cases=cases, target=lambda case: case.input, score=score)
    assert suite.run(store=str(tmp_path / "runs.db")).summary.overall["average"].value == 1.0

def test_the_loop_of_this_thread_is_as_it_was():
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "capitals").mkdir()
    for name, text in {"suite.yaml": SUITE, "cases.yaml": CASES, "system.py": SYSTEM}.items():
        (tmp_path / "capitals" / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    return tmp_path


def run_pytest(folder, *arguments):
    """What pytest came to by test, and what it printed."""
    options = ("-rA", "--junitxml=junit.xml")
    done = steelyard(*options, *arguments, cwd=folder, env=ENV, module="pytest")
    results = {}
    for line in done.stdout.partition("short test summary info")[2].splitlines():
        word, _, rest = line.partition(" ")
        if word in ("PASSED", "FAILED", "ERROR", "XFAIL", "SKIPPED"):
            results[rest.partition(" - ")[0].rpartition("::")[2]] = word
    return results, done.stdout + done.stderr


def calls(folder):
    return dict(Counter((folder / "capitals" / "calls.txt").read_text().split()))


def test_a_module_has_a_test_a_case_and_a_gate_beside_async_tests(folder):
    (folder / "test_it.py").write_text(MODULE)
    results, printed = run_pytest(folder)
    assert results == {
        "france": "PASSED",
        "peru": "XFAIL",
        "chad": "ERROR",
        "mali": "PASSED",
        "pass_rate >= 40 %": "PASSED",
        "pass_rate >= 80 %": "FAILED",
        "verdict of the run": "FAILED",
        "test_beside_it": "PASSED",
        "test_a_suite_in_a_running_loop": "PASSED",
        "test_the_loop_of_this_thread_is_as_it_was": "PASSED",
    }, printed
    assert calls(folder) == dict.fromkeys(("france", "peru", "chad", "mali"), 2)
    # Peru is expected to fail. So is Chad, but nobody knows whether it would: that is no wrong answer.
    assert "chad #2: inconclusive: raised: KeyError: 'Chad' (system.py:6)" in printed
    assert "pass_rate >= 80 %: FAIL: 66.7 % is not >= 80.0 %" in printed
    (summary,) = [line for line in printed.splitlines() if line.startswith("capitals: FAIL | run ")]
    properties = {
        test.get("name"): {item.get("name"): item.get("value") for item in test.iter("property")}
        for test in ElementTree.parse(folder / "junit.xml").iter("testcase")
    }
    run = properties["france"]["steelyard_run"]
    assert f"run {run} | pass rate 66.7 %" in summary
    assert properties["peru"] == {"steelyard_run": run, "steelyard_score": "0.0", "steelyard_n": "2"}
    assert properties["pass_rate >= 40 %"] == {"steelyard_run": run, "steelyard_value": str(2 / 3), "steelyard_n": "6"}
    assert properties["chad"] == {"steelyard_run": run}  # it has no score, which is not 0


def test_what_is_deselected_is_not_asked_and_the_part_says_so(folder, monkeypatch):
    results, printed = run_pytest(folder, "--steelyard", "capitals", "-k", "france or peru or 80")
    assert {name: results.get(name) for name in ("france", "peru")} == {"france": "PASSED", "peru": "FAILED"}, printed
    assert calls(folder) == {"france": 1, "peru": 1}
    assert 'expected "Lima", got "Cusco"' in printed
    assert "a gate is not decided by a part, 2 of 4 cases; of this part: pass_rate >= 80 %: FAIL: 50.0 %" in printed
    assert "steelyard_value" not in (folder / "junit.xml").read_text()
    # what failed last is asked alone
    results, printed = run_pytest(folder, "--steelyard", "capitals/suite.yaml", "--lf")
    assert results == {"peru": "FAILED"}, printed
    assert calls(folder) == {"france": 1, "peru": 2}
    monkeypatch.chdir(folder)
    assert invoke("runs").count("FAIL, partial") == 2
    assert "peru" in invoke("compare", "LAST~1", "LAST", "--no-attribution", code=4)


# By case, the answers of three repeats under three variants: r is right, w wrong, - none.
VOTES = {"most": "rrw rwr wrr", "few": "rww rrr rrr", "one": "www rrr rrr", "unknown": "rr- rrr rrr"}


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        # By hand, those of the tests that do not pass. A variant has a test of its own.
        ("majority", {"few[x]": "failure", "one[x]": "failure", "unknown[x]": "error"}),
        (
            "all",
            {f"most[{style}]": "failure" for style in "xyz"}
            | {"few[x]": "failure", "one[x]": "failure", "unknown[x]": "error"},
        ),
        ("first", {"most[z]": "failure", "one[x]": "failure"}),
    ],
)
def test_repeats_count_as_the_suite_says_under_every_variant(tmp_path, rule, kinds):
    (tmp_path / "suite.yaml").write_text(
        "suite: votes\ncases: {files: cases.jsonl}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "expect: {word: {path: word, equals: {case: expected.word}}}\nvariants: {style: [x, y, z]}\nrepeats: 3\n"
        f"required_repeats: {rule}\nlimits: {{max_inconclusive: 50 %}}\n"
    )
    cases = [{"id": name, "input": "?", "expected": {"word": "r"}} for name in VOTES]
    answers = [
        {"case": name, "variant": style, "repeat": repeat, "answer": {"word": word}}
        for name, words in VOTES.items()
        for style, of_style in zip("xyz", words.split(), strict=True)
        for repeat, word in enumerate(of_style)
        if word != "-"
    ]
    for name, rows in (("cases", cases), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = SuiteRun(str(tmp_path), tmp_path, {"store": str(tmp_path / "runs.db")}, "votes")
    tests = [f"{name}[{style}]" for name in VOTES for style in "xyz"]
    results = {name: run.result(name, lambda: set(tests), None).kind for name in tests}
    assert {name: kind for name, kind in results.items() if kind} == kinds


ODD_IDS = ["a[1]", "a[1", "b::c", "b::c[d::e]", "x%3Ay", "sp ace \u00fc", "x - y", "pa/th\\q", "]", "::"]
# Under the style `plain` all are wrong but `a[1`, and under `loud [x::y]` all are right but `b::c`.
ODD_SYSTEM = """from pathlib import Path

def answer(case, variant):
    style = variant.values["style"]
    with (Path(__file__).parent / "calls.txt").open("a") as calls:
        calls.write(f"{case.id}|{style}\\n")
    return "right" if (case.id == "a[1") == (style == "plain") or (case.id, style) == ("::", "plain") else "wrong"
"""


def test_tests_of_odd_ids_and_of_variants_run_again_alone(folder):
    suite = SUITE.replace("pass_rate >= 40 %, ", "") + 'variants: {style: [plain, "loud [x::y]"]}\n'
    (folder / "capitals/suite.yaml").write_text(suite)
    rows = [{"id": name, "input": "", "expected": {"city": "right"}} for name in ODD_IDS]
    (folder / "capitals/cases.yaml").write_text(json.dumps(rows))
    (folder / "capitals/system.py").write_text(ODD_SYSTEM)
    (folder / "test_it.py").write_text(
        "from steelyard import steelyard_suite\ntest_odd = steelyard_suite('capitals')\n"
    )
    log = folder / "capitals/calls.txt"

    def asked(*arguments):
        """What is asked when pytest is run so."""
        log.unlink(missing_ok=True)
        steelyard("-q", *arguments, cwd=folder, env=ENV, module="pytest")
        return sorted(tuple(line.split("|")) for line in log.read_text().splitlines())

    assert len(asked()) == 20
    wrong = sorted([(name, "plain") for name in ODD_IDS if name not in ("a[1", "::")] + [("a[1", "loud [x::y]")])
    # `a[1` and `a[1]` are one id to pytest once it has read them back.
    assert [cell for cell in asked("--lf") if not cell[0].startswith("a[1")] == [
        cell for cell in wrong if not cell[0].startswith("a[1")
    ]
    collected = steelyard("-q", "--collect-only", cwd=folder, env=ENV, module="pytest").stdout.splitlines()
    ids = [line for line in collected if line.startswith("test_it.py::")][:20]
    assert len(set(ids)) == 20
    cells = [(name, style) for name in ODD_IDS for style in ("plain", "loud [x::y]")]
    for node, cell in zip(ids, cells, strict=True):
        if cell[0] in ("b::c[d::e]", "x%3Ay", "sp ace \u00fc", "::"):
            assert asked(node) == [cell], node
    assert asked(ids[0], ids[5]) == [cells[0], cells[5]]  # under two variants, and nothing else
    assert asked("-k", "b::c[d::e] and plain") == [("b::c[d::e]", "plain")]
    assert asked("--steelyard", "capitals", f"capitals/suite.yaml::{ids[4].partition('::test_odd::')[2]}") == [cells[4]]


def test_workers_of_xdist_ask_every_case_once_for_one_run(folder, monkeypatch):
    (folder / "test_it.py").write_text(
        "from steelyard import steelyard_suite\nsteelyard_suite('capitals', xfail={'peru': 'old'}, store='runs.db')\n"
    )
    results, printed = run_pytest(folder, "-n", "2", "--dist", "worksteal")
    assert calls(folder) == dict.fromkeys(("france", "peru", "chad", "mali"), 1), printed
    words = [results[name] for name in ("france", "peru", "chad", "mali", "pass_rate >= 40 %", "pass_rate >= 80 %")]
    assert words == ["PASSED", "XFAIL", "ERROR", "PASSED", "PASSED", "FAILED"]
    assert sum(line.startswith("capitals: FAIL | run ") for line in printed.splitlines()) == 1
    monkeypatch.chdir(folder)
    assert invoke("runs", "--store", "runs.db").count("capitals-") == 1


def test_what_is_wrong_with_a_suite_is_said_without_a_traceback(folder):
    (folder / "capitals" / "suite.yaml").write_text(SUITE.replace("exact", "exactly"))
    (folder / "test_it.py").write_text(
        "import steelyard\nsteelyard.steelyard_suite('capitals')\n"
        "suite = steelyard.Suite('s', cases=[{'id': 'a', 'input': ''}], target=print, score={'f': lambda a, c: 1})\n"
        "test_own = steelyard.steelyard_suite(suite, xfail={'b': ''})\n"
        "test_option = steelyard.steelyard_suite(suite, concurency=2)\n"
        "test_part = steelyard.steelyard_suite(suite, selection=None)\n"
    )
    _, printed = run_pytest(folder)
    assert "suite.yaml:4: score.city: unknown scorer 'exactly': did you mean exact?" in printed
    assert "xfail names cases that the suite does not have: b" in printed
    assert "steelyard_suite: unknown key 'concurency': did you mean concurrency?" in printed
    assert "steelyard_suite: unknown key 'selection'" in printed
    assert "Traceback" not in printed
    assert "results.py" not in printed


def test_the_page_does_what_it_says(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    assert play(PAGE.read_text(), tmp_path, ENV | {"COLUMNS": "80"}) == []


def test_the_plugin_alone_imports_nothing_else():
    code = "import sys, steelyard.testing.plugin; print(*sorted(name for name in sys.modules if 'steelyard' in name))"
    printed = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True).stdout
    assert printed.split() == ["steelyard", "steelyard.testing", "steelyard.testing.plugin"]
