"""A run whose first calls all fail for good stops: a wrong key, a wrong address, nobody there."""

import json

import pytest

from parts.command import outputs
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, chat_answer, error, free_port, json_answer
from parts.running import run
from parts.small_suite import http_target, write_suite
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Outcome, RunState, Verdict
from steelyard.store.sql import open_store

N = 40
LIMITS = {"retries": 0, "concurrency": 2}


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def answer(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


def suite_of(tmp_path, base_url, n=N, **more):
    target = http_target(base_url)
    return load_suite(write_suite(tmp_path / "my", n=n, target=target, limits=LIMITS, **more))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_run_that_is_refused_from_the_start_stops_is_invalid_and_goes_on_once_it_is_mended(tmp_path, store, status):
    with Loopback() as server:
        server.on("/ask", error(status, "no such key"))
        suite = suite_of(tmp_path, server.base_url)
        header, ending = run(suite, store, RunOptions())
        # Five samples, and what the other of two workers had under way.
        assert 5 <= len(server.requests) <= 7
        assert (header.state, header.verdict) == (RunState.INTERRUPTED, Verdict.INVALID)
        assert f"answered {status}: no such key" in ending.stopped
        assert "40 of 40 samples are left" in ending.stopped
        assert list(store.samples(header.id)) == []
        server.on("/ask", answer)
        again, ending = run(suite, store, RunOptions(resume=""))
    assert (again.id, again.state, ending.stopped) == (header.id, RunState.ENDED, None)
    assert [sample.outcome for sample, _ in store.samples(header.id)] == [Outcome.SCORED] * N


def test_the_command_says_what_to_do_and_ends_with_3(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = http_target(f"http://127.0.0.1:{free_port()}")
    suite = write_suite(tmp_path / "my", n=N, target=target, limits=LIMITS)
    out, err = outputs("run", suite, code=3)
    assert "start the service, or correct its address" in err
    assert "--resume" in err
    assert "INVALID" in out
    assert "refuses connections" in " ".join(outputs("report")[0].split())


def test_an_unknown_host_stops_the_run(tmp_path, store):
    _, ending = run(suite_of(tmp_path, "http://no-such-host.invalid"), store, RunOptions())
    assert "dns: " in ending.stopped
    assert "correct the name of the host" in ending.stopped


def test_with_keep_going_all_are_asked_and_stored(tmp_path, store):
    with Loopback() as server:
        server.on("/ask", error(401))
        header, ending = run(suite_of(tmp_path, server.base_url), store, RunOptions(keep_going=True))
        assert len(server.requests) == N
    assert (header.state, header.verdict, ending.stopped) == (RunState.ENDED, Verdict.INVALID, None)


@pytest.mark.parametrize("answered", [0, 3, 4])
def test_one_answer_among_the_first_lets_the_run_go_on_and_every_failure_is_stored(tmp_path, store, answered):
    with Loopback() as server:
        server.on("/ask", lambda seen: answer(seen) if seen.json["number"] == answered else error(401))
        limits = {"retries": 0, "concurrency": 1}
        suite = write_suite(tmp_path / "my", n=12, target=http_target(server.base_url), limits=limits)
        header, ending = run(load_suite(suite), store, RunOptions())
    outcomes = [sample.outcome for sample, _ in store.samples(header.id)]
    assert ending.stopped is None
    assert (len(outcomes), outcomes.count(Outcome.SCORED)) == (12, 1)


def test_a_failure_that_may_pass_among_the_first_lets_the_run_go_on(tmp_path, store):
    with Loopback() as server:
        server.on("/ask", lambda seen: error(500 if seen.json["number"] == 1 else 401))
        header, ending = run(suite_of(tmp_path, server.base_url, n=12), store, RunOptions())
    assert (ending.stopped, len(list(store.samples(header.id)))) == (None, 12)


def test_what_is_not_there_for_one_case_or_one_variant_alone_does_not_stop_the_run(tmp_path, store):
    variants = {"model": ["old", "new"]}
    with Loopback() as server:
        server.on("/ask", lambda seen: error(404) if seen.json["model"] == "old" else answer(seen))
        target = http_target(server.base_url, json={"number": "{{ input.number }}", "model": "{{ variant.model }}"})
        suite = write_suite(tmp_path / "my", n=3, target=target, limits=LIMITS, variants=variants)
        header, ending = run(load_suite(suite), store, RunOptions(repeats=6))
        assert ending.stopped is None
        assert sum(sample.outcome is Outcome.SCORED for sample, _ in store.samples(header.id)) == 18
        # The first case alone is not there, six times.
        server.on("/ask", lambda seen: answer(seen) if seen.json["number"] else error(404))
        header, ending = run(suite_of(tmp_path / "one", server.base_url, n=3), store, RunOptions(repeats=6))
    assert ending.stopped is None
    assert sum(sample.outcome is Outcome.SCORED for sample, _ in store.samples(header.id)) == 12


@pytest.mark.parametrize(("n", "concurrency"), [(5, 2), (9, 20)])
def test_where_nothing_is_left_to_ask_failures_are_stored_as_ever(tmp_path, store, n, concurrency):
    with Loopback() as server:
        server.on("/ask", error(401))
        header, ending = run(suite_of(tmp_path, server.base_url, n=n), store, RunOptions(concurrency=concurrency))
    assert (ending.stopped, header.verdict) == (None, Verdict.INVALID)
    assert [sample.outcome for sample, _ in store.samples(header.id)] == [Outcome.TARGET_FAILED] * n


def test_a_judge_with_a_wrong_key_stops_the_run_and_no_answer_is_asked_for_twice(tmp_path, store):
    with Loopback() as judge, Loopback() as system:
        judge.on("/chat/completions", error(401, "bad key"))
        system.on("/ask", json_answer({"answer": "It is a fine number, and there is no more to say of it."}))
        more = {"target": http_target(system.base_url), "limits": {"retries": 0, "concurrency": 2}}
        suite = load_suite(write_judged(tmp_path / "my", n=20, suite=more, **chat_judge(judge)))
        header, ending = run(suite, store, RunOptions())
        assert "judge model: answered 401" in ending.stopped
        assert 5 <= len(judge.requests) <= 7
        judge.on("/chat/completions", chat_answer(json.dumps(verdict(3))))
        run(suite, store, RunOptions(resume=header.id))
        assert len(system.requests) == 20
    assert [sample.outcome for sample, _ in store.samples(header.id)] == [Outcome.SCORED] * 20


BROKEN = """
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("KeyError: 'price' with key " + os.environ["MODEL_KEY"], file=sys.stderr, flush=True)
        self.send_error(500)

    def log_message(self, *arguments):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_what_a_started_service_printed_is_in_the_message_of_a_failed_call_without_its_secrets(tmp_path, store):
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "service.py").write_text(BROKEN)
    start = {"command": ["{python}", "service.py", "{port}"], "env": {"MODEL_KEY": {"env": "MODEL_KEY"}}}
    target = {"http": {"url": "/ask", "json": "input", "answer": "answer", "start": start}}
    suite = load_suite(write_suite(tmp_path / "my", n=1, target=target, limits=LIMITS))
    header, _ = run(suite, store, RunOptions(), env={"MODEL_KEY": "k-very-secret-7", "PATH": "/usr/bin:/bin"})
    ((sample, _),) = store.samples(header.id)
    assert "its last words: KeyError: 'price' with key [redacted]" in sample.call_result.failure.message
