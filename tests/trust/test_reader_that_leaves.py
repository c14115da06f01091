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


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-", "1</dev/null", "2>/dev/full"])
@pytest.mark.parametrize("command", ["run .", "runs", "gate LAST", "--version"])
def test_a_stream_that_is_closed_or_takes_nothing_changes_no_exit_code(suite, command, closed):
    script = f"{sys.executable} -m steelyard {command} {closed}"
    done = subprocess.run(["bash", "-c", script], cwd=suite, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("gate", "code"), [("pass_rate >= 1 %", 0), ("pass_rate <= 0 %", 1)])
def test_the_verdict_is_the_exit_code_when_nobody_can_read_why(suite, gate, code):
    script = f"{sys.executable} -m steelyard gate LAST --gate '{gate}' >&- 2>&-"
    assert subprocess.run(["bash", "-c", script], cwd=suite, check=False).returncode == code


def test_the_store_does_not_get_what_is_printed_when_streams_are_closed(suite):
    script = f"{sys.executable} -m steelyard run . --json --store closed.db >&- 2>&-"
    assert subprocess.run(["bash", "-c", script], cwd=suite, check=False).returncode == 0
    assert (suite / "closed.db").read_bytes().startswith(b"SQLite format 3\0")
    assert "PASS" in steelyard("report", "LAST", "--store", "closed.db", cwd=suite).stdout


@pytest.mark.parametrize("command", ["run .", "runs", "report LAST --json", "schema", "--help"])
def test_a_report_that_could_not_be_written_is_no_verdict(suite, command):
    script = f"{sys.executable} -m steelyard {command} > /dev/full"
    done = subprocess.run(["bash", "-c", script], cwd=suite, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the output could not be written: no space left" in done.stderr
