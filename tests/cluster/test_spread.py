"""What is sent to workers, what is refused before any is started, and a worker at its work: all without Ray."""

import contextlib
import io
import json
import os
import pickle
import socket
import sys
import zipfile
from dataclasses import replace

import pytest

from parts.loopback import Loopback, error, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.api import run_suite
from steelyard.cluster import on_ray
from steelyard.cluster.messages import Ask, LeaseItem, Scored, Setup, WorkerAnswer
from steelyard.cluster.worker import Worker
from steelyard.engine.plan import Plan
from steelyard.engine.run_options import Selection
from steelyard.errors import MissingExtra, TargetFailure, UsageError
from steelyard.loading.load import load_suite
from steelyard.records import Outcome
from steelyard.suite.models import TargetSpec
from steelyard.targets.base import Response


def setup_of(suite, **more):
    given = {"asks": True, "judges": False, "strict": False, "ships": False} | more
    return Setup.of(suite, suite.limits, **given)


def packed(suite):
    with contextlib.ExitStack() as closing:
        archive = on_ray._packed(suite, closing)["working_dir"]
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    # A name of its own, by which no two packages are the same to the cluster.
    assert names[-1].startswith(".steelyard-")
    return names[:-1]


def test_hidden_files_stay_here_and_what_git_ignores_is_sent(tmp_path):
    suite = load_suite(write_suite(tmp_path))
    for name in (".env", ".git/config", "data/.key", "data/words.txt", "__pycache__/system.pyc", "venv/bin/python"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("data/")
    assert packed(suite) == ["cases.jsonl", "suite.yaml", "system.py", "data/words.txt"]


def test_large_case_files_are_not_sent_and_a_folder_that_is_too_large_is_named(tmp_path, monkeypatch):
    suite = load_suite(write_suite(tmp_path, n=200))
    monkeypatch.setattr(on_ray, "_LARGE_CASES", 1_000)
    assert packed(suite) == ["suite.yaml", "system.py"]
    monkeypatch.setattr(on_ray, "_MOST_SENT", 300)
    with pytest.raises(UsageError, match=r"is too large to be sent to workers: .* largest: suite.yaml .*Move out"):
        packed(suite)


@pytest.mark.parametrize("place", ["", "rey", "ray:", "ray://host", "http://host"])
def test_a_place_that_is_none_is_refused(place, tmp_path):
    suite = load_suite(write_suite(tmp_path))
    with pytest.raises(UsageError, match=r"write ray .* auto .* or ray://HOST:PORT"):
        run_suite(suite, store=str(tmp_path / "runs.db"), on=place)


class FakeRay:
    """Ray's module, whose head ends the first connections of a client."""

    def __init__(self, *errors):
        self.errors, self.options = list(errors), []

    def init(self, **options):
        self.options.append(options)
        if self.errors:
            os.write(2, b"a line for each try")
            raise self.errors.pop(0)

    def shutdown(self):
        self.options.append("shut down")


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"ray://127.0.0.1:{server.getsockname()[1]}"


def connect(fake, place, suite, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake)
    with contextlib.ExitStack() as closing:
        return on_ray._connected(place, suite, closing)


def test_a_busy_head_that_ends_a_connection_is_tried_again(listening, tmp_path, monkeypatch, capfd):
    suite = load_suite(write_suite(tmp_path))
    fake = FakeRay(*[ConnectionAbortedError("Starting Ray client server failed")] * 2)
    connect(fake, listening, suite, monkeypatch)
    assert [options == "shut down" or options["address"] for options in fake.options] == [*[listening] * 3, True]
    fake = FakeRay(*[ConnectionAbortedError("Starting Ray client server failed")] * 3)
    with pytest.raises(UsageError, match=r"Starting Ray client server failed\. Check that ray:// names the port for"):
        connect(fake, listening, suite, monkeypatch)
    fake = FakeRay(ConnectionError("timeout"), ConnectionError("again"))
    with pytest.raises(UsageError, match=rf"--on {listening}: ConnectionError: timeout\. Check"):
        connect(fake, listening, suite, monkeypatch)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("place", ["127.0.0.1:9", "ray://127.0.0.1:9", "auto"])
def test_where_nothing_listens_ray_is_not_asked(place, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    fake = FakeRay()
    with pytest.raises(UsageError, match=rf"--on {place}: nothing answers at .*127.0.0.1:9 \(Connection refused\)"):
        connect(fake, place, load_suite(write_suite(tmp_path)), monkeypatch)
    assert fake.options == []


def test_without_ray_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    suite = load_suite(write_suite(tmp_path))
    with pytest.raises(MissingExtra, match=r"running on Ray needs an optional part: pip install .*\[ray\]'"):
        run_suite(suite, store=str(tmp_path / "runs.db"), on="auto")


def test_a_service_that_the_suite_starts_and_an_environment_of_its_own_are_refused(tmp_path):
    start = {"base_url": "http://127.0.0.1:{port}", "start": "{python} -m http.server {port}"}
    target = {"http": {**start, "json": {"number": "{{ input.number }}"}}}
    suite = load_suite(write_suite(tmp_path, target=target))
    with pytest.raises(UsageError, match="starts its service on this machine"):
        run_suite(suite, store=str(tmp_path / "runs.db"), on="ray")
    plain = load_suite(write_suite(tmp_path / "plain"))
    with pytest.raises(UsageError, match="workers read their own environment"):
        run_suite(plain, store=str(tmp_path / "runs.db"), env={"KEY": "x"}, on="ray")


def test_a_suite_that_other_processes_cannot_read_is_refused(tmp_path):
    suite = load_suite(write_suite(tmp_path))
    with pytest.raises(UsageError, match="the suite words is in no file, so other processes cannot read it"):
        setup_of(suite.changed(path=""))
    with pytest.raises(UsageError, match="cannot be sent to other processes: name it as module:function"):
        setup_of(suite.changed(target=TargetSpec("python", lambda case: "x")))


def test_a_worker_whose_suite_or_version_differs_does_not_begin(tmp_path):
    path = write_suite(tmp_path)
    setup = setup_of(load_suite(path))
    path.write_text(path.read_text().replace("score >= 90 %", "score >= 80 %"))
    with pytest.raises(UsageError, match="its copy of suite words differs in scorers"):
        setup.load()
    with pytest.raises(UsageError, match=r"it has Steelyard .*, and the run was started by 9.9"):
        replace(setup, version="9.9").load()


async def test_the_value_of_a_key_is_not_sent_and_what_code_prints_is_without_it(tmp_path, monkeypatch):
    key = "sk-planted-" + "0123456789abcdef"
    monkeypatch.setenv("PLANTED_KEY", key)
    suite = load_suite(write_suite(tmp_path, target=http_target("http://127.0.0.1:9", token="PLANTED_KEY")))
    setup = setup_of(suite)
    sent = setup, [LeaseItem(0, 0, Ask(item.ask)) for item in Plan(suite, Selection(), 1).asks()]
    assert b"PLANTED_KEY" in pickle.dumps(sent)
    assert key.encode() not in pickle.dumps(sent)
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(sys, "stderr", printed)
    worker = Worker((setup,), wants=10)
    assert (await worker.start())[1] is None
    print("my key is", key)
    print("my key is", key, file=sys.stderr)
    await worker.close()
    assert printed.getvalue() == "my key is [redacted]\n" * 2


def test_a_worker_reads_no_cases(tmp_path):
    setup = setup_of(load_suite(write_suite(tmp_path)))
    (tmp_path / "cases.jsonl").unlink()
    assert setup.load().survey.n == 6


async def test_replies_stay_below_what_ray_puts_into_its_object_store(tmp_path):
    worker = Worker((), wants=10)
    for number in range(3):
        worker._report(WorkerAnswer(number, Response("x" * 30_000)))
    worker._report(WorkerAnswer(3, Response("x" * 300_000)))
    sizes = [[report.number for report in (await worker.results())[0]] for _ in range(3)]
    assert sizes == [[0, 1], [2], [3]]


async def test_a_worker_hands_over_the_answer_first_and_then_its_score(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with Loopback() as server:
        server.on(
            "/ask", lambda seen: error(429) if seen.json["number"] == 1 else json_answer({"answer": {"word": "w"}})
        )
        suite = load_suite(write_suite(tmp_path, n=2, target=http_target(server.base_url)))
        worker = Worker((setup_of(suite),), wants=10)
        assert (await worker.start())[1] is None
        planned = list(Plan(suite, Selection(), 1).asks())
        await worker.take([LeaseItem(number, 0, Ask(item.ask)) for number, item in enumerate(planned)])
        reports = []
        while len(reports) < 3:
            got, wants = await worker.results()
            reports += got
        await worker.close()
        assert len(server.requests) == 2  # tries and waits are the driver's
    first, second = (next(item for item in reports if item.number == number) for number in (0, 1))
    assert isinstance(first, WorkerAnswer)
    assert json.loads(first.value.text) == {"word": "w"}
    assert first.value.latency > 0
    scored = next(item for item in reports if isinstance(item, Scored))
    assert (scored.number, scored.sample.outcome, scored.sample.score) == (0, Outcome.SCORED, 0.0)
    assert isinstance(second.value, TargetFailure)
    assert second.value.throttled
    assert wants == 10
