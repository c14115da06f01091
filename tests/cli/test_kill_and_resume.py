"""Nothing scored is lost: a run killed anywhere goes on where it was."""

import json
import signal
import sys
from collections import Counter

import psutil
import pytest

from parts.command import start_process, start_steelyard, steelyard, wait_until
from parts.loopback import Loopback, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.records import RunState
from steelyard.store.sql import open_store

N = 60


def unhurried(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0.05)


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/ask", unhurried)
        yield running


def stored(folder):
    store = open_store(str(folder / ".steelyard" / "steelyard.db"))
    try:
        header = store.runs()[0]
        return header, [sample.case_id for sample, _ in store.samples(header.id)]
    finally:
        store.close()


def wait_for_requests(server, n):
    wait_until(lambda: len(server.requests) >= n)


def asked(server):
    return Counter(f"c{seen.json['number']}" for seen in server.requests)


def test_kill_dash_nine_loses_no_completed_sample_and_asks_for_none_of_them_again(server, tmp_path):
    to_answer = iter(range(16))

    def some_answered(seen):
        answered = next(to_answer, None) is not None
        return json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0 if answered else 600)

    server.on("/ask", some_answered)
    path = write_suite(tmp_path / "s", n=N, target=http_target(server.base_url))
    process = start_process("run", path, "--concurrency", 4, cwd=tmp_path)
    wait_for_requests(server, 20)
    # The other four are never answered: once these are stored, nothing is between an answer and the store.
    wait_until(lambda: len(stored(tmp_path)[1]) == 16)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    header, before = stored(tmp_path)
    assert header.state is RunState.RUNNING
    assert len(before) == 16
    under_way = {*asked(server)} - {*before}
    assert len(under_way) == 4
    server.on("/ask", unhurried)

    done = steelyard("run", path, "--resume", "--concurrency", 4, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    resumed, after = stored(tmp_path)
    assert resumed.id == header.id
    assert resumed.state is RunState.ENDED
    assert sorted(after) == sorted(f"c{n}" for n in range(N))
    # What was under way when it died is asked once more; nothing else is.
    assert asked(server) == Counter({f"c{n}": 2 if f"c{n}" in under_way else 1 for n in range(N)})


def test_ctrl_c_ends_cleanly_with_everything_completed_kept_and_can_be_resumed(server, tmp_path):
    path = write_suite(tmp_path / "s", n=N, target=http_target(server.base_url))
    process = start_process("run", path, "--concurrency", 4, cwd=tmp_path)
    wait_for_requests(server, 12)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "--resume" in stderr
    header, before = stored(tmp_path)
    assert header.state is RunState.INTERRUPTED
    # Calls under way were finished and kept: every request that was sent has its sample.
    assert sorted(before) == sorted(asked(server))

    done = steelyard("run", path, "--resume", header.id, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert asked(server) == Counter({f"c{n}": 1 for n in range(N)})
    assert len(stored(tmp_path)[1]) == N


def test_a_run_does_not_resume_with_another_signature(server, tmp_path):
    path = write_suite(tmp_path / "s", n=N, target=http_target(server.base_url))
    process = start_steelyard("run", path, "--concurrency", 4, cwd=tmp_path)
    wait_for_requests(server, 8)
    process.kill()
    process.communicate()
    cases = (tmp_path / "s" / "cases.jsonl").read_text().replace('"word 59"', '"word fifty-nine"')
    (tmp_path / "s" / "cases.jsonl").write_text(cases)
    done = steelyard("run", path, "--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "truth" in done.stderr


def test_nothing_to_resume_is_said(tmp_path):
    path = write_suite(tmp_path / "s", n=2)
    done = steelyard("run", path, "--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no store" in done.stderr
    assert not (tmp_path / ".steelyard").exists()
    steelyard("run", path, cwd=tmp_path)
    done = steelyard("run", path, "--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "no unfinished run" in done.stderr


def test_two_runs_at_once_in_one_store(server, tmp_path):
    path = write_suite(tmp_path / "s", n=N, target=http_target(server.base_url))
    both = [start_steelyard("run", path, "--json", cwd=tmp_path) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    ids = {json.loads(stdout)["run"]["id"] for stdout, _ in outputs}
    assert len(ids) == 2
    store = open_store(str(tmp_path / ".steelyard" / "steelyard.db"))
    assert [sum(1 for _ in store.samples(run_id)) for run_id in ids] == [N, N]
    store.close()


SLOW_SCORER = """
import time
from pathlib import Path

from steelyard import Case, Reading, Scorer, Suite


class Slow(Scorer):
    expected: str

    def read(self, answer, case):
        with Path("scored").open("a") as log:
            log.write(".")
        if Path("slow").exists():
            time.sleep(0.2)
        return Reading(1.0)

    def truth(self, case):
        return self.expected_value(case)


suite = Suite(
    name="words",
    cases=[Case(id=f"c{n}", input={"number": n}, expected=str(n)) for n in range(20)],
    target={"http": {"url": "URL/ask", "json": {"number": "{{ input.number }}"}, "answer": "answer.word"}},
    score={"word": Slow(expected="expected")},
)
"""


def test_a_killed_rescore_is_unfinished_and_neither_resumed_by_asking_nor_the_source_of_another(server, tmp_path):
    path = tmp_path / "suite.py"
    path.write_text(SLOW_SCORER.replace("URL", server.base_url))
    assert steelyard("run", path, "--concurrency", 20, cwd=tmp_path).returncode == 0
    asked_before, scored = len(server.requests), tmp_path / "scored"
    (tmp_path / "slow").touch()
    scored.write_text("")
    process = start_steelyard("rescore", "LAST", "--suite", path, cwd=tmp_path)
    wait_until(scored.read_text)
    process.kill()
    process.communicate()
    (tmp_path / "slow").unlink()
    runs = json.loads(steelyard("runs", "--json", cwd=tmp_path).stdout)
    killed, source = (run["id"] for run in runs)
    assert [run["state"] for run in runs] == ["unfinished", "ended"]
    assert [line.split()[:2] for line in steelyard("runs", cwd=tmp_path).stdout.splitlines()[1:2]] == [
        [killed, "unfinished"]
    ]
    for arguments, message in (
        (("run", path, "--resume"), "no unfinished run"),
        (("run", path, "--resume", killed), f"steelyard rescore {source} starts it again"),
        (("rescore", killed, "--suite", path), f"name the run that it read, {source}"),
    ):
        done = steelyard(*arguments, cwd=tmp_path)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert steelyard("rescore", source, "--suite", path, cwd=tmp_path).returncode == 0
    assert len(server.requests) == asked_before


def test_kill_dash_nine_leaves_no_program_of_a_command_target_behind(tmp_path):
    started = tmp_path / "started"
    code = (
        "import os, subprocess, sys, time;"
        " child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)']);"
        f" open({str(started)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}}\\n'); time.sleep(99)"
    )
    path = write_suite(tmp_path / "s", n=4, target={"command": {"run": [sys.executable, "-c", code]}})
    process = start_steelyard("run", path, "--concurrency", 2, cwd=tmp_path)
    wait_until(lambda: started.exists() and started.read_text().count("\n") == 2)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(psutil.pid_exists(int(pid)) for pid in started.read_text().split()))
