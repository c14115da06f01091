from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

from parts.processes import ENVIRONMENT
from parts.stored import header
from steelyard.store.schema import MIGRATIONS
from steelyard.store.sql import open_store

_OPEN_AT_ONCE = """
import sys
from steelyard.store.sql import open_store
print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1]).close()
"""

_WRITE = """
import sys
from parts.stored import case, header, sample
from steelyard.store.sql import open_store
url, run_id, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(url)
store.create_run(header(run_id))
print("ready", flush=True)
sys.stdin.readline()
number = 0
while number < batches * 10:
    cases = [case(n) for n in range(number, number + 10)]
    store.add_samples(run_id, [sample(of, n) for n, of in enumerate(cases, start=number)], cases)
    number += 10
    print(number, flush=True)
store.close()
"""


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def go(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def test_two_processes_may_open_a_new_store_at_once(url: str) -> None:
    processes = [started(_OPEN_AT_ONCE, url) for _ in range(3)]
    go(processes)
    for process in processes:
        process.communicate(timeout=300)
    assert [process.returncode for process in processes] == [0, 0, 0]
    store = open_store(url)
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM migrations") == [(len(MIGRATIONS),)]
    store.close()


def test_two_processes_write_runs_into_one_store_while_a_third_reads(url: str) -> None:
    store = open_store(url)
    processes = [started(_WRITE, url, f"run-{number}", 30) for number in range(2)]
    go(processes)
    seen = [0]
    while any(process.poll() is None for process in processes):
        seen.append(store.columns("run-0").n)
        time.sleep(0.01)
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    assert seen == sorted(seen)
    for run_id in ("run-0", "run-1"):
        assert [one.position for one, _ in store.samples(run_id)] == list(range(300))
    store.close()


def test_what_was_committed_survives_kill_9(url: str) -> None:
    process = started(_WRITE, url, "run-0", 10_000)
    go([process])
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(5)][-1]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    told = max([told, *(int(line) for line in rest.split())])
    store = open_store(url)
    kept = [one.position for one, _ in store.samples("run-0")]
    assert len(kept) >= told
    assert kept == list(range(len(kept)))
    assert len(kept) % 10 == 0, "a batch is kept whole or not at all"
    store.close()


def test_many_threads_share_one_store(url: str) -> None:
    store = open_store(url)
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            store.create_run(header(f"run-{number}"))
            for _ in range(5):
                assert store.run(f"run-{number}").id == f"run-{number}"
                store.cache([(f"key-{number}", {"n": number})])
        except Exception as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.runs()) == 8
    # Connections of threads that have ended do not pile up.
    store_thread = threading.Thread(target=store.runs)
    store_thread.start()
    store_thread.join()
    assert len(store.database._all) <= 3
    store.close()
