"""A program as a channel, and GitHub."""

import json
import os
import sys

import pytest

from parts.alerts import QUICK, message, notice, place, reading, told_by
from steelyard.alerts.channels import DeliveryTries, deliver
from steelyard.alerts.notices import NoticeKind
from steelyard.loading.alerts import Command, GitHub


def send(channel, where, sent=None, retry_policy=QUICK):
    return deliver([(channel, sent or message())], where, retry_policy)[0]


def python(code, *more):
    return Command(argv=[sys.executable, "-c", code, *more])


def test_a_program_gets_the_alerts_on_its_standard_input(tmp_path):
    code = "import sys, pathlib; pathlib.Path('got.json').write_bytes(sys.stdin.buffer.read())"
    outcome = send(python(code), place(tmp_path))
    assert (outcome.state, outcome.tries) == ("sent", 1)
    data = json.loads((tmp_path / "got.json").read_text())
    assert data["alerts"][0]["title"] == "pass_rate is worse than in release"


def test_no_shell_is_between(tmp_path):
    code = "import sys, pathlib; pathlib.Path('args').write_text(repr(sys.argv[1:]))"
    assert send(python(code, "$HOME; touch pwned", "`id`"), place(tmp_path, HOME="/x")).state == "sent"
    assert (tmp_path / "args").read_text() == "['$HOME; touch pwned', '`id`']"
    assert not (tmp_path / "pwned").exists()


def test_a_program_that_fails_is_run_again_and_its_words_are_reported(tmp_path):
    code = "open('n', 'a').write('x'); print('no luck'); raise SystemExit(3)"
    outcome = send(python(code), place(tmp_path))
    assert (outcome.state, outcome.tries, outcome.detail) == ("failed", 3, "exit code 3: no luck")
    assert (tmp_path / "n").read_text() == "xxx"


def test_a_program_that_reads_nothing_is_no_trouble(tmp_path):
    assert send(python("pass"), place(tmp_path)).state == "sent"


def test_a_program_that_is_not_there(tmp_path):
    outcome = send(Command(argv=["no-such-program-here"]), place(tmp_path))
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail.startswith("no-such-program-here cannot be run")


def test_a_program_that_never_ends_is_ended_with_what_it_started(tmp_path):
    psutil = pytest.importorskip("psutil")
    hangs = Command(argv=["sh", "-c", "sleep 60 & echo $! > child; sleep 60"])
    outcome = send(
        hangs, place(tmp_path, PATH=os.environ["PATH"]), retry_policy=DeliveryTries(tries=1, timeout=0.7, in_all=5.0)
    )
    assert (outcome.state, outcome.detail) == ("failed", "did not end within 0.7 s")
    child = int((tmp_path / "child").read_text())
    _gone, alive = psutil.wait_procs([psutil.Process(child)], timeout=5) if psutil.pid_exists(child) else ([], [])
    assert alive == []


def test_a_program_that_leaves_another_one_running_has_ended(tmp_path):
    # What it leaves behind holds its outputs open until the test lets go of the file that it waits for.
    left = "import pathlib, time\nwhile pathlib.Path('go on').exists(): time.sleep(0.01)"
    (tmp_path / "go on").touch()
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {left!r}])"
    try:
        outcome = send(python(code), place(tmp_path), retry_policy=DeliveryTries(tries=1, timeout=10.0, in_all=12.0))
    finally:
        (tmp_path / "go on").unlink()
    assert (outcome.state, outcome.tries) == ("sent", 1)


def test_a_program_that_hangs_is_ended_before_everything_is_given_up(tmp_path):
    outcome = send(
        python("import time; time.sleep(60)"), place(tmp_path), retry_policy=DeliveryTries(in_all=5.2, to_end=5.0)
    )
    # Not "did not end within 5.2 s": then this process could end before the program that it started.
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail.startswith("did not end within 0.")


def test_github_gets_annotations_and_a_summary(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    where = place(tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    evil = notice(
        reading=reading(what="100 % bad\n::error::owned", quotes=(("got", "</pre><script>x</script>\n\n# big"),))
    )
    over = notice(NoticeKind.RECOVERED, now=reading(what="all is well"), alert=8)
    assert send(GitHub(), where, message(evil, over)).state == "sent"
    first, second = told_by(where)
    assert first.startswith("::error title=demo%3A 100 %25 bad %3A%3Aerror%3A%3Aowned::Change: 78.0 %25 now")
    assert "\n" not in first
    assert second.startswith("::notice title=demo%3A RECOVERED%3A all is well::")
    text = summary.read_text()
    assert text.startswith("before\n### Alerts of demo\n")
    assert "<script>" not in text
    assert "\n# big" not in text


def test_outside_of_github_nothing_is_said(tmp_path):
    where = place(tmp_path)
    outcome = send(GitHub(), where)
    assert (outcome.state, outcome.detail, told_by(where)) == ("skipped", "", [])


def test_a_summary_that_cannot_be_written_is_reported(tmp_path):
    where = place(tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "folder"))
    outcome = send(GitHub(), where)
    assert (outcome.state, outcome.tries) == ("failed", 1)
    assert outcome.detail.startswith("the job summary cannot be written")


def test_nothing_that_goes_wrong_in_a_channel_is_raised(tmp_path):
    def breaks(_line):
        raise RuntimeError("a defect")

    from steelyard.alerts.channels import ChannelContext

    where = ChannelContext({"GITHUB_ACTIONS": "true"}, tmp_path, breaks)
    outcome = send(GitHub(), where)
    assert (outcome.state, outcome.detail) == ("failed", "RuntimeError: a defect")
