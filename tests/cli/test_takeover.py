"""One process at a time runs a run, on several hosts too: no call is made twice, and a healthy run never dies of it."""

import os
import pty
import signal
import socket
import sys
from collections import Counter

import pytest

from parts.command import start_process, start_steelyard, steelyard, wait_until
from parts.loopback import Loopback, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.records import RunState
from steelyard.store.sql import open_store

N = 40
OTHER_HOST = "pod-2"


def answer(seen, delay=0.1):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=delay)


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/ask", answer)
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def env(request, tmp_path):
    """The environment of a command with an empty store."""
    url = request.getfixturevalue("postgres_store") if request.param == "postgres" else str(tmp_path / "runs.db")
    return {"STEELYARD_STORE": url}


@pytest.fixture
def elsewhere(env, tmp_path):
    """The environment of a command with the same store on another host."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"import socket\nsocket.gethostname = lambda: {OTHER_HOST!r}\n")
    return env | {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


@pytest.fixture
def suite(server, tmp_path):
    return write_suite(tmp_path / "s", n=N, target=http_target(server.base_url))


def stored(env):
    store = open_store(env["STEELYARD_STORE"])
    try:
        (header,) = store.runs()
        return header, [sample.case_id for sample, _ in store.samples(header.id)]
    finally:
        store.close()


def asked(server):
    return Counter(f"c{seen.json['number']}" for seen in server.requests)


def all_cases():
    return sorted(f"c{n}" for n in range(N))


def test_of_three_processes_that_resume_a_killed_run_one_makes_the_calls(server, suite, env, tmp_path):
    to_answer = iter(range(8))
    server.on("/ask", lambda seen: answer(seen, 0 if next(to_answer, None) is not None else 600))
    process = start_steelyard("run", suite, "--concurrency", 2, cwd=tmp_path, env=env)
    # Two calls are never answered, so that nothing is between an answer and the store.
    wait_until(lambda: len(server.requests) == 10 and len(stored(env)[1]) == 8)
    process.kill()
    process.communicate()
    under_way = {*asked(server)} - {*stored(env)[1]}
    server.on("/ask", lambda seen: answer(seen, 0.3))

    resumed = [start_steelyard("run", suite, "--resume", "--concurrency", 2, cwd=tmp_path, env=env) for _ in range(3)]
    ends = [(one.communicate(timeout=300)[1], one.returncode) for one in resumed]
    assert sorted(code for _, code in ends) == [0, 2, 2], ends
    refused = [message for message, code in ends if code == 2]
    expected = ("was taken over by process", "is still going on in process", "no unfinished run")
    assert all(any(text in message for text in expected) for message in refused), refused
    header, samples = stored(env)
    assert (header.state, sorted(samples)) == (RunState.ENDED, all_cases())
    # What was under way when the first process was killed is asked for once more; nothing else is.
    assert asked(server) == Counter({case: 2 if case in under_way else 1 for case in all_cases()})


def test_a_run_that_is_alive_on_another_host_is_not_resumed(server, suite, env, elsewhere, tmp_path):
    server.on("/ask", lambda seen: answer(seen, 0.5))
    alive = start_steelyard("run", suite, "--concurrency", 2, cwd=tmp_path, env=env)
    wait_until(lambda: len(server.requests) >= 4)
    header, _ = stored(env)
    other = start_process("run", suite, "--resume", header.id, cwd=tmp_path, env=elsewhere)
    _, said = other.communicate(timeout=300)
    owner = header.options.owner
    assert other.returncode == 2, said
    assert f"is still going on in process {owner.pid} on {socket.gethostname()}, last seen" in said
    _, errors = alive.communicate(timeout=300)
    assert alive.returncode == 0, errors
    assert asked(server) == Counter(all_cases())
    assert sorted(stored(env)[1]) == all_cases()


def test_a_suspended_run_is_taken_over_by_another_host_and_stops_cleanly_when_it_continues(
    server, suite, env, elsewhere, tmp_path
):
    to_answer = iter(range(6))
    server.on("/ask", lambda seen: answer(seen, 0 if next(to_answer, None) is not None else 60))
    first = start_steelyard("run", suite, "--concurrency", 2, cwd=tmp_path, env=env)
    # It is suspended while it waits for two answers, and not while it has the store locked.
    wait_until(lambda: len(server.requests) == 8 and len(stored(env)[1]) == 6)
    first.send_signal(signal.SIGSTOP)
    server.on("/ask", answer)
    try:
        here = steelyard("run", suite, "--resume", cwd=tmp_path, env=env)
        assert here.returncode == 2
        assert "which is suspended" in here.stderr
        assert "kill -CONT" in here.stderr
        other = start_process("run", suite, "--resume", "--concurrency", 2, cwd=tmp_path, env=elsewhere)
        _, said = other.communicate(timeout=300)
        assert other.returncode == 0, said
        assert "resumed if there is no sign of life within 30 s" in said
    finally:
        first.send_signal(signal.SIGCONT)
    _, errors = first.communicate(timeout=300)
    assert first.returncode == 2, errors
    assert "was taken over by" in errors
    assert "Traceback" not in errors
    header, samples = stored(env)
    assert (header.state, header.options.owner, sorted(samples)) == (RunState.ENDED, None, all_cases())
    # The other host asked for the 34 that were not stored, the two under way among them; nobody asked for more.
    assert len(server.requests) == 8 + 34


def test_of_two_processes_that_resume_with_a_fixed_scorer_one_makes_a_new_run(server, suite, env, tmp_path):
    process = start_steelyard("run", suite, "--concurrency", 2, cwd=tmp_path, env=env)
    wait_until(lambda: len(server.requests) >= 8)
    process.kill()
    process.communicate()
    old, samples = stored(env)
    changed = suite.read_text().replace("exact:", "keywords_or_fuzzy:")
    assert changed != suite.read_text()
    suite.write_text(changed)
    earlier = len(server.requests)
    server.on("/ask", lambda seen: answer(seen, 0.3))
    resumed = [start_steelyard("run", suite, "--resume", old.id, cwd=tmp_path, env=env) for _ in range(2)]
    ends = [(one.communicate(timeout=300)[1], one.returncode) for one in resumed]
    assert sorted(code for _, code in ends) == [0, 2], ends
    refused = next(message for message, code in ends if code == 2)
    assert any(text in refused for text in ("taken over", "is still going on", f"{old.id} was resumed as")), refused
    calls = Counter(f"c{seen.json['number']}" for seen in list(server.requests)[earlier:])
    # A commit that was under way when the process was killed may still have been made.
    assert max(calls.values()) == 1
    assert {*calls} <= {*all_cases()} - {*samples}
    store = open_store(env["STEELYARD_STORE"])
    assert sorted(sample.case_id for sample, _ in store.samples(store.run("LAST").id)) == all_cases()
    assert len(store.runs()) == 2
    store.close()
    again = steelyard("run", suite, "--resume", old.id, cwd=tmp_path, env=env)
    assert again.returncode == 2
    assert "with changed scorers: that run has ended" in again.stderr


def test_a_closed_terminal_ends_a_run_as_gracefully_as_a_polite_kill(server, suite, tmp_path):
    env = {"STEELYARD_STORE": str(tmp_path / "runs.db")}
    # From the seventh on they take so long that the run does not end before its terminal is closed.
    server.on("/ask", *[answer] * 6, lambda seen: answer(seen, 1))
    pid, terminal = pty.fork()
    if pid == 0:  # the command on a terminal of its own
        os.chdir(tmp_path)
        os.environ.update(env)
        # Tests that run under nohup would hand on that the signal is ignored, as a run then does.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-m", "steelyard", "run", str(suite), "--concurrency", "2"])
    wait_until(lambda: len(server.requests) >= 6)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    header, samples = stored(env)
    assert (header.state, header.options.owner) == (RunState.INTERRUPTED, None)
    # Calls under way were finished and stored.
    assert sorted(samples) == sorted(asked(server))
