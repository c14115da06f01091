"""`make demo` and `.ci/run` do what the README says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

from parts.command import steelyard

ROOT = Path(__file__).parents[2]


def test_ci_runs_the_readmes_two_commands_in_the_readmes_order():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    written = re.findall(r"^make (\w+) ", readme.partition("## Two commands")[2], re.M)
    run = re.findall(r"^make (.*)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.M)
    assert written == ["demo", "test"]
    assert [command.split()[-1] for command in run] == [*written, "test-other"]


def test_another_python_that_is_found_is_supported_and_runs(capsys):
    found = runpy.run_path(str(ROOT / "scripts" / "other_python.py"))
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert mine in found["supported"]()
    found["main"]()
    printed = capsys.readouterr().out.split()
    # There may be none on this machine.
    if printed:
        version, python = printed
        said = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith(f"Python {version}.")
        assert version in set(found["supported"]()) - {mine}


def test_the_demo_shows_verdict_errors_and_a_comparison_of_two_runs_on_one_screen(tmp_path, monkeypatch, capsys):
    def call(*arguments):
        done = steelyard(*arguments, cwd=tmp_path, env={"STEELYARD_STORE": str(tmp_path / "demo" / "steelyard.db")})
        return done.returncode, done.stdout

    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    runpy.run_path(str(ROOT / "scripts" / "demo.py"))["first_screen"](call)
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 45
    # 32 of 50 pass, 46 of the better set; 14 were fixed.
    assert "FAIL" in shown
    assert "Pass rate 64.0 %" in shown
    assert "NAME       15" in shown
    assert "BETTER  B is better: pass rate 64.0 % -> 92.0 %" in shown
    assert {page.name for page in (tmp_path / "demo").glob("*.html")} == {
        "antiques.html",
        "antiques-better.html",
        "compare.html",
    }
