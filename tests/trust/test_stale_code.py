"""A run executes the code that its signature has the hash of, however quickly it was edited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from parts.processes import ENVIRONMENT

SUITE = """
suite: quick
cases: {files: cases.jsonl}
target: {python: "system:answer"}
score: {same: {exact: {expected: expected}}}
pass: score >= 90 %
"""
PYTHON_SUITE = """
import steelyard
from system import answer
from pathlib import Path
cases = Path(__file__).parent / "cases.jsonl"
suite = steelyard.Suite("quick", cases=str(cases), target=answer, score={"same": {"exact": {"expected": "expected"}}})
"""


def rates(folder, suite):
    """The average of a run in a process of its own, with bytecode as a user's Python keeps it."""
    env = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "steelyard", "run", suite, "--json"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["figures"]["average"]["value"]


@pytest.mark.parametrize(("suite", "text"), [("suite.yaml", SUITE), ("quick_suite.py", PYTHON_SUITE)])
def test_two_edits_in_one_second_run_as_the_second(tmp_path, suite, text):
    (tmp_path / suite).write_text(text)
    cases = [{"id": f"c{k}", "input": k, "expected": str(k)} for k in range(10)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    system, changed = tmp_path / "system.py", time.time() + 3_600
    for limit, rate in (("9", 1.0), ("4", 0.5)):
        # The same size and the same time of change: what an edit by a script within one second leaves.
        system.write_text(f"def answer(case):\n    return str(case.input) if case.input <= {limit} else 'no'\n")
        os.utime(system, (changed, changed))
        assert rates(tmp_path, suite) == rate
