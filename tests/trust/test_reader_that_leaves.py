"""A reader that leaves (`| head -1`) changes no exit code, and nothing is said of it."""

import subprocess
import sys

import pytest

from parts.command import invoke, steelyard


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaving") / "mine"
    invoke("init", folder)
    assert steelyard("run", ".", cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize(
    "command",
    ["--help", "run --help", "run .", "report LAST", "runs", "schema", "suites", "export LAST run.json", "gate LAST"],
)
def test_the_exit_code_is_that_of_the_command(suite, command):
    script = f"{sys.executable} -m steelyard {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=suite, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    # A run writes its progress there.
    assert "Traceback" not in done.stderr if command == "run ." else done.stderr == ""
