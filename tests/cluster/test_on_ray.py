"""Runs on a real Ray cluster of two nodes: the same results as here, and nothing lost when workers, nodes or the driver
are killed.

All in one file: the tests share one cluster, which takes long to start.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, chat_answer, json_answer
from parts.ray_cluster import RayCluster
from parts.small_suite import http_target, write_suite
from steelyard.cli import main
from steelyard.cluster.on_ray import _packed
from steelyard.loading.load import load_suite
from steelyard.store.sql import open_store

KEY = "sk-planted-" + "0123456789abcdef"
CONCURRENCY = 24
# Prints its key, and needs a file beside it that git would not have.
SCORER = '''
import os
from pathlib import Path

from steelyard import Reading, Scorer


class Shout(Scorer):
    """Whether a word is on the list."""

    needs_truth = False
    case_paths = ()

    def read(self, answer, case):
        print("my key is", os.environ["PLANTED_KEY"])
        allowed = (Path(__file__).parent / "data" / "words.txt").read_text().split()
        return Reading(1.0 if answer["word"].split()[0] in allowed else 0.0)
'''


@pytest.fixture(scope="module")
def cluster():
    with RayCluster(PLANTED_KEY=KEY) as running:
        yield running


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


class Service:
    """Answers after a while, right but for every tenth case, and says in each answer the how manieth call it was."""

    def __init__(self, server, delay=0.03):
        self.calls = defaultdict(list)
        self.n = 0
        self.keys = set()
        self.delay = delay
        server.on("/ask", self._answer)

    def _answer(self, seen):
        self.n += 1
        self.keys.add(seen.headers.get("authorization"))
        number = seen.json["number"]
        self.calls[f"c{number}"].append(self.n)
        word = f"word {number}" if number % 10 else "no"
        return json_answer({"answer": {"word": word, "call": self.n}}, delay=self.delay)


def written(folder, server, n, **more):
    """The suite, with code and data of its own and a key that only the environment has."""
    score = {"word": {"exact": {"expected": "expected.word"}}, "listed": {"python": "shout:Shout", "weight": 1}}
    target = http_target(server.base_url, token="PLANTED_KEY")
    path = write_suite(folder, n=n, target=target, score=score, gates=[], **more)
    (folder / "shout.py").write_text(SCORER)
    (folder / "data").mkdir()
    (folder / "data" / "words.txt").write_text("word no")
    (folder / ".gitignore").write_text("data/\n")
    (folder / ".env").write_text(f"PLANTED_KEY={KEY}")
    return path


def begin(cluster, *words):
    """A `steelyard` command that goes on in a process of its own."""
    command = [sys.executable, "-m", "steelyard", *map(str, words)]
    environment = cluster.environment | {"PLANTED_KEY": KEY}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def several(cluster, *commands):
    """What commands printed that are run one after the other in one process, which imports everything once."""
    code = (
        "import sys, json\nfrom steelyard.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = words\n"
        "    try:\n        main()\n    except SystemExit as end:\n        print('exit', end.code, flush=True)\n"
    )
    command = [sys.executable, "-c", code, json.dumps([list(map(str, words)) for words in commands])]
    environment = cluster.environment | {"PLANTED_KEY": KEY}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def run_words(path, store, *more):
    return "run", path, "--store", store, "--concurrency", CONCURRENCY, "--no-alerts", *more


ON_RAY = ("--address", "auto", "--workers", 3)


def wait_for(condition, process=None):
    limit = time.monotonic() + 180
    while not condition():
        assert process is None or process.poll() is None, process.stdout.read()
        assert time.monotonic() < limit
        time.sleep(0.005)


def samples(store, run="LAST"):
    with_store = open_store(str(store), create=False)
    try:
        header = with_store.run(run)
        return header, [sample for sample, _ in with_store.samples(header.id)]
    finally:
        with_store.close()


def shown(sample):
    """Everything of a sample but when, how fast and in which call it was answered."""
    answer = json.loads(sample.call_result.text)
    answer.pop("call", None)
    call = sample.call_result
    return (
        (*sample.key, sample.position, sample.outcome, sample.score, sample.passed, sample.band, sample.category),
        (sample.scores, sample.findings, sample.checks, sample.marks, sample.claims, sample.items, sample.step),
        (answer, call.status, call.failure, call.tokens_in, call.cost, call.model, call.cut_off),
    )


def most_at_once(server, until):
    """The most calls that were under way at once, of those that had arrived by then."""
    ended = {id(seen): at for at, seen in server.answered}
    calls = [(seen.at, ended.get(id(seen), until)) for seen in server.requests if seen.at < until]
    return max(sum(began <= at < end for began, end in calls) for at, _ in calls)


def check_nothing_lost(service, store, local, n, asked_twice):
    """All samples, once each and as here; only calls under way at a kill were made twice, and none after its answer was
    stored: the stored answer is that of the last call."""
    header, here = samples(local)
    there, stored = samples(store)
    assert there.signature == header.signature
    assert list(map(shown, stored)) == list(map(shown, here))
    assert len({sample.key for sample in stored}) == len(stored) == n
    last = {case: calls[-1] for case, calls in service.calls.items()}
    assert {sample.case_id: json.loads(sample.call_result.text)["call"] for sample in stored} == last
    assert service.n - n <= asked_twice


def run_here(path, tmp_path):
    """The same run in this process alone, whose calls are not counted."""
    local = tmp_path / "local.db"
    os.environ["PLANTED_KEY"] = KEY
    from steelyard.api import run_suite
    from steelyard.loading.load import load_suite

    run_suite(load_suite(path), store=str(local), concurrency=CONCURRENCY)
    return local


def test_a_run_whose_worker_node_and_driver_are_killed_equals_one_here_and_tells_nobody_the_key(
    cluster, server, tmp_path
):
    """Begun on Ray, resumed here, and resumed on Ray to its end."""
    path = written(tmp_path / "suite", server, n=300)
    Service(server, delay=0.0)
    local = run_here(path, tmp_path)
    service, store = Service(server), tmp_path / "ray.db"
    with begin(cluster, *run_words(path, store, *ON_RAY)) as process:
        wait_for(lambda: service.n > 50, process)
        assert CONCURRENCY / 2 < most_at_once(server, time.monotonic()) <= CONCURRENCY
        cluster.kill_worker()
        service.delay = 1.0  # until it is noticed, which may take a busy machine long
        assert any("a worker on" in line for line in process.stdout)
        service.delay = 0.03
        wait_for(lambda: service.n > 120, process)
        process.kill()
    wait_for(lambda: not cluster.workers())
    asked = service.n
    with begin(cluster, *run_words(path, store, "--resume")) as process:
        wait_for(lambda: service.n > asked + 30, process)
        process.kill()
    asked = service.n
    with begin(cluster, *run_words(path, store, *ON_RAY, "--resume")) as process:
        wait_for(lambda: service.n > asked + 30, process)
        cluster.kill_node()
        assert process.wait(240) == 0, process.stdout.read()
    check_nothing_lost(service, store, local, n=300, asked_twice=4 * CONCURRENCY)
    assert service.keys == {f"Bearer {KEY}"}
    assert cluster.files_with("my key is [redacted]")
    assert not cluster.files_with(KEY)


@pytest.mark.parametrize("most", [pytest.param(2, id="short"), pytest.param(4, marks=pytest.mark.long, id="long")])
def test_judges_rescoring_and_ab_on_ray_give_what_they_give_here(cluster, server, tmp_path, monkeypatch, most):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    server.on(
        "/chat/completions", lambda seen: chat_answer(json.dumps(verdict(4 if "Number 3" in str(seen.json) else 2)))
    )
    judged = write_judged(tmp_path / "judged", n=12, **chat_judge(server))
    plain = written(tmp_path / "plain", server, n=40)
    Service(server, delay=0.0)
    here, there = tmp_path / "here.db", tmp_path / "there.db"

    def commands(store, *on):
        every = [
            ("ab", judged, "--a", "judge_repeats=1", "--b", "judge_repeats=2", "--store", store, *on),
            ("rescore", "--suite", judged, "--store", store, *on),
            ("rescore", "--suite", judged, "--judge-again", "--yes", "--store", store, *on),
            ("ab", plain, "--a", "expect_errors={status: [404]}", "--b", "connect_timeout=9", "--store", store, *on),
        ]
        return every[:most]

    for words in commands(here):
        monkeypatch.setattr(sys, "argv", ["steelyard", *map(str, words)])
        with pytest.raises(SystemExit):
            main()
    output = several(cluster, *commands(there, "--on", "auto", "--workers", 2))
    stores = [open_store(str(place), create=False) for place in (here, there)]
    runs = [list(store.runs()) for store in stores]
    assert len(runs[0]) == len(runs[1]) == (3 if most == 2 else 6), output
    for one, other in zip(*runs, strict=True):
        assert one.signature == other.signature
        left, right = (
            sorted((shown_text(sample) for sample, _ in store.samples(header.id)), key=str)
            for store, header in zip(stores, (one, other), strict=True)
        )
        assert left == right
    for store in stores:
        store.close()


def shown_text(sample):
    judgement = sample.judgement
    said = None if judgement is None else [call.call_result.text for call in judgement.calls]
    return sample.key, sample.outcome, sample.score, sample.scores, sample.findings, said


def kill(cluster, process, what):
    if what == "driver":
        process.kill()
        process.wait()
    elif what == "worker":
        cluster.kill_worker()
    else:
        cluster.kill_node()
        cluster.add_node()


@pytest.mark.long
def test_many_random_kills_lose_nothing(cluster, server, tmp_path):
    seed = int(os.environ.get("STEELYARD_SEED", "7"))
    chance = random.Random(seed)
    path = written(tmp_path / "suite", server, n=1_500)
    Service(server, delay=0.0)
    local = run_here(path, tmp_path)
    service, store, kills = Service(server), tmp_path / "ray.db", 0
    while True:
        on = ON_RAY if chance.random() < 0.8 else ()
        again = ("--resume",) if kills else ()
        with begin(cluster, *run_words(path, store, *on, *again)) as process:
            while process.poll() is None:
                wanted = service.n + chance.randrange(20, 300)
                wait_for(lambda wanted=wanted: service.n > wanted or process.poll() is not None)
                kills += process.poll() is None
                kill(cluster, process, chance.choice(["worker", "node", "driver"]) if on else "driver")
            code = process.wait()
        if code == 0:
            break
    assert kills >= 3
    check_nothing_lost(service, store, local, n=1_500, asked_twice=(kills + 1) * CONCURRENCY)


@pytest.mark.long
def test_an_unchanged_suite_is_a_new_package_for_each_run(tmp_path):
    """Ray names a package by its content, and refuses one for ten minutes that it failed to unpack once."""
    suite = load_suite(write_suite(tmp_path / "s", n=2))
    contents = set()
    for _ in range(2):
        with ExitStack() as closing:
            archive = Path(_packed(suite, closing)["working_dir"])
            contents.add(hashlib.sha256(archive.read_bytes()).hexdigest())
            with zipfile.ZipFile(archive) as packed:
                names = [name for name in packed.namelist() if not name.startswith(".steelyard-")]
    assert len(contents) == 2
    assert {"suite.yaml", "cases.jsonl"} <= {*names}


def test_a_cluster_that_stays_up_runs_an_unchanged_suite_after_its_drivers_were_killed(cluster, server, tmp_path):
    Service(server, delay=0.0)
    path = written(tmp_path / "s", server, 30)
    for number in range(3):
        process = begin(cluster, *run_words(path, tmp_path / f"killed-{number}.db", "--on", "auto", "--workers", 2))
        for line in process.stdout:
            if "starting workers" in line:
                break
        time.sleep(number)
        process.kill()
        process.communicate()
    whole = begin(cluster, *run_words(path, tmp_path / "whole.db", "--on", "auto", "--workers", 2))
    said, _ = whole.communicate(timeout=240)
    assert whole.returncode == 0, said
    assert len(samples(tmp_path / "whole.db")[1]) == 30


def test_a_cluster_of_its_own_listens_on_loopback_and_leaves_nothing_behind(server, tmp_path):
    path = written(tmp_path / "suite", server, n=60)
    Service(server, delay=0.0)
    local = run_here(path, tmp_path)
    service, store = Service(server, delay=0.2), tmp_path / "ray.db"
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("steelyard-ray-*"))

    class Here:
        environment = os.environ | {"PLANTED_KEY": KEY, "PYTHONPATH": os.pathsep.join(sys.path)}

    with begin(Here, *run_words(path, store, "--on", "ray", "--workers", 2)) as process:
        wait_for(lambda: service.n > 10, process)
        children = psutil.Process(process.pid).children(recursive=True)
        places = [c.laddr.ip for p in children for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert set(places) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        assert places
        home = (set(Path(os.environ.get("TMPDIR", "/tmp")).glob("steelyard-ray-*")) - before).pop()
        assert home.stat().st_mode & 0o077 == 0
        assert (home / "token").stat().st_mode & 0o077 == 0
        held = [p for p in home.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
        assert process.wait(240) == 0, process.stdout.read()
    assert held == []
    check_nothing_lost(service, store, local, n=60, asked_twice=0)
    psutil.wait_procs(children, timeout=20)
    assert [p for p in children if p.is_running()] == []
    assert not home.exists()


@pytest.mark.long
def test_a_run_through_rays_client_loses_nothing_with_a_worker(server, tmp_path):
    pytest.importorskip("grpc")
    path = written(tmp_path / "suite", server, n=120)
    Service(server, delay=0.0)
    local = run_here(path, tmp_path)
    service, store = Service(server), tmp_path / "ray.db"
    with RayCluster(PLANTED_KEY=KEY, STEELYARD_RAY_CLIENT="1") as cluster:
        place = f"ray://127.0.0.1:{cluster.client_port}"
        with begin(cluster, *run_words(path, store, "--on", place, "--workers", 2)) as process:
            wait_for(lambda: service.n > 40, process)
            cluster.kill_worker()
            code, output = process.wait(240), process.stdout.read()
        assert not cluster.files_with(KEY)
    assert code == 0, output
    assert "Error" not in output.replace("ActorDiedError", "")
    check_nothing_lost(service, store, local, n=120, asked_twice=CONCURRENCY)
